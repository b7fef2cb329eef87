//! `trace --who` against `strace -k`, against programs that are made for what stacks get wrong, and
//! against tables that are known.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use barest::assertions::{calls_made_by, calls_on_behalf_of};
use barest::image::{Image, image};
use barest::peers::Availability;
use barest::trace::Trace;
use barest::view::who::{functions, party};
use barest::who::{Frame, Made, Party, Phase, Sureness, Until, Who, who, who_until};
use barest::{Stream, Subject};
use predicates::prelude::*;

mod subjects;
use subjects::{scratch, untraced};

/// A frame as `strace -k` prints it: the file, and the place in it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    file: String,
    offset: u64,
}

/// A call as `strace -k` prints it.
#[derive(Debug)]
struct Line {
    name: String,
    places: Vec<Place>,
    /// Whether it says itself that it lost its way: what follows is not looked at.
    lost: bool,
}

/// Runs a subject under `strace -k`, as the kit would run it.
fn strace(subject: &Subject) -> Vec<Line> {
    let log = scratch("strace");
    let mut strace = Command::new("strace");
    strace.args(["-k", "-o"]).arg(&log).arg("--");
    untraced(strace.arg(&subject.program), subject);
    let mut lines: Vec<Line> = Vec::new();
    for line in fs::read_to_string(log).unwrap().lines() {
        if let Some(frame) = line.strip_prefix(" > ") {
            let call = lines.last_mut().unwrap();
            let (before, address) = frame.rsplit_once(" [0x").unwrap();
            match before.split_once('(') {
                Some((file, _)) if !call.lost => call.places.push(Place {
                    file: file.to_owned(),
                    offset: u64::from_str_radix(address.trim_end_matches(']'), 16).unwrap(),
                }),
                _ => call.lost = true,
            }
        } else if let Some((name, _)) = line.split_once('(')
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        {
            lines.push(Line {
                name: name.to_owned(),
                places: Vec::new(),
                lost: false,
            });
        }
    }
    lines
}

/// Where frames are, as strace says it: by offsets in the file.
#[derive(Default)]
struct Offsets(BTreeMap<PathBuf, Option<Image>>);

impl Offsets {
    fn place(&mut self, frame: &Frame) -> Place {
        let known = self.0.entry(frame.file.to_path_buf());
        let image = known.or_insert_with(|| image(&frame.file).ok());
        let segments = image.iter().flat_map(|image| &image.segments);
        let offset = segments
            .filter(|segment| segment.kind == "LOAD" && segment.flags.execute)
            .find(|segment| {
                // The end as well: the last instruction can be a call.
                (segment.address..=segment.address + segment.memory_bytes).contains(&frame.address)
            })
            .map_or(0, |segment| segment.offset.wrapping_sub(segment.address));
        Place {
            file: frame.file.to_str().unwrap().to_owned(),
            offset: frame.address.wrapping_add(offset),
        }
    }

    fn places(&mut self, frames: &[Frame]) -> Vec<Place> {
        frames.iter().map(|frame| self.place(frame)).collect()
    }
}

/// How a stack of strace's differs from ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    /// Not at all.
    Same,
    /// strace's ends before ours.
    Shorter,
    /// Ours ends before strace's.
    Longer,
    /// They part on the way.
    Other,
}

fn difference(theirs: &[Place], ours: &[Place]) -> Difference {
    let common = theirs
        .iter()
        .zip(ours)
        .take_while(|(one, other)| one == other)
        .count();
    match (common == theirs.len(), common == ours.len()) {
        (true, true) => Difference::Same,
        (true, false) => Difference::Shorter,
        (false, true) => Difference::Longer,
        (false, false) => Difference::Other,
    }
}

fn run(subject: &Subject) -> Who {
    who(subject).unwrap_or_else(|error| panic!("{error}"))
}

