//! What is left to execve, each with its reason.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use barest::image;

use crate::build::{DYNAMIC, STATIC, chmod, compile, copy, executable, hello};
use crate::common::program;
use crate::outcome::{Outcome, Way, run, say};
use crate::subjects::scratch;

const NO_ARGS: [&str; 0] = [];

/// It is not started in place, for this reason and no other; by itself, it is started by execve,
/// and nobody hears of it unless they ask.
fn refused(target: &Path, reason: &str) {
    let execve = run(Way::Execve, target, &NO_ARGS);
    let only = run(Way::Only, target, &NO_ARGS);
    assert!(!only.status.success(), "{only:?}");
    assert_eq!(only.stdout(), "", "it was started");
    assert_eq!(only.stderr().lines().count(), 1, "{only:?}");
    assert!(only.stderr().contains(reason), "{reason}: {only:?}");
    assert!(only.stderr().contains(target.to_str().unwrap()), "{only:?}");

    assert_eq!(run(Way::Direct, target, &NO_ARGS), execve);
    let explained = run(Way::Explain, target, &NO_ARGS);
    assert_eq!(explained.status, execve.status);
    assert_eq!(explained.stdout, execve.stdout);
    let lines: Vec<_> = explained.stderr().lines().collect();
    assert!(lines[0].contains(reason), "{reason}: {explained:?}");
    assert_eq!(lines[1..].join("\n"), execve.stderr().trim_end());
}

/// The same of a program that execve starts: it prints `hello`.
fn left_to_execve(target: &Path, reason: &str) {
    let execve = run(Way::Execve, target, &NO_ARGS);
    assert_eq!(execve.stdout(), "hello\n", "{execve:?}");
    refused(target, reason);
}

/// What root may do only.
fn root() -> bool {
    // SAFETY: no arguments.
    unsafe { libc::geteuid() == 0 }
}

#[test]
fn what_is_started_in_place_needs_no_explanation() {
    let outcome = run(Way::Explain, hello(), &NO_ARGS);
    assert_eq!(outcome, run(Way::Alone, hello(), &NO_ARGS));
}

const NOT_ELF: &str = "not an ELF program of this machine";

#[test]
fn scripts() {
    left_to_execve(&executable("script", b"#!/bin/sh\necho hello\n"), NOT_ELF);
    refused(&executable("no_interpreter", b"#!/nowhere\n"), NOT_ELF);
}

#[test]
fn files_of_other_formats() {
    refused(&executable("empty", b""), NOT_ELF);
    refused(&executable("text", b"hello\n"), NOT_ELF);
    let mut arm = fs::read(program("true")).unwrap();
    arm[18] = 183; // e_machine: EM_AARCH64
    refused(&executable("arm", &arm), NOT_ELF);
    let object = scratch("object");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/direct/hello.c");
    let gcc = Command::new("gcc")
        .args(["-c", source, "-o"])
        .arg(&object)
        .status();
    assert!(gcc.unwrap().success());
    chmod(&object, 0o755);
    refused(&object, NOT_ELF);
}

#[test]
fn programs_of_32_bits() {
    let target = scratch("i386");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/subjects/i386.c");
    let gcc = Command::new("gcc")
        .args(["-m32", "-static", "-nostdlib", source, "-o"])
        .arg(&target)
        .output()
        .unwrap();
    if gcc.status.success() {
        refused(&target, NOT_ELF);
    } else {
        say("not tested: programs of 32 bits: gcc -m32 does not link: make deps");
    }
}

#[test]
fn set_user_id_and_set_group_id() {
    let reason = "set-user-ID or set-group-ID";
    left_to_execve(&copy(hello(), 0o4755), reason);
    left_to_execve(&copy(hello(), 0o2755), reason);
}

#[test]
fn file_capabilities() {
    let target = copy(hello(), 0o755);
    // struct vfs_cap_data, of revision 2, effective: CAP_NET_RAW (capabilities(7)).
    let mut value = [0u8; 20];
    value[..4].copy_from_slice(&0x0200_0001u32.to_le_bytes());
    value[4..8].copy_from_slice(&(1u32 << 13).to_le_bytes());
    let path = CString::new(target.as_os_str().as_bytes()).unwrap();
    // SAFETY: strings that end in NUL, and a value of the length that it has.
    let set = unsafe {
        libc::setxattr(
            path.as_ptr(),
            c"security.capability".as_ptr(),
            value.as_ptr().cast(),
            value.len(),
            0,
        )
    };
    if set == 0 {
        left_to_execve(&target, "file capabilities");
    } else {
        assert!(!root(), "{}", std::io::Error::last_os_error());
        say("not tested: file capabilities: only root can give them");
    }
}

