//! Our launchers: `launch`, and files that `barest bake` makes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use barest::Subject;
use barest::bake::{self, Recipe};

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
) -> Baked {
    let file = place.file(name);
    let words = words.into_iter().chain(["--".into(), target.into()]);
    match Recipe::new(words).and_then(|recipe| bake::bake(&recipe, &file)) {
        Ok(_) => Baked::As(file),
        Err(error) => Baked::Not(error.to_string()),
    }
}
