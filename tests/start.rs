//! `start`: what the kernel prepared, against readelf, /proc, gdb and what our `stack` prints.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use assert_cmd::cargo::cargo_bin_cmd;
use barest::start::{
    Decoded, Effect, Owner, Piece, Place, Plan, Pointer, Start, What, start, start_by,
};
use barest::subject::FIXED_ENVIRONMENT;
use barest::{Error, Exit, Subject};
use predicates::prelude::*;
use serde_json::Value;

mod common;
mod subjects;
use common::{folder, program, succeed};
use subjects::{compile, run, writing};

/// Everything where it was the last time.
const FIXED: Plan = Plan {
    fixed: true,
    ..Plan::ONCE
};

fn fixed(subject: &Subject) -> Start {
    start_by(subject, FIXED).unwrap_or_else(|error| panic!("{error}"))
}

/// The same program of C, linked in each way.
fn linked(ways: &[&[&str]]) -> Vec<PathBuf> {
    ways.iter().map(|flags| compile("hello", flags)).collect()
}

/// One of each: dynamic at any address and at a fixed one, static at either, by lld, 32-bit, and
/// ours; but `golf`, which readelf cannot read, since its header is code as well.
fn readable() -> Vec<PathBuf> {
    let mut programs = linked(&[
        &["-pie"],
        &["-no-pie"],
        &["-static"],
        &["-static-pie"],
        &["-fuse-ld=lld"],
        &["-m32"],
    ]);
    programs.extend(["true", "hello", "stack"].map(program));
    programs
}

/// All of these, and `golf`.
fn all_ways() -> Vec<PathBuf> {
    readable().into_iter().chain([program("golf")]).collect()
}

#[test]
fn a_program_whose_header_is_code_starts_at_the_first_byte_of_its_file() {
    let seen = start(&Subject::new(program("golf"))).unwrap();
    assert_eq!(
        (seen.entry.of, seen.entry.offset),
        (Some(Owner::Program), Some(0))
    );
    assert_eq!(seen.entry.address_in_file, seen.entry.header);
    assert!(seen.entry.bytes.starts_with("7f454c46"), "{:?}", seen.entry);
    assert_eq!(seen.notes, [""; 0]);
}

#[test]
fn the_first_instruction_is_where_readelf_finds_it_in_the_header_of_its_file() {
    for path in readable() {
        let seen = start(&Subject::new(&path)).unwrap();
        let entry = &seen.entry;
        let header = succeed(Command::new("readelf").arg("-hW").arg(&entry.file));
        let wanted = header.lines().find_map(|line| {
            let text = line.trim().strip_prefix("Entry point address:")?;
            Some(text.trim().to_owned())
        });
        assert_eq!(entry.header.map(|it| it.to_string()), wanted, "{path:?}");
        assert_eq!(entry.address_in_file, entry.header, "{path:?}");
        assert_eq!(seen.notes, [""; 0], "{path:?}");
        // What is there in memory is what the file has there.
        let bytes: Vec<u8> = (0..entry.bytes.len() / 2)
            .map(|at| u8::from_str_radix(&entry.bytes[2 * at..2 * at + 2], 16).unwrap())
            .collect();
        let mut in_file = vec![0; bytes.len()];
        let file = fs::File::open(&entry.file).unwrap();
        let read = file.read_at(&mut in_file, entry.offset.unwrap()).unwrap();
        assert!(read > 0 && in_file == bytes, "{path:?}");
    }
}

#[test]
fn a_dynamic_program_starts_in_the_interpreter_that_it_names_and_a_static_one_in_itself() {
    for (flags, dynamic) in [("-pie", true), ("-static", false), ("-static-pie", false)] {
        let path = compile("hello", &[flags]);
        let seen = start(&Subject::new(&path)).unwrap();
        let interpreter = seen.headers.iter().find_map(|header| match &header.effect {
            Effect::Interpreter(path) => Some(path.clone()),
            _ => None,
        });
        let base = seen.stack.aux(7).unwrap();
        if dynamic {
            let interpreter = fs::canonicalize(interpreter.unwrap()).unwrap();
            assert_eq!(seen.entry.file, interpreter);
            assert_eq!(seen.entry.of, Some(Owner::Interpreter));
            assert_ne!(seen.stack.aux(9), Some(seen.entry.address));
            let first = seen
                .map
                .iter()
                .find(|line| line.what == Piece::File(Owner::Interpreter));
            assert_eq!(first.unwrap().start, base);
        } else {
            assert_eq!(interpreter, None);
            assert_eq!(seen.entry.file, path);
            assert_eq!(seen.entry.of, Some(Owner::Program));
            assert_eq!(seen.stack.aux(9), Some(seen.entry.address));
            assert_eq!(base.0, 0);
        }
    }
}

