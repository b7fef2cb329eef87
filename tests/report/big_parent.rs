//! The report's section on starts from a parent with much memory.

use crate::common;
use crate::plan::quick_with;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child as Process, Command, Stdio};
use std::time::{Duration, Instant};

use barest::report::big_parent::{BigParent, Child, Pages, Parent, Start, Times, Way};
use barest::report::{Facts, Found, Name, report};
use barest::view::report::shown;
use common::folder;
use serde_json::{Value, json};

/// A list without peers: none is needed here.
const NO_PEERS: &str = "peer = []\n";

fn measured(folder: &Path) -> BigParent {
    let plan = quick_with(Name::BigParent, folder, &[], NO_PEERS);
    let report = report(&plan, &|_| {}).unwrap();
    match report.sections[0].facts() {
        Some(Facts::BigParent(facts)) => facts.clone(),
        _ => panic!("{:?}", report.sections[0].found),
    }
}

/// A number of kB that the kernel has of a process.
fn kb(status: &Path, name: &str) -> Option<u64> {
    let text = fs::read_to_string(status).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim_start_matches(':')
        .trim()
        .strip_suffix(" kB")?
        .parse()
        .ok()
}

fn start(parent: &Parent, way: Way, child: Child) -> &Start {
    let mut starts = parent.starts.iter();
    starts
        .find(|it| it.target.way == way && it.target.child == child)
        .unwrap()
}

#[test]
fn parents_hold_what_they_were_asked_to_in_the_pages_asked_for_and_the_kit_stays_small() {
    let own = Path::new("/proc/self/status");
    let before = kb(own, "VmHWM").unwrap();
    let facts = measured(&folder("report_big_parent"));
    // A half of the smallest parent of some size.
    assert!(kb(own, "VmHWM").unwrap() < before + (32 << 10));

    assert_eq!(facts.parents[0].asked, 0);
    assert!(facts.parents.len() >= 2, "{:?}", facts.left_out);
    for parent in &facts.parents {
        assert!(parent.asked <= facts.room.bytes / 2);
        let more = parent.rss_kb - parent.asked / 1024;
        assert!(more <= facts.parents[0].rss_kb + 4096, "{parent:?}");
        match parent.pages {
            Pages::Small => assert!(parent.huge_kb * 10 <= parent.asked / 1024, "{parent:?}"),
            // The kernel gives what it finds.
            Pages::Huge => assert!(parent.huge_kb <= parent.rss_kb, "{parent:?}"),
        }
        assert!(parent.rounds >= 10, "{parent:?}");
        for start in &parent.starts {
            let Found::Measured(Times {
                spread,
                times_vfork,
            }) = &start.found
            else {
                panic!("{start:?}")
            };
            assert_eq!(spread.n, parent.rounds);
            assert_eq!(times_vfork.is_none(), start.target.way == Way::Vfork);
        }
    }
    // The tables of a large parent are copied by fork alone.
    let largest = facts
        .parents
        .iter()
        .rfind(|it| it.pages == Pages::Small)
        .unwrap();
    let fork = start(largest, Way::Fork, Child::Executes);
    assert!(
        matches!(&fork.found, Found::Measured(Times { times_vfork: Some(ratio), .. }) if ratio.high > 1.0),
        "{fork:?}"
    );
    let grown = facts.growth.iter().filter(|it| it.pages == Pages::Small);
    assert_eq!(grown.count(), 6);
    for it in &facts.growth {
        assert!(
            it.from_kb < it.to_kb && it.ratio.low <= it.ratio.high,
            "{it:?}"
        );
    }

    let written = serde_json::to_value(&facts).unwrap();
    let read: BigParent = serde_json::from_value(written.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), written);
}

fn command(folder: &Path, line: &str) -> Command {
    let plan = quick_with(Name::BigParent, folder, &[], NO_PEERS);
    let mut shell = Command::new("/bin/sh");
    shell.args([
        "-c",
        line,
        env!("CARGO_BIN_EXE_barest"),
        "report",
        "big-parent",
        "--quick",
    ]);
    shell.arg("--programs").arg(plan.programs);
    shell.arg("--peers").arg(plan.peers);
    shell.arg("--build").arg(plan.build);
    shell.arg("--out").arg(folder.join("out"));
    shell.env("TMPDIR", folder).stdout(Stdio::null());
    shell
}

