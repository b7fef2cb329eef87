//! The peers, started in place.

use std::path::Path;

use barest::peers::{self, Availability};

use crate::outcome::{Outcome, Way, run, say};

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
            let outcome = |way| same_in_each_run(&built.program, run(way, &built.path, args));
            let alone = outcome(Way::Alone);
            for _ in 0..20 {
                let direct = outcome(Way::Only);
                assert_eq!(direct, alone, "{} of {}", built.program, built.peer);
                runs += 1;
            }
        }
    }
    // The assembler's, musl's and glibc's at least (tests/peers.rs); three programs each at least.
    assert!(runs >= 6 * 3 * 20, "{runs}");
}

/// `self_exec` prints times: that they are numbers, and how many, is the same in each run.
fn same_in_each_run(program: &str, outcome: Outcome) -> Outcome {
    if program != "self_exec" {
        return outcome;
    }
    let words = outcome.stdout().split_whitespace();
    let shape: Vec<_> = words
        .map(|word| word.parse::<u64>().map_or(word, |_| "number"))
        .collect();
    let stdout = shape.join(" ").into_bytes();
    Outcome { stdout, ..outcome }
}
