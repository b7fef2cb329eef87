//! The report's section on how a system links.

use crate::common;
use crate::forbid;
use crate::plan::{data, quick_with};

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use barest::baseline::Figures;
use barest::report::system::{Linked, Part, Surveyed, System, surveyed};
use barest::report::{Facts, Found, Name, Plan, Report, report};
use barest::start::Place;
use barest::survey::Root;
use barest::survey::walk::Kind;
use barest::view::markdown;
use barest::view::report::{Shown, shown};
use common::{folder, succeed};
use serde_json::{Value, json};

/// The loader of this system, and the name that programs for x86-64 and glibc have for it.
const LOADER: &str = "lib64/ld-linux-x86-64.so.2";

/// A system in a folder, without a C library but with libraries of such names.
///
/// | program | names | loads through others |
/// |---|---|---|
/// | packer | libz, libc | |
/// | talker | libdbus-1, libc | libz |
/// | plain | libc | |
/// | fixed | (static) | |
/// | script | | |
fn tree(name: &str) -> PathBuf {
    let tree = folder(name);
    for inner in ["usr/bin", "libs", "lib64", "empty"] {
        fs::create_dir_all(tree.join(inner)).unwrap();
    }
    fs::copy(Path::new("/").join(LOADER), tree.join(LOADER)).unwrap();
    let link = |path: &str, source: &str, flags: &[&str], needed: &[&str]| {
        fs::write(tree.join("source.c"), source).unwrap();
        let needed = needed.iter().map(|name| format!("libs/{name}"));
        succeed(
            Command::new("gcc")
                .current_dir(&tree)
                .args(["-nostdlib", "-Wl,--no-as-needed,--allow-shlib-undefined"])
                .args(["-Wl,-rpath,/libs", "-Wl,-rpath-link,libs", "-o", path])
                .arg("source.c")
                .args(flags)
                .args(needed),
        );
    };
    let library = |name: &str, source: &str, needed: &[&str]| {
        let soname = format!("-Wl,-soname,{name}");
        let path = format!("libs/{name}");
        link(&path, source, &["-shared", "-fPIC", &soname], needed);
    };
    library("libc.so.6", "int c;", &[]);
    library("libz.so.1", "int z(void) { return 0; }", &[]);
    library("libdbus-1.so.3", "int d;", &["libz.so.1"]);
    let interpreter = format!("-Wl,-dynamic-linker,/{LOADER}");
    let dynamic = ["-pie", "-fPIE", &interpreter];
    let still = "void _start(void) { for (;;); }";
    let calls = "int z(void); void _start(void) { z(); for (;;); }";
    link(
        "usr/bin/packer",
        calls,
        &dynamic,
        &["libz.so.1", "libc.so.6"],
    );
    link(
        "usr/bin/talker",
        still,
        &dynamic,
        &["libdbus-1.so.3", "libc.so.6"],
    );
    link("usr/bin/plain", still, &dynamic, &["libc.so.6"]);
    link("usr/bin/fixed", still, &["-static"], &[]);
    let script = tree.join("usr/bin/script");
    fs::write(&script, "#!/usr/bin/plain\n").unwrap();
    fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    tree
}

fn survey(tree: &Path, path: &str) -> Surveyed {
    let root = Root::at(tree).unwrap();
    surveyed(&root, &[path.into(), path.into()], &|_, _| ()).unwrap()
}

fn shows(surveyed: Surveyed) -> Shown {
    let facts = System {
        surveyed: Found::Measured(surveyed),
        hello: Vec::new(),
        started: Vec::new(),
    };
    shown(&Facts::System(facts))
}

