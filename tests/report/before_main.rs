//! From execve to main: who makes each call is exact, and what is said follows the facts.

use crate::common;
use crate::forbid;
use crate::plan::quick_with;

use std::path::Path;
use std::sync::OnceLock;
use std::thread;

use barest::baseline::Figures;
use barest::report::before_main::BeforeMain;
use barest::report::{Facts, Found, Name, Plan, Report, report};
use barest::view::report::shown;
use common::folder;
use serde_json::{Value, json};

/// Peers that every machine that may pass has; and one that none has.
const PEERS: &str = r#"
[[peer]]
id = "gas"
name = "assembler"
source = "{program}.s"
programs = ["hello"]
build = ["as {source} -o {object}", "ld -s -t {object} -o {output}"]
linkage = "static"
libc = "none"
needs = []

[[peer]]
id = "musl-static"
name = "musl, static"
source = "{program}.c"
programs = ["hello"]
build = ["musl-gcc -Os -static -s -Wl,-t {source} -o {output}"]
linkage = "static"
libc = "musl"
needs = []

[[peer]]
id = "glibc-static"
name = "glibc, static"
source = "{program}.c"
programs = ["hello", "hello_puts"]
build = ["gcc -Os -static -s -Wl,-t {source} -o {output}"]
linkage = "static"
libc = "glibc"
needs = []

[[peer]]
id = "glibc-dynamic"
name = "glibc, dynamic"
source = "{program}.c"
programs = ["hello", "hello_puts"]
build = ["gcc -Os -fPIE -pie -s -Wl,-t {source} -o {output}"]
linkage = "dynamic"
pie = true
interpreter = "/lib64/ld-linux-x86-64.so.2"
needed = "libc.so.6"
libc = "glibc"
needs = []

[[peer]]
id = "rust-dynamic"
name = "Rust std, dynamic"
source = "{program}.rs"
programs = ["hello"]
build = [
  """rustc --edition 2024 -C opt-level=z -C panic=abort -C strip=symbols
  -C link-arg=-Wl,-t -W linker-messages {source} -o {output}""",
]
linkage = "dynamic"
pie = true
interpreter = "/lib64/ld-linux-x86-64.so.2"
needed = "libc.so.6"
libc = "glibc"
needs = []

[[peer]]
id = "none"
name = "a runtime of nowhere"
source = "{program}.c"
programs = ["hello"]
build = ["no-such-compiler {source} -o {output}"]
linkage = "static"
libc = "musl"
needs = [{ tool = "no-such-compiler", package = "nowhere" }]
"#;

fn plan(folder: &Path, peers: &str) -> Plan {
    let sources = ["hello.s", "hello.c", "hello_puts.c", "hello.rs"];
    quick_with(Name::BeforeMain, folder, &sources, peers)
}

fn facts_of(report: &Report) -> Value {
    let Found::Measured(facts) = &report.sections[0].found else {
        panic!("{:?}", report.sections[0].found);
    };
    match &**facts {
        Facts::BeforeMain(facts) => serde_json::to_value(facts).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// Measured once.
fn measured() -> &'static Report {
    static REPORT: OnceLock<Report> = OnceLock::new();
    REPORT.get_or_init(|| {
        let folder = folder("report_before_main");
        report(&plan(&folder, PEERS), &|_| {}).unwrap()
    })
}

/// The facts as JSON.
fn facts() -> &'static Value {
    static FACTS: OnceLock<Value> = OnceLock::new();
    FACTS.get_or_init(|| facts_of(measured()))
}

fn parsed(facts: &Value) -> BeforeMain {
    serde_json::from_value(facts.clone()).unwrap()
}

fn says(facts: &Value) -> String {
    let shown = shown(&Facts::BeforeMain(parsed(facts)));
    assert!((1..=5).contains(&shown.says.len()), "{:?}", shown.says);
    [shown.says, shown.more].concat().join(" ")
}

fn find<'a>(list: &'a Value, name: &str) -> &'a Value {
    let mut list = list.as_array().unwrap().iter();
    let one = list.find(|it| it["name"] == name);
    one.unwrap_or_else(|| panic!("no {name}"))
}

fn calls(name: &str) -> Vec<(&'static str, &'static str)> {
    let traced = &find(&facts()["runtimes"], name)["found"]["measured"];
    let calls = traced["calls"].as_array().unwrap().iter();
    let text = |call: &'static Value, field: &str| call[field].as_str().unwrap();
    calls
        .map(|call| (text(call, "name"), text(call, "on_behalf_of")))
        .collect()
}

fn count(name: &str, party: &str) -> usize {
    let calls = calls(name);
    calls.iter().filter(|(_, of)| *of == party).count()
}

#[test]
fn ours_and_the_assemblers_make_three_calls_and_all_but_the_execve_are_their_own() {
    for name in ["barest", "assembler"] {
        let exit = if name == "barest" {
            "exit_group"
        } else {
            calls(name)[2].0
        };
        let expected = [
            ("execve", "kernel"),
            ("write", "program"),
            (exit, "program"),
        ];
        assert_eq!(calls(name), expected, "{name}");
    }
    assert_eq!(facts()["runtimes"][0]["name"], "barest");
}

