//! What `walk` finds in hand-made trees: each program once, and what cannot be read by its name.

use crate::common;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, mpsc};
use std::thread;
use std::time::Duration;

use assert_cmd::cargo::cargo_bin_cmd;
use barest::survey::Root;
use barest::survey::walk::{Kind, Programs, default_paths, walk};
use common::{folder, succeed};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

/// Longer than any walk takes here: one that is not done by then hangs.
const HANGS: Duration = Duration::from_secs(60);

/// What is below some paths, in this system or in one in a folder. Fails if the walk does not end.
fn walked(root: Option<&Path>, paths: &[&Path]) -> barest::Result<Programs> {
    let root = root.map(Path::to_owned);
    let paths: Vec<PathBuf> = paths.iter().map(|path| path.to_path_buf()).collect();
    let (done, wait) = mpsc::channel();
    thread::spawn(move || {
        let root = match &root {
            Some(folder) => Root::at(folder).unwrap(),
            None => Root::here(),
        };
        done.send(walk(&root, &paths, &|_| ())).unwrap();
    });
    wait.recv_timeout(HANGS).expect("the walk hangs")
}

fn below(folder: &Path) -> Programs {
    walked(None, &[folder]).unwrap()
}

/// A path within a folder.
fn within(path: &Path, folder: &Path) -> String {
    let name = path.strip_prefix(folder).unwrap();
    name.to_str().unwrap().to_owned()
}

/// The kind of each program, by its path within a folder.
fn kinds(programs: &Programs, folder: &Path) -> BTreeMap<String, Kind> {
    let list = programs.list.iter();
    list.map(|program| (within(&program.path, folder), program.kind))
        .collect()
}

/// The programs, in their order.
fn names(programs: &Programs, folder: &Path) -> Vec<String> {
    let list = programs.list.iter();
    list.map(|program| within(&program.path, folder)).collect()
}

