//! What a name stands for.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::system::{Known, System};
use super::{Installed, Is, NotInstalled};
use crate::image::{self, Linkage};
use crate::survey::advisories::{Advisory, Affected};
use crate::survey::packages::Manager;
use crate::survey::root::{Inode, Unread};

/// What a name stands for.
pub(super) struct Fit {
    pub is: Is,
    /// Places in the list of packages.
    pub packages: Vec<usize>,
    /// Places in the list of libraries.
    pub libraries: Vec<usize>,
}

/// What the names of an advisory stand for.
#[derive(Default)]
pub(super) struct Advised {
    pub libraries: Vec<usize>,
    pub installed: Vec<Installed>,
    pub not_installed: Vec<NotInstalled>,
}

impl System<'_> {
    /// What it stands for, or what was tried: a path, where there is a `/` in it; a library that
    /// programs load; a package; a library that no program loads, beside those that programs do.
    pub fn fit(&mut self, name: &OsStr) -> Result<Fit, String> {
        if name.as_bytes().contains(&b'/') {
            let path = Path::new(name);
            let library = self.library(path)?;
            return Ok(self.libraries_only(Is::Path, vec![library]));
        }
        let loaded: Vec<usize> = (0..self.libraries.len())
            .filter(|index| self.libraries[*index].names().any(|own| own == name))
            .collect();
        if !loaded.is_empty() {
            return Ok(self.libraries_only(Is::Soname, loaded));
        }
        if let Some(fit) = self.package(name) {
            return Ok(fit);
        }
        let beside = self.beside(name);
        if !beside.is_empty() {
            return Ok(self.libraries_only(Is::Soname, beside));
        }
        Err(self.tried(name))
    }

    fn libraries_only(&self, is: Is, libraries: Vec<usize>) -> Fit {
        Fit {
            is,
            packages: Vec::new(),
            libraries,
        }
    }

    /// What an advisory's names stand for: nothing, if it was withdrawn.
    pub fn advised(&mut self, advisory: &Advisory) -> Advised {
        let mut advised = Advised::default();
        if advisory.withdrawn.is_some() {
            return advised;
        }
        for affected in &advisory.affected {
            match self.affected(affected) {
                Ok(fit) => {
                    advised.installed.push(Installed {
                        name: affected.name.clone(),
                        is: fit.is,
                        packages: self.package_names(&fit.packages),
                    });
                    advised.libraries.extend(fit.libraries);
                }
                Err(reason) => advised.not_installed.push(NotInstalled {
                    name: affected.name.clone(),
                    ecosystem: affected.ecosystem.clone(),
                    reason,
                }),
            }
        }
        advised.libraries.sort();
        advised.libraries.dedup();
        advised
    }

    /// A name with an ecosystem is that of a package of such a system, and of nothing else.
    fn affected(&mut self, affected: &Affected) -> Result<Fit, String> {
        let name = OsStr::new(&affected.name);
        let Some(ecosystem) = &affected.ecosystem else {
            return self.fit(name);
        };
        let managers: Vec<Manager> = self.packages.databases.iter().map(|d| d.manager).collect();
        if managers.is_empty() {
            return Err("there are no package data on this system".to_owned());
        }
        match manager_of(ecosystem) {
            Some(manager) if managers.contains(&manager) => self
                .package(name)
                .ok_or_else(|| "no installed package or source of one is called so".to_owned()),
            _ => Err(format!(
                "{ecosystem} is not what this system's packages are of"
            )),
        }
    }

    /// The shared objects of the packages that are called so.
    fn package(&mut self, name: &OsStr) -> Option<Fit> {
        let packages = self.packages.called(name);
        if packages.is_empty() {
            return None;
        }
        let mut libraries: Vec<usize> = (0..self.libraries.len())
            .filter(|index| {
                let owner = self.libraries[*index].owner;
                owner.is_some_and(|owner| packages.contains(&owner))
            })
            .collect();
        let candidates = packages
            .iter()
            .flat_map(|package| self.packages.list[*package].files());
        let candidates: Vec<PathBuf> = candidates
            .filter(|path| path.file_name().is_some_and(is_library_name))
            .filter_map(|path| self.folders.resolve(path))
            .collect();
        for path in candidates {
            // A link is another's name for a library.
            if self.real_path(&path) != path {
                continue;
            }
            match self.read_library(&path) {
                Ok(Some(library)) => libraries.push(library),
                Ok(None) => {}
                Err(reason) => {
                    let unread = Unread::new(path, reason);
                    if !self.unread.contains(&unread) {
                        self.unread.push(unread);
                    }
                }
            }
        }
        libraries.sort();
        libraries.dedup();
        Some(Fit {
            is: Is::Package,
            packages,
            libraries,
        })
    }

    /// Libraries of that name in the folders of those that programs load.
    fn beside(&mut self, name: &OsStr) -> Vec<usize> {
        if Path::new(name).file_name() != Some(name) {
            return Vec::new();
        }
        let folders = self
            .libraries
            .iter()
            .filter_map(|library| library.path.parent());
        let mut paths: Vec<PathBuf> = folders.map(|folder| folder.join(name)).collect();
        paths.sort();
        paths.dedup();
        let found = paths
            .iter()
            .filter_map(|path| self.read_library(path).ok()?);
        let mut found: Vec<usize> = found.collect();
        found.sort();
        found.dedup();
        found
    }

    fn tried(&self, name: &OsStr) -> String {
        if let Some(programs) = self.missing.get(name) {
            return format!(
                "asked for by {programs} of the programs, but not found where their loaders look; \
                 install it"
            );
        }
        let packages = match self.packages.list.len() {
            0 => "there are no package data".to_owned(),
            number => format!("none of {number} packages or their sources is called so"),
        };
        format!(
            "none of the {} libraries that {} programs load has this SONAME or file name, none \
             beside them either, and {packages}; name a SONAME, a library's path or a package",
            self.libraries
                .iter()
                .filter(|library| !library.users.is_empty())
                .count(),
            self.programs.len(),
        )
    }

    /// The library at a path that was named.
    fn library(&mut self, path: &Path) -> Result<usize, String> {
        self.read_library(path)?
            .ok_or_else(|| "not a library; name a shared object".to_owned())
    }

    /// The library at a path; none where there is another file. Fails on what cannot be read.
    fn read_library(&mut self, path: &Path) -> Result<Option<usize>, String> {
        let said = |error: std::io::Error| format!("{error}; check the path");
        let meta = self.root.metadata(path).map_err(said)?;
        let inode = Inode::of(&meta);
        if let Some(index) = self.by_inode.get(&inode) {
            return Ok(Some(*index));
        }
        if !meta.is_file() {
            return Ok(None);
        }
        let file = self.root.open(path, libc::O_RDONLY).map_err(said)?;
        let mut magic = [0; 4];
        let start = std::os::unix::fs::FileExt::read_at(&file, &mut magic, 0).map_err(said)?;
        if magic[..start] != *b"\x7fELF" {
            return Ok(None);
        }
        let real = self.real_path(path);
        let image = image::of_file(file, meta.len(), &real)?;
        if image.linkage != Linkage::SharedObject {
            return Ok(None);
        }
        let index = self.libraries.len();
        self.by_inode.insert(inode, index);
        self.libraries.push(Known {
            path: real,
            soname: image.soname,
            bytes: image.bytes,
            owner: None,
            libc: false,
            users: Vec::new(),
        });
        Ok(Some(index))
    }
}

/// `libz.so`, `libz.so.1`, `libz.so.1.2.13`.
fn is_library_name(name: &OsStr) -> bool {
    let name = name.as_bytes();
    name.ends_with(b".so") || name.windows(4).any(|four| four == b".so.")
}

/// Which manager's packages an ecosystem of OSV names: those of Linux distributions among the
/// ecosystems in its schema. The release after a `:` does not matter.
fn manager_of(ecosystem: &str) -> Option<Manager> {
    Some(match ecosystem.split(':').next()? {
        "Debian" | "Ubuntu" | "Echo" => Manager::Dpkg,
        "Alpine"
        | "Alpaquita"
        | "BellSoft Hardened Containers"
        | "Chainguard"
        | "MinimOS"
        | "Wolfi" => Manager::Apk,
        "AlmaLinux" | "Azure Linux" | "Mageia" | "openEuler" | "openSUSE" | "Photon OS"
        | "Red Hat" | "Rocky Linux" | "SUSE" => Manager::Rpm,
        _ => return None,
    })
}
