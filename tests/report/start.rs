//! What one start costs: exact where it can be, and never more than the data say.

use crate::common;
use crate::plan::quick_with;

use std::path::Path;
use std::sync::OnceLock;

use assert_cmd::Command;
use barest::report::start::Start;
use barest::report::{Facts, Name, Plan, report};
use barest::view::report::shown;
use common::{folder, program, target};
use serde_json::{Value, json};

/// Two peers only, which every machine that may pass has.
const PEERS: &str = r#"
[[peer]]
id = "glibc-static"
name = "glibc, static"
source = "{program}.c"
programs = ["true", "hello_puts"]
build = ["gcc -Os -static -s -Wl,-t {source} -o {output}"]
linkage = "static"
libc = "glibc"
needs = []

[[peer]]
id = "glibc-dynamic"
name = "glibc, dynamic"
source = "{program}.c"
programs = ["true", "hello_puts"]
build = ["gcc -Os -fPIE -pie -s -Wl,-t {source} -o {output}"]
linkage = "dynamic"
pie = true
interpreter = "/lib64/ld-linux-x86-64.so.2"
needed = "libc.so.6"
libc = "glibc"
needs = []
"#;

fn plan(folder: &Path) -> Plan {
    quick_with(Name::Start, folder, &["true.c", "hello_puts.c"], PEERS)
}

/// The facts as JSON, measured once.
fn facts() -> &'static Value {
    static FACTS: OnceLock<Value> = OnceLock::new();
    FACTS.get_or_init(|| {
        let plan = plan(&folder("report_start"));
        let report = report(&plan, &|_| {}).unwrap();
        match report.sections[0].facts() {
            Some(Facts::Start(start)) => serde_json::to_value(start).unwrap(),
            _ => panic!("{:?}", report.sections[0].found),
        }
    })
}

fn parsed(facts: &Value) -> Start {
    serde_json::from_value(facts.clone()).unwrap()
}

fn says(facts: &Value) -> String {
    let shown = shown(&Facts::Start(parsed(facts)));
    assert!((1..=5).contains(&shown.says.len()), "{:?}", shown.says);
    [shown.says, shown.more].concat().join(" ")
}

fn find<'a>(list: &'a Value, name: &str) -> &'a Value {
    let mut list = list.as_array().unwrap().iter();
    list.find(|it| it["name"] == name).unwrap()
}

/// A ratio whose interval does not hold 1, unless it is 1.
fn ratio(ratio: f64) -> Value {
    json!({
        "ratio": ratio,
        "low": ratio * 0.99,
        "high": ratio * 1.01,
        "no_difference": ratio == 1.0,
    })
}

#[test]
fn calls_and_cpuid_are_exact() {
    let facts = facts();
    let smallest = &facts["smallest"]["measured"]["programs"];
    assert_eq!(
        find(smallest, "barest")["calls"]["measured"],
        json!([
            { "name": "execve", "count": { "min": 1, "max": 1 } },
            { "name": "exit_group", "count": { "min": 1, "max": 1 } },
        ])
    );
    let dynamic = find(smallest, "glibc, dynamic")["calls"]["measured"].as_array();
    let opened = dynamic
        .unwrap()
        .iter()
        .find(|call| call["name"] == "openat");
    assert_eq!(opened.unwrap()["count"], json!({ "min": 2, "max": 2 }));

    let cpuid = &facts["cpuid"]["measured"]["programs"];
    assert_eq!(find(cpuid, "barest")["tally"]["cpuid"], 0);
    assert!(find(cpuid, "glibc, static")["tally"]["cpuid"].as_u64() > Some(0));
}

