//! How large programs are: in bytes of their files, in pages of memory and in segments, and how
//! much more that is with the libraries that they load. And, where a system has a program both
//! linked statically and dynamically, how the two compare.
//!
//! ```
//! use barest::survey::{Root, sizes::sizes};
//!
//! let found = sizes(&Root::here(), &["/bin/sh".into()], &|_| {})?;
//! let shell = &found.programs[0];
//! assert_eq!(shell.bytes, std::fs::metadata("/bin/sh").unwrap().len());
//! // The segments of a program, and what their ends leave of a page.
//! assert!(shell.segments > 0 && shell.memory_pages > 0);
//! # Ok::<(), barest::Error>(())
//! ```

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rayon::prelude::*;
use serde::Serialize;

use super::link::Linker;
use super::root::{Root, Unread};
use super::walk::{Kind, Program, walk};
use crate::error::Result;
use crate::image::Image;
use crate::subject::{all_escaped, escaped};

/// The bytes of a page, in which memory is counted: the smallest that x86-64 and i386 have
/// (`PAGE_SIZE` of arch/x86/include/asm/page_types.h).
pub const PAGE: u64 = 4096;

/// How large the programs of a system are.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Sizes {
    /// The bytes of a page: [`PAGE`].
    pub page: u64,
    /// Each program, the largest file first.
    pub programs: Vec<Size>,
    /// The same by kind, of those kinds that there are.
    pub kinds: Vec<OfKind>,
    /// The libraries that any of them loads, interpreters included, each counted once.
    pub libraries: Libraries,
    /// Programs that are there both static and dynamic, by their names.
    pub pairs: Vec<Pair>,
    /// How many other files may be executed: scripts, libraries, files of no known format.
    pub others: usize,
    /// What could not be read, with the reason.
    pub unread: Vec<Unread>,
}

/// How large one program is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Size {
    /// The program.
    #[serde(serialize_with = "escaped")]
    pub path: PathBuf,
    /// Dynamic, static or static-PIE.
    pub kind: Kind,
    /// The bytes of its file.
    pub bytes: u64,
    /// The pages that these fill, the last one in part.
    pub file_pages: u64,
    /// How many segments are put into memory (`PT_LOAD` of elf(5)).
    pub segments: u64,
    /// The pages of memory that these take: each from the page of `p_vaddr` to that of
    /// `p_vaddr + p_memsz`, one that two segments share once. The heap, the stack and the
    /// libraries are not among them.
    pub memory_pages: u64,
    /// How many libraries it loads, directly or through others, its interpreter included. None
    /// of a static one.
    pub libraries: Option<u64>,
    /// The bytes of its file and of the files of all these, each once. None of a static one, and
    /// of one that lacks a library.
    pub with_libraries: Option<u64>,
    /// The libraries that are asked for and not found.
    #[serde(serialize_with = "all_escaped")]
    pub missing: Vec<OsString>,
}

/// How large the programs of one kind are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct OfKind {
    /// Which kind.
    pub kind: Kind,
    /// How many there are.
    pub programs: u64,
    /// Their [`Size::bytes`].
    pub bytes: Spread,
    /// Their [`Size::segments`].
    pub segments: Spread,
    /// Their [`Size::memory_pages`].
    pub memory_pages: Spread,
    /// Their [`Size::with_libraries`], of those that lack none. None of static ones, and where
    /// each lacks one. A library counts once for each program in the total.
    pub with_libraries: Option<Spread>,
}

/// How numbers are spread. A quartile that falls between two of them is as far between as its
/// share says (type 7 of Rob Hyndman and Yanan Fan, as in a figure's boxes), rounded down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Spread {
    /// Their sum.
    pub total: u64,
    /// The least.
    pub least: u64,
    /// The first quartile.
    pub first_quartile: u64,
    /// The median.
    pub median: u64,
    /// The third quartile.
    pub third_quartile: u64,
    /// The most.
    pub most: u64,
}

/// Libraries, each counted once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Libraries {
    /// How many.
    pub files: u64,
    /// The bytes of their files.
    pub bytes: u64,
}