/// Every program of every peer that this machine can build.
fn peers() -> Vec<(String, String, Subject)> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/peers.toml");
    let peers = barest::peers::load(&data).unwrap();
    let mut programs = Vec::new();
    for peer in barest::peers::prepare_all(&peers, &target.join("peers"), |_, _| {}) {
        // tests/peers.rs says which are not installed, and fails where one may not be missing.
        if let Availability::Ready { programs: built } = peer.unwrap() {
            for built in built {
                let args: &[&str] = match built.program.as_str() {
                    "exec" => &["/bin/true"],
                    _ => &[],
                };
                let subject = Subject::new(&built.path).args(args.iter().copied());
                programs.push((built.peer, built.program, subject));
            }
        }
    }
    programs
}

/// What `strace -k` does wrong, as far as the peers show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    /// It ends early. libunwind finds no entry where there is no `.eh_frame_hdr`, as in a static
    /// program of C, and none in the second segment that lld puts into one page of a file. Where there
    /// are no entries at all, as in musl, it does not look who calls the function.
    Early,
    /// It leaves out frames in the middle: without an entry it takes `rbp` for a frame pointer, which
    /// functions leave alone that do not use it.
    Skips,
    /// It adds the start of the vDSO: no code lies there, but its ELF header. The address is on the
    /// stack where the auxiliary vector is.
    Header,
}

/// The peers of which strace shows such a fault.
const FAULTS: [(Fault, &[&str]); 3] = [
    (
        Fault::Early,
        &[
            "glibc-static",
            "rust-dynamic",
            "rust-crt-static",
            "rust-no-main",
            "rust-musl",
            "musl-dynamic",
        ],
    ),
    (Fault::Skips, &["rust-crt-static"]),
    (Fault::Header, &["musl-dynamic"]),
];

/// How strace's stack is wrong, if it is. Panics when ours could be.
fn fault(line: &Line, ours: &[Place], made: &Made) -> Option<Fault> {
    let mut theirs = line.places.clone();
    let header = |place: &Place| place.file == "[vdso]" && place.offset == 0;
    let mut fault = None;
    if theirs.last().is_some_and(header) {
        theirs.pop();
        fault = Some(Fault::Header);
    }
    match difference(&theirs, ours) {
        Difference::Same => fault,
        Difference::Shorter => Some(Fault::Early),
        Difference::Other | Difference::Longer => {
            let mut rest = ours.iter();
            let within = theirs.iter().all(|place| rest.any(|other| other == place));
            assert!(
                within && made.complete && theirs.len() < ours.len(),
                "{line:x?}\n{ours:x?}"
            );
            Some(Fault::Skips)
        }
    }
}

#[test]
fn stacks_equal_strace_on_every_peer_but_for_its_known_faults() {
    let mut compared = 0;
    let mut seen = BTreeMap::<Fault, BTreeSet<String>>::new();
    for (peer, name, subject) in peers() {
        let (theirs, ours) = (strace(&subject), run(&subject));
        let mut offsets = Offsets::default();
        assert_eq!(theirs.len(), ours.made.len(), "{peer}, {name}");
        for (line, (call, made)) in theirs.iter().zip(ours.calls().iter()) {
            assert_eq!(line.name, call.label(), "{peer}, {name}");
            let places = offsets.places(&made.stack);
            // The instruction that makes the call is the same to the byte.
            assert_eq!(
                line.places.first(),
                places.first(),
                "{peer}, {name}: {line:x?}"
            );
            assert_eq!(
                made.made_by,
                made.stack.first().map(|frame| frame.file.clone())
            );
            let fault = fault(line, &places, made);
            if let Some(fault) = fault {
                seen.entry(fault).or_default().insert(peer.clone());
            }
            compared += 1;
        }
    }
    assert!(compared > 500, "{compared} calls");
    for (fault, peers) in seen {
        let (_, known) = FAULTS.iter().find(|(known, _)| *known == fault).unwrap();
        for peer in peers {
            assert!(
                known.contains(&peer.as_str()),
                "{fault:?}: {peer} is not known for it"
            );
        }
    }
}

/// A source of tests/, compiled by a command.
fn compile(command: &[&str], source: &str) -> PathBuf {
    compile_to(scratch("program"), command, source)
}

fn compile_to(program: PathBuf, command: &[&str], source: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(source);
    let output = Command::new(command[0])
        .args(&command[1..])
        .arg("-o")
        .arg(&program)
        .arg(&source)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    program
}

