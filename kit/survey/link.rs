//! What a program loads: its libraries and theirs, found by the rules of the loader that it names.
//!
//! It is what the loader of glibc or musl would load if the program were started from this
//! directory (in a folder's system: from its root) without `LD_LIBRARY_PATH` and `LD_PRELOAD`, on
//! this machine's CPU. What is opened later, by dlopen(3), cannot be seen.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::loader::{self, Files, Loader};
use super::root::{Inode, Root, Unread};
use super::walk::Program;
use crate::image::Image;

/// Finds libraries, and reads each once for all programs. Threads may share one.
pub struct Linker<'a> {
    files: Files<'a>,
    /// By the path that programs name them by.
    loaders: Mutex<HashMap<OsString, Arc<Result<Loader, String>>>>,
    unread: Mutex<Vec<Unread>>,
}

/// A library, read once.
#[derive(Debug)]
pub struct Library {
    /// How many libraries were met before it: the place of what is known of it in a table of all.
    pub index: usize,
    /// The path without links in it: the same, whichever program it was met with first.
    pub path: PathBuf,
    /// Which file it is.
    pub inode: Inode,
    /// What it says about itself.
    pub image: Image,
}

/// What one program loads.
#[derive(Debug, Default)]
pub struct Linked {
    /// In the order in which the loader loads: the scope of its symbols after the program itself.
    pub libraries: Vec<Loaded>,
    /// What cannot be found.
    pub missing: Vec<Missing>,
}

/// A library that a program loads.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The library.
    pub library: Arc<Library>,
    /// Whether the program itself names it (`DT_NEEDED`), or as its interpreter.
    pub direct: bool,
}

/// A library that a program asks for, itself or through another, and that is not found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The name that is asked for.
    pub name: OsString,
    /// The file that asks for it.
    pub wanted_by: PathBuf,
    /// Whether that is the program itself.
    pub direct: bool,
    /// Why: `not found`, or what is wrong with the file that was found.
    pub reason: String,
}

impl<'a> Linker<'a> {
    /// For the programs of this system.
    pub fn new(root: &'a Root) -> Self {
        Linker {
            files: Files::new(root),
            loaders: Mutex::default(),
            unread: Mutex::default(),
        }
    }

    /// What a dynamic program loads. Nothing for one that is not dynamic.
    pub fn link(&self, program: &Program) -> Linked {
        let Some(image) = &program.image else {
            return Linked::default();
        };
        let Some(interpreter) = &image.interpreter else {
            return Linked::default();
        };
        let loader = self.loader(interpreter);
        let loader = loader.as_ref().as_ref().map_err(String::clone);
        match loader.and_then(|loader| is_for(loader, image).map(|()| loader)) {
            Ok(loader) => {
                let (linked, unread) = loader::link(&self.files, loader, program, image);
                self.note(unread);
                linked
            }
            Err(reason) => nothing(program, image, interpreter, reason),
        }
    }

    /// All libraries that were met so far, in the order of their indexes.
    pub fn libraries(&self) -> Vec<Arc<Library>> {
        self.files.libraries()
    }

    /// What of the loaders' own files could not be read or told so far: ask when all programs are
    /// linked, as a loader is met with the first program that names it.
    pub fn unread(&self) -> Vec<Unread> {
        let mut unread = self
            .unread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        unread.sort_by(|a, b| (&a.path, &a.reason).cmp(&(&b.path, &b.reason)));
        unread
    }

    fn loader(&self, interpreter: &OsStr) -> Arc<Result<Loader, String>> {
        let mut loaders = self.loaders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loader) = loaders.get(interpreter) {
            return loader.clone();
        }
        let mut unread = Vec::new();
        let loader = Arc::new(Loader::open(&self.files, interpreter, &mut unread));
        loaders.insert(interpreter.to_owned(), loader.clone());
        drop(loaders);
        self.note(unread);
        loader
    }

    /// Keeps what could not be read, once.
    fn note(&self, more: Vec<Unread>) {
        if more.is_empty() {
            return;
        }
        let mut unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
        for more in more {
            if !unread.contains(&more) {
                unread.push(more);
            }
        }
    }
}

/// Whether the kernel starts that loader for a program of that class and machine.
fn is_for(loader: &Loader, image: &Image) -> Result<(), String> {
    let of = |image: &Image| (image.bits, image.endian, image.machine.clone());
    let own = &loader.library.image;
    if of(own) == of(image) {
        return Ok(());
    }
    Err(format!(
        "for another machine: {}, {} bits",
        own.machine, own.bits
    ))
}

/// What a program loads whose loader does not start.
fn nothing(program: &Program, image: &Image, interpreter: &OsStr, reason: String) -> Linked {
    let missing = |name: &OsStr, reason| Missing {
        name: name.to_owned(),
        wanted_by: program.path.clone(),
        direct: true,
        reason,
    };
    let mut names = HashSet::new();
    let needed = image.needed.iter().filter(|name| names.insert(*name));
    let not_looked_for = || "not looked for: the program's loader is missing".to_owned();
    let needed = needed.map(|name| missing(name, not_looked_for()));
    Linked {
        libraries: Vec::new(),
        missing: std::iter::once(missing(interpreter, reason))
            .chain(needed)
            .collect(),
    }
}