/// The same program linked in both ways, as far as names tell: `bash` and `bash-static`, `busybox`
/// and `busybox.static`, `sh` and `static-sh`, or one name in two folders. Whether both were made
/// of the same source is not looked at.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Pair {
    /// The name that both have, without what marks the static one.
    #[serde(serialize_with = "escaped")]
    pub name: OsString,
    /// The dynamic one: of several the one in the same folder, otherwise the first by its path.
    pub dynamic: Size,
    /// The static one, at a fixed address or a static-PIE.
    #[serde(rename = "static")]
    pub fixed: Size,
    /// The bytes of the static one's file, as a multiple of the dynamic one's.
    pub to_dynamic: f64,
    /// The same as a multiple of the dynamic one's with its libraries. None where it lacks one.
    pub to_dynamic_with_libraries: Option<f64>,
}

/// Looks for programs in these folders, as [`walk`] does, and tells how large they are.
/// `progress` is told how many files have been read so far, from any thread.
///
/// Fails when one of the paths that were named is not there.
pub fn sizes(root: &Root, paths: &[PathBuf], progress: &(dyn Fn(usize) + Sync)) -> Result<Sizes> {
    let found = walk(root, paths, progress)?;
    let linker = Linker::new(root);
    let all = found.list.len();
    let mut programs: Vec<Size> = found
        .list
        .par_iter()
        .filter_map(|program| size(program, &linker))
        .collect();
    let mut unread = found.unread;
    unread.extend(linker.unread());
    let libraries = linker.libraries();
    let pairs = pairs(&programs);
    programs.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.path.cmp(&b.path)));
    Ok(Sizes {
        page: PAGE,
        kinds: kinds(&programs),
        others: all - programs.len(),
        libraries: Libraries {
            files: libraries.len() as u64,
            bytes: libraries.iter().map(|library| library.image.bytes).sum(),
        },
        pairs,
        programs,
        unread,
    })
}

/// How large a program is. None of what is no ELF program.
fn size(program: &Program, linker: &Linker<'_>) -> Option<Size> {
    let image = program.image.as_deref()?;
    let dynamic = match program.kind {
        Kind::Dynamic => true,
        Kind::Static | Kind::StaticPie => false,
        Kind::Script | Kind::Library | Kind::Other => return None,
    };
    let linked = dynamic.then(|| linker.link(program));
    let missing: Vec<OsString> = match &linked {
        Some(linked) => linked.missing.iter().map(|it| it.name.clone()).collect(),
        None => Vec::new(),
    };
    let with_libraries = linked
        .as_ref()
        .filter(|_| missing.is_empty())
        .map(|linked| {
            let bytes = linked.libraries.iter().map(|it| it.library.image.bytes);
            program.bytes + bytes.sum::<u64>()
        });
    Some(Size {
        path: program.path.clone(),
        kind: program.kind,
        bytes: program.bytes,
        file_pages: program.bytes.div_ceil(PAGE),
        segments: loads(image).count() as u64,
        memory_pages: memory_pages(image),
        libraries: linked.map(|linked| linked.libraries.len() as u64),
        with_libraries,
        missing,
    })
}

/// Where its segments lie in memory: their addresses and bytes.
fn loads(image: &Image) -> impl Iterator<Item = (u64, u64)> {
    let loads = image.segments.iter().filter(|it| it.kind == "LOAD");
    loads.map(|it| (it.address, it.memory_bytes))
}

/// How many pages lie in any of the segments.
fn memory_pages(image: &Image) -> u64 {
    let mut pages: Vec<(u64, u64)> = loads(image)
        .filter(|(_, bytes)| *bytes > 0)
        .map(|(start, bytes)| {
            // The page of the last byte. What goes beyond the last address ends there.
            let last = start.saturating_add(bytes - 1);
            (start / PAGE, last / PAGE)
        })
        .collect();
    pages.sort_unstable();
    let (mut count, mut next) = (0, 0);
    for (first, last) in pages {
        let first = first.max(next);
        if first <= last {
            count += last - first + 1;
            next = last + 1;
        }
    }
    count
}

fn kinds(programs: &[Size]) -> Vec<OfKind> {
    let of = |kind| {
        let own: Vec<&Size> = programs.iter().filter(|it| it.kind == kind).collect();
        let spread = |number: fn(&Size) -> u64| Spread::of(own.iter().map(|it| number(it)));
        Some(OfKind {
            kind,
            programs: own.len() as u64,
            bytes: spread(|it| it.bytes)?,
            segments: spread(|it| it.segments)?,
            memory_pages: spread(|it| it.memory_pages)?,
            with_libraries: Spread::of(own.iter().filter_map(|it| it.with_libraries)),
        })
    };
    let kinds = [Kind::Dynamic, Kind::Static, Kind::StaticPie];
    kinds.into_iter().filter_map(of).collect()
}