#[test]
fn each_program_has_been_started_after_each_and_itself() {
    let turns = &facts()["turns"]["measured"];
    let programs = ["glibc, static", "glibc, dynamic", "barest"];
    let pairs = turns["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), programs.len() * (programs.len() + 2));
    for what in programs {
        let of_it = || pairs.iter().filter(|pair| pair["what"] == what);
        for after in programs {
            let pair = of_it()
                .find(|pair| pair["after"]["program"] == after)
                .unwrap();
            if what == after {
                assert_eq!(pair["to_itself"]["ratio"], 1.0);
                assert_eq!(pair["more_ns"], 0);
            }
        }
        assert!(of_it().any(|pair| pair["after"] == "floor"));
        assert!(of_it().any(|pair| pair["after"]["copy"] == "glibc, static"));
        let turn = find(&turns["programs"], what);
        assert_eq!(turn["time"]["in_turn"]["n"], 5 * 6 * 6);
    }
    let works = facts()["traces"]["measured"]["works"].as_array().unwrap();
    let faults: Vec<_> = works
        .iter()
        .map(|work| work["faults"]["min"].as_u64().unwrap() >= 512)
        .collect();
    assert_eq!(faults, [false, false, false, false, true, true]);
}

#[test]
fn facts_survive_json_and_the_view_has_a_figure_and_a_reason_for_each() {
    let facts = facts();
    let start = parsed(facts);
    assert_eq!(&serde_json::to_value(&start).unwrap(), facts);
    let missing: Vec<_> = start.missing.iter().map(|it| it.name.as_str()).collect();
    assert!(missing.contains(&"dietlibc"), "{missing:?}");
    let shown = shown(&Facts::Start(start));
    let figures: Vec<_> = shown.figures.iter().map(|figure| figure.title()).collect();
    assert_eq!(figures.len(), 4, "{figures:?}");
    for figure in &shown.figures {
        let said = figure.description();
        assert!(said.contains(|c: char| c.is_ascii_digit()), "{said}");
    }
    let page = barest::view::markdown::render(&shown.tables);
    assert!(page.contains("dietlibc: the data file"), "{page}");
    assert!(page.contains("cpuid"), "{page}");
}

#[test]
fn other_data_make_other_sentences() {
    let mut facts = facts().clone();
    facts["turns"]["measured"]["control"]["holds"] = json!(true);
    facts["traces"]["measured"]["control"]["holds"] = json!(true);
    let with = |change: &dyn Fn(&mut Value)| {
        let mut facts = facts.clone();
        change(&mut facts);
        says(&facts)
    };
    let in_turn = |to: f64| {
        with(&|facts| {
            facts["turns"]["measured"]["programs"][0]["time"]["ratio"] = ratio(to);
        })
    };
    assert!(
        in_turn(1.5).contains("slower in turn here too"),
        "{}",
        in_turn(1.5)
    );
    assert!(
        in_turn(0.7).contains("is faster in turn here"),
        "{}",
        in_turn(0.7)
    );
    assert!(
        in_turn(1.0).contains("not shown to be slower in turn here"),
        "{}",
        in_turn(1.0)
    );
    let noisy = with(&|facts| {
        facts["turns"]["measured"]["programs"][0]["time"]["ratio"] = ratio(1.5);
        facts["turns"]["measured"]["control"]["holds"] = json!(false);
        facts["traces"]["measured"]["control"]["holds"] = json!(false);
    });
    assert!(noisy.contains("too noisy, its copy differed"), "{noisy}");
    assert!(
        noisy.contains("What a process leaves behind for the next one could not be told"),
        "{noisy}"
    );

    let caused = |branch: f64, memory: f64, faults: f64| {
        let said = with(&|facts| {
            let effects = &mut facts["traces"]["measured"]["effects"];
            for effect in effects.as_array_mut().unwrap() {
                effect["ratio"] = ratio(match effect["kind"].as_str().unwrap() {
                    "branch" => branch,
                    "write" => memory,
                    "fault" => faults,
                    _ => 1.0,
                });
            }
        });
        let (_, verdict) = said.split_once("the data support: ").unwrap();
        let (yes, no) = verdict.split_once("; not shown: ").unwrap();
        [yes, no].map(|side| {
            [
                "time passes",
                "its code",
                "traps",
                "page faults displace",
                "its memory",
            ]
            .map(|reason| side.contains(reason))
        })
    };
    for (ratios, supported) in [
        ((1.0, 1.0, 1.0), [false, false, false, false, false]),
        ((1.2, 1.0, 1.0), [false, true, false, false, false]),
        ((1.0, 1.5, 1.5), [false, false, false, true, false]),
        ((1.0, 1.5, 1.2), [false, false, false, true, true]),
        ((1.0, 1.5, 1.0), [false, false, false, false, true]),
    ] {
        let [yes, no] = caused(ratios.0, ratios.1, ratios.2);
        assert_eq!(yes, supported, "{ratios:?}");
        assert_eq!(no, supported.map(|it| !it), "{ratios:?}");
    }

    let dietlibc = |to: Option<f64>| {
        with(&|facts| {
            let smallest = &mut facts["smallest"]["measured"];
            smallest["control"]["holds"] = json!(true);
            for small in smallest["programs"].as_array_mut().unwrap() {
                if small["name"] == "glibc, dynamic" {
                    small["to_dietlibc"] = to.map_or(Value::Null, ratio);
                }
            }
        })
    };
    assert!(dietlibc(Some(6.0)).contains("times, more than there"));
    assert!(dietlibc(Some(1.4)).contains("times, as there"));
    assert!(dietlibc(Some(1.2)).contains("times, less than there"));
    assert!(dietlibc(None).contains("could not be compared here"));
}

#[test]
fn without_a_compiler_it_measures_ours_and_says_what_is_missing() {
    program("true");
    let folder = folder("report_start_bare");
    let output = Command::new(env!("CARGO_BIN_EXE_barest"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args([
            "report",
            "start",
            "--quick",
            "--format",
            "json",
            "--programs",
        ])
        .arg(target().join("bare"))
        .arg("--build")
        .arg(folder.join("build"))
        .arg("--out")
        .arg(folder.join("out"))
        .env("PATH", "/nowhere")
        .assert()
        .success();
    let facts: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    let start = &facts["facts"][0]["sections"][0]["found"]["measured"]["start"];
    let why = start["traces"]["not-measured"].as_str().unwrap();
    assert!(why.contains("install gcc"), "{why}");
    assert_eq!(start["turns"]["measured"]["programs"][0]["name"], "barest");
    let missing = start["missing"].as_array().unwrap();
    assert!(
        missing
            .iter()
            .any(|it| it["why"] == "not installed: gcc, musl-tools (make deps)"),
        "{missing:?}"
    );
    let said = says(start);
    assert!(said.contains("could not be compared here"), "{said}");
}
