//! How much of its libraries a program uses: of the symbols that they have on offer, those that
//! its relocations are bound to.
//!
//! # What is on offer
//! The symbols that a library defines for others, as the loader finds them: by the dynamic table
//! and the hash table in it, never by section headers. Each name with each version is one symbol.
//! A version that is hidden (bit 15 in `DT_VERSYM`: `memcpy@GLIBC_2.2.5` beside
//! `memcpy@@GLIBC_2.14`) is on offer as well, as programs that were linked when it was the default
//! bind to it. The names of versions themselves, which some linkers write as absolute symbols, are
//! not. A symbol that two libraries define is on offer twice: each has its own.
//!
//! # What is used
//! The symbols that the program's own relocations name, each bound as its loader does it: see
//! [`ProgramUse`]. What a library uses of another does not count, and what a program asks for at
//! run time by dlsym(3) cannot be seen.
//!
//! What can only be told in part is not told: a program of which a library is missing or damaged
//! is named among [`Symbols::unread`], with the reason, and counts nowhere.

mod lookup;
mod mapped;
mod offer;
pub(super) mod program;
mod references;
mod table;
mod versions;

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use self::mapped::Reason;
use self::offer::Offer;
use self::program::program_use;
use super::link::{Linked, Linker};
use super::root::{Root, Unread};
use super::walk::{self, Kind, Program};
use crate::error::Result;
use crate::subject::{escape, escaped};

/// The name and version of what [`Symbols`] is as JSON.
pub const SCHEMA: &str = "barest.survey-symbols/1";

/// How much of their libraries the dynamic programs of some folders use.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Symbols {
    /// Each dynamic program, in the order of their paths.
    pub programs: Vec<ProgramUse>,
    /// Each library that one of them loads, in the order of their paths.
    pub libraries: Vec<LibraryUse>,
    /// How the programs' shares are spread; nothing where no program has one.
    pub shares: Option<Shares>,
    /// The programs, libraries and loaders' files of which nothing can be told, and why.
    pub unread: Vec<Unread>,
}

/// What one program uses.
///
/// A relocation names a symbol, with or without a version, and the loader asks the program itself
/// and then its libraries, in the order in which it loaded them, for a definition. glibc's takes
/// one of that version, or of the base version, or of a library without versions; for a name
/// without a version that of the oldest version, or the only one that is not hidden. musl's looks
/// at no versions, and passes over hidden ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ProgramUse {
    /// The program, as the surveyed system names it.
    #[serde(serialize_with = "escaped")]
    pub path: PathBuf,
    /// How many libraries it loads, directly and through others, its loader among them.
    pub libraries: usize,
    /// How many symbols these have on offer.
    pub exported: u64,
    /// To how many of them the program's relocations are bound.
    pub used: u64,
    /// `used` of `exported`, from 0 to 1; nothing where nothing is on offer.
    pub share: Option<f64>,
    /// In which ways they are used. One that is used in two ways counts in both.
    pub by: UsedBy,
    /// How many symbols it names that it defines itself, so that no library's is used.
    pub own: u64,
    /// How many it names weakly, and nothing defines: `__gmon_start__` of most programs.
    pub weak_undefined: u64,
    /// How many it names that nothing defines, though something must: it does not start, or it
    /// ends when it calls one.
    pub unresolved: u64,
}

/// The ways in which symbols are used: by what kind of relocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct UsedBy {
    /// Called through the procedure linkage table: `JUMP_SLOT`.
    pub plt: u64,
    /// By an address in the global offset table: `GLOB_DAT`. A program that was linked with
    /// `-fno-plt` calls functions so too. (riscv has no such relocation: see `direct`.)
    pub got: u64,
    /// Copied into the program, which from then on has the one that all use: `COPY`.
    pub copy: u64,
    /// A thread's own: `DTPMOD`, `DTPOFF`, `TPOFF`, `TLSDESC`.
    pub tls: u64,
    /// By an address or a size anywhere else: all other relocations that name a symbol.
    pub direct: u64,
}

/// What is used of one library.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LibraryUse {
    /// The library, as the surveyed system names it.
    #[serde(serialize_with = "escaped")]
    pub path: PathBuf,
    /// How many symbols it has on offer.
    pub exported: u64,
    /// How many programs load it, directly or through others.
    pub programs: u64,
    /// How many of its symbols at least one program uses.
    pub used_by_any: u64,
    /// The mean, over the programs that load it, of the share of its symbols that each uses;
    /// nothing where it has none on offer.
    pub mean_share: Option<f64>,
}

