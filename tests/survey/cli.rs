//! `barest survey`: what its questions have in common on the command line.

use crate::common;

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// The questions that read files, each with what it needs beside a folder, and how it is named.
const QUESTIONS: [(&str, &[&str]); 4] = [
    ("libraries", &[]),
    ("symbols", &[]),
    ("sizes", &[]),
    ("exposure", &["libc.so.6", "--path"]),
];

/// A folder with a dynamic program, a static one and a script.
fn tree(name: &str) -> PathBuf {
    let folder = common::folder(&format!("survey-cli-{name}"));
    let source = folder.join("main.c");
    fs::write(
        &source,
        "#include <stdio.h>\nint main(void) { return puts(\"x\") < 0; }\n",
    )
    .unwrap();
    let programs = folder.join("bin");
    fs::create_dir(&programs).unwrap();
    for (name, link) in [("dynamic", "-pie"), ("static", "-static")] {
        let mut gcc = Command::new("gcc");
        gcc.args([link, "-o"]).arg(programs.join(name)).arg(&source);
        common::succeed(&mut gcc);
    }
    let script = programs.join("script");
    fs::write(&script, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    programs
}

/// A question about a folder.
fn ask(question: &str, more: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_barest"));
    command
        .args(["survey", question])
        .args(more)
        .arg(folder)
        .env_remove("NO_COLOR")
        .stdin(Stdio::null());
    command
}

fn survey(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_barest"));
    command.arg("survey").args(args).output().unwrap()
}

/// Asserts that nothing is on stdout, that there is one line on stderr which begins and ends so,
/// and exit code 2.
fn refused(args: &[&str], begin: &str, end: &str) {
    let output = survey(args);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
    assert_eq!(output.stdout, b"", "{args:?}");
    assert_eq!(error.lines().count(), 1, "{args:?}: {error}");
    assert!(
        error.starts_with(&format!("barest: {begin}")) && error.trim_end().ends_with(end),
        "{args:?}: {error}"
    );
}

#[test]
fn the_help_of_each_question_names_all_that_it_takes() {
    let overview = String::from_utf8(survey(&["--help"]).stdout).unwrap();
    for (question, takes) in [
        ("libraries", &["[PATH]...", "--root <FOLDER>", "--all"][..]),
        ("symbols", &["[PATH]...", "--root <FOLDER>", "--all"]),
        ("sizes", &["[PATH]...", "--root <FOLDER>", "--all"]),
        (
            "exposure",
            &[
                "[NAME]...",
                "--advisories <FILE>",
                "--path <PATH>",
                "--root <FOLDER>",
                "--all",
            ],
        ),
        ("aslr", &["PROG", "--repeat <N>"]),
    ] {
        assert!(overview.contains(&format!("\n  {question} ")), "{overview}");
        let output = survey(&[question, "--help"]);
        assert!(output.status.success());
        let help = String::from_utf8(output.stdout).unwrap();
        assert!(
            help.contains(&format!("Usage: barest survey {question}")),
            "{help}"
        );
        let common = [
            "--plot <FILE>",
            "`-` is refused",
            "--format <FORMAT>",
            "csv",
        ];
        for what in takes.iter().chain(&common) {
            assert!(help.contains(what), "{question}, {what}: {help}");
        }
    }
}

#[test]
fn a_wrong_command_line_is_refused_in_one_line() {
    for (question, _) in QUESTIONS {
        let end = &format!("see barest survey {question} --help");
        refused(&[question, "--depth"], "unexpected argument '--depth'", end);
        refused(
            &[question, "--plot"],
            "a value is required for '--plot <FILE>'",
            end,
        );
        refused(
            &[question, "--format", "xml"],
            "invalid value 'xml' for '--format <FORMAT>'",
            end,
        );
        refused(
            &[question, "--root"],
            "a value is required for '--root <FOLDER>'",
            end,
        );
    }
    refused(
        &["shares"],
        "unrecognized subcommand 'shares'",
        "see barest survey --help",
    );
    refused(&[], "no command", "see barest survey --help");
    refused(
        &["exposure"],
        "the following required arguments were not provided",
        "see barest survey exposure --help",
    );
    refused(
        &["aslr", "--repeat", "1", "true"],
        "invalid value '1' for '--repeat <N>'",
        "see barest survey aslr --help",
    );
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    for (question, more) in QUESTIONS {
        let absent = Path::new("/nonexistent/programs");
        let output = ask(question, more, absent).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{question}: {error}");
        assert_eq!(error.lines().count(), 1, "{question}: {error}");
        assert!(
            error.starts_with("barest: /nonexistent/programs: "),
            "{question}: {error}"
        );
        let args: Vec<&str> = [question]
            .into_iter()
            .chain(more.iter().copied())
            .chain(["/bin", "--root", "/nonexistent"])
            .collect();
        let output = survey(&args);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{question}: {error}");
        assert!(
            error.starts_with("barest: /nonexistent: "),
            "{question}: {error}"
        );
    }
}

#[test]
fn every_format_of_every_question_says_something_of_the_programs() {
    let folder = tree("formats");
    for (question, more) in QUESTIONS {
        let print = |format: &str| {
            let mut command = ask(question, more, &folder);
            let output = command
                .args(["--all", "--format", format])
                .output()
                .unwrap();
            let error = String::from_utf8(output.stderr).unwrap();
            assert!(output.status.success(), "{question}, {format}: {error}");
            assert_eq!(error, "", "{question}, {format}");
            String::from_utf8(output.stdout).unwrap()
        };
        // The program, or the library that it loads.
        let about = if question == "libraries" {
            "libc.so.6"
        } else {
            "bin/dynamic"
        };
        let table = print("table");
        assert!(table.contains(about), "{question}: {table}");
        assert!(table.contains("\n---"), "{question}: {table}");
        let markdown = print("markdown");
        assert!(markdown.contains("| ---"), "{question}: {markdown}");
        let json: Value = serde_json::from_str(&print("json")).unwrap();
        assert_eq!(json["schema"], format!("barest.survey-{question}/1"));
        assert_eq!(json["facts"].as_array().unwrap().len(), 1, "{question}");
        assert_eq!(json["errors"].as_array().unwrap().len(), 0, "{question}");
        let text = print("csv");
        assert!(text.contains(about), "{question}: {text}");
        // One table, or several with an empty line between two; the rows of each equally long.
        for table in text.split("\n\n") {
            let mut reader = csv::Reader::from_reader(table.as_bytes());
            assert!(reader.headers().unwrap().len() > 1, "{question}: {text}");
            for row in reader.records() {
                row.unwrap();
            }
        }
    }
}

#[test]
fn the_plot_is_a_picture_that_names_its_axes() {
    let folder = tree("plots");
    for (question, more) in QUESTIONS {
        let file = folder.with_file_name(format!("{question}.svg"));
        let plotted = ask(question, more, &folder)
            .arg("--plot")
            .arg(&file)
            .output()
            .unwrap();
        let plain = ask(question, more, &folder).output().unwrap();
        assert!(plotted.status.success(), "{question}");
        assert_eq!(plotted.stdout, plain.stdout, "{question}");
        let text = fs::read_to_string(&file).unwrap();
        let svg = roxmltree::Document::parse(&text).unwrap();
        let words: Vec<_> = svg
            .descendants()
            .filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "text")))
            .collect();
        assert!(words.len() > 5, "{question}: {text}");
        assert!(
            !text.contains("There is nothing to show."),
            "{question}: {text}"
        );
    }
}

