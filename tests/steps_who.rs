//! `steps --who` on programs whose functions are known, and against objdump and readelf.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use assert_cmd::cargo::cargo_bin_cmd;
use barest::Subject;
use barest::exit::Exit;
use barest::image::image;
use barest::peers::Availability;
use barest::steps::{
    ByFunction, FileSteps, FunctionSteps, Image, Phases, Steps, TrapKind, Until, steps,
    steps_by_function,
};
use serde_json::Value;

mod common;
use common::{folder, program, subject, succeed};

/// The `hello` of peers that no machine may lack: C with a shared and with a static library, Rust.
static PEERS: LazyLock<BTreeMap<String, PathBuf>> = LazyLock::new(|| {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/peers.toml");
    let peers = barest::peers::load(&data).unwrap();
    let into = common::target().join("peers");
    let wanted = ["glibc-dynamic", "glibc-static", "rust-dynamic"];
    let peers = peers.iter().filter(|peer| wanted.contains(&&*peer.id));
    let hello = |peer| match barest::peers::prepare(peer, &into).unwrap() {
        Availability::Ready { programs } => {
            let mut programs = programs.into_iter();
            programs.find(|built| built.program == "hello").unwrap()
        }
        missing => panic!("{}: {missing}", peer.name),
    };
    peers
        .map(|peer| (peer.id.clone(), hello(peer).path))
        .collect()
});

/// A source of tests/, compiled by a command, in a folder of this test's own.
fn compile(test: &str, command: &[&str], source: &str) -> PathBuf {
    let path = folder(&format!("steps-who-{test}")).join("program");
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(source);
    let mut compiler = Command::new(command[0]);
    succeed(
        compiler
            .args(&command[1..])
            .arg("-o")
            .arg(&path)
            .arg(source),
    );
    path
}

fn subject_of(program: &Path) -> Subject {
    Subject::new(program).timeout(Duration::from_secs(120))
}

fn run(program: &Path) -> Steps {
    steps_by_function(&subject_of(program), Until::End).unwrap_or_else(|error| panic!("{error}"))
}

fn found(image: &Image) -> &ByFunction {
    image.by_function.as_ref().unwrap()
}

/// The numbers of some functions or files together: instructions, CPUID, RDTSC, XGETBV.
fn sums(functions: &[FunctionSteps]) -> [u64; 4] {
    functions.iter().fold([0; 4], |sum, function| {
        let steps = function.steps;
        let more = [steps.instructions, steps.cpuid, steps.rdtsc, steps.xgetbv];
        [0, 1, 2, 3].map(|at| sum[at] + more[at])
    })
}

/// Whether all sums are those of the same run by file, and of another run without functions.
fn assert_sums(seen: &Steps) {
    let plain = steps(&seen.subject, seen.until).unwrap();
    assert_eq!(plain.total, seen.total);
    assert_eq!(plain.files, seen.files);
    assert_eq!(plain.images.len(), seen.images.len());
    for (plain, image) in plain.images.iter().zip(&seen.images) {
        assert!(plain.by_function.is_none());
        assert_eq!(plain.total, image.total);
        assert_eq!(plain.files, image.files);

        let found = found(image);
        let total = image.total;
        assert_eq!(
            sums(&found.functions),
            [total.instructions, total.cpuid, total.rdtsc, total.xgetbv]
        );
        let key = |file: &FileSteps| (file.file.clone(), file.steps.instructions, file.steps.cpuid);
        let by_file: BTreeSet<_> = found
            .files()
            .iter()
            .map(|file| (file.file.clone(), file.steps.instructions, file.steps.cpuid))
            .collect();
        assert_eq!(by_file, image.files.iter().map(key).collect());

        let times = |kind| {
            let traps = found.traps.iter().filter(|trap| trap.kind == kind);
            traps.map(|trap| trap.times).sum::<u64>()
        };
        let traps = [TrapKind::Cpuid, TrapKind::Rdtsc, TrapKind::Xgetbv].map(times);
        assert_eq!(traps, [total.cpuid, total.rdtsc, total.xgetbv]);

        for function in &found.functions {
            let all = function.phases.map(|phases| together(&phases));
            assert_eq!(all.is_some(), found.phases.is_some());
            assert_eq!(
                all.unwrap_or(function.steps.instructions),
                function.steps.instructions
            );
        }
        if let Some(phases) = found.phases {
            assert_eq!(together(&phases), total.instructions);
        }
    }
}

fn together(phases: &Phases) -> u64 {
    phases.before_main + phases.main + phases.after_main
}

