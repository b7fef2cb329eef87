//! How far the addresses of a program move: how many different places its parts have in many
//! starts.
//!
//! Address space layout randomization is what the kernel does at execve(2), and the loader after
//! it: no file tells what comes of it. So this survey, alone of all, runs its subjects. Each is
//! started many times; its loader maps its libraries and runs their initializers; and before the
//! first instruction of the program itself (AT_ENTRY of the auxiliary vector, getauxval(3)) it is
//! stopped by ptrace(2), looked at and killed. Of the program itself nothing runs.
//!
//! ```
//! use barest::Subject;
//! use barest::survey::aslr::aslr;
//!
//! let seen = aslr(&Subject::new("/bin/true"), 3, &|_| {})?;
//! assert_eq!(seen.starts, 3);
//! let libc = |path: &std::path::Path| path.ends_with("libc.so.6");
//! assert!(seen.libraries.iter().any(|library| libc(&library.path)));
//! # Ok::<(), barest::Error>(())
//! ```

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::link::{Linker, Missing};
use super::root::Root;
use super::walk::walk;
use crate::error::{Error, Result};
use crate::image::{Linkage, image};
use crate::spawn;
use crate::start::{
    self, ENTRY, Mapping, Moved, Moves, Place, Reached, Seen, Start, Started, moves,
};
use crate::subject::{Subject, escape, escaped};

/// How the addresses of one program moved.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Aslr {
    /// What was started.
    pub subject: Subject,
    /// The file that was named, as it was found.
    #[serde(serialize_with = "escaped")]
    pub program: PathBuf,
    /// The file that the kernel put into memory: of a script, the program of its `#!` line.
    #[serde(serialize_with = "escaped")]
    pub loaded: PathBuf,
    /// How that file is linked. None where it cannot be read, which a note says.
    pub linkage: Option<Linkage>,
    /// Whether it runs at any address. None where it cannot be read.
    pub pie: Option<bool>,
    /// 64, or 32: the size of its addresses.
    pub bits: u8,
    /// Whether the kernel drew addresses for it. None where the machine does not tell.
    pub randomized: Option<bool>,
    /// The machine's own setting, kernel.randomize_va_space of proc_sys_kernel(5): 0 nothing is
    /// random, 1 all but the heap, 2 the heap too.
    pub randomize_va_space: Option<u32>,
    /// How many bits the machine draws for what mmap(2) places: vm.mmap_rnd_bits, for a 32-bit
    /// program vm.mmap_rnd_compat_bits. None where that may not be read: most let root alone.
    pub mmap_rnd_bits: Option<u32>,
    /// How often it was started.
    pub starts: usize,
    /// Its parts that the kernel places: the program, its interpreter, the vDSO, where the heap
    /// will begin, and both ends of the stack.
    pub parts: Vec<Moved>,
    /// Its libraries, which the loader places, from the lowest in the first start on.
    pub libraries: Vec<Library>,
    /// Whether the interpreter and the libraries were in every start at the same distances from
    /// each other: who knows the place of one of them knows those of all. None where there are
    /// no two of them.
    pub together: Option<bool>,
    /// What a reader must know to judge the rest.
    pub notes: Vec<String>,
}

/// How the address of one library moved.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Library {
    /// Its file.
    #[serde(serialize_with = "escaped")]
    pub path: PathBuf,
    /// How its first byte moved.
    #[serde(flatten)]
    pub moved: Moved,
}

/// Starts a program so often, at least once, each time up to its own first instruction, and
/// compares where its parts were. `progress` is told how many starts are done.
///
/// Several threads may do so at once. Fails when the program cannot be run, may not be traced, or
/// does not come as far as its own first instruction: where a library is missing, for one.
pub fn aslr(subject: &Subject, starts: usize, progress: &(dyn Fn(usize) + Sync)) -> Result<Aslr> {
    spawn::alone(|| {
        let (first, libraries) = once(subject)?;
        let mut all = vec![(Seen::of(&first), libraries)];
        progress(1);
        for done in 1..starts {
            let (start, libraries) = once(subject)?;
            all.push((Seen::of(&start), libraries));
            progress(done + 1);
        }
        Ok(compare(first, all))
    })
}

/// The first byte of each library, from the lowest on.
type Bases = Vec<(OsString, u64)>;

/// One start.
fn once(subject: &Subject) -> Result<(Start, Bases)> {
    let started = Started::new(subject)?;
    let start = started.look(subject)?;
    let fault = |reason: String| Error::NotMeasured {
        subject: subject.to_string(),
        reason,
    };
    let entry = start
        .stack
        .aux(ENTRY)
        .ok_or_else(|| fault("the kernel gave it no AT_ENTRY".to_owned()))?;
    match started.run_to(entry, subject)? {
        Reached::Entry(map) => {
            let bases = libraries(&start, &map);
            Ok((start, bases))
        }
        Reached::End(exit) => Err(fault(format!(
            "{exit} before its own first instruction: {}",
            why(&start)
        ))),
        Reached::Exec => Err(fault(
            "an initializer of its libraries executes another program; survey that one".to_owned(),
        )),
    }
}