#[test]
fn where_no_plot_can_be_nothing_is_surveyed() {
    let folder = common::folder("survey-cli-nowhere");
    let inside = folder.join("absent/plot.svg");
    for (question, more) in QUESTIONS {
        for (file, end) in [
            ("-", "stdout has the table; name a file"),
            ("/dev/null", "not a regular file; name another"),
            (folder.to_str().unwrap(), "is a folder; name a file in it"),
            (
                inside.to_str().unwrap(),
                "No such file or directory (os error 2)",
            ),
        ] {
            let args: Vec<&str> = [question]
                .into_iter()
                .chain(more.iter().copied())
                .chain(["/bin", "--plot", file])
                .collect();
            refused(
                &args,
                &format!("invalid value '{file}' for '--plot <FILE>': "),
                &format!("{end}; see barest survey {question} --help"),
            );
        }
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn a_plot_that_cannot_be_written_is_said_and_the_table_is_printed() {
    let folder = tree("unwritten");
    // Nobody may make a file there.
    let output = ask("libraries", &["--plot", "/proc/plot.svg"], &folder)
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(
        error.starts_with("barest: /proc/plot.svg: the plot cannot be written: "),
        "{error}"
    );
    assert!(
        error.ends_with("; name a file in a folder of yours\n"),
        "{error}"
    );
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("libc.so.6")
    );
}

#[test]
fn a_file_that_is_there_is_replaced_whole_and_a_link_to_it_kept() {
    let folder = tree("replaced");
    let plots = folder.with_file_name("plots");
    fs::create_dir(&plots).unwrap();
    let (file, link) = (plots.join("plot.svg"), plots.join("link.svg"));
    fs::write(&file, "x".repeat(1_000_000)).unwrap();
    symlink("plot.svg", &link).unwrap();
    let mut command = ask("libraries", &[], &folder);
    assert!(
        command
            .arg("--plot")
            .arg(&link)
            .output()
            .unwrap()
            .status
            .success()
    );
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.starts_with("<svg ") && text.ends_with("</svg>\n"),
        "{text}"
    );
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    // Nothing is left beside them.
    assert_eq!(fs::read_dir(&plots).unwrap().count(), 2);
}

