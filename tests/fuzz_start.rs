//! Whatever a program's stack, its map or its file holds: reading it ends, soon, without a panic,
//! and what it says adds up.
//!
//! Each target runs for a second, or for as many as `FUZZ_SECONDS` says; `FUZZ_SEED` repeats
//! one run. A finding names the input and becomes a test of its own, below.

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use barest::Subject;
use barest::start::{Address, Mapping, Stack, What, start};
use barest::view::{self, Terminal};

mod common;
use common::fuzz::fuzz;
use common::{program, succeed};

/// Where this test's own stack begins, as the kernel left it, and its bytes.
fn own_stack() -> (u64, Vec<u8>) {
    // The 28th field of proc_pid_stat(5), `startstack`; the second is a name in brackets.
    let text = fs::read_to_string("/proc/self/stat").unwrap();
    let fields = text.rsplit_once(')').unwrap().1;
    let first: u64 = fields
        .split_whitespace()
        .nth(28 - 3)
        .unwrap()
        .parse()
        .unwrap();
    let map = Mapping::parse(&fs::read("/proc/self/maps").unwrap());
    let mapping = map
        .iter()
        .find(|mapping| mapping.holds(Address(first)))
        .unwrap();
    let mut bytes = vec![0; (mapping.end.0 - first) as usize];
    let memory = fs::File::open("/proc/self/mem").unwrap();
    memory.read_exact_at(&mut bytes, first).unwrap();
    (first, bytes)
}

/// What is said of any bytes.
fn adds_up(bytes: &[u8], at: u64, word: u8) {
    let stack = Stack::decode(bytes, Address(at), word);
    let mut next = at;
    for part in &stack.parts {
        assert_eq!(part.at.0, next);
        assert!(part.bytes > 0);
        next = next.wrapping_add(part.bytes);
    }
    assert_eq!(next, at.wrapping_add(bytes.len() as u64));
    let pointers = stack.argv.iter().chain(&stack.envp);
    let texts = pointers.filter_map(|pointer| pointer.text.as_ref());
    assert!(texts.map(|text| text.len() + 1).sum::<usize>() <= bytes.len());
    assert!(stack.faults.len() < 20, "{:?}", stack.faults);
    let strings = stack
        .parts
        .iter()
        .filter(|part| matches!(part.what, What::ArgvString(_)));
    let found = stack.argv.iter().filter(|pointer| pointer.text.is_some());
    assert_eq!(strings.count(), found.count());
}

/// Numbers that are at the edge of something.
fn edges(at: u64, bytes: usize) -> Vec<u64> {
    let end = at.wrapping_add(bytes as u64);
    let near = [at, end, 0, u64::MAX, i64::MAX as u64, u64::from(u32::MAX)];
    let steps = [0, 1, 8, 16, u64::MAX, u64::MAX - 7];
    let all = near
        .iter()
        .flat_map(|near| steps.map(|step| near.wrapping_add(step)));
    all.chain([3, 9, 15, 24, 25, 31, 4096]).collect()
}

#[test]
fn a_stack_of_any_bytes_adds_up() {
    let (at, own) = own_stack();
    adds_up(&own, at, 8);
    let intact = Stack::decode(&own, Address(at), 8);
    assert_eq!(intact.faults, [""; 0], "the test's own stack is one");
    fuzz("stack", |random| {
        let mut bytes = match random.below(4) {
            0 => (0..random.below(4096))
                .map(|_| random.next() as u8)
                .collect(),
            _ => own.clone(),
        };
        let at = match random.below(4) {
            0 => random.next(),
            1 => 0u64.wrapping_sub(bytes.len() as u64),
            _ => at,
        };
        let edges = edges(at, bytes.len());
        for _ in 0..random.below(64) {
            if bytes.is_empty() {
                break;
            }
            let place = random.below(bytes.len());
            match random.below(6) {
                0 => bytes[place] = random.next() as u8,
                1 => bytes.truncate(place),
                2 => bytes[place..].fill(random.next() as u8),
                3 => {
                    let length = random.below(bytes.len() - place) + 1;
                    bytes.drain(place..place + length);
                }
                _ => {
                    let word = random.one_of(&edges).to_le_bytes();
                    let place = place / 8 * 8;
                    let length = word.len().min(bytes.len() - place);
                    bytes[place..place + length].copy_from_slice(&word[..length]);
                }
            }
        }
        adds_up(&bytes, at, if random.below(2) == 0 { 4 } else { 8 });
    });
}