/// How shares are spread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Shares {
    /// Of how many programs.
    pub programs: usize,
    /// Their mean: each program counts the same.
    pub mean: f64,
    /// The least.
    pub min: f64,
    /// A quarter of them is at most this. The quartiles and the median are by the nearest rank:
    /// each is the share of a program.
    pub lower_quartile: f64,
    /// Half of them is at most this.
    pub median: f64,
    /// Three quarters of them are at most this.
    pub upper_quartile: f64,
    /// The greatest.
    pub max: f64,
}

/// Surveys the dynamic programs in these folders, and in those in them; a path may be a program
/// itself. No program is run, and no loader is asked. `progress` is told how many files have been
/// read so far, from any thread.
///
/// Fails when one of the paths cannot be opened.
///
/// ```
/// use barest::survey::{Root, symbols};
///
/// let found = symbols::symbols(&Root::here(), &["/bin/sh".into()], &|_| {})?;
/// for program in &found.programs {
///     println!("{} of {} symbols", program.used, program.exported);
/// }
/// # let [shell] = &found.programs[..] else { panic!("{found:?}") };
/// # assert!(shell.used > 0 && shell.used < shell.exported);
/// # Ok::<(), barest::Error>(())
/// ```
pub fn symbols(
    root: &Root,
    paths: &[PathBuf],
    progress: &(dyn Fn(usize) + Sync),
) -> Result<Symbols> {
    let read = AtomicUsize::new(0);
    let one_more = || progress(read.fetch_add(1, Ordering::Relaxed) + 1);
    let found = walk::walk(root, paths, &|walked| {
        read.fetch_max(walked, Ordering::Relaxed);
        progress(walked);
    })?;
    let mut unread = found.unread;

    let linker = Linker::new(root);
    let programs = found
        .list
        .into_iter()
        .filter(|program| program.kind == Kind::Dynamic);
    let programs: Vec<Program> = programs.collect();
    let scopes = programs
        .par_iter()
        .map(|program| libraries_of(&linker.link(program)));
    let scopes: Vec<std::result::Result<Vec<u32>, Reason>> = scopes.collect();
    unread.extend(linker.unread());

    let libraries = linker.libraries();
    let offers = libraries.par_iter().map(|library| {
        one_more();
        Offer::read(root, library)
    });
    let offers: Vec<std::result::Result<Offer, Reason>> = offers.collect();

    let used = programs.par_iter().zip(scopes).map(|(program, scope)| {
        one_more();
        let used = scope.and_then(|scope| program_use(root, program, &scope, &libraries, &offers));
        used.map_err(|reason| Unread::new(&program.path, reason))
    });
    let mut uses = Vec::new();
    for used in used.collect::<Vec<_>>() {
        match used {
            Ok(used) => uses.push(used),
            Err(reason) => unread.push(reason),
        }
    }
    let mut loaded = Vec::new();
    for (library, offer) in libraries.iter().zip(&offers) {
        match offer {
            Ok(offer) => loaded.extend(offer.library_use(&library.path)),
            Err(reason) => unread.push(Unread::new(&library.path, reason)),
        }
    }
    loaded.sort_by(|a: &LibraryUse, b| a.path.cmp(&b.path));
    unread.sort_by(|a, b| (&a.path, &a.reason).cmp(&(&b.path, &b.reason)));
    unread.dedup();
    Ok(Symbols {
        shares: Shares::of(uses.iter().filter_map(|used| used.share)),
        programs: uses,
        libraries: loaded,
        unread,
    })
}

/// The indexes of the libraries that a program loads, or which of them is missing.
fn libraries_of(linked: &Linked) -> std::result::Result<Vec<u32>, Reason> {
    if !linked.missing.is_empty() {
        let missing = linked.missing.iter();
        let missing =
            missing.map(|missing| format!("{}: {}", escape(&missing.name), missing.reason));
        return Err(missing.collect::<Vec<_>>().join("; "));
    }
    let libraries = linked.libraries.iter();
    Ok(libraries
        .map(|loaded| loaded.library.index as u32)
        .collect())
}

impl Shares {
    /// The spread of these shares, if there is one.
    fn of(shares: impl Iterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = shares.collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        // The nearest rank: the least share that so many quarters of all do not exceed.
        let rank = |quarters: usize| {
            let rank = (sorted.len() * quarters).div_ceil(4);
            sorted.get(rank.saturating_sub(1)).copied().unwrap_or(max)
        };
        Some(Shares {
            programs: sorted.len(),
            mean: sorted.iter().sum::<f64>() / sorted.len() as f64,
            min,
            lower_quartile: rank(1),
            median: rank(2),
            upper_quartile: rank(3),
            max,
        })
    }
}