#[test]
fn a_dynamic_program_is_loaded_first_and_a_static_one_of_c_is_libcs_but_for_main() {
    assert!(count("glibc, dynamic", "loader") > 10);
    assert_eq!(count("glibc, static", "loader"), 0);
    for name in ["musl, static", "glibc, static", "glibc, dynamic"] {
        assert_eq!(count(name, "program"), 1, "{name}");
        assert_eq!(count(name, "kernel"), 1, "{name}");
        assert_eq!(count(name, "unknown"), 0, "{name}");
        let own: Vec<_> = calls(name)
            .into_iter()
            .filter(|(_, of)| *of == "program")
            .collect();
        assert_eq!(own, [("write", "program")], "{name}");
    }
    assert!(count("Rust std, dynamic", "runtime") > 5);
}

#[test]
fn puts_asks_more_than_write_and_prints_after_main() {
    let (plain, puts) = (calls("glibc, dynamic"), calls("glibc, dynamic (puts)"));
    assert!(puts.len() > plain.len());
    let write = puts.iter().find(|(name, _)| *name == "write").unwrap();
    assert_eq!(write.1, "libc");
    let said = says(facts());
    assert!(
        said.contains("glibc, dynamic (puts) writes its line after main has returned"),
        "{said}"
    );
}

#[test]
fn the_first_instruction_is_where_the_header_says_and_addresses_are_the_same_in_each_run() {
    let entry = |name: &str| &find(&facts()["prepared"], name)["found"]["measured"]["entry"];
    assert_eq!(entry("barest")["of"], "program");
    assert_eq!(entry("glibc, dynamic")["of"], "interpreter");
    for name in ["barest", "glibc, dynamic"] {
        assert_eq!(entry(name)["address_in_file"], entry(name)["header"]);
        assert!(entry(name)["header"].is_string(), "{name}");
    }
    let again = {
        let folder = folder("report_before_main_again");
        let plan = plan(&folder, "peer = []\n");
        facts_of(&report(&plan, &|_| {}).unwrap())
    };
    assert_eq!(
        find(&again["prepared"], "barest"),
        find(&facts()["prepared"], "barest")
    );
}

