//! How starts are shown: all of one program's, the outlines of several side by side.

mod map;
mod moves;
mod registers;
mod side_by_side;
mod stack;

use std::ffi::OsStr;

pub(super) use moves::{area, by_spread, runs};

use super::{Page, Table, counted, number, subject, text};
use crate::start::{Address, Effect, Header, Owner, Piece, Start};
use crate::subject::escape;

/// The page of these starts.
pub fn page(starts: &[Start]) -> Page {
    let page = match starts {
        [] => Page::new(),
        [one] => details(one),
        several => Page::new().table(side_by_side::side_by_side(several)),
    };
    let page = match starts.iter().find_map(|start| start.moves.as_ref()) {
        Some(moves) => page.note(moves::method(moves)),
        None => page,
    };
    let Some(first) = starts.first() else {
        return page;
    };
    let page = page.note(subject::footer(&first.subject));
    starts.iter().fold(page, |page, start| {
        let line = |note| match starts.len() {
            1 => format!("note: {note}"),
            _ => format!("note: {}: {note}", start.subject),
        };
        start
            .notes
            .iter()
            .fold(page, |page, note| page.note(line(note)))
    })
}

/// One program: where it starts, what decided that, its memory, its stack, its registers.
fn details(start: &Start) -> Page {
    let page = Page::new()
        .heading(start.subject.to_string())
        .table(outline(start))
        .table(headers(start))
        .table(map::map(start))
        .table(stack::stack(start))
        .table(registers::registers(start));
    match &start.moves {
        Some(moves) => page.table(moves::moved(moves)),
        None => page,
    }
}

fn outline(start: &Start) -> Table {
    let mut table = Table::new([text(""), text("")]);
    let entry = &start.entry;
    table.row(["first instruction", &first_instruction(start)]);
    let header = match (entry.address_in_file, entry.header) {
        (Some(here), Some(header)) if here == header => format!("{header}, the same"),
        (Some(here), Some(header)) => format!("{header}, but it starts at {here}"),
        (None, Some(header)) => format!("{header}, but it starts elsewhere"),
        (_, None) => "none: it is in no file of the program".to_owned(),
    };
    table.row(["entry in that file's header", &header]);
    table.row(["its bytes", &pairs(&entry.bytes)]);
    let at = |owner| match base(start, owner) {
        Some(base) => format!(" at {base}"),
        None => String::new(),
    };
    let loaded = escape(start.loaded.as_os_str());
    let program = format!("{loaded}{}, {}-bit", at(Owner::Program), start.bits);
    table.row(["program", &program]);
    let interpreter = match interpreter(start) {
        Some(path) => format!("{}{}", escape(path), at(Owner::Interpreter)),
        None => "none: the program starts itself".to_owned(),
    };
    table.row(["interpreter", &interpreter]);
    let heap = match start.heap {
        Some(heap) => format!("none yet; the first brk will give {heap}"),
        None => "none yet".to_owned(),
    };
    table.row(["heap", &heap]);
    table.row(["addresses", random(start)]);
    table
}

/// As in `0x7f98541e6c40: /usr/lib/ld-linux-x86-64.so.2, offset 0x1ec40`.
fn first_instruction(start: &Start) -> String {
    let entry = &start.entry;
    let file = escape(&entry.file);
    match entry.offset {
        Some(offset) => format!("{}: {file}, offset {offset:#x}", entry.address),
        None => format!("{}: {file}", entry.address),
    }
}

fn random(start: &Start) -> &'static str {
    match start.randomized {
        Some(true) => "random (ASLR)",
        Some(false) => "fixed: without ASLR",
        None => "unknown whether random (ASLR)",
    }
}

/// The path of the interpreter that the program names.
fn interpreter(start: &Start) -> Option<&OsStr> {
    start
        .headers
        .iter()
        .find_map(|header| match &header.effect {
            Effect::Interpreter(path) => Some(path.as_os_str()),
            _ => None,
        })
}

/// The first byte of a file in memory.
fn base(start: &Start, owner: Owner) -> Option<Address> {
    let mut own = start.map.iter().filter(|m| m.what == Piece::File(owner));
    own.next().map(|mapping| mapping.start)
}

/// Bytes with a space between each two.
fn pairs(digits: &str) -> String {
    let pairs = digits.as_bytes().chunks(2).map(String::from_utf8_lossy);
    pairs.collect::<Vec<_>>().join(" ")
}

/// The program headers: all of the program's, those of the interpreter that decided something.
fn headers(start: &Start) -> Table {
    let mut table = Table::new([
        text("program header"),
        text("flags"),
        number("offset").optional(),
        number("address"),
        number("in file").optional(),
        number("in memory").optional(),
        text("what the kernel did"),
    ]);
    for header in &start.headers {
        let segment = &header.segment;
        if header.of == Owner::Interpreter && header.effect == Effect::Unread {
            continue;
        }
        table.row([
            format!("{}: {}", owner(header.of), segment.kind),
            segment.flags.to_string(),
            format!("{:#x}", segment.offset),
            format!("{:#x}", segment.address),
            segment.file_bytes.to_string(),
            segment.memory_bytes.to_string(),
            effect(header),
        ]);
    }
    table
}

fn owner(owner: Owner) -> &'static str {
    match owner {
        Owner::Program => "program",
        Owner::Interpreter => "interpreter",
    }
}

fn effect(header: &Header) -> String {
    let segment = &header.segment;
    match &header.effect {
        Effect::Mapped { start, end } => {
            match segment.memory_bytes.saturating_sub(segment.file_bytes) {
                0 => format!("put at {start} to {end}"),
                zeros => format!(
                    "put at {start} to {end}, {} behind it",
                    counted(zeros, "zero")
                ),
            }
        }
        Effect::Interpreter(path) => format!("started {} in its place", escape(path)),
        Effect::Stack { executable: false } => "made the stack not executable".to_owned(),
        Effect::Stack { executable: true } => "made the stack executable".to_owned(),
        Effect::Located => "told where it is: AT_PHDR".to_owned(),
        Effect::Unread => match segment.kind.as_str() {
            "DYNAMIC" => "nothing: by it the loader finds libraries and relocations",
            "TLS" => "nothing: libc copies each thread's variables from it",
            "GNU_RELRO" => "nothing: read-only once the loader has written addresses there",
            "GNU_EH_FRAME" => "nothing: by it unwinders find their tables",
            "NOTE" => "nothing: the build id and the like, for tools",
            "GNU_PROPERTY" => "nothing: what the code keeps to, for the loader",
            _ => "nothing",
        }
        .to_owned(),
    }
}