#[test]
fn the_program_headers_are_those_of_readelf_and_each_segment_is_mapped_where_it_says() {
    for path in readable() {
        let seen = start(&Subject::new(&path)).unwrap();
        let files = [
            (Owner::Program, path.as_os_str()),
            (Owner::Interpreter, &seen.entry.file),
        ];
        for (owner, file) in files {
            let own: Vec<_> = seen.headers.iter().filter(|it| it.of == owner).collect();
            if own.is_empty() {
                assert!(owner == Owner::Interpreter && seen.entry.of == Some(Owner::Program));
                continue;
            }
            let text = succeed(Command::new("readelf").arg("-lW").arg(file));
            let wanted: Vec<Vec<String>> = text
                .lines()
                .map(|line| {
                    line.split_whitespace()
                        .map(str::to_owned)
                        .collect::<Vec<_>>()
                })
                .filter(|words| words.len() > 6 && words[1].starts_with("0x"))
                .collect();
            assert_eq!(own.len(), wanted.len(), "{file:?}: {text}");
            let hex = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).unwrap();
            for (header, words) in own.iter().zip(&wanted) {
                let it = &header.segment;
                let numbers = [it.offset, it.address, it.file_bytes, it.memory_bytes];
                let of_readelf = [1, 2, 4, 5].map(|word| hex(&words[word]));
                assert_eq!((&it.kind, numbers), (&words[0], of_readelf), "{file:?}");
            }
        }
        for (index, header) in seen.headers.iter().enumerate() {
            let Effect::Mapped { start, end } = header.effect else {
                continue;
            };
            let own: Vec<_> = seen
                .map
                .iter()
                .filter(|line| line.headers.contains(&index))
                .collect();
            let what = (header.of, &header.segment.kind, &path);
            assert!(!own.is_empty(), "{what:?}");
            assert!(own.iter().any(|line| line.holds(start)), "{what:?}");
            assert!(
                own.iter().all(|line| line.start < end && start < line.end),
                "{what:?}"
            );
            let flags = header.segment.flags;
            assert!(own.iter().any(|line| line.flags == flags), "{what:?}");
        }
        // Nothing is left over but what the kernel adds of its own.
        let other = seen.map.iter().filter(|line| line.what == Piece::Other);
        assert_eq!(other.count(), 0, "{path:?}: {:?}", seen.map);
    }
}

/// What /proc has at the same stop, by a tracer of this test's own: the map and the vector.
fn proc_at_the_stop(path: &Path) -> (String, Vec<u8>) {
    let mut command = Command::new(path);
    command
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command.envs(FIXED_ENVIRONMENT.map(|variable| variable.split_once('=').unwrap()));
    // SAFETY: two system calls, between the fork and the exec.
    unsafe {
        command.pre_exec(|| {
            libc::personality(libc::ADDR_NO_RANDOMIZE as _);
            libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0);
            Ok(())
        });
    }
    // It stops with a SIGTRAP at its exec.
    let mut child = command.spawn().unwrap();
    let pid = child.id() as i32;
    let mut status = 0;
    // SAFETY: the kernel writes one int.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    assert!(libc::WIFSTOPPED(status), "{status:x}");
    let map = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let vector = fs::read(format!("/proc/{pid}/auxv")).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    (map, vector)
}

