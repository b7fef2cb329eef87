//! Times compare, are believed only as far as they may be, and nothing is left behind.

mod common;
#[path = "common/forbid.rs"]
mod forbid;
#[allow(dead_code, reason = "each test uses a part of it")]
mod subjects;

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{LazyLock, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use assert_cmd::cargo::cargo_bin_cmd;
use barest::memory::memory;
use barest::peers::{self, Availability, Built};
use barest::subject::FIXED_ENVIRONMENT;
use barest::time::{Plan, Ratio, Started, Timing, time, time_each};
use barest::{Exit, Stream, Subject};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use serde_json::Value;
use subjects::scratch;

/// Who compares times is alone meanwhile; other tests share.
static MACHINE: RwLock<()> = RwLock::new(());

fn shared() -> std::sync::RwLockReadGuard<'static, ()> {
    MACHINE.read().unwrap_or_else(|e| e.into_inner())
}

fn alone() -> std::sync::RwLockWriteGuard<'static, ()> {
    MACHINE.write().unwrap_or_else(|e| e.into_inner())
}

static PEERS: LazyLock<Vec<Built>> = LazyLock::new(|| {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/peers.toml");
    let peers = peers::load(&file).unwrap();
    let into = Path::new(env!("CARGO_TARGET_TMPDIR")).join("peers");
    let answers = peers::prepare_all(&peers, &into, |_, _| ());
    let ready = answers
        .into_iter()
        .filter_map(|answer| match answer.unwrap() {
            Availability::Ready { programs } => Some(programs),
            _ => None,
        });
    ready.flatten().collect()
});

fn peer(id: &str, program: &str) -> PathBuf {
    let built = PEERS
        .iter()
        .find(|built| built.peer == id && built.program == program);
    let built = built.unwrap_or_else(|| panic!("{program} of {id} is missing; run make deps"));
    built.path.clone()
}

/// Few rounds, for what does not depend on how many.
fn few() -> Plan {
    Plan {
        rounds: 12,
        warmup: 1,
        ..Plan::default()
    }
}

/// Measures with more and more rounds, until the times are as they should be; the last ones.
fn until(subjects: &[Subject], right: impl Fn(&Timing) -> bool) -> Timing {
    let _alone = alone();
    let mut rounds = 400;
    loop {
        let plan = Plan {
            rounds,
            ..Plan::default()
        };
        let timing = time(subjects, &plan).unwrap();
        if right(&timing) || rounds >= 6400 {
            return timing;
        }
        rounds *= 2;
    }
}

fn ratio(timing: &Timing, of: usize, to: usize) -> Ratio {
    timing.ratio(of, to).unwrap()
}

/// A subject whose processes can be told from all others, by a variable that they inherit.
fn marked(subject: Subject) -> (Subject, String) {
    let mark = format!("MARK={}", scratch("mark").display());
    let environment = FIXED_ENVIRONMENT
        .map(OsString::from)
        .into_iter()
        .chain([mark.clone().into()]);
    (subject.environment(environment), mark)
}

/// How many processes have that mark.
fn left(mark: &str) -> usize {
    let has_mark = |entry: &fs::DirEntry| {
        fs::read(entry.path().join("environ")).is_ok_and(|text| {
            text.split(|byte| *byte == 0)
                .any(|var| var == mark.as_bytes())
        })
    };
    fs::read_dir("/proc")
        .unwrap()
        .filter(|entry| entry.as_ref().is_ok_and(has_mark))
        .count()
}

