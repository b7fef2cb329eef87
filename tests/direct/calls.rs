//! How many system calls it takes.

use barest::Subject;
use barest::assertions::exactly;
use barest::trace::{Exit, trace};

use crate::build::hello;
use crate::common::program;

#[test]
fn a_program_of_one_segment_takes_eight_calls() {
    let seen = trace(
        &Subject::new(program("launch"))
            .args(["--direct=only", "--"])
            .arg(program("true")),
    )
    .unwrap();
    seen.assert(exactly([
        "execve",
        "openat",
        "fstat",
        "faccessat2",
        "fgetxattr",
        "read",
        "mmap",
        "close",
        "prctl",
        "exit_group",
    ]));
    assert_eq!(seen.exit, Exit::Exited(0));
}

#[test]
fn a_program_makes_the_calls_that_it_makes_by_execve() {
    let alone = trace(&Subject::new(hello())).unwrap();
    let direct = trace(
        &Subject::new(program("launch"))
            .args(["--direct=only", "--"])
            .arg(hello()),
    )
    .unwrap();
    let alone: Vec<_> = alone.names().skip(1).collect();
    let direct: Vec<_> = direct.names().collect();
    assert!(direct.ends_with(&alone), "{direct:?}\n{alone:?}");
    // The program and its interpreter.
    let own = &direct[1..direct.len() - alone.len()];
    let count = |name| own.iter().filter(|&call| call == name).count();
    for name in ["openat", "fstat", "faccessat2", "read", "close"] {
        assert_eq!(count(name), 2, "{name}: {own:?}");
    }
    // Its rights, its interpreter's path, and its name.
    for name in ["fgetxattr", "pread64", "prctl"] {
        assert_eq!(count(name), 1, "{name}: {own:?}");
    }
    assert_eq!(own.len(), 13 + count("mmap"), "{own:?}");
}