#[test]
fn a_map_of_any_bytes_is_read() {
    let own = fs::read("/proc/self/maps").unwrap();
    assert_eq!(
        Mapping::parse(&own).len(),
        own.split(|&b| b == b'\n').count() - 1
    );
    fuzz("map", |random| {
        let mut bytes = own.clone();
        for _ in 0..random.below(32) + 1 {
            let place = random.below(bytes.len());
            match random.below(5) {
                0 => bytes[place] = b"- \n:/0fgx[]\xff"[random.below(12)],
                1 => bytes.truncate(place + 1),
                2 => bytes.insert(place, b"- \n:0f"[random.below(6)]),
                3 => drop(bytes.remove(place)),
                _ => bytes[place] = random.next() as u8,
            }
            if bytes.is_empty() {
                bytes = own.clone();
            }
        }
        let lines = bytes.split(|&byte| byte == b'\n').count();
        let map = Mapping::parse(&bytes);
        assert!(map.len() <= lines);
        assert!(map.iter().all(|line| line.headers.is_empty()));
    });
}

#[test]
fn a_program_of_any_headers_is_started_and_shown_or_refused() {
    // Its own, so that a long run is not disturbed by a short one.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let folder = folder.path();
    let built = |source: &str, flags: &[&str]| {
        let path = folder.join("original");
        let source = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/subjects")
            .join(source);
        succeed(
            Command::new("gcc")
                .args(flags)
                .arg("-o")
                .arg(&path)
                .arg(source),
        );
        fs::read(path).unwrap()
    };
    let originals = [
        fs::read(program("true")).unwrap(),
        fs::read(program("golf")).unwrap(),
        built("known.s", &["-nostdlib", "-static"]),
        built("hello.c", &["-pie"]),
        built("hello.c", &["-m32"]),
    ];
    let path = folder.join("program");
    let mut started = 0;
    fuzz("program", |random| {
        let mut bytes = originals[random.below(originals.len())].clone();
        let edges = edges(0x40_0000, bytes.len());
        for _ in 0..random.below(6) {
            // The header and the program headers.
            let place = random.below(bytes.len().min(64 + 13 * 56));
            match random.below(4) {
                0 => bytes[place] = random.next() as u8,
                1 => bytes[place] ^= 1 << random.below(8),
                2 if random.below(4) == 0 => bytes.truncate(place + 1),
                // EI_CLASS, EI_DATA, EI_VERSION.
                2 if bytes.len() > 6 => bytes[4 + random.below(3)] = random.below(4) as u8,
                _ => {
                    let word = random.one_of(&edges).to_le_bytes();
                    let place = place / 4 * 4;
                    let length = (1 + random.below(8)).min(bytes.len() - place);
                    bytes[place..place + length].copy_from_slice(&word[..length]);
                }
            }
        }
        // A new file each time: one that is still open for writing could not be executed.
        let _ = fs::remove_file(&path);
        fs::write(&path, &bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let subject = Subject::new(&path).timeout(Duration::from_secs(5));
        match start(&subject) {
            Ok(seen) => {
                started += 1;
                let same =
                    seen.entry.header.is_some() && seen.entry.header == seen.entry.address_in_file;
                assert!(same || !seen.notes.is_empty());
                assert_eq!(seen.stack.faults, [""; 0]);
                assert_eq!(seen.stack.end.0, {
                    let last = seen.stack.parts.last().unwrap();
                    last.at.0 + last.bytes
                });
                let page = view::start::page(&[seen]);
                view::table::render(&page, Terminal::default());
                view::markdown::render(&page);
            }
            Err(error) => assert_eq!(error.to_string().lines().count(), 1, "{error}"),
        }
    });
    println!("program: {started} of them could be started");
    assert!(started > 0);
    let left = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let exe = fs::read_link(entry.unwrap().path().join("exe")).ok()?;
        // Of a file that is gone the link says so behind its path.
        exe.starts_with(folder).then_some(exe)
    });
    let left: Vec<PathBuf> = left.collect();
    assert!(left.is_empty(), "left running: {left:?}");
}

