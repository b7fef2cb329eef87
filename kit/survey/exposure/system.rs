//! What there is: the programs, what each loads, and who owns the libraries.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::{Libc, Owner, Population};
use crate::error::Result;
use crate::survey::link::{Linker, Missing};
use crate::survey::packages::{self, Folders, Packages};
use crate::survey::root::{Inode, Root, Unread};
use crate::survey::walk::{self, Kind};

/// A surveyed system.
pub(super) struct System<'a> {
    pub root: &'a Root,
    pub folders: Folders<'a>,
    pub packages: Packages,
    /// The dynamic programs.
    pub programs: Vec<walk::Program>,
    /// First those that programs load; then those that are asked about all the same.
    pub libraries: Vec<Known>,
    /// Where in `libraries` a file is.
    pub by_inode: HashMap<Inode, usize>,
    /// How many programs ask for a library of this name that is not there.
    pub missing: HashMap<OsString, usize>,
    pub population: Population,
    pub static_programs: Vec<PathBuf>,
    pub unread: Vec<Unread>,
}

/// A library.
pub(super) struct Known {
    pub path: PathBuf,
    pub soname: Option<OsString>,
    pub bytes: u64,
    /// A place in the list of packages.
    pub owner: Option<usize>,
    pub libc: bool,
    /// Which programs load it, and whether by its name.
    pub users: Vec<(usize, bool)>,
}

/// What one program loads: places in the list of libraries, and whether by their names.
struct Loads {
    libraries: Vec<(usize, bool)>,
    missing: Vec<Missing>,
}