/// The files that could not be read, and why, in their order.
fn unread(programs: &Programs, folder: &Path) -> Vec<(String, String)> {
    let list = programs.unread.iter();
    list.map(|unread| (within(&unread.path, folder), unread.reason.clone()))
        .collect()
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A file that may be executed.
fn written(path: PathBuf, content: impl AsRef<[u8]>) -> PathBuf {
    fs::write(&path, content).unwrap();
    set_mode(&path, 0o755);
    path
}

/// What gcc makes of a source with these flags.
fn built_of(source: &str, path: PathBuf, flags: &[&str]) -> PathBuf {
    let file = path.with_extension("c");
    fs::write(&file, source).unwrap();
    succeed(
        Command::new("gcc")
            .args(flags)
            .arg("-o")
            .args([&path, &file]),
    );
    fs::remove_file(file).unwrap();
    set_mode(&path, 0o755);
    path
}

/// What gcc makes of a program that does nothing.
fn built(path: PathBuf, flags: &[&str]) -> PathBuf {
    built_of("int main(void) { return 0; }\n", path, flags)
}

/// A static program of the smallest kind: an ELF header and one program header.
fn tiny() -> Vec<u8> {
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    for half in [2u16, 62] {
        file.extend(half.to_le_bytes()); // ET_EXEC, EM_X86_64
    }
    file.extend(1u32.to_le_bytes());
    for word in [0x40_0078u64, 64, 0] {
        file.extend(word.to_le_bytes()); // e_entry, e_phoff, e_shoff
    }
    file.extend(0u32.to_le_bytes());
    for half in [64u16, 56, 1, 0, 0, 0] {
        file.extend(half.to_le_bytes());
    }
    for word in [1u32, 5] {
        file.extend(word.to_le_bytes()); // PT_LOAD, r-x
    }
    for word in [0u64, 0x40_0000, 0x40_0000, 120, 120, 0x1000] {
        file.extend(word.to_le_bytes());
    }
    file
}

#[test]
fn programs_are_told_by_kind_whatever_they_look_like() {
    let folder = folder("walk-kinds");
    let at = |name: &str| folder.join(name);
    built(at("dynamic"), &["-pie"]);
    built(at("dynamic-fixed"), &["-no-pie"]);
    built(at("dynamic-32"), &["-m32", "-pie"]);
    built(at("static"), &["-static", "-no-pie"]);
    built(at("static-pie"), &["-static-pie"]);
    let library = ["-shared", "-fPIC", "-Wl,-soname,library.so"];
    built(at("library"), &library);
    // With an interpreter and without the mark of a PIE, both are linked as libraries are. One
    // has a name that others link to, as libc.so.6 has; the other is a program.
    let source = r#"const char interpreter[] __attribute__((section(".interp"))) = "/lib64/ld.so";
        int main(void) { return 0; }"#;
    built_of(source, at("library-that-runs"), &library);
    built_of(source, at("pie-like-a-library"), &["-shared", "-fPIC"]);
    built(at("object"), &["-c"]);
    written(at("script"), "#!/bin/sh\n");
    written(at("text"), "echo hello\n");
    written(at("empty"), "");
    written(at("one-byte"), "#");
    fs::write(at("nobody-may-execute-it"), "#!/bin/sh\n").unwrap();

    let programs = below(&folder);
    assert_eq!(
        kinds(&programs, &folder),
        BTreeMap::from(
            [
                ("dynamic", Kind::Dynamic),
                ("dynamic-fixed", Kind::Dynamic),
                ("dynamic-32", Kind::Dynamic),
                ("static", Kind::Static),
                ("static-pie", Kind::StaticPie),
                ("library", Kind::Library),
                ("library-that-runs", Kind::Library),
                ("pie-like-a-library", Kind::Dynamic),
                ("object", Kind::Other),
                ("script", Kind::Script),
                ("text", Kind::Other),
                ("empty", Kind::Other),
                ("one-byte", Kind::Other),
            ]
            .map(|(name, kind)| (name.to_owned(), kind))
        )
    );
    assert_eq!((programs.other_names, programs.unread), (0, vec![]));
    for program in &programs.list {
        assert_eq!(program.bytes, fs::metadata(&program.path).unwrap().len());
        let whole = program.image.as_ref().map(|image| image.bytes);
        assert!(whole.is_none_or(|bytes| bytes == program.bytes));
    }
}

#[test]
fn a_damaged_or_cut_file_is_counted_as_other_and_named_with_the_reason() {
    let folder = folder("walk-damaged");
    let at = |name: &str| folder.join(name);
    let whole = fs::read(built(at("whole"), &["-pie"])).unwrap();
    written(at("cut-after-magic"), &whole[..4]);
    written(at("cut-in-header"), &whole[..40]);
    written(at("cut-in-program-headers"), &whole[..100]);
    written(at("cut-in-half"), &whole[..whole.len() / 4]);
    let mut damaged = whole.clone();
    damaged[32..40].fill(0xff); // e_phoff
    written(at("damaged"), damaged);

    let programs = below(&folder);
    let damaged = [
        "cut-after-magic",
        "cut-in-half",
        "cut-in-header",
        "cut-in-program-headers",
        "damaged",
    ];
    for program in &programs.list {
        let name = within(&program.path, &folder);
        let expected = if name == "whole" {
            Kind::Dynamic
        } else {
            Kind::Other
        };
        assert_eq!(program.kind, expected, "{name}");
        assert_eq!(program.image.is_some(), name == "whole", "{name}");
    }
    assert_eq!(programs.list.len(), damaged.len() + 1);
    let unread = unread(&programs, &folder);
    let names: Vec<&str> = unread.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, damaged);
    for (name, reason) in &unread {
        let says = reason.contains("damaged") || reason.contains("cut short");
        assert!(says && !reason.contains('\n'), "{name}: {reason}");
    }
}

#[test]
fn a_fifo_a_socket_and_a_device_are_no_programs_and_never_opened() {
    let folder = folder("walk-special");
    // The name of a socket is at most 108 bytes long (unix(7)): not in this folder.
    let short = tempfile::TempDir::new().unwrap();
    let fifo = folder.join("fifo");
    mkfifo(&fifo, Mode::from_bits_truncate(0o755)).unwrap();
    let socket = short.path().join("socket");
    let _socket = UnixListener::bind(&socket).unwrap();
    set_mode(&socket, 0o755);
    symlink(&socket, folder.join("to-a-socket")).unwrap();
    symlink("fifo", folder.join("to-a-fifo")).unwrap();
    symlink("/dev/null", folder.join("to-a-device")).unwrap();
    written(folder.join("script"), "#!/bin/sh\n");

    for paths in [
        &[&*folder, short.path()][..],
        &[&folder, short.path(), &fifo],
    ] {
        let programs = walked(None, paths).unwrap();
        assert_eq!(names(&programs, &folder), ["script"]);
    }
    // One that is named is said to be none.
    let named = walked(None, &[&fifo, &socket, Path::new("/dev/null")]).unwrap();
    let said: Vec<_> = named.unread.iter().map(|unread| &unread.reason).collect();
    assert!(named.list.is_empty());
    assert_eq!(said.len(), 3);
    for what in [
        "a FIFO, no program",
        "a socket, no program",
        "a device, no program",
    ] {
        assert!(said.iter().any(|reason| *reason == what), "{said:?}");
    }

    let log = folder.join("log");
    succeed(
        Command::new("strace")
            .args(["-f", "-e", "trace=open,openat,openat2", "-o"])
            .arg(&log)
            .arg(env!("CARGO_BIN_EXE_barest"))
            .args(["survey", "libraries"])
            .args([&folder, &short.path().to_owned()]),
    );
    let log = fs::read_to_string(log).unwrap();
    assert!(log.contains("/script\""), "{log}");
    assert!(!log.contains("/fifo\"") && !log.contains("/to-a-"), "{log}");
    assert!(
        !log.contains("/socket\"") && !log.contains("\"/dev/null\""),
        "{log}"
    );
}