#[test]
fn the_map_and_the_auxiliary_vector_are_those_of_proc_at_the_same_stop() {
    for path in all_ways() {
        let seen = fixed(&Subject::new(&path));
        let (map, vector) = proc_at_the_stop(&path);
        let lines: Vec<String> = seen
            .map
            .iter()
            .map(|line| {
                let shared = if line.shared { 's' } else { 'p' };
                let (start, end, flags) = (line.start.0, line.end.0, line.flags);
                let (offset, device, inode) = (line.offset, &line.device, line.inode);
                let name = line.name.to_string_lossy();
                format!(
                    "{start:08x}-{end:08x} {flags}{shared} {offset:08x} {device} {inode} {name}"
                )
            })
            .collect();
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let seen_lines: Vec<_> = lines.iter().map(|line| words(line)).collect();
        assert_eq!(seen_lines, map.lines().map(words).collect::<Vec<_>>());

        let size = usize::from(seen.stack.word);
        let word = |bytes: &[u8]| {
            let mut whole = [0; 8];
            whole[..size].copy_from_slice(bytes);
            u64::from_le_bytes(whole)
        };
        let pairs = vector.chunks_exact(2 * size);
        let kept: Vec<_> = pairs
            .map(|pair| (word(&pair[..size]), word(&pair[size..])))
            .take_while(|(kind, _)| *kind != 0)
            .collect();
        let entries = seen.stack.auxv.iter().map(|it| (it.kind, it.value.0));
        assert_eq!(entries.collect::<Vec<_>>(), kept, "{path:?}");
        assert!(
            seen.stack
                .auxv
                .iter()
                .all(|it| it.name.is_some() && it.meaning.is_some())
        );
    }
}

/// As bins/stack.rs writes a string.
fn quoted(text: &OsStr) -> String {
    let byte = |&byte: &u8| match byte {
        b'"' | b'\\' => format!("\\{}", byte as char),
        b' '..=b'~' => (byte as char).to_string(),
        _ => format!("\\x{byte:02x}"),
    };
    let text: String = text.as_bytes().iter().map(byte).collect();
    format!("\"{text}\"")
}

#[test]
fn the_stack_is_the_one_that_the_program_stack_finds_itself() {
    let path = program("stack");
    let args = ["a", "", "two words \"and\" \\"].map(OsString::from);
    let args: Vec<_> = args
        .into_iter()
        .chain([OsString::from_vec(b"\xff\n".to_vec())])
        .collect();
    let seen = fixed(&Subject::new(&path).args(args.clone()));

    let mut command = Command::new(&path);
    command.args(args).env_clear();
    command.envs(FIXED_ENVIRONMENT.map(|variable| variable.split_once('=').unwrap()));
    // SAFETY: one system call, between the fork and the exec.
    unsafe {
        command.pre_exec(|| {
            libc::personality(libc::ADDR_NO_RANDOMIZE as _);
            Ok(())
        });
    }
    let printed = succeed(&mut command);

    let mut lines = vec![format!("{}  argc {}", seen.stack.pointer, seen.stack.argc)];
    let mut list = |name: &str, pointers: &[Pointer], null: What| {
        for (index, it) in pointers.iter().enumerate() {
            let text = quoted(it.text.as_deref().unwrap());
            lines.push(format!("{}  {name}[{index}] {} {text}", it.at, it.to));
        }
        let end = seen
            .stack
            .parts
            .iter()
            .find(|part| part.what == null)
            .unwrap();
        lines.push(format!("{}  {name}[{}] NULL", end.at, pointers.len()));
    };
    list("argv", &seen.stack.argv, What::ArgvNull);
    list("envp", &seen.stack.envp, What::EnvpNull);
    for it in &seen.stack.auxv {
        let value = match &it.decoded {
            Decoded::Number(number) => number.to_string(),
            Decoded::Text(text) => format!("{} {}", it.value, quoted(text)),
            // The bytes themselves are random.
            Decoded::Bytes(_) => format!("{} RANDOM", it.value),
            _ => it.value.to_string(),
        };
        lines.push(format!("{}  {} {value}", it.at, it.name.unwrap()));
    }
    let end = seen
        .stack
        .parts
        .iter()
        .find(|part| part.what == What::AuxvNull);
    lines.push(format!("{}  AT_NULL", end.unwrap().at));
    let printed: Vec<String> = printed
        .lines()
        .map(|line| match line.split_once("  AT_RANDOM ") {
            Some((at, value)) => {
                let address = value.split(' ').next().unwrap();
                format!("{at}  AT_RANDOM {address} RANDOM")
            }
            None => line.to_owned(),
        })
        .collect();
    assert_eq!(lines, printed);
}

