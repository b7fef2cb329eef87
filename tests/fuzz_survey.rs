//! Whatever the files hold that a survey reads, reading them ends, soon, without a panic.
//!
//! Each target runs for a second, or for as many as `FUZZ_SECONDS` says; `FUZZ_SEED` repeats
//! one run. A finding names the seed and becomes a test of its own, below.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use barest::image::Endian;
use barest::survey::symbols::{Symbols, symbols};
use barest::survey::{Root, fuzz};

#[path = "common/fuzz.rs"]
mod tries;
use tries::{Random, fuzz as attempt};

#[path = "survey/cache.rs"]
mod cache;
use cache::Entry;

/// Caches of both layouts and both byte orders.
fn caches() -> Vec<(Vec<u8>, Endian)> {
    let entries = [
        Entry::new(0x303, "libb.so.2", "/one/libb.so.2"),
        Entry::new(
            0x303,
            "liba.so.10",
            "/one/glibc-hwcaps/x86-64-v3/liba.so.10",
        )
        .hwcap(2, 0),
        Entry::new(0x303, "liba.so.10", "/one/liba.so.10"),
        Entry::new(3, "liba.so.1", "/two/liba.so.1"),
    ];
    let names = ["x86-64-v2", "x86-64-v3"];
    let mut caches = vec![(cache::old(&entries), Endian::Little)];
    for endian in [Endian::Little, Endian::Big] {
        caches.push((cache::new(&entries, &names, endian), endian));
    }
    caches.push((cache::both(&entries, &names), Endian::Little));
    caches
}

#[test]
fn a_cache_of_any_bytes_is_read() {
    let caches = caches();
    for (bytes, endian) in &caches {
        assert_eq!(fuzz::cache(bytes, *endian), (3, Vec::new()));
    }
    attempt("cache", |random| {
        let (mut bytes, mut endian) = caches[random.below(caches.len())].clone();
        if random.below(16) == 0 {
            endian = Endian::Big;
        }
        let within = [48, 160, bytes.len()][random.below(3)];
        random.change(&mut bytes, within);
        let (names, _) = fuzz::cache(&bytes, endian);
        assert!(names <= bytes.len() / 12);
    });
}

#[test]
fn a_loader_of_any_bytes_is_read() {
    let mut own = vec![0; 64];
    own.extend(7u64.to_le_bytes());
    own.extend(11u64.to_le_bytes());
    own.extend(b"/lib64/\0/usr/lib64/\0\0/etc/ld.so.cache\0/etc/ld.so.preload\0");
    own.extend(b"x86-64-v4:x86-64-v3:x86-64-v2\0lib64\0");
    let folders = Some(vec![b"/lib64/".to_vec(), b"/usr/lib64/".to_vec()]);
    assert_eq!(fuzz::loader(&own, 64, Endian::Little), folders);
    attempt("loader", |random| {
        let mut bytes = own.clone();
        for _ in 0..random.below(4) {
            bytes.extend_from_within(64..own.len());
        }
        let within = bytes.len();
        random.change(&mut bytes, within);
        let bits = [32, 64][random.below(2)];
        let endian = [Endian::Little, Endian::Big][random.below(2)];
        fuzz::loader(&bytes, bits, endian);
    });
}

/// Text made of these parts.
fn text(random: &mut Random, parts: &[&[u8]]) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..random.below(24) {
        match random.below(8) {
            0 => text.push(random.next() as u8),
            _ => text.extend_from_slice(parts[random.below(parts.len())]),
        }
    }
    text
}

#[test]
fn a_list_of_folders_of_any_bytes_is_read() {
    // glibc looks in three of them, musl in two.
    assert_eq!(fuzz::folders(b"$ORIGIN/x:/y:", false), 5);
    let parts: [&[u8]; 14] = [
        b"$",
        b"{",
        b"}",
        b"$ORIGIN",
        b"${ORIGIN}",
        b"$LIB",
        b"${LIB",
        b"$PLATFORM",
        b":",
        b"/",
        b"..",
        b"\n",
        b"lib",
        b"$$",
    ];
    attempt("folders", |random| {
        let list = text(random, &parts);
        let most = list.len() * 2 + 2;
        assert!(fuzz::folders(&list, random.below(2) == 0) <= most);
    });
}