#[test]
fn within_a_limit_the_parents_that_fit_in_half_of_it_are_measured_and_the_others_named() {
    let folder = folder("report_big_parent_limit");
    // In kB.
    let mut limited = command(&folder, "ulimit -v 900000 && exec \"$0\" \"$@\"");
    assert!(limited.status().unwrap().success());
    let text = fs::read_to_string(folder.join("out/report.json")).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    let facts = &report["facts"][0]["sections"][0]["found"]["measured"]["big-parent"];
    assert_eq!(facts["room"]["by"], "RLIMIT_AS");
    assert!(facts["room"]["bytes"].as_u64().unwrap() < 900_000 << 10);
    let parents = facts["parents"].as_array().unwrap();
    assert!(parents.iter().any(|it| it["asked"] == 64 << 20), "{facts}");
    assert!(
        parents
            .iter()
            .all(|it| it["asked"].as_u64().unwrap() < 450_000 << 10),
        "{facts}"
    );
    let left_out = facts["left_out"][0].as_str().unwrap();
    assert!(
        left_out.starts_with("1 GiB in small pages: more than half of the "),
        "{left_out}"
    );
    assert!(left_out.ends_with(" that RLIMIT_AS leaves"), "{left_out}");
}

/// A kit that is running. It does not outlive a test that fails.
struct Running(Process);