#[test]
fn gdb_stops_at_the_same_instruction_with_the_same_registers() {
    // Where there is no gdb, `make test` installs it.
    for path in linked(&[&["-pie"], &["-static"]]) {
        let seen = fixed(&Subject::new(&path));
        // gdb adds LINES and COLUMNS to the environment, which env takes away again.
        let wrapper = format!("set exec-wrapper env -i {}", FIXED_ENVIRONMENT.join(" "));
        let output = Command::new("gdb")
            .args(["-nx", "-batch", "-ex", &wrapper, "-ex", "starti"])
            .args(["-ex", "info registers", "-ex", "info auxv"])
            .arg(&path)
            .env("SHELL", "/bin/sh")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let words: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        for it in &seen.registers {
            let line = words.iter().find(|words| words.first() == Some(&it.name));
            let value = match (line, it.name) {
                (Some(line), _) => line[1],
                // Some versions of gdb do not show these.
                (None, "fs_base" | "gs_base") => "0x0",
                (None, "orig_rax") => "0x3b",
                (None, name) => panic!("{name}: {text}"),
            };
            assert_eq!(it.value.to_string(), value, "{}: {path:?}", it.name);
        }
        for it in &seen.stack.auxv {
            let line = words.iter().find(|words| words.get(1) == it.name.as_ref());
            let Some(line) = line else { continue };
            assert_eq!(line[0], it.kind.to_string());
        }
        let line = words.iter().find(|words| words.get(1) == Some(&"AT_ENTRY"));
        let value = line.unwrap().last().unwrap().to_string();
        assert_eq!(seen.stack.aux(9).unwrap().to_string(), value);
    }
}

#[test]
fn nothing_of_the_program_runs_and_nothing_of_it_is_left() {
    let (subject, out) = writing("start");
    for plan in [
        Plan::ONCE,
        FIXED,
        Plan {
            starts: 10,
            ..FIXED
        },
    ] {
        let seen = start_by(&subject, plan).unwrap();
        assert!(!out.exists(), "it has run");
        let left = fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let exe = fs::read_link(entry.unwrap().path().join("exe")).ok()?;
            (exe == seen.program).then_some(exe)
        });
        assert_eq!(left.count(), 0);
    }
    // The program would have.
    assert_eq!(run(&subject).exit, Exit::Exited(0));
    assert!(out.exists());
}

/// Each byte from the stack pointer to the end is part of one thing.
fn accounted_for(seen: &Start) {
    let mut next = seen.stack.pointer.0;
    for part in &seen.stack.parts {
        assert_eq!(part.at.0, next, "{part:?}");
        assert!(part.bytes > 0 && part.what != What::Unknown, "{part:?}");
        next += part.bytes;
    }
    assert_eq!(next, seen.stack.end.0);
    let last = seen.stack.parts.last().unwrap();
    assert_eq!((last.what, last.bytes), (What::EndMarker, 8));
    assert_eq!(seen.stack.faults, [""; 0]);
    assert_eq!(seen.stack.pointer.0 % 16, 0);
}

#[test]
fn every_byte_of_the_stack_is_accounted_for() {
    for path in all_ways() {
        accounted_for(&start(&Subject::new(&path).arg("a").arg("")).unwrap());
    }
}

#[test]
fn ten_thousand_variables_and_arguments_that_are_no_text_are_all_there() {
    let variables: Vec<OsString> = (0..10_000).map(|n| format!("V{n}={n}").into()).collect();
    let odd = OsString::from_vec(b"\xff\x01\xc3\xa9 \"\\".to_vec());
    let long = "x".repeat(100_000);
    let subject = Subject::new("/bin/true").args([odd.clone(), long.clone().into()]);
    let seen = start(&subject.environment(variables.clone())).unwrap();
    let texts = |list: &[Pointer]| -> Vec<OsString> {
        list.iter().map(|it| it.text.clone().unwrap()).collect()
    };
    assert_eq!(texts(&seen.stack.envp), variables);
    assert_eq!(
        texts(&seen.stack.argv),
        ["/bin/true".into(), odd, long.into()]
    );
    accounted_for(&seen);
    let json = serde_json::to_value(&seen).unwrap();
    assert_eq!(json["stack"]["argv"][1]["text"], "\\xff\\x01\u{e9} \"\\\\");
}

#[test]
fn a_program_that_is_given_no_argument_gets_what_the_kernel_makes_of_it() {
    let seen = start(&Subject::new("/bin/true").argv([""; 0])).unwrap();
    // Linux 5.18 and later put an empty one there.
    let texts: Vec<_> = seen
        .stack
        .argv
        .iter()
        .map(|it| it.text.clone().unwrap())
        .collect();
    assert!(texts.is_empty() || texts == [""], "{texts:?}");
    assert_eq!(seen.stack.argc as usize, texts.len());
    accounted_for(&seen);
}

