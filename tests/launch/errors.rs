//! A target that cannot be run: the message, and the status by which a caller tells why.

use std::fs::{self, OpenOptions};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::process::Command;

use barest::Subject;
use barest::trace::{Exit, trace};

use crate::case::words;
use crate::launcher::LAUNCHERS;
use crate::message::{assert_tells, line, look};
use crate::place::{chmod, executable, folder};
use crate::run::run;

/// Asserts the status and the message for this target; and the calls, in which there is one more
/// where it has to be looked whether the target is there.
#[track_caller]
fn refused(target: &str, looks: bool, status: i32, message: &str) {
    for launcher in LAUNCHERS {
        let argv = launcher.command(&[], &words![target]);
        let seen = trace(&Subject::new(&argv[0]).argv(&argv)).unwrap();
        let looks = looks.then(|| look(&seen));
        assert_tells(&seen, ["execve", "execve"].into_iter().chain(looks));
        assert_eq!(seen.exit, Exit::Exited(status), "{target}");
        let run = run(&argv);
        assert_eq!(run.stderr(), format!("{message}\n"));
        assert_eq!(run.status.code(), Some(status), "{target}");
    }
}

#[test]
fn a_target_that_is_not_there_is_127() {
    for target in ["/nowhere", "/nowhere/below", "./nowhere"] {
        // One call more tells a file that is not there from one whose interpreter is not.
        refused(target, true, 127, &line(target, "ENOENT"));
    }
}

#[test]
fn a_target_that_cannot_be_run_is_126() {
    let folder = folder();
    let path = |name: &str| folder.join(name).into_os_string().into_string().unwrap();
    executable(&folder.join("text"), b"just text\n");
    executable(&folder.join("unmarked"), b"#!/bin/sh\n");
    chmod(&folder.join("unmarked"), 0o644);
    executable(&folder.join("empty"), b"");
    std::os::unix::fs::symlink("circle", folder.join("circle")).unwrap();
    for (target, errno) in [
        (path(""), "EACCES"),
        (path("unmarked"), "EACCES"),
        (path("text"), "ENOEXEC"),
        (path("empty"), "ENOEXEC"),
        (path("text/below"), "ENOTDIR"),
        (path("circle"), "ELOOP"),
        (format!("/{}", "x".repeat(300)), "ENAMETOOLONG"),
        ("/dev/null".to_owned(), "EACCES"),
    ] {
        refused(&target, false, 126, &line(&target, errno));
    }
}

#[test]
fn a_target_that_somebody_writes_is_126() {
    let busy = folder().join("busy");
    executable(&busy, b"#!/bin/sh\n");
    let writer = OpenOptions::new().write(true).open(&busy).unwrap();
    let name = busy.to_str().unwrap();
    refused(name, false, 126, &line(name, "ETXTBSY"));
    drop(writer);
}

/// A program whose loader does not exist.
fn without_loader() -> PathBuf {
    let program = folder().join("program");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/subjects/hello.c");
    let status = Command::new("gcc")
        .args([source, "-Wl,--dynamic-linker=/nowhere/ld.so", "-o"])
        .arg(&program)
        .status()
        .unwrap();
    assert!(status.success());
    program
}

/// Asserts that the message for a file that is there speaks of its interpreter.
#[track_caller]
fn lacks_its_interpreter(target: &str) {
    for launcher in LAUNCHERS {
        let argv = launcher.command(&[], &words![target]);
        let seen = trace(&Subject::new(&argv[0]).argv(&argv)).unwrap();
        assert_tells(&seen, ["execve", "execve", look(&seen)]);
        let run = run(&argv);
        let said = run.stderr();
        assert!(
            said.starts_with(&format!("launch: {target}: ENOENT, ")),
            "{said}"
        );
        assert!(said.contains("interpreter"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert_eq!(run.status.code(), Some(126), "{said}");
    }
}

#[test]
fn a_missing_interpreter_is_named_for_programs_and_scripts() {
    let script = folder().join("script");
    executable(&script, b"#!/nowhere/interpreter\n");
    lacks_its_interpreter(script.to_str().unwrap());
    lacks_its_interpreter(without_loader().to_str().unwrap());
}

#[test]
fn a_name_that_is_no_text_is_written_byte_for_byte() {
    let name = std::ffi::OsString::from_vec(b"/no\xff\xfe\x1b".to_vec());
    for launcher in LAUNCHERS {
        let run = run(&launcher.command(&[], std::slice::from_ref(&name)));
        let mut message = b"launch: /no\xff\xfe\x1b: ".to_vec();
        message.extend(line("", "ENOENT")["launch: : ".len()..].bytes());
        message.push(b'\n');
        assert_eq!(run.stderr, message);
    }
}

#[test]
fn an_empty_name_is_127() {
    for launcher in LAUNCHERS {
        let run = run(&launcher.command(&[], &words![""]));
        assert_eq!(run.stderr(), format!("{}\n", line("", "ENOENT")));
        assert_eq!(run.status.code(), Some(127));
    }
}

#[test]
fn a_full_or_broken_stderr_changes_neither_calls_nor_status() {
    for stream in [barest::Stream::Closed, barest::Stream::Null] {
        for launcher in LAUNCHERS {
            let argv = launcher.command(&words!["-C", "/nowhere"], &words!["true"]);
            let seen = trace(&Subject::new(&argv[0]).argv(&argv).stderr(stream)).unwrap();
            assert_tells(&seen, ["execve", "chdir"]);
            assert_eq!(seen.exit, Exit::Exited(125));
        }
    }
}

#[test]
fn a_message_is_whole_after_variables_took_the_place_of_words() {
    for count in [1, 2, 3, 50] {
        let mut words: Vec<_> = (0..count)
            .map(|number| format!("V{number}=x").into())
            .collect();
        words.extend(words!["--prefix", "V0", ":", "y", "-C", "/nowhere"]);
        for launcher in LAUNCHERS {
            let run = run(&launcher.command(&words, &words!["true"]));
            assert_eq!(run.stderr(), format!("{}\n", line("-C /nowhere", "ENOENT")));
        }
    }
}

#[test]
fn a_message_is_one_line_that_says_which_of_many_actions() {
    let file = folder().join("missing/f");
    for launcher in LAUNCHERS {
        let open = format!("7>>{}", file.display());
        let words = words!["A=1", "--umask", "0", &open, "--setsid"];
        let run = run(&launcher.command(&words, &words!["true"]));
        assert_eq!(run.stderr(), format!("{}\n", line(&open, "ENOENT")));
        assert_eq!(run.status.code(), Some(125));
    }
    assert!(!fs::exists(file).unwrap());
}
