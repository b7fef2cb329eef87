//! The memory map, a line each: what it is, and which program headers made it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use serde::{Deserialize, Serialize};

use super::address::Address;
use crate::image::{Flags, Image};
use crate::subject::escaped;

/// One line of /proc/PID/maps (proc_pid_maps(5)).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Mapping {
    /// Its first address.
    pub start: Address,
    /// The first address behind it.
    pub end: Address,
    /// What its pages may be used for now.
    pub flags: Flags,
    /// Whether what is written there is seen by others: the `s` of `rw-s`.
    pub shared: bool,
    /// Where it begins in the file. 0 where there is none.
    pub offset: u64,
    /// The file's device, as in `fe:00`.
    pub device: String,
    /// The file's inode. 0 where there is none.
    pub inode: u64,
    /// The file's path, a name in brackets, or nothing. A newline in a path is `\012`.
    #[serde(serialize_with = "escaped")]
    pub name: OsString,
    /// What it is.
    pub what: Piece,
    /// The program headers (PT_LOAD) that made it, by their places in the list of headers.
    pub headers: Vec<usize>,
    /// What else of that file lies in it, by the names of the program headers that say so:
    /// `INTERP`, `DYNAMIC`.
    pub holds: Vec<String>,
}

/// What a mapping is.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Piece {
    /// A part of a file.
    File(Owner),
    /// What a file's segment has in memory and not in the file: zeros.
    Zeros(Owner),
    /// `[stack]`.
    Stack,
    /// `[heap]`, where the kernel calls one so.
    Heap,
    /// `[vdso]`: code of the kernel that runs in the program.
    Vdso,
    /// `[vvar]` and `[vvar_vclock]`: what that code reads.
    Vvar,
    /// `[vsyscall]`: what came before the vDSO.
    Vsyscall,
    /// None of these.
    Other,
}

/// Whose a file is.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Owner {
    /// The program's.
    Program,
    /// The interpreter's that the program names: the loader.
    Interpreter,
}

impl Mapping {
    /// Reads the text of /proc/PID/maps. Lines that are none are left out. What each is, is told
    /// by its name alone as yet.
    pub fn parse(text: &[u8]) -> Vec<Mapping> {
        text.split(|&byte| byte == b'\n').filter_map(line).collect()
    }

    /// Whether an address lies in it.
    pub fn holds(&self, address: Address) -> bool {
        self.start <= address && address < self.end
    }
}

/// Addresses, permissions, offset, device, inode, and a name or none.
fn line(line: &[u8]) -> Option<Mapping> {
    let mut fields = line.splitn(6, |&byte| byte == b' ');
    let mut field = || str::from_utf8(fields.next()?).ok();
    let hex = |digits| u64::from_str_radix(digits, 16).ok();
    let (start, end) = field()?.split_once('-')?;
    let permissions = field()?.as_bytes();
    let offset = hex(field()?)?;
    let device = field()?.to_owned();
    let inode = field()?.parse().ok()?;
    let name = OsStr::from_bytes(fields.next().unwrap_or_default().trim_ascii_start());
    Some(Mapping {
        start: Address(hex(start)?),
        end: Address(hex(end)?),
        flags: Flags {
            read: permissions.contains(&b'r'),
            write: permissions.contains(&b'w'),
            execute: permissions.contains(&b'x'),
        },
        shared: permissions.contains(&b's'),
        offset,
        device,
        inode,
        what: match name.as_bytes() {
            b"[stack]" => Piece::Stack,
            b"[heap]" => Piece::Heap,
            b"[vdso]" => Piece::Vdso,
            b"[vvar]" | b"[vvar_vclock]" => Piece::Vvar,
            b"[vsyscall]" => Piece::Vsyscall,
            _ => Piece::Other,
        },
        name: name.to_owned(),
        headers: Vec::new(),
        holds: Vec::new(),
    })
}

/// A file that the kernel has put into memory.
pub(super) struct Object<'a> {
    pub owner: Owner,
    pub image: &'a Image,
    /// What is added to each address in its headers.
    pub bias: u64,
    /// The place of its first header in the list of all headers.
    pub first_header: usize,
}

impl Object<'_> {
    /// Where a segment lies in memory: its start, the end of what comes from the file, and its
    /// end, to whole pages.
    pub fn place(&self, segment: &crate::image::Segment, page: u64) -> [u64; 3] {
        let start = self.bias.wrapping_add(segment.address);
        let behind = |bytes| up(start.saturating_add(bytes), page);
        [
            start - start % page,
            behind(segment.file_bytes),
            behind(segment.memory_bytes.max(segment.file_bytes)),
        ]
    }

    /// Says what a mapping is that is this file's, if it is one.
    pub fn claim(&self, mapping: &mut Mapping, page: u64) {
        let from_file = mapping.inode != 0;
        let overlaps = |start, end| mapping.start.0 < end && start < mapping.end.0;
        let loads = self
            .image
            .segments
            .iter()
            .enumerate()
            .filter(|(_, segment)| segment.kind == "LOAD");
        let mut headers: Vec<_> = loads
            .filter(|(_, segment)| {
                let [start, file_end, end] = self.place(segment, page);
                match from_file {
                    true => overlaps(start, file_end),
                    false => overlaps(file_end, end),
                }
            })
            .collect();
        // Two segments can lie in one page of a damaged or a strange file.
        let alike = |flags: Flags| flags == mapping.flags;
        if headers.iter().any(|(_, segment)| alike(segment.flags)) {
            headers.retain(|(_, segment)| alike(segment.flags));
        }
        if headers.is_empty() || !matches!(mapping.what, Piece::Other | Piece::Heap) {
            return;
        }
        mapping.what = match from_file {
            true => Piece::File(self.owner),
            false => Piece::Zeros(self.owner),
        };
        mapping.headers = headers
            .iter()
            .map(|(index, _)| self.first_header + index)
            .collect();
        let others = self.image.segments.iter().filter(|segment| {
            let start = self.bias.wrapping_add(segment.address);
            !matches!(segment.kind.as_str(), "LOAD" | "GNU_STACK")
                && segment.file_bytes > 0
                && overlaps(start, start.saturating_add(segment.file_bytes))
        });
        for segment in others.filter(|_| from_file) {
            if !mapping.holds.contains(&segment.kind) {
                mapping.holds.push(segment.kind.clone());
            }
        }
    }
}

/// To the next whole page.
fn up(address: u64, page: u64) -> u64 {
    address.checked_next_multiple_of(page).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_with_the_spaces_and_the_bytes_of_its_name() {
        let read = Mapping::parse(
            b"7f10-7f30 r-xp 00001000 fe:01 1234                       /a dir/\xff.so\n\
              10-20 rw-s 00000000 00:00 0 \n\
              20-30 rw-p 00000000 00:00 0                          [stack]\n\
              no line\n",
        );
        let [code, anonymous, stack] = &read[..] else {
            panic!("{read:?}");
        };
        assert_eq!((code.start, code.end), (Address(0x7f10), Address(0x7f30)));
        assert_eq!(code.flags.to_string(), "r-x");
        assert_eq!((code.offset, code.inode), (0x1000, 1234));
        assert_eq!(code.device, "fe:01");
        assert_eq!(code.name, OsStr::from_bytes(b"/a dir/\xff.so"));
        assert!(anonymous.shared && anonymous.name.is_empty());
        assert_eq!(stack.what, Piece::Stack);
    }
}