#[test]
fn each_file_is_counted_once_and_its_other_names_are_counted() {
    let folder = folder("walk-names");
    let at = |name: &str| folder.join(name);
    fs::create_dir_all(at("bin/deeper")).unwrap();
    fs::create_dir(at("alternatives")).unwrap();
    written(at("bin/zebra"), "#!/bin/sh\n");
    fs::hard_link(at("bin/zebra"), at("bin/horse")).unwrap();
    fs::hard_link(at("bin/zebra"), at("bin/deeper/striped")).unwrap();
    written(at("bin/mawk"), "#!/bin/sh\n");
    symlink("mawk", at("bin/a-link-is-no-name-of-its-own")).unwrap();
    symlink(at("bin/mawk"), at("alternatives/awk")).unwrap();
    symlink("../alternatives/awk", at("bin/awk")).unwrap();
    written(at("bin/deeper/other"), "#!/bin/sh\n");
    // Folders that are met again, and circles.
    symlink(".", at("bin/X11")).unwrap();
    symlink("..", at("bin/deeper/up")).unwrap();
    symlink("bin", at("sbin")).unwrap();
    // What leads nowhere.
    symlink("itself", at("bin/itself")).unwrap();
    symlink("pong", at("bin/ping")).unwrap();
    symlink("ping", at("bin/pong")).unwrap();
    symlink("nowhere", at("bin/dangling")).unwrap();
    symlink("mawk/in-a-file", at("bin/through-a-file")).unwrap();

    let programs = below(&folder);
    // Of the hard links, the first byte by byte: that of `bin/deeper/` is before `bin/horse`.
    assert_eq!(
        names(&programs, &folder),
        ["bin/deeper/other", "bin/deeper/striped", "bin/mawk"]
    );
    // zebra and horse; three links to mawk; X11, up and sbin.
    assert_eq!((programs.other_names, programs.unread), (8, vec![]));
}

#[test]
fn which_name_is_kept_does_not_depend_on_the_order_of_the_paths() {
    let folder = folder("walk-order");
    let (a, b) = (folder.join("a"), folder.join("b"));
    fs::create_dir_all(&a).unwrap();
    fs::create_dir_all(&b).unwrap();
    written(b.join("first-by-time"), "#!/bin/sh\n");
    fs::hard_link(b.join("first-by-time"), a.join("first-by-name")).unwrap();
    symlink("../b", a.join("b")).unwrap();
    for paths in [[&*a, &*b], [&b, &a]] {
        let programs = walked(None, &paths).unwrap();
        assert_eq!(names(&programs, &folder), ["a/first-by-name"]);
        assert_eq!(programs.other_names, 2);
    }
    // By itself, the folder of the other name has that name; through a link it is the real one.
    for path in [&b, &a.join("b"), &a.join("b/first-by-time")] {
        let programs = walked(None, &[path]).unwrap();
        assert_eq!(names(&programs, &folder), ["b/first-by-time"]);
        assert_eq!(programs.other_names, 0);
    }
}

#[test]
fn a_path_that_is_named_within_another_is_no_other_name() {
    let folder = folder("walk-overlap");
    let inner = folder.join("inner");
    fs::create_dir(&inner).unwrap();
    let script = written(inner.join("script"), "#!/bin/sh\n");
    for paths in [
        &[&*folder, &inner, &script][..],
        &[&script, &inner, &folder],
        &[&script, &script],
        &[&inner.join("../inner"), &inner],
    ] {
        let programs = walked(None, paths).unwrap();
        assert_eq!(names(&programs, &folder), ["inner/script"], "{paths:?}");
        assert_eq!(programs.other_names, 0, "{paths:?}");
    }
}

