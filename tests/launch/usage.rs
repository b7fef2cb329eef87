//! Words that are none: all are looked at before anything is done.

use std::ffi::OsString;
use std::fs;

use barest::Subject;
use barest::assertions::exactly;
use barest::trace::{Exit, trace};

use crate::case::words;
use crate::common::{program, succeed};
use crate::message::assert_tells;
use crate::place::{folder, out};
use crate::run::run;

/// Asserts that these words are refused with a line that names one of them, and nothing is done.
#[track_caller]
fn refused(words: &[&str], named: &str) {
    let argv: Vec<OsString> = [program("launch").into()]
        .into_iter()
        .chain(words.iter().map(Into::into))
        .collect();
    let seen = trace(&Subject::new(&argv[0]).argv(&argv)).unwrap();
    assert_tells(&seen, ["execve"]);
    assert_eq!(seen.exit, Exit::Exited(125), "{words:?}");
    let run = run(&argv);
    let said = run.stderr();
    assert!(said.starts_with("launch: "), "{said}");
    assert!(said.contains(named), "{words:?}: {said}");
    assert!(said.ends_with('\n') && said.lines().count() == 1, "{said}");
    assert_eq!(run.status.code(), Some(125), "{words:?}");
}

#[test]
fn an_unknown_option_is_named() {
    for word in [
        "--nosuch",
        "-x",
        "-",
        "---",
        "--nosuch=1",
        "--umasks",
        "--umas",
        "--setsid=1",
        "-Cx",
        "--NICE",
        "--i",
    ] {
        refused(&[word, "true"], word);
    }
}

#[test]
fn a_value_that_is_missing_is_named() {
    for word in [
        "-C",
        "--chdir",
        "-u",
        "--unset",
        "-a",
        "--argv0",
        "--chroot",
        "--umask",
        "--close-from",
        "--cloexec-from",
        "--nice",
        "--cpus",
        "--sched",
        "--ionice",
        "--pdeathsig",
        "-U",
        "--reuid",
        "--regid",
        "--groups",
        "--alarm",
        "--lock",
        "--write",
        "--set",
        "--set-default",
        "--prefix",
        "--suffix",
    ] {
        refused(&[word], word);
    }
    refused(&["--set", "A"], "--set");
    refused(&["--write", "f"], "--write");
    refused(&["--prefix", "A", ":"], "--prefix");
}

#[test]
fn a_number_that_is_none_is_named() {
    for (option, values) in [
        (
            "--umask",
            &["8", "x", "", "-1", "01000", "77777777777777777777"][..],
        ),
        (
            "--close-from",
            &["x", "-1", "", "3x", "4294967296", "99999999999999999999"],
        ),
        ("--cloexec-from", &["x", "-1"]),
        ("--nice", &["x", "", "--5", "5x"]),
        (
            "--cpus",
            &[
                "x",
                "",
                "3-1",
                "1-",
                "-1",
                "1,,2",
                "1:",
                "0-3:0",
                "99999999999",
            ],
        ),
        (
            "--sched",
            &["x", "", "fifo:x", "fifo:", "batch:99999999999"],
        ),
        ("--ionice", &["x", "", "2:x", "2:", "best:1"]),
        (
            "--reuid",
            &["x", "", "-1", "4294967295", "4294967296", "1x", "root"],
        ),
        ("--regid", &["x", "-1", "4294967295"]),
        ("--groups", &["x", "1,x", "1,,2", "4294967295"]),
        ("--alarm", &["x", "", "-1", "4294967296"]),
    ] {
        for value in values {
            refused(&[option, value, "true"], option);
        }
    }
    for word in [
        "--nofile=x",
        "--nofile=",
        "--nofile=5:",
        "--nofile=:5",
        "--nofile=5:x",
        "--nofile=-1",
        "--nofile=18446744073709551616",
        "--nofile=5:6:7",
        "--nofile=Unlimited",
    ] {
        refused(&[word, "true"], word);
    }
    refused(&["--nofile", "5:5", "true"], "--nofile");
}

#[test]
fn a_name_of_a_variable_that_is_none_is_named() {
    for option in ["-u", "--set", "--set-default", "--prefix", "--suffix"] {
        for name in ["", "A=B", "="] {
            refused(&[option, name, "a", "b", "true"], option);
        }
    }
    refused(&["=x", "true"], "=x");
}

#[test]
fn a_signal_that_is_none_is_named() {
    for value in ["NOSUCH", "", "65", "-1", "0", "SIG", "15x", "TERMS"] {
        refused(&["--pdeathsig", value, "true"], "--pdeathsig");
        for option in ["--default-signal", "--ignore-signal", "--block-signal"] {
            let word = format!("{option}={value}");
            refused(&[&word, "true"], &word);
        }
    }
    refused(
        &["--ignore-signal=INT,NOSUCH", "true"],
        "--ignore-signal=INT,NOSUCH",
    );
    refused(&["--ignore-signal", "true"], "--ignore-signal");
    refused(&["--block-signal", "true"], "--block-signal");
}

