//! Programs of this folder, and files made from others.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::subjects::scratch;

/// A way to link a C program.
#[derive(Clone, Copy, Debug)]
pub struct Linkage {
    pub name: &'static str,
    compiler: &'static str,
    flags: &'static [&'static str],
}

/// All that a program may be.
pub const LINKAGES: [Linkage; 6] = [
    Linkage {
        name: "glibc, static",
        compiler: "gcc",
        flags: &["-static", "-no-pie", "-fno-pie"],
    },
    Linkage {
        name: "glibc, static-PIE",
        compiler: "gcc",
        flags: &["-static-pie", "-fPIE"],
    },
    Linkage {
        name: "glibc, dynamic",
        compiler: "gcc",
        flags: &["-no-pie", "-fno-pie"],
    },
    Linkage {
        name: "glibc, dynamic PIE",
        compiler: "gcc",
        flags: &["-pie", "-fPIE"],
    },
    Linkage {
        name: "musl, static",
        compiler: "musl-gcc",
        flags: &["-static", "-no-pie", "-fno-pie"],
    },
    Linkage {
        name: "musl, dynamic PIE",
        compiler: "musl-gcc",
        flags: &["-pie", "-fPIE"],
    },
];

/// The dynamic one of [`LINKAGES`] that is the usual one.
pub const DYNAMIC: Linkage = LINKAGES[3];
/// The static one that is.
pub const STATIC: Linkage = LINKAGES[0];

/// Compiles a source of this folder, with these flags too.
pub fn compile(source: &str, linkage: Linkage, flags: &[&str]) -> PathBuf {
    let program = scratch(source);
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/direct")
        .join(source);
    let output = Command::new(linkage.compiler)
        .args(["-O1", "-Wall", "-o"])
        .arg(&program)
        .arg(&source)
        .args(linkage.flags)
        .args(flags)
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}: make deps", linkage.compiler));
    assert!(
        output.status.success(),
        "{}, {}: {}",
        source.display(),
        linkage.name,
        String::from_utf8_lossy(&output.stderr)
    );
    program
}

/// `hello.c`, which prints a line, as the usual program.
pub fn hello() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| compile("hello.c", DYNAMIC, &[]))
}

/// A file to be executed, made of bytes. Another process writes it: while this one has it open, a
/// test beside it may fork, and the file would be busy (execve(2), ETXTBSY).
pub fn executable(name: &str, bytes: &[u8]) -> PathBuf {
    let path = scratch(name);
    overwrite(&path, bytes);
    chmod(&path, 0o755);
    path
}

/// The same in the place of what is there.
pub fn overwrite(path: &Path, bytes: &[u8]) {
    let mut tee = Command::new("tee")
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    tee.stdin.take().unwrap().write_all(bytes).unwrap();
    assert!(tee.wait().unwrap().success());
}

/// A copy of a program, with these permissions.
pub fn copy(program: &Path, mode: u32) -> PathBuf {
    let path = executable("copy", &fs::read(program).unwrap());
    chmod(&path, mode);
    path
}

pub fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
