//! The programs of a system: every file that may be executed in some folders, each once.
//!
//! First all names are looked at, which opens folders only; then each file is opened once and
//! read, on all cores. Only the first bytes are read of what is no ELF file.

mod find;
mod read;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, io};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::root::{Inode, Root, Unread};
use crate::error::{Error, Result};
use crate::image::Image;
use crate::subject::FIXED_ENVIRONMENT;

/// What kind of program a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A program that an interpreter completes with libraries.
    Dynamic,
    /// A program with all its parts, at a fixed address.
    Static,
    /// A program with all its parts, at any address.
    StaticPie,
    /// Text that begins with `#!`.
    Script,
    /// A library, though it may be executed.
    Library,
    /// Anything else that may be executed: an empty file, a foreign format, an object file. What
    /// is damaged or could not be read is here as well, and in [`Programs::unread`].
    Other,
}

impl Kind {
    /// Each kind, in this order.
    pub const ALL: [Kind; 6] = [
        Kind::Dynamic,
        Kind::Static,
        Kind::StaticPie,
        Kind::Script,
        Kind::Library,
        Kind::Other,
    ];
}

/// A file that may be executed.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its path without any link in it, as the surveyed system names it; of several hard links
    /// that were met the first, byte by byte.
    pub path: PathBuf,
    /// Which file it is.
    pub inode: Inode,
    /// Its length.
    pub bytes: u64,
    /// What it is.
    pub kind: Kind,
    /// It is set-user-ID or set-group-ID, so that the loader is careful about `$ORIGIN`.
    pub secure: bool,
    /// What it says about itself, where it is a whole ELF file.
    pub image: Option<Arc<Image>>,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Programs {
    /// Each program once, in the order of their paths.
    pub list: Vec<Program>,
    /// How many further names were met that lead to those, or to a folder that had been walked
    /// already: hard links and symbolic links.
    pub other_names: usize,
    /// What could not be read, and which ELF files are damaged, with the reason; in the order of
    /// their paths. A program among them is in `list` as well, so that the list is all that may be
    /// executed.
    pub unread: Vec<Unread>,
}

/// Looks for programs in these folders and those in them; a path may be a program itself.
/// `progress` is told how many files have been read so far, from any thread.
///
/// A program is a regular file that somebody may execute. Links are followed, within the root.
/// What is neither a file nor a folder (a FIFO, a socket, a device) is never opened, and
/// proc(5), whose links lead out of the system, is not walked.
///
/// Fails when one of the paths that were named is not there.
///
/// ```
/// use barest::survey::{Root, walk};
///
/// let this = std::env::current_exe().unwrap();
/// let programs = walk::walk(&Root::here(), &[this], &|_| ())?;
/// assert_eq!(programs.list[0].kind, walk::Kind::Dynamic);
/// # Ok::<(), barest::Error>(())
/// ```
pub fn walk(root: &Root, paths: &[PathBuf], progress: &(dyn Fn(usize) + Sync)) -> Result<Programs> {
    let found = find::find(root, paths)?;
    let done = AtomicUsize::new(0);
    let read = found.files.into_par_iter().map(|file| {
        let read = read::read(root, file);
        progress(done.fetch_add(1, Ordering::Relaxed) + 1);
        read
    });
    let read: Vec<(Program, Option<Unread>)> = read.collect();

    let mut programs = Programs {
        list: Vec::with_capacity(read.len()),
        other_names: found.other_names,
        unread: found.unread,
    };
    for (program, unread) in read {
        programs.list.push(program);
        programs.unread.extend(unread);
    }
    programs.unread.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(programs)
}

/// Where a survey looks that is given no path: the folders of the caller's PATH, or those of
/// [`FIXED_ENVIRONMENT`] in a system that is not the caller's, as far as they are there. A shell
/// passes over those that are not as well.
///
/// Fails when none is there.
pub fn default_paths(root: &Root) -> Result<Vec<PathBuf>> {
    let usual = || {
        let path = FIXED_ENVIRONMENT
            .iter()
            .find_map(|v| v.strip_prefix("PATH="));
        path.unwrap_or_default().into()
    };
    let folders = match root.folder() {
        None => env::var_os("PATH").unwrap_or_else(usual),
        Some(_) => usual(),
    };
    let is_there = |path: &PathBuf| match root.metadata(path) {
        Ok(meta) => meta.is_dir(),
        // The walk says so.
        Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
    };
    let paths: Vec<PathBuf> = env::split_paths(&folders)
        // An empty one is the current folder (environ(7)), which is not part of the system.
        .filter(|path| !path.as_os_str().is_empty() && is_there(path))
        .collect();
    if paths.is_empty() {
        return Err(Error::BadFile {
            path: folders.into(),
            reason: "no folder of this PATH is there; name folders or programs".into(),
        });
    }
    Ok(paths)
}