/// What binutils say of a file.
struct Oracle {
    /// Where functions and labels are: name, beginning, size.
    symbols: Vec<(String, u64, u64)>,
    /// Where each instruction is that traps; filled when it is first asked for.
    traps: OnceCell<BTreeSet<(TrapKind, u64)>>,
    file: PathBuf,
}

impl Oracle {
    fn of(file: &Path) -> Self {
        let build_id = image(file).unwrap().build_id.unwrap_or_default();
        let mut symbols = symbols(file);
        if let Some((first, rest)) = build_id.split_at_checked(2) {
            let debug = format!("/usr/lib/debug/.build-id/{first}/{rest}.debug");
            if Path::new(&debug).exists() {
                symbols.extend(self::symbols(Path::new(&debug)));
            }
        }
        Oracle {
            symbols,
            traps: OnceCell::new(),
            file: file.to_owned(),
        }
    }

    fn traps(&self) -> &BTreeSet<(TrapKind, u64)> {
        let kind = |instruction: &str| match instruction {
            "cpuid" => Some(TrapKind::Cpuid),
            "rdtsc" | "rdtscp" => Some(TrapKind::Rdtsc),
            "xgetbv" => Some(TrapKind::Xgetbv),
            _ => None,
        };
        self.traps.get_or_init(|| {
            let mut objdump = Command::new("objdump");
            let code = succeed(objdump.args(["-d", "--no-show-raw-insn"]).arg(&self.file));
            let traps = code.lines().filter_map(|line| {
                let (address, instruction) = line.trim().split_once(":\t")?;
                let address = u64::from_str_radix(address, 16).unwrap();
                Some((kind(instruction.trim())?, address))
            });
            traps.collect()
        })
    }

    /// The names of the functions that hold an address.
    fn holding(&self, address: u64) -> Vec<&str> {
        let holds = |(_, start, size): &&(String, u64, u64)| {
            address
                .checked_sub(*start)
                .is_some_and(|within| within < *size)
        };
        let holding = self.symbols.iter().filter(holds);
        holding.map(|(name, ..)| name.as_str()).collect()
    }
}

/// The functions and labels that readelf lists, as the kit writes their names: without a version,
/// and without what glibc puts before its own.
fn symbols(file: &Path) -> Vec<(String, u64, u64)> {
    let text = succeed(Command::new("readelf").args(["-sW"]).arg(file));
    let symbol = |line: &str| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let [
            number,
            value,
            size,
            "FUNC" | "IFUNC" | "NOTYPE",
            _,
            _,
            section,
            name,
            ..,
        ] = fields[..]
        else {
            return None;
        };
        if !number.ends_with(':') || section == "UND" {
            return None;
        }
        let name = name.split('@').next().unwrap();
        let size = match size.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).unwrap(),
            None => size.parse().unwrap(),
        };
        let name = name.strip_prefix("__GI_").unwrap_or(name).to_owned();
        Some((name, u64::from_str_radix(value, 16).unwrap(), size))
    };
    text.lines().filter_map(symbol).collect()
}

/// Whether each instruction that traps is one where it is said to be, in the function that it is
/// said to be in, and whether each name of a function is one that the file has at that place.
fn assert_places(image: &Image) {
    let mut oracles: BTreeMap<&Path, Oracle> = BTreeMap::new();
    for trap in &found(image).traps {
        let path = trap.file.as_path();
        let oracle = oracles.entry(path).or_insert_with(|| Oracle::of(path));
        assert!(
            oracle.traps().contains(&(trap.kind, trap.address)),
            "{trap:?}"
        );
        let holding = oracle.holding(trap.address);
        match &trap.function {
            Some(name) => {
                assert!(holding.contains(&name.as_str()), "{trap:?}: {holding:?}");
                let begins = trap.address - trap.offset.unwrap();
                let mut symbols = oracle.symbols.iter();
                assert!(symbols.any(|(other, start, _)| other == name && *start == begins));
            }
            None => assert!(holding.is_empty(), "{trap:?}: {holding:?}"),
        }
    }
    for function in &found(image).functions {
        let (Some(name), Some(address)) = (&function.function, function.address) else {
            assert_eq!((&function.function, function.address), (&None, None));
            continue;
        };
        let path = function.file.as_path();
        if !path.is_absolute() {
            continue;
        }
        let oracle = oracles.entry(path).or_insert_with(|| Oracle::of(path));
        let mut there = oracle
            .symbols
            .iter()
            .filter(|(_, start, _)| *start == address);
        // Names of Rust are written in another way here and there.
        assert!(
            there.any(|(other, ..)| other == name
                || other.starts_with("_Z")
                || other.starts_with("_R")),
            "{function:?}"
        );
    }
}

