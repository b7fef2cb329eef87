//! Files that are all written in one way.
//!
//! Byte-identical files can differ by 2.4 % in their start, by how they came to be: a linker
//! writes a file piece by piece, and its pages lie otherwise in the page cache. So each subject
//! is copied the same way before it is timed: read whole, written whole, into one folder, under
//! a name of the same length.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::error::{Error, Result};

/// A folder of copies. It is removed when this is dropped, and also when this process is killed.
pub(crate) struct Copies {
    folder: TempDir,
    made: usize,
    guard: Option<Child>,
}

impl Copies {
    /// None yet, in the folder for temporary files (TMPDIR, or /tmp).
    pub fn new() -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("barest-")
            .tempdir()
            .map_err(|e| Error::io("make a temporary folder", e))?;
        Ok(Copies {
            guard: guard(folder.path()),
            folder,
            made: 0,
        })
    }

    /// One more, of this file.
    pub fn copy(&mut self, file: &Path) -> Result<PathBuf> {
        let bytes = fs::read(file).map_err(|e| {
            let name = file.display();
            Error::io(format!("read {name}, to run a copy of it"), e)
        })?;
        // A folder each: who looks beside itself does not find another subject.
        let folder = self.folder.path().join(format!("{:04}", self.made));
        let copy = folder.join("program");
        self.made += 1;
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
}

/// A process that removes the folder when nobody holds its stdin any more: when this process
/// lets go of it or is gone, however that came. None where there is no shell: a folder stays
/// then that a killed process had.
fn guard(folder: &Path) -> Option<Child> {
    Command::new("/bin/sh")
        .args(["-c", r#"read nothing; rm -rf -- "$0""#])
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // What is typed at the terminal is for this process, not for its guard.
        .process_group(0)
        .spawn()
        .ok()
}

impl Drop for Copies {
    fn drop(&mut self) {
        if let Some(guard) = &mut self.guard {
            // Closes its stdin first. The folder is this process's to remove as well.
            let _ = guard.wait();
        }
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
