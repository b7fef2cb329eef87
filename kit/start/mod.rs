//! What the kernel prepared for a program before its first instruction.
//!
//! execve(2) reads the program's header and its program headers, puts its segments, and those of
//! the interpreter that it names, into a new memory, builds a stack with the arguments, the
//! environment and the auxiliary vector, and sets the instruction pointer. There, before any
//! instruction of the program, its loader or its libc, the program is stopped by ptrace(2) and
//! looked at; and then it is killed. Nothing of it ever runs.
//!
//! ```
//! use barest::{Subject, start};
//! use barest::start::Owner;
//!
//! let seen = start(&Subject::new("/bin/true"))?;
//! // The first instruction is the loader's, where the loader's own header says.
//! assert_eq!(seen.entry.of, Some(Owner::Interpreter));
//! assert_eq!(seen.entry.address_in_file, seen.entry.header);
//! assert_eq!(seen.stack.argv[0].text.as_deref(), Some("/bin/true".as_ref()));
//! # Ok::<(), barest::Error>(())
//! ```
//!
//! [`Stack::decode`] and [`Mapping::parse`] read what a program's memory holds: whatever that is,
//! they end, and never panic.

mod address;
mod auxv;
mod header;
mod map;
mod moves;
mod observe;
mod registers;
mod stack;

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Serialize, Serializer};

pub use address::Address;
pub use auxv::{Aux, Decoded};
pub use header::{Effect, Header};
pub use map::{Mapping, Owner, Piece};
pub use moves::{Moved, Moves, Place};
pub use registers::Register;
pub use stack::{Part, Pointer, Stack, What};

pub(crate) use auxv::{ENTRY, hexadecimal};
pub(crate) use moves::{Seen, moves};
pub(crate) use observe::{Reached, Started};

use crate::error::Result;
use crate::spawn;
use crate::steps::fix_addresses;
use crate::subject::{Subject, escape, escaped};

/// What a program finds at its first instruction.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Start {
    /// What was started.
    pub subject: Subject,
    /// The file that was named, as it was found.
    #[serde(serialize_with = "escaped")]
    pub program: PathBuf,
    /// The file that the kernel put into memory: of a script, the program of its `#!` line.
    #[serde(serialize_with = "escaped")]
    pub loaded: PathBuf,
    /// The `#!` line of a script, without these two.
    #[serde(serialize_with = "escaped_if_any")]
    pub script: Option<OsString>,
    /// 64, or 32: the size of its addresses.
    pub bits: u8,
    /// Whether addresses were random. None where the machine does not tell.
    pub randomized: Option<bool>,
    /// Its first instruction.
    pub entry: Entry,
    /// The program headers: the program's, then the segments of its interpreter. None where the
    /// file may not be read or is damaged, which a note says.
    pub headers: Vec<Header>,
    /// The memory map.
    pub map: Vec<Mapping>,
    /// Where the heap will begin, of which there is nothing yet: the first brk(2). None where the
    /// kernel does not tell.
    pub heap: Option<Address>,
    /// The initial stack.
    pub stack: Stack,
    /// The registers.
    pub registers: Vec<Register>,
    /// How addresses moved over several starts. None of one start.
    pub moves: Option<Moves>,
    /// What a reader must know to judge the rest.
    pub notes: Vec<String>,
}

/// A first instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Entry {
    /// Its address.
    pub address: Address,
    /// The file that it is in, or a name in brackets: `[unmapped]` where there is no memory.
    #[serde(serialize_with = "escaped")]
    pub file: OsString,
    /// Whose file that is.
    pub of: Option<Owner>,
    /// Where it is in that file.
    pub offset: Option<u64>,
    /// Which address that is by the file's program headers.
    pub address_in_file: Option<Address>,
    /// The first instruction by the file's header, `e_entry`: the same.
    pub header: Option<Address>,
    /// The bytes that are there, in hexadecimal: up to 16.
    pub bytes: String,
}

fn escaped_if_any<S: Serializer>(
    text: &Option<OsString>,
    to: S,
) -> std::result::Result<S::Ok, S::Error> {
    text.as_deref().map(escape).serialize(to)
}

/// How programs are started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How often. From two starts on there are [`Start::moves`]; the rest is that of the first.
    pub starts: usize,
    /// Without address space layout randomization: everything where it was the last time.
    pub fixed: bool,
}

impl Plan {
    /// One start, with addresses as random as for anybody else.
    pub const ONCE: Plan = Plan {
        starts: 1,
        fixed: false,
    };
}

impl Default for Plan {
    fn default() -> Self {
        Plan::ONCE
    }
}

/// Starts a program, and looks at it where it has not executed an instruction yet. It is killed
/// there.
///
/// Several threads may do so at once, as [`trace`](fn@crate::trace::trace) says. Fails when the
/// program cannot be run, may not be traced, or may not be read.
pub fn start(subject: &Subject) -> Result<Start> {
    start_by(subject, Plan::ONCE)
}

/// [`start`]s a program by a plan.
pub fn start_by(subject: &Subject, plan: Plan) -> Result<Start> {
    spawn::alone(|| {
        let unfixed = match plan.fixed {
            true => fix_addresses().err(),
            false => None,
        };
        let mut first = observe::start(subject)?;
        if let Some(error) = unfixed {
            first.notes.push(format!(
                "addresses are random (personality: {error}); \
                 in a container run with --security-opt seccomp=unconfined"
            ));
        }
        if plan.starts > 1 {
            let mut seen = vec![Seen::of(&first)];
            for _ in 1..plan.starts {
                seen.push(Seen::of(&observe::start(subject)?));
            }
            first.moves = Some(moves(&seen, first.bits));
        }
        Ok(first)
    })
}

/// A number that the kernel has in a file of its own.
pub(crate) fn setting<N: FromStr>(path: &str) -> Option<N> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}
