//! What a flaw in some libraries would reach: the programs that link to them, directly or through
//! others, their bytes, the packages that own them, and what would have to be downloaded.
//!
//! Today a flaw is mended by the library's own package. Were all programs static, each one that
//! has the library in it would have to be built and downloaded again. Both are told side by side,
//! for all that was named, and without the C library, which nearly every program links to.
//!
//! A program's bytes are those of its file as it is, so without its libraries: a static one would
//! have the parts of them that it uses as well. A package's bytes are those of all its files.

mod names;
mod reach;
mod system;

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::advisories::Advisory;
use super::packages::{Database, Package};
use super::root::{Root, Unread};
use crate::error::{Error, Result};
use crate::subject::{all_escaped, escape, escaped};

/// What a flaw would reach.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Exposure {
    /// The folder that the surveyed system is in; none for this one.
    #[serde(serialize_with = "escaped_if_any")]
    pub root: Option<PathBuf>,
    /// Where programs were looked for.
    #[serde(serialize_with = "each_escaped")]
    pub paths: Vec<PathBuf>,
    /// All programs, whether they are reached or not.
    pub population: Population,
    /// What is known of packages, and from where.
    pub databases: Vec<Database>,
    /// What each name reaches, in the order in which they were given.
    pub names: Vec<Named>,
    /// What each advisory reaches, in the order of the file.
    pub advisories: Vec<Advised>,
    /// What all names and advisories reach, each program once.
    pub total: Reach,
    /// The same but for the libraries of the C library.
    pub without_libc: Reach,
    /// Which libraries those are.
    pub libc: Libc,
    /// The libraries that the names and the advisories stand for, in the order of their paths.
    pub libraries: Vec<Library>,
    /// The programs that link to them, in the order of their paths.
    pub programs: Vec<Program>,
    /// The packages that own one of these, in the order of their names.
    pub packages: Vec<Owner>,
    /// The names that fit nothing.
    pub unknown: Vec<Unknown>,
    /// What this answer cannot see, a line each.
    pub unseen: Vec<String>,
    /// Programs without an interpreter: which libraries are in them, their files do not say.
    #[serde(serialize_with = "each_escaped")]
    pub static_programs: Vec<PathBuf>,
    /// Files that could not be read.
    pub unread: Vec<Unread>,
}

/// The programs that were looked at. Scripts and other files that may be executed are none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Population {
    /// How many programs in ELF files.
    pub programs: usize,
    /// The bytes of their files.
    pub bytes: u64,
    /// How many of them load libraries.
    pub dynamic: usize,
    /// How many do not.
    pub r#static: usize,
    /// How many scripts there are besides: their interpreters are programs.
    pub scripts: usize,
    /// How many of the dynamic ones name libraries, themselves or through others, that are not
    /// there: what those would load is not known.
    pub incomplete: usize,
}

/// What a name stands for, and what that reaches.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Named {
    /// As it was given.
    #[serde(serialize_with = "escaped")]
    pub name: OsString,
    /// What it is the name of.
    pub is: Is,
    /// Where it is the name of packages, or of their source: these.
    pub packages: Vec<String>,
    /// What it reaches.
    pub reach: Reach,
}

/// What a name is the name of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Is {
    /// A library's file: the name has a `/` in it.
    Path,
    /// A library, by its `DT_SONAME` or its file's name.
    Soname,
    /// A package, or the source of some.
    Package,
}

/// An advisory, and what it reaches.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Advised {
    /// The advisory.
    #[serde(flatten)]
    pub advisory: Advisory,
    /// Which of its names are on this system, and as what.
    pub installed: Vec<Installed>,
    /// Which are not.
    pub not_installed: Vec<NotInstalled>,
    /// What it reaches.
    pub reach: Reach,
}

/// A name of an advisory that is on the system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Installed {
    /// The name.
    pub name: String,
    /// What it is the name of.
    pub is: Is,
    /// Where it is the name of packages, or of their source: these.
    pub packages: Vec<String>,
}

/// A name of an advisory that is not on the system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NotInstalled {
    /// The name.
    pub name: String,
    /// Whose package it would be, in the words of OSV.
    pub ecosystem: Option<String>,
    /// How it was looked for.
    pub reason: String,
}

/// How far a flaw in some libraries goes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Reach {
    /// The libraries, by their places in [`Exposure::libraries`].
    pub libraries: Vec<usize>,
    /// How many programs name one of them, or are started by it.
    pub direct: usize,
    /// How many load one of them only because another library names it.
    pub through_others: usize,
    /// The bytes of both.
    pub bytes: u64,
    /// Both as a share of all programs, from 0 to 1.
    pub share: f64,
    /// What mends it today: the libraries and the packages that own them.
    pub today: Update,
    /// What would mend it were all programs static: the programs that link to one, and the packages
    /// that own those.
    pub all_static: Update,
    /// The programs, by their places in [`Exposure::programs`].
    pub programs: Vec<Member>,
}

/// Files that would have to be replaced, and the packages that bring them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Update {
    /// How many files.
    pub files: usize,
    /// The bytes of these files: of all else in their packages, none.
    pub bytes: u64,
    /// How many packages own them.
    pub packages: usize,
    /// How many of the files no package owns, as far as is known.
    pub unowned: usize,
    /// What those packages take when installed, in bytes.
    pub installed_bytes: u64,
    /// For how many that is not known; they are not in the sum.
    pub installed_unknown: usize,
    /// What those packages take to download, in bytes.
    pub download_bytes: u64,
    /// For how many that is not known; they are not in the sum.
    pub download_unknown: usize,
}