fn error_of(subject: &Subject, plan: &Plan) -> String {
    let error = time(std::slice::from_ref(subject), plan)
        .unwrap_err()
        .to_string();
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

#[test]
fn true_is_faster_than_the_same_in_every_libc_and_slower_than_the_floor() {
    let least = [
        ("musl-static", 1.03),
        ("glibc-static", 1.8),
        ("glibc-dynamic", 2.5),
        ("rust-dynamic", 3.0),
    ];
    let peers = least.map(|(id, _)| Subject::new(peer(id, "true")));
    let subjects: Vec<_> = [common::subject("true")].into_iter().chain(peers).collect();
    let right = |timing: &Timing| {
        let ratios = (1..subjects.len()).map(|at| ratio(timing, at, 0));
        ratios
            .zip(least)
            .all(|(ratio, (_, least))| ratio.low >= least)
    };
    let timing = until(&subjects, right);
    for ((id, least), at) in least.into_iter().zip(1..) {
        let ratio = ratio(&timing, at, 0);
        assert!(
            ratio.low >= least,
            "{id} by ours: {ratio}, at least {least}"
        );
        assert_eq!(timing.subjects[at].ratio.unwrap(), ratio);
        assert!(!ratio.no_difference);
    }
    let ours = &timing.subjects[0];
    assert!(timing.floor.median_ns < ours.time.median_ns);
    assert!(timing.floor.min_ns < ours.time.min_ns);
    // What the kit adds to each start is less than what the least program takes.
    let ours_above = (ours.time.median_ns - timing.floor.median_ns) as i64;
    assert!(timing.own_cost_ns < ours_above, "{} ns", timing.own_cost_ns);
}

#[test]
fn exec_is_not_slower_than_the_assembler_and_faster_than_musl() {
    let target = common::program("true");
    let exec = |program: PathBuf| Subject::new(program).arg(&target);
    let subjects = [
        exec(common::program("exec")),
        exec(peer("gas", "exec")),
        exec(peer("musl-static", "exec")),
    ];
    let right = |timing: &Timing| {
        let gas = ratio(timing, 0, 1);
        gas.low <= 1.02 && gas.half_width() < 0.02 && ratio(timing, 2, 0).low > 1.0
    };
    let timing = until(&subjects, right);
    let (gas, musl) = (ratio(&timing, 0, 1), ratio(&timing, 2, 0));
    assert!(gas.low <= 1.02, "by the assembler: {gas}");
    assert!(gas.half_width() < 0.02, "too wide to say anything: {gas}");
    assert!(musl.low > 1.0, "musl by ours: {musl}");
}

#[test]
fn a_program_and_itself_show_no_difference() {
    let program = common::subject("true");
    let subjects = [program.clone(), program];
    let right =
        |timing: &Timing| timing.control.holds && (ratio(timing, 1, 0).ratio - 1.0).abs() < 0.01;
    let timing = until(&subjects, right);
    let (same, control) = (ratio(&timing, 1, 0), timing.control);
    assert!(control.holds, "{}", control.ratio);
    assert!((same.ratio - 1.0).abs() < 0.01, "{same}");
    assert!(same.half_width() < 0.02, "{same}");
}

#[test]
fn the_facts_of_a_start_are_all_there() {
    let _shared = shared();
    let subjects = [common::subject("true"), common::subject("false")];
    let mut seen = Vec::new();
    let timing = time_each(&subjects, &few(), |progress| seen.push(progress)).unwrap();
    assert_eq!((timing.rounds, timing.warmup, timing.seed), (12, 1, 1));
    assert!(timing.copied && !timing.alone);
    assert!(timing.processor.is_some());
    let last = seen.last().unwrap();
    assert_eq!((last.done, last.of), (12, 12));
    for (timed, (letter, code)) in timing.subjects.iter().zip([("A", 0), ("B", 1)]) {
        assert_eq!(timed.letter, letter);
        assert_eq!(timed.exit, Exit::Exited(code));
        let spread = timed.time;
        assert_eq!(spread.n, 12);
        assert!(0 < spread.min_ns && spread.min_ns <= spread.p10_ns);
        assert!(spread.p10_ns <= spread.median_ns && spread.median_ns <= spread.p90_ns);
        assert!(spread.p90_ns <= spread.max_ns);
        // 2 or 3 where nothing else runs: the page of the program, the stack, the vvar.
        assert!((1..=8).contains(&timed.faults.min), "{}", timed.faults);
        assert!(timed.memory.unwrap().peak_kb <= 64);
    }
    assert!(timing.subjects[0].ratio.is_none());
    assert!(timing.subjects[1].ratio.is_some());
    assert!(timing.ratio(2, 0).is_none());
    assert!(
        timing
            .notes
            .iter()
            .all(|note| note.starts_with("one processor"))
    );
}

#[test]
fn a_block_of_its_own_for_each_has_as_many_runs_and_says_so() {
    let _shared = shared();
    let subjects = [common::subject("true"), common::subject("false")];
    let plan = Plan {
        alone: true,
        copy: false,
        ..few()
    };
    let timing = time(&subjects, &plan).unwrap();
    assert!(timing.alone && !timing.copied);
    assert!(timing.subjects.iter().all(|timed| timed.time.n == 12));
    for start in ["each in a block of its own", "timed in their places"] {
        assert!(timing.notes.iter().any(|note| note.starts_with(start)));
    }
}

#[test]
fn rounds_go_on_until_the_interval_is_narrow_or_the_time_is_over() {
    let _shared = shared();
    let subjects = [common::subject("true"), common::subject("false")];
    let plan = Plan {
        until: Some(0.05),
        ..few()
    };
    let timing = time(&subjects, &plan).unwrap();
    let ratio = timing.subjects[1].ratio.unwrap();
    let stopped = timing
        .notes
        .iter()
        .any(|note| note.starts_with("stopped by --max-time"));
    assert!(ratio.half_width() <= 0.05 || stopped, "{ratio}");

    let plan = Plan {
        until: Some(1e-9),
        max_time: Duration::from_millis(500),
        ..few()
    };
    let timing = time(&subjects, &plan).unwrap();
    let stopped = format!("stopped by --max-time after {} of ", timing.rounds);
    assert!(
        timing.notes.iter().any(|note| note.starts_with(&stopped)),
        "{:?}",
        timing.notes
    );
    assert!(timing.rounds > 12);
}

#[test]
fn an_expectation_fails_only_after_eight_times_the_rounds() {
    let _shared = shared();
    let subjects = [common::subject("true"), common::subject("false")];
    let plan = Plan {
        expectations: vec!["B/A >= 50".parse().unwrap(), "B/A <= 50".parse().unwrap()],
        ..few()
    };
    let timing = time(&subjects, &plan).unwrap();
    assert_eq!(timing.rounds, 96);
    let holds: Vec<_> = timing
        .expectations
        .iter()
        .map(|verdict| verdict.holds)
        .collect();
    assert_eq!(holds, [false, true]);

    let plan = Plan {
        expectations: vec!["C/A >= 1".parse().unwrap()],
        ..few()
    };
    let error = time(&subjects, &plan).unwrap_err().to_string();
    assert!(error.starts_with("C/A >= 1: no such subject"), "{error}");
    let error = time(&[], &few()).unwrap_err().to_string();
    assert!(error.contains("no subject"), "{error}");
}

#[test]
fn a_subject_that_varies_its_exit_is_an_error() {
    let _shared = shared();
    let count = scratch("count");
    fs::write(&count, "0").unwrap();
    let script = "read n < \"$0\"; echo $((n + 1)) > \"$0\"; exit $((n > 7))";
    let subject = Subject::new("sh").args(["-c", script]).arg(&count);
    let error = error_of(&subject, &few());
    assert!(
        error.ends_with(
            ": exited with 0 at first, then exited with 1; time a program that always ends alike"
        ),
        "{error}"
    );
}

#[test]
fn a_subject_that_dies_by_a_signal_is_an_error() {
    let _shared = shared();
    let subject = subjects::subject("dies").arg("11");
    let error = error_of(&subject, &few());
    assert_eq!(
        error,
        format!("{subject}: killed by SIGSEGV; time a program that ends by itself")
    );
}

#[test]
fn a_subject_that_is_no_program_is_an_error() {
    let _shared = shared();
    let error = error_of(&Subject::new("/no/such/program"), &few());
    assert!(error.starts_with("/no/such/program: not found"), "{error}");
    let error = error_of(&Subject::new("/"), &few());
    assert!(
        error.starts_with("/: cannot be run: a directory"),
        "{error}"
    );

    let script = scratch("script");
    fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let error = error_of(&Subject::new(&script), &few());
    let wanted = format!(
        "{}: cannot be run: its interpreter is missing",
        script.display()
    );
    assert!(error.starts_with(&wanted), "{error}");
}

#[test]
fn a_subject_that_leaves_processes_is_an_error_and_they_are_killed() {
    let _shared = shared();
    let (subject, mark) = marked(Subject::new("sh").args(["-c", "setsid sleep 1000 & exit 0"]));
    let error = error_of(&subject, &few());
    assert!(
        error.ends_with(
            ": ends before processes that it started, which were killed; \
             time one that waits for them"
        ),
        "{error}"
    );
    assert_eq!(left(&mark), 0);
}

#[test]
fn a_subject_whose_children_end_right_after_it_is_timed() {
    let _shared = shared();
    let subject = Subject::new("sh").args(["-c", "sleep 0.005 & exit 0"]);
    assert_eq!(time(&[subject], &few()).unwrap().rounds, 12);
}

#[test]
fn a_subject_that_hangs_is_killed_at_its_timeout_with_all_that_came_of_it() {
    let _shared = shared();
    let (subject, mark) = marked(subjects::subject("hang"));
    let begin = Instant::now();
    let error = error_of(&subject.timeout(Duration::from_millis(300)), &few());
    assert!(error.ends_with("still running after 0.3 s, killed; give it longer with --timeout"));
    assert!(begin.elapsed() < Duration::from_secs(10));
    assert_eq!(left(&mark), 0);
}

#[test]
fn a_kit_that_is_killed_leaves_nothing_running() {
    let _shared = shared();
    let mark = format!("MARK={}", scratch("mark").display());
    let program = subjects::compile("hang", &[]);
    let folder = common::folder("killed");
    let files = || fs::read_dir(&folder).unwrap().count();
    let mut kit = Command::new(env!("CARGO_BIN_EXE_barest"))
        .args(["time", "--env", &mark, "--"])
        .arg(program)
        .env("TMPDIR", &folder)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let wait = |wanted: fn(usize) -> bool| {
        let begin = Instant::now();
        // The kit's own arguments are no part of its environment.
        while !wanted(left(&mark)) {
            assert!(
                begin.elapsed() < Duration::from_secs(10),
                "{} left",
                left(&mark)
            );
            thread::sleep(Duration::from_millis(20));
        }
    };
    wait(|left| left >= 4);
    assert_eq!(files(), 1);
    kit.kill().unwrap();
    assert_eq!(kit.wait().unwrap().signal(), Some(9));
    wait(|left| left == 0);
    let begin = Instant::now();
    while files() > 0 && begin.elapsed() < Duration::from_secs(10) {
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(files(), 0);
}

#[test]
fn a_subject_that_prints_much_is_timed_on_every_kind_of_stream() {
    let _shared = shared();
    let chatty = subjects::subject("chatty");
    let plan = Plan { rounds: 3, ..few() };
    for stream in [Stream::Null, Stream::Pipe, Stream::File, Stream::Tty] {
        let subject = chatty
            .clone()
            .stdin(Stream::Pipe)
            .stdout(stream)
            .stderr(stream);
        let timing = time(&[subject], &plan).unwrap();
        assert_eq!(timing.subjects[0].exit, Exit::Exited(0), "{stream}");
    }
    let closed = chatty.clone().stdout(Stream::Closed);
    let timing = time(&[closed], &plan).unwrap();
    assert_eq!(timing.subjects[0].exit, Exit::Exited(1));
    let error = error_of(&chatty.stdin(Stream::Tty), &plan);
    assert!(error.contains("a terminal as stdin"), "{error}");
}

#[test]
fn every_run_finds_its_files_empty() {
    let _shared = shared();
    let script = "test ! -s /dev/stdout && test ! -s /dev/stdin && echo x && echo x >&0";
    let subject = Subject::new("sh")
        .args(["-c", script])
        .stdin(Stream::File)
        .stdout(Stream::File);
    let timing = time(&[subject], &few()).unwrap();
    assert_eq!(timing.subjects[0].exit, Exit::Exited(0));
}

/// Replaces a program by another while it is measured.
fn while_replaced(copy: bool) -> Result<Timing, barest::Error> {
    let program = scratch("replaced");
    fs::copy(common::program("true"), &program).unwrap();
    let plan = Plan {
        rounds: 4000,
        copy,
        ..Plan::default()
    };
    let mut replaced = false;
    let new = scratch("new");
    fs::copy(common::program("false"), &new).unwrap();
    time_each(&[Subject::new(&program)], &plan, |_| {
        if !replaced {
            fs::rename(&new, &program).unwrap();
            replaced = true;
        }
    })
}

#[test]
fn a_subject_that_is_replaced_while_measured_is_an_error_in_its_place_only() {
    let _shared = shared();
    let error = while_replaced(false).unwrap_err().to_string();
    assert!(
        error.contains(": its file was replaced or changed while it was measured; "),
        "{error}"
    );
    let timing = while_replaced(true).unwrap();
    assert_eq!(timing.subjects[0].exit, Exit::Exited(0));
}

#[test]
fn a_subject_that_ends_otherwise_as_a_copy_is_an_error() {
    let _shared = shared();
    let folder = common::folder("beside");
    let script = folder.join("script");
    fs::write(&script, "#!/bin/sh\ntest -e \"${0%/*}/beside\"\n").unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    fs::write(folder.join("beside"), "").unwrap();
    let error = error_of(&Subject::new(&script), &few());
    assert!(
        error.ends_with(
            ": exited with 0 in its place, exited with 1 as a copy; \
             if it looks for files beside itself use --no-copy"
        ),
        "{error}"
    );
    let plan = Plan {
        copy: false,
        ..few()
    };
    assert!(time(&[Subject::new(&script)], &plan).is_ok());
}

#[test]
fn memory_is_the_programs_own_and_grows_by_what_it_touches() {
    let _shared = shared();
    let touch = subjects::subject("touch");
    // The launcher's memory is not the program's.
    let ours = vec![1u8; 200 << 20];
    let least = memory(&common::subject("true")).unwrap();
    assert!((4..=64).contains(&least.peak_kb), "{least:?}");
    let none = memory(&touch).unwrap();
    let much = memory(&touch.clone().arg("64")).unwrap();
    assert!(none.peak_kb < 8 << 10, "{none:?}");
    let grown = much.peak_kb - none.peak_kb;
    assert!(grown.abs_diff(64 << 10) < 256, "{grown} kB for 64 MB");
    let grown = much.anonymous_kb - none.anonymous_kb;
    assert!(grown.abs_diff(64 << 10) < 256, "{grown} kB for 64 MB");
    assert_eq!(ours[ours.len() - 1], 1);
}

#[test]
fn memory_of_a_subject_that_hangs_or_leaves_processes_leaves_nothing() {
    let _shared = shared();
    let (hang, mark) = marked(subjects::subject("hang"));
    let error = memory(&hang.timeout(Duration::from_millis(300))).unwrap_err();
    assert!(
        error.to_string().contains("still running after 0.3 s"),
        "{error}"
    );
    assert_eq!(left(&mark), 0);
    let (leaves, mark) = marked(Subject::new("sh").args(["-c", "sleep 1000 & exit 0"]));
    assert!(memory(&leaves).unwrap().peak_kb > 0);
    assert_eq!(left(&mark), 0);
}

#[test]
fn times_are_taken_from_several_threads_at_once() {
    let _shared = shared();
    let subject = common::subject("true");
    thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| time(std::slice::from_ref(&subject), &few()).unwrap().rounds))
            .collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), 12);
        }
    });
}

