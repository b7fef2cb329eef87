//! The report's section on a program that executes itself.

use crate::common;
use crate::plan::{data, quick};

use std::fs;
use std::process::Command;

use barest::peers::{self, Availability};
use barest::report::self_exec::{Measured, SelfExec};
use barest::report::{Facts, Found, Name, Plan, report};
use barest::view::report::shown;
use common::{folder, succeed, target};
use serde_json::json;

const SECOND: u64 = 1_000_000_000;

fn plan() -> Plan {
    quick(Name::SelfExec)
}

/// The facts of the section, or why there are none.
fn measured(plan: &Plan) -> Result<SelfExec, String> {
    let report = report(plan, &|_| {}).unwrap();
    match (report.sections[0].facts(), &report.sections[0].found) {
        (Some(Facts::SelfExec(facts)), _) => Ok(facts.clone()),
        (_, Found::NotMeasured(why)) => Err(why.clone()),
        (_, other) => panic!("{other:?}"),
    }
}

fn monotonic() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes one timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * SECOND + now.tv_nsec as u64
}

#[test]
fn the_program_prints_the_whole_time_also_where_seconds_began_in_between() {
    let mut tried = 0;
    for peer in peers::load(&data("peers.toml")).unwrap() {
        let into = target().join("peers");
        if !peer.programs.iter().any(|name| name == "self_exec") {
            continue;
        }
        let Availability::Ready { programs } = peers::prepare(&peer, &into).unwrap() else {
            continue;
        };
        let file = programs
            .iter()
            .find(|it| it.program == "self_exec")
            .unwrap();
        // The last nanosecond of a second that has passed, and the first of one.
        let second = monotonic() / SECOND - 2;
        for then in [second * SECOND + SECOND - 1, second * SECOND, 0] {
            let before = monotonic();
            let said = succeed(Command::new(&file.path).arg(then.to_string()));
            let after = monotonic();
            let numbers = said.strip_suffix('\n').unwrap().split(' ');
            let numbers: Vec<u64> = numbers.map(|it| it.parse().unwrap()).collect();
            let [first, now, between] = numbers[..] else {
                panic!("{}: {said}", peer.id);
            };
            assert_eq!(first, then % SECOND, "{}", peer.id);
            assert_eq!(now, (then + between) % SECOND, "{}", peer.id);
            let within = before - then..=after - then;
            assert!(within.contains(&between), "{}: {said}", peer.id);
        }
        tried += 1;
    }
    // The assembler, and musl and glibc, static and dynamic.
    assert!(tried >= 5, "{tried}");
}

#[test]
fn each_program_is_run_in_each_round_and_dynamic_is_compared_with_static() {
    let facts = measured(&plan()).unwrap();
    let named = |runtime| facts.programs.iter().any(|it| it.runtime == runtime);
    for runtime in [
        "assembler",
        "musl, static",
        "musl, dynamic",
        "glibc, static",
        "glibc, dynamic",
    ] {
        assert!(named(runtime), "{runtime}");
    }
    for program in &facts.programs {
        let it = match &program.found {
            Found::Measured(it) => it,
            Found::NotMeasured(why) => {
                assert!(why.contains("not installed"), "{}: {why}", program.runtime);
                continue;
            }
        };
        assert_eq!(
            (it.times_ns.len(), it.spread.n),
            (facts.rounds, facts.rounds)
        );
        assert_eq!(it.spread.min_ns, *it.times_ns.iter().min().unwrap());
        assert!(it.spread.min_ns > 0);
        // None of them takes a second; so each that crosses one is wrong by just that.
        let wrong = it.crossed as f64 * SECOND as f64 / facts.rounds as f64;
        let off = it.mean_ns - it.mean_of_tv_nsec_ns - wrong;
        assert!(off.abs() < 1.0, "{}: {off}", program.runtime);
    }
    let libcs: Vec<_> = facts.pairs.iter().map(|it| it.libc.to_string()).collect();
    assert_eq!(libcs, ["musl", "glibc"]);
    for pair in &facts.pairs {
        assert!(pair.ratio.low <= pair.ratio.ratio && pair.ratio.ratio <= pair.ratio.high);
        // A loader in between cannot take less: nothing speaks for that.
        assert!(pair.ratio.high > 1.0, "{pair:?}");
    }
    assert_eq!(facts.control_of, "musl, static");

    let written = serde_json::to_value(&facts).unwrap();
    let read: SelfExec = serde_json::from_value(written.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), written);
}

/// Facts of two programs, whose ratio has this interval, of which some runs crossed a second.
fn facts(ratio: [f64; 3], crossed: usize, control_holds: bool) -> SelfExec {
    let ratio_of = |[ratio, low, high]: [f64; 3]| {
        json!({ "ratio": ratio, "low": low, "high": high,
            "no_difference": low <= 1.0 && 1.0 <= high })
    };
    let program = |runtime: &str, linkage: &str, ns: u64, crossed: usize| {
        json!({ "runtime": runtime, "libc": "musl", "linkage": linkage, "found": { "measured": {
            "times_ns": [ns, ns],
            "spread": { "n": 2, "min_ns": ns, "p10_ns": ns, "median_ns": ns, "p90_ns": ns, "max_ns": ns },
            "mean_ns": ns, "mean_of_tv_nsec_ns": ns as f64 - crossed as f64 * 5e8, "crossed": crossed } } })
    };
    serde_json::from_value(json!({
        "programs": [
            program("musl, static", "static", 70_000, 0),
            program("musl, dynamic", "dynamic", 210_000, crossed),
            { "runtime": "glibc, static", "libc": "glibc", "linkage": "static",
                "found": { "not-measured": "not installed: gcc" } },
        ],
        "pairs": [{ "libc": "musl", "dynamic_ns": 210_000, "static_ns": 70_000, "ratio": ratio_of(ratio) }],
        "rounds": 2,
        "control": { "ratio": ratio_of([1.2, 1.1, 1.3]), "holds": control_holds },
        "control_of": "musl, static",
        "processor": null,
    }))
    .unwrap()
}