#[test]
fn the_parts_of_a_stack_follow_each_other_to_its_end() {
    for start in facts()["prepared"].as_array().unwrap() {
        let stack = start["found"]["measured"]["stack"].as_array().unwrap();
        let whats: Vec<_> = stack
            .iter()
            .map(|part| part["what"].as_str().unwrap())
            .collect();
        assert_eq!(whats[..4], ["argc", "argv", "envp", "auxv"], "{whats:?}");
        assert_eq!(whats.last(), Some(&"end-marker"));
        let number = |text: &Value| {
            u64::from_str_radix(text.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
        };
        for pair in stack.windows(2) {
            let end = number(&pair[0]["at"]) + pair[0]["bytes"].as_u64().unwrap();
            assert_eq!(end, number(&pair[1]["at"]), "{pair:?}");
        }
        assert_eq!(stack[0]["holds"], json!(["1"]));
        assert_eq!(stack[0]["bytes"], 8);
    }
}

#[test]
fn facts_survive_json_and_the_view_shows_all_calls_and_names_what_is_missing() {
    let facts = facts();
    let before = parsed(facts);
    assert_eq!(&serde_json::to_value(&before).unwrap(), facts);
    let shown = shown(&Facts::BeforeMain(before));
    let titles: Vec<_> = shown.figures.iter().map(|figure| figure.title()).collect();
    assert_eq!(titles.len(), 3, "{titles:?}");
    for figure in &shown.figures {
        let said = figure.description();
        assert!(said.contains(|c: char| c.is_ascii_digit()), "{said}");
    }
    let page = barest::view::markdown::render(&shown.tables);
    assert!(
        page.contains("a runtime of nowhere: not installed: nowhere"),
        "{page}"
    );
    let rows = page.matches("| set_tid_address |").count();
    assert_eq!(rows, 6, "musl, glibc and Rust: {page}");
}

#[test]
fn what_cannot_be_told_is_said() {
    let page = |facts: &Value| {
        let shown = shown(&Facts::BeforeMain(parsed(facts)));
        barest::view::markdown::render(&shown.tables)
    };
    assert!(!page(facts()).contains("cannot be told"));
    let mut facts = facts().clone();
    let ours = &mut facts["runtimes"][0]["found"]["measured"];
    ours["calls"][1]["on_behalf_of"] = json!("unknown");
    ours["told_by"] = json!({ "files": "no compiler" });
    let page = page(&facts);
    assert!(page.contains("cannot be told: 1 of barest."), "{page}");
    assert!(
        page.contains("told by the files alone: no compiler"),
        "{page}"
    );
}

#[test]
fn what_is_compared_are_exact_calls_for_each_party() {
    let figures = measured().figures();
    let ours = figures
        .iter()
        .filter(|figure| figure.subject == "hello, barest");
    let ours: Vec<_> = ours
        .map(|it| (it.name.as_str(), it.low, it.high, it.margin))
        .collect();
    let exact = |name, calls: f64| (name, calls, calls, 0.0);
    assert_eq!(
        ours,
        [
            exact("calls, on behalf of: kernel", 1.0),
            exact("calls, on behalf of: program", 2.0),
            exact("calls before the write", 0.0),
        ]
    );
}

#[test]
fn other_data_make_other_sentences() {
    let change = |change: &dyn Fn(&mut Value)| {
        let mut facts = facts().clone();
        change(&mut facts);
        says(&facts)
    };
    fn runtime<'a>(facts: &'a mut Value, name: &str) -> &'a mut Value {
        let mut list = facts["runtimes"].as_array_mut().unwrap().iter_mut();
        list.find(|it| it["name"] == name).unwrap()
    }
    fn all(facts: &mut Value, change: impl Fn(&mut Value)) {
        for runtime in facts["runtimes"].as_array_mut().unwrap() {
            if let Some(traced) = runtime["found"].get_mut("measured") {
                let calls = traced["calls"].as_array_mut().unwrap().iter_mut();
                calls.for_each(&change);
            }
        }
    }
    let said = says(facts());
    assert!(
        said.contains("barest and assembler make no other call, the fewest of 8 programs"),
        "{said}"
    );
    assert!(said.contains("and Rust std, dynamic makes "), "{said}");
    assert!(said.contains("the order is the same"), "{said}");
    assert!(
        said.contains("In each program with a dynamic loader most of them"),
        "{said}"
    );
    assert!(
        said.contains("that of glibc, dynamic is not its own but its loader's"),
        "{said}"
    );
    assert!(said.contains("that of barest is its own, at 0x"), "{said}");
    assert!(said.contains("just as that file's header states"), "{said}");
    assert!(said.contains("no library and no heap"), "{said}");

    let ours_missing = change(&|facts| {
        runtime(facts, "barest")["found"] = json!({ "not-measured": "gone" });
    });
    assert!(
        ours_missing.contains("assembler makes no other call, the fewest of 7"),
        "{ours_missing}"
    );
    let more = change(&|facts| runtime(facts, "glibc, static (puts)")["in_the_text"] = json!(70));
    assert!(
        more.contains("70 for glibc, static (puts), here "),
        "{more}"
    );
    assert!(more.contains("the order is another here"), "{more}");
    let as_there = change(&|facts| {
        runtime(facts, "glibc, static (puts)")["in_the_text"] = json!(15);
        runtime(facts, "glibc, static (puts)")["found"]["measured"]["write_at"] = json!(16);
    });
    assert!(
        as_there.contains("15 for glibc, static (puts), as here"),
        "{as_there}"
    );
    let unknown = change(&|facts| all(facts, |call| call["on_behalf_of"] = json!("unknown")));
    assert!(!unknown.contains("dynamic loader"), "{unknown}");
    let in_libc = change(&|facts| {
        all(facts, |call| {
            if call["on_behalf_of"] == "loader" && call["name"] != "brk" {
                call["on_behalf_of"] = json!("libc");
            }
        });
    });
    assert!(
        in_libc.contains("In no program with a dynamic loader are most"),
        "{in_libc}"
    );
    let in_main = change(&|facts| all(facts, |call| call["phase"] = json!("main")));
    assert!(
        in_main.contains("before main has returned, not as the text found"),
        "{in_main}"
    );
    let moved = change(&|facts| {
        facts["prepared"][1]["found"]["measured"]["entry"]["header"] = json!("0x123");
    });
    assert!(moved.contains("where its header states 0x123"), "{moved}");
    let blind = change(&|facts| {
        facts["prepared"][0]["found"] = json!({ "not-measured": "not allowed" });
    });
    assert!(
        blind.contains("prepared for glibc, dynamic could not be looked at: not allowed"),
        "{blind}"
    );
    assert!(blind.contains("the kernel has given barest "), "{blind}");
    assert!(
        blind.contains("1 from its file and none from a loader's"),
        "{blind}"
    );
    let none = change(&|facts| {
        facts["runtimes"] = json!([]);
        facts["prepared"] = json!([]);
    });
    assert_eq!(none, "No hello could be traced here.");
}

#[test]
fn without_permission_to_trace_the_section_says_why() {
    let folder = folder("report_before_main_denied");
    let plan = plan(&folder, "peer = []\n");
    let report = thread::spawn(move || {
        forbid::forbid(libc::SYS_ptrace);
        report(&plan, &|_| {}).unwrap()
    });
    match &report.join().unwrap().sections[0].found {
        Found::NotMeasured(why) => {
            assert!(why.starts_with("hello: may not trace: "), "{why}");
            assert_eq!(why.lines().count(), 1, "{why}");
        }
        Found::Measured(facts) => panic!("{facts:?}"),
    }
}
