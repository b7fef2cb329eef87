//! What a program finds when it is started in place: the same as by execve, and the truth.

use std::collections::HashSet;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::build::{DYNAMIC, LINKAGES, STATIC, compile, copy};
use crate::common::program;
use crate::outcome::{Outcome, Way, run};
use crate::subjects::scratch;

/// Runs a program alone and in place, which must be the same.
fn same(target: &Path, args: &[&str]) -> Outcome {
    let alone = run(Way::Alone, target, args);
    assert_eq!(run(Way::Only, target, args), alone, "{}", target.display());
    alone
}

#[test]
fn a_program_of_any_linkage_finds_its_process_in_order() {
    for linkage in LINKAGES {
        let target = compile("self.c", linkage, &["-pthread"]);
        let outcome = same(&target, &["", "a b", "é"]);
        assert!(!outcome.stdout().contains("wrong"), "{outcome:?}");
        assert!(outcome.stdout().ends_with("\nbye\n"), "{outcome:?}");
        assert_eq!(
            outcome.status.code(),
            Some(7),
            "{}: {outcome:?}",
            linkage.name
        );
    }
}

#[test]
fn alignments_larger_than_a_page_are_kept() {
    for linkage in LINKAGES {
        let flags = [
            "-pthread",
            "-DALIGN=0x200000",
            "-Wl,-z,max-page-size=0x200000",
        ];
        let target = compile("self.c", linkage, &flags);
        for _ in 0..20 {
            let outcome = run(Way::Only, &target, &[""; 0]);
            assert!(
                !outcome.stdout().contains("wrong"),
                "{}: {outcome:?}",
                linkage.name
            );
            assert_eq!(
                outcome.status.code(),
                Some(7),
                "{}: {outcome:?}",
                linkage.name
            );
        }
    }
}

#[test]
fn position_independent_programs_are_at_random_addresses_and_others_at_theirs() {
    for linkage in LINKAGES {
        let target = compile("self.c", linkage, &["-pthread"]);
        let addresses: HashSet<_> = (0..20)
            .map(|_| run(Way::Only, &target, &["address"]).stdout)
            .collect();
        if linkage.name.contains("PIE") {
            assert_eq!(addresses.len(), 20, "{}", linkage.name);
        } else {
            let alone = run(Way::Alone, &target, &["address"]).stdout;
            assert_eq!(addresses, HashSet::from([alone]), "{}", linkage.name);
        }
    }
}

/// A line of the program `stack`.
#[derive(Debug)]
struct Slot {
    address: usize,
    name: String,
    value: String,
}

fn slots(way: Way, args: &[&str]) -> Vec<Slot> {
    let outcome = run(way, &program("stack"), args);
    assert!(outcome.status.success(), "{outcome:?}");
    let lines = outcome.stdout().lines();
    lines
        .map(|line| {
            let (address, rest) = line.split_once("  ").unwrap();
            let (name, value) = rest.split_once(' ').unwrap_or((rest, ""));
            Slot {
                address: usize::from_str_radix(address.strip_prefix("0x").unwrap(), 16).unwrap(),
                name: name.to_owned(),
                value: value.to_owned(),
            }
        })
        .collect()
}

#[test]
fn the_initial_stack_is_that_of_execve_entry_by_entry() {
    let args = ["one", "", "three"];
    let (alone, direct) = (slots(Way::Alone, &args), slots(Way::Only, &args));
    let names = |slots: &[Slot]| {
        slots
            .iter()
            .map(|slot| slot.name.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&direct), names(&alone));
    let mut compared = HashSet::new();
    for (direct, alone) in direct.iter().zip(&alone) {
        // Of a string, not where it is. At random: where the kernel's code is, and 16 bytes.
        let text = |slot: &Slot| match slot.value.split_once(' ') {
            Some((_, text)) => text.to_owned(),
            None => slot.value.clone(),
        };
        match direct.name.as_str() {
            "AT_SYSINFO_EHDR" | "AT_RANDOM" => assert_ne!(direct.value, alone.value),
            name => {
                assert_eq!(text(direct), text(alone), "{name}");
                compared.insert(name);
            }
        }
    }
    for name in [
        "AT_PHDR",
        "AT_PHENT",
        "AT_PHNUM",
        "AT_BASE",
        "AT_ENTRY",
        "AT_EXECFN",
        "AT_SECURE",
    ] {
        assert!(compared.contains(name), "{name}: {compared:?}");
    }
    // One behind the other, from a multiple of 16 on.
    assert_eq!(direct[0].address % 16, 0);
    for pair in direct.windows(2) {
        let size = if pair[0].name.starts_with("AT_") {
            16
        } else {
            8
        };
        assert_eq!(pair[1].address, pair[0].address + size, "{pair:?}");
    }
}

#[test]
fn every_register_is_zero_and_no_flag_is_set() {
    let (object, target) = (scratch("registers.o"), scratch("registers"));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/direct/registers.s");
    for command in [
        Command::new("as").args([source, "-o"]).arg(&object),
        Command::new("ld").arg(&object).arg("-o").arg(&target),
    ] {
        assert!(command.status().unwrap().success(), "{command:?}");
    }
    let outcome = same(&target, &[]);
    let words: Vec<_> = outcome
        .stdout
        .chunks_exact(8)
        .map(|word| u64::from_ne_bytes(word.try_into().unwrap()))
        .collect();
    // The flags last: interrupts are enabled, and a bit that is always set.
    assert_eq!(words.len(), 17);
    assert_eq!(words[..16], [0; 16]);
    assert_eq!(words[16], 0x202);
}

