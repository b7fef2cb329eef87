//! `--plot FILE`: a figure as a file of its own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use barest::figure::Figure;
use barest::subject::escape;
use barest::whole::folder;
use barest::{Error, Result, whole};

/// The file that a plot goes into, refused before anything is surveyed where it cannot be one.
pub fn file(name: OsString) -> std::result::Result<PathBuf, String> {
    let file = PathBuf::from(name);
    if file.as_os_str() == "-" {
        return Err("stdout has the table; name a file".to_owned());
    }
    match file.metadata() {
        Ok(found) if found.is_dir() => Err("is a folder; name a file in it".to_owned()),
        Ok(found) if !found.is_file() => Err("not a regular file; name another".to_owned()),
        Ok(_) => Ok(file),
        Err(_) => match folder(&file).metadata() {
            Ok(found) if found.is_dir() => Ok(file),
            Ok(_) => Err(format!("{} is no folder", escape(folder(&file).as_ref()))),
            Err(error) => Err(format!("{}: {error}", escape(folder(&file).as_ref()))),
        },
    }
}

/// Writes the figure, whole or not at all.
pub fn write(file: &Path, figure: &Figure) -> Result<()> {
    let text = figure.document();
    let failed = |error: std::io::Error| Error::BadFile {
        path: file.to_owned(),
        reason: format!("the plot cannot be written: {error}; name a file in a folder of yours"),
    };
    whole::write(file, 0o666, text.as_bytes()).map_err(failed)
}