#[test]
fn sentences_say_what_the_facts_say() {
    let says = |facts| {
        let shown = shown(&Facts::SelfExec(facts));
        assert!((1..=5).contains(&shown.says.len()), "{:?}", shown.says);
        [shown.says, shown.more].concat().join(" ")
    };
    let more = says(facts([3.0, 2.9, 3.1], 0, true));
    assert!(
        more.contains("210.0 µs when linked dynamically, 70.0 µs when statically"),
        "{more}"
    );
    assert!(more.contains("3.00 [2.90, 3.10] times as long"), "{more}");
    assert!(
        more.contains("137263 and 64048 ns with musl on its author's machine"),
        "{more}"
    );
    assert!(
        more.contains("that dynamic linking costs more holds here"),
        "{more}"
    );
    assert!(more.contains("true of 0 of these 4 runs"), "{more}");
    assert!(!more.contains("noisy"), "{more}");

    let same = says(facts([1.01, 0.98, 1.04], 0, true));
    assert!(same.contains("which shows no difference"), "{same}");
    assert!(same.contains("here, no difference is shown"), "{same}");
    let less = says(facts([0.8, 0.7, 0.9], 0, true));
    assert!(less.contains("here it is the other way round"), "{less}");

    let crossed = says(facts([3.0, 2.9, 3.1], 1, false));
    assert!(crossed.contains("true of 1 of these 4 runs"), "{crossed}");
    assert!(
        crossed.contains("the mean of musl, dynamic would be -499790000 ns, not 210000"),
        "{crossed}"
    );
    assert!(crossed.contains("The machine was noisy"), "{crossed}");
}

#[test]
fn tables_and_figures_name_what_is_missing() {
    let facts = Facts::SelfExec(facts([3.0, 2.9, 3.1], 0, true));
    let shown = shown(&facts);
    let page = barest::view::markdown::render(&shown.tables);
    assert!(
        page.contains("glibc, static: not measured: not installed: gcc"),
        "{page}"
    );
    assert!(page.contains("Not kept on one processor"), "{page}");
    let says: Vec<_> = shown.figures.iter().map(|it| it.description()).collect();
    assert_eq!(
        says[0],
        "Medians: musl, static 70.0 µs; musl, dynamic 210.0 µs."
    );
    assert_eq!(
        says[1],
        "Linked dynamically it takes 3.00 [2.90, 3.10] times with musl."
    );
}

/// A list of peers that has what the machine lacks, and a program that is none.
const FEW: &str = r#"
[[peer]]
id = "gas"
name = "assembler"
source = "{program}.s"
programs = ["self_exec"]
build = ["as {source} -o {object}", "ld -s -t {object} -o {output}"]
linkage = "static"
libc = "none"
needs = [{ tool = "as", package = "binutils" }]

[[peer]]
id = "other"
name = "another program"
source = "true.s"
programs = ["self_exec"]
build = ["as {source} -o {object}", "ld -s -t {object} -o {output}"]
linkage = "static"
libc = "none"
needs = [{ tool = "as", package = "binutils" }]

[[peer]]
id = "lost"
name = "no such libc"
source = "{program}.c"
programs = ["self_exec"]
build = ["no-such-cc {source} -o {output}"]
linkage = "static"
libc = "musl"
needs = [{ tool = "no-such-cc", package = "no-such-dev" }]
"#;

#[test]
fn what_is_not_installed_or_prints_no_times_is_named_and_the_rest_measured() {
    let folder = folder("report_self_exec_few");
    for source in ["self_exec.s", "true.s"] {
        fs::copy(data(source), folder.join(source)).unwrap();
    }
    let few = |text: &str| {
        let peers = folder.join("peers.toml");
        fs::write(&peers, text).unwrap();
        Plan {
            peers,
            build: folder.join("build"),
            ..plan()
        }
    };
    let facts = measured(&few(FEW)).unwrap();
    let [gas, other, lost] = &facts.programs[..] else {
        panic!("{facts:?}")
    };
    assert!(matches!(&gas.found, Found::Measured(_)), "{gas:?}");
    let why = |found: &Found<Measured>| match found {
        Found::NotMeasured(why) => why.clone(),
        Found::Measured(it) => panic!("{it:?}"),
    };
    assert!(
        why(&other.found).contains("did not print two times"),
        "{other:?}"
    );
    assert!(
        why(&lost.found).contains("not installed: no-such-dev"),
        "{lost:?}"
    );
    assert!(facts.pairs.is_empty());

    let (_, only_lost) = FEW.split_at(FEW.rfind("[[peer]]").unwrap());
    let why = measured(&few(only_lost)).unwrap_err();
    assert!(why.contains("not installed: no-such-dev"), "{why}");
}
