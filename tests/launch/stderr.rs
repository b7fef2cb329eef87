//! Errors reach the stderr that the launcher was started with, whatever the actions before did.

use std::fs;

use crate::case::{launch, words};
use crate::launcher::LAUNCHERS;
use crate::message::line;
use crate::place::{before, folder, out};
use crate::run::run;

const FAILING: [&str; 2] = ["-C", "/nowhere"];

fn fails(words: &[&str], calls: &[&'static str]) {
    launch(words.iter().chain(&FAILING))
        .calls(calls.iter().chain(&["chdir"]).copied())
        .fails(125, &line("-C /nowhere", "ENOENT"));
}

#[test]
fn an_error_reaches_stderr_after_it_was_closed() {
    fails(&["2>&-"], &["fcntl", "close"]);
    fails(&["2<&-"], &["fcntl", "close"]);
}

#[test]
fn an_error_reaches_stderr_after_it_was_sent_to_a_file_which_stays_empty() {
    let file = out();
    fails(
        &[&format!("2>{}", file.display())],
        &["fcntl", "openat", "dup3"],
    );
    assert_eq!(fs::read(file).unwrap(), b"");
}

#[test]
fn an_error_reaches_stderr_after_it_was_sent_to_stdout() {
    fails(&["2>&1"], &["fcntl", "dup3"]);
}

#[test]
fn an_error_of_the_redirection_itself_reaches_stderr() {
    launch(["2>/nowhere/x"])
        .calls(["fcntl", "openat"])
        .fails(125, &line("2>/nowhere/x", "ENOENT"));
    launch(["2>&9"])
        .calls(["fcntl", "dup3"])
        .fails(125, &line("2>&9", "EBADF"));
}

#[test]
fn an_error_reaches_stderr_after_all_was_closed_from_anywhere() {
    for from in ["0", "1", "2"] {
        fails(&["--close-from", from], &["close_range"]);
    }
    fails(&["--close-from", "3"], &["close_range"]);
    fails(
        &["2>&-", "--close-from", "3"],
        &["fcntl", "close", "close_range"],
    );
    fails(
        &["2>&-", "--close-from", "0"],
        &["fcntl", "close", "close_range"],
    );
    fails(&["--cloexec-from", "0"], &["close_range"]);
}

#[test]
fn an_error_reaches_stderr_after_the_place_that_it_was_kept_in_is_taken() {
    // Ten is the first that fcntl may give.
    let file = out();
    let open = format!("10>{}", file.display());
    fails(
        &["2>&-", &open],
        &["fcntl", "close", "fcntl", "openat", "dup3"],
    );
    fails(&["2>&-", "10>&0"], &["fcntl", "close", "fcntl", "dup3"]);
    fails(&["2>&-", "10>&-"], &["fcntl", "close", "fcntl", "close"]);
    assert_eq!(fs::read(file).unwrap(), b"");
}

#[test]
fn the_kept_stderr_is_never_seen_by_the_target() {
    launch(["2>&-"])
        .calls(["fcntl", "close"])
        .sees_closed(2)
        .holds();
    launch(["2>&-", "10>&0"])
        .calls(["fcntl", "close", "fcntl", "dup3"])
        .sees_closed(2)
        .sees_file(10, "read", "/dev/null")
        .holds();
}

#[test]
fn an_error_of_the_target_reaches_stderr_too() {
    let file = folder().join("f");
    for word in ["2>&-", "2>&1", &format!("2>{}", file.display())] {
        for launcher in LAUNCHERS {
            let run = run(&launcher.command(&words![word], &words!["/nowhere"]));
            assert_eq!(run.stderr(), format!("{}\n", line("/nowhere", "ENOENT")));
            assert_eq!(run.status.code(), Some(127));
        }
    }
    assert_eq!(fs::read(file).unwrap(), b"");
}

#[test]
fn an_error_reaches_stderr_after_its_number_became_null() {
    for word in ["--close-from", "--cloexec-from"] {
        for launcher in LAUNCHERS {
            let words = words![word, "0", "--stdio-null", "-C", "/nowhere"];
            let run = run(&launcher.command(&words, &words!["true"]));
            assert_eq!(run.stderr(), format!("{}\n", line("-C /nowhere", "ENOENT")));
            assert_eq!(run.status.code(), Some(125));
        }
    }
}

#[test]
fn with_stderr_closed_from_the_start_an_error_is_a_status() {
    let file = out();
    for launcher in LAUNCHERS {
        let words = words![format!("2>{}", file.display()), "-C", "/nowhere"];
        let mut argv = words![before(), "close=2", "--"].to_vec();
        argv.extend(launcher.command(&words, &words!["true"]));
        let run = run(&argv);
        assert_eq!(run.status.code(), Some(125));
        assert_eq!(run.stderr(), "");
    }
}