#[test]
fn where_it_may_not_be_pinned_or_has_one_processor_it_says_so() {
    let _shared = shared();
    let plan = Plan {
        processor: Some(1000),
        ..few()
    };
    let timing = time(&[common::subject("true")], &plan).unwrap();
    assert_eq!(timing.processor, None);
    assert!(
        timing
            .notes
            .iter()
            .any(|note| note.starts_with("not pinned to processor 1000 ("))
    );

    // The affinity of a thread is that of the children it makes.
    let timing = thread::spawn(|| {
        let mut set = CpuSet::new();
        set.set(0).unwrap();
        sched_setaffinity(Pid::from_raw(0), &set).unwrap();
        time(&[common::subject("true")], &few()).unwrap()
    });
    let timing = timing.join().unwrap();
    assert_eq!(timing.processor, Some(0));
    assert!(
        timing
            .notes
            .contains(&"one processor only: whatever else runs is in the times".into())
    );
}

#[test]
fn where_nothing_may_be_traced_there_is_no_memory_and_a_reason() {
    let _shared = shared();
    let timing = thread::spawn(|| {
        forbid::forbid(libc::SYS_ptrace);
        time(&[common::subject("true")], &few()).unwrap()
    });
    let timing = timing.join().unwrap();
    assert_eq!(timing.rounds, 12);
    assert_eq!(timing.subjects[0].memory, None);
    let subject = timing.subjects[0].subject.to_string();
    let reason = format!("{subject}: no memory: may not trace: ");
    assert!(
        timing.notes.iter().any(|note| note.starts_with(&reason)),
        "{:?}",
        timing.notes
    );
}