#[test]
fn links_of_another_system_lead_to_its_own_files() {
    let folder = folder("walk-root");
    let root = folder.join("root");
    fs::create_dir_all(root.join("usr/bin")).unwrap();
    written(folder.join("outside"), "#!/bin/sh\n");
    written(root.join("usr/bin/tool"), "#!/bin/sh\n");
    written(root.join("outside"), "#!/bin/sh\n");
    symlink("/usr/bin", root.join("bin")).unwrap();
    symlink("/usr/bin/tool", root.join("usr/bin/absolute")).unwrap();
    symlink("../../../../outside", root.join("usr/bin/up")).unwrap();
    symlink("/usr/bin/env", root.join("usr/bin/not-in-this-system")).unwrap();

    let programs = walked(Some(&root), &[Path::new("/bin")]).unwrap();
    assert_eq!(
        names(&programs, Path::new("/")),
        ["outside", "usr/bin/tool"]
    );
    assert_eq!((programs.other_names, programs.unread), (1, vec![]));

    // Without paths, the usual folders that are there, /bin being a link.
    let root = Root::at(&root).unwrap();
    let usual = ["/usr/bin", "/bin"].map(PathBuf::from);
    assert_eq!(default_paths(&root).unwrap(), usual);
}

#[test]
fn a_file_that_is_rewritten_meanwhile_is_whole_or_named_and_always_counted() {
    let folder = folder("walk-rewritten");
    let whole = fs::read(built(folder.join("program"), &["-pie"])).unwrap();
    let file = File::options()
        .write(true)
        .open(folder.join("program"))
        .unwrap();
    let stop = AtomicBool::new(false);
    let (mut seen_whole, mut seen_named) = (0, 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            // Half of the file, none of it, rubbish, again and again; then the whole, for longer
            // than any clock tick of a file system, so that each change has a time of its own.
            while !stop.load(Ordering::Relaxed) {
                for _ in 0..200 {
                    file.set_len(whole.len() as u64 / 2).unwrap();
                    file.set_len(0).unwrap();
                    file.write_all_at(&[0xff; 4096], 4).unwrap();
                }
                file.write_all_at(&whole, 0).unwrap();
                thread::sleep(Duration::from_millis(20));
            }
        });
        for _ in 0..1000 {
            let programs = below(&folder);
            let [program] = &programs.list[..] else {
                panic!("{:?}", programs.list);
            };
            match (&program.image, &programs.unread[..]) {
                (Some(image), []) => {
                    assert_eq!(program.kind, Kind::Dynamic);
                    assert_eq!(image.needed, ["libc.so.6"]);
                    assert_eq!(program.bytes, whole.len() as u64);
                    seen_whole += 1;
                }
                (None, [unread]) => {
                    assert_eq!((program.kind, &unread.path), (Kind::Other, &program.path));
                    seen_named += 1;
                }
                // It was empty, or began with zeros, all the time that it was read.
                (None, []) => assert_eq!(program.kind, Kind::Other),
                other => panic!("{other:?}"),
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(seen_whole > 0, "never seen whole; {seen_named} times named");
}

/// What a walk says of 500 files to which something happens once the first of them are read.
fn disturbed(name: &str, disturb: impl Fn(&Path) + Sync) -> (PathBuf, Programs) {
    let folder = folder(name);
    let files: Vec<PathBuf> = (0..500)
        .map(|n| written(folder.join(format!("{n:03}")), tiny()))
        .collect();
    let once = Once::new();
    let programs = walk(&Root::here(), std::slice::from_ref(&folder), &|_| {
        // Each thread waits here, after its first file, until all is done.
        once.call_once(|| files.iter().for_each(|file| disturb(file)));
    });
    (folder, programs.unwrap())
}

/// That all files are counted, and all but the first of each thread are named with this reason.
fn all_but_the_first_are_named((folder, programs): (PathBuf, Programs), reason: &str) {
    assert_eq!(programs.list.len(), 500);
    let read: Vec<_> = programs
        .list
        .iter()
        .filter(|p| p.kind == Kind::Static)
        .collect();
    let threads = rayon::current_num_threads();
    assert!((1..=threads).contains(&read.len()), "{}", read.len());
    let unread = unread(&programs, &folder);
    assert_eq!(unread.len(), 500 - read.len());
    assert!(unread.iter().all(|(_, said)| said == reason), "{unread:?}");
}

#[test]
fn files_that_vanish_before_they_are_read_are_named() {
    let vanished = disturbed("walk-vanished", |file| fs::remove_file(file).unwrap());
    all_but_the_first_are_named(vanished, "gone before it was read");
}

#[test]
fn a_file_that_takes_the_place_of_another_is_not_taken_for_it() {
    let replaced = disturbed("walk-replaced", |file| {
        let other = file.with_extension("new");
        written(other.clone(), tiny());
        fs::rename(other, file).unwrap();
    });
    all_but_the_first_are_named(replaced, "changed while it was read");
}

#[test]
fn a_fifo_that_takes_the_place_of_a_file_is_not_waited_for() {
    let replaced = disturbed("walk-replaced-by-a-fifo", |file| {
        fs::remove_file(file).unwrap();
        mkfifo(file, Mode::S_IRWXU).unwrap();
    });
    all_but_the_first_are_named(replaced, "changed while it was read");
}

#[test]
fn ten_thousand_files_are_counted_exactly_and_one_by_one() {
    let folder = folder("walk-many");
    let tiny = tiny();
    for n in 0..10_000 {
        let inner = folder.join(format!("{}/{}", n % 10, n / 10 % 10));
        if n < 100 {
            fs::create_dir_all(&inner).unwrap();
        }
        let file = inner.join(n.to_string());
        match n % 5 {
            0 | 1 => written(file, "#!/bin/sh\n"),
            2 => written(file, &tiny),
            3 => written(file, &tiny[..50]),
            _ => written(file, ""),
        };
    }
    let told = Mutex::new(Vec::new());
    let programs = walk(&Root::here(), std::slice::from_ref(&folder), &|done| {
        told.lock().unwrap().push(done)
    });
    let programs = programs.unwrap();
    let of = |kind| programs.list.iter().filter(|p| p.kind == kind).count();
    assert_eq!(
        (of(Kind::Script), of(Kind::Static), of(Kind::Other)),
        (4000, 2000, 4000)
    );
    assert_eq!(programs.list.len(), 10_000);
    assert_eq!((programs.unread.len(), programs.other_names), (2000, 0));
    assert!(programs.list.is_sorted_by(|a, b| a.path < b.path));
    assert!(programs.unread.is_sorted_by(|a, b| a.path < b.path));
    let mut told = told.into_inner().unwrap();
    told.sort_unstable();
    assert!(told.into_iter().eq(1..=10_000));
    fs::remove_dir_all(folder).unwrap();
}

/// Runs something on threads that have no right to pass over the modes of files, whoever the user.
fn as_any_user<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new()
        .start_handler(|_| {
            // struct __user_cap_header_struct and twice __user_cap_data_struct (capget(2)).
            let header = [0x2008_0522u32, 0];
            let none = [0u32; 6];
            // SAFETY: both are of the sizes that this version is of, and only read.
            let failed =
                unsafe { libc::syscall(libc::SYS_capset, &raw const header, &raw const none) };
            assert_eq!(failed, 0);
        })
        .build();
    pool.unwrap().install(run)
}

