//! Files with mistakes: what comes of them is what comes of them by execve.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;

use barest::Subject;
use barest::trace::trace;

use crate::build::{LINKAGES, chmod, compile, overwrite};
use crate::common::program;
use crate::outcome::{Outcome, Way, run};
use crate::subjects::scratch;

const NO_ARGS: [&str; 0] = [];

/// Programs with few headers and with many, of each kind: at a fixed address and anywhere, with
/// an interpreter and without.
fn programs() -> Vec<PathBuf> {
    let mut programs = vec![program("hello")];
    for linkage in LINKAGES {
        if ["glibc, static-PIE", "glibc, dynamic PIE", "musl, static"].contains(&linkage.name) {
            programs.push(compile("hello.c", linkage, &["-s"]));
        }
    }
    assert_eq!(programs.len(), 4);
    programs
}

/// A file that is rewritten for each case.
struct Case {
    path: PathBuf,
}

impl Case {
    fn new() -> Self {
        let path = scratch("case");
        fs::write(&path, "").unwrap();
        chmod(&path, 0o755);
        Case { path }
    }

    /// What comes of these bytes by execve, and with `--direct`.
    fn holds(&self, bytes: &[u8], what: &str) {
        overwrite(&self.path, bytes);
        let execve = run(Way::Execve, &self.path, &NO_ARGS);
        let direct = run(Way::Direct, &self.path, &NO_ARGS);
        assert!(same(&direct, &execve), "{what}: {direct:?}, not {execve:?}");
        // In place only, it is the same or a line that says why not.
        let only = run(Way::Only, &self.path, &NO_ARGS);
        let refused = only.status.code().is_some_and(|code| code >= 126)
            && only.stdout.is_empty()
            && only.stderr().lines().count() == 1;
        assert!(
            same(&only, &execve) || refused,
            "{what}: {only:?}, not {execve:?}"
        );
        if died(&only) {
            // It was not the launcher that died.
            let seen = trace(
                &Subject::new(program("launch"))
                    .args(["--direct=only", "--"])
                    .arg(&self.path),
            );
            let seen = seen.unwrap();
            assert!(seen.names().any(|name| name == "prctl"), "{what}: {seen:?}");
        }
    }
}

/// Whether a program came to its end by what it did. One with other code than it was made of does
/// anything, and of what it dies depends on what happens to be around it.
fn died(outcome: &Outcome) -> bool {
    let signal = outcome.status.signal();
    let fault = [
        libc::SIGSEGV,
        libc::SIGBUS,
        libc::SIGILL,
        libc::SIGFPE,
        libc::SIGTRAP,
    ];
    signal.is_some_and(|signal| fault.contains(&signal))
}

fn same(one: &Outcome, other: &Outcome) -> bool {
    one == other || died(one) && died(other) && one.stdout == other.stdout
}

#[test]
fn a_file_cut_short_anywhere_in_its_headers_or_pages() {
    let case = Case::new();
    for program in programs() {
        let file = fs::read(&program).unwrap();
        let small = 0..file.len().min(1100);
        let pages = (4096..file.len())
            .step_by(4096)
            .flat_map(|at| [at - 1, at, at + 1]);
        for length in small.step_by(13).chain(pages.take(60)) {
            case.holds(
                &file[..length],
                &format!("{}, {length} bytes", program.display()),
            );
        }
    }
}

/// What the launcher, or the kernel, looks at in a file's headers. The rest is for the program
/// itself, which does with it what depends on what is around it in memory.
fn read_by_a_loader(file: &[u8]) -> Vec<usize> {
    let header = 0..64;
    let segments = (64..).step_by(56).take(file[56] as usize); // e_phnum
    let fields = segments.flat_map(|at| {
        let fields: &[_] = match file[at] {
            // PT_LOAD, PT_DYNAMIC.
            1 | 2 => &[(0, 56)],
            // PT_INTERP: all but the address, which the interpreter may look at.
            3 => &[(0, 16), (32, 40)],
            // PT_GNU_STACK and others: p_type, p_flags.
            _ => &[(0, 8)],
        };
        fields
            .iter()
            .flat_map(move |&(from, to)| at + from..at + to)
    });
    header.chain(fields.collect::<Vec<_>>()).collect()
}

#[test]
fn a_file_with_one_byte_of_its_headers_changed() {
    let case = Case::new();
    for program in programs() {
        let file = fs::read(&program).unwrap();
        for at in read_by_a_loader(&file) {
            for change in [0x01, 0x80] {
                let mut bytes = file.clone();
                bytes[at] ^= change;
                let what = format!("{}, byte {at} ^ {change:#x}", program.display());
                case.holds(&bytes, &what);
            }
        }
    }
}