impl<'a> System<'a> {
    pub fn read(
        root: &'a Root,
        paths: &[PathBuf],
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<Self> {
        let linker = Linker::new(root);
        let (packages, linked) = rayon::join(
            || packages::read(root),
            || -> Result<_> {
                let programs = walk::walk(root, paths, progress)?;
                let loads: Vec<Loads> = programs
                    .list
                    .par_iter()
                    .map(|p| loads(&linker, p))
                    .collect();
                Ok((programs, loads))
            },
        );
        let (found, loads) = linked?;
        let mut system = System {
            root,
            folders: Folders::new(root),
            packages,
            programs: Vec::new(),
            libraries: Vec::new(),
            by_inode: HashMap::new(),
            missing: HashMap::new(),
            population: Population::default(),
            static_programs: Vec::new(),
            unread: found.unread,
        };
        for library in linker.libraries() {
            system
                .by_inode
                .insert(library.inode, system.libraries.len());
            system.libraries.push(Known {
                path: library.path.clone(),
                soname: library.image.soname.clone(),
                bytes: library.image.bytes,
                owner: None,
                libc: false,
                users: Vec::new(),
            });
        }
        for (program, loads) in found.list.into_iter().zip(loads) {
            system.add(program, loads);
        }
        system.unread.extend(linker.unread());
        system.find_owners(0);
        Ok(system)
    }

    fn add(&mut self, program: walk::Program, loads: Loads) {
        let population = &mut self.population;
        match program.kind {
            Kind::Dynamic => population.dynamic += 1,
            Kind::Static | Kind::StaticPie => population.r#static += 1,
            Kind::Script => population.scripts += 1,
            Kind::Library | Kind::Other => {}
        }
        if !matches!(program.kind, Kind::Dynamic | Kind::Static | Kind::StaticPie) {
            return;
        }
        population.programs += 1;
        population.bytes += program.bytes;
        if program.kind != Kind::Dynamic {
            self.static_programs.push(program.path);
            return;
        }
        population.incomplete += usize::from(!loads.missing.is_empty());
        let mut asked: Vec<OsString> = loads.missing.into_iter().map(|m| m.name).collect();
        asked.sort();
        asked.dedup();
        for name in asked {
            *self.missing.entry(name).or_default() += 1;
        }
        for (library, direct) in loads.libraries {
            if let Some(library) = self.libraries.get_mut(library) {
                library.users.push((self.programs.len(), direct));
            }
        }
        self.programs.push(program);
    }

    /// Finds who owns the libraries from that place on, and which of all are the C library's.
    pub fn find_owners(&mut self, from: usize) {
        let real: Vec<PathBuf> = self.libraries[from..]
            .iter()
            .map(|library| self.real_path(&library.path))
            .collect();
        let real: Vec<&Path> = real.iter().map(PathBuf::as_path).collect();
        let owners = self.packages.owners(&self.folders, &real);
        for (library, owner) in self.libraries[from..].iter_mut().zip(owners) {
            library.owner = owner;
        }
        let libc = self.libc_packages();
        for library in &mut self.libraries {
            library.libc = match library.owner {
                Some(owner) => libc.contains(&owner),
                None => library.names().any(is_part_of_libc),
            };
        }
    }

    /// A file's path with no link in it; as it is where that cannot be told.
    pub fn real_path(&self, path: &Path) -> PathBuf {
        self.root
            .real_path(path)
            .unwrap_or_else(|_| path.to_owned())
    }

    /// The packages that own a C library.
    fn libc_packages(&self) -> Vec<usize> {
        let libc = self
            .libraries
            .iter()
            .filter(|library| library.names().any(is_libc));
        let mut owners: Vec<usize> = libc.filter_map(|library| library.owner).collect();
        owners.sort();
        owners.dedup();
        owners
    }

    /// How the C library was told from others.
    pub fn libc(&self, libraries: &[super::Library], packages: &[Owner]) -> Libc {
        let named = self.package_names(&self.libc_packages());
        let known = libraries.iter().filter(|library| library.libc);
        let by_name = known.filter(|l| l.package.and_then(|p| packages.get(p)).is_none());
        Libc {
            packages: named,
            by_name: by_name.map(|library| library.path.clone()).collect(),
        }
    }

    /// The names of packages, each once, in order.
    pub fn package_names(&self, packages: &[usize]) -> Vec<String> {
        let names = packages
            .iter()
            .filter_map(|index| self.packages.list.get(*index));
        let mut names: Vec<String> = names.map(|package| package.name.clone()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// What nobody can tell from these files.
    pub fn unseen(&self, advisories: bool) -> Vec<String> {
        let Population {
            r#static,
            scripts,
            incomplete,
            ..
        } = self.population;
        let mut unseen = vec![
            format!(
                "what is loaded while a program runs (dlopen(3)): plugins, modules of \
                 interpreters, and so what the {scripts} scripts use"
            ),
            format!("copies of a library in the {static} static programs"),
            "copies of a library's source in other programs and libraries".to_owned(),
            "programs in other folders, file systems and containers".to_owned(),
        ];
        if incomplete > 0 {
            unseen.push(format!(
                "what {incomplete} programs would load through libraries that are not there"
            ));
        }
        if self.packages.databases.is_empty() {
            unseen.push("packages: neither dpkg nor apk nor rpm has data here".to_owned());
        }
        if advisories {
            unseen.push(
                "whether an advisory is about the version that is installed: each counts as if \
                 it were"
                    .to_owned(),
            );
        }
        unseen
    }
}

fn loads(linker: &Linker, program: &walk::Program) -> Loads {
    let linked = linker.link(program);
    let loaded = linked.libraries.iter();
    Loads {
        libraries: loaded.map(|l| (l.library.index, l.direct)).collect(),
        missing: linked.missing,
    }
}

impl Known {
    /// What it is called: its SONAME and its file's name.
    pub fn names(&self) -> impl Iterator<Item = &OsStr> {
        self.soname
            .as_deref()
            .into_iter()
            .chain(self.path.file_name())
    }
}

/// Whether a library of that name is the C library itself: glibc's, or musl's.
fn is_libc(name: &OsStr) -> bool {
    let name = name.as_bytes();
    [&b"libc.so"[..], b"libc.musl-", b"ld-musl-"]
        .iter()
        .any(|start| name.starts_with(start))
}

/// Whether a library of that name is a part of the C library: what `make install` of glibc 2.41
/// puts beside `libc.so.6` (the `extra-libs` in its Makeconfig, nss/Makefile, elf/Makefile), and
/// the loaders. `libcrypt` is not among them since libxcrypt has taken its place.
fn is_part_of_libc(name: &OsStr) -> bool {
    const PARTS: [&str; 13] = [
        "libm",
        "libmvec",
        "libdl",
        "libpthread",
        "librt",
        "libresolv",
        "libutil",
        "libanl",
        "libthread_db",
        "libBrokenLocale",
        "libc_malloc_debug",
        "libmemusage",
        "libpcprofile",
    ];
    let bytes = name.as_bytes();
    let stem = bytes.windows(4).position(|four| four == b".so.");
    let stem = stem.map_or(bytes.strip_suffix(b".so"), |dot| Some(&bytes[..dot]));
    is_libc(name)
        || bytes.starts_with(b"ld-linux")
        || bytes.starts_with(b"ld64.so")
        || bytes.starts_with(b"ld.so.")
        || stem.is_some_and(|stem| {
            stem.starts_with(b"libnss_") || PARTS.iter().any(|part| part.as_bytes() == stem)
        })
}