#[test]
fn a_plot_may_be_read_by_whom_the_umask_lets() {
    let folder = tree("umask");
    let file = folder.with_file_name("plot.svg");
    let mut shell = Command::new("sh");
    shell
        .args([
            "-c",
            "umask 027; exec \"$@\"",
            "sh",
            env!("CARGO_BIN_EXE_barest"),
        ])
        .args(["survey", "libraries", "--plot"])
        .args([&file, &folder]);
    common::succeed(&mut shell);
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o640
    );
}

#[test]
fn a_survey_that_fails_leaves_the_file_alone() {
    let folder = common::folder("survey-cli-failed");
    let file = folder.join("plot.svg");
    fs::write(&file, "mine").unwrap();
    let mut command = ask("libraries", &[], &folder.join("absent"));
    let output = command.arg("--plot").arg(&file).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}

#[test]
fn a_survey_that_is_interrupted_leaves_no_file() {
    let folder = common::folder("survey-cli-interrupted");
    let mut command = Command::new(env!("CARGO_BIN_EXE_barest"));
    let mut child = command
        .args(["survey", "aslr", "--repeat", "1000000", "--plot"])
        .arg(folder.join("plot.svg"))
        .args(["--", "/bin/sh"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // It has begun once one of its threads has started its subject.
    let threads = format!("/proc/{}/task", child.id());
    let begun = || {
        let mut threads = fs::read_dir(&threads).unwrap().flatten();
        threads.any(|thread| {
            let children = fs::read_to_string(thread.path().join("children"));
            children.is_ok_and(|children| !children.is_empty())
        })
    };
    while !begun() {
        assert_eq!(child.try_wait().unwrap(), None);
    }
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    assert!(!child.wait().unwrap().success());
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn a_reader_that_goes_away_is_no_fault() {
    let folder = tree("head");
    for (question, more) in QUESTIONS {
        for format in ["table", "csv", "json", "markdown"] {
            let mut command = ask(question, more, &folder);
            command
                .args(["--format", format])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            let mut child = command.spawn().unwrap();
            drop(child.stdout.take());
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{question}, {format}");
            assert_eq!(output.stderr, b"", "{question}, {format}");
        }
    }
}

/// What is printed on a terminal of 70 columns.
fn on_terminal(mut command: Command) -> String {
    let size = Winsize {
        ws_row: 24,
        ws_col: 70,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let pty = openpty(&size, None).unwrap();
    let mut child = command.stdout(pty.slave).spawn().unwrap();
    drop(command);
    let mut text = Vec::new();
    // Reading a terminal that nobody holds any more fails with EIO; what came before is kept.
    let _ = File::from(pty.master).read_to_end(&mut text);
    assert!(child.wait().unwrap().success());
    String::from_utf8(text).unwrap().replace('\r', "")
}

#[test]
fn a_terminal_shows_bold_letters_unless_no_color_is_set() {
    let folder = tree("terminal");
    for (question, more) in QUESTIONS {
        let bold = on_terminal(ask(question, more, &folder));
        assert!(bold.contains("\x1b[1m"), "{question}: {bold}");
        let mut command = ask(question, more, &folder);
        command.env("NO_COLOR", "1");
        let plain = on_terminal(command);
        assert!(!plain.contains('\x1b'), "{question}: {plain}");
    }
}
