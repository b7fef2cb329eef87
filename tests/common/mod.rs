//! What the tests of the programs share.
#![allow(dead_code, reason = "each test uses a part of it")]

pub mod fuzz;
pub mod outside;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;

use barest::Subject;
use barest::image::Image;

/// The programs, by their names.
pub const PROGRAMS: [&str; 7] = ["true", "false", "hello", "exec", "launch", "stack", "golf"];

/// The folder that cargo builds into.
pub fn target() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap()
}

/// A folder for one test's files, empty.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Cargo, as for a user who types it: without what this test's own cargo set.
pub fn cargo() -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(&name);
        }
    }
    cargo
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("RUSTFLAGS")
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    cargo
}

/// Runs a command that must succeed, and gives what it printed on stdout.
pub fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// A program of bins/ in the layout `bare`, built when it is not up to date.
pub fn program(name: &str) -> PathBuf {
    static BUILT: Once = Once::new();
    BUILT.call_once(|| build("bare"));
    assert!(PROGRAMS.contains(&name), "{name}");
    target().join("bare").join(name)
}

/// Builds all programs by a profile, into the folder of its name.
pub fn build(profile: &str) {
    succeed(
        cargo()
            .args(["build", "-p", "bins", "--profile", profile, "--target-dir"])
            .arg(target()),
    );
}

/// The program headers of a file: what kind each is, and its flags.
pub fn segments(image: &Image) -> Vec<(&str, String)> {
    let segments = image.segments.iter();
    segments
        .map(|segment| (segment.kind.as_str(), segment.flags.to_string()))
        .collect()
}

/// Those of our programs in the layouts `bare` and `elf`: one that is read and executed, and a
/// stack that is not executed.
pub fn our_segments() -> [(&'static str, String); 2] {
    [("LOAD", "r-x".to_owned()), ("GNU_STACK", "rw-".to_owned())]
}

/// A program as a subject.
pub fn subject(name: &str) -> Subject {
    Subject::new(program(name))
}