#[test]
fn no_execute_permission() {
    let reason = "no execute permission";
    refused(&copy(hello(), 0o644), reason);
    refused(&copy(program("true").as_path(), 0o600), reason);
    if root() {
        // To another user, the file may be read and not executed, as its owner or as others may.
        let target = copy(hello(), 0o754);
        for way in [Way::Only, Way::Direct] {
            let outcome = as_nobody(way, &target);
            assert_eq!(outcome.status.code(), Some(126), "{outcome:?}");
            assert_eq!(outcome.stdout(), "");
        }
        assert!(as_nobody(Way::Only, &target).stderr().contains(reason));
    } else {
        say("not tested: no execute permission for another user: only root can become one");
    }
}

/// Runs a target as somebody else, by a copy of the launcher that they can reach.
fn as_nobody(way: Way, target: &Path) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    chmod(folder.path(), 0o755);
    let place = |from: &Path, name: &str| {
        let to = folder.path().join(name);
        // As `fs::copy`, but not while this process may fork.
        let cp = Command::new("cp").arg("-p").args([from, &to]).status();
        assert!(cp.unwrap().success());
        to
    };
    let (launcher, target) = (place(&program("launch"), "launch"), place(target, "target"));
    let mut command = way.command_of(&launcher, &target);
    Outcome::of(command.current_dir("/").uid(65534).gid(65534))
}

#[test]
fn files_that_can_be_executed_but_not_read() {
    let target = copy(hello(), 0o111);
    if root() {
        let outcome = as_nobody(Way::Only, &target);
        assert!(outcome.stderr().contains("EACCES"), "{outcome:?}");
        assert_eq!(outcome.stdout(), "");
        let outcome = as_nobody(Way::Direct, &target);
        assert_eq!(outcome.stdout(), "hello\n", "{outcome:?}");
    } else {
        left_to_execve(&target, "EACCES");
    }
}

#[test]
fn directories_pipes_and_devices() {
    let reason = "not a regular file";
    let folder = scratch("folder");
    fs::create_dir(&folder).unwrap();
    refused(&folder, reason);
    // Opening it must not wait for somebody who writes.
    let pipe = scratch("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::from_bits_truncate(0o755)).unwrap();
    refused(&pipe, reason);
    refused(Path::new("/dev/null"), reason);
}

#[test]
fn what_is_not_there() {
    let missing = scratch("missing");
    for way in [Way::Only, Way::Direct, Way::Execve] {
        assert_eq!(
            run(way, &missing, &NO_ARGS).status.code(),
            Some(127),
            "{way:?}"
        );
    }
    let dangling = scratch("dangling");
    symlink(&missing, &dangling).unwrap();
    assert_eq!(run(Way::Only, &dangling, &NO_ARGS).status.code(), Some(127));
}

#[test]
fn an_executable_stack() {
    for linkage in [STATIC, DYNAMIC] {
        let target = compile("hello.c", linkage, &["-Wl,-z,execstack"]);
        left_to_execve(&target, "executable stack");
    }
}

#[test]
fn an_address_that_is_taken() {
    let reason = "its address is taken";
    let at = image(program("launch")).unwrap().segments[0].address;
    for linkage in [STATIC, crate::build::LINKAGES[2]] {
        let target = compile(
            "hello.c",
            linkage,
            &[&format!("-Wl,-Ttext-segment={at:#x}")],
        );
        left_to_execve(&target, reason);
    }
    // The launcher itself.
    let only = run(Way::Only, &program("launch"), &["--version"]);
    assert!(only.stderr().contains(reason), "{only:?}");
    let direct = run(Way::Direct, &program("launch"), &["--version"]);
    assert_eq!(direct, run(Way::Execve, &program("launch"), &["--version"]));
}

#[test]
fn origin_in_the_run_path() {
    let reason = "$ORIGIN in its run path";
    for path in ["$ORIGIN", "${ORIGIN}/../lib", "/lib:$ORIGIN/lib"] {
        for kind in ["--enable-new-dtags", "--disable-new-dtags"] {
            let target = compile("hello.c", DYNAMIC, &[&format!("-Wl,-rpath,{path},{kind}")]);
            left_to_execve(&target, reason);
        }
    }
    // Any other path is none of the launcher's business.
    let target = compile("hello.c", DYNAMIC, &["-Wl,-rpath,/ORIGIN:/lib"]);
    assert_eq!(run(Way::Only, &target, &NO_ARGS).stdout(), "hello\n");
}

#[test]
fn a_library_that_is_named_by_origin() {
    let folder = scratch("libraries");
    fs::create_dir(&folder).unwrap();
    let library = folder.join("library.so");
    let source = executable("library.c", b"int library(void) { return 7; }");
    let gcc = Command::new("gcc")
        .args([
            "-shared",
            "-fPIC",
            "-Wl,-soname,$ORIGIN/library.so",
            "-x",
            "c",
        ])
        .arg(&source)
        .arg("-o")
        .arg(&library)
        .status();
    assert!(gcc.unwrap().success());
    let main = executable(
        "main.c",
        b"#include <stdio.h>\nint library(void);\nint main(void) { return library() != 7 || puts(\"hello\") < 0; }",
    );
    let target = folder.join("target");
    let gcc = Command::new("gcc")
        .args(["-x", "c"])
        .arg(&main)
        .args(["-x", "none"])
        .arg(&library)
        .arg("-o")
        .arg(&target)
        .status();
    assert!(gcc.unwrap().success());
    left_to_execve(&target, "$ORIGIN in its run path");
}

#[test]
fn java_finds_its_libraries() {
    let Ok(version) = Command::new("java").arg("-version").output() else {
        return say("not tested: java: not installed");
    };
    let path = std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|folder| folder.join("java"))
        .find(|path| path.is_file())
        .unwrap();
    let direct = run(Way::Direct, &path, &["-version"]);
    assert_eq!(
        (direct.status, direct.stderr),
        (version.status, version.stderr)
    );
}

