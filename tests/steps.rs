//! `steps` on programs whose instructions are known, and on our own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use assert_cmd::cargo::cargo_bin_cmd;
use barest::assertions::{cpuid, instructions_at_most};
use barest::exit::Exit;
use barest::steps::{Steps, Until, cpuid_cost, steps};
use barest::{Error, Subject};
use predicates::prelude::*;
use serde_json::Value;

mod common;
#[path = "common/forbid.rs"]
mod forbid;
use common::{folder, program, subject, succeed};

/// A program of tests/subjects, in a folder of this test's own.
fn assemble(name: &str, test: &str, flags: &[&str]) -> PathBuf {
    let path = folder(&format!("steps-{test}")).join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/subjects/{name}.s"));
    succeed(
        Command::new("gcc")
            .args(["-nostdlib", "-static", "-no-pie", "-o"])
            .arg(&path)
            .args(flags)
            .arg(source),
    );
    path
}

fn run(program: &Path) -> Steps {
    let subject = Subject::new(program).timeout(Duration::from_secs(60));
    steps(&subject, Until::End).unwrap_or_else(|error| panic!("{error}"))
}

/// The processes that run a file.
fn running(program: &Path) -> usize {
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read_link(entry.unwrap().path().join("exe")).ok())
        .filter(|exe| exe == program)
        .count()
}

#[test]
fn every_instruction_is_counted_once_and_what_traps_by_its_kind() {
    let path = assemble("known", "known", &[]);
    for _ in 0..5 {
        let seen = run(&path);
        assert_eq!(
            seen.exit,
            Exit::Exited(0),
            "9: the processor must have OSXSAVE for this test"
        );
        let total = seen.total;
        assert_eq!(
            (total.instructions, total.cpuid, total.rdtsc, total.xgetbv),
            (225, 3, 2, 1)
        );
        let [file] = &seen.files[..] else {
            panic!("{:?}", seen.files);
        };
        assert_eq!((&file.file, file.steps), (&path, total));
        assert_eq!((seen.processes, seen.threads), (1, 1));
        assert!(seen.reached && seen.notes.is_empty(), "{:?}", seen.notes);
    }
}

#[test]
fn a_handler_is_counted_and_the_signal_is_delivered_once() {
    for signal in ["10", "5"] {
        let seen = run(&assemble(
            "handler",
            &format!("handler-{signal}"),
            &[&format!("-Wa,--defsym,SIGNAL={signal}")],
        ));
        let found = (seen.exit, seen.total.instructions);
        assert_eq!(found, (Exit::Exited(0), 19), "{signal}");
    }
}

#[test]
fn an_instruction_that_faults_is_none() {
    let seen = run(&assemble("fault", "fault", &[]));
    assert_eq!(seen.exit, Exit::Signaled("SIGILL".into()));
    assert_eq!(seen.total.instructions, 2);
}

#[test]
fn a_jump_to_itself_is_counted_each_time() {
    let seen = run(&assemble("spin", "spin-alarm", &["-Wa,--defsym,SECONDS=1"]));
    assert_eq!(seen.exit, Exit::Signaled("SIGALRM".into()));
    assert!(seen.total.instructions > 1_000, "{:?}", seen.total);
}

#[test]
fn children_and_threads_are_counted() {
    let path = assemble("fork", "fork", &[]);
    for _ in 0..5 {
        let seen = run(&path);
        let images: Vec<_> = seen
            .images
            .iter()
            .map(|image| (image.process, &image.program, image.total.instructions))
            .collect();
        assert_eq!(images, [(0, &path, 13), (1, &path, 5)]);
        assert_eq!((seen.processes, seen.threads), (2, 2));
        assert_eq!(seen.total.instructions, 18);
    }
    let path = assemble("thread", "thread", &[]);
    for _ in 0..5 {
        let seen = run(&path);
        assert_eq!(seen.images.len(), 1);
        assert_eq!((seen.processes, seen.threads), (1, 2));
        assert_eq!(seen.total.instructions, 17);
        assert_eq!(seen.exit, Exit::Exited(0));
    }
}

/// The instructions of each process.
fn by_process(program: &Path) -> Vec<u64> {
    let seen = run(program);
    assert_eq!(seen.exit, Exit::Exited(0));
    let images = seen.images.iter();
    images.map(|image| image.total.instructions).collect()
}

