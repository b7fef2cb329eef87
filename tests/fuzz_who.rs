//! Whatever a file, a program's memory or its call frame information holds: reading it ends, soon,
//! without a panic.
//!
//! Each target runs for a second, or for as many as `FUZZ_SECONDS` says; `FUZZ_SEED` repeats
//! one run. A finding names the seed and becomes a test of its own, below.

use std::ffi::c_void;
use std::fs;
use std::path::Path;
use std::process::Command;

use barest::image::image;
use barest::who::fuzz;

#[path = "common/fuzz.rs"]
mod tries;
use tries::{Random, fuzz as attempt};

/// A small program, and an object file, made for this test.
fn originals() -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/subjects/stacks.c");
    let built = |flags: &[&str]| {
        let path = folder.path().join("program");
        let status = Command::new("gcc")
            .args(flags)
            .arg("-o")
            .arg(&path)
            .arg(&source)
            .status();
        assert!(status.unwrap().success());
        fs::read(path).unwrap()
    };
    vec![
        built(&["-O2"]),
        built(&["-O2", "-c"]),
        built(&["-O2", "-s", "-no-pie"]),
    ]
}

/// Addresses that a file could have code at.
fn addresses(random: &mut Random) -> Vec<u64> {
    (0..8)
        .map(|_| random.number())
        .chain(0x1000..0x1008)
        .collect()
}

#[test]
fn a_file_of_any_bytes_is_read() {
    let originals = originals();
    assert!(fuzz::elf(&originals[0], &(0x1000..0x1200).collect::<Vec<_>>()) > 10);
    attempt("elf", |random| {
        let mut bytes = match random.below(8) {
            0 => (0..random.below(512))
                .map(|_| random.next() as u8)
                .collect(),
            _ => originals[random.below(originals.len())].clone(),
        };
        // The header, the tables that it points to, or anything.
        match random.below(3) {
            0 => random.change(&mut bytes, 64),
            1 => random.change(&mut bytes, 64 + 14 * 56),
            _ => {
                let within = bytes.len();
                random.change(&mut bytes, within);
            }
        }
        let addresses = addresses(random);
        fuzz::elf(&bytes, &addresses);
    });
}

/// The sections `.eh_frame` and `.eh_frame_hdr` of a file, each with its address.
fn sections(path: &Path) -> [(u64, Vec<u8>); 2] {
    let output = Command::new("readelf")
        .args(["-SW"])
        .arg(path)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let bytes = fs::read(path).unwrap();
    [".eh_frame", ".eh_frame_hdr"].map(|name| {
        let line = text
            .lines()
            .find(|line| line.split_whitespace().any(|word| word == name));
        let words: Vec<_> = line.unwrap().split_whitespace().collect();
        let at = words.iter().position(|word| *word == name).unwrap();
        let number = |at: usize| usize::from_str_radix(words[at], 16).unwrap();
        let (address, offset, size) = (number(at + 2), number(at + 3), number(at + 4));
        (address as u64, bytes[offset..offset + size].to_vec())
    })
}

#[test]
fn call_frame_information_of_any_bytes_unwinds_any_stack() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let program = folder.path().join("program");
    fs::write(&program, &originals()[0]).unwrap();
    let loader = image(&program).unwrap().interpreter.unwrap();
    let files = [sections(&program), sections(Path::new(&loader))];
    const STACK: u64 = 0x7fff_0000;
    let mut deepest = 0;
    attempt("eh_frame", |random| {
        let [mut entries, mut header] = files[random.below(files.len())].clone();
        let covered = 0x1000..entries.0;
        if random.below(8) > 0 {
            let within = entries.1.len();
            random.change(&mut entries.1, within);
        }
        match random.below(4) {
            0 => random.change(&mut header.1, 16),
            1 => random.change(&mut header.1, 4096),
            _ => {}
        }
        let code =
            |random: &mut Random| covered.start + random.next() % (covered.end - covered.start);
        let words: Vec<u64> = (0..random.below(512))
            .map(|_| match random.below(4) {
                0 => random.number(),
                1 => STACK + random.next() % 4096,
                _ => code(random),
            })
            .collect();
        let mut registers = [0; 17];
        for register in &mut registers {
            *register = match random.below(3) {
                0 => random.number(),
                _ => STACK + random.next() % 4096 / 8 * 8,
            };
        }
        registers[16] = code(random);
        let header = (random.below(3) > 0).then_some((header.0, &*header.1));
        let frames = fuzz::eh_frame((entries.0, &entries.1), header, registers, (STACK, &words));
        deepest = deepest.max(frames);
    });
    assert!(deepest > 3, "only {deepest} frames: nothing was unwound");
}