fn barest(args: &[&str]) -> assert_cmd::Command {
    let mut command = cargo_bin_cmd!("barest");
    command.args(args).env_remove("NO_COLOR");
    command
}

/// Every number is one.
fn finite(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_f64().is_some_and(f64::is_finite),
        Value::Array(list) => list.iter().all(finite),
        Value::Object(fields) => fields.values().all(finite),
        _ => true,
    }
}

#[test]
fn the_command_prints_a_table_and_json_and_exits_by_the_expectation() {
    let _shared = shared();
    let ours = common::program("true");
    let ours = ours.to_str().unwrap();
    let args = ["time", "--rounds", "20", ours, "/bin/true"];
    let table = barest(&args).assert().code(0).stderr("");
    let table = String::from_utf8(table.get_output().stdout.clone()).unwrap();
    for words in [
        "ratio to A",
        "control, A against a copy of A: ",
        "floor, ",
        "20 rounds",
    ] {
        assert!(table.contains(words), "{table}");
    }
    let json = barest(&args).args(["--format", "json"]).output().unwrap();
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["schema"], "barest.time/1");
    assert!(finite(&json));
    let subjects = &json["facts"][0]["subjects"];
    assert_eq!(subjects[0]["time"]["n"], 20);
    assert_eq!(subjects[0]["ratio"], Value::Null);
    assert!(subjects[1]["ratio"]["low"].as_f64() > Some(1.0));
    assert!(subjects[1]["memory"]["peak_kb"].as_u64() > Some(100));

    barest(&args)
        .args(["--expect", "B/A >= 1.03"])
        .assert()
        .code(0);
    let failed = barest(&args).args(["--expect", "B/A<1"]).assert().code(1);
    let said = String::from_utf8(failed.get_output().stderr.clone()).unwrap();
    assert!(
        said.starts_with("barest: expected B/A < 1, but it is "),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    for wrong in ["B/A", "C/A > 1"] {
        barest(&args)
            .args(["--expect", wrong])
            .assert()
            .code(2)
            .stdout(predicates::function::function(|text: &str| {
                !text.contains("ratio")
            }));
    }
    barest(&["time", "--rounds", "0", ours]).assert().code(2);
    barest(&["time", "--until", "0%", ours]).assert().code(2);
    barest(&["time", "/no/such/program"]).assert().code(2);
}

