//! The report's section on what a wrapper between a parent and its target costs.

use crate::common;
use crate::plan::{data, quick};

use std::fs;

use barest::report::wrapper::{Between, Measured, Wrapper};
use barest::report::{Facts, Found, Name, Plan, report};
use barest::view::report::shown;
use common::{folder, program};
use serde_json::{Value, json};

fn plan() -> Plan {
    quick(Name::Wrapper)
}

fn measured(plan: &Plan) -> Wrapper {
    let report = report(plan, &|_| {}).unwrap();
    match report.sections[0].facts() {
        Some(Facts::Wrapper(facts)) => facts.clone(),
        _ => panic!("{:?}", report.sections[0].found),
    }
}

fn of(facts: &Wrapper, between: Between) -> &Found<Measured> {
    let mut ways = facts.ways.iter();
    &ways.find(|way| way.between == between).unwrap().found
}

fn is_measured(facts: &Wrapper, between: Between) -> &Measured {
    match of(facts, between) {
        Found::Measured(it) => it,
        Found::NotMeasured(why) => panic!("{between:?}: {why}"),
    }
}

#[test]
fn each_way_has_its_throughput_three_times_and_its_ratio_to_the_target_alone() {
    let facts = measured(&plan());
    let order: Vec<_> = facts.ways.iter().map(|way| way.between).collect();
    assert_eq!(order, Between::ALL);
    for way in &facts.ways {
        match &way.found {
            Found::Measured(it) => {
                assert_eq!(
                    (it.runs_ns.len(), it.spread.n),
                    (3, facts.rounds),
                    "{way:?}"
                );
                assert!(it.runs_ns.iter().all(|ns| *ns > 0), "{way:?}");
                let alone = way.between == Between::Nothing;
                assert_eq!(it.times_alone.is_none(), alone, "{way:?}");
                assert_eq!(it.bytes.is_none(), alone, "{way:?}");
                let assembler = way.between == Between::Assembler;
                assert_eq!(it.times_assembler.is_none(), assembler, "{way:?}");
                // What runs the target and something before it takes longer.
                assert!(
                    it.times_alone.is_none_or(|ratio| ratio.high > 1.0),
                    "{way:?}"
                );
            }
            // Not every machine has it; all others are there.
            Found::NotMeasured(why) => {
                assert_eq!(way.between, Between::Dietlibc, "{why}");
                assert!(why.contains("not installed"), "{why}");
            }
        }
    }
    let bytes = |between| is_measured(&facts, between).bytes.unwrap();
    let file = |name| fs::metadata(program(name)).unwrap().len();
    assert_eq!(bytes(Between::Ours), file("exec"));
    assert_eq!(bytes(Between::Direct), file("launch"));
    assert!(bytes(Between::Baked) < 1000, "{}", bytes(Between::Baked));
    assert!(bytes(Between::MuslStatic) < bytes(Between::GlibcStatic));

    let written = serde_json::to_value(&facts).unwrap();
    let read: Wrapper = serde_json::from_value(written.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), written);
}

fn ratio([ratio, low, high]: [f64; 3]) -> Value {
    json!({ "ratio": ratio, "low": low, "high": high, "no_difference": low <= 1.0 && 1.0 <= high })
}

fn way(between: &str, ns: u64, alone: Option<[f64; 3]>, assembler: Option<[f64; 3]>) -> Value {
    json!({ "between": between, "found": { "measured": {
        "bytes": alone.map(|_| 500), "runs_ns": [ns * 1000, ns * 1000, ns * 1000],
        "spread": { "n": 9, "min_ns": ns, "p10_ns": ns, "median_ns": ns, "p90_ns": ns, "max_ns": ns },
        "times_alone": alone.map(ratio), "times_assembler": assembler.map(ratio) } } })
}

fn facts(ways: Vec<Value>) -> Wrapper {
    serde_json::from_value(json!({
        "ways": ways, "starts": 1000, "rounds": 9, "notes": [],
        "control": { "ratio": ratio([1.0, 0.99, 1.01]), "holds": true },
    }))
    .unwrap()
}

fn says(facts: Wrapper) -> String {
    let shown = shown(&Facts::Wrapper(facts));
    assert!((1..=5).contains(&shown.says.len()), "{:?}", shown.says);
    [shown.says, shown.more].concat().join(" ")
}

