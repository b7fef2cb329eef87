//! The main job: all programs beside their peers, more calls in every one of them.

mod common;

use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;

use assert_cmd::Command;
use barest::count::Range;
use barest::report::{Found, Plan, Report, report};
use common::{folder, program, target};
use nix::sys::signal::{self, SigHandler, Signal};
use nix::unistd::Pid;
use predicates::prelude::*;

fn plan() -> Plan {
    program("true");
    Plan {
        programs: target().join("bare"),
        peers: Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/peers.toml"),
        build: target().join("peers"),
        repeat: 3,
        rounds: 0,
        steps: false,
    }
}

fn measured(report: &Report) -> impl Iterator<Item = (&str, &str, Range)> {
    report.tables.iter().flat_map(|comparison| {
        comparison.rows.iter().filter_map(|row| match &row.found {
            Found::Measured(found) => Some((
                comparison.program.as_str(),
                row.runtime.as_str(),
                found.calls,
            )),
            _ => None,
        })
    })
}

#[test]
fn every_peer_with_a_libc_makes_more_calls_than_ours_and_none_makes_fewer() {
    let report = report(&plan(), &|_| {}).unwrap();
    let ours = |program| {
        let mut all = measured(&report);
        all.find(|(p, runtime, _)| *p == program && *runtime == "barest")
            .unwrap()
            .2
    };
    for (program, calls) in [
        ("true", 2),
        ("hello", 3),
        ("exec", 2),
        ("false", 2),
        ("golf", 2),
    ] {
        assert_eq!(
            ours(program),
            Range {
                min: calls,
                max: calls
            },
            "{program}"
        );
    }
    let mut compared = 0;
    for (program, runtime, calls) in
        measured(&report).filter(|(_, runtime, _)| *runtime != "barest")
    {
        let ours = ours(program).max;
        match runtime {
            "assembler" => assert_eq!(
                calls,
                Range {
                    min: ours,
                    max: ours
                },
                "{program}"
            ),
            _ => assert!(calls.min > ours, "{program}: {runtime}: {calls}"),
        }
        compared += 1;
    }
    // The assembler, and glibc and musl, static and dynamic: there on every machine that may pass.
    assert!(compared >= 15, "{compared} comparisons");
    for runtime in [
        "glibc, static",
        "glibc, dynamic",
        "musl, static",
        "musl, dynamic",
    ] {
        assert!(
            measured(&report).any(|(_, r, _)| r == runtime),
            "{runtime} was not measured"
        );
    }
    assert_eq!(report.tables.len(), 6);
}

#[test]
fn the_command_prints_one_table_and_writes_both_files() {
    let plan = plan();
    let out = folder("report_out").join("made/on/the/way");
    let mut command = Command::new(env!("CARGO_BIN_EXE_barest"));
    command.arg("report").arg("--programs").arg(&plan.programs);
    command
        .arg("--peers")
        .arg(&plan.peers)
        .arg("--build")
        .arg(&plan.build)
        .arg("--out")
        .arg(&out)
        .args(["--rounds", "5", "--no-steps"]);
    command
        .assert()
        .success()
        .stderr("")
        .stdout(
            predicate::str::is_match(r"(?m)^true +barest +2 +- +188 +- .* [0-9.]+ +-$").unwrap(),
        )
        .stdout(predicate::str::contains("Measured on Linux "));
    let page = fs::read_to_string(out.join("report.md")).unwrap();
    assert!(page.contains("| true | barest | 2 | - | 188 |"), "{page}");
    let facts: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(out.join("report.json")).unwrap()).unwrap();
    assert_eq!(facts["schema"], "barest.report/1");
    assert_eq!(
        facts["facts"][0]["tables"][0]["rows"][0]["found"]["measured"]["calls"]["max"],
        2
    );
    // Nothing half-written is left.
    assert_eq!(fs::read_dir(&out).unwrap().count(), 2);
}

#[test]
fn a_peer_whose_tool_is_missing_is_marked_and_the_rest_measured() {
    let folder = folder("report_missing");
    let peers = folder.join("peers.toml");
    fs::write(
        &peers,
        r#"
        [[peer]]
        id = "nolibc"
        name = "no such libc"
        source = "{program}.c"
        programs = ["true"]
        build = ["no-such-cc {source} -o {output}"]
        linkage = "static"
        libc = "none"
        needs = [{ tool = "no-such-cc", package = "no-such-dev" }]
        "#,
    )
    .unwrap();
    let plan = Plan {
        peers,
        build: folder.join("build"),
        ..plan()
    };
    let report = report(&plan, &|_| {}).unwrap();
    let rows = &report.tables[0].rows;
    assert_eq!(rows.len(), 2);
    assert!(matches!(&rows[0].found, Found::Measured(_)));
    assert!(matches!(&rows[1].found, Found::NotInstalled(what) if what == "no-such-dev"));
    let page = barest::view::markdown::render(&barest::view::report::page(&[report]));
    assert!(
        page.contains("no such libc: not installed: no-such-dev (make deps)"),
        "{page}"
    );
}