#[test]
fn an_interpreter_that_is_missing_or_is_none() {
    let reason = "its interpreter cannot be mapped";
    let with = |interpreter: &Path| {
        let flag = format!("-Wl,--dynamic-linker={}", interpreter.display());
        compile("hello.c", DYNAMIC, &[&flag])
    };
    refused(&with(Path::new("/nowhere")), reason);
    refused(&with(Path::new("/")), reason);
    refused(&with(&executable("text", b"hello\n")), reason);
    let interpreter = PathBuf::from("/lib64/ld-linux-x86-64.so.2");
    refused(&with(&copy(&interpreter, 0o644)), reason);
    // What its file would give as a program counts for nothing.
    let target = with(&copy(&interpreter, 0o6755));
    assert_eq!(run(Way::Only, &target, &NO_ARGS).stdout(), "hello\n");
    // A path that fits behind the program headers, and one that does not.
    let long = |times| {
        let path = format!("/lib64/{}ld-linux-x86-64.so.2", "./".repeat(times));
        with(Path::new(&path))
    };
    assert_eq!(run(Way::Only, &long(50), &NO_ARGS).stdout(), "hello\n");
    left_to_execve(&long(500), reason);
}

#[test]
fn more_program_headers_than_there_is_room_for() {
    // A PT_NULL is nothing, and may come as often as it likes.
    let file = fs::read(program("hello")).unwrap();
    let with = |count: usize| {
        let mut more = file[..64].to_vec();
        let old = u16::from_le_bytes(file[56..58].try_into().unwrap()) as usize;
        more[56..58].copy_from_slice(&(count as u16).to_le_bytes());
        let mut segments = file[64..64 + 56 * old].to_vec();
        segments.resize(56 * count, 0);
        // What is behind the headers moves, in the file and so in memory.
        let moved = (56 * (count - old)) as u64;
        let grow = |at: usize, bytes: &mut [u8]| {
            let value = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
            bytes[at..at + 8].copy_from_slice(&(value + moved).to_le_bytes());
        };
        grow(32, &mut segments); // p_filesz
        grow(40, &mut segments); // p_memsz
        grow(24, &mut more); // e_entry
        more.extend(segments);
        more.extend(&file[64 + 56 * old..]);
        executable("segments", &more)
    };
    let most = with(17);
    assert_eq!(run(Way::Alone, &most, &NO_ARGS).stdout(), "hello, world\n");
    assert_eq!(run(Way::Only, &most, &NO_ARGS).stdout(), "hello, world\n");
    refused(&with(18), "unusual or malformed headers");
}

#[test]
fn segments_that_are_none_or_go_beyond_the_file() {
    let reason = "unusual or malformed headers";
    let file = fs::read(program("true")).unwrap();
    let mut none = file.clone();
    none[64] = 0; // p_type: PT_NULL
    refused(&executable("none", &none), reason);
    refused(&executable("short", &file[..file.len() - 1]), reason);
    let mut long = file.clone();
    long.extend([0; 9]);
    assert_eq!(
        run(Way::Only, &executable("long", &long), &NO_ARGS)
            .status
            .code(),
        Some(0)
    );
}

#[test]
fn a_launcher_with_more_rights_than_its_caller() {
    let reason = "secure-execution mode";
    if !root() {
        return say(
            "not tested: a launcher with more rights than its caller: only root can make one",
        );
    }
    let folder = tempfile::tempdir().unwrap();
    chmod(folder.path(), 0o755);
    let launcher = folder.path().join("launch");
    let cp = Command::new("cp")
        .arg(program("launch"))
        .arg(&launcher)
        .status();
    assert!(cp.unwrap().success());
    let group = Some(nix::unistd::Gid::from_raw(1));
    nix::unistd::chown(&launcher, None, group).unwrap();
    chmod(&launcher, 0o2755);
    let target = folder.path().join("hello");
    let cp = Command::new("cp").arg(hello()).arg(&target).status();
    assert!(cp.unwrap().success());
    let mut command = Way::Only.command_of(&launcher, &target);
    let only = Outcome::of(command.uid(65534).gid(65534).current_dir("/"));
    assert!(only.stderr().contains(reason), "{only:?}");
    let mut command = Way::Direct.command_of(&launcher, &target);
    let direct = Outcome::of(command.uid(65534).gid(65534).current_dir("/"));
    assert_eq!(direct.stdout(), "hello\n", "{direct:?}");
}