#[test]
fn a_32_bit_program_has_words_of_4_bytes_and_narrow_registers() {
    let path = compile("hello", &["-m32"]);
    let seen = start(&Subject::new(&path)).unwrap();
    assert_eq!((seen.bits, seen.stack.word), (32, 4));
    assert_eq!(seen.stack.argv[0].text.as_deref(), Some(path.as_os_str()));
    assert_eq!(seen.registers[0].name, "eip");
    assert_eq!(seen.registers[0].value, seen.entry.address);
    assert!(seen.registers.iter().all(|it| !it.name.starts_with('r')));
    // AT_PHENT: Elf32_Phdr has 32 bytes.
    assert_eq!(seen.stack.aux(4).unwrap().0, 32);
    accounted_for(&seen);
}

#[test]
fn a_header_of_the_wrong_size_does_not_mislead() {
    // The kernel goes by e_machine, not by EI_CLASS, which is the fifth byte.
    let mut bytes = fs::read(program("true")).unwrap();
    assert_eq!(bytes[4], 2);
    bytes[4] = 1;
    let path = folder("start-class").join("true");
    fs::write(&path, bytes).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let seen = start(&Subject::new(&path)).unwrap();
    assert_eq!((seen.bits, seen.stack.word), (64, 8));
    accounted_for(&seen);
    assert!(!seen.notes.is_empty());
    assert_eq!(run(&Subject::new(&path)).exit, Exit::Exited(0));
}

#[test]
fn of_a_script_it_is_the_interpreter_that_starts_and_that_is_said() {
    let path = folder("start-script").join("script");
    fs::write(&path, "#!/bin/sh -e\necho hello\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let seen = start(&Subject::new(&path).arg("a")).unwrap();
    assert_eq!(seen.program, path);
    assert_eq!(seen.loaded, fs::canonicalize("/bin/sh").unwrap());
    assert_eq!(seen.script.as_deref(), Some(OsStr::new("/bin/sh -e")));
    let argv: Vec<_> = seen
        .stack
        .argv
        .iter()
        .map(|it| it.text.clone().unwrap())
        .collect();
    assert_eq!(
        argv,
        [
            "/bin/sh".into(),
            "-e".into(),
            path.into_os_string(),
            "a".into()
        ]
    );
    assert!(
        seen.notes.iter().any(|note| note.contains("#!/bin/sh -e")),
        "{:?}",
        seen.notes
    );
    accounted_for(&seen);
}

/// Whether this test may do all.
fn root() -> bool {
    // SAFETY: asks for a number.
    unsafe { libc::geteuid() == 0 }
}

#[test]
fn a_program_with_more_rights_than_its_caller_is_noted() {
    if !root() {
        // Nobody else can make one of another user.
        return a_program_that_loses_its_rights_under_trace_is_noted();
    }
    let path = folder("start-setuid").join("true");
    fs::copy("/bin/true", &path).unwrap();
    chown(&path, Some(65534), Some(65534)).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o4755)).unwrap();
    let seen = start(&Subject::new(&path)).unwrap();
    assert_eq!(seen.stack.aux(12).unwrap().0, 65534);
    assert_eq!(seen.stack.aux(23).unwrap().0, 1);
    let [note] = &seen.notes[..] else {
        panic!("{:?}", seen.notes)
    };
    assert!(note.contains("user 0 runs it as user 65534"), "{note}");
}

/// `barest start` by one who may not do all, on a program.
fn as_nobody(program: &Path) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let kit = folder.path().join("barest");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::copy(assert_cmd::cargo::cargo_bin!("barest"), &kit).unwrap();
    let mut command = Command::new(kit);
    if root() {
        command.uid(65534).gid(65534);
    }
    command
        .args(["start", "--format", "json", "--"])
        .arg(program)
        .output()
        .unwrap()
}

