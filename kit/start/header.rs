//! The program headers that decided what was put where.

use std::ffi::OsString;

use serde::Serialize;

use super::address::Address;
use super::map::{Object, Owner};
use crate::image::Segment;
use crate::subject::escaped;

/// A program header, and what the kernel did with it.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Header {
    /// Whose file it is in.
    pub of: Owner,
    /// It.
    #[serde(flatten)]
    pub segment: Segment,
    /// What the kernel did with it.
    pub effect: Effect,
}

/// What the kernel did with a program header: load_elf_binary in fs/binfmt_elf.c.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Put a part of the file, and zeros behind it, into these pages.
    Mapped {
        /// The first address of the first page.
        start: Address,
        /// The first address behind the last page.
        end: Address,
    },
    /// Started this file in the program's place.
    Interpreter(#[serde(serialize_with = "escaped")] OsString),
    /// Made the stack executable, or not.
    Stack {
        /// Whether it is.
        executable: bool,
    },
    /// Told the program by AT_PHDR where its headers are.
    Located,
    /// Nothing.
    Unread,
}

/// The headers of a file. Those of the interpreter are only read for what is to be put into memory.
pub(super) fn headers(object: &Object<'_>, page: u64) -> Vec<Header> {
    let segments = object.image.segments.iter();
    segments
        .map(|segment| Header {
            of: object.owner,
            segment: segment.clone(),
            effect: effect(object, segment, page),
        })
        .collect()
}

fn effect(object: &Object<'_>, segment: &Segment, page: u64) -> Effect {
    let interpreter = object.image.interpreter.as_ref();
    match (segment.kind.as_str(), object.owner, interpreter) {
        ("LOAD", ..) => {
            let [start, _, end] = object.place(segment, page);
            let [start, end] = [start, end].map(Address);
            Effect::Mapped { start, end }
        }
        ("INTERP", Owner::Program, Some(path)) => Effect::Interpreter(path.clone()),
        ("GNU_STACK", Owner::Program, _) => Effect::Stack {
            executable: segment.flags.execute,
        },
        ("PHDR", Owner::Program, _) => Effect::Located,
        _ => Effect::Unread,
    }
}
