//! The report's section on the programs beside their peers: more calls in every one of them.

use crate::common;
use crate::forbid;
use crate::plan::{data, quick};

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::thread;

use barest::baseline::Figures;
use barest::count::Range;
use barest::image::Linkage;
use barest::peers::Libc;
use barest::report::programs::{Comparison, Measured, Outcome, Programs, Row};
use barest::report::{Facts, Found, Name, Plan, Report, report};
use barest::view::report::shown;
use common::folder;
use serde_json::json;

fn plan() -> Plan {
    quick(Name::Programs)
}

/// These peers only, which have `true`: a program of one instruction more than ours, unless their
/// sources are in the folder already.
fn beside(folder: &Path, peers: &str) -> Plan {
    let source = folder.join("true.s");
    if !source.exists() {
        fs::copy(data("true.s"), source).unwrap();
    }
    let file = folder.join("peers.toml");
    fs::write(&file, peers).unwrap();
    Plan {
        peers: file,
        build: folder.join("build"),
        ..plan()
    }
}

const GAS: &str = r#"
[[peer]]
id = "gas"
name = "assembler"
source = "{program}.s"
programs = ["true"]
build = ["as {source} -o {object}", "ld -s -t {object} -o {output}"]
linkage = "static"
libc = "none"
needs = []
"#;

fn facts(report: &Report) -> &Programs {
    match report.sections[0].facts() {
        Some(Facts::Programs(facts)) => facts,
        _ => panic!("{:?}", report.sections[0].found),
    }
}

fn markdown(report: &Report) -> String {
    barest::view::markdown::render(&barest::view::report::page(std::slice::from_ref(report)))
}

fn rows(facts: &Programs) -> impl Iterator<Item = (&str, &Row)> {
    let tables = facts.tables.iter();
    tables.flat_map(|table| table.rows.iter().map(|row| (table.program.as_str(), row)))
}

fn measured(facts: &Programs) -> impl Iterator<Item = (&str, &Row, &Measured)> {
    rows(facts).filter_map(|(program, row)| Some((program, row, row.measured()?)))
}

fn calls(measured: &Measured) -> Range {
    *measured.calls.measured().unwrap()
}

#[test]
fn every_peer_with_a_libc_makes_more_calls_than_ours_and_none_makes_fewer() {
    let report = report(&plan(), &|_| {}).unwrap();
    let facts = facts(&report);
    assert_eq!(facts.tables.len(), 6);
    let ours = |program: &str| {
        let mut all = measured(facts);
        let ours = all.find(|(p, row, _)| *p == program && row.runtime == "barest");
        calls(ours.unwrap().2)
    };
    for (program, number) in [
        ("true", 2),
        ("hello", 3),
        ("exec", 2),
        ("false", 2),
        ("golf", 2),
    ] {
        let range = Range {
            min: number,
            max: number,
        };
        assert_eq!(ours(program), range, "{program}");
    }
    let mut compared = 0;
    for (program, row, measured) in measured(facts).filter(|(_, row, _)| row.runtime != "barest") {
        let (calls, ours) = (calls(measured), ours(program));
        let runtime = &row.runtime;
        match row.libc {
            Libc::None => assert_eq!(calls, ours, "{program}: {runtime}"),
            _ => assert!(calls.min > ours.max, "{program}: {runtime}: {calls}"),
        }
        compared += 1;
    }
    // The assembler, and glibc and musl, static and dynamic: there on every machine that may pass.
    assert!(compared >= 15, "{compared} comparisons");
    for (runtime, linkage) in [
        ("glibc, static", Linkage::Static),
        ("glibc, dynamic", Linkage::Dynamic),
        ("musl, static", Linkage::Static),
        ("musl, dynamic", Linkage::Dynamic),
    ] {
        let mut all = measured(facts);
        let found = all.find(|(_, row, _)| row.runtime == runtime);
        assert_eq!(found.expect(runtime).1.linkage, linkage, "{runtime}");
    }
    // A quick report steps through all of `true`, and through no other program of a peer.
    for (program, row, measured) in measured(facts) {
        let stepped = program == "true" || row.runtime == "barest";
        let steps = measured.steps.measured();
        assert_eq!(steps.is_some(), stepped, "{program}: {}", row.runtime);
    }
    // A number to compare is of one thing only.
    let figures = report.figures();
    let names: BTreeSet<_> = figures.iter().map(|it| (&it.subject, &it.name)).collect();
    assert_eq!(names.len(), figures.len());
    assert!(figures.iter().any(|figure| {
        figure.subject == "programs: true, glibc, static" && figure.name == "instructions"
    }));

    let page =
        barest::view::markdown::render(&barest::view::report::page(std::slice::from_ref(&report)));
    assert!(
        page.contains(
            "no instructions of hello (all but ours), exec (all but ours): a quick report"
        ),
        "{page}"
    );
    let written = serde_json::to_string(facts).unwrap();
    let read: Programs = serde_json::from_str(&written).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), written);
}

