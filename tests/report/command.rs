//! The report as a command: its files, what becomes of one that is stopped, and what has changed
//! since another.

use crate::common;
use crate::plan::quick_with;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use assert_cmd::Command;
use barest::report::{Depth, Found, Name, Plan, Section, report};
use common::folder;
use nix::sys::signal::{self, SigHandler, Signal};
use nix::unistd::Pid;
use predicates::prelude::*;
use serde_json::{Value, json};

/// Beside one peer only, which is built in no time.
fn plan(folder: &Path) -> Plan {
    let peers = r#"
        [[peer]]
        id = "gas"
        name = "assembler"
        source = "{program}.s"
        programs = ["true"]
        build = ["as {source} -o {object}", "ld -s -t {object} -o {output}"]
        linkage = "static"
        libc = "none"
        needs = [{ tool = "as", package = "binutils" }]
        "#;
    quick_with(Name::Bytes, folder, &["true.s"], peers)
}

/// The words of a quick report of this plan, into that folder.
fn words(plan: &Plan, sections: &[&str], out: &Path) -> Vec<String> {
    let options = [
        ("--programs", &plan.programs),
        ("--peers", &plan.peers),
        ("--build", &plan.build),
    ];
    let mut words = vec!["report".to_owned(), "--quick".to_owned()];
    words.extend(sections.iter().map(|section| (*section).to_owned()));
    for (option, path) in options {
        words.extend([option.to_owned(), path.display().to_string()]);
    }
    words.extend(["--out".to_owned(), out.display().to_string()]);
    words
}

fn barest() -> &'static str {
    env!("CARGO_BIN_EXE_barest")
}

