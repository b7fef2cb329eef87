//! Which packages a system has, and which files are whose: read from the data of dpkg, apk and rpm.
//!
//! A package manager names a file by a path of its own choice: `/lib/libc.so.6` where `/lib` is a
//! link to `/usr/lib`. So paths are compared by their last part first, and by the real path of the
//! folder where that part is the same.

mod apk;
mod apt;
mod dpkg;
mod rpm;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rayon::prelude::*;
use serde::Serialize;

use super::root::Root;
use crate::subject::{escape, escaped};

/// Who keeps the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Manager {
    /// Debian's, and of those who come from it: dpkg(1).
    Dpkg,
    /// Alpine's: apk(8).
    Apk,
    /// rpm(8).
    Rpm,
}

/// An installed package.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Package {
    /// Its name, without an architecture.
    pub name: String,
    /// Its whole version, as its manager writes it.
    pub version: String,
    /// What it is for, as its manager writes it: `amd64`, `x86_64`, `all`.
    pub architecture: String,
    /// The package that it was built from; advisories name that one.
    pub source: String,
    /// Whose data name it.
    pub manager: Manager,
    /// What it takes when installed, in bytes: `Installed-Size` of dpkg (in KiB, deb-control(5)),
    /// `I:` of apk, `LONGSIZE` of rpm.
    pub installed_bytes: Option<u64>,
    /// What it takes to download, in bytes: `Size` in the lists of apt for the version that is
    /// installed, `S:` of apk, `LONGSIGSIZE` of rpm (its header and its payload).
    pub download_bytes: Option<u64>,
    /// The paths of its files, a line each.
    #[serde(skip)]
    files: Vec<u8>,
}

/// The data of one package manager.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Database {
    /// Whose they are.
    pub manager: Manager,
    /// Where they are, as the surveyed system names it.
    #[serde(serialize_with = "escaped")]
    pub path: PathBuf,
    /// How many installed packages they name.
    pub packages: usize,
    /// What of them could not be read, a line each.
    pub remarks: Vec<String>,
}

/// All packages of a system.
#[derive(Debug, Default)]
pub struct Packages {
    /// Each installed package.
    pub list: Vec<Package>,
    /// Where they are from; none where the system has no package data.
    pub databases: Vec<Database>,
}

/// What one reader found.
struct Found {
    path: PathBuf,
    packages: Vec<Package>,
    remarks: Vec<String>,
}

/// The largest file of package data that is read, in bytes: 50 times the largest that was seen.
const MOST: u64 = 1 << 30;

/// Reads the packages of a system. What cannot be read is a remark of its database.
///
/// ```
/// let packages = barest::survey::packages::read(&barest::survey::Root::here());
/// let named: usize = packages.databases.iter().map(|database| database.packages).sum();
/// assert_eq!(named, packages.list.len());
/// ```
pub fn read(root: &Root) -> Packages {
    let mut packages = Packages::default();
    let found = [
        (Manager::Dpkg, dpkg::read(root)),
        (Manager::Apk, apk::read(root)),
        (Manager::Rpm, rpm::read(root)),
    ];
    for (manager, found) in found {
        if let Some(found) = found {
            packages.databases.push(Database {
                manager,
                path: found.path,
                packages: found.packages.len(),
                remarks: found.remarks,
            });
            packages.list.extend(found.packages);
        }
    }
    packages
}

impl Package {
    /// The paths of its files and folders, as its manager names them.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let lines = self.files.split(|byte| *byte == b'\n');
        lines
            .filter(|line| !line.is_empty())
            .map(|line| Path::new(OsStr::from_bytes(line)))
    }

    /// Whether it is called so: by its name, with or without `:` and its architecture, or by the
    /// name of its source.
    pub fn is_called(&self, name: &str) -> bool {
        let with_architecture = || {
            name.strip_prefix(&self.name)
                .and_then(|rest| rest.strip_prefix(':'))
                == Some(&self.architecture)
        };
        self.name == name || self.source == name || with_architecture()
    }
}

impl Packages {
    /// Those that are called so (see [`Package::is_called`]), by their places in the list.
    pub fn called(&self, name: &OsStr) -> Vec<usize> {
        let Some(name) = name.to_str() else {
            return Vec::new();
        };
        let list = self.list.iter().enumerate();
        list.filter(|(_, package)| package.is_called(name))
            .map(|(index, _)| index)
            .collect()
    }

    /// Which package owns each of these files, given by paths without links: its place in the
    /// list. The first one, where several say that they do.
    pub fn owners(&self, folders: &Folders, files: &[&Path]) -> Vec<Option<usize>> {
        let mut wanted: HashMap<&OsStr, Vec<usize>> = HashMap::new();
        for (index, file) in files.iter().enumerate() {
            if let Some(name) = file.file_name() {
                wanted.entry(name).or_default().push(index);
            }
        }
        let mut owners = vec![None; files.len()];
        let owned = self
            .list
            .par_iter()
            .enumerate()
            .flat_map_iter(|(owner, package)| {
                let wanted = &wanted;
                package.files().flat_map(move |path| {
                    let same_name = path.file_name().and_then(|name| wanted.get(name));
                    let real = same_name.and_then(|_| folders.resolve(path));
                    same_name
                        .into_iter()
                        .flatten()
                        .filter(move |index| real.as_deref() == Some(files[**index]))
                        .map(move |index| (*index, owner))
                })
            });
        for (index, owner) in owned.collect::<Vec<_>>() {
            owners[index].get_or_insert(owner);
        }
        owners
    }
}

/// The real paths of folders, each asked for once.
pub struct Folders<'a> {
    root: &'a Root,
    known: Mutex<HashMap<PathBuf, Option<PathBuf>>>,
}

impl<'a> Folders<'a> {
    /// Of that system.
    pub fn new(root: &'a Root) -> Self {
        Folders {
            root,
            known: Mutex::default(),
        }
    }

    /// The path with no link in its folder; its last part may be one. None where there is no
    /// such folder.
    pub fn resolve(&self, path: &Path) -> Option<PathBuf> {
        let (folder, name) = (path.parent()?, path.file_name()?);
        // A thread that panicked can have left nothing half done in here.
        let mut known = self
            .known
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        if !known.contains_key(folder) {
            let real = self.root.real_path(folder).ok();
            known.insert(folder.to_owned(), real);
        }
        Some(known.get(folder)?.as_ref()?.join(name))
    }
}

/// Text of a package's data.
fn text(bytes: &[u8]) -> String {
    escape(OsStr::from_bytes(bytes))
}

/// A number of a package's data.
fn number(bytes: &[u8]) -> Option<u64> {
    std::str::from_utf8(bytes).ok()?.trim().parse().ok()
}