#[test]
fn a_call_that_the_kernel_makes_again_is_counted_once() {
    let path = assemble("restart", "restart", &[]);
    let calls = barest::trace::trace(&Subject::new(&path)).unwrap();
    assert!(calls.restarts() > 0, "{:?}", calls.calls);
    for _ in 0..5 {
        assert_eq!(by_process(&path), [15, 13]);
    }
}

#[test]
fn a_process_that_is_stopped_goes_on_where_it_was() {
    let path = assemble("stop", "stop", &[]);
    for _ in 0..5 {
        assert_eq!(by_process(&path), [24, 11]);
    }
}

#[test]
fn up_to_the_first_write_is_up_to_the_call_that_makes_it() {
    let subject = Subject::new(assemble("write", "write", &[]));
    let to_write = steps(&subject, Until::FirstWrite).unwrap();
    assert_eq!((to_write.total.instructions, to_write.reached), (5, true));
    assert_eq!(to_write.exit, Exit::Exited(0));
    let to_end = steps(&subject, Until::End).unwrap();
    assert_eq!((to_end.total.instructions, to_end.reached), (9, true));

    let never = steps(&Subject::new(program("true")), Until::FirstWrite).unwrap();
    assert_eq!((never.total.instructions, never.reached), (3, false));
    assert_eq!(
        never.notes,
        ["it never wrote, so it was counted to its end"]
    );
}

#[test]
fn a_program_of_32_bits_is_decoded_as_one() {
    let subject = Subject::new(assemble("narrow", "narrow", &["-m32"]));
    let to_end = steps(&subject, Until::End).unwrap();
    assert_eq!(to_end.exit, Exit::Exited(0));
    assert_eq!((to_end.total.instructions, to_end.total.cpuid), (10, 1));
    let to_write = steps(&subject, Until::FirstWrite).unwrap();
    assert_eq!((to_write.total.instructions, to_write.reached), (5, true));
}

#[test]
fn an_exec_from_another_thread_begins_a_new_image_of_the_same_process() {
    let path = folder("steps-thread-exec").join("thread_exec");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/subjects/thread_exec.c");
    let mut gcc = Command::new("gcc");
    succeed(gcc.args(["-O1", "-pthread", "-o"]).arg(&path).arg(source));
    let seen = run(&path);
    assert_eq!(seen.exit, Exit::Exited(7));
    let images: Vec<_> = seen
        .images
        .iter()
        .map(|image| (image.process, &image.program))
        .collect();
    assert_eq!(images, [(0, &path), (0, &path)]);
    assert_eq!(seen.processes, 1);
}

#[test]
fn the_programs_stay_below_their_limits_and_are_the_same_in_each_run() {
    for (name, most) in [("true", 4), ("false", 4), ("hello", 40), ("golf", 8)] {
        let first = steps(&subject(name), Until::End).unwrap();
        first.assert(instructions_at_most(most).and(cpuid(0)));
        assert_eq!((first.total.rdtsc, first.total.xgetbv), (0, 0), "{name}");
        assert!(first.total.instructions > 0, "{name}");
        for _ in 1..5 {
            let next = steps(&subject(name), Until::End).unwrap();
            assert_eq!(next.images, first.images, "{name}");
            assert_eq!(next.exit, first.exit, "{name}");
        }
    }
}

#[test]
fn exec_is_counted_apart_from_what_it_executes() {
    let subject = subject("exec").arg(program("true"));
    let first = steps(&subject, Until::End).unwrap();
    let [launcher, target] = &first.images[..] else {
        panic!("{:?}", first.images);
    };
    assert_eq!(launcher.program, program("exec"));
    assert!(
        (1..=20).contains(&launcher.total.instructions),
        "{launcher:?}"
    );
    assert_eq!(target.program, program("true"));
    assert_eq!(target.total.instructions, 3);
    assert_eq!((launcher.process, target.process), (0, 0));
    assert_eq!((first.processes, first.threads), (1, 1));
    for _ in 1..5 {
        assert_eq!(steps(&subject, Until::End).unwrap().images, first.images);
    }
}

#[test]
fn a_timeout_leaves_nothing_running() {
    let path = assemble("spin", "spin-timeout", &["-Wa,--defsym,SECONDS=0"]);
    let subject = Subject::new(&path).timeout(Duration::from_millis(300));
    let start = Instant::now();
    let error = steps(&subject, Until::End).unwrap_err();
    assert!(matches!(error, Error::TimedOut { .. }), "{error}");
    assert!(start.elapsed() < Duration::from_secs(10));
    assert_eq!(running(&path), 0);
}