#[test]
fn what_may_not_be_read_is_named() {
    let folder = folder("walk-denied");
    let at = |name: &str| folder.join(name);
    for name in ["closed", "unlisted", "no-way-in"] {
        fs::create_dir(at(name)).unwrap();
        written(at(name).join("program"), tiny());
    }
    written(at("execute-only"), tiny());
    symlink("no-way-in/program", at("link")).unwrap();
    for (name, mode) in [("closed", 0), ("unlisted", 0o311), ("no-way-in", 0o644)] {
        set_mode(&at(name), mode);
    }
    set_mode(&at("execute-only"), 0o111);
    let (all, inner, named) = as_any_user(|| {
        (
            below_here(&folder),
            below_here(&at("closed")),
            below_here(&at("unlisted/program")),
        )
    });
    for name in ["closed", "unlisted", "no-way-in"] {
        set_mode(&at(name), 0o755);
    }

    let denied = |names: &[&str]| -> Vec<(String, String)> {
        let reason = "permission denied".to_owned();
        names
            .iter()
            .map(|name| (name.to_string(), reason.clone()))
            .collect()
    };
    assert_eq!(
        unread(&all, &folder),
        denied(&[
            "closed",
            "execute-only",
            "link",
            "no-way-in/program",
            "unlisted"
        ])
    );
    assert_eq!(
        kinds(&all, &folder),
        BTreeMap::from([("execute-only".into(), Kind::Other)])
    );
    // So is a folder that was named itself, and a program is read through one that is not listed.
    assert_eq!(unread(&inner, &folder), denied(&["closed"]));
    assert_eq!(
        kinds(&named, &folder),
        BTreeMap::from([("unlisted/program".into(), Kind::Static)])
    );
}