/// The functions on the stack of the only call of a name.
fn stack_of<'a>(who: &'a Who, name: &str) -> (&'a Made, Vec<&'a str>) {
    let chosen = who.calls().named(name);
    let calls: Vec<_> = chosen.iter().collect();
    let [(_, made)] = calls[..] else {
        panic!("{} calls of {name}", calls.len())
    };
    let names = made.functions().map(|name| name.unwrap_or("?"));
    (made, names.collect())
}

fn stacks(which: &str, flags: &[&str]) -> Who {
    let command = [&["gcc", "-O2", "-fno-optimize-sibling-calls"], flags].concat();
    run(&Subject::new(compile(&command, "subjects/stacks.c")).arg(which))
}

/// Both ways of linking.
const LINKED: [&[&str]; 2] = [&[], &["-static"]];

#[test]
fn a_call_within_the_vdso_is_made_by_it_for_the_program() {
    for flags in LINKED {
        let seen = stacks("vdso", flags);
        let (made, names) = stack_of(&seen, "clock_gettime");
        assert_eq!(
            made.made_by.as_deref(),
            Some(Path::new("[vdso]")),
            "{names:?}"
        );
        assert_eq!(made.on_behalf_of, Party::Program);
        assert!(made.complete && names.contains(&"main"), "{names:?}");
        assert!(seen.made_by("vdso").len() == 1);
    }
}

#[test]
fn a_stack_goes_on_from_a_handler_to_what_it_interrupted() {
    for which in ["handler", "alternate"] {
        for flags in LINKED {
            let seen = stacks(which, flags);
            let (made, names) = stack_of(&seen, "getppid");
            assert!(made.complete, "{names:?}");
            let place = |name| names.iter().position(|one| *one == name);
            assert_eq!(names[..2], ["getppid", "handler"]);
            // Where the handler returns to. In a library only its debug file has that name.
            assert!(
                names[2] == "__restore_rt" || (names[2] == "?" && flags.is_empty()),
                "{names:?}"
            );
            let (raised, main) = (place("raise"), place("main"));
            assert!(raised.is_some() && raised < main, "{names:?}");
            let (made, names) = stack_of(&seen, "rt_sigreturn");
            assert!(made.complete && names.contains(&"main"), "{names:?}");
        }
    }
}

#[test]
fn a_frame_that_is_found_by_another_register_is_followed() {
    for flags in [&["-fomit-frame-pointer"][..], &["-O0"]] {
        let seen = stacks("realigned", flags);
        let (made, names) = stack_of(&seen, "getppid");
        assert!(made.complete, "{names:?}");
        assert_eq!(names[..2], ["getppid", "realigned"], "{flags:?}");
        assert!(names.contains(&"main"), "{names:?}");
    }
}

#[test]
fn a_deep_stack_is_whole_and_one_without_end_is_cut() {
    let program = compile(&["gcc", "-O0"], "subjects/stacks.c");
    for (depth, complete) in [("500", true), ("20000", false)] {
        let seen = run(&Subject::new(&program).args(["deep", depth]));
        let (made, names) = stack_of(&seen, "getppid");
        assert_eq!(made.complete, complete, "{depth}");
        assert_eq!(names[..2], ["getppid", "deep"]);
        assert_eq!(names.contains(&"main"), complete);
    }
}

#[test]
fn without_information_frame_pointers_are_followed_and_without_those_the_stack_is_cut() {
    let bare = [
        "gcc",
        "-O1",
        "-static",
        "-nostdlib",
        "-fno-asynchronous-unwind-tables",
    ];
    let keeping = [&bare[..], &["-fno-omit-frame-pointer"]].concat();
    let seen = run(&Subject::new(compile(&keeping, "subjects/pointers.c")));
    let (made, names) = stack_of(&seen, "getppid");
    assert_eq!(names, ["inner", "middle", "outer", "begin", "_start"]);
    assert!(made.gaps && !made.complete);
    let omitting = [&bare[..], &["-fomit-frame-pointer"]].concat();
    let seen = run(&Subject::new(compile(&omitting, "subjects/pointers.c")));
    let (made, names) = stack_of(&seen, "getppid");
    assert_eq!(names, ["inner", "middle"]);
    assert!(!made.gaps && !made.complete);
    // It has no C library, so whoever asked is of the program.
    assert_eq!(made.on_behalf_of, Party::Program);
}

