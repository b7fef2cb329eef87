//! Files that the launcher locks and writes.

use std::fs;

use nix::fcntl::{Flock, FlockArg};

use crate::case::{launch, words};
use crate::message::line;
use crate::place::{folder, out};

#[test]
fn lock_is_two_calls_and_the_target_holds_it() {
    let file = out();
    for words in [
        &words!["--lock", &file][..],
        &words![format!("--lock={}", file.display())],
    ] {
        let free = file.clone();
        launch(words)
            .calls(["openat", "flock"])
            .sees_file(3, "read-write locked", &file)
            .and(move |_| {
                // Held by the target, it ended with it.
                let file = fs::File::open(&free).unwrap();
                Flock::lock(file, FlockArg::LockExclusiveNonblock).unwrap();
            })
            .holds();
    }
}

#[test]
fn lock_creates_its_file() {
    let file = folder().join("new");
    launch(words!["--lock", &file])
        .calls(["openat", "flock"])
        .sees_file(3, "read-write locked", &file)
        .holds();
    let missing = folder().join("missing/lock");
    launch(words!["--lock", &missing]).calls(["openat"]).fails(
        125,
        &line(&format!("--lock {}", missing.display()), "ENOENT"),
    );
}

#[test]
fn write_is_three_calls_and_writes_a_line() {
    let file = folder().join("file");
    for (value, written) in [
        ("500", "500\n"),
        ("", "\n"),
        ("100 %% of it", "100 % of it\n"),
        ("two\nlines", "two\nlines\n"),
    ] {
        let left = file.clone();
        launch(words!["--write", &file, value])
            .calls(["openat", "write", "close"])
            .and(move |_| assert_eq!(fs::read_to_string(&left).unwrap(), written))
            .holds();
    }
}

#[test]
fn write_cuts_what_was_there() {
    let file = out();
    fs::write(&file, "much longer than what comes").unwrap();
    let left = file.clone();
    launch(words!["--write", &file, "short"])
        .calls(["openat", "write", "close"])
        .and(move |_| assert_eq!(fs::read_to_string(&left).unwrap(), "short\n"))
        .holds();
}

#[test]
fn write_of_the_process_id_is_one_call_more_and_it_is_the_targets() {
    let file = folder().join("pid");
    for (value, line) in [("%p", "PID\n"), ("a %p and %p%%", "a PID and PID%\n")] {
        let left = file.clone();
        launch(words!["--write", &file, value])
            .calls(["openat", "getpid", "write", "close"])
            .and(move |run| {
                let written = fs::read_to_string(&left).unwrap();
                assert_eq!(written, line.replace("PID", &run.pid.to_string()));
            })
            .holds();
    }
}

#[test]
fn write_fails_where_it_fails() {
    launch(["--write", "/nowhere/x", "1"])
        .calls(["openat"])
        .fails(125, &line("--write /nowhere/x 1", "ENOENT"));
    // The kernel refuses what is no number.
    launch(["--write", "/proc/self/oom_score_adj", "x"])
        .calls(["openat", "write"])
        .fails(125, &line("--write /proc/self/oom_score_adj x", "EINVAL"));
}

#[test]
fn write_reaches_files_of_the_kernel() {
    // A process that says that it may be killed first: proc_pid_oom_score_adj(5).
    launch(["--write", "/proc/self/oom_score_adj", "1000"])
        .calls(["openat", "write", "close"])
        .holds();
}