impl Drop for Running {
    fn drop(&mut self) {
        // Nothing to kill where the test has waited for it.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_parent_does_not_outlive_a_kit_that_is_killed() {
    let folder = folder("report_big_parent_killed");
    let mut kit = Running(command(&folder, "exec \"$0\" \"$@\"").spawn().unwrap());
    let status = |pid: &str| PathBuf::from(format!("/proc/{pid}/status"));
    let parents = |of: u32| {
        let tasks = fs::read_dir(format!("/proc/{of}/task"))
            .into_iter()
            .flatten()
            .flatten();
        let children = tasks.filter_map(|it| fs::read_to_string(it.path().join("children")).ok());
        let children: Vec<String> = children
            .flat_map(|it| it.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
            .collect();
        let large = |pid: &String| kb(&status(pid), "VmRSS").is_some_and(|kb| kb > 48 << 10);
        children.into_iter().filter(large).collect::<Vec<_>>()
    };
    let pid = kit.0.id();
    let mut found = Vec::new();
    wait_until(|| {
        found = parents(pid);
        !found.is_empty() || !Path::new(&format!("/proc/{pid}/exe")).exists()
    });
    assert!(
        !found.is_empty(),
        "the kit ended before it had a parent of some size"
    );
    kit.0.kill().unwrap();
    kit.0.wait().unwrap();
    // One that is gone has no memory, even before it is reaped.
    wait_until(|| found.iter().all(|pid| kb(&status(pid), "VmRSS").is_none()));
}

fn wait_until(mut done: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !done() {
        assert!(begin.elapsed().as_secs() < 60, "it never came to that");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn ratio([ratio, low, high]: [f64; 3]) -> Value {
    json!({ "ratio": ratio, "low": low, "high": high, "no_difference": low <= 1.0 && 1.0 <= high })
}

/// A small parent and one of 1 GiB more, with a fork that takes so long from the large one, and a
/// vfork that does.
fn facts(fork_ns: u64, fork: [f64; 3], vfork_ns: u64, vfork: [f64; 3]) -> BigParent {
    let start = |way: &str, ns: u64, times: Option<Value>| {
        json!({ "target": { "way": way, "child": "executes" }, "found": { "measured": {
            "spread": { "n": 9, "min_ns": ns, "p10_ns": ns, "median_ns": ns, "p90_ns": ns, "max_ns": ns },
            "times_vfork": times } } })
    };
    let parent = |asked: u64, kb: u64, fork_ns: u64, times: Value, vfork_ns: u64| {
        json!({ "asked": asked, "pages": "small", "rss_kb": kb, "huge_kb": 0, "rounds": 9,
            "starts": [start("fork", fork_ns, Some(times)), start("vfork", vfork_ns, None),
                { "target": { "way": "clone", "child": "executes" }, "found": { "not-measured": "ENOMEM" } }] })
    };
    let growth = |way: &str, from: u64, to: u64, times: [f64; 3]| {
        json!({ "target": { "way": way, "child": "executes" }, "pages": "small", "from_kb": 10240,
            "to_kb": 10240 + (1 << 20), "from_ns": from, "to_ns": to, "ratio": ratio(times) })
    };
    serde_json::from_value(json!({
        "program_bytes": 188,
        "parents": [
            parent(0, 10240, 200_000, ratio([4.0, 3.9, 4.1]), 50_000),
            parent(1 << 30, 10240 + (1 << 20), fork_ns, ratio(fork), vfork_ns),
        ],
        "growth": [growth("fork", 200_000, fork_ns, fork), growth("vfork", 50_000, vfork_ns, vfork)],
        "room": { "bytes": 2_u64 << 30, "by": "MemAvailable" },
        "left_out": ["huge pages: off on this machine"],
    }))
    .unwrap()
}

#[test]
fn sentences_say_what_the_facts_say() {
    let says = |facts| {
        let shown = shown(&Facts::BigParent(facts));
        assert!((1..=5).contains(&shown.says.len()), "{:?}", shown.says);
        [shown.says, shown.more].concat().join(" ")
    };
    let usual = says(facts(
        10_200_000,
        [200.0, 190.0, 210.0],
        50_100,
        [1.0, 0.99, 1.01],
    ));
    for part in [
        "takes 200.0 µs from a parent that holds 10 MiB and 10.2 ms from one that holds 1.0 GiB",
        "10.0 ms more for each GiB",
        "fork takes 200.00 [190.00, 210.00] times as long as vfork",
        "vfork (50.0 µs and 50.1 µs) show no growth",
        "Not measured: huge pages: off on this machine.",
    ] {
        assert!(usual.contains(part), "{part}: {usual}");
    }
    let other = says(facts(201_000, [1.0, 0.98, 1.02], 100_000, [2.0, 1.9, 2.1]));
    for part in [
        "which shows no growth (1.000 [0.980, 1.020] times)",
        "fork and vfork show no difference",
        "Also growing: vfork (50.0 µs for each GiB).",
    ] {
        assert!(other.contains(part), "{part}: {other}");
    }
    assert!(!other.contains("ms more for each GiB"), "{other}");

    // What the smallest parent does by itself from one moment to the next is no growth.
    let mut drifting = facts(201_000, [1.5, 1.4, 1.6], 100_000, [2.0, 1.9, 2.1]);
    for growth in &mut drifting.growth {
        growth.again = Some(serde_json::from_value(ratio([2.0, 1.8, 2.2])).unwrap());
    }
    let drifting = says(drifting);
    assert!(
        drifting.contains("which shows no growth (1.500"),
        "{drifting}"
    );
    assert!(
        drifting.contains("vfork (50.0 µs and 100.0 µs) show no growth"),
        "{drifting}"
    );
}

#[test]
fn the_table_names_starts_that_failed_and_parents_that_were_left_out() {
    let facts = Facts::BigParent(facts(
        10_200_000,
        [200.0, 190.0, 210.0],
        50_100,
        [1.0, 0.99, 1.01],
    ));
    let shown = shown(&facts);
    let page = barest::view::markdown::render(&shown.tables);
    assert!(
        page.contains("clone from 1.0 GiB: not measured: ENOMEM"),
        "{page}"
    );
    assert!(
        page.contains("left out: huge pages: off on this machine"),
        "{page}"
    );
    assert!(page.contains("2 GiB to be had (MemAvailable)"), "{page}");
    assert_eq!(shown.figures.len(), 1);
    let says = shown.figures[0].description();
    assert_eq!(
        says,
        "From the largest: fork 10.2 ms from 1.0 GiB; vfork 50.1 µs from 1.0 GiB."
    );
}
