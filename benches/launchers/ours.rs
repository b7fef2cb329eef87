//! Our launchers: `launch`, and files that `barest bake` makes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use barest::{Error, Result, Subject};

use crate::common;
use crate::place::Place;

/// `launch` with these words.
pub fn launch(words: impl IntoIterator<Item = OsString>) -> Subject {
    Subject::new(common::ours("launch")).args(words)
}

/// The words of the job.
pub fn job(place: &Place) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["-C".into(), place.directory.clone().into()];
    words.extend([">out", "3>&-", "--setsid", "A=1"].map(OsString::from));
    words
}

/// A launcher in a file of its own, or why there is none.
pub enum Baked {
    As(PathBuf),
    Not(String),
}

/// Bakes these words for a target, into a file of this name.
pub fn bake(
    place: &Place,
    name: &str,
    words: impl IntoIterator<Item = OsString>,
    target: &Path,
) -> Result<Baked> {
    let file = place.file(name);
    let baked = Command::new(env!("CARGO_BIN_EXE_barest"))
        .args(["bake", "-o"])
        .arg(&file)
        .args(words)
        .arg("--")
        .arg(target)
        .output()
        .map_err(|e| Error::io("run barest bake", e))?;
    if baked.status.success() {
        return Ok(Baked::As(file));
    }
    let said = String::from_utf8_lossy(&baked.stderr);
    let line = said.lines().next().unwrap_or("barest bake failed");
    Ok(Baked::Not(line.to_owned()))
}