#[test]
fn a_row_has_all_its_columns_and_progress_ends_at_its_end() {
    let plan = beside(&folder("report_programs_whole"), GAS);
    let told = Mutex::new(Vec::new());
    let report = report(&plan, &|progress| {
        told.lock().unwrap().push(progress);
    })
    .unwrap();
    let told = told.into_inner().unwrap();
    assert!(told.iter().all(|it| (0.0..=1.0).contains(&it.done)));
    assert!(
        told.iter()
            .any(|it| it.doing == "programs: true, assembler")
    );
    let last = told.last().unwrap();
    assert!(last.done > 0.999 && last.left.is_zero(), "{last:?}");

    let facts = facts(&report);
    assert_eq!(rows(facts).count(), 7);
    assert_eq!(measured(facts).count(), 7);
    for (program, _, found) in measured(facts) {
        let steps = found.steps.measured().unwrap();
        let most = match program {
            "true" | "false" => 4,
            "exec" => 20,
            "hello" => 40,
            "golf" => 8,
            _ => u64::MAX,
        };
        assert!((1..=most).contains(&steps.tally.instructions), "{steps:?}");
        assert_eq!((steps.runs, steps.tally.cpuid), (2, 0), "{program}");
        if program != "stack" {
            assert_eq!(steps.fixed(), Some(steps.tally.instructions), "{program}");
        }
        let time = found.time.measured().unwrap();
        assert!(time.faults.min >= 1 && time.spread.min_ns > 0, "{program}");
        match &found.memory_kb {
            Found::Measured(peak) => assert!(program != "exec" && peak.min >= 4),
            Found::NotMeasured(why) => {
                assert_eq!(program, "exec");
                assert_eq!(why, "what has memory at the end is the program that it ran");
            }
        }
    }
    let table = &facts.tables[0];
    let clock = table.clock.measured().unwrap();
    assert!((10..=100).contains(&clock.rounds), "{}", clock.rounds);
    let time = |row: usize| table.rows[row].measured().unwrap().time.measured().unwrap();
    assert!(time(0).ratio.is_none() && time(1).ratio.is_some());

    let figures = report.figures();
    let of = |subject: &str| -> Vec<&str> {
        let own = figures.iter().filter(|it| it.subject == subject);
        own.map(|it| it.name.as_str()).collect()
    };
    let all = ["bytes", "calls", "instructions", "memory kB"];
    assert_eq!(of("programs: true, barest"), all);
    assert_eq!(of("programs: exec, barest"), all[..3]);
    assert_eq!(
        of("programs: true, assembler"),
        [&all[..], &["time, by that of ours"]].concat()
    );
    let page = markdown(&report);
    for says in [
        format!("true: {} rounds; ours against a copy of it", clock.rounds),
        "what part of the start they take: one takes ".to_owned(),
        "no memory of exec: what has memory at the end".to_owned(),
    ] {
        assert!(page.contains(&says), "{says}\n{page}");
    }
}

#[test]
fn a_peer_whose_tool_is_missing_is_marked_and_the_rest_measured() {
    let peers = GAS.replace("as {source}", "no-such-as {source}").replace(
        "needs = []",
        r#"needs = [{ tool = "no-such-as", package = "no-such-dev" }]"#,
    );
    let report = report(&beside(&folder("report_programs_missing"), &peers), &|_| {}).unwrap();
    let facts = facts(&report);
    let rows = &facts.tables[0].rows;
    assert_eq!(rows.len(), 2);
    assert!(rows[0].measured().unwrap().time.measured().is_some());
    assert!(matches!(&rows[1].found, Outcome::NotInstalled(what) if what == "no-such-dev"));
    let shown = shown(&Facts::Programs(facts.clone()));
    let says = shown.says.join(" ");
    assert!(
        says.contains("no other runtime that was measured (1 could not be"),
        "{says}"
    );
    for figure in &shown.figures[..4] {
        let drawn = figure.document();
        assert!(
            drawn.contains("assembler") && drawn.contains("not installed"),
            "{drawn}"
        );
    }
    let page = markdown(&report);
    assert!(
        page.contains("assembler: not installed: no-such-dev (make deps)"),
        "{page}"
    );
}