#[test]
fn a_descriptor_that_is_none_is_named() {
    for word in [
        "2>&x",
        "2>&",
        "2>&1x",
        "2>&--",
        "4294967296>&1",
        "2>&4294967296",
        "99999999999999999999>f",
        "2147483648>&-",
    ] {
        refused(&[word, "true"], word);
    }
}

#[test]
fn a_redirection_without_a_file_is_named() {
    for word in [">", "2>", "<", ">>", "3<>", ">|"] {
        refused(&[word, "true"], word);
    }
}

#[test]
fn a_user_by_number_without_a_group_is_refused() {
    refused(&["-U", "1000", "true"], "-U");
    for value in [
        "",
        ":",
        "1000:",
        ":1000",
        "4294967295:1",
        "1:4294967295",
        "4294967296:1",
    ] {
        refused(&["-U", value, "true"], "-U");
    }
}

#[test]
fn without_a_program_it_says_how_it_is_used() {
    for words in [
        &[][..],
        &["--"],
        &["A=1"],
        &["-C", "/"],
        &[">f"],
        &["-i", "--"],
    ] {
        refused(words, "program");
    }
    assert!(!fs::exists("f").unwrap());
}

#[test]
fn words_that_are_refused_leave_nothing_done() {
    let file = out();
    fs::write(&file, "kept").unwrap();
    let new = folder().join("new");
    let (cut, create) = (
        format!(">{}", file.display()),
        format!("5>{}", new.display()),
    );
    refused(&[&cut, &create, "--nosuch", "true"], "--nosuch");
    refused(&[&cut, &create, "--umask", "9", "true"], "--umask");
    refused(&[&cut, &create], "program");
    assert_eq!(fs::read_to_string(file).unwrap(), "kept");
    assert!(!new.exists());
}

#[test]
fn what_follows_the_program_is_the_programs() {
    let output = succeed(std::process::Command::new(program("launch")).args([
        "/bin/echo",
        "--nosuch",
        "A=1",
        "--",
        "2>&1",
        "--help",
    ]));
    assert_eq!(output, "--nosuch A=1 -- 2>&1 --help\n");
}

#[test]
fn help_is_one_write_to_stdout_and_names_every_action() {
    let argv = words![program("launch"), "--help"];
    let seen = trace(&Subject::new(&argv[0]).argv(argv)).unwrap();
    seen.assert(exactly(["execve", "write", "exit_group"]));
    assert_eq!(seen.exit, Exit::Exited(0));

    let help = succeed(std::process::Command::new(program("launch")).arg("--help"));
    let options = "-u --unset -i --ignore-environment --set --set-default --prefix --suffix -a --argv0 -C --chdir \
        --chroot --umask --close-from --cloexec-from --setsid --pgrp --ctty --nice --cpus --sched --ionice --nnp \
        --subreaper -R --pdeathsig -U --reuid --regid --groups --clear-groups --default-signal --ignore-signal \
        --block-signal --alarm --lock --write --stdio-null --help --version \
        --as= --core= --cpu= --data= --fsize= --locks= --memlock= --msgqueue= --nice= --nofile= --nproc= --rss= \
        --rtprio= --rttime= --sigpending= --stack=";
    let named = |option: &str| {
        let end = |c: char| !c.is_ascii_alphanumeric() && c != '-';
        help.split(option).skip(1).any(|rest| rest.starts_with(end))
    };
    for option in options.split_whitespace() {
        assert!(
            named(option) || option.ends_with('=') && help.contains(option),
            "{option}\n{help}"
        );
    }
    for notation in [
        "NAME=VALUE",
        "<FILE",
        ">FILE",
        ">>FILE",
        "<>FILE",
        ">|FILE",
        ">&M",
        "<&M",
        ">&-",
        "%p",
    ] {
        assert!(help.contains(notation), "{notation}\n{help}");
    }
    for status in ["125", "126", "127"] {
        assert!(help.contains(status), "{status}\n{help}");
    }
    for line in help.lines() {
        assert!(line.len() <= 80, "{line}");
        assert_eq!(line.trim_end(), line);
    }
    assert!(help.is_ascii() && help.ends_with('\n'), "{help}");
}

#[test]
fn help_names_no_option_that_there_is_not() {
    let help = succeed(std::process::Command::new(program("launch")).arg("--help"));
    let words = help.split(|c: char| c.is_whitespace() || "[](),".contains(c));
    let options: Vec<_> = words
        .filter(|word| word.len() > 1 && word.starts_with('-'))
        .collect();
    assert!(options.len() > 40, "{options:?}");
    for option in options {
        let run = run(&words![program("launch"), option]);
        assert!(!run.stderr().contains("no such option"), "{}", run.stderr());
    }
}

#[test]
fn version_is_one_line_on_stdout() {
    let version = succeed(std::process::Command::new(program("launch")).arg("--version"));
    assert_eq!(version, format!("launch {}\n", env!("CARGO_PKG_VERSION")));
    let argv = words![program("launch"), "--version"];
    let seen = trace(&Subject::new(&argv[0]).argv(argv)).unwrap();
    seen.assert(exactly(["execve", "write", "exit_group"]));
}