/// On this very thread and its pool.
fn below_here(path: &Path) -> Programs {
    walk(&Root::here(), &[path.to_owned()], &|_| ()).unwrap()
}

#[test]
fn a_named_path_that_is_not_there_is_an_error_of_one_line() {
    let folder = folder("walk-missing");
    written(folder.join("file"), "");
    symlink("nowhere", folder.join("dangling")).unwrap();
    symlink("itself", folder.join("itself")).unwrap();
    for (name, reason) in [
        ("missing", "no such file or folder; check the path"),
        ("dangling", "no such file or folder; check the path"),
        (
            "file/in-a-file",
            "Not a directory (os error 20); check the path",
        ),
        (
            "itself",
            "Too many levels of symbolic links (os error 40); check the path",
        ),
        (
            "a\0b",
            "file name contained an unexpected NUL byte; check the path",
        ),
    ] {
        let path = folder.join(name);
        let error = walked(None, &[&folder, &path]).unwrap_err().to_string();
        let path = barest::subject::escape(path.as_os_str());
        assert_eq!(error, format!("{path}: {reason}"));
    }
    let missing = folder.join("missing");
    cargo_bin_cmd!("barest")
        .args(["survey", "libraries"])
        .args([&folder, &missing])
        .assert()
        .code(2)
        .stdout("")
        .stderr(format!(
            "barest: {}: no such file or folder; check the path\n",
            missing.display()
        ));
}

#[test]
fn a_named_file_that_nobody_may_execute_is_not_counted_and_said() {
    let folder = folder("walk-not-executable");
    fs::write(folder.join("data"), tiny()).unwrap();
    let programs = walked(None, &[&folder.join("data")]).unwrap();
    assert!(programs.list.is_empty());
    let said = ("data".to_owned(), "nobody may execute it".to_owned());
    assert_eq!(unread(&programs, &folder), [said]);
    // In a folder, files of any kind are expected.
    assert_eq!(below(&folder).unread, []);
}

#[test]
fn proc_is_named_and_not_walked() {
    let folder = folder("walk-proc");
    symlink("/proc/self", folder.join("process")).unwrap();
    let programs = below(&folder);
    assert!(programs.list.is_empty());
    assert_eq!(programs.unread.len(), 1);
    assert!(programs.unread[0].path.starts_with("/proc"));
    let reason = "not walked: proc(5), whose links lead anywhere";
    assert_eq!(programs.unread[0].reason, reason);
}

#[test]
fn a_program_that_runs_as_another_user_or_group_is_marked() {
    let folder = folder("walk-secure");
    for (name, mode) in [
        ("plain", 0o755),
        ("set-group-id", 0o2755),
        ("set-group-id-for-nobody", 0o2745),
        ("set-user-id", 0o4755),
    ] {
        let file = written(folder.join(name), tiny());
        set_mode(&file, mode);
    }
    let programs = below(&folder);
    let secure: Vec<String> = programs
        .list
        .iter()
        .filter(|p| p.secure)
        .map(|p| within(&p.path, &folder))
        .collect();
    assert_eq!(programs.list.len(), 4);
    assert_eq!(secure, ["set-group-id", "set-user-id"]);
}

#[test]
fn names_of_any_bytes_are_kept() {
    let folder = folder("walk-bytes");
    let bytes = [&b"\xff\xfe"[..], b"a\nb", b"\x1b[31m", "é".as_bytes(), b" "];
    for name in bytes {
        let inner = folder.join(OsStr::from_bytes(name));
        fs::create_dir(&inner).unwrap();
        written(inner.join(OsStr::from_bytes(name)), tiny());
    }
    let programs = below(&folder);
    let mut expected = bytes.map(|name| {
        let name = OsStr::from_bytes(name);
        folder.join(name).join(name)
    });
    expected.sort();
    let paths: Vec<&PathBuf> = programs.list.iter().map(|program| &program.path).collect();
    assert_eq!(paths, expected.iter().collect::<Vec<_>>());
    assert!(
        programs
            .list
            .iter()
            .all(|program| program.kind == Kind::Static)
    );
}
