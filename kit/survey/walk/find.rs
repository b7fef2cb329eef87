//! Which files may be executed, by their names and modes.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::OsString;
use std::fs::Metadata;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::sys::statfs::{PROC_SUPER_MAGIC, fstatfs};

use super::super::root::{Inode, Root, Unread};
use super::read::reason;
use crate::error::{Error, Result};

/// A file that may be executed, not opened yet.
pub struct File {
    pub path: PathBuf,
    pub inode: Inode,
    pub bytes: u64,
    pub secure: bool,
}

/// All that some paths lead to.
pub struct Found {
    /// In the order of their paths.
    pub files: Vec<File>,
    pub other_names: usize,
    pub unread: Vec<Unread>,
}

/// Follows these paths to files and folders, and the folders to all that is in them.
pub fn find(root: &Root, paths: &[PathBuf]) -> Result<Found> {
    let mut search = Search {
        root,
        files: HashMap::new(),
        met: HashSet::new(),
        folders: VecDeque::new(),
        named: HashSet::new(),
        is_proc: HashMap::new(),
        other_names: 0,
        unread: Vec::new(),
    };
    for path in paths {
        search.name(path)?;
    }
    while let Some(folder) = search.folders.pop_front() {
        search.walk(&folder);
    }
    let mut files: Vec<File> = search.files.into_values().collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Found {
        files,
        other_names: search.other_names,
        unread: search.unread,
    })
}

struct Search<'a> {
    root: &'a Root,
    /// By inode, so that no file is here twice.
    files: HashMap<Inode, File>,
    /// The folders that were met.
    met: HashSet<Inode>,
    /// Those of them that are still to be walked, by their real paths.
    folders: VecDeque<PathBuf>,
    /// The real paths that the caller named: in its folder, such a name is no other one.
    named: HashSet<PathBuf>,
    /// Of each device, whether it is proc(5).
    is_proc: HashMap<u64, bool>,
    other_names: usize,
    unread: Vec<Unread>,
}

impl Search<'_> {
    /// What the caller named.
    fn name(&mut self, path: &Path) -> Result<()> {
        let real = self.root.real_path(path);
        let found = real.and_then(|real| Ok((self.root.metadata(&real)?, real)));
        let (meta, real) = match found {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                self.unread(path, reason(&error));
                return Ok(());
            }
            Err(error) => {
                let what = match error.kind() {
                    ErrorKind::NotFound => "no such file or folder".to_owned(),
                    _ => error.to_string(),
                };
                return Err(Error::BadFile {
                    path: path.to_owned(),
                    reason: format!("{what}; check the path"),
                });
            }
        };
        if !self.named.insert(real.clone()) {
            return Ok(());
        }
        let kind = meta.file_type();
        if kind.is_dir() || is_program(&meta) {
            self.meet(real, &meta);
        } else {
            let what = if kind.is_file() {
                "nobody may execute it"
            } else if kind.is_fifo() {
                "a FIFO, no program"
            } else if kind.is_socket() {
                "a socket, no program"
            } else {
                "a device, no program"
            };
            self.unread(path, what);
        }
        Ok(())
    }

    /// Meets all that is in a folder.
    fn walk(&mut self, folder: &Path) {
        let entries = match self.entries(folder) {
            Ok(entries) => entries,
            Err(error) => return self.unread(folder, reason(&error)),
        };
        for (name, meta) in entries {
            let path = folder.join(name);
            match meta {
                Ok(meta) if meta.is_symlink() => self.follow(&path),
                Ok(_) if self.named.contains(&path) => (),
                Ok(meta) => self.meet(path, &meta),
                // It is gone, as if it had never been in the folder.
                Err(error) if error.kind() == ErrorKind::NotFound => (),
                Err(error) => self.unread(path, reason(&error)),
            }
        }
    }

    /// What is in a folder, by name, with what each is itself.
    fn entries(&self, folder: &Path) -> io::Result<Vec<(OsString, io::Result<Metadata>)>> {
        let mut entries = Vec::new();
        for entry in self.root.read_dir(folder)? {
            let entry = entry?;
            entries.push((entry.file_name(), entry.metadata()));
        }
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(entries)
    }

    /// Meets what a symbolic link leads to.
    fn follow(&mut self, link: &Path) {
        let meta = match self.root.metadata(link) {
            Ok(meta) => meta,
            Err(error) => return self.astray(link, &error),
        };
        if meta.is_dir() || is_program(&meta) {
            match self.root.real_path(link) {
                Ok(real) => self.meet(real, &meta),
                Err(error) => self.astray(link, &error),
            }
        }
    }

    /// A link that leads nowhere, or to itself, is no program; one that may not be followed may be.
    fn astray(&mut self, link: &Path, error: &io::Error) {
        let nowhere = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
            || error.raw_os_error() == Some(libc::ELOOP);
        if !nowhere {
            self.unread(link, reason(error));
        }
    }

    /// A file or a folder, by its real path.
    fn meet(&mut self, path: PathBuf, meta: &Metadata) {
        let inode = Inode::of(meta);
        if meta.is_dir() {
            if !self.met.insert(inode) {
                self.other_names += 1;
            } else if self.is_proc(&path, inode.device) {
                self.unread(path, "not walked: proc(5), whose links lead anywhere");
            } else {
                self.folders.push_back(path);
            }
        } else if is_program(meta) {
            match self.files.entry(inode) {
                Entry::Vacant(place) => {
                    place.insert(File {
                        path,
                        inode,
                        bytes: meta.len(),
                        secure: is_secure(meta),
                    });
                }
                Entry::Occupied(mut file) => {
                    self.other_names += 1;
                    let file = file.get_mut();
                    if path < file.path {
                        file.path = path;
                    }
                }
            }
        }
    }

    /// Whether a folder is one of proc(5). Where the kernel does not tell, it is as any other.
    fn is_proc(&mut self, folder: &Path, device: u64) -> bool {
        let root = self.root;
        *self.is_proc.entry(device).or_insert_with(|| {
            let open = root.open(folder, libc::O_PATH).ok();
            open.and_then(|folder| fstatfs(&folder).ok())
                .is_some_and(|file_system| file_system.filesystem_type() == PROC_SUPER_MAGIC)
        })
    }

    fn unread(&mut self, path: impl Into<PathBuf>, reason: impl Into<String>) {
        self.unread.push(Unread::new(path, reason));
    }
}

/// A regular file with an execute bit, whoever's.
fn is_program(meta: &Metadata) -> bool {
    meta.is_file() && meta.mode() & 0o111 != 0
}

/// Whether an exec changes who runs it. Without the group's execute bit, the group's ID is not set
/// (inode(7)).
fn is_secure(meta: &Metadata) -> bool {
    let group = libc::S_ISGID | libc::S_IXGRP;
    meta.mode() & libc::S_ISUID != 0 || meta.mode() & group == group
}