#[test]
fn threads_forks_and_execs_have_whole_stacks_of_their_own_programs() {
    for (program, most) in [("mixed", 8), ("thread_exec", 3)] {
        let path = subjects::compile(program, &[]);
        let seen = run(&Subject::new(path).timeout(Duration::from_secs(20)));
        assert_eq!(seen.trace.threads, most, "{program}");
        for (call, made) in seen.calls().iter() {
            assert!(
                made.complete,
                "{program}: {} {:?}",
                call.label(),
                made.stack
            );
            assert_ne!(made.on_behalf_of, Party::Unknown, "{}", call.label());
        }
        // A program that is executed begins in its loader, whoever asked for it.
        for (call, made) in seen.calls().named("execve").iter() {
            assert_eq!(call.result, Some(0));
            let begins = made.begins.as_ref().unwrap();
            assert!(begins.file.to_str().unwrap().contains("ld-linux"));
        }
        assert_eq!(seen.on_behalf_of(Party::Kernel).len(), 1);
    }
    let seen = run(&subjects::subject("mixed"));
    // To make threads, signals are blocked for a moment, those of breakpoints as well.
    let last = seen
        .calls()
        .iter()
        .filter(|(call, _)| call.thread == 0)
        .last();
    assert_eq!(last.unwrap().1.phase, Some(Phase::Ending));
    let asked = seen.calls().named("getpid");
    assert_eq!(asked.len(), 400);
    assert_eq!(asked.through("ask").on_behalf_of(Party::Program).len(), 400);
}

#[test]
fn a_traced_program_ends_and_handles_its_signals_as_ever() {
    let (subject, out) = subjects::writing("signals");
    let plain = subjects::run(&subject);
    let expected = fs::read(&out).unwrap();
    let seen = run(&subject);
    assert_eq!(seen.trace.exit, plain.exit);
    assert_eq!(fs::read(&out).unwrap(), expected);
    let names = |trace: &Trace| {
        trace
            .names()
            .map(|name| name.into_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&seen.trace).len(), names(&plain).len());
}

#[test]
fn a_program_that_ignores_or_blocks_the_signal_of_breakpoints_keeps_it_so() {
    let program = compile(&["gcc", "-O2"], "subjects/trap_ignored.c");
    for args in [&[][..], &["block"]] {
        let seen = run(&Subject::new(&program).args(args.iter().copied()));
        assert_eq!(seen.trace.exit, barest::Exit::Exited(4));
        assert!(seen.main_at.is_some());
    }
}

#[test]
fn of_a_32_bit_program_it_is_told_where_calls_are_made_and_nothing_else() {
    let program = compile(
        &["gcc", "-O1", "-m32", "-nostdlib", "-static"],
        "subjects/i386.c",
    );
    let seen = run(&Subject::new(&program));
    assert_eq!(
        seen.made_by(program.file_name().unwrap().to_str().unwrap())
            .len(),
        4
    );
    for (_, made) in seen.calls().iter().skip(1) {
        assert_eq!((made.on_behalf_of, made.stack.len()), (Party::Unknown, 1));
        assert!(!made.complete);
    }
    assert!(seen.trace.notes.iter().any(|note| note.contains("32 bits")));
}

#[test]
fn a_static_program_without_symbols_cannot_tell_and_one_with_them_says_how_sure_it_is() {
    let stripped = compile(&["gcc", "-O2", "-static", "-s"], "subjects/hello.c");
    let seen = run(&Subject::new(stripped));
    assert!(seen.trace.count() > 10);
    for (_, made) in seen.calls().iter().skip(1) {
        assert_eq!(made.on_behalf_of, Party::Unknown);
        assert_eq!(made.known_by, Sureness::Nothing);
        assert!(made.complete);
        assert!(made.functions().all(|name| name.is_none()));
    }
    assert!(
        seen.trace
            .notes
            .iter()
            .any(|note| note.contains("without symbols"))
    );

    let named = compile(&["gcc", "-O2", "-static"], "subjects/hello.c");
    let seen = run(&Subject::new(named));
    for (_, made) in seen.calls().iter().skip(1) {
        assert_ne!(made.on_behalf_of, Party::Unknown);
        assert_eq!(made.known_by, Sureness::Archive);
    }
    assert!(seen.trace.notes.iter().any(|note| note.contains("libc.a")));
    let early = seen.calls().through("_dl_early_allocate");
    assert!(
        early
            .on_behalf_of(Party::Libc)
            .through("__libc_setup_tls")
            .len()
            >= 2
    );
}

