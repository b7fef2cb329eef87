//! Writing a launcher's file.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::recipe::Recipe;
use crate::error::{Error, Result};
use crate::subject::escape;
use crate::whole::{self, folder};

/// Writes the file at once, or not at all.
pub fn write(recipe: &Recipe, bytes: &[u8], file: &Path) -> Result<()> {
    refuse(recipe, file)?;
    let failed = |error| Error::io(format!("write {}", escape(file.as_os_str())), error);
    whole::write(file, 0o755, bytes).map_err(failed)
}

/// Refuses a place that is no file's, or where the launcher would run itself.
fn refuse(recipe: &Recipe, file: &Path) -> Result<()> {
    let refused = |reason: &str| {
        Err(Error::BadFile {
            path: file.to_owned(),
            reason: reason.into(),
        })
    };
    if fs::metadata(file).is_ok_and(|there| !there.is_file()) {
        return refused("there is something that is no file; name one, to be made or replaced");
    }
    let program = recipe.program();
    if program.as_bytes().contains(&b'/') {
        if same(Path::new(program), file) {
            return refused("it is the launcher's own target; bake to another place");
        }
        return Ok(());
    }
    // The first that PATH leads to, as things are now.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).map(|folder| folder.join(program));
    let place = places.find(|place| same(place, file) || is_program(place));
    if place.is_some_and(|place| same(&place, file)) {
        return refused("it is what PATH has for the target's name; name the target by its path");
    }
    Ok(())
}

/// Whether two paths are of one file, or will be when they are there.
fn same(a: &Path, b: &Path) -> bool {
    let id = |path: &Path| {
        fs::metadata(path)
            .map(|there| (there.dev(), there.ino()))
            .ok()
    };
    let place = |path: &Path| -> Option<((u64, u64), PathBuf)> {
        Some((id(folder(path))?, path.file_name()?.into()))
    };
    match (id(a), id(b)) {
        (Some(a), Some(b)) => a == b,
        (None, None) => place(a).is_some_and(|a| Some(a) == place(b)),
        _ => false,
    }
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|there| there.is_file() && there.mode() & 0o111 != 0)
}
