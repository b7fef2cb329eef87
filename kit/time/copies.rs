//! Files that are all written in one way.
//!
//! Byte-identical files can differ by 2.4 % in their start, by how they came to be: a linker
//! writes a file piece by piece, and its pages lie otherwise in the page cache. So each subject
//! is copied the same way before it is timed: read whole, written whole, into one folder, under
//! a name of the same length.

use std::ffi::CString;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::{Error, Result};

/// A folder of copies. Dropping it removes them.
pub(crate) struct Copies {
    folder: TempDir,
    made: Vec<PathBuf>,
}

impl Copies {
    /// None yet, in the folder for temporary files (TMPDIR, or /tmp).
    pub fn new() -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("barest-")
            .tempdir()
            .map_err(|e| Error::io("make a temporary folder", e))?;
        Ok(Copies {
            folder,
            made: Vec::new(),
        })
    }

    /// One more, of this file.
    pub fn copy(&mut self, file: &Path) -> Result<PathBuf> {
        let bytes = fs::read(file).map_err(|e| {
            let name = file.display();
            Error::io(format!("read {name} to copy it; or use --no-copy"), e)
        })?;
        // A folder each: who looks beside itself does not find another subject.
        let folder = self.folder.path().join(format!("{:04}", self.made.len()));
        let copy = folder.join("program");
        self.made.push(copy.clone());
        let write = || {
            DirBuilder::new().mode(0o700).create(&folder)?;
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).mode(0o700);
            options.open(&copy)?.write_all(&bytes)
        };
        write()
            .map_err(|e| Error::io(format!("copy {} to {}", file.display(), copy.display()), e))?;
        Ok(copy)
    }

    /// All that there is to remove, in the order in which it can be, for who has to do that
    /// without this.
    pub fn paths(&self) -> Vec<CString> {
        let folders = self.made.iter().filter_map(|copy| copy.parent());
        let paths = self.made.iter().map(PathBuf::as_path).chain(folders);
        paths
            .chain([self.folder.path()])
            .filter_map(|path| CString::new(path.as_os_str().as_bytes()).ok())
            .collect()
    }
}

/// What tells one file from another that took its name: stat(2).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
}

impl Identity {
    /// The identity of the file that a path leads to; None when it leads to none.
    pub fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        Some(Identity {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        })
    }
}