#[test]
fn a_function_of_the_programs_own_is_not_taken_for_the_c_librarys_of_that_name() {
    let program = compile(&["gcc", "-O2", "-static"], "subjects/own_exit.c");
    let seen = run(&Subject::new(program));
    assert_eq!(seen.trace.exit, barest::Exit::Exited(3));
    let (made, names) = stack_of(&seen, "exit_group");
    assert_eq!((names[0], made.on_behalf_of), ("_exit", Party::Program));
    assert!(!names.contains(&"main"));
}

#[test]
fn the_loader_the_c_library_and_the_program_are_told_apart() {
    let program = compile(&["gcc", "-O2"], "peers/hello_puts.c");
    let seen = run(&Subject::new(program).stdout(Stream::File));
    let loader = seen.made_by("ld-linux");
    assert_eq!(
        loader.len(),
        loader.clone().on_behalf_of(Party::Loader).len() + 1
    );
    assert!(
        seen.made_by("libc.so")
            .on_behalf_of(Party::Libc)
            .names()
            .any(|name| name == "prlimit64")
    );
    // puts asks what stdout is; what it keeps is written when main has returned.
    let asked = seen.on_behalf_of(Party::Program);
    assert_eq!(asked.clone().during(Phase::Main).len(), asked.len());
    let (made, names) = stack_of(&seen, "write");
    assert_eq!(
        (made.on_behalf_of, made.phase),
        (Party::Libc, Some(Phase::Ending))
    );
    assert!(names.contains(&"exit") && !names.contains(&"main"));
    assert!(seen.calls().iter().all(|(_, made)| made.complete));
    let loading = seen.calls().during(Phase::Loading);
    assert!(loading.len() >= loader.len() - 2);
}

#[test]
fn a_program_that_its_loader_is_told_to_run_is_told_from_its_libraries() {
    let program = compile(&["gcc", "-O2"], "peers/hello_puts.c");
    let loader = image(&program).unwrap().interpreter.unwrap();
    let seen = run(&Subject::new(loader).arg(&program).stdout(Stream::File));
    let (made, names) = stack_of(&seen, "write");
    assert_eq!(made.on_behalf_of, Party::Libc, "{names:?}");
    assert!(seen.on_behalf_of(Party::Loader).len() > 20);
    assert!(
        seen.calls()
            .through("main")
            .on_behalf_of(Party::Program)
            .len()
            > 2
    );
}

#[test]
fn rusts_runtime_is_told_from_the_program() {
    let program = compile(&["rustc", "--edition=2024", "-O"], "peers/hello.rs");
    let seen = run(&Subject::new(&program).stdout(Stream::File));
    let runtime = seen.on_behalf_of(Party::Runtime);
    assert!(runtime.names().any(|name| name == "poll"));
    assert!(runtime.clone().during(Phase::Starting).len() > 10);
    let (made, names) = stack_of(&seen, "write");
    assert_eq!(
        (made.on_behalf_of, made.phase),
        (Party::Program, Some(Phase::Main))
    );
    assert!(
        names.iter().any(|name| name.contains("std::io")),
        "{names:?}"
    );
    assert_eq!(seen.summary().on_behalf_of(Party::Program), 0);

    let bare = compile(&["rustc", "--edition=2024", "-O"], "peers/hello_no_main.rs");
    let without = run(&Subject::new(bare).stdout(Stream::File));
    assert_eq!(without.on_behalf_of(Party::Runtime).len(), 0);
    assert_eq!(
        without.summary().made_by("ld-linux"),
        seen.summary().made_by("ld-linux")
    );

    // Stripped, its runtime and the program look the same.
    let stripped = compile(
        &["rustc", "--edition=2024", "-O", "-Cstrip=symbols"],
        "peers/hello.rs",
    );
    let seen = run(&Subject::new(stripped).stdout(Stream::File));
    assert_eq!(stack_of(&seen, "write").0.on_behalf_of, Party::Unknown);
    assert_eq!(seen.on_behalf_of(Party::Runtime).len(), 0);
}

