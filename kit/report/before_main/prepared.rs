//! What the kernel prepared for a program before its first instruction.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::start::{self, Address, Owner, Piece, Plan, Stack, What, start_by};
use crate::subject::{Subject, escape};

/// What the kernel prepared.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Prepared {
    /// The program, as it was named.
    pub program: String,
    /// Its first instruction.
    pub entry: Entry,
    /// Its memory, from the lowest address on.
    pub map: Vec<Region>,
    /// What lies on its stack, from the stack pointer on: one stretch ends where the next begins.
    pub stack: Vec<Stretch>,
    /// Whether addresses were random all the same. None where the machine does not tell.
    pub randomized: Option<bool>,
    /// What a reader must know to judge the rest.
    pub notes: Vec<String>,
}

/// A first instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its address.
    pub address: Address,
    /// The file that it is in, or a name in brackets.
    pub file: String,
    /// Whose file that is; None where it is neither the program's nor its loader's.
    pub of: Option<Owner>,
    /// Where it is in that file.
    pub offset: Option<u64>,
    /// Which address that is by the file's program headers.
    pub address_in_file: Option<Address>,
    /// The first instruction by the file's header.
    pub header: Option<Address>,
}

/// One line of the memory map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// Its first address.
    pub start: Address,
    /// The first address behind it.
    pub end: Address,
    /// As in `r-xp`.
    pub flags: String,
    /// What it is.
    pub what: Piece,
    /// The path of its file, a name in brackets, or nothing.
    pub name: String,
    /// Where it begins in the file.
    pub offset: u64,
}

/// A part of the initial stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// Where it begins.
    pub at: Address,
    /// How many bytes it has.
    pub bytes: u64,
    /// What it is.
    pub what: Content,
    /// What is in it, one by one: strings, or the names of elements.
    pub holds: Vec<String>,
}

/// What a part of the initial stack is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// How many arguments there are.
    Argc,
    /// The addresses of the arguments, and a NULL.
    Argv,
    /// The addresses of the variables of the environment, and a NULL.
    Envp,
    /// The auxiliary vector.
    Auxv,
    /// The bytes of AT_RANDOM.
    Random,
    /// The string of AT_PLATFORM, and of AT_BASE_PLATFORM.
    Platform,
    /// The arguments.
    Arguments,
    /// The variables of the environment.
    Environment,
    /// The path that execve was given.
    Path,
    /// Zeros between two others.
    Padding,
    /// The zeros at the very end.
    EndMarker,
    /// Nothing that is known.
    Unknown,
}

impl Prepared {
    /// Starts a program as far as its first instruction, without random addresses: so it finds
    /// all where it was the last time.
    pub(super) fn of(path: &Path) -> Result<Self> {
        let plan = Plan {
            fixed: true,
            ..Plan::ONCE
        };
        let seen = start_by(&Subject::new(path).timeout(LIMIT), plan)?;
        let entry = &seen.entry;
        Ok(Prepared {
            program: escape(path.as_os_str()),
            entry: Entry {
                address: entry.address,
                file: escape(&entry.file),
                of: entry.of,
                offset: entry.offset,
                address_in_file: entry.address_in_file,
                header: entry.header,
            },
            map: seen.map.iter().map(region).collect(),
            stack: stretches(&seen.stack),
            randomized: seen.randomized,
            notes: seen.notes,
        })
    }

    /// The bytes of the stack, from the stack pointer to its end.
    pub fn stack_bytes(&self) -> u64 {
        let bytes = self.stack.iter().map(|stretch| stretch.bytes);
        bytes.fold(0, u64::saturating_add)
    }
}

/// The kernel prepares nothing that takes that long.
const LIMIT: Duration = Duration::from_secs(20);

fn region(mapping: &start::Mapping) -> Region {
    let shared = if mapping.shared { 's' } else { 'p' };
    Region {
        start: mapping.start,
        end: mapping.end,
        flags: format!("{}{shared}", mapping.flags),
        what: mapping.what,
        name: escape(&mapping.name),
        offset: mapping.offset,
    }
}

/// The parts of a stack, those of one kind that follow each other in one.
fn stretches(stack: &Stack) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    for part in &stack.parts {
        let (what, holds) = content(stack, part.what);
        match stretches.last_mut() {
            Some(last) if last.what == what => {
                last.bytes = last.bytes.saturating_add(part.bytes);
                last.holds.extend(holds);
            }
            _ => stretches.push(Stretch {
                at: part.at,
                bytes: part.bytes,
                what,
                holds: holds.into_iter().collect(),
            }),
        }
    }
    stretches
}

/// What a part is, and what it holds.
fn content(stack: &Stack, what: What) -> (Content, Option<String>) {
    let string = |list: &[start::Pointer], index: usize| {
        let text = list.get(index).and_then(|pointer| pointer.text.as_ref());
        text.map(|text| format!("\"{}\"", escape(text)))
    };
    let aux = |index: usize| {
        let entry = stack.auxv.get(index)?;
        Some(match entry.name {
            Some(name) => name.to_owned(),
            None => format!("AT_{}", entry.kind),
        })
    };
    let null = || Some("NULL".to_owned());
    match what {
        What::Argc => (Content::Argc, Some(stack.argc.to_string())),
        What::Argv(index) => (Content::Argv, Some(format!("argv[{index}]"))),
        What::ArgvNull => (Content::Argv, null()),
        What::Envp(index) => (Content::Envp, Some(format!("envp[{index}]"))),
        What::EnvpNull => (Content::Envp, null()),
        What::Auxv(index) => (Content::Auxv, aux(index)),
        What::AuxvNull => (Content::Auxv, Some("AT_NULL".to_owned())),
        What::Random => (Content::Random, None),
        What::Platform | What::BasePlatform => (Content::Platform, None),
        What::ArgvString(index) => (Content::Arguments, string(&stack.argv, index)),
        What::EnvpString(index) => (Content::Environment, string(&stack.envp, index)),
        What::ExecFn => (Content::Path, None),
        What::Zeros => (Content::Padding, None),
        What::EndMarker => (Content::EndMarker, None),
        What::Unknown => (Content::Unknown, None),
    }
}
