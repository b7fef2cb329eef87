//! How many programs need each library, directly and through others.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize, Serializer};

use super::link::{self, Linked, Linker};
use super::root::{Root, Unread};
use super::walk::{Kind, walk};
use crate::error::Result;
use crate::subject::{escape, escaped};

/// Which libraries the programs of a system load, and how many programs each has.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Libraries {
    /// The folder that the system is in; `None` for this system.
    #[serde(serialize_with = "path_if_any")]
    pub root: Option<PathBuf>,
    /// Where programs were looked for, as the system names it.
    #[serde(serialize_with = "paths")]
    pub paths: Vec<PathBuf>,
    /// How many programs there are of each kind; all kinds, each program once.
    pub programs: BTreeMap<Kind, usize>,
    /// How many further names of programs were met, which are not counted: hard and symbolic links.
    pub other_names: usize,
    /// The libraries, those with most users first, then by name and by path. Two files with one
    /// name are two.
    pub libraries: Vec<Library>,
    /// How many of them have few users.
    pub few: Few,
    /// What programs ask for and is not found, that of most programs first.
    pub missing: Vec<Missing>,
    /// What could not be read, or is damaged, by path.
    pub unread: Vec<Unread>,
}

/// A library and its users: the dynamic programs that load it when they start, for themselves or
/// for another library. A program is one user, however many of its libraries ask for this one.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Library {
    /// The name that others link to it by (`DT_SONAME`), whole; that of its file where it has none.
    #[serde(serialize_with = "escaped")]
    pub name: OsString,
    /// Its path without any link in it, as the system names it.
    #[serde(serialize_with = "escaped")]
    pub path: PathBuf,
    /// The size of its addresses: 32 or 64.
    pub bits: u8,
    /// The machine it is for, as in [`Image`](crate::image::Image).
    pub machine: String,
    /// Its length.
    pub bytes: u64,
    /// How many programs load it.
    pub users: usize,
    /// How many of those name it themselves, or name it as their interpreter.
    pub direct: usize,
    /// How many load it because of another library only.
    pub through_others: usize,
}

/// How many libraries have few users.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Few {
    /// Libraries of exactly one program.
    pub exactly_one: usize,
    /// Against the programs that load libraries at all.
    pub of_dynamic_programs: Fewer,
    /// Against all programs, static ones and scripts as well.
    pub of_all_programs: Fewer,
}

/// Libraries that have fewer users than a share of some programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Fewer {
    /// How many programs those are: the denominator.
    pub programs: usize,
    /// Libraries of fewer than 0.1 % of them.
    pub than_1_in_1000: usize,
    /// Libraries of fewer than 1 % of them.
    pub than_1_in_100: usize,
}

/// A library that is asked for and not found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Missing {
    /// The name that is asked for.
    #[serde(serialize_with = "escaped")]
    pub name: OsString,
    /// Why there is none: `not found`, or what is wrong with the file that was found.
    pub reason: String,
    /// The programs that lack it, by path.
    #[serde(serialize_with = "paths")]
    pub programs: Vec<PathBuf>,
    /// The files that ask for it: those programs, or libraries of theirs; by path.
    #[serde(serialize_with = "paths")]
    pub wanted_by: Vec<PathBuf>,
}

/// Counts the users of all libraries that the programs below some paths load.
/// `progress` is told how many files have been read so far, from any thread.
///
/// Fails when one of the paths is not there.
///
/// ```
/// use barest::survey::libraries::libraries;
/// use barest::survey::{Root, walk::Kind};
///
/// let this = std::env::current_exe().unwrap();
/// let found = libraries(&Root::here(), &[this], &|_| ())?;
/// assert_eq!(found.programs[&Kind::Dynamic], 1);
/// for library in &found.libraries {
///     assert_eq!(library.users, 1, "{}", library.path.display());
/// }
/// # Ok::<(), barest::Error>(())
/// ```
pub fn libraries(
    root: &Root,
    paths: &[PathBuf],
    progress: &(dyn Fn(usize) + Sync),
) -> Result<Libraries> {
    let found = walk(root, paths, progress)?;
    let linker = Linker::new(root);
    let dynamic = found.list.par_iter().filter(|p| p.kind == Kind::Dynamic);
    let tally = dynamic
        .fold(Tally::default, |mut tally, program| {
            tally.add(&program.path, linker.link(program));
            tally
        })
        .reduce(Tally::default, Tally::with);

    let mut programs = BTreeMap::from(Kind::ALL.map(|kind| (kind, 0)));
    for program in &found.list {
        *programs.entry(program.kind).or_default() += 1;
    }
    let dynamic = programs.get(&Kind::Dynamic).copied().unwrap_or(0);
    let libraries = tally.libraries(&linker.libraries());
    let few = Few {
        exactly_one: libraries
            .iter()
            .filter(|library| library.users == 1)
            .count(),
        of_dynamic_programs: Fewer::than(dynamic, &libraries),
        of_all_programs: Fewer::than(found.list.len(), &libraries),
    };
    let mut unread = found.unread;
    unread.extend(linker.unread());
    unread.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Libraries {
        root: root.folder().map(Path::to_owned),
        paths: paths.to_owned(),
        programs,
        other_names: found.other_names,
        libraries,
        few,
        missing: tally.missing(),
        unread,
    })
}