/// The numbers of a function of one image, by its name.
fn function<'a>(image: &'a Image, name: &str) -> &'a FunctionSteps {
    let functions = &found(image).functions;
    let mut named = functions
        .iter()
        .filter(|function| function.function.as_deref() == Some(name));
    let function = named.next().unwrap_or_else(|| panic!("no {name}"));
    assert!(named.next().is_none(), "{name} is there twice");
    function
}

#[test]
fn what_is_before_in_and_after_main_is_counted_exactly() {
    for flags in [&["gcc"][..], &["gcc", "-static", "-no-pie"]] {
        let path = compile("main", flags, "subjects/main.s");
        let seen = run(&path);
        assert_eq!(seen.exit, Exit::Exited(0));
        let [parent, child] = &seen.images[..] else {
            panic!("{:?}", seen.images);
        };
        let phases = |name| {
            let Phases {
                before_main,
                main,
                after_main,
                ..
            } = function(parent, name).phases.unwrap();
            [before_main, main, after_main]
        };
        assert_eq!(phases("early"), [2, 0, 0]);
        assert_eq!(phases("main"), [0, 13, 0]);
        assert_eq!(phases("callee"), [0, 208, 0]);
        assert_eq!(phases("late"), [0, 0, 4]);
        let all = found(parent).phases.unwrap();
        assert_eq!(all.main, 13 + 208);
        assert!(all.before_main > 100 && all.after_main > 10, "{all:?}");

        let steps = function(parent, "callee").steps;
        assert_eq!((steps.cpuid, steps.rdtsc, steps.xgetbv), (1, 2, 0));
        let mut traps = found(parent)
            .traps
            .iter()
            .filter(|trap| trap.function.as_deref() == Some("callee"))
            .map(|trap| (trap.kind, trap.offset.unwrap(), trap.times))
            .collect::<Vec<_>>();
        traps.sort();
        // push of one byte, xor of two, cpuid of two, rdtsc of two.
        assert_eq!(
            traps,
            [
                (TrapKind::Cpuid, 3, 1),
                (TrapKind::Rdtsc, 5, 1),
                (TrapKind::Rdtsc, 7, 1)
            ]
        );

        // It begins in main, and never returns from it.
        let all = found(child).phases.unwrap();
        assert_eq!((all.before_main, all.main, all.after_main), (0, 5, 0));
        assert_eq!(function(child, "main").steps.instructions, 5);
        assert_eq!(found(child).functions.len(), 1);

        assert!(seen.notes.is_empty(), "{:?}", seen.notes);
        assert_sums(&seen);
        assert_places(parent);
    }
}

/// A program without a C library.
const BARE: [&str; 4] = ["gcc", "-nostdlib", "-static", "-no-pie"];

#[test]
fn main_is_over_when_it_returns_to_where_it_was_called_from() {
    let seen = run(&compile("again", &BARE, "subjects/main_again.s"));
    assert_eq!(seen.exit, Exit::Exited(0));
    let all = found(&seen.images[0]).phases.unwrap();
    assert_eq!((all.before_main, all.main, all.after_main), (2, 10, 5));
    let outer = function(&seen.images[0], "outer").phases.unwrap();
    assert_eq!((outer.before_main, outer.main, outer.after_main), (1, 3, 2));
    assert_sums(&seen);
}

#[test]
fn what_no_step_stops_behind_is_counted_by_function_too() {
    let seen = run(&compile("known", &BARE, "subjects/known.s"));
    assert_eq!(seen.total.instructions, 225);
    assert_sums(&seen);
    assert_places(&seen.images[0]);
}

#[test]
fn without_symbols_there_are_no_names_and_no_main_and_the_sums_are_the_same() {
    let path = compile("stripped", &["gcc", "-s", "-static"], "subjects/main.s");
    let seen = run(&path);
    for image in &seen.images {
        assert_eq!(found(image).phases, None);
        let names: Vec<_> = found(image)
            .functions
            .iter()
            .map(|one| (&one.file, &one.function, one.address, one.phases))
            .collect();
        assert_eq!(names, [(&path, &None, None, None)]);
    }
    let note = format!(
        "no main found in {}: it has none, or is linked with -s; so before and after it are not \
         told apart",
        path.display()
    );
    assert_eq!(seen.notes, [note]);
    assert_sums(&seen);
    let output = cargo_bin_cmd!("barest")
        .args(["steps", "--who", "--once", "--"])
        .arg(&path)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let unnamed = text.lines().filter(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        matches!(words[..], [_, "?", "program"])
    });
    assert_eq!(unnamed.count(), 2, "{text}");
    assert!(!text.contains("before main "), "{text}");
}

