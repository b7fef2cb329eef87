//! What is known of the processes of a subject: their code, which program they run, and how far
//! they have come in it.

use std::collections::HashMap;
use std::fs;
use std::ops::Range;

use libc::pid_t;
use serde::{Deserialize, Serialize};

use super::files::Files;
use super::memory::Memory;
use super::party::Kind;
use super::unwind::{self, Code};
use crate::start::Mapping;

/// How far a process has come in its program.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// The loader runs; no instruction of the program has been executed yet.
    Loading,
    /// The program has begun, its `main` has not.
    Starting,
    /// In `main`, or in something that it has called.
    Main,
    /// `main` has returned.
    Ending,
}

/// One process.
#[derive(Clone, Default)]
pub struct Process {
    /// Its executable mappings; none when they are to be asked for.
    places: Option<Vec<Place>>,
    /// Which program it runs, by its place in the list of programs.
    pub image: Option<usize>,
    /// How far it has come; none where that cannot be told.
    pub phase: Option<Phase>,
}

/// An executable mapping.
#[derive(Clone)]
struct Place {
    addresses: Range<u64>,
    file: usize,
    /// What to take off an address to get the one that the file states; none when the file could not
    /// be read.
    bias: Option<u64>,
}

impl Process {
    /// Mappings have changed.
    pub fn forget(&mut self) {
        self.places = None;
    }

    /// Whether executable mappings are known, one of which lies in a range.
    pub fn executes_in(&self, range: &Range<u64>) -> bool {
        self.places
            .iter()
            .flatten()
            .any(|place| place.addresses.start < range.end && range.start < place.addresses.end)
    }

    fn find(&self, address: u64) -> Option<&Place> {
        let mut places = self.places.iter().flatten();
        places.find(|place| place.addresses.contains(&address))
    }

    /// Asks what is mapped.
    fn ask(&mut self, tid: pid_t, files: &mut Files, memory: &mut Memory) {
        // Of one that has been killed meanwhile there is nothing to know.
        let text = fs::read(format!("/proc/{tid}/maps")).unwrap_or_default();
        let mappings = Mapping::parse(&text);
        let executable = mappings.iter().filter(|mapping| mapping.flags.execute);
        let places = executable.map(|mapping| {
            let file = files.of(mapping, tid, memory);
            let start = mapping.start.0;
            let elf = files.get(file).and_then(|code| code.elf.as_ref());
            Place {
                addresses: start..mapping.end.0,
                file,
                bias: elf.and_then(|elf| elf.bias(start, mapping.offset)),
            }
        });
        self.places = Some(places.collect());
    }
}

/// A process at one stop of one of its threads.
pub struct View<'a> {
    /// The thread.
    pub tid: pid_t,
    /// Its process.
    pub process: &'a mut Process,
    /// All files.
    pub files: &'a mut Files,
    /// The thread's memory.
    pub memory: &'a mut Memory,
    /// Whether it was asked at this stop what is mapped.
    pub asked: bool,
}

impl View<'_> {
    /// The file at an address, and what to take off to get the address that it states.
    pub fn place(&mut self, address: u64) -> Option<(usize, Option<u64>)> {
        if self.process.find(address).is_none() && !self.asked {
            self.asked = true;
            self.process.ask(self.tid, self.files, self.memory);
        }
        let place = self.process.find(address)?;
        Some((place.file, place.bias))
    }

    /// The file that is loaded at a base: at that distance from where it states itself to be.
    pub fn loaded_at(&self, base: u64) -> Option<usize> {
        let mut places = self.process.places.iter().flatten();
        places
            .find(|place| place.bias == Some(base))
            .map(|place| place.file)
    }

    /// Where code is that a file states to be at an address.
    pub fn address_of(&self, file: usize, stated: u64) -> Option<u64> {
        let mut places = self.process.places.iter().flatten();
        places.find_map(|place| {
            let address = stated.wrapping_add(place.bias?);
            (place.file == file && place.addresses.contains(&address)).then_some(address)
        })
    }
}

impl unwind::Process for View<'_> {
    fn code(&mut self, address: u64) -> Option<Code<'_>> {
        let (file, bias) = self.place(address)?;
        let code = self.files.get(file)?;
        Some(Code {
            file,
            bias: bias.unwrap_or(0),
            entry: code.elf.as_ref().map_or(0, |elf| elf.entry),
            bare_entry: code.kind == Kind::Loader,
            cfi: code.cfi.as_mut().filter(|_| bias.is_some()),
        })
    }

    fn word(&mut self, address: u64) -> Option<u64> {
        self.memory.word(address)
    }

    fn function(&mut self, address: u64) -> Option<u64> {
        let (file, bias) = self.place(address)?;
        let stated = address.wrapping_sub(bias?);
        let start = self.files.get(file)?.function(stated)?;
        Some(start.wrapping_add(bias?))
    }

    fn bytes(&mut self, address: u64, into: &mut [u8]) -> bool {
        self.memory.read(address, into)
    }
}

/// The auxiliary vector of a process, by the numbers of its entries: getauxval(3).
pub fn auxv(tid: pid_t) -> HashMap<u64, u64> {
    parse_auxv(&fs::read(format!("/proc/{tid}/auxv")).unwrap_or_default())
}

/// Pairs of numbers, up to the one that says it is the last.
pub fn parse_auxv(bytes: &[u8]) -> HashMap<u64, u64> {
    let words = bytes.as_chunks::<8>().0;
    let number = |word: &[u8; 8]| u64::from_le_bytes(*word);
    words
        .as_chunks::<2>()
        .0
        .iter()
        .map(|[kind, value]| (number(kind), number(value)))
        .take_while(|(kind, _)| *kind != libc::AT_NULL)
        .collect()
}

/// The process that a thread belongs to, and that process's parent: proc_pid_status(5).
pub fn family(tid: pid_t) -> Option<(pid_t, pid_t)> {
    let status = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    let field = |name: &str| {
        let mut lines = status.lines();
        lines.find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    };
    Some((field("Tgid:")?, field("PPid:")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_auxiliary_vector_ends_where_it_says_so() {
        let words = [6u64, 4096, 9, 0x1000, 0, 0, 7, 1];
        let bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
        let vector = parse_auxv(&bytes);
        assert_eq!(vector.len(), 2);
        assert_eq!(vector[&libc::AT_ENTRY], 0x1000);
        assert!(parse_auxv(&bytes[..15]).is_empty());
    }

    #[test]
    fn this_thread_belongs_to_this_process() {
        let here = std::process::id() as pid_t;
        let (process, parent) = family(here).unwrap();
        assert_eq!(process, here);
        assert_eq!(parent, std::os::unix::process::parent_id() as pid_t);
    }
}