#[test]
fn a_program_that_loses_its_rights_under_trace_is_noted() {
    let json: Value = serde_json::from_slice(&as_nobody(Path::new("/bin/su")).stdout).unwrap();
    let facts = &json["facts"][0];
    let notes = facts["notes"].as_array().unwrap();
    assert!(
        notes[0]
            .as_str()
            .unwrap()
            .contains("set-user-ID: runs without"),
        "{notes:?}"
    );
    let value = |name| {
        let mut entries = facts["stack"]["auxv"].as_array().unwrap().iter();
        let entry = entries.find(|entry| entry["name"] == name).unwrap();
        entry["decoded"]["number"].as_u64().unwrap()
    };
    assert_eq!(value("AT_UID"), value("AT_EUID"));
    // Newer kernels set AT_SECURE all the same.
    if value("AT_SECURE") == 1 {
        assert!(
            notes[1].as_str().unwrap().contains("its caller's"),
            "{notes:?}"
        );
    }
}

#[test]
fn a_program_that_may_not_be_read_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("true");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::copy("/bin/true", &path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o111)).unwrap();
    let output = as_nobody(&path);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(
        stderr.contains("chmod +r") && stderr.lines().count() == 1,
        "{stderr}"
    );
}

/// A setting of the machine. None of one that only root may read.
fn setting(path: &str) -> Option<u32> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[test]
fn addresses_move_by_as_many_bits_as_the_machine_draws_and_not_at_all_when_fixed() {
    let dynamic = Subject::new("/bin/true");
    let nowhere = Subject::new(program("true"));
    let repeated = |subject, fixed| {
        let plan = Plan { starts: 60, fixed };
        let seen = start_by(subject, plan).unwrap();
        let random = seen.randomized.unwrap();
        (seen.moves.unwrap(), random)
    };
    let (moves, random) = repeated(&dynamic, false);
    assert_eq!(moves.starts, 60);
    let places: Vec<_> = moves.addresses.iter().map(|moved| moved.what).collect();
    use Place::{Heap, Interpreter, Program, StackEnd, StackPointer, Vdso};
    assert_eq!(
        places,
        [Program, Interpreter, Vdso, Heap, StackEnd, StackPointer]
    );
    let of = |what| {
        moves
            .addresses
            .iter()
            .find(|moved| moved.what == what)
            .unwrap()
    };
    if setting("/proc/sys/kernel/randomize_va_space").unwrap() == 2 {
        assert!(random);
        let drawn = setting("/proc/sys/vm/mmap_rnd_bits");
        assert_eq!(moves.mmap_rnd_bits, drawn);
        let by_spread = |what| of(what).bits_by_spread.unwrap();
        let drawn = drawn.map_or(by_spread(Interpreter), f64::from);
        for what in [Program, Interpreter, Vdso] {
            assert!((by_spread(what) - drawn).abs() < 0.5, "{:?}", of(what));
            assert_eq!(of(what).distinct, 60);
        }
        // arch/x86/mm/mmap.c, stack_maxrandom_size: 22 bits of pages; and 9 bits within two of them.
        assert!((by_spread(StackEnd) - 22.0).abs() < 0.5);
        assert!(of(StackPointer).bits > of(StackEnd).bits);
        assert_eq!(of(StackPointer).differing.0 & 0xf, 0);
    }
    for (subject, starts) in [(&dynamic, 6), (&nowhere, 5)] {
        let (moves, random) = repeated(subject, true);
        assert!(!random);
        assert_eq!(moves.addresses.len(), starts);
        for moved in &moves.addresses {
            assert_eq!((moved.bits, moved.distinct), (0, 1), "{moved:?}");
        }
    }
    // A program at a fixed address stays there.
    let (moves, _) = repeated(&nowhere, false);
    assert_eq!(moves.addresses[0].what, Program);
    assert_eq!(moves.addresses[0].bits, 0);
}

#[test]
fn several_threads_may_start_at_once() {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6)
            .map(|_| scope.spawn(|| (0..20).map(|_| fixed(&Subject::new("/bin/true"))).collect()))
            .collect();
        for thread in threads {
            let seen: Vec<Start> = thread.join().unwrap();
            assert!(seen.iter().all(|it| it.entry == seen[0].entry));
        }
    });
}

#[test]
fn what_cannot_be_started_is_an_error() {
    let missing = start(&Subject::new("/no/such/program"));
    assert!(matches!(missing, Err(Error::NotFound(_))), "{missing:?}");
    let path = compile("hello", &["-Wl,--dynamic-linker=/no/such/loader"]);
    let refused = start(&Subject::new(path));
    assert!(
        matches!(refused, Err(Error::NotRunnable { .. })),
        "{refused:?}"
    );
}

