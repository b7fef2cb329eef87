//! The peers, started in place.

use std::path::Path;

use barest::peers::{self, Availability};

use crate::outcome::{Way, run, say};

#[test]
fn every_program_of_every_peer_does_the_same_in_twenty_runs() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/peers.toml");
    let peers = peers::load(Path::new(file)).unwrap();
    let into = Path::new(env!("CARGO_TARGET_TMPDIR")).join("peers");
    let mut runs = 0;
    for (peer, answer) in peers
        .iter()
        .zip(peers::prepare_all(&peers, &into, |_, _| ()))
    {
        let programs = match answer.unwrap() {
            Availability::Ready { programs } => programs,
            missing => {
                say(&format!("not tested: {}: {missing}", peer.name));
                continue;
            }
        };
        for built in programs {
            let args: &[&str] = match built.program.as_str() {
                "exec" => &["/bin/sh", "-c", r#"echo "$0" "$@"; exit 3"#, "zero", "one"],
                _ => &[],
            };
            let alone = run(Way::Alone, &built.path, args);
            for _ in 0..20 {
                let direct = run(Way::Only, &built.path, args);
                assert_eq!(direct, alone, "{} of {}", built.program, built.peer);
                runs += 1;
            }
        }
    }
    // The assembler's, musl's and glibc's at least (tests/peers.rs); three programs each.
    assert!(runs >= 6 * 3 * 20, "{runs}");
}
