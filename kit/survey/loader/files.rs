//! The files that loaders open, each read once for all programs.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::image;
use crate::survey::link::Library;
use crate::survey::root::{Inode, Root};

/// The bytes of an ELF header of 64-bit files, `sizeof(Elf64_Ehdr)`.
const HEADER: usize = 64;

/// What was opened so far.
pub struct Files<'a> {
    /// The system that they are of.
    pub root: &'a Root,
    seen: Mutex<HashMap<Inode, Arc<Seen>>>,
    libraries: Mutex<Vec<Arc<Library>>>,
}

/// A regular file.
pub struct Seen {
    inode: Inode,
    /// `st_mode`.
    pub mode: u32,
    /// Its first bytes, at most those of an ELF header; or what hinders reading them.
    pub header: Result<Vec<u8>, String>,
    library: OnceLock<Result<Arc<Library>, String>>,
}

/// What a path led to.
pub enum Opened {
    /// A regular file.
    File(Arc<Seen>, File),
    /// Something else: `a directory`.
    Other(&'static str),
}

impl<'a> Files<'a> {
    pub fn new(root: &'a Root) -> Self {
        Files {
            root,
            seen: Mutex::default(),
            libraries: Mutex::default(),
        }
    }

    /// Opens a path. Only regular files are opened for reading: a FIFO would wait, and a device
    /// might do something.
    pub fn open(&self, path: &Path) -> io::Result<Opened> {
        let kind = self.root.metadata(path)?.file_type();
        if !kind.is_file() {
            return Ok(Opened::Other(if kind.is_dir() {
                "a directory"
            } else if kind.is_fifo() {
                "a FIFO"
            } else if kind.is_socket() {
                "a socket"
            } else {
                "a device"
            }));
        }
        let file = self.root.open(path, libc::O_RDONLY)?;
        let meta = file.metadata()?;
        let inode = Inode::of(&meta);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = seen.entry(inode).or_insert_with(|| {
            Arc::new(Seen {
                inode,
                mode: meta.mode(),
                header: header(&file).map_err(|error| error.to_string()),
                library: OnceLock::new(),
            })
        });
        Ok(Opened::File(seen.clone(), file))
    }

    /// What a file says about itself, as a library. `path` is where it was opened.
    pub fn library(&self, seen: &Seen, file: File, path: &Path) -> Result<Arc<Library>, String> {
        let read = || {
            // Which name a program found it by depends on the program; this one does not.
            let path = self
                .root
                .real_path(path)
                .unwrap_or_else(|_| path.to_owned());
            let bytes = file.metadata().map_err(|error| error.to_string())?.len();
            let image = image::of_file(file, bytes, &path)?;
            let mut all = self
                .libraries
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let library = Arc::new(Library {
                index: all.len(),
                path,
                inode: seen.inode,
                image,
            });
            all.push(library.clone());
            Ok(library)
        };
        seen.library.get_or_init(read).clone()
    }

    /// All libraries so far, in the order of their indexes.
    pub fn libraries(&self) -> Vec<Arc<Library>> {
        let all = self
            .libraries
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        all.clone()
    }
}

fn header(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; HEADER];
    let mut length = 0;
    while length < HEADER {
        match file.read_at(&mut bytes[length..], length as u64) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(length);
    Ok(bytes)
}