#[test]
fn a_baseline_tells_what_changed_and_only_then_fails() {
    let _shared = shared();
    let folder = common::folder("baseline");
    let file = folder.join("base.json");
    let file = file.to_str().unwrap();
    let program = folder.join("program");
    fs::copy(common::program("true"), &program).unwrap();
    let run = |command: &str, args: &[&str]| {
        let program = program.to_str().unwrap();
        let mut run = barest(&[command, program]);
        run.args(args).assert()
    };
    for command in ["count", "image", "time"] {
        let more: &[&str] = if command == "time" {
            &["--rounds", "50"]
        } else {
            &[]
        };
        fs::copy(common::program("true"), &program).unwrap();
        run(command, &[more, &["--save", file]].concat()).code(0);
        let compare = [more, &["--compare", file, "--fail-on-change"]].concat();
        let same = run(command, &compare).code(0).stderr("");
        let text = String::from_utf8(same.get_output().stdout.clone()).unwrap();
        assert!(text.contains(": 0 changes, "), "{text}");

        // More calls, more bytes, more memory.
        fs::copy("/bin/true", &program).unwrap();
        let changed = run(command, &compare).code(1);
        let said = String::from_utf8(changed.get_output().stderr.clone()).unwrap();
        assert!(
            said.starts_with(&format!("barest: differs from {file} in ")),
            "{said}"
        );
        run(command, &[more, &["--compare", file]].concat())
            .code(0)
            .stderr("");
        let json = [more, &["--compare", file, "--format", "json"]].concat();
        let json = run(command, &json).code(0);
        let json: Value = serde_json::from_slice(&json.get_output().stdout).unwrap();
        let figures = json["baseline"]["figures"].as_array().unwrap();
        assert!(figures.iter().any(|pair| pair["changed"] == true), "{json}");
    }
    let wrong = run("count", &["--compare", file]).code(2);
    let said = String::from_utf8(wrong.get_output().stderr.clone()).unwrap();
    assert!(said.contains("a baseline of time, not of count"), "{said}");
    let other = folder.join("other.json");
    barest(&["count", "/no/such", "--save", other.to_str().unwrap()])
        .assert()
        .code(2);
    assert!(!other.exists());
}

