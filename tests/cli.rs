//! The command line: what it prints, where, and with which exit code.

use std::fs::{self, File};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use assert_cmd::cargo::cargo_bin_cmd;
use nix::pty::{Winsize, openpty};
use predicates::prelude::*;
use serde_json::Value;
use tempfile::TempDir;

const COMMANDS: [&str; 12] = [
    "count",
    "trace",
    "start",
    "steps",
    "time",
    "image",
    "survey",
    "report",
    "bake",
    "doctor",
    "completions",
    "man",
];

fn barest(args: &[&str]) -> assert_cmd::Command {
    let mut command = cargo_bin_cmd!("barest");
    command.args(args).env_remove("NO_COLOR");
    command
}

/// Asserts that nothing is on stdout, that this one line is on stderr, and exit code 2.
fn refused(args: &[&str], line: &str) {
    barest(args)
        .assert()
        .code(2)
        .stdout("")
        .stderr(format!("barest: {line}\n"));
}

fn json_of(args: &[&str]) -> Value {
    let output = barest(&["--format", "json"]).args(args).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What is printed on a terminal of that many columns.
fn on_terminal(columns: u16, args: &[&str], no_color: &str) -> String {
    let size = Winsize {
        ws_row: 24,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let pty = openpty(&size, None).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_barest"));
    command
        .args(args)
        .env("NO_COLOR", no_color)
        .stdin(Stdio::null())
        .stdout(pty.slave);
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut text = Vec::new();
    // Reading a terminal that nobody holds any more fails with EIO; what came before is kept.
    let _ = File::from(pty.master).read_to_end(&mut text);
    assert!(child.wait().unwrap().success());
    String::from_utf8(text).unwrap().replace('\r', "")
}

#[test]
fn help_lists_every_command_on_stdout() {
    for args in [&["--help"][..], &["-h"], &["help"]] {
        let mut assert = barest(args).assert().code(0).stderr("");
        for command in COMMANDS {
            let line = predicate::str::is_match(format!("(?m)^  {command} +[A-Z]")).unwrap();
            assert = assert.stdout(line);
        }
    }
    for command in COMMANDS {
        let usage = predicate::str::contains(format!("Usage: barest {command} "));
        barest(&[command, "--help"])
            .assert()
            .code(0)
            .stderr("")
            .stdout(usage);
    }
    let version = concat!("barest ", env!("CARGO_PKG_VERSION"), "\n");
    barest(&["--version"])
        .assert()
        .code(0)
        .stderr("")
        .stdout(version);
}

#[test]
fn a_wrong_command_line_is_one_line_that_says_where_to_read_on() {
    refused(&[], "no command; see barest --help");
    refused(
        &["cuont"],
        "unrecognized subcommand 'cuont'; a similar subcommand exists: 'count'; see barest --help",
    );
    refused(
        &["image"],
        "the following required arguments were not provided: <FILE>...; see barest image --help",
    );
    refused(
        &["image", "--fromat", "json", "x"],
        "unexpected argument '--fromat' found; a similar argument exists: '--format'; see barest image --help",
    );
    refused(
        &["image", "--format", "xml", "x"],
        "invalid value 'xml' for '--format <FORMAT>' [possible values: table, json, markdown, csv]; see barest image --help",
    );
}

#[test]
fn a_file_that_is_no_whole_program_is_one_line() {
    let dir = TempDir::new().unwrap();
    let at = |name: &str| {
        dir.path()
            .join(name)
            .into_os_string()
            .into_string()
            .unwrap()
    };
    fs::write(at("text"), "hello\n").unwrap();
    let whole = fs::read(env!("CARGO_BIN_EXE_barest")).unwrap();
    fs::write(at("cut"), &whole[..5000]).unwrap();
    for (name, reason) in [
        ("missing", "no such file; check the path"),
        ("", "a directory, not a file; name an ELF file"),
        (
            "text",
            "not an ELF file; name a compiled program, a library or an object",
        ),
    ] {
        refused(&["image", &at(name)], &format!("{}: {reason}", at(name)));
    }
    let line = predicate::str::is_match(
        r"^barest: [^\n]*: cut short or damaged: segment \d+ ends after the file's 5000 bytes; get the whole file\n$",
    );
    barest(&["image", &at("cut")])
        .assert()
        .code(2)
        .stdout("")
        .stderr(line.unwrap());
}

#[test]
fn one_bad_file_does_not_keep_the_others_from_being_read() {
    let own = env!("CARGO_BIN_EXE_barest");
    let args = ["image", own, "/nowhere", own];
    let line = "/nowhere: no such file; check the path";
    let twice = predicate::str::contains(own).count(2);
    barest(&args)
        .assert()
        .code(2)
        .stdout(twice)
        .stderr(format!("barest: {line}\n"));

    let json = json_of(&args);
    assert_eq!(json["facts"].as_array().unwrap().len(), 2);
    assert_eq!(json["errors"], serde_json::json!([line]));
}

#[test]
fn json_names_its_schema_and_holds_the_facts() {
    let json = json_of(&["image", env!("CARGO_BIN_EXE_barest")]);
    assert_eq!(json["schema"], "barest.image/1");
    assert_eq!(json["errors"], serde_json::json!([]));
    let facts = &json["facts"][0];
    let bytes = fs::metadata(env!("CARGO_BIN_EXE_barest")).unwrap().len();
    assert_eq!(facts["bytes"], bytes);
    assert_eq!(facts["machine"], "x86_64");
    assert_eq!(facts["linkage"], "dynamic");
    assert_eq!(facts["stack"], "nx");
    assert_eq!(facts["write_xor_execute"], true);
    let kinds = facts["segments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| &s["kind"]);
    assert_eq!(kinds.filter(|kind| *kind == "GNU_STACK").count(), 1);
}

#[test]
fn markdown_is_a_table_with_numbers_to_the_right() {
    let own = env!("CARGO_BIN_EXE_barest");
    barest(&["image", "--format", "markdown", own, own])
        .assert()
        .code(0)
        .stdout(predicate::str::starts_with("| file | bytes | machine |"))
        .stdout(predicate::str::contains("\n| --- | ---: | --- |"));
}

#[test]
fn a_pipe_gets_no_escape_sequence_and_no_wrapping() {
    let own = env!("CARGO_BIN_EXE_barest");
    let one_line_a_file = predicate::function(|text: &str| text.lines().count() == 4);
    barest(&["image", own, own])
        .env("COLUMNS", "20")
        .assert()
        .code(0)
        .stdout(predicate::str::contains("\x1b").not())
        .stdout(one_line_a_file);
}

#[test]
fn a_terminal_gets_bold_letters_unless_no_color_is_set() {
    let args = ["image", env!("CARGO_BIN_EXE_barest")];
    assert!(on_terminal(100, &args, "").contains("\x1b[1m"));
    assert!(!on_terminal(100, &args, "1").contains('\x1b'));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let own = env!("CARGO_BIN_EXE_barest");
    for args in [
        &["image", "/bin/true"][..],
        &["image", own, "/bin/true"],
        &[
            "count",
            "/bin/true",
            "/bin/true a-long-word another-long-word",
        ],
        &["trace", "/bin/true"],
    ] {
        for columns in [40, 80] {
            let text = on_terminal(columns, args, "1");
            assert!(text.lines().count() > 10);
            for line in text.lines() {
                // One word, a path for one, is not broken.
                let fits = line.chars().count() <= columns.into() || !line.contains(' ');
                assert!(fits, "{columns}: {line}");
            }
        }
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let (reader, writer): (OwnedFd, OwnedFd) = nix::unistd::pipe().unwrap();
    drop(reader);
    for args in [&["image", "/bin/true"][..], &["--help"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_barest"))
            .args(args)
            .stdout(writer.try_clone().unwrap())
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        assert_eq!((output.status.code(), output.stderr), (Some(0), vec![]));
    }
}

#[test]
fn a_full_device_is_one_line_and_exit_2() {
    let output = Command::new(env!("CARGO_BIN_EXE_barest"))
        .args(["image", "/bin/true"])
        .stdout(File::options().write(true).open("/dev/full").unwrap())
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let line = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        line,
        "barest: stdout: No space left on device (os error 28); send it somewhere that takes it\n"
    );
}

/// A program that does what the C statements say, and then calls exit_group(7).
fn built(dir: &TempDir, statements: &str) -> String {
    let (source, program) = (dir.path().join("own.c"), dir.path().join("own"));
    let exit = "__asm__ volatile(\"syscall\" :: \"a\"(231), \"D\"(7));";
    fs::write(
        &source,
        format!("void _start(void) {{ {statements} {exit} }}\n"),
    )
    .unwrap();
    let gcc = Command::new("gcc")
        .args(["-static", "-nostdlib", "-o"])
        .args([&program, &source])
        .status();
    assert!(gcc.unwrap().success());
    program.into_os_string().into_string().unwrap()
}

/// A program that makes exactly two calls: execve and exit_group(7).
fn two_calls(dir: &TempDir) -> String {
    built(dir, "")
}

const UNDER: &str = "environment: fixed (LC_ALL=C \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin); \
    stdin null, stdout null, stderr null";

#[test]
fn count_shows_calls_total_and_exit_of_commands_side_by_side() {
    let dir = TempDir::new().unwrap();
    let two = two_calls(&dir);
    let quoted = format!("'{two}' \"a b\"");
    let rows = "| --- | ---: | ---: |\n| execve | 1 | 1 |\n| exit_group | 1 | 1 |\n\
                | total | 2 | 2 |\n| exit | 7 | 7 |\n| runs | 3, fixed | 3, fixed |\n";
    barest(&[
        "count", "--format", "markdown", "--repeat", "3", &two, &quoted,
    ])
    .assert()
    .code(0)
    .stderr("")
    .stdout(format!("| call | {two} | {two} a b |\n{rows}\n{UNDER}\n"));
}

#[test]
fn count_in_json_has_the_whole_subject() {
    let dir = TempDir::new().unwrap();
    let two = two_calls(&dir);
    let json = json_of(&[
        "count",
        "--stdout",
        "pipe",
        "--env",
        "A=1",
        "--timeout",
        "2.5",
        &two,
    ]);
    assert_eq!(json["schema"], "barest.count/1");
    assert_eq!(json["errors"], serde_json::json!([]));
    let facts = &json["facts"][0];
    assert_eq!(facts["total"], serde_json::json!({"min": 2, "max": 2}));
    assert_eq!(facts["exits"], serde_json::json!([{"exited": 7}]));
    let environment = &facts["subject"]["environment"];
    assert_eq!(
        (&environment[0], &environment[2]),
        (&"LC_ALL=C".into(), &"A=1".into())
    );
    assert_eq!(
        (&facts["subject"]["stdin"], &facts["subject"]["stdout"]),
        (&"null".into(), &"pipe".into())
    );
    assert_eq!(
        facts["subject"]["timeout_ns"],
        serde_json::json!(2_500_000_000u64)
    );
}

#[test]
fn expectations_that_hold_exit_0() {
    let dir = TempDir::new().unwrap();
    let two = two_calls(&dir);
    let args = [
        "count",
        "--expect",
        "execve,exit_group",
        "--at-most",
        "2",
        "--repeat",
        "2",
        "--",
        &two,
    ];
    barest(&args).assert().code(0).stderr("");
}

#[test]
fn other_calls_than_expected_exit_1_with_a_diff_that_names_the_command() {
    let dir = TempDir::new().unwrap();
    let two = two_calls(&dir);
    let diff = format!(
        "barest: {two}: not the calls of --expect: - is missing, + is one too many\n  \
         execve\n- brk\n  exit_group\n"
    );
    barest(&["count", "--expect", "execve,brk,exit_group", &two])
        .assert()
        .code(1)
        .stdout(predicate::str::contains("exit_group"))
        .stderr(diff);
}

#[test]
fn more_calls_than_allowed_exit_1_and_what_was_not_measured_exits_2() {
    let dir = TempDir::new().unwrap();
    let two = two_calls(&dir);
    let more = format!("barest: {two}: 2 calls, more than --at-most 1\n");
    barest(&["count", "--at-most", "1", &two])
        .assert()
        .code(1)
        .stderr(more.clone());
    let missing = "barest: /nowhere: not found; name a program by its path, or one in PATH\n";
    barest(&["count", "--at-most", "1", "/nowhere", &two])
        .assert()
        .code(2)
        .stdout(predicate::str::contains("total"))
        .stderr(format!("{missing}{more}"));
}

#[test]
fn trace_lists_each_call_with_arguments_and_result_then_the_exit() {
    let dir = TempDir::new().unwrap();
    let two = two_calls(&dir);
    let table = predicate::str::is_match(
        r" --format x\n#  call        arguments +result\n-+\n1  execve      0x[0-9a-f]+ 0x[0-9a-f]+ 0x[0-9a-f]+  0\n2  exit_group  0x7 +does not return\n\nexited with 7; 2 calls\nenvironment: ",
    )
    .unwrap();
    // What stands behind the program is its own.
    for words in [&["--", &two, "--format", "x"][..], &[&two, "--format", "x"]] {
        barest(&["trace"])
            .args(words)
            .assert()
            .code(0)
            .stderr("")
            .stdout(table.clone());
    }
    let json = json_of(&["trace", "--", &two]);
    assert_eq!(json["schema"], "barest.trace/1");
}

#[test]
fn trace_names_errors_and_counts_processes() {
    let dir = TempDir::new().unwrap();
    // close(-1), then as before.
    let bad = built(
        &dir,
        "long r; __asm__ volatile(\"syscall\" : \"=a\"(r) : \"0\"(3), \"D\"(-1L) : \"rcx\", \"r11\");",
    );
    let row = predicate::str::contains("| 2 | close | 0xffffffffffffffff | EBADF |\n");
    barest(&["trace", "--format", "markdown", &bad])
        .assert()
        .code(0)
        .stdout(row);

    let processes = predicate::str::is_match(r"\nexited with 7; \d+ calls; 2 processes\n").unwrap();
    let script = format!("{bad}; exit $?");
    barest(&["trace", "/bin/sh", "-c", &script])
        .assert()
        .code(0)
        .stdout(processes);
}

#[test]
fn a_subject_that_cannot_be_run_or_does_not_end_is_one_line() {
    refused(
        &["trace", "/nowhere"],
        "/nowhere: not found; name a program by its path, or one in PATH",
    );
    refused(
        &["count", "a 'b"],
        "`a 'b`: unbalanced quotes or no words; quote it as for a shell",
    );
    refused(
        &["trace", "--timeout", "0.2", "/bin/sleep", "30"],
        "/bin/sleep: still running after 0.2 s, killed; give it longer with --timeout",
    );
    refused(
        &["count"],
        "the following required arguments were not provided: <COMMAND>...; see barest count --help",
    );
    for (option, value, reason) in [
        (
            "--timeout <SECONDS>",
            "0",
            "it is no number of seconds above 0",
        ),
        (
            "--timeout <SECONDS>",
            "nan",
            "it is no number of seconds above 0",
        ),
        (
            "--timeout <SECONDS>",
            "1e99",
            "it is no number of seconds above 0",
        ),
        ("--env <NAME=VALUE>", "=x", "it is not NAME=VALUE"),
        (
            "--stdin <KIND>",
            "disk",
            "one of null, pipe, file, tty, inherit, closed",
        ),
    ] {
        let given = format!("{}={value}", option.split(' ').next().unwrap());
        for command in ["count", "trace"] {
            refused(
                &[command, &given, "/bin/true"],
                &format!(
                    "invalid value '{value}' for '{option}': {reason}; see barest {command} --help"
                ),
            );
        }
    }
}

#[test]
fn a_shell_takes_its_completions_and_completes_by_them() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = stdout(&["completions", shell]);
        for command in COMMANDS {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
    let script = stdout(&["completions", "bash"]);
    let complete = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let run = format!(
            "{script}\nCOMP_WORDS=({line}); COMP_CWORD={}\n_barest barest {} {}\necho \"${{COMPREPLY[@]}}\"",
            words.len() - 1,
            words[words.len() - 1],
            words[words.len() - 2],
        );
        let output = std::process::Command::new("bash")
            .args(["-c", &run])
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(complete("barest sur"), "survey");
    assert_eq!(complete("barest survey li"), "libraries");
    refused(
        &["completions", "tcsh"],
        "invalid value 'tcsh' for '<SHELL>' [possible values: bash, elvish, fish, powershell, zsh]; \
         a similar value exists: 'zsh'; see barest completions --help",
    );
}

#[test]
fn there_is_a_manual_page_of_all_and_of_each_command() {
    let page = stdout(&["man"]);
    assert!(page.contains(".TH barest 1 "), "{page}");
    for command in COMMANDS {
        assert!(
            page.contains(&format!("barest\\-{command}(1)")),
            "{command}"
        );
    }
    let page = stdout(&["man", "survey", "libraries"]);
    assert!(page.contains(".TH barest-survey-libraries 1 "), "{page}");
    assert!(page.contains("\\-\\-plot"), "{page}");
    refused(
        &["man", "survey", "nothing"],
        "nothing: no such command; see barest --help",
    );
}

/// What a command that succeeds prints.
fn stdout(args: &[&str]) -> String {
    let output = barest(args).output().unwrap();
    assert!(output.status.success(), "{args:?}");
    String::from_utf8(output.stdout).unwrap()
}