#[test]
fn an_auxiliary_vector_of_any_bytes_is_read() {
    let own = fs::read("/proc/self/auxv").unwrap();
    assert!(fuzz::auxv(&own).contains_key(&libc::AT_ENTRY));
    attempt("auxv", |random| {
        let mut bytes = own.clone();
        let within = bytes.len();
        random.change(&mut bytes, within);
        assert!(fuzz::auxv(&bytes).len() * 16 <= bytes.len());
    });
}

#[test]
fn an_archive_of_any_bytes_is_read() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (object, path) = (folder.path().join("stacks.o"), folder.path().join("lib.a"));
    fs::write(&object, &originals()[1]).unwrap();
    let status = Command::new("ar")
        .arg("rcs")
        .arg(&path)
        .arg(&object)
        .status()
        .unwrap();
    assert!(status.success());
    let own = fs::read(path).unwrap();
    assert!(fuzz::archive(&own) > 3);
    attempt("archive", |random| {
        let mut bytes = own.clone();
        let within = [100, 300, bytes.len()][random.below(3)];
        random.change(&mut bytes, within);
        fuzz::archive(&bytes);
    });
}

#[test]
fn the_arguments_of_any_call_are_shown() {
    let mut memory = vec![0u8; 1 << 13];
    attempt("arguments", |random| {
        for byte in &mut memory {
            *byte = if random.below(4) == 0 {
                0
            } else {
                random.next() as u8
            };
        }
        let at = memory.as_ptr() as u64;
        let mut args = [0; 6];
        for arg in &mut args {
            *arg = match random.below(3) {
                0 => random.number(),
                1 => at + random.next() % memory.len() as u64,
                _ => random.next() % 16,
            };
        }
        // Pointers within what is pointed to.
        for word in memory.as_chunks_mut::<8>().0.iter_mut().step_by(5) {
            *word = (at + random.next() % 4096).to_le_bytes();
        }
        let number = random.next() % 460;
        let result = match random.below(3) {
            0 => None,
            1 => Some(-(random.below(600) as i64)),
            _ => Some(random.number() as i64),
        };
        let shown = fuzz::arguments(number as i64, args, result);
        assert!(shown.len() <= 6);
        assert!(shown.iter().all(|text| text.len() < 32 << 10), "{shown:?}");
    });
    let here: *const c_void = memory.as_ptr().cast();
    assert!(!here.is_null());
}

#[test]
fn names_of_any_letters_are_shown() {
    let originals = [
        "_ZN4core3ptr85drop_in_place$LT$std..rt..lang_start$LT$$LP$$RP$$GT$..$u7b$$u7b$closure$u7d$$u7d$$GT$17h0123456789abcdefE",
        "_RNvXs5_NtNtCs1_3std2io5stdioNtB5_6StdoutNtB7_5Write9write_all",
        "_ZNSt6vectorISsSaISsEE9push_backERKSs",
        "_ZN1AIXadL_Z1fIiEvT_EEE1gEv",
    ];
    attempt("names", |random| {
        let mut bytes = originals[random.below(originals.len())].as_bytes().to_vec();
        for _ in 0..=random.below(6) {
            let place = random.below(bytes.len());
            match random.below(4) {
                0 => bytes[place] = b'!' + random.below(94) as u8,
                1 => bytes.insert(place, b"_0123456789EINSTZRLX$.KP"[random.below(24)]),
                2 if bytes.len() > 4 => drop(bytes.remove(place)),
                _ => {
                    let end = (place + random.below(20)).min(bytes.len());
                    let again = bytes[place..end].to_vec();
                    bytes.extend(again);
                }
            }
        }
        fuzz::name(&String::from_utf8(bytes).unwrap());
    });
}