/// A program that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Member {
    /// Its place in [`Exposure::programs`].
    pub program: usize,
    /// Whether it names one of the libraries itself.
    pub direct: bool,
}

/// A library that something named stands for.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Library {
    /// Its file, as the surveyed system names it, without links.
    #[serde(serialize_with = "escaped")]
    pub path: PathBuf,
    /// Its `DT_SONAME`.
    #[serde(serialize_with = "escaped_if_any")]
    pub soname: Option<OsString>,
    /// Its length.
    pub bytes: u64,
    /// Who owns it: a place in [`Exposure::packages`].
    pub package: Option<usize>,
    /// Whether it is part of the C library.
    pub libc: bool,
    /// How many programs name it, or are started by it.
    pub direct: usize,
    /// How many load it only because another library names it.
    pub through_others: usize,
}

/// A program that links to one.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Program {
    /// Its file, as the surveyed system names it, without links.
    #[serde(serialize_with = "escaped")]
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// Who owns it: a place in [`Exposure::packages`].
    pub package: Option<usize>,
}

/// A package that owns some of them.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Owner {
    /// The package.
    #[serde(flatten)]
    pub package: Package,
    /// How many of the programs it owns.
    pub programs: usize,
    /// The bytes of those.
    pub program_bytes: u64,
    /// How many of the libraries it owns.
    pub libraries: usize,
}

/// What is taken for the C library, and how that was decided: what the package owns that owns
/// `libc.so.6` (or musl's `libc.so`), and of what no package owns, what is called like a part of
/// glibc or musl.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Libc {
    /// The packages.
    pub packages: Vec<String>,
    /// Those of the libraries in question that were told by their names alone.
    #[serde(serialize_with = "each_escaped")]
    pub by_name: Vec<PathBuf>,
}

/// A name that fits nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Unknown {
    /// As it was given.
    #[serde(serialize_with = "escaped")]
    pub name: OsString,
    /// What was tried.
    pub tried: String,
}

impl Unknown {
    /// The same as an error: the name, and what was tried.
    pub fn error(&self) -> Error {
        Error::NotMeasured {
            subject: escape(&self.name),
            reason: self.tried.clone(),
        }
    }
}

/// Tells what a flaw in what these names and advisories stand for would reach, among the programs
/// in these folders. A name is a SONAME, a library's path or a package; what fits nothing is in
/// [`Exposure::unknown`]. `progress` is told how many files have been read so far, from any
/// thread.
///
/// Fails when one of the paths is not there.
///
/// ```
/// use barest::survey::{Root, exposure};
///
/// let this = std::env::current_exe().unwrap();
/// let names = ["libc.so.6".into()];
/// let found = exposure::exposure(&Root::here(), &names, &[], &[this], &|_| ())?;
/// assert_eq!(found.names[0].reach.direct, 1);
/// assert_eq!(found.without_libc.programs.len(), 0);
/// # Ok::<(), barest::Error>(())
/// ```
pub fn exposure(
    root: &Root,
    names: &[OsString],
    advisories: &[Advisory],
    paths: &[PathBuf],
    progress: &(dyn Fn(usize) + Sync),
) -> Result<Exposure> {
    let mut system = system::System::read(root, paths, progress)?;
    let loaded = system.libraries.len();
    let (mut named, mut unknown) = (Vec::new(), Vec::new());
    for name in names {
        match system.fit(name) {
            Ok(fit) => named.push((name, fit)),
            Err(tried) => unknown.push(Unknown {
                name: name.clone(),
                tried,
            }),
        }
    }
    let advised: Vec<_> = advisories
        .iter()
        .map(|advisory| system.advised(advisory))
        .collect();
    system.find_owners(loaded);

    let all = named.iter().map(|(_, fit)| &fit.libraries);
    let all = all.chain(advised.iter().map(|advised| &advised.libraries));
    let measure = reach::Measure::new(&system, all.flatten().copied());
    let total = measure.everything(|_| true);
    let without_libc = measure.everything(|library| !library.libc);
    let names = named.into_iter().map(|(name, fit)| Named {
        name: name.clone(),
        is: fit.is,
        packages: system.package_names(&fit.packages),
        reach: measure.reach(&fit.libraries),
    });
    let names: Vec<_> = names.collect();
    let advisories = advisories
        .iter()
        .zip(advised)
        .map(|(advisory, advised)| Advised {
            advisory: advisory.clone(),
            reach: measure.reach(&advised.libraries),
            installed: advised.installed,
            not_installed: advised.not_installed,
        });
    let advisories: Vec<_> = advisories.collect();
    let unseen = system.unseen(!advisories.is_empty());
    let (libraries, programs, packages) = measure.tables();
    Ok(Exposure {
        root: root.folder().map(PathBuf::from),
        paths: paths.to_vec(),
        libc: system.libc(&libraries, &packages),
        names,
        advisories,
        total,
        without_libc,
        libraries,
        programs,
        packages,
        unknown,
        unseen,
        population: system.population,
        databases: system.packages.databases,
        static_programs: system.static_programs,
        unread: system.unread,
    })
}

fn escaped_if_any<T: AsRef<std::ffi::OsStr>, S: serde::Serializer>(
    text: &Option<T>,
    to: S,
) -> std::result::Result<S::Ok, S::Error> {
    text.as_ref()
        .map(|text| escape(text.as_ref()))
        .serialize(to)
}

fn each_escaped<S: serde::Serializer>(
    paths: &[PathBuf],
    to: S,
) -> std::result::Result<S::Ok, S::Error> {
    let paths: Vec<OsString> = paths.iter().map(|path| path.clone().into()).collect();
    all_escaped(&paths, to)
}
