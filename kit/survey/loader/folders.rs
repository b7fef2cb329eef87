//! A list of folders that is searched for libraries, and what was found there.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use crate::survey::link::Library;

/// A library, and the path by which a loader opened it.
#[derive(Debug)]
pub struct Found {
    pub library: Arc<Library>,
    pub path: PathBuf,
}

/// How a search ended.
#[derive(Clone, Debug)]
pub enum Search {
    /// With a library.
    Found(Arc<Found>),
    /// With nothing; and why the first file of that name was passed over, if there was one.
    Absent(Option<Arc<str>>),
    /// With a file that makes the loader give up.
    Bad(Arc<str>),
}

/// What became of one path.
pub enum Tried {
    Found(Arc<Library>),
    /// There is no such file.
    Absent,
    /// There is one, but not for this loader.
    PassedOver(String),
    /// The rest of the list is not searched.
    Stop,
    /// The loader gives up.
    Bad(String),
}

/// Searches that were made, by name.
#[derive(Default)]
pub struct Memory(RwLock<HashMap<Vec<u8>, Search>>);

impl Memory {
    /// What a search for that name ended with: the one that was made before, or this.
    pub fn recall(&self, name: &[u8], search: impl FnOnce() -> Search) -> Search {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(name) {
            return known.clone();
        }
        drop(known);
        let found = search();
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(name.to_vec(), found.clone());
        found
    }
}

/// Folders that are searched in their order.
#[derive(Default)]
pub struct Folders {
    /// What stands before a name: `folder/`, or nothing for the current directory.
    prefixes: Vec<Arc<[u8]>>,
    memory: Memory,
}

impl Folders {
    pub fn new(prefixes: Vec<Arc<[u8]>>) -> Self {
        Folders {
            prefixes,
            memory: Memory::default(),
        }
    }

    /// Looks for a name in each folder, by a loader's way to open a path.
    pub fn search(&self, name: &[u8], open: impl Fn(&Path) -> Tried) -> Search {
        self.memory.recall(name, || self.look(name, open))
    }

    /// The same, without remembering it.
    pub fn look(&self, name: &[u8], open: impl Fn(&Path) -> Tried) -> Search {
        let mut passed_over = None;
        for prefix in &self.prefixes {
            let path = [prefix, name].concat();
            let path = Path::new(OsStr::from_bytes(&path));
            match open(path) {
                Tried::Found(library) => {
                    let path = path.to_owned();
                    return Search::Found(Arc::new(Found { library, path }));
                }
                Tried::Absent => {}
                Tried::PassedOver(why) => passed_over = passed_over.or(Some(why.into())),
                Tried::Stop => break,
                Tried::Bad(why) => return Search::Bad(why.into()),
            }
        }
        Search::Absent(passed_over)
    }
}

impl Search {
    /// This, or what another search gives when this one found nothing.
    pub fn or_else(self, other: impl FnOnce() -> Search) -> Search {
        match self {
            Search::Absent(first) => match other() {
                Search::Absent(second) => Search::Absent(first.or(second)),
                found => found,
            },
            found => found,
        }
    }
}