impl Fewer {
    fn than(programs: usize, libraries: &[Library]) -> Self {
        let fewer = |parts: usize| {
            let few = |library: &&Library| library.users.saturating_mul(parts) < programs;
            libraries.iter().filter(few).count()
        };
        Fewer {
            programs,
            than_1_in_1000: fewer(1000),
            than_1_in_100: fewer(100),
        }
    }
}

/// What some programs load and lack.
#[derive(Default)]
struct Tally {
    /// By the library's index.
    users: Vec<Users>,
    missing: BTreeMap<(OsString, String), Wanted>,
}

/// The programs of one library.
#[derive(Clone, Copy, Default)]
struct Users {
    direct: usize,
    through_others: usize,
}

/// Who asks for what is missing.
#[derive(Default)]
struct Wanted {
    programs: BTreeSet<PathBuf>,
    by: BTreeSet<PathBuf>,
}

impl Tally {
    /// Adds what one program loads and lacks.
    fn add(&mut self, program: &Path, linked: Linked) {
        for loaded in linked.libraries {
            let users = self.users_of(loaded.library.index);
            if loaded.direct {
                users.direct += 1;
            } else {
                users.through_others += 1;
            }
        }
        for missing in linked.missing {
            let wanted = self
                .missing
                .entry((missing.name, missing.reason))
                .or_default();
            wanted.programs.insert(program.to_owned());
            wanted.by.insert(missing.wanted_by);
        }
    }

    /// What other programs load and lack as well.
    fn with(mut self, other: Self) -> Self {
        for (index, more) in other.users.into_iter().enumerate() {
            let users = self.users_of(index);
            users.direct += more.direct;
            users.through_others += more.through_others;
        }
        for (what, more) in other.missing {
            let wanted = self.missing.entry(what).or_default();
            wanted.programs.extend(more.programs);
            wanted.by.extend(more.by);
        }
        self
    }

    fn users_of(&mut self, library: usize) -> &mut Users {
        if self.users.len() <= library {
            self.users.resize(library + 1, Users::default());
        }
        &mut self.users[library]
    }

    /// The libraries with their users, in their order.
    fn libraries(&self, met: &[Arc<link::Library>]) -> Vec<Library> {
        let with_users = met.iter().filter_map(|library| {
            let users = self.users.get(library.index)?;
            Some(row(library, *users))
        });
        let mut rows: Vec<Library> = with_users.filter(|row| row.users > 0).collect();
        rows.sort_by(|a, b| {
            let by_users = b.users.cmp(&a.users);
            by_users.then_with(|| (&a.name, &a.path).cmp(&(&b.name, &b.path)))
        });
        rows
    }

    fn missing(self) -> Vec<Missing> {
        let missing = self.missing.into_iter();
        let mut rows: Vec<Missing> = missing
            .map(|((name, reason), wanted)| Missing {
                name,
                reason,
                programs: wanted.programs.into_iter().collect(),
                wanted_by: wanted.by.into_iter().collect(),
            })
            .collect();
        // Those of as many programs stay in the order of their names.
        rows.sort_by_key(|row| std::cmp::Reverse(row.programs.len()));
        rows
    }
}

fn row(library: &link::Library, users: Users) -> Library {
    let image = &library.image;
    let file = library.path.file_name().unwrap_or_default();
    Library {
        name: image.soname.clone().unwrap_or_else(|| file.to_owned()),
        path: library.path.clone(),
        bits: image.bits,
        machine: image.machine.clone(),
        bytes: image.bytes,
        users: users.direct + users.through_others,
        direct: users.direct,
        through_others: users.through_others,
    }
}

fn path_if_any<S: Serializer>(
    path: &Option<PathBuf>,
    to: S,
) -> std::result::Result<S::Ok, S::Error> {
    path.as_ref()
        .map(|path| escape(path.as_os_str()))
        .serialize(to)
}

fn paths<S: Serializer>(paths: &[PathBuf], to: S) -> std::result::Result<S::Ok, S::Error> {
    to.collect_seq(paths.iter().map(|path| escape(path.as_os_str())))
}