/// The files with code that are mapped now and were not before the loader ran.
fn libraries(start: &Start, map: &[Mapping]) -> Bases {
    let before: HashSet<&OsStr> = start.map.iter().map(|it| it.name.as_os_str()).collect();
    let new = |it: &&Mapping| it.inode != 0 && !before.contains(it.name.as_os_str());
    let code: HashSet<&OsStr> = map
        .iter()
        .filter(new)
        .filter(|it| it.flags.execute)
        .map(|it| it.name.as_os_str())
        .collect();
    let mut met = HashSet::new();
    map.iter()
        .filter(|it| code.contains(it.name.as_os_str()) && met.insert(&it.name))
        .map(|it| (it.name.clone(), it.start.0))
        .collect()
}

/// Why a loader may have given up, as far as the files tell.
fn why(start: &Start) -> String {
    let missing = missing(&start.loaded).unwrap_or_default();
    let names: Vec<String> = missing
        .iter()
        .map(|it| format!("{} ({})", escape(&it.name), it.reason))
        .collect();
    match names.is_empty() {
        true => "its loader or an initializer ended it; run it to see what it says".to_owned(),
        false => format!("it lacks {}; install that", names.join(", ")),
    }
}

/// The libraries that a program asks for in vain.
fn missing(program: &Path) -> Result<Vec<Missing>> {
    let root = Root::here();
    let programs = walk(&root, &[program.to_owned()], &|_| {})?;
    let linker = Linker::new(&root);
    let linked = programs.list.iter().map(|program| linker.link(program));
    Ok(linked.flat_map(|linked| linked.missing).collect())
}

/// What several starts of one program come to.
fn compare(first: Start, all: Vec<(Seen, Bases)>) -> Aslr {
    let mut notes = first.notes;
    let (linkage, pie) = match image(&first.loaded) {
        Ok(image) => (Some(image.linkage), Some(image.pie)),
        Err(error) => {
            notes.push(format!("how it is linked is not known: {error}"));
            (None, None)
        }
    };
    let (seen, bases): (Vec<Seen>, Vec<Bases>) = all.into_iter().unzip();
    let Moves {
        starts,
        mmap_rnd_bits,
        addresses,
        ..
    } = moves(&seen, first.bits);

    // Of each library its base in every start.
    let mut rows: Vec<(OsString, Vec<u64>)> = Vec::new();
    for (name, _) in bases.first().into_iter().flatten() {
        let base = |bases: &Bases| Some(bases.iter().find(|(other, _)| other == name)?.1);
        match bases.iter().map(base).collect() {
            Some(row) => rows.push((name.clone(), row)),
            None => notes.push(format!("{} is not in every start", escape(name))),
        }
    }
    let loader: Option<Vec<u64>> = seen
        .iter()
        .map(|seen| seen.at(Place::Interpreter))
        .collect();
    Aslr {
        randomize_va_space: start::setting("/proc/sys/kernel/randomize_va_space"),
        together: together(rows.iter().map(|(_, row)| row).chain(&loader)),
        libraries: rows
            .into_iter()
            .filter_map(|(name, row)| {
                Some(Library {
                    path: name.into(),
                    moved: Moved::of(Place::Library, &row)?,
                })
            })
            .collect(),
        subject: first.subject,
        program: first.program,
        loaded: first.loaded,
        linkage,
        pie,
        bits: first.bits,
        randomized: first.randomized,
        mmap_rnd_bits,
        starts,
        parts: addresses,
        notes,
    }
}

/// Whether these files keep their distances from the first of them in every start.
fn together<'a>(mut files: impl Iterator<Item = &'a Vec<u64>>) -> Option<bool> {
    let first = files.next()?;
    let mut others = files.peekable();
    others.peek()?;
    let keeps = |other: &Vec<u64>| {
        let mut distances = other.iter().zip(first).map(|(a, b)| a.wrapping_sub(*b));
        let one = distances.next();
        distances.all(|distance| Some(distance) == one)
    };
    Some(others.all(keeps))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_keep_their_distances_have_one_base_among_them() {
        let files =
            |rows: &[[u64; 3]]| -> Vec<Vec<u64>> { rows.iter().map(|row| row.to_vec()).collect() };
        let kept = files(&[[0x1000, 0x9000, 0x3000], [0x2000, 0xa000, 0x4000]]);
        assert_eq!(together(kept.iter()), Some(true));
        let moved = files(&[[0x1000, 0x9000, 0x3000], [0x2000, 0xa000, 0x5000]]);
        assert_eq!(together(moved.iter()), Some(false));
        assert_eq!(together(kept[..1].iter()), None);
        assert_eq!(together([].iter()), None);
    }
}