#[test]
fn what_cannot_be_run_is_one_line_as_for_a_trace() {
    let error = steps(&Subject::new("/no/such/program"), Until::End).unwrap_err();
    assert!(matches!(error, Error::NotFound(_)), "{error}");
    let error = steps(&Subject::new("/etc/passwd"), Until::End).unwrap_err();
    assert!(matches!(error, Error::NotRunnable { .. }), "{error}");
}

#[test]
fn what_is_not_permitted_is_said() {
    let denied = |call| {
        std::thread::scope(|scope| {
            let count = move || {
                forbid::forbid(call);
                steps(&Subject::new(program("true")), Until::End)
            };
            scope.spawn(count).join().unwrap()
        })
    };
    let error = denied(libc::SYS_ptrace).unwrap_err();
    assert!(matches!(error, Error::MayNotTrace(_)), "{error}");

    let random = denied(libc::SYS_personality).unwrap();
    assert_eq!(random.total.instructions, 3);
    let [note] = &random.notes[..] else {
        panic!("{:?}", random.notes);
    };
    assert!(
        note.starts_with("addresses are random (personality: "),
        "{note}"
    );

    let slow = denied(libc::SYS_sched_setaffinity).unwrap();
    assert_eq!(slow.total.instructions, 3);
}

#[test]
fn six_threads_count_at_once() {
    let path = assemble("fork", "fork-at-once", &[]);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                for _ in 0..5 {
                    assert_eq!(run(&path).total.instructions, 18);
                }
            });
        }
    });
}

#[test]
fn the_share_of_cpuid_is_its_number_times_its_cost() {
    let mut seen = run(&assemble("known", "known-share", &[]));
    assert_eq!(seen.cpuid_time(), seen.cpuid_cost * 3);
    assert_eq!(seen.cpuid_share(), None);
    seen.start = Some(seen.cpuid_cost * 6);
    let share = seen.cpuid_share().unwrap();
    assert!((share - 0.5).abs() < 1e-6, "{share}");
    seen.start = Some(Duration::ZERO);
    assert_eq!(seen.cpuid_share(), None);
    seen.time_start().unwrap();
    let start = seen.start.unwrap();
    assert!(
        start > Duration::ZERO && start < Duration::from_secs(1),
        "{start:?}"
    );
    assert!(seen.cpuid_share().unwrap() > 0.0);
    assert!(cpuid_cost().unwrap() > Duration::ZERO);
}

#[test]
fn a_demand_that_is_not_met_names_the_files() {
    let seen = run(&program("true"));
    let case = instructions_at_most(2);
    let case = case.find_case(false, &seen).unwrap();
    let shown: Vec<_> = case.products().map(|product| product.to_string()).collect();
    let path = program("true");
    let line = format!("3 instructions: \n3 in {}", path.display());
    assert_eq!(shown, [line]);
    assert!(!cpuid(1).eval(&seen));
    assert!(cpuid(0).eval(&seen));
}

#[test]
fn the_command_shows_several_side_by_side_and_exits_with_1_over_the_limit() {
    let [yes, hello] = ["true", "hello"].map(|name| program(name).display().to_string());
    let output = cargo_bin_cmd!("barest")
        .args(["steps", "--at-most", "4", &yes, &hello])
        .assert()
        .code(1)
        .stdout(predicate::str::is_match("(?m)^total +3 +[0-9]{2}$").unwrap())
        .stdout(predicate::str::contains(format!("{yes}: no CPUID\n")));
    let expected = format!(
        "barest: {hello}: {} instructions, more than --at-most 4\n",
        steps(&Subject::new(program("hello")), Until::End)
            .unwrap()
            .total
            .instructions
    );
    output.stderr(expected);
    cargo_bin_cmd!("barest")
        .args(["steps", "--at-most", "3", "--", &yes])
        .assert()
        .code(0)
        .stderr("");
}

#[test]
fn json_has_the_schema_and_the_numbers() {
    let yes = program("true").display().to_string();
    let output = cargo_bin_cmd!("barest")
        .args(["steps", "--until", "write", "--format", "json", "--", &yes])
        .output()
        .unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["schema"], "barest.steps/1");
    let facts = &json["facts"][0];
    assert_eq!(facts["until"], "first-write");
    assert_eq!(facts["reached"], false);
    assert_eq!(facts["total"]["instructions"], 3);
    assert_eq!(facts["files"][0]["file"], yes.as_str());
    assert_eq!(facts["images"][0]["instructions"], 3);
    assert!(facts["cpuid_cost_ns"].is_u64());
}