#[test]
fn without_permission_to_trace_there_are_sizes_and_times() {
    let plan = beside(&folder("report_programs_denied"), GAS);
    let report = thread::spawn(move || {
        forbid::forbid(libc::SYS_ptrace);
        report(&plan, &|_| {}).unwrap()
    });
    let report = report.join().unwrap();
    let facts = facts(&report);
    assert_eq!(measured(facts).count(), 7);
    for (program, row, found) in measured(facts) {
        assert!(found.bytes > 0);
        assert!(
            found.time.measured().is_some(),
            "{program}: {}",
            row.runtime
        );
        let whys = [found.calls.why(), found.steps.why()];
        for why in whys.into_iter().chain([found.memory_kb.why()]) {
            let why = why.unwrap();
            let other = program == "exec" && why.starts_with("what has memory");
            assert!(why.starts_with("may not trace: ") || other, "{why}");
        }
    }
    let shown = shown(&Facts::Programs(facts.clone()));
    let says = shown.says.join(" ");
    for part in [
        "Ours has 188 bytes, less than the other one",
        "Its system calls could not be measured: may not trace: ",
    ] {
        assert!(says.contains(part), "{part}\n{says}");
    }
    let page = markdown(&report);
    let line = "no calls of true, hello, exec, false, stack, golf: may not trace: ";
    assert_eq!(page.matches(line).count(), 1, "{page}");
    assert!(!page.contains("no memory: may not trace"), "{page}");
}