#[test]
fn sentences_say_what_the_facts_say() {
    let usual = says(facts(vec![
        way("nothing", 50_000, None, None),
        way(
            "ours",
            70_000,
            Some([1.4, 1.38, 1.42]),
            Some([0.95, 0.94, 0.96]),
        ),
        way(
            "direct",
            60_000,
            Some([1.2, 1.19, 1.21]),
            Some([0.8, 0.79, 0.81]),
        ),
        way("assembler", 75_000, Some([1.5, 1.48, 1.52]), None),
        way(
            "musl-static",
            80_000,
            Some([1.6, 1.58, 1.62]),
            Some([1.07, 1.06, 1.08]),
        ),
        way(
            "glibc-dynamic",
            500_000,
            Some([10.0, 9.9, 10.1]),
            Some([6.6, 6.5, 6.7]),
        ),
    ]));
    for part in [
        "takes 50.0 µs from vfork to reaped",
        "adds 40 % [38, 42] in the best case (exec of barest); the text found 46 %",
        "glibc, dynamic 10.00 [9.90, 10.10] times (5.12 in the text)",
        "takes 1.070 [1.060, 1.080] times as long as with assembler; in the text it was 8 % more",
        "does not hold any more: exec of barest (0.950 [0.940, 0.960] times), launch --direct",
        "takes 1.200 [1.190, 1.210] times as long as the target alone",
    ] {
        assert!(usual.contains(part), "{part}: {usual}");
    }
    let other = says(facts(vec![
        way("nothing", 50_000, None, None),
        way(
            "direct",
            50_000,
            Some([1.0, 0.99, 1.01]),
            Some([1.0, 0.99, 1.01]),
        ),
        way("assembler", 50_000, Some([1.0, 0.99, 1.01]), None),
        way(
            "musl-static",
            50_000,
            Some([1.01, 0.99, 1.02]),
            Some([1.0, 0.99, 1.01]),
        ),
    ]));
    for part in [
        "shows no difference in the best case (assembler)",
        "no difference to assembler is shown",
        "holds for all wrappers of this list",
        "shows no difference to the target alone",
    ] {
        assert!(other.contains(part), "{part}: {other}");
    }
    assert!(!other.contains("glibc"), "{other}");
}

#[test]
fn throughput_is_shown_beside_the_texts_and_what_is_missing_is_named() {
    let facts = Facts::Wrapper(facts(vec![
        way("nothing", 50_000, None, None),
        way("assembler", 75_000, Some([1.5, 1.48, 1.52]), None),
        json!({ "between": "dietlibc", "found": { "not-measured": "not installed: dietlibc-dev" } }),
    ]));
    let shown = shown(&facts);
    let page = barest::view::markdown::render(&shown.tables);
    assert!(page.contains("| 6.39 6.36 6.42 | 1.46 | 504 |"), "{page}");
    assert!(
        page.contains("dietlibc, static: not measured: not installed: dietlibc-dev"),
        "{page}"
    );
    let says: Vec<_> = shown.figures.iter().map(|it| it.description()).collect();
    assert_eq!(
        says[0],
        "Times the target alone: assembler 1.500 [1.480, 1.520]."
    );
    assert!(
        says[1].ends_with("assembler 1.50 (text: 1.46)."),
        "{says:?}"
    );
}

#[test]
fn without_peers_ours_are_measured_and_a_wrapper_that_fails_is_named() {
    let folder = folder("report_wrapper_few");
    fs::copy(data("true.s"), folder.join("true.s")).unwrap();
    let failing = "_start: mov $231, %eax\nmov $7, %edi\nsyscall\n.globl _start\n";
    fs::write(folder.join("exec.s"), failing).unwrap();
    let peers = folder.join("peers.toml");
    fs::write(
        &peers,
        r#"
        [[peer]]
        id = "gas"
        name = "assembler"
        source = "{program}.s"
        programs = ["true", "exec"]
        build = ["as {source} -o {object}", "ld -s -t {object} -o {output}"]
        linkage = "static"
        libc = "none"
        needs = [{ tool = "as", package = "binutils" }]

        [[peer]]
        id = "musl-static"
        name = "musl, static"
        source = "{program}.c"
        programs = ["exec"]
        build = ["no-such-cc {source} -o {output}"]
        linkage = "static"
        libc = "musl"
        needs = [{ tool = "no-such-cc", package = "no-such-dev" }]
        "#,
    )
    .unwrap();
    let facts = measured(&Plan {
        peers,
        build: folder.join("build"),
        ..plan()
    });
    for between in [
        Between::Nothing,
        Between::Ours,
        Between::Baked,
        Between::Direct,
    ] {
        is_measured(&facts, between);
    }
    let why = |between| match of(&facts, between) {
        Found::NotMeasured(why) => why,
        Found::Measured(it) => panic!("{it:?}"),
    };
    assert!(
        why(Between::Assembler).contains("exited with 7"),
        "{facts:?}"
    );
    assert!(
        why(Between::MuslStatic).contains("not installed: no-such-dev"),
        "{facts:?}"
    );
    assert!(
        why(Between::GlibcDynamic).contains("not among the peers"),
        "{facts:?}"
    );
}
