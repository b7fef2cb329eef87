//! What the files of a system say.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::flaws::{self, Flaws};
use crate::error::Result;
use crate::subject::escape;
use crate::survey::libraries::{self, Few, Libraries, libraries};
use crate::survey::symbols::{self, Shares, symbols};
use crate::survey::walk::Kind;
use crate::survey::{Root, sizes};

/// What the programs in some folders say.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Surveyed {
    /// The folders, escaped as in all JSON of the kit.
    pub paths: Vec<String>,
    /// Which libraries they load.
    pub sharing: Sharing,
    /// How much they use of those.
    pub symbols: Symbols,
    /// What flaws in some libraries would reach.
    pub flaws: Flaws,
    /// Programs that are there both static and dynamic.
    pub pairs: Vec<Pair>,
}

/// Which libraries programs load.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sharing {
    /// How many programs there are of each kind.
    pub programs: BTreeMap<Kind, usize>,
    /// How many programs load each library, the most first.
    pub users: Vec<usize>,
    /// The first of these libraries.
    pub first: Vec<Library>,
    /// How many libraries have few users.
    pub few: Few,
    /// How many libraries are asked for and not found.
    pub missing: usize,
    /// How many files could not be read.
    pub unread: usize,
}

/// A library with many users.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Library {
    /// Its SONAME, escaped.
    pub name: String,
    /// How many programs load it.
    pub users: usize,
    /// How many of those name it themselves.
    pub direct: usize,
    /// Its length.
    pub bytes: u64,
}

/// How much programs use of their libraries.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Symbols {
    /// Of each program, how many symbols it uses, and how many its libraries have on offer.
    pub used: Vec<(u64, u64)>,
    /// How these shares are spread; nothing where no program has one.
    pub spread: Option<Shares>,
    /// Of how many programs and libraries nothing can be told: one that is missing, or damaged.
    pub untold: usize,
}

impl Symbols {
    /// The share that each program uses, from 0 to 1.
    pub fn shares(&self) -> impl Iterator<Item = f64> {
        let on_offer = self.used.iter().filter(|(_, on_offer)| *on_offer > 0);
        on_offer.map(|(used, on_offer)| *used as f64 / *on_offer as f64)
    }
}

/// How large a program is that is there both static and dynamic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// Its name, escaped.
    pub name: String,
    /// The length of the static one's file.
    pub fixed_bytes: u64,
    /// That of the dynamic one's.
    pub dynamic_bytes: u64,
    /// The same with all libraries that it loads. None where it lacks one.
    pub with_libraries_bytes: Option<u64>,
}

impl Pair {
    pub(super) fn of(pair: &sizes::Pair) -> Self {
        Pair {
            name: escape(&pair.name),
            fixed_bytes: pair.fixed.bytes,
            dynamic_bytes: pair.dynamic.bytes,
            with_libraries_bytes: pair.dynamic.with_libraries,
        }
    }
}

/// So many libraries are named.
const FIRST: usize = 20;

/// How often it is told how far the survey is: once in so many files.
const EACH: usize = 64;

/// Surveys the programs in these folders. `tell` is told what part of it is done, from 0 to 1, and
/// what is being done, from any thread.
///
/// Fails when one of the paths is not there.
///
/// ```
/// use barest::report::system::surveyed;
/// use barest::survey::Root;
///
/// let this = std::env::current_exe().unwrap();
/// let found = surveyed(&Root::here(), &[this], &|_, _| ())?;
/// assert_eq!(found.symbols.used.len(), 1);
/// # Ok::<(), barest::Error>(())
/// ```
pub fn surveyed(
    root: &Root,
    paths: &[PathBuf],
    tell: &(dyn Fn(f64, String) + Sync),
) -> Result<Surveyed> {
    let told = |part: f64, doing: &'static str| {
        move |files: usize| {
            if files % EACH == 1 {
                tell(part, format!("{doing}, {files} files"));
            }
        }
    };
    // PATH may have a folder twice.
    let mut folders: Vec<PathBuf> = Vec::new();
    for path in paths {
        if !folders.contains(path) {
            folders.push(path.clone());
        }
    }
    let loaded = libraries(root, &folders, &told(0.0, "libraries"))?;
    let used = symbols(root, &folders, &told(0.1, "symbols"))?;
    let flaws = flaws::flaws(root, &folders, &loaded, &told(0.6, "exposure"))?;
    let sizes = sizes::sizes(root, &folders, &told(0.9, "sizes"))?;
    Ok(Surveyed {
        paths: folders.iter().map(|it| escape(it.as_os_str())).collect(),
        sharing: sharing(&loaded),
        symbols: use_of(&used),
        flaws,
        pairs: sizes.pairs.iter().map(Pair::of).collect(),
    })
}

fn sharing(found: &Libraries) -> Sharing {
    let library = |it: &libraries::Library| Library {
        name: escape(&it.name),
        users: it.users,
        direct: it.direct,
        bytes: it.bytes,
    };
    Sharing {
        programs: found.programs.clone(),
        users: found.libraries.iter().map(|it| it.users).collect(),
        first: found.libraries.iter().take(FIRST).map(library).collect(),
        few: found.few,
        missing: found.missing.len(),
        unread: found.unread.len(),
    }
}

fn use_of(found: &symbols::Symbols) -> Symbols {
    let programs = found.programs.iter();
    Symbols {
        used: programs.map(|it| (it.used, it.exported)).collect(),
        spread: found.shares,
        untold: found.unread.len(),
    }
}
