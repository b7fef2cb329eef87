//! Where the target of all launchers lies, and where the job has it run.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use barest::{Error, Result};
use tempfile::TempDir;

/// A folder for all of it, which is removed when this is dropped.
pub struct Place {
    folder: TempDir,
    /// The program that every launcher runs. Some hold this path, so what lies there is changed.
    pub target: PathBuf,
    /// The directory that the job changes to.
    pub directory: PathBuf,
}

impl Place {
    /// An empty one, among the kit's own copies: the target's path is as long as theirs.
    pub fn new() -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("barest-")
            .tempdir()
            .map_err(|e| Error::io("make a temporary folder", e))?;
        let place = Place {
            target: folder.path().join("0000/program"),
            directory: folder.path().join("directory"),
            folder,
        };
        for made in [&place.folder.path().join("0000"), &place.directory] {
            fs::create_dir(made)
                .map_err(|e| Error::io(format!("make the folder {}", made.display()), e))?;
        }
        Ok(place)
    }

    /// Makes the target a copy of this program, written as the kit writes the copies it times.
    pub fn put(&self, program: &Path) -> Result<()> {
        // A new file: the old one may still be held by who has just run it.
        let new = self.file("new");
        self.copy(program, &new)?;
        fs::rename(&new, &self.target).map_err(|e| Error::io("put the target in its place", e))
    }

    /// Copies a program, read whole and written whole.
    pub fn copy(&self, program: &Path, to: &Path) -> Result<()> {
        let read =
            fs::read(program).map_err(|e| Error::io(format!("read {}", program.display()), e))?;
        self.write(to, &read)
    }

    /// Writes a program.
    pub fn write(&self, to: &Path, bytes: &[u8]) -> Result<()> {
        fs::write(to, bytes)
            .and_then(|()| fs::set_permissions(to, fs::Permissions::from_mode(0o700)))
            .map_err(|e| Error::io(format!("write {}", to.display()), e))
    }

    /// A path in the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}