/// How long this thread has been running: other than the clock, a busy machine does not change it.
fn processor_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes one timespec.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(result, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Words of 8 bytes.
fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn a_huge_argc_without_any_null_is_a_fault_and_no_hang() {
    let bytes = words(&[u64::MAX; 1000]);
    let stack = Stack::decode(&bytes, Address(0x1000), 8);
    assert_eq!((stack.argc, stack.argv.len()), (u64::MAX, 999));
    assert!(
        stack
            .faults
            .iter()
            .any(|fault| fault.contains("ends before argv"))
    );
    adds_up(&bytes, 0x1000, 8);
}

#[test]
fn a_million_pointers_to_one_long_string_take_no_more_memory_than_the_stack() {
    let string = 0x1000 + 8 * 1_000_005;
    let mut bytes = words(&[1_000_000]);
    bytes.extend(words(&vec![string; 1_000_000]));
    bytes.extend(words(&[0, 0, 0, 0]));
    bytes.extend(vec![b'x'; 1_000_000]);
    bytes.push(0);
    let began = processor_time();
    let stack = Stack::decode(&bytes, Address(0x1000), 8);
    assert!(processor_time() - began < Duration::from_secs(5));
    let found: Vec<_> = stack
        .argv
        .iter()
        .filter_map(|it| it.text.as_ref())
        .collect();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].len(), 1_000_000);
    assert_eq!(
        stack.faults,
        ["999999 of argv point to no string of their own"]
    );
    adds_up(&bytes, 0x1000, 8);
}

#[test]
fn as_many_strings_without_an_end_as_there_is_room_for_take_no_longer_than_one() {
    let count = 500_000;
    let at = 0x1000;
    let first = at + 8 * (count + 5);
    let mut bytes = words(&[count]);
    bytes.extend(words(&(0..count).map(|n| first + n).collect::<Vec<_>>()));
    bytes.extend(words(&[0, 0, 0, 0]));
    bytes.extend(vec![b'x'; 4_000_000]);
    let began = processor_time();
    let stack = Stack::decode(&bytes, Address(at), 8);
    assert!(processor_time() - began < Duration::from_secs(5));
    assert!(stack.argv.iter().all(|it| it.text.is_none()));
    assert_eq!(
        stack.faults,
        [format!("{count} of argv point to no string of their own")]
    );
    adds_up(&bytes, at, 8);
}

#[test]
fn entries_that_are_there_again_and_again_are_read_once() {
    let execfn = 31;
    let mut list = vec![0, 0, 0];
    let count = 200_000u64;
    let first = 0x1000 + 8 * (3 + 2 * count + 2);
    list.extend((0..count).flat_map(|n| [execfn, first + 2 * n]));
    list.extend([0, 0]);
    let mut bytes = words(&list);
    bytes.extend([b'x', 0].repeat(count as usize));
    let began = processor_time();
    let stack = Stack::decode(&bytes, Address(0x1000), 8);
    assert!(processor_time() - began < Duration::from_secs(5));
    assert_eq!(stack.auxv.len(), count as usize);
    adds_up(&bytes, 0x1000, 8);
}

#[test]
fn a_stack_of_no_bytes_or_of_part_of_a_word_is_a_fault() {
    for length in 0..40 {
        for word in [0, 4, 8, 255] {
            adds_up(&vec![0; length], u64::MAX - 39, word);
        }
    }
    let stack = Stack::decode(&[], Address(0), 8);
    assert!(
        stack.faults[0].contains("before argc"),
        "{:?}",
        stack.faults
    );
}