#[test]
fn a_program_that_cannot_be_timed_is_not_in_the_way_of_the_others() {
    let folder = folder("report_programs_untimed");
    fs::write(
        folder.join("true.c"),
        "#include <unistd.h>\nint main(void) { return getpid() & 127; }\n",
    )
    .unwrap();
    let unsteady = GAS
        .replace("assembler", "unsteady")
        .replace("\"gas\"", "\"unsteady\"")
        .replace("{program}.s", "{program}.c")
        .replace(
            r#"["as {source} -o {object}", "ld -s -t {object} -o {output}"]"#,
            r#"["gcc -static -Wl,-t {source} -o {output}"]"#,
        )
        .replace(r#"libc = "none""#, r#"libc = "glibc""#);
    let report = report(&beside(&folder, &(unsteady + GAS)), &|_| {}).unwrap();
    let table = &facts(&report).tables[0];
    let row = |at: usize| table.rows[at].measured().unwrap();
    assert!(row(0).time.measured().is_some());
    let why = row(1).time.why().unwrap();
    assert!(why.contains("exited with"), "{why}");
    assert!(calls(row(1)).min > 2);
    let gas = row(2).time.measured().unwrap();
    assert!(gas.ratio.is_some());
    assert!(table.clock.measured().is_some());
}

#[test]
fn where_ours_cannot_be_run_the_others_keep_what_is_theirs() {
    let folder = folder("report_programs_ours");
    let programs = folder.join("programs");
    fs::create_dir(&programs).unwrap();
    fs::write(programs.join("true"), "no program").unwrap();
    let plan = Plan {
        programs,
        ..beside(&folder, GAS)
    };
    let report = report(&plan, &|_| {}).unwrap();
    let facts = facts(&report);
    let table: &Comparison = &facts.tables[0];
    let row = |at: usize| table.rows[at].measured().unwrap();
    assert_eq!((row(0).bytes, calls(row(1)).max), (10, 2));
    assert!(row(0).calls.why().unwrap().contains("cannot be run"));
    assert!(table.clock.why().unwrap().contains("ours cannot be run"));
    assert!(row(1).time.why().unwrap().contains("ours cannot be run"));
    assert!(
        matches!(&facts.tables[1].rows[0].found, Outcome::Failed(why) if why.contains("hello"))
    );
    let says = shown(&Facts::Programs(facts.clone())).says.join(" ");
    assert!(
        says.contains("It could not be timed: true: ours cannot be run"),
        "{says}"
    );
}

/// A row of `true`: its bytes, calls, instructions, median in µs, and ratio to ours.
fn row(
    runtime: &str,
    libc: &str,
    [bytes, calls, steps, micros]: [u64; 4],
    ratio: Option<[f64; 3]>,
) -> serde_json::Value {
    let ratio = ratio.map(|[ratio, low, high]| {
        json!({ "ratio": ratio, "low": low, "high": high, "no_difference": low <= 1.0 && 1.0 <= high })
    });
    let ns = micros * 1000;
    json!({ "runtime": runtime, "linkage": "static", "libc": libc, "parts": [],
        "found": { "measured": {
            "bytes": bytes,
            "calls": { "measured": { "min": calls, "max": calls } },
            "steps": { "measured": { "runs": 2, "instructions": { "min": steps, "max": steps },
                "tally": { "instructions": steps, "cpuid": 7, "rdtsc": 0, "xgetbv": 0 } } },
            "memory_kb": { "measured": { "min": 8, "max": 12 } },
            "time": { "measured": { "ratio": ratio, "faults": { "min": 2, "max": 3 },
                "spread": { "n": 9, "min_ns": ns, "p10_ns": ns, "median_ns": ns, "p90_ns": ns,
                    "max_ns": ns } } } } } })
}

fn says(rows: Vec<serde_json::Value>, control: [f64; 3]) -> String {
    let [ratio, low, high] = control;
    let facts: Programs = serde_json::from_value(json!({
        "cpuid_cost_ns": 100,
        "tables": [{ "program": "true", "does": "exits with 0", "rows": rows,
            "clock": { "measured": { "rounds": 9, "notes": [],
                "control": { "holds": (ratio - 1.0).abs() <= 0.01, "ratio":
                    { "ratio": ratio, "low": low, "high": high, "no_difference": true } },
                "floor": { "n": 9, "min_ns": 1, "p10_ns": 1, "median_ns": 40_000, "p90_ns": 1,
                    "max_ns": 1 } } } }],
    }))
    .unwrap();
    let shown = shown(&Facts::Programs(facts));
    assert_eq!(shown.figures.len(), 5);
    for figure in &shown.figures {
        assert!(figure.inline("x", 360).starts_with("<svg "));
    }
    assert!((1..=5).contains(&shown.says.len()), "{:?}", shown.says);
    [shown.says, shown.more].concat().join(" ")
}

fn holds(says: &str, parts: &[&str]) {
    for part in parts {
        assert!(says.contains(part), "{part}\n{says}");
    }
}

const QUIET: [f64; 3] = [1.001, 0.999, 1.003];

#[test]
fn sentences_say_what_the_facts_say() {
    let usual = says(
        vec![
            row("barest", "none", [188, 2, 3, 90], None),
            row(
                "assembler",
                "none",
                [4320, 2, 3, 91],
                Some([1.01, 0.99, 1.03]),
            ),
            row(
                "musl, static",
                "musl",
                [13_376, 3, 727, 100],
                Some([1.2, 1.1, 1.3]),
            ),
            row(
                "glibc, static",
                "glibc",
                [682_696, 15, 11_753, 400],
                Some([4.5, 4.4, 4.6]),
            ),
        ],
        QUIET,
    );
    holds(
        &usual,
        &[
            "here ours is beside 3 other runtimes.",
            "Ours has 188 bytes, less than all 3 others; theirs: 4320 (assembler) to \
             682\u{202f}696 (glibc, static).",
            "Ours has 2 system calls, as many as “assembler” and less than 2 others",
            "musl 1 system call more, 724 instructions more, 13\u{202f}188 bytes more (7 of the \
             instructions are CPUID); glibc 13 system calls more",
            "the floor, takes 40.0 µs from its start until it is reaped; ours takes 50.0 µs more, \
             and glibc, static, the slowest, 360.0 µs more.",
            "2 of the others take longer than ours, from 1.200 [1.100, 1.300] times (musl, static) \
             to 4.50 [4.40, 4.60] times (glibc, static); no difference is shown to “assembler”.",
        ],
    );
    assert!(!usual.contains("noisy"), "{usual}");

    let other = says(
        vec![
            row("barest", "none", [5000, 5, 9, 30], None),
            row(
                "musl, static",
                "musl",
                [188, 1, 4, 20],
                Some([0.9, 0.8, 0.94]),
            ),
            row(
                "assembler",
                "none",
                [6000, 7, 10, 50],
                Some([1.5, 1.4, 1.6]),
            ),
            row(
                "klibc, static",
                "klibc",
                [5500, 6, 12, 32],
                Some([1.04, 1.03, 1.06]),
            ),
        ],
        [1.05, 1.02, 1.08],
    );
    holds(
        &other,
        &[
            "Ours has 5000 bytes, more than “musl, static”; theirs: 188 (musl, static) to 6000 (assembler)",
            "Ours has 5 system calls, more than “musl, static”",
            "musl 4 system calls less, 5 instructions less, 4812 bytes less",
            "ours takes no longer, and assembler, the slowest, 10.0 µs more.",
            "One of the others takes longer than ours, 1.500 [1.400, 1.600] times (assembler); \
             no difference is shown to “klibc, static”; “musl, static” took less than ours.",
            "The machine was noisy: ours against a copy of itself took true 1.050 [1.020, 1.080] \
             times",
        ],
    );
}
