//! The memory map: what each line is, and who will use it.

use std::ffi::OsStr;
use std::path::Path;

use super::owner;
use crate::start::{Mapping, Owner, Piece, Start};
use crate::subject::escape;
use crate::view::{Table, number, text};

pub(super) fn map(start: &Start) -> Table {
    let mut table = Table::new([
        number("memory from"),
        number("to"),
        text(""),
        text("what it is"),
        text("who will use it"),
        number("offset").optional(),
        text("file").optional(),
    ]);
    for mapping in &start.map {
        let shared = if mapping.shared { 's' } else { 'p' };
        let (offset, file) = match mapping.inode {
            0 => (String::new(), String::new()),
            _ => (format!("{:#x}", mapping.offset), short(&mapping.name)),
        };
        table.row([
            mapping.start.to_string(),
            mapping.end.to_string(),
            format!("{}{shared}", mapping.flags),
            piece(mapping),
            user(start, mapping),
            offset,
            file,
        ]);
    }
    table
}

/// The last part of a path; a name in brackets whole.
pub(super) fn short(name: &OsStr) -> String {
    escape(Path::new(name).file_name().unwrap_or(name))
}

fn piece(mapping: &Mapping) -> String {
    let flags = mapping.flags;
    match mapping.what {
        Piece::File(of) => {
            let kind = match (flags.write, flags.execute) {
                (false, true) => "code",
                (false, false) => "read-only data",
                (true, false) => "data",
                (true, true) => "code that can be overwritten",
            };
            let head = match mapping.offset {
                0 => "headers, ",
                _ => "",
            };
            let holds = match mapping.holds.is_empty() {
                true => String::new(),
                false => format!(" ({})", mapping.holds.join(", ")),
            };
            format!("{}: {head}{kind}{holds}", owner(of))
        }
        Piece::Zeros(of) => format!("{}: zeroed data (.bss)", owner(of)),
        Piece::Stack => "[stack]: as yet what the kernel put on it".to_owned(),
        Piece::Heap => "[heap]".to_owned(),
        Piece::Vdso => "[vdso]: code of the kernel for programs".to_owned(),
        Piece::Vvar => format!("{}: data of the kernel for [vdso]", escape(&mapping.name)),
        Piece::Vsyscall => "[vsyscall]: forerunner of [vdso]".to_owned(),
        Piece::Other if mapping.name.is_empty() => "memory of no file".to_owned(),
        Piece::Other => short(&mapping.name),
    }
}

fn user(start: &Start, mapping: &Mapping) -> String {
    let loader = start.entry.of == Some(Owner::Interpreter);
    let flags = mapping.flags;
    match mapping.what {
        Piece::File(Owner::Interpreter) if flags.execute => {
            "the loader, from the first instruction on"
        }
        Piece::File(Owner::Interpreter) | Piece::Zeros(Owner::Interpreter) => "the loader",
        Piece::File(Owner::Program) if loader && flags.execute => {
            "the program, once the loader jumps to AT_ENTRY"
        }
        Piece::File(Owner::Program) if loader && flags.write => {
            "the loader, which writes addresses there; then the program"
        }
        Piece::File(Owner::Program) if loader && !mapping.holds.is_empty() => {
            "the loader, which finds its way by it; then the program"
        }
        Piece::File(Owner::Program) if flags.execute => {
            "the program, from the first instruction on"
        }
        Piece::File(Owner::Program) | Piece::Zeros(Owner::Program) => "the program",
        Piece::Stack => "the first thread, downwards",
        Piece::Heap => "malloc, by brk(2)",
        Piece::Vdso => "libc, by AT_SYSINFO_EHDR: the time without a system call",
        Piece::Vvar => "[vdso]: the kernel keeps the time there",
        Piece::Vsyscall => "old programs: three calls at fixed addresses",
        Piece::Other => "",
    }
    .to_owned()
}
