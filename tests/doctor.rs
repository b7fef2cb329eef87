//! `doctor` answers every question, also where the answer is no.

use std::os::unix::process::CommandExt;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;

#[path = "common/forbid.rs"]
mod forbid;
use forbid::forbid;

/// The command, where a system call is not permitted.
fn doctor(format: &str, forbidden: Option<libc::c_long>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_barest"));
    command.args(["doctor", "--format", format]);
    if let Some(call) = forbidden {
        let deny = move || {
            forbid(call);
            Ok(())
        };
        // SAFETY: it makes system calls only.
        unsafe { command.pre_exec(deny) };
    }
    command.output().unwrap()
}

fn facts(output: &Output) -> Value {
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["schema"], "barest.doctor/1");
    json["facts"][0].clone()
}

const ABILITIES: [&str; 6] = [
    "trace",
    "pin",
    "fixed_addresses",
    "seccomp",
    "ia32",
    "counters",
];

#[test]
fn every_question_is_answered_and_each_no_has_a_reason_and_a_remedy() {
    let start = Instant::now();
    let output = doctor("json", None);
    assert!(start.elapsed() < Duration::from_secs(3));
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
    let facts = facts(&output);
    let abilities = ABILITIES.map(|name| &facts[name]);
    for ability in abilities.into_iter().chain([&facts["noise"]["quiet"]]) {
        let able = ability["able"].as_bool().unwrap();
        for why in ["reason", "remedy"] {
            let text = ability[why].as_str();
            assert_eq!(text.is_none_or(str::is_empty), able, "{ability}");
        }
    }
    assert_eq!(facts["trace"]["able"], true);
    assert!(facts["machine"]["cores"].as_u64().unwrap() >= 1);
    assert!(facts["noise"]["spread"].as_f64().unwrap() >= 1.0);
    let nanos = facts["cpuid_cost_ns"].as_u64().unwrap();
    assert!(nanos > 0);
    assert_eq!(facts["cpuid_traps"], nanos > 500);
}

#[test]
fn a_no_fits_in_a_line_of_the_table() {
    let output = doctor("table", None);
    let text = String::from_utf8(output.stdout).unwrap();
    for question in [
        "may it trace",
        "may it pin to a processor",
        "may it turn ASLR off",
        "is there seccomp",
        "do 32-bit programs run",
        "are there counters (PMU)",
        "is it quiet now",
        "one CPUID takes ",
    ] {
        let lines: Vec<_> = text
            .lines()
            .filter(|line| line.starts_with(question))
            .collect();
        let [line] = lines[..] else {
            panic!("{question}: {text}");
        };
        let answer = line[question.len()..].trim_start();
        assert!(
            answer.starts_with(|c: char| c.is_ascii_digit())
                || answer.starts_with("yes")
                || answer.starts_with("no: "),
            "{line}"
        );
    }
}

#[test]
fn without_the_right_to_trace_it_says_why_and_exits_with_2() {
    let output = doctor("table", Some(libc::SYS_ptrace));
    assert_eq!(output.status.code(), Some(2));
    let why = "ptrace: Operation not permitted (os error 1)";
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find(|line| line.starts_with("may it trace "));
    assert!(line.unwrap().contains(&format!("no: {why}")), "{text}");
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(
        errors.starts_with(&format!("barest: may not trace: {why}; "))
            && errors.lines().count() == 1,
        "{errors}"
    );
}

#[test]
fn what_only_degrades_is_a_no_and_exits_with_0() {
    for (call, ability) in [
        (libc::SYS_sched_setaffinity, "pin"),
        (libc::SYS_personality, "fixed_addresses"),
        (libc::SYS_perf_event_open, "counters"),
    ] {
        let output = doctor("json", Some(call));
        assert_eq!(output.status.code(), Some(0), "{ability}");
        let facts = facts(&output);
        assert_eq!(facts[ability]["able"], false, "{ability}");
        let reason = facts[ability]["reason"].as_str().unwrap();
        assert!(reason.contains("Operation not permitted"), "{reason}");
        assert_eq!(facts["trace"]["able"], true);
    }
}