impl Spread {
    /// How these are spread. None of none.
    fn of(numbers: impl Iterator<Item = u64>) -> Option<Self> {
        let mut sorted: Vec<u64> = numbers.collect();
        sorted.sort_unstable();
        let quartile = |quarters: usize| {
            let place = sorted.len().checked_sub(1)? * quarters;
            let below = *sorted.get(place / 4)?;
            let above = sorted.get(place / 4 + 1).unwrap_or(&below);
            let between = u128::from(above - below) * (place % 4) as u128 / 4;
            Some(below + between as u64)
        };
        Some(Spread {
            // What damaged files say of their memory can be more than a number holds.
            total: sorted.iter().fold(0, |sum, it| sum.saturating_add(*it)),
            least: quartile(0)?,
            first_quartile: quartile(1)?,
            median: quartile(2)?,
            third_quartile: quartile(3)?,
            most: quartile(4)?,
        })
    }
}

/// The programs that are there in both ways.
fn pairs(programs: &[Size]) -> Vec<Pair> {
    let mut dynamic: BTreeMap<&OsStr, Vec<&Size>> = BTreeMap::new();
    for program in programs.iter().filter(|it| it.kind == Kind::Dynamic) {
        let name = program.path.file_name().unwrap_or_default();
        dynamic.entry(name).or_default().push(program);
    }
    let mut pairs: Vec<Pair> = programs
        .iter()
        .filter(|it| it.kind != Kind::Dynamic)
        .filter_map(|fixed| {
            let own = fixed.path.file_name()?;
            let name = [own, unmarked(own)]
                .into_iter()
                .find(|name| dynamic.contains_key(name))?;
            let all = dynamic.get(name)?;
            let beside = |it: &&&Size| it.path.parent() == fixed.path.parent();
            let first = || all.iter().min_by_key(|it| &it.path);
            let other = all.iter().find(beside).or_else(first)?;
            Some(Pair::of(name, other, fixed))
        })
        .collect();
    pairs.sort_by(|a, b| (&a.name, &a.fixed.path).cmp(&(&b.name, &b.fixed.path)));
    pairs
}

impl Pair {
    fn of(name: &OsStr, dynamic: &Size, fixed: &Size) -> Self {
        let multiple = |of: u64| fixed.bytes as f64 / of as f64;
        Pair {
            name: name.to_owned(),
            to_dynamic: multiple(dynamic.bytes),
            to_dynamic_with_libraries: dynamic.with_libraries.map(multiple),
            dynamic: dynamic.clone(),
            fixed: fixed.clone(),
        }
    }
}

/// A name without what says that the program is static.
fn unmarked(name: &OsStr) -> &OsStr {
    let bytes = name.as_bytes();
    let endings = [&b"-static"[..], b".static", b"_static"].into_iter();
    let bare = endings
        .filter_map(|mark| bytes.strip_suffix(mark))
        .chain(bytes.strip_prefix(b"static-"))
        .find(|bare| !bare.is_empty());
    OsStr::from_bytes(bare.unwrap_or(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_as_far_between_two_numbers_as_their_share_says() {
        let spread = |numbers: &[u64]| {
            Spread::of(numbers.iter().copied()).map(|it| {
                let quartiles = [it.first_quartile, it.median, it.third_quartile];
                (it.total, it.least, quartiles, it.most)
            })
        };
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[7]), Some((7, 7, [7, 7, 7], 7)));
        let four = spread(&[40, 10, 30, 20]);
        assert_eq!(four, Some((100, 10, [17, 25, 32], 40)));
        assert_eq!(spread(&[5, 4, 3, 2, 1]), Some((15, 1, [2, 3, 4], 5)));
        let most = u64::MAX;
        let widest = spread(&[0, most]);
        assert_eq!(
            widest,
            Some((most, 0, [most / 4, most / 2, most / 4 * 3 + 2], most))
        );
    }

    #[test]
    fn a_name_is_without_what_marks_a_static_program() {
        for (name, bare) in [
            ("bash-static", "bash"),
            ("busybox.static", "busybox"),
            ("qemu_static", "qemu"),
            ("static-sh", "sh"),
            ("-static", "-static"),
            ("statically", "statically"),
        ] {
            assert_eq!(unmarked(OsStr::new(name)), bare);
        }
    }
}
