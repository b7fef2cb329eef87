//! The initial stack: a row for each value.

use super::{base, owner, pairs};
use crate::start::{Address, Aux, Decoded, Piece, Pointer, Stack, Start, What, hexadecimal};
use crate::subject::escape;
use crate::view::{Table, counted, number, text};

pub(super) fn stack(start: &Start) -> Table {
    let mut table = Table::new([
        text("on the stack"),
        number("bytes"),
        text("what it is"),
        text("value"),
        text("meaning"),
    ]);
    let stack = &start.stack;
    let mut parts = stack.parts.iter().enumerate().peekable();
    while let Some((index, part)) = parts.next() {
        let mut bytes = part.bytes;
        // The strings of a list are one row: each stands beside its pointer.
        while let Some((_, next)) = parts.peek()
            && is_string(part.what)
            && is_string(next.what)
            && name(stack, part.what) == name(stack, next.what)
        {
            bytes += next.bytes;
            parts.next();
        }
        let before = index.checked_sub(1).map(|before| stack.parts[before].what);
        table.row([
            part.at.to_string(),
            bytes.to_string(),
            name(stack, part.what),
            value(start, part.what),
            meaning(stack, part.what, before),
        ]);
    }
    table
}

fn is_string(what: What) -> bool {
    matches!(what, What::ArgvString(_) | What::EnvpString(_))
}

fn name(stack: &Stack, what: What) -> String {
    match what {
        What::Argc => "argc".to_owned(),
        What::Argv(index) => format!("argv[{index}]"),
        What::ArgvNull => format!("argv[{}]", stack.argv.len()),
        What::Envp(index) => format!("envp[{index}]"),
        What::EnvpNull => format!("envp[{}]", stack.envp.len()),
        What::Auxv(index) => stack.auxv.get(index).map(aux_name).unwrap_or_default(),
        What::AuxvNull => "AT_NULL (0)".to_owned(),
        What::Random => "random bytes".to_owned(),
        What::Platform | What::BasePlatform => "platform".to_owned(),
        What::ArgvString(_) => "strings of argv".to_owned(),
        What::EnvpString(_) => "strings of envp".to_owned(),
        What::ExecFn => "path".to_owned(),
        What::Zeros => "padding".to_owned(),
        What::Unknown => "unknown".to_owned(),
        What::EndMarker => "end marker".to_owned(),
    }
}

/// As in `AT_ENTRY (9)`.
pub(super) fn aux_name(entry: &Aux) -> String {
    match entry.name {
        Some(name) => format!("{name} ({})", entry.kind),
        None => format!("AT_? ({})", entry.kind),
    }
}

fn value(start: &Start, what: What) -> String {
    let stack = &start.stack;
    let pointer = |list: &[Pointer], index: usize| {
        let pointer = list.get(index).map(|pointer| pointer.to);
        pointer.unwrap_or_default().to_string()
    };
    match what {
        What::Argc => stack.argc.to_string(),
        What::Argv(index) => pointer(&stack.argv, index),
        What::Envp(index) => pointer(&stack.envp, index),
        What::ArgvNull | What::EnvpNull => "NULL".to_owned(),
        What::Auxv(index) => stack
            .auxv
            .get(index)
            .map(|entry| decoded(start, entry))
            .unwrap_or_default(),
        What::AuxvNull | What::Zeros | What::EndMarker => "0".to_owned(),
        What::Random => random_bytes(stack),
        What::Platform => pointed(stack, 15),
        What::BasePlatform => pointed(stack, 24),
        What::ExecFn => pointed(stack, 31),
        What::ArgvString(_) => counted(stack.argv.len() as u64, "string"),
        What::EnvpString(_) => counted(stack.envp.len() as u64, "string"),
        What::Unknown => String::new(),
    }
}

/// The value of an entry, as it is to be read.
pub(super) fn decoded(start: &Start, entry: &Aux) -> String {
    let at = entry.value;
    match &entry.decoded {
        Decoded::Number(number) => number.to_string(),
        Decoded::Address(address) => match place(start, *address) {
            Some(place) => format!("{at} ({place})"),
            None => at.to_string(),
        },
        Decoded::Bits(_) | Decoded::Text(_) | Decoded::Bytes(_) | Decoded::Nothing => {
            at.to_string()
        }
    }
}

/// Where an address is, as in `program + 0x40`.
fn place(start: &Start, address: Address) -> Option<String> {
    let mapping = start.map.iter().find(|mapping| mapping.holds(address))?;
    let (name, base) = match mapping.what {
        Piece::File(of) | Piece::Zeros(of) => (owner(of).to_owned(), base(start, of)?),
        _ if mapping.name.is_empty() => return None,
        _ => (escape(&mapping.name), mapping.start),
    };
    match address.0.checked_sub(base.0)? {
        0 => Some(format!("start of {name}")),
        within => Some(format!("{name} + {within:#x}")),
    }
}

fn random_bytes(stack: &Stack) -> String {
    let bytes = stack.auxv.iter().find_map(|entry| match entry.decoded {
        Decoded::Bytes(bytes) => Some(pairs(&hexadecimal(&bytes))),
        _ => None,
    });
    bytes.unwrap_or_default()
}

/// The string of an entry.
fn pointed(stack: &Stack, kind: u64) -> String {
    let mut entries = stack.auxv.iter().filter(|entry| entry.kind == kind);
    match entries.next().map(|entry| &entry.decoded) {
        Some(Decoded::Text(text)) => format!("\"{}\"", escape(text)),
        _ => String::new(),
    }
}

fn meaning(stack: &Stack, what: What, before: Option<What>) -> String {
    match what {
        What::Argc => "how many arguments: the stack pointer is here",
        What::Argv(index) => return string(stack.argv.get(index)),
        What::Envp(index) => return string(stack.envp.get(index)),
        What::ArgvNull => "the end of argv",
        What::EnvpNull => "the end of envp",
        What::Auxv(index) => return stack.auxv.get(index).map(purpose).unwrap_or_default(),
        What::AuxvNull => "the end of the auxiliary vector",
        What::Random => "of AT_RANDOM",
        What::Platform => "of AT_PLATFORM",
        What::BasePlatform => "of AT_BASE_PLATFORM",
        What::ArgvString(_) | What::EnvpString(_) => "each with a NUL behind it",
        What::ExecFn => "of AT_EXECFN",
        What::Zeros if before == Some(What::AuxvNull) => {
            "so that the stack pointer is a multiple of 16"
        }
        What::Zeros if matches!(before, Some(What::Platform | What::Random)) => {
            "to a multiple of 16, and with ASLR up to 8 KiB more, at random"
        }
        What::EndMarker => "left free at the very end",
        What::Zeros | What::Unknown => "",
    }
    .to_owned()
}

/// What an element of argv or envp points to.
fn string(pointer: Option<&Pointer>) -> String {
    match pointer.and_then(|pointer| pointer.text.as_ref()) {
        Some(text) => format!("\"{}\"", escape(text)),
        None => "no string".to_owned(),
    }
}

/// What an entry is for, and what it says.
fn purpose(entry: &Aux) -> String {
    let meaning = entry.meaning.unwrap_or("not known here");
    match &entry.decoded {
        Decoded::Bits(bits) if !bits.is_empty() => format!("{meaning}: {}", bits.join(" ")),
        Decoded::Text(text) => format!("{meaning}: \"{}\"", escape(text)),
        Decoded::Nothing => format!("{meaning}; but there is nothing"),
        _ => meaning.to_owned(),
    }
}