#[test]
fn the_process_has_the_name_of_the_file() {
    let target = compile("self.c", DYNAMIC, &["-pthread"]);
    for (name, comm) in [
        ("x", "x"),
        ("fifteen_letters", "fifteen_letters"),
        ("more_than_fifteen_letters", "more_than_fifte"),
    ] {
        let folder = scratch("folder");
        std::fs::create_dir(&folder).unwrap();
        let link = folder.join(name);
        std::fs::hard_link(&target, &link).unwrap();
        let outcome = same(&link, &[]);
        assert!(
            outcome.stdout().contains(&format!("\ncomm {comm}\n")),
            "{outcome:?}"
        );
    }
}

#[test]
fn a_program_is_found_by_a_relative_path_and_keeps_it() {
    let target = compile("self.c", DYNAMIC, &["-pthread"]);
    let (folder, name) = (target.parent().unwrap(), target.file_name().unwrap());
    let path = Path::new(".").join(name);
    let outcome = |way: Way| Outcome::of(way.command(&path).current_dir(folder));
    let direct = outcome(Way::Only);
    assert_eq!(direct, outcome(Way::Alone));
    let line = format!("\nAT_EXECFN {}\n", path.display());
    assert!(direct.stdout().contains(&line), "{direct:?}");
}

#[test]
fn what_is_mapped_from_files_is_as_by_execve_and_one_page_of_the_launcher() {
    for linkage in LINKAGES {
        let target = compile("maps.c", linkage, &[]);
        let direct = run(Way::Only, &target, &[""; 0]);
        let alone = run(Way::Alone, &target, &[""; 0]);
        let launcher = program("launch").canonicalize().unwrap();
        let (own, mapped): (Vec<_>, Vec<_>) = direct
            .stdout()
            .lines()
            .filter(|line| !line.contains("[heap]"))
            .partition(|line| line.ends_with(launcher.to_str().unwrap()));
        assert_eq!(own.len(), 1, "{own:?}");
        assert!(own[0].starts_with("r-xp 00000000 "), "{own:?}");
        // In any order: where a program is among its libraries is another matter.
        let sorted = |mut lines: Vec<&str>| {
            lines.sort_unstable();
            lines.join("\n")
        };
        let alone = alone
            .stdout()
            .lines()
            .filter(|line| !line.contains("[heap]"));
        assert_eq!(sorted(mapped), sorted(alone.collect()), "{}", linkage.name);
        for line in direct.stdout().lines() {
            assert!(
                !(line[..4].contains('w') && line[..4].contains('x')),
                "{line}"
            );
        }
    }
}

#[test]
fn ten_thousand_variables_and_arguments_arrive() {
    for linkage in [STATIC, DYNAMIC] {
        let target = compile("self.c", linkage, &["-pthread"]);
        let outcome = |way: Way| {
            let mut command = way.command(&target);
            command
                .args((0..10_000).map(|i| format!("argument {i}")))
                .envs((0..10_000).map(|i| (format!("VARIABLE_{i}"), format!("value {i}"))));
            Outcome::of(&mut command)
        };
        let direct = outcome(Way::Only);
        assert_eq!(direct, outcome(Way::Alone));
        assert!(
            direct
                .stdout()
                .contains("\nenvp VARIABLE_9999=value 9999\n")
        );
        assert!(direct.stdout().contains("\nargv argument 9999\n"));
    }
}

#[test]
fn closed_streams_stay_closed() {
    let target = compile("self.c", DYNAMIC, &["-pthread"]);
    for closed in [0, 2] {
        let outcome = |way: Way| {
            let mut command = way.command(&target);
            // SAFETY: one system call between fork and exec.
            unsafe { command.pre_exec(move || Ok(nix::unistd::close(closed)?)) };
            Outcome::of(&mut command)
        };
        let direct = outcome(Way::Only);
        assert_eq!(direct, outcome(Way::Alone));
        assert!(direct.stdout().contains("\nfd 1\n"), "{direct:?}");
        assert!(
            !direct.stdout().contains(&format!("\nfd {closed}\n")),
            "{direct:?}"
        );
    }
}

#[test]
fn a_program_that_was_started_so_can_start_another() {
    // The launcher, as its own target, is at an address that is taken.
    let outcome = run(
        Way::Direct,
        &program("launch"),
        &["--direct=only", "--", "/bin/echo", "hi"],
    );
    assert_eq!(outcome.stdout(), "hi\n", "{outcome:?}");
    let target = copy(Path::new("/bin/sh"), 0o755);
    let script = r#"exec "$0" --direct=only -- /bin/echo "$@""#;
    let launcher = program("launch");
    let outcome = run(
        Way::Only,
        &target,
        &["-c", script, launcher.to_str().unwrap(), "hi"],
    );
    assert_eq!(outcome.stdout(), "hi\n", "{outcome:?}");
}
