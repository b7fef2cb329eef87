//! Bakes launchers: an executable of a few hundred bytes that does what `launch` would do with some
//! words, and then becomes its target.
//!
//! A baked launcher is an *engine* and a *tape*. The engines are programs without a libc
//! (`bins/baked`), which were compiled with the kit and are part of it; so baking takes no compiler
//! and no other file. The tape is what the words decode into: calls of the kernel with their
//! operands, strings, the texts of errors. It lies behind the engine in the one segment that the
//! file has, mapped at an address that is known, so that nothing is left to be parsed, looked up
//! or relocated when it runs. Of the engines, the smallest that can do what is asked is taken.
//!
//! The last thing in the file is a line that says what it is, and holds its words.
//!
//! ```
//! use barest::bake::{Recipe, bake, show};
//!
//! let folder = tempfile::tempdir()?;
//! let file = folder.path().join("greet");
//! let recipe = Recipe::new(["GREETING=hello", "/bin/sh", "-c", r#"echo "$GREETING, $0""#])?;
//! bake(&recipe, &file)?;
//! let output = std::process::Command::new(&file).arg("world").output()?;
//! assert_eq!(output.stdout, b"hello, world\n");
//! assert_eq!(show(&file)?.recipe, recipe);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod decode;
mod errors;
mod file;
mod image;
mod line;
mod recipe;
mod records;
mod strings;
#[allow(dead_code, reason = "shared with the engines")]
#[path = "../../bins/baked/tape.rs"]
mod tape;

use std::fs;
use std::path::PathBuf;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::subject::{escape, escaped};

pub use recipe::Recipe;

/// A baked launcher: a file, and what it is made of.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Baked {
    /// The file as it was named.
    #[serde(serialize_with = "escaped")]
    pub path: PathBuf,
    /// Its length, in bytes.
    pub bytes: u64,
    /// Its words.
    #[serde(rename = "words")]
    pub recipe: Recipe,
}

/// Writes a baked launcher.
///
/// What is at `file` is replaced by one rename(2), so that at any time there is either the old file
/// or the whole new one; its mode is 0755, less the umask. The target is never replaced: `file` may
/// not be it, by whatever path, nor stand where the launcher would look for it.
pub fn bake(recipe: &Recipe, file: impl Into<PathBuf>) -> Result<Baked> {
    let path = file.into();
    let bytes = recipe.image()?;
    file::write(recipe, &bytes, &path)?;
    Ok(Baked {
        path,
        bytes: bytes.len() as u64,
        recipe: recipe.clone(),
    })
}

/// Reads back what a baked launcher was made of: baking that again gives the same file.
///
/// So a file is refused that is not, to the byte, what this version bakes of the words in its
/// line: one of another version, one that was changed, one that is no baked launcher.
pub fn show(file: impl Into<PathBuf>) -> Result<Baked> {
    let path = file.into();
    let bytes = fs::read(&path)
        .map_err(|error| Error::io(format!("read {}", escape(path.as_os_str())), error))?;
    match image::recipe_of(&bytes) {
        Ok(recipe) => Ok(Baked {
            path,
            bytes: bytes.len() as u64,
            recipe,
        }),
        Err(reason) => Err(Error::BadFile { path, reason }),
    }
}
