//! The files whose code a process executes, each read once, however many processes map it.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use libc::pid_t;

use super::cfi::Cfi;
use super::elf::{Elf, Source, Symbol, Symbols};
use super::memory::Memory;
use super::party::{self, Kind};
use super::symbols;
use crate::start::Mapping;

/// All that have been met.
#[derive(Default)]
pub struct Files {
    list: Vec<Code>,
    known: HashMap<Key, usize>,
}

/// A file with code, or what else holds some.
pub struct Code {
    /// Its path as in /proc/PID/maps, or a name in brackets.
    pub name: PathBuf,
    /// What it is by that name.
    pub kind: Kind,
    /// Its headers; none when it is no file that can be read.
    pub elf: Option<Elf>,
    /// How it is unwound; none when it does not say.
    pub cfi: Option<Cfi>,
    /// Its symbols, once they are asked for.
    tables: Option<Vec<Symbols>>,
    /// Where functions begin that were asked for.
    starts: HashMap<u64, Option<u64>>,
}

/// What makes two mappings mappings of one file.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    File { device: String, inode: u64 },
    Named(OsString),
}

/// The name of memory that belongs to no file.
const ANONYMOUS: &str = "[anonymous]";

impl Code {
    /// Its symbols.
    pub fn tables(&mut self) -> &[Symbols] {
        let elf = &self.elf;
        self.tables
            .get_or_insert_with(|| elf.as_ref().map(symbols::tables).unwrap_or_default())
    }

    /// Where the function begins that an address lies in, both as the file states them.
    pub fn function(&mut self, address: u64) -> Option<u64> {
        if let Some(known) = self.starts.get(&address) {
            return *known;
        }
        let holds = |symbol: &&Symbol| {
            let within = address.checked_sub(symbol.address);
            within.is_some_and(|within| within < symbol.size)
        };
        let mut symbols = self.tables().iter().flat_map(|table| &table.list);
        let start = symbols.find(holds).map(|symbol| symbol.address);
        self.starts.insert(address, start);
        start
    }

    /// Whether it lists the names of all its functions.
    pub fn has_all_names(&mut self) -> bool {
        self.tables().iter().any(|table| table.whole)
    }
}

impl Files {
    /// The file of a mapping.
    pub fn of(&mut self, mapping: &Mapping, tid: pid_t, memory: &mut Memory) -> usize {
        let name = match mapping.name.is_empty() {
            true => OsStr::new(ANONYMOUS),
            false => &mapping.name,
        };
        let key = match mapping.inode {
            0 => Key::Named(name.to_owned()),
            inode => Key::File {
                device: mapping.device.clone(),
                inode,
            },
        };
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        let source = match key {
            Key::File { .. } => open(mapping, tid, memory),
            Key::Named(_) if name == "[vdso]" => whole(mapping, memory),
            Key::Named(_) => None,
        };
        let elf = source.and_then(Elf::new);
        self.list.push(Code {
            name: PathBuf::from(name),
            kind: party::kind_of(name.as_ref()),
            cfi: elf.as_ref().and_then(Cfi::of),
            elf,
            tables: None,
            starts: HashMap::new(),
        });
        self.known.insert(key, self.list.len() - 1);
        self.list.len() - 1
    }

    /// One of them.
    pub fn get(&mut self, index: usize) -> Option<&mut Code> {
        self.list.get_mut(index)
    }

    /// All of them.
    pub fn all(&mut self) -> &mut [Code] {
        &mut self.list
    }
}

/// Opens the file of a mapping, as the process that maps it sees it. None when another file has its
/// path by now.
fn open(mapping: &Mapping, tid: pid_t, memory: &mut Memory) -> Option<Source> {
    let mut path = OsString::from(format!("/proc/{tid}/root"));
    path.push(unescaped(&mapping.name));
    let metadata = fs::metadata(&path).ok()?;
    if !metadata.is_file() {
        return None;
    }
    let file = File::open(&path).ok()?;
    let source = Source::File(file, metadata.len());
    let device = metadata.dev();
    let same = metadata.ino() == mapping.inode
        && format!("{:02x}:{:02x}", libc::major(device), libc::minor(device)) == mapping.device;
    // Some file systems tell maps and stat different numbers (overlayfs, btrfs).
    (same || looks_alike(&source, mapping, memory)).then_some(source)
}

/// A path as it is, where the kernel writes a line feed as `\012`.
fn unescaped(written: &OsStr) -> OsString {
    let mut parts = Vec::new();
    let mut rest = written.as_bytes();
    while let Some(at) = rest.windows(4).position(|four| four == b"\\012") {
        parts.extend_from_slice(&rest[..at]);
        parts.push(b'\n');
        rest = &rest[at + 4..];
    }
    parts.extend_from_slice(rest);
    OsString::from_vec(parts)
}

/// Whether a file begins as what is mapped of it, where that is its beginning; and where it is
/// not, whether the mapped part is the same.
fn looks_alike(source: &Source, mapping: &Mapping, memory: &mut Memory) -> bool {
    /// Enough for a build id in most, and for the code of one function in all.
    const LENGTH: u64 = 1024;
    let length = LENGTH.min(source.len().saturating_sub(mapping.offset));
    let mapped = memory.bytes(mapping.start.0, length as usize);
    length > 0 && source.read(mapping.offset, length) == Some(mapped)
}

/// All the bytes of a mapping.
fn whole(mapping: &Mapping, memory: &mut Memory) -> Option<Source> {
    /// The vDSO is of two pages today.
    const MOST: u64 = 1 << 20;
    let length = mapping.end.0.checked_sub(mapping.start.0)?;
    if length > MOST {
        return None;
    }
    let mut bytes = vec![0; length as usize];
    memory
        .read(mapping.start.0, &mut bytes)
        .then_some(Source::Bytes(bytes))
}