fn read(file: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

#[test]
fn the_command_prints_one_table_and_writes_three_files_as_the_umask_says() {
    let folder = folder("report_out");
    let out = folder.join("made/on/the/way");
    Command::new("sh")
        .args(["-c", r#"umask 022; exec "$@""#, "sh", barest()])
        .args(words(&plan(&folder), &["programs", "bytes"], &out))
        .assert()
        .success()
        .stderr("")
        .stdout(predicate::str::is_match(r"(?m)^true +barest +2 +3 +188 +0 .* [0-9.]+ +-").unwrap())
        .stdout(predicate::str::contains("Measured on Linux "))
        .stdout(predicate::str::contains("Ours has 188 bytes"));
    let page = fs::read_to_string(out.join("report.md")).unwrap();
    assert!(page.contains("| true | barest | 2 | 3 | 188 |"), "{page}");
    let page = fs::read_to_string(out.join("index.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("Ours has 188 bytes"));
    let facts = read(&out.join("report.json"));
    assert_eq!(facts["schema"], "barest.report/2");
    let sections = &facts["facts"][0]["sections"];
    assert_eq!(
        (&sections[0]["name"], &sections[1]["name"]),
        (&json!("programs"), &json!("bytes"))
    );
    let first = &sections[0]["found"]["measured"]["programs"]["tables"][0]["rows"][0];
    assert_eq!(first["found"]["measured"]["calls"]["measured"]["max"], 2);
    // Nothing half-written is left, and what was kept on the way is not needed any more.
    let mut files: Vec<_> = fs::read_dir(&out)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let mode = entry.metadata().unwrap().permissions().mode();
            (entry.file_name().into_string().unwrap(), mode & 0o7777)
        })
        .collect();
    files.sort();
    let names = ["index.html", "report.json", "report.md"];
    assert_eq!(files, names.map(|name| (name.to_owned(), 0o644)));
}

#[test]
fn without_our_programs_or_the_data_file_it_is_one_line_and_exit_2() {
    for (programs, peers, says) in [
        (
            "/nowhere",
            "tests/peers/peers.toml",
            "/nowhere/true: no such program; make programs builds ours",
        ),
        (
            "/nowhere",
            "/no.toml",
            "/no.toml: no such file; report in a checkout of barest, or name it with --peers",
        ),
    ] {
        let mut command = Command::new(barest());
        command.current_dir(env!("CARGO_MANIFEST_DIR"));
        command
            .args(["report", "--programs", programs, "--peers", peers, "--out"])
            .arg(folder("report_nothing"))
            .assert()
            .code(2)
            .stdout("")
            .stderr(predicate::str::starts_with(format!("barest: {says}")))
            .stderr(predicate::function(|text: &str| text.lines().count() == 1));
    }
}

/// A kit that is running. It does not outlive a test that fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Nothing to kill where the test has waited for it.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Begins a report, its temporary files in a folder.
fn begin(words: &[String], temporary: &Path) -> Running {
    let mut kit = std::process::Command::new(barest());
    // A shell has its background jobs ignore it, and who runs tests may be one.
    // SAFETY: one system call between fork and exec.
    unsafe {
        kit.pre_exec(|| {
            signal::signal(Signal::SIGINT, SigHandler::SigDfl)?;
            Ok(())
        })
    };
    kit.args(words)
        .env("TMPDIR", temporary)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Running(kit.spawn().unwrap())
}

impl Running {
    fn is_over(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }

    /// Presses Ctrl-C, and sees that it is gone by that with all that it had in its folder.
    fn interrupt(&mut self, temporary: &Path) {
        signal::kill(Pid::from_raw(self.0.id() as i32), Signal::SIGINT).unwrap();
        let status = self.0.wait().unwrap();
        assert_eq!(status.signal(), Some(Signal::SIGINT as i32));
        let files = || fs::read_dir(temporary).unwrap().count();
        wait_until(|| running(temporary) == 0 && files() == 0);
    }
}

/// How many programs are running that are in a folder.
fn running(folder: &Path) -> usize {
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read_link(entry.ok()?.path().join("exe")).ok())
        .filter(|program| program.starts_with(folder))
        .count()
}

#[test]
fn a_report_that_is_interrupted_leaves_no_process_and_no_file() {
    let out = folder("report_interrupted_out").join("out");
    let words = words(&plan(&folder("report_interrupted")), &["programs"], &out);
    let temporary = folder("report_interrupted_tmp");
    let mut kit = begin(&words, &temporary);
    wait_until(|| running(&temporary) > 0);
    kit.interrupt(&temporary);
    // Nothing half-written either.
    assert_eq!(fs::read_dir(&out).unwrap().count(), 0);
}

#[test]
fn a_report_that_is_stopped_goes_on_where_it_was() {
    let out = folder("report_stopped_out");
    // The wrappers take seconds, so it can be stopped while it is at them.
    let words = words(
        &plan(&folder("report_stopped")),
        &["programs", "wrapper"],
        &out,
    );
    let temporary = folder("report_stopped_tmp");
    let kept = out.join("measured/programs.json");
    let mut kit = begin(&words, &temporary);
    wait_until(|| kept.exists() || kit.is_over());
    kit.interrupt(&temporary);
    let before = read(&kept);
    let page = out.join("index.html");
    assert!(!page.exists() && !out.join("measured/wrapper.json").exists());

    Command::new(barest()).args(&words).assert().success();
    let report = read(&out.join("report.json"));
    let sections = &report["facts"][0]["sections"];
    // With the very times that it had: it was not measured again.
    assert_eq!(sections[0], before["section"]);
    assert_eq!(sections[0]["name"], "programs");
    assert!(sections[1]["found"]["measured"]["wrapper"].is_object());
    assert!(page.exists() && !out.join("measured").exists());
}

#[test]
fn what_is_kept_is_taken_only_where_all_is_the_same() {
    let folder = folder("report_kept");
    let plan = Plan {
        kept: Some(folder.join("measured")),
        ..plan(&folder)
    };
    let file = folder.join("measured/bytes.json");
    let measure = |plan: &Plan| -> Section { report(plan, &|_| {}).unwrap().sections.remove(0) };
    let change = |change: &dyn Fn(&mut Value)| {
        let mut kept = read(&file);
        kept["section"]["took_ms"] = json!(123_456_789);
        change(&mut kept);
        fs::write(&file, kept.to_string()).unwrap();
    };
    assert!(matches!(measure(&plan).found, Found::Measured(_)));
    change(&|_| {});
    assert_eq!(measure(&plan).took_ms, 123_456_789);

    for other in ["version", "machine", "depth", "programs", "peers"] {
        change(&|kept| kept["under"][other] = json!(null));
        assert_ne!(measure(&plan).took_ms, 123_456_789, "{other}");
    }
    change(&|kept| kept["under"]["version"] = json!("0.0.0"));
    assert_ne!(measure(&plan).took_ms, 123_456_789);
    change(&|_| {});
    let thorough = Plan {
        depth: Depth::Default,
        ..plan.clone()
    };
    assert_ne!(measure(&thorough).took_ms, 123_456_789);
    for text in ["", "{", "[]"] {
        fs::write(&file, text).unwrap();
        assert!(matches!(measure(&plan).found, Found::Measured(_)));
    }
    barest::report::forget(&plan).unwrap();
    assert!(!folder.join("measured").exists());
    barest::report::forget(&plan).unwrap();
}

/// A folder with a report.json, and the words to measure again and compare with it.
fn to_compare(name: &str) -> (PathBuf, Vec<String>) {
    let folder = folder(name);
    let words = words(&plan(&folder), &["bytes"], &folder.join("out"));
    Command::new(barest()).args(&words).assert().success();
    let old = folder.join("old.json");
    fs::rename(folder.join("out/report.json"), &old).unwrap();
    let compare = ["--compare".to_owned(), old.display().to_string()];
    (folder, [words, compare.into()].concat())
}

#[test]
fn what_has_changed_since_is_marked_and_fails_if_that_is_asked_for() {
    let (folder, words) = to_compare("report_compare");
    let old = folder.join("old.json");
    let compare = |words: &[String], code: i32| {
        let assert = Command::new(barest()).args(words).assert().code(code);
        let printed = String::from_utf8(assert.get_output().stdout.clone()).unwrap();
        let page = fs::read_to_string(folder.join("out/index.html")).unwrap();
        (printed, page)
    };
    let failing = [words.clone(), vec!["--fail-on-change".to_owned()]].concat();
    let (printed, page) = compare(&failing, 0);
    assert!(
        printed.contains(": 0 changes, 2 numbers the same"),
        "{printed}"
    );
    assert!(page.contains("What has changed") && page.contains("0 changes"));

    // One byte more of the first program.
    let mut report = read(&old);
    let facts = &mut report["facts"][0]["sections"][0]["found"]["measured"]["bytes"];
    let digits = facts["files"][0]["content"]
        .as_str()
        .map(|digits| format!("{digits}00"));
    facts["files"][0]["content"] = json!(digits.expect("the bytes are in the facts"));
    fs::write(&old, report.to_string()).unwrap();
    for (words, code) in [(&words, 0), (&failing, 1)] {
        let (printed, page) = compare(words, code);
        let row = predicate::str::is_match(r"(?m)^true +bytes of the file +189 +188$").unwrap();
        assert!(row.eval(&printed), "{printed}");
        assert!(
            printed.contains(": 1 change, 1 number the same"),
            "{printed}"
        );
        assert!(page.contains("<td>bytes of the file</td>"), "{page}");
        assert!(page.contains("<td class=\"number\">189</td>"));
    }

    // A section that was not measured then is nothing to compare with.
    let facts = &mut report["facts"][0];
    facts["sections"] = json!([]);
    fs::write(&old, report.to_string()).unwrap();
    let (printed, _) = compare(&failing, 0);
    assert!(
        printed.contains(": 0 changes, 0 numbers the same"),
        "{printed}"
    );
}

#[test]
fn a_file_that_is_no_report_of_this_version_and_depth_is_one_line_before_anything_is_measured() {
    let (folder, words) = to_compare("report_compare_wrong");
    let old = folder.join("old.json");
    let good = fs::read_to_string(&old).unwrap();
    fs::remove_dir_all(folder.join("out")).unwrap();
    let version = good.replace("barest.report/2", "barest.report/1");
    let depth = good.replace("\"quick\"", "\"full\"");
    assert!(version != good && depth != good);
    for (text, says) in [
        (version.as_str(), "its schema is barest.report/1"),
        (&depth, "its depth is full, and that of this report quick"),
        ("{}", "no report.json of this version"),
        ("", "no report.json of this version"),
        (
            r#"{"schema":"barest.report/2","facts":[]}"#,
            "it holds none",
        ),
    ] {
        fs::write(&old, text).unwrap();
        Command::new(barest())
            .args(&words)
            .assert()
            .code(2)
            .stdout("")
            .stderr(predicate::str::starts_with(format!(
                "barest: {}: ",
                old.display()
            )))
            .stderr(predicate::str::contains(says))
            .stderr(predicate::function(|text: &str| text.lines().count() == 1));
    }
    fs::remove_file(&old).unwrap();
    Command::new(barest())
        .args(&words)
        .assert()
        .code(2)
        .stderr(predicate::str::starts_with("barest: read "));
    assert!(!folder.join("out").exists());
}

fn wait_until(mut done: impl FnMut() -> bool) {
    let begin = std::time::Instant::now();
    while !done() {
        assert!(begin.elapsed().as_secs() < 30, "it never came to that");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}