fn barest() -> assert_cmd::Command {
    let mut command = cargo_bin_cmd!("barest");
    command.arg("start");
    command
}

#[test]
fn the_command_shows_all_of_one_program() {
    let text = barest()
        .args(["--fixed", "--", "/bin/true", "a\nb"])
        .assert()
        .success();
    let text = String::from_utf8(text.get_output().stdout.clone()).unwrap();
    for word in [
        "first instruction ",
        "ld-linux-x86-64.so.2, offset 0x",
        ", the same\n",
        "program: INTERP ",
        "in its place\n",
        "interpreter: code ",
        "the loader, from the first instruction on ",
        "argc ",
        "argv[1] ",
        "\"a\\x0ab\"\n",
        "AT_PHDR (3) ",
        "(program + 0x40)",
        "random bytes ",
        "\"x86_64\" ",
        "end marker ",
        "rip ",
        "fixed: without ASLR",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(!text.contains("what moves"), "{text}");
}

#[test]
fn the_command_shows_several_programs_side_by_side() {
    let path = program("true");
    let text = barest()
        .args(["--repeat", "3", "/bin/true a b"])
        .arg(&path)
        .assert()
        .success();
    let text = String::from_utf8(text.get_output().stdout.clone()).unwrap();
    let row = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        line.unwrap_or_else(|| panic!("{name}: {text}"))[name.len()..]
            .split("  ")
            .map(str::trim)
            .filter(|cell| !cell.is_empty())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        row("first instruction in"),
        ["ld-linux-x86-64.so.2", "true"]
    );
    assert_eq!(row("interpreter "), ["/lib64/ld-linux-x86-64.so.2", "none"]);
    assert_eq!(row("argc"), ["3", "1"]);
    assert_eq!(row("AT_BASE (7)")[1], "0x0");
    assert_eq!(row("moves: program")[1], "no");
    assert_eq!(row("moves: interpreter")[1], "-");
    assert!(text.contains("in any two of 3 starts"), "{text}");
}

#[test]
fn json_has_a_schema_and_addresses_as_text() {
    let output = barest()
        .args(["--format", "json", "--repeat", "2", "--", "/bin/true"])
        .assert()
        .success();
    let json: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    assert_eq!(json["schema"], "barest.start/1");
    let facts = &json["facts"][0];
    assert_eq!(facts["entry"]["of"], "interpreter");
    assert_eq!(facts["entry"]["address_in_file"], facts["entry"]["header"]);
    assert_eq!(facts["headers"][0]["of"], "program");
    assert_eq!(facts["map"][0]["what"]["file"], "program");
    assert_eq!(facts["stack"]["parts"][0]["what"], "argc");
    assert_eq!(facts["registers"][0]["name"], "rip");
    assert_eq!(facts["moves"]["starts"], 2);
    let entry = facts["stack"]["auxv"].as_array().unwrap().iter();
    let page = entry.clone().find(|it| it["name"] == "AT_PAGESZ").unwrap();
    assert_eq!(page["decoded"]["number"], 4096);
    assert_eq!(page["value"], "0x1000");
    for field in ["address", "offset", "file", "bytes"] {
        assert!(!facts["entry"][field].is_null(), "{field}");
    }
}

#[test]
fn a_fault_is_one_line_and_the_other_programs_are_still_shown() {
    barest()
        .args(["/no/such/program", "/bin/true"])
        .assert()
        .code(2)
        .stdout(predicate::str::contains("first instruction"))
        .stderr(
            predicate::str::contains("/no/such/program: not found")
                .and(predicate::function(|text: &str| text.lines().count() == 1)),
        );
    barest().arg("/no/such/program").assert().code(2).stdout("");
    barest()
        .args(["--repeat", "0", "/bin/true"])
        .assert()
        .code(2);
    barest().assert().code(2);
}

#[test]
fn a_narrow_terminal_loses_nothing() {
    let seen = fixed(&Subject::new("/bin/true"));
    let page = barest::view::start::page(&[seen]);
    for width in [40, 80, 120, 200] {
        let terminal = barest::view::Terminal {
            width: Some(width),
            bold: false,
        };
        let text = barest::view::table::render(&page, terminal);
        for word in ["AT_SYSINFO_EHDR", "0x7fff", "fsgsbase", "orig_rax"] {
            assert!(text.contains(word), "{width}: {text}");
        }
    }
}