#[test]
fn it_is_shown_up_to_where_it_was_asked() {
    let subject = Subject::new(compile(&["gcc", "-O2"], "peers/hello_puts.c"));
    let whole = run(&subject);
    let write = who_until(&subject, Until::Write).unwrap();
    let main = who_until(&subject, Until::Main).unwrap();
    assert_eq!(write.trace.calls.last().unwrap().name, Some("write"));
    assert_eq!(write.made.len() + 1, whole.made.len());
    assert_eq!(main.made.len(), whole.main_at.unwrap());
    assert!(main.calls().through("main").is_empty());
    assert!(
        whole
            .calls()
            .places()
            .zip(whole.calls().iter())
            .all(|(at, (_, made))| {
                !made.functions().any(|name| name == Some("main")) || at >= main.made.len()
            })
    );
    for seen in [&whole, &write, &main] {
        assert!(seen.reached);
        assert_eq!(seen.trace.exit, barest::Exit::Exited(0));
        assert_eq!(seen.made.len(), seen.trace.calls.len());
    }
    let stripped = Subject::new(compile(&["gcc", "-O2", "-s"], "peers/true.c"));
    for until in [Until::Main, Until::Write] {
        let seen = who_until(&stripped, until).unwrap();
        assert!(
            !seen.reached
                && seen
                    .trace
                    .notes
                    .iter()
                    .any(|note| note.contains("to its end"))
        );
    }
}

#[test]
fn an_assertion_that_fails_shows_the_stacks_of_what_it_did_not_expect() {
    let seen = run(&Subject::new(compile(
        &["gcc", "-O2", "-static"],
        "subjects/hello.c",
    )));
    seen.assert(calls_on_behalf_of(Party::Kernel).exactly(1));
    seen.assert(
        calls_made_by("ld-linux")
            .none()
            .and(calls_on_behalf_of(Party::Libc).at_most(30)),
    );
    seen.assert(calls_on_behalf_of(Party::Kernel).are(["execve"]));
    let demand = calls_on_behalf_of(Party::Program).are(["newfstatat", "socket"]);
    assert!(!demand.eval(&seen));
    let diff = demand.diff(&seen);
    assert!(diff.contains("\n- socket"), "{diff}");
    assert!(diff.contains("\n+ ioctl(1, TCGETS, "), "{diff}");
    let stack: Vec<_> = diff
        .lines()
        .filter(|line| line.starts_with("    "))
        .collect();
    assert!(stack.iter().any(|line| line.contains(" main+0x")), "{diff}");
    assert_eq!(
        demand.to_string(),
        "calls on behalf of program are newfstatat, socket"
    );
}

#[test]
fn json_holds_the_calls_with_who_made_them() {
    let program = compile(&["gcc", "-O2"], "peers/hello_puts.c");
    let output = Command::new(env!("CARGO_BIN_EXE_barest"))
        .args([
            "trace", "--who", "--format", "json", "--stdout", "file", "--",
        ])
        .arg(program)
        .output()
        .unwrap();
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["schema"], "barest.who/1");
    let facts = &json["facts"][0];
    let calls = facts["calls"].as_array().unwrap();
    let write = calls.iter().find(|call| call["name"] == "write").unwrap();
    assert_eq!(write["on_behalf_of"], "libc");
    assert_eq!(write["known_by"], "files");
    assert_eq!(write["phase"], "ending");
    assert_eq!(write["complete"], true);
    assert_eq!(write["arguments"][1], "\"hello, world\\n\"");
    assert!(write["made_by"].as_str().unwrap().contains("libc.so"));
    let outermost = write["stack"].as_array().unwrap().last().unwrap();
    assert_eq!(outermost["function"], "_start");
    assert!(outermost["address"].as_str().unwrap().starts_with("0x"));
    assert_eq!(facts["summary"]["wrote"], true);
    assert_eq!(facts["until"], "exit");
}