#[test]
fn the_example_for_ci_in_the_docs_passes_as_it_stands() {
    let _alone = alone();
    let folder = common::folder("ci");
    fs::create_dir_all(folder.join("target/bare")).unwrap();
    fs::copy(common::program("true"), folder.join("target/bare/true")).unwrap();
    fs::copy(common::program("exec"), folder.join("launcher")).unwrap();
    fs::copy(common::program("exec"), folder.join("last-release")).unwrap();
    let barest = Path::new(env!("CARGO_BIN_EXE_barest"));
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", barest.parent().unwrap().display());
    let run = |program: &mut Command| {
        let output = program
            .current_dir(&folder)
            .env("PATH", &path)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program:?}: {text}");
    };
    let subject = "./launcher target/bare/true";
    run(Command::new(barest).args(["count", subject, "--save", "launcher.json"]));
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/kit.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, example) = page.split_once("```sh\n").unwrap();
    let (example, _) = example.split_once("```\n").unwrap();
    assert_eq!(example.matches("barest ").count(), 3);
    run(Command::new("sh").args(["-ec", example]));
}

#[test]
fn every_start_is_told_with_the_one_before_it() {
    let _shared = shared();
    let subjects = [Subject::new("/bin/true"), Subject::new("/bin/false")];
    let timing = time(&subjects, &few()).unwrap();
    let all = [
        Started::Subject(0),
        Started::Subject(1),
        Started::Control,
        Started::Floor,
        Started::SetUp,
    ];
    let runs = timing.runs();
    assert_eq!(runs.len(), 12 * all.len());
    for round in runs.chunks(all.len()) {
        let mut started: Vec<_> = round.iter().map(|run| run.what).collect();
        started.sort_unstable();
        assert_eq!(started, all);
    }
    for pair in runs.windows(2) {
        let new_launcher = pair[1].after == Started::Floor;
        assert!(new_launcher || pair[1].after == pair[0].what, "{pair:?}");
    }
}

#[test]
fn in_walks_each_is_started_once_after_each_in_every_round() {
    let _shared = shared();
    let plan = Plan {
        rounds: 3,
        each_after_each: true,
        ..few()
    };
    let subjects = [Subject::new("/bin/true"), Subject::new("/bin/false")];
    let timing = time(&subjects, &plan).unwrap();
    assert_eq!(timing.rounds, 3);
    assert_eq!(timing.runs().len(), 3 * 5 * 5);
    let all = [
        Started::Subject(0),
        Started::Subject(1),
        Started::Control,
        Started::Floor,
        Started::SetUp,
    ];
    for what in all {
        for after in all {
            assert_eq!(
                timing.times_after(what, after).len(),
                3,
                "{what:?} {after:?}"
            );
        }
    }
    // In blocks each follows itself.
    let plan = Plan {
        alone: true,
        ..plan
    };
    let timing = time(&subjects, &plan).unwrap();
    assert_eq!(timing.runs().len(), 3 * 5);
}