#[test]
fn the_peers_have_the_sums_that_they_have_without_functions_and_no_wrong_name() {
    assert_eq!(PEERS.len(), 3);
    for path in PEERS.values() {
        let seen = run(path);
        assert_sums(&seen);
        let [image] = &seen.images[..] else {
            panic!("{:?}", seen.images);
        };
        assert!(image.total.cpuid > 0);
        assert_places(image);
        // They are stripped.
        assert_eq!(found(image).phases, None);
        assert_eq!(seen.notes.len(), 1, "{:?}", seen.notes);
    }
}

#[test]
fn the_functions_of_glibc_that_execute_cpuid_are_named() {
    let dynamic = run(&PEERS["glibc-dynamic"]);
    let open = compile("static", &["gcc", "-Os", "-static"], "peers/hello.c");
    let open = run(&open);
    for (seen, cpu_features) in [
        // The loader's own function; where it is linked in, it is a part of its caller.
        (&dynamic, "init_cpu_features.constprop.0"),
        (&open, "__libc_start_main"),
    ] {
        let image = &seen.images[0];
        assert_places(image);
        let named = found(image)
            .trapping()
            .into_iter()
            .filter(|function| function.steps.cpuid > 0)
            .map(|function| function.function.as_deref())
            .collect::<Option<BTreeSet<_>>>();
        // In a static program the names are its own.
        let debug_files = Path::new("/usr/lib/debug/.build-id").is_dir();
        let glibc = succeed(Command::new("getconf").arg("GNU_LIBC_VERSION"));
        if glibc.trim() != "glibc 2.36" || !debug_files {
            // Past the test runner, which keeps what a passed test prints.
            let line = format!("not compared: the names of glibc 2.36: here is {glibc}");
            std::io::stderr().write_all(line.as_bytes()).unwrap();
            continue;
        }
        let named = named.expect("each has a name");
        for name in [cpu_features, "update_active.constprop.0"] {
            assert!(named.contains(name), "{named:?}");
        }
        // By the vendor of the processor: how large its caches are.
        let caches = [
            "handle_amd",
            "intel_check_word.constprop.0",
            "handle_zhaoxin",
        ];
        assert!(caches.iter().any(|name| named.contains(name)), "{named:?}");
    }
}

#[test]
fn of_rust_main_is_the_one_that_its_author_wrote() {
    let path = compile(
        "rust",
        &["rustc", "--edition=2024", "-O", "--crate-name=hello"],
        "peers/hello.rs",
    );
    let seen = run(&path);
    assert_sums(&seen);
    let image = &seen.images[0];
    assert_places(image);
    let all = found(image).phases.unwrap();
    assert!(
        all.main > 10 && all.before_main > 100 * all.main && all.after_main > 100,
        "{all:?}"
    );
    let phases = function(image, "hello::main").phases.unwrap();
    assert!(phases.main > 0);
    assert_eq!((phases.before_main, phases.after_main), (0, 0));
    let runtime = function(image, "std::rt::lang_start_internal");
    let phases = runtime.phases.unwrap();
    assert!(
        phases.before_main > 0 && phases.after_main > 0,
        "{phases:?}"
    );
}

#[test]
fn a_program_of_three_instructions_has_them_all_unnamed() {
    let seen = steps_by_function(&subject("true"), Until::End).unwrap();
    assert_sums(&seen);
    let [one] = &found(&seen.images[0]).functions[..] else {
        panic!("{:?}", seen.images);
    };
    assert_eq!((&one.file, &one.function), (&program("true"), &None));
    assert_eq!(one.steps.instructions, 3);
    assert!(found(&seen.images[0]).traps.is_empty());
}

#[test]
fn what_is_executed_by_another_is_kept_apart() {
    let path = compile("exec", &["gcc"], "subjects/main.s");
    let subject = subject("exec").arg(&path);
    let seen = steps_by_function(&subject, Until::End).unwrap();
    assert_sums(&seen);
    let [launcher, target, child] = &seen.images[..] else {
        panic!("{:?}", seen.images);
    };
    assert_eq!(launcher.program, program("exec"));
    assert_eq!(found(launcher).phases, None);
    assert_eq!(found(target).phases.unwrap().main, 13 + 208);
    assert_eq!(found(child).phases.unwrap().main, 5);
}

