//! What the layouts promise of the files they make, whichever linker makes them.

mod common;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use common::{PROGRAMS, build, cargo, folder, our_segments, program, segments, succeed, target};
use object::{Object, ObjectSection};

/// The programs of a profile as another linker makes them.
fn by(linker: &str, profile: &str) -> PathBuf {
    let folder = target().join("by").join(linker);
    succeed(
        cargo()
            .args(["build", "-p", "bins", "--profile", profile, "--target-dir"])
            .arg(&folder)
            .env("RUSTFLAGS", format!("-Clink-arg=-fuse-ld={linker}")),
    );
    folder.join(profile)
}

#[test]
fn gnu_ld_and_rust_lld_write_the_same_bytes() {
    let (bfd, lld) = (by("bfd", "bare"), by("lld", "bare"));
    for name in PROGRAMS {
        let ours = fs::read(program(name)).unwrap();
        assert!(
            fs::read(bfd.join(name)).unwrap() == ours,
            "{name}: GNU ld differs"
        );
        assert!(
            fs::read(lld.join(name)).unwrap() == ours,
            "{name}: rust-lld differs"
        );
    }
}

#[test]
fn every_profile_links_and_its_programs_run() {
    for (profile, folder) in [
        ("dev", "debug"),
        ("release", "release"),
        ("bare", "bare"),
        ("elf", "elf"),
    ] {
        build(profile);
        for (name, status) in [
            ("true", 0),
            ("false", 1),
            ("golf", 0),
            ("hello", 0),
            ("stack", 0),
            ("exec", 125),
            ("launch", 125),
        ] {
            let path = target().join(folder).join(name);
            let output = Command::new(&path).output().unwrap();
            assert_eq!(output.status.code(), Some(status), "{}", path.display());
        }
    }
}

/// The programs as ordinary ELF files.
fn ordinary(name: &str) -> PathBuf {
    build("elf");
    target().join("elf").join(name)
}

#[test]
fn the_layout_elf_has_sections_and_symbols_and_the_same_two_segments() {
    for name in PROGRAMS {
        let image = barest::image(ordinary(name)).unwrap();
        assert!(image.sections.unwrap() > 5, "{name}");
        assert!(image.symbols.unwrap() > 0, "{name}");
        assert!(image.write_xor_execute, "{name}");
        assert_eq!(segments(&image), our_segments(), "{name}");
    }
}

#[test]
fn objdump_shows_the_entry_by_its_name_and_source() {
    for name in PROGRAMS {
        let text = succeed(
            Command::new("objdump")
                .args(["-d", "-l"])
                .arg(ordinary(name)),
        );
        assert!(text.contains("<_start>:"), "{name}: {text}");
    }
    let hello = succeed(
        Command::new("objdump")
            .args(["-d", "-l"])
            .arg(ordinary("hello")),
    );
    assert!(hello.contains("hello.rs:"), "{hello}");
}

#[test]
fn gdb_stops_at_the_entry_and_steps_from_there_into_the_rust_source() {
    let script = [
        "set debuginfod enabled off",
        "starti",
        "info symbol $pc",
        "catch syscall write",
        "continue",
        "backtrace",
    ];
    let mut gdb = Command::new("gdb");
    gdb.args(["-batch", "-nx"]);
    for line in script {
        gdb.args(["-ex", line]);
    }
    let text = succeed(gdb.arg(ordinary("hello")));
    assert!(text.contains("_start in section .text"), "{text}");
    // The line of bins/hello.rs that writes, seen from inside the system call.
    let frames = text
        .split("(call to syscall write)")
        .nth(1)
        .unwrap_or(&text);
    assert!(frames.contains("shims::call::write"), "{text}");
    assert!(frames.contains("bins/hello.rs:"), "{text}");
}

#[test]
fn the_code_is_the_same_in_both_layouts() {
    for name in PROGRAMS.into_iter().filter(|&name| name != "golf") {
        let bare = fs::read(program(name)).unwrap();
        let elf = fs::read(ordinary(name)).unwrap();
        let elf = object::File::parse(&*elf).unwrap();
        let text = elf.section_by_name(".text").unwrap();
        let code = text.data().unwrap();
        // Both are mapped from the start of a page on, and the headers are of the same size.
        let at = text.address() as usize % 4096;
        assert_eq!(at, 176, "{name}");
        assert!(bare[at..].starts_with(code), "{name}");
    }
}

#[test]
fn a_build_does_not_depend_on_the_folder_it_is_in() {
    let elsewhere = folder("elsewhere").join("a folder, with spaces");
    succeed(
        cargo()
            .args(["build", "-p", "bins", "--profile", "bare", "--target-dir"])
            .arg(&elsewhere),
    );
    for name in PROGRAMS {
        assert!(
            fs::read(elsewhere.join("bare").join(name)).unwrap()
                == fs::read(program(name)).unwrap(),
            "{name}"
        );
    }
}