#[test]
fn the_command_shows_a_row_a_call_and_each_stack_when_asked() {
    let program = compile(&["gcc", "-O2"], "peers/hello_puts.c");
    let barest = |options: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_barest"))
            .args(["trace", "--who"])
            .args(options)
            .arg("--")
            .arg(&program)
            .output()
            .unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    let table = barest(&[]);
    assert!(table.contains("on behalf of"), "{table}");
    assert!(
        table.contains("calls after execve and before the first write"),
        "{table}"
    );
    assert!(table.contains("; in main: "), "{table}");
    let stacks = barest(&["--stacks", "--until", "main"]);
    assert!(
        stacks.contains("openat(AT_FDCWD, \"/etc/ld.so.cache\", O_RDONLY|O_CLOEXEC) = 3"),
        "{stacks}"
    );
    assert!(!stacks.contains("write("), "{stacks}");
    let refused = Command::new(env!("CARGO_BIN_EXE_barest"))
        .args(["trace", "--stacks", "/bin/true"])
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
}

/// The version of the C library that programs are run with.
fn glibc() -> String {
    let output = Command::new("getconf")
        .arg("GNU_LIBC_VERSION")
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// The tables of four programs of one line: each call, in which file, on behalf of whom, and through
/// which functions.
fn tables() -> String {
    let programs = [
        ("C, dynamic", &["gcc", "-O2"][..], "peers/hello_puts.c"),
        (
            "C, static",
            &["gcc", "-O2", "-static"],
            "peers/hello_puts.c",
        ),
        ("Rust", &["rustc", "--edition=2024", "-O"], "peers/hello.rs"),
        (
            "Rust without its runtime",
            &["rustc", "--edition=2024", "-O"],
            "peers/hello_no_main.rs",
        ),
    ];
    // A path that is as long anywhere: how often a program has to read its own map depends on it.
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let mut text = String::new();
    for (name, command, source) in programs {
        let program = compile_to(folder.path().join("hello"), command, source);
        let subject = Subject::new(&program).stdout(Stream::File);
        let seen = who_until(&subject, Until::Write).unwrap();
        let summary = seen.summary();
        text += &format!(
            "{name}: {} calls after execve and before the write\n",
            summary.calls
        );
        let file = |path: &Path| match path == program {
            true => "hello".to_owned(),
            false => path.file_name().unwrap().to_string_lossy().into_owned(),
        };
        for count in &summary.counts {
            let (file, party) = (
                file(count.made_by.as_deref().unwrap()),
                party(count.on_behalf_of),
            );
            text += &format!("  {:3} by {file} on behalf of {party}\n", count.calls);
        }
        for (at, (call, made)) in seen.calls().iter().enumerate() {
            let (file, party) = (
                file(made.made_by.as_deref().unwrap()),
                party(made.on_behalf_of),
            );
            let functions = functions(made);
            let label = call.label();
            text += &format!(
                "  {:3}  {label:17}  {file:21}  {party:8}  {functions}\n",
                at + 1
            );
        }
        text.push('\n');
    }
    text
}

#[test]
fn the_tables_of_glibc_2_36_are_those_that_are_checked_in() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/who-glibc-2.36-rustc-1.95.txt");
    let rustc = Command::new("rustc").arg("--version").output().unwrap();
    let rustc = String::from_utf8(rustc.stdout).unwrap();
    let debug_files = Path::new("/usr/lib/debug/.build-id").is_dir();
    if glibc() != "glibc 2.36" || !rustc.starts_with("rustc 1.95.") || !debug_files {
        // Past the test runner, which keeps what a passed test prints.
        let line = format!(
            "not compared: the tables of glibc 2.36 with its debug files and rustc 1.95: here are {}, {rustc}",
            glibc()
        );
        std::io::stderr().write_all(line.as_bytes()).unwrap();
        return;
    }
    let tables = tables();
    if std::env::var_os("WRITE_GOLDEN").is_some() {
        fs::write(&path, &tables).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap();
    let diff = similar::TextDiff::from_lines(&expected, &tables);
    assert_eq!(expected, tables, "{}", diff.unified_diff());
}