#[test]
fn where_one_file_was_another_is_told_from_it() {
    let libraries = [5, 7].map(|work| {
        let define = format!("-Wa,--defsym,WORK={work}");
        let command = ["gcc", "-shared", "-nostdlib", &define];
        compile(&format!("reload-{work}"), &command, "subjects/reloaded.s")
    });
    let path = compile("reload", &["gcc", "-O1"], "subjects/reload.c");
    let subject = subject_of(&path).args(&libraries);
    let seen = steps_by_function(&subject, Until::End).unwrap();
    assert_eq!(seen.exit, Exit::Exited(0), "2: not at the same place");
    assert_sums(&seen);
    for (library, work) in libraries.iter().zip([5, 7]) {
        let functions = &found(&seen.images[0]).functions;
        let inside: Vec<_> = functions
            .iter()
            .filter(|function| function.file == *library)
            .map(|function| (function.function.as_deref(), function.steps.instructions))
            .collect();
        assert_eq!(inside, [(Some("work"), work)]);
    }
}

#[test]
fn up_to_the_first_write_there_is_nothing_after_main() {
    let path = compile("write", &["gcc", "-O1"], "peers/hello.c");
    let seen = steps_by_function(&subject_of(&path), Until::FirstWrite).unwrap();
    assert!(seen.reached);
    assert_sums(&seen);
    let all = found(&seen.images[0]).phases.unwrap();
    assert!(all.main > 0 && all.before_main > 0, "{all:?}");
    assert_eq!(all.after_main, 0);
}

#[test]
fn json_has_the_functions_and_null_where_they_are_not_asked_for() {
    let path = compile("json", &["gcc"], "subjects/main.s");
    let json = |who: &[&str]| -> Value {
        let mut command = cargo_bin_cmd!("barest");
        command.args(["steps", "--once", "--format", "json"]);
        let output = command.args(who).arg("--").arg(&path).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let with = json(&["--who"]);
    assert_eq!(with["schema"], "barest.steps/1");
    let image = &with["facts"][0]["images"][0];
    let found = &image["by_function"];
    assert_eq!(found["phases"]["main"], 221);
    let functions = found["functions"].as_array().unwrap();
    let sum: u64 = functions
        .iter()
        .map(|function| function["instructions"].as_u64().unwrap())
        .sum();
    assert_eq!(sum, image["instructions"].as_u64().unwrap());
    let callee = functions
        .iter()
        .find(|function| function["function"] == "callee")
        .unwrap();
    assert_eq!(callee["file"], path.to_str().unwrap());
    assert!(callee["address"].as_str().unwrap().starts_with("0x"));
    assert_eq!(callee["phases"]["main"], 208);
    let mut traps = found["traps"].as_array().unwrap().iter();
    let cpuid = traps
        .find(|trap| trap["function"] == "callee" && trap["kind"] == "cpuid")
        .unwrap();
    assert_eq!((&cpuid["offset"], &cpuid["times"]), (&3.into(), &1.into()));

    let without = json(&[]);
    assert!(without["facts"][0]["images"][0]["by_function"].is_null());
}

#[test]
fn the_command_shows_twenty_functions_and_all_that_trap() {
    let path = compile("command", &["gcc"], "subjects/main.s");
    let seen = run(&path);
    let parent = found(&seen.images[0]);
    let output = cargo_bin_cmd!("barest")
        .args(["steps", "--who", "--once", "--"])
        .arg(&path)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let table = |columns: &str, text: &str| -> Vec<String> {
        let after = text
            .split(columns)
            .nth(1)
            .unwrap_or_else(|| panic!("{text}"));
        let rows = after.lines().skip(2).take_while(|line| !line.is_empty());
        rows.map(str::to_owned).collect()
    };
    let (first, second) = text
        .split_once("process 1: ")
        .unwrap_or_else(|| panic!("{text}"));
    assert!(second.contains("main"), "{second}");
    let mut functions = table("after main  function", first);
    let last = functions.pop().unwrap();
    assert_eq!(functions.len(), 20, "{text}");
    let others = &parent.functions[20..];
    let sum = |of: fn(&FunctionSteps) -> u64| others.iter().map(of).sum::<u64>().to_string();
    let expected = [
        sum(|function| function.steps.instructions),
        sum(|function| function.phases.unwrap().before_main),
        sum(|function| function.phases.unwrap().main),
        sum(|function| function.phases.unwrap().after_main),
        format!("{} other functions", others.len()),
    ];
    let words: Vec<_> = last.split_whitespace().collect();
    assert_eq!(words.join(" "), expected.join(" "), "{text}");
    let traps = table("xgetbv  trapping in", first);
    assert_eq!(traps.len(), parent.trapping().len(), "{text}");
}