#[test]
fn a_preload_file_of_any_bytes_is_read() {
    assert_eq!(fuzz::preload(b"a b:c\t# d\n/e/f # g"), 4);
    let parts: [&[u8]; 7] = [b"#", b"\n", b":", b" ", b"\t", b"liba.so", b"/lib/"];
    attempt("preload", |random| {
        let list = text(random, &parts);
        assert!(fuzz::preload(&list) <= list.len());
    });
}

/// A library with versions, and a program that uses two of its symbols, both as small as can be.
fn library_and_program(hash: &str) -> (tempfile::TempDir, [(PathBuf, Vec<u8>); 2]) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let built = |name: &str, source: &str, args: &[&str]| {
        let path = folder.path().join(name);
        let code = folder.path().join("source.c");
        fs::write(&code, source).unwrap();
        let mut command = Command::new("gcc");
        command.args([
            "-nostdlib",
            "-s",
            "-Wl,-z,noseparate-code,--build-id=none,-rpath,$ORIGIN",
        ]);
        command
            .arg(format!("-Wl,--hash-style={hash}"))
            .args(["-o", name, "source.c"]);
        let status = command.args(args).current_dir(&folder).status();
        assert!(status.unwrap().success());
        (path.clone(), fs::read(path).unwrap())
    };
    fs::write(
        folder.path().join("map"),
        "V1 { global: f; local: *; }; V2 { global: f; d; } V1;",
    )
    .unwrap();
    let library = built(
        "libx.so",
        "int f_1(void) { return 1; } int f_2(void) { return 2; } int d = 3;
         __asm__(\".symver f_1,f@V1\"); __asm__(\".symver f_2,f@@V2\");",
        &["-shared", "-fPIC", "-Wl,--version-script=map"],
    );
    let program = built(
        "program",
        "extern int f(void), d; int *p = &d; void _start(void) { f(); }",
        &["-fPIC", "-pie", "libx.so"],
    );
    (folder, [library, program])
}

#[test]
fn a_library_and_a_program_of_any_bytes_are_bound() {
    let used = |found: &Symbols| found.programs.iter().map(|it| it.used).collect::<Vec<_>>();
    let pairs = ["gnu", "sysv", "both"].map(library_and_program);
    let survey =
        |program: &PathBuf| symbols(&Root::here(), std::slice::from_ref(program), &|_| {}).unwrap();
    for (_, [_, (program, _)]) in &pairs {
        assert_eq!(used(&survey(program)), [2]);
    }
    attempt("symbols", |random| {
        let (_, pair) = &pairs[random.below(pairs.len())];
        let (path, whole) = &pair[random.below(2)];
        let mut bytes = whole.clone();
        // The headers, the tables after them, or anything.
        let within = [64 + 9 * 56, 0x600, bytes.len()][random.below(3)];
        random.change(&mut bytes, within);
        fs::write(path, bytes).unwrap();
        let found = survey(&pair[1].0);
        fs::write(path, whole).unwrap();
        for program in &found.programs {
            assert!(program.used <= program.exported, "{found:?}");
        }
    });
}

#[test]
fn the_symbols_of_any_bytes_are_read() {
    let pairs = ["gnu", "sysv", "both"].map(library_and_program);
    let files = pairs.iter().flat_map(|(_, pair)| pair.iter());
    let files: Vec<&Vec<u8>> = files.map(|(_, bytes)| bytes).collect();
    // f twice, and d; the program names f and d.
    assert_eq!(fuzz::symbols(files[0]).unwrap().0, 3);
    assert_eq!(fuzz::symbols(files[1]).unwrap().1, 2);
    attempt("symbol tables", |random| {
        let mut bytes = files[random.below(files.len())].clone();
        let within = [64 + 9 * 56, 0x600, bytes.len()][random.below(3)];
        random.change(&mut bytes, within);
        // There is a byte at least for each of them.
        if let Ok((on_offer, named)) = fuzz::symbols(&bytes) {
            assert!(on_offer + named as u64 <= bytes.len() as u64);
        }
    });
}