#[test]
fn a_small_system_is_told_exactly() {
    let tree = tree("report_system_tree");
    let found = survey(&tree, "/usr/bin");
    // A folder that PATH has twice is one.
    assert_eq!(found.paths, ["/usr/bin"]);
    let programs = &found.sharing.programs;
    let kinds = [Kind::Dynamic, Kind::Static, Kind::StaticPie, Kind::Script];
    assert_eq!(kinds.map(|kind| programs[&kind]), [3, 1, 0, 1]);
    let first = found.sharing.first.iter();
    let first: Vec<_> = first
        .map(|it| (&it.name[..], it.users, it.direct))
        .collect();
    assert_eq!(
        first,
        [
            ("ld-linux-x86-64.so.2", 3, 3),
            ("libc.so.6", 3, 3),
            ("libz.so.1", 2, 1),
            ("libdbus-1.so.3", 1, 1),
        ]
    );
    assert_eq!(found.sharing.users, [3, 3, 2, 1]);
    assert_eq!(found.sharing.few.exactly_one, 1);
    assert_eq!((found.sharing.missing, found.sharing.unread), (0, 0));

    // In the order of their paths: packer calls one function of libz.
    let used = found.symbols.used.iter().map(|(used, _)| *used);
    assert_eq!(used.collect::<Vec<_>>(), [1, 0, 0]);
    let (one, on_offer) = found.symbols.used[0];
    assert_eq!(
        found.symbols.shares().next(),
        Some(one as f64 / on_offer as f64)
    );

    let flaws = &found.flaws;
    let reached: Vec<_> = flaws
        .flaws
        .iter()
        .map(|it| {
            let reached = &it.reached;
            (
                &it.library[..],
                &it.asked[..],
                it.libc,
                reached.direct,
                reached.through_others,
            )
        })
        .collect();
    assert_eq!(
        reached,
        [
            ("libdbus-1.so.3", "libdbus-1", false, 1, 0),
            ("libz.so.1", "libz", false, 1, 1),
            ("libc.so.6", "libc", true, 3, 0),
        ]
    );
    assert_eq!(
        flaws.absent,
        [
            "libgnutls",
            "libcairo",
            "libssh2",
            "libcurl",
            "libcrypto",
            "libssl"
        ]
    );
    let bytes = |names: &[&str]| -> u64 {
        let files = names.iter().map(|name| tree.join("usr/bin").join(name));
        files.map(|file| fs::metadata(file).unwrap().len()).sum()
    };
    assert_eq!(flaws.programs, 4);
    assert_eq!(flaws.bytes, bytes(&["packer", "talker", "plain", "fixed"]));
    assert_eq!(flaws.all.bytes, bytes(&["packer", "talker", "plain"]));
    assert_eq!(flaws.without_libc.bytes, bytes(&["packer", "talker"]));
    assert_eq!(
        (flaws.all.programs(), flaws.without_libc.programs()),
        (3, 2)
    );
    assert!(!flaws.package_data);
    assert_eq!(found.pairs, []);

    let says = shows(found);
    let text = [says.says, says.more].concat().join(" ");
    for part in [
        "3 dynamic programs, each with 3.0 libraries on average.",
        "here that cannot be: one is not less than 0.1 % of 5 executables.",
        "A flaw in any of libdbus-1.so.3, libz.so.1 would reach 2 of 4 programs (",
        "; with libc.so.6 as well it is 3 of 4 programs (",
        "None of the 5 libraries that reached over 100 programs there",
        "could not be measured: no program was started.",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Without package data, nothing is said of downloads but that they are unknown.
    assert!(!text.contains("downloaded"), "{text}");
    let page = markdown::render(&says.tables);
    assert!(
        page.contains("neither dpkg nor apk nor rpm has data here"),
        "{page}"
    );
    assert_eq!(says.figures.len(), 3);
}

#[test]
fn a_system_without_dynamic_programs_says_so_and_draws_nothing() {
    let tree = tree("report_system_static");
    let says = shows(survey(&tree, "/usr/bin/fixed"));
    assert_eq!(
        says.says[..2],
        [
            "No program here is dynamic, of 1: there are no libraries to share.",
            "None of the libraries whose flaws are asked about is loaded by any of 1 program.",
        ]
    );
    assert!(says.figures.is_empty());
    let says = shows(survey(&tree, "/empty"));
    assert_eq!(says.says[0], "There is no program here.");
}

/// Facts as a report keeps them: of 2000 programs, half of them dynamic.
fn facts(of_each: Value) -> System {
    let update = |packages: usize, bytes: u64, unknown: usize| {
        json!({
            "files": packages, "bytes": bytes, "packages": packages, "unowned": 0,
            "installed_bytes": bytes, "installed_unknown": unknown,
            "download_bytes": bytes, "download_unknown": unknown,
        })
    };
    let reached = |direct: usize, bytes: u64| {
        json!({
            "direct": direct, "through_others": 0, "bytes": bytes,
            "today": update(1, 3 << 20, 0), "all_static": update(9, bytes, 1),
        })
    };
    let flaw = |name: &str, asked: &str, libc: bool, direct: usize| json!({ "library": name, "asked": asked, "libc": libc, "reached": reached(direct, 1 << 30) });
    let few = |programs: usize| json!({ "programs": programs, "than_1_in_1000": of_each["rare"], "than_1_in_100": 4 });
    let part = |what: &str, distinct: usize| {
        let bits = (distinct > 1).then_some(28.0);
        json!({ "what": what, "library": null, "distinct": distinct, "bits": 28, "bits_by_spread": bits })
    };
    let moving = |linked: &str, pie: bool, distinct: Value| {
        let parts = [part("program", distinct.as_u64().unwrap() as usize)];
        json!({ "linked": linked, "found": { "measured": {
            "program": "true of it", "linkage": linked, "pie": pie, "randomized": of_each["random"],
            "starts": 100, "parts": parts, "together": false, "libraries": 0, "notes": [],
        } } })
    };
    let share = of_each["mean"].as_f64().unwrap();
    serde_json::from_value(json!({
        "surveyed": { "measured": {
            "paths": ["/usr/bin"],
            "sharing": {
                "programs": { "dynamic": 1000, "script": 1000 },
                "users": [1000, 600, 3, 1], "missing": 0, "unread": 0,
                "first": [{ "name": "libc.so.6", "users": 1000, "direct": 1000, "bytes": 9 }],
                "few": {
                    "exactly_one": 1,
                    "of_dynamic_programs": few(1000), "of_all_programs": few(2000),
                },
            },
            "symbols": { "used": [[1, 10], [0, 0]], "untold": 0, "spread": {
                "programs": 1000, "mean": share, "min": 0.0, "lower_quartile": 0.01,
                "median": 0.015, "upper_quartile": 0.02, "max": 0.5,
            } },
            "flaws": {
                "programs": 1000, "bytes": 4_u64 << 30, "absent": ["libssl"], "package_data": true,
                "flaws": [
                    flaw("libcurl.so.4", "libcurl", false, of_each["curl"].as_u64().unwrap() as usize),
                    flaw("libc.so.6", "libc", true, 1000),
                ],
                "all": reached(1000, 2 << 30), "without_libc": reached(101, 1 << 30),
                "unseen": ["dlopen"],
            },
            "pairs": [
                { "name": "sh", "fixed_bytes": 3000, "dynamic_bytes": 1000, "with_libraries_bytes": null },
            ],
        } },
        "hello": [
            { "libc": "glibc", "found": { "measured": {
                "name": "hello", "fixed_bytes": 682_696, "dynamic_bytes": 14_392,
                "with_libraries_bytes": 2_000_000,
            } } },
            { "libc": "musl", "found": { "not-measured": "not installed: musl-tools" } },
        ],
        "started": [
            moving("static", false, json!(1)),
            moving("static-pie", true, of_each["bases"].clone()),
            { "linked": "dynamic", "found": { "not-measured": "not installed: gcc" } },
        ],
    }))
    .unwrap()
}

fn usual() -> Value {
    json!({ "rare": 3, "random": true, "mean": 0.0196, "curl": 101, "bases": 100 })
}

fn says(facts: System) -> String {
    let shown = shown(&Facts::System(facts));
    assert!((1..=5).contains(&shown.says.len()), "{:?}", shown.says);
    [shown.says, shown.more].concat().join(" ")
}

#[test]
fn sentences_say_what_the_facts_say() {
    let text = says(facts(usual()));
    for part in [
        "that holds here as well: 75.0 % are, of 2000 executables.",
        "use 1.96 % of the symbols",
        "shares is less than the 4.6 % that the text found.",
        "Linked statically, hello of glibc has 667 KiB (47.4 times the dynamic file, 0.341 times \
         that with its libraries); 1 program that this system has in both ways has 3.00 times the \
         dynamic file in the median.",
        "A flaw in libcurl.so.4 would reach 101 of 1000 programs (1.0 GiB, 25.0 % of the bytes of \
         all); with libc.so.6 as well it is 1000 of 1000 programs (2.0 GiB, 50.0 % of the bytes of \
         all).",
        "reached in the text had 1.0 GiB without libc and 3.8 GiB with it.",
        "Were all programs static, at least 1.0 GiB without libc and at least 2.0 GiB with it would \
         have to be downloaded, in place of 3.0 MiB and 3.0 MiB",
        "these do so here: libcurl.so.4 (101).",
        "Static linking does not prevent ASLR: true of it is a static-PIE and had 100 bases in 100 \
         starts.",
        "prevent ASLR is the text's answer as well. Not started: not installed: gcc.",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for (fact, other, part) in [
        ("rare", json!(2), "that does not hold here: 50.0 % are"),
        ("mean", json!(0.0464), "shares is as much as the 4.6 %"),
        ("mean", json!(0.2), "shares is more than the 4.6 %"),
        (
            "curl",
            json!(100),
            "None of the 5 libraries that reached over 100",
        ),
        ("bases", json!(1), "is not seen here."),
        ("random", json!(false), "Addresses were not random here"),
    ] {
        let mut facts_of = usual();
        facts_of[fact] = other;
        let text = says(facts(facts_of));
        assert!(text.contains(part), "{part}: {text}");
    }
    let page = markdown::render(&shown(&Facts::System(facts(usual()))).tables);
    for part in [
        "musl: not measured: not installed: musl-tools",
        "dynamic: not measured: not installed: gcc",
        "No program loads: libssl.",
        "| libcurl.so.4 | no | 101 | 0 | 10.1 | 1073741824 | 3145728 | 1073741824 + 1 unknown |",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[test]
fn facts_are_the_same_when_they_are_read_back() {
    let tree = tree("report_system_json");
    let surveyed = survey(&tree, "/usr/bin");
    let mut facts = facts(usual());
    facts.surveyed = Found::Measured(surveyed);
    let written = serde_json::to_string(&facts).unwrap();
    let read: System = serde_json::from_str(&written).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), written);
    let [one, other] = [facts, read].map(|facts| {
        let shown = shown(&Facts::System(facts));
        let figures = shown.figures.iter().map(|it| it.document());
        let figures: Vec<String> = figures.collect();
        (
            shown.says,
            shown.more,
            figures,
            markdown::render(&shown.tables),
        )
    });
    assert_eq!(one, other);
    assert_eq!(one.2.len(), 4);
}

/// With the peers of these ids, from the data file.
fn plan(folder: &Path, ids: &[&str]) -> Plan {
    let all = fs::read_to_string(data("peers.toml")).unwrap();
    let own = all.split("[[peer]]").skip(1).filter(|peer| {
        let is = |id: &&str| peer.contains(&format!("id = \"{id}\"\n"));
        ids.iter().any(is)
    });
    let peers: String = own.map(|peer| format!("[[peer]]{peer}")).collect();
    assert_eq!(peers.matches("[[peer]]").count(), ids.len());
    let sources = ["true.c", "hello.c", "hello_puts.c", "exec.c", "self_exec.c"];
    quick_with(Name::System, folder, &sources, &peers)
}

fn measured(name: &str, ids: &[&str]) -> (Report, System) {
    let plan = plan(&folder(name), ids);
    let report = report(&plan, &|_| {}).unwrap();
    let facts = match report.sections[0].facts() {
        Some(Facts::System(facts)) => facts.clone(),
        other => panic!("{other:?}"),
    };
    (report, facts)
}

/// So many different bases had that part of the program that is linked so.
fn bases(facts: &System, linked: Linked, what: Place) -> Option<usize> {
    let started = facts.started.iter().find(|it| it.linked == linked).unwrap();
    let Found::Measured(moving) = &started.found else {
        panic!("{started:?}")
    };
    assert_eq!(moving.starts, 40);
    let part = |part: &&Part| part.what == what;
    moving.parts.iter().find(part).map(|it| it.distinct)
}

#[test]
fn a_static_pie_moves_as_a_dynamic_program_does_and_a_fixed_one_does_not() {
    let peers = ["glibc-static", "glibc-static-pie", "glibc-dynamic"];
    let (report, facts) = measured("report_system_aslr", &peers);
    assert_eq!(bases(&facts, Linked::Static, Place::Program), Some(1));
    assert_eq!(bases(&facts, Linked::Static, Place::Interpreter), None);
    // Of 28 bits 40 starts draw fewer different ones in no lifetime, and of 8 neither.
    for linked in [Linked::StaticPie, Linked::Dynamic] {
        assert!(
            bases(&facts, linked, Place::Program) >= Some(10),
            "{facts:?}"
        );
    }
    assert!(bases(&facts, Linked::Dynamic, Place::Interpreter) >= Some(10));

    let hello = facts.hello[0].found.measured().unwrap();
    let build = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report_system_aslr/build");
    let bytes = |peer: &str| fs::metadata(build.join(peer).join("hello")).unwrap().len();
    assert_eq!(hello.fixed_bytes, bytes("glibc-static"));
    assert_eq!(hello.dynamic_bytes, bytes("glibc-dynamic"));
    assert!(hello.with_libraries_bytes.unwrap() > hello.fixed_bytes);
    match &facts.hello[1].found {
        Found::NotMeasured(why) => assert!(why.contains("not among the peers"), "{why}"),
        other => panic!("{other:?}"),
    }

    // What is compared is there, and the same a second time.
    let figures = report.figures();
    let dynamic = figures.iter().find(|it| it.name == "dynamic programs");
    let surveyed = facts.surveyed.measured().unwrap();
    assert_eq!(
        dynamic.unwrap().low,
        surveyed.sharing.programs[&Kind::Dynamic] as f64
    );
    assert!(
        figures
            .iter()
            .all(|it| it.low == it.high && it.margin == 0.0)
    );
}

#[test]
fn without_permission_to_trace_the_rest_is_told_and_the_reason_named() {
    let facts = thread::spawn(|| {
        forbid::forbid(libc::SYS_ptrace);
        measured("report_system_denied", &["glibc-dynamic"]).1
    });
    let facts = facts.join().unwrap();
    assert!(facts.surveyed.measured().is_some(), "{facts:?}");
    let [fixed, pie, dynamic] = &facts.started[..] else {
        panic!("{facts:?}")
    };
    for (started, says) in [
        (fixed, "may not trace"),
        (pie, "not among the peers"),
        (dynamic, "may not trace"),
    ] {
        match &started.found {
            Found::NotMeasured(why) => assert!(why.contains(says), "{why}"),
            other => panic!("{other:?}"),
        }
    }
    let text = says(facts);
    assert!(
        text.contains("Whether static linking prevents ASLR could not be measured: may not trace"),
        "{text}"
    );
}