#[test]
fn without_our_programs_or_the_data_file_it_is_one_line_and_exit_2() {
    for (programs, peers, says) in [
        (
            "/nowhere",
            "tests/peers/peers.toml",
            "/nowhere/true: no such program; make programs builds ours",
        ),
        ("/nowhere", "/no.toml", "read /no.toml"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_barest"));
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

/// One peer only, which is built in no time.
fn beside_assembler(folder: &Path) -> Plan {
    let peers = folder.join("peers.toml");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/true.s");
    fs::copy(source, folder.join("true.s")).unwrap();
    fs::write(
        &peers,
        r#"
        [[peer]]
        id = "gas"
        name = "assembler"
        source = "{program}.s"
        programs = ["true"]
        build = ["as {source} -o {object}", "ld -s -t {object} -o {output}"]
        linkage = "static"
        libc = "none"
        needs = [{ tool = "as", package = "binutils" }]
        "#,
    )
    .unwrap();
    Plan {
        peers,
        build: folder.join("build"),
        ..plan()
    }
}

/// A kit that is running. It does not outlive a test that fails.
struct Running(std::process::Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Nothing to kill where the test has waited for it.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_row_has_instructions_time_faults_and_memory() {
    let plan = Plan {
        rounds: 40,
        steps: true,
        ..beside_assembler(&folder("report_whole"))
    };
    let last = std::sync::Mutex::new((0, 0));
    let report = report(&plan, &|progress| {
        let mut last = last.lock().unwrap();
        assert!(progress.done > last.0);
        *last = (progress.done, progress.of);
    })
    .unwrap();
    // All the work that was announced was done.
    let (done, of) = *last.lock().unwrap();
    assert_eq!(done, of);
    let rows: Vec<_> = report
        .tables
        .iter()
        .flat_map(|table| table.rows.iter().map(|row| (table.program.as_str(), row)))
        .map(|(program, row)| match &row.found {
            Found::Measured(found) => (program, found),
            other => panic!("{program}: {other:?}"),
        })
        .collect();
    assert_eq!(rows.len(), 7);
    for (program, found) in rows {
        let steps = found.steps.unwrap();
        let most = match program {
            "true" | "false" => 4,
            "exec" => 20,
            "hello" => 40,
            "golf" => 8,
            _ => u64::MAX,
        };
        assert!(
            (1..=most).contains(&steps.instructions),
            "{program}: {steps:?}"
        );
        assert_eq!(steps.cpuid, 0, "{program}");
        let time = found.time.as_ref().unwrap();
        assert!(time.faults.min >= 1 && time.time.min_ns > 0, "{program}");
        assert_eq!(time.memory.is_some(), program != "exec", "{program}");
    }
    let clock = report.tables[0].clock.as_ref().unwrap();
    assert_eq!(clock.rounds, 40);
    let Found::Measured(gas) = &report.tables[0].rows[1].found else {
        panic!()
    };
    assert!(gas.time.as_ref().unwrap().ratio.is_some());
    let page = barest::view::markdown::render(&barest::view::report::page(&[report]));
    assert!(
        page.contains("true: 40 rounds; ours against a copy of it"),
        "{page}"
    );
    assert!(
        page.contains("what part of the start they take: one takes "),
        "{page}"
    );
}

#[test]
fn a_report_that_is_interrupted_leaves_no_process_and_no_file() {
    let plan = beside_assembler(&folder("report_interrupted"));
    let out = folder("report_interrupted_out").join("out");
    let folder = folder("report_interrupted_tmp");
    let mut kit = std::process::Command::new(env!("CARGO_BIN_EXE_barest"));
    // A shell has its background jobs ignore it, and who runs tests may be one.
    // SAFETY: one system call between fork and exec.
    unsafe {
        kit.pre_exec(|| {
            signal::signal(Signal::SIGINT, SigHandler::SigDfl)?;
            Ok(())
        })
    };
    let kit = kit
        .arg("report")
        .arg("--programs")
        .arg(&plan.programs)
        .arg("--peers")
        .arg(&plan.peers)
        .arg("--build")
        .arg(&plan.build)
        .arg("--out")
        .arg(&out)
        .env("TMPDIR", &folder)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut kit = Running(kit);
    let files = || fs::read_dir(&folder).unwrap().count();
    // Of programs that are run from there.
    let running = || {
        fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| fs::read_link(entry.ok()?.path().join("exe")).ok())
            .filter(|program| program.starts_with(&folder))
            .count()
    };
    wait_until(|| running() > 0);
    signal::kill(Pid::from_raw(kit.0.id() as i32), Signal::SIGINT).unwrap();
    assert_eq!(kit.0.wait().unwrap().signal(), Some(Signal::SIGINT as i32));
    wait_until(|| running() == 0 && files() == 0);
    // Nothing half-written either.
    assert!(!out.exists());
}

fn wait_until(done: impl Fn() -> bool) {
    let begin = std::time::Instant::now();
    while !done() {
        assert!(begin.elapsed().as_secs() < 30, "it never came to that");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}
