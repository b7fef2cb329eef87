//! What a process executes: which file an address belongs to, and which instruction is there.
//!
//! Both are asked once for each address and remembered: a step must cost no more than the
//! stop itself. They are forgotten when the process changes its mappings. In a mapping that it
//! may write to, nothing is remembered: the instruction may be another the next time.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::instruction::{Kind, LONGEST};
use super::{FileSteps, Tally};
use crate::trace::tracee::Stopped;

/// The mappings of a process as they were when it was last asked, and the instructions in them.
#[derive(Default)]
pub(super) struct Code {
    /// Whether it runs in 64-bit mode.
    wide: bool,
    mappings: Vec<Mapping>,
    known: HashMap<u64, Place>,
}

/// One line of /proc/PID/maps.
struct Mapping {
    addresses: Range<u64>,
    writable: bool,
    /// The file, or a name in brackets for what is none.
    name: PathBuf,
}

/// An instruction in its place.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Which file it is in, by its index in the image's list.
    pub file: usize,
    /// What kind it is.
    pub kind: Kind,
}

impl Code {
    /// The code of a process that has executed a program, or has been made by another.
    pub fn of(wide: bool) -> Self {
        Code {
            wide,
            ..Code::default()
        }
    }

    /// The mappings are about to be others.
    pub fn forget(&mut self) {
        self.mappings.clear();
        self.known.clear();
    }

    /// The instruction at an address that a stopped thread is about to execute. Its file is
    /// added to those of the image when it is a new one.
    pub fn at(&mut self, address: u64, stopped: &Stopped, files: &mut Vec<FileSteps>) -> Place {
        if let Some(&place) = self.known.get(&address) {
            return place;
        }
        let (mut mapping, mut writable) = (Path::new("[unmapped]"), true);
        if self.mapping(address).is_none() {
            self.mappings = mappings(stopped.tid);
        }
        if let Some(found) = self.mapping(address) {
            (mapping, writable) = (&found.name, found.writable);
        }
        let file = files.iter().position(|file| file.file == mapping);
        let place = Place {
            file: file.unwrap_or_else(|| {
                files.push(FileSteps {
                    file: mapping.to_owned(),
                    steps: Tally::default(),
                });
                files.len() - 1
            }),
            kind: Kind::of(&bytes(address, stopped), self.wide),
        };
        if !writable {
            self.known.insert(address, place);
        }
        place
    }

    fn mapping(&self, address: u64) -> Option<&Mapping> {
        let holds = |mapping: &&Mapping| mapping.addresses.contains(&address);
        self.mappings.iter().find(holds)
    }
}

/// The bytes of an instruction; fewer where its memory ends.
fn bytes(address: u64, stopped: &Stopped) -> Vec<u8> {
    let words = (0..LONGEST as u64).step_by(8);
    let words = words.map_while(|offset| stopped.word(address.wrapping_add(offset)));
    words.flat_map(u64::to_le_bytes).collect()
}

/// What /proc/PID/maps says, see proc_pid_maps(5). Nothing when the process is gone.
fn mappings(tid: libc::pid_t) -> Vec<Mapping> {
    let text = fs::read(format!("/proc/{tid}/maps")).unwrap_or_default();
    text.split(|&byte| byte == b'\n')
        .filter_map(mapping)
        .collect()
}

/// One line: addresses, permissions, offset, device, inode, and a name or none.
fn mapping(line: &[u8]) -> Option<Mapping> {
    let mut fields = line.splitn(6, |&byte| byte == b' ');
    let addresses = std::str::from_utf8(fields.next()?).ok()?;
    let (start, end) = addresses.split_once('-')?;
    let number = |digits| u64::from_str_radix(digits, 16).ok();
    let permissions = fields.next()?;
    let name = match fields.nth(3)?.trim_ascii_start() {
        b"" => b"[anonymous]",
        name => name,
    };
    Some(Mapping {
        addresses: number(start)?..number(end)?,
        writable: permissions.contains(&b'w'),
        name: OsStr::from_bytes(name).into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_map_is_read_with_its_spaces() {
        let line = b"7f10-7f30 r-xp 00001000 fe:01 1234                       /a dir/b.so";
        let read = mapping(line).unwrap();
        assert_eq!(read.addresses, 0x7f10..0x7f30);
        assert!(!read.writable);
        assert_eq!(read.name, Path::new("/a dir/b.so"));

        let read = mapping(b"10-20 rwxp 00000000 00:00 0 ").unwrap();
        assert!(read.writable);
        assert_eq!(read.name, Path::new("[anonymous]"));
        assert!(mapping(b"").is_none());
    }
}
