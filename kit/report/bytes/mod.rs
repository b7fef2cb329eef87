//! Every byte of two of our programs: what each is, read off the file itself.
//!
//! The kernel reads the ELF header and the program headers, the processor what the code leads to
//! from the entry on; both are told here field by field and instruction by instruction. A byte can
//! be both, or two fields at once, where headers overlap; it is then in several pieces.

mod code;
mod headers;

use serde::{Deserialize, Serialize};

use super::Bench;
use crate::baseline::Figure;
use crate::error::{Error, Result};
use crate::subject::escape;

/// The programs, byte by byte.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bytes {
    /// `true`, and the museum piece `golf`.
    pub files: Vec<File>,
    /// What could not be read: which program, and why.
    pub faults: Vec<String>,
}

/// A file, and what its bytes are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct File {
    /// The program, as in `true`.
    pub program: String,
    /// All bytes, in hexadecimal.
    pub content: String,
    /// What they are, in the order of their offsets. Pieces can overlap.
    pub pieces: Vec<Piece>,
}

/// Some bytes that mean one thing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Piece {
    /// Where in the file the first one is.
    pub offset: usize,
    /// How many there are.
    pub bytes: usize,
    /// Who reads them.
    pub role: Role,
    /// The field's name in elf(5), or the instruction.
    pub name: String,
    /// What that means here.
    pub means: String,
}

/// Who reads a byte, and as what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The kernel, in the ELF header.
    ElfHeader,
    /// The kernel, in a program header.
    ProgramHeader,
    /// The processor.
    Code,
    /// Nobody but the program itself, if at all: constants and padding.
    Rest,
}

impl Role {
    /// All of them.
    pub const ALL: [Role; 4] = [Role::ElfHeader, Role::ProgramHeader, Role::Code, Role::Rest];
}

impl File {
    /// What the bytes of a file are.
    ///
    /// Fails, with the reason, for what is no little-endian ELF file of x86-64 with 64-bit
    /// addresses.
    pub fn of(program: &str, content: &[u8]) -> std::result::Result<Self, String> {
        let (mut pieces, loads, entry) = headers::headers(content)?;
        pieces.extend(code::code(content, &loads, entry));
        pieces.extend(rest(content.len(), &pieces));
        pieces.sort_by_key(|piece| (piece.offset, piece.role, piece.bytes));
        Ok(File {
            program: program.to_owned(),
            content: content.iter().map(|byte| format!("{byte:02x}")).collect(),
            pieces,
        })
    }

    /// How many bytes it has.
    pub fn size(&self) -> usize {
        self.content.len() / 2
    }

    /// The bytes of a piece as text, two digits each, with a space between.
    pub fn digits(&self, piece: &Piece) -> String {
        let digits = self.content.as_bytes().chunks(2);
        let own = digits.skip(piece.offset).take(piece.bytes);
        own.map(String::from_utf8_lossy)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// The pieces that hold a byte.
    pub fn at(&self, offset: usize) -> impl Iterator<Item = &Piece> {
        self.pieces
            .iter()
            .filter(move |piece| (piece.offset..piece.offset + piece.bytes).contains(&offset))
    }
}

/// The bytes that are in no piece, each run of them one.
fn rest(size: usize, pieces: &[Piece]) -> Vec<Piece> {
    let mut known = vec![false; size];
    for piece in pieces {
        let end = piece.offset.saturating_add(piece.bytes).min(size);
        if let Some(own) = known.get_mut(piece.offset..end) {
            own.fill(true);
        }
    }
    let mut offset = 0;
    let mut rest = Vec::new();
    for run in known.chunk_by(|one, next| one == next) {
        if !run[0] {
            rest.push(Piece {
                offset,
                bytes: run.len(),
                role: Role::Rest,
                name: "data".to_owned(),
                means: "neither header nor code that the entry leads to".to_owned(),
            });
        }
        offset += run.len();
    }
    rest
}

pub(super) fn measure(bench: &Bench) -> Result<Bytes> {
    let mut found = Bytes {
        files: Vec::new(),
        faults: Vec::new(),
    };
    for program in ["true", "golf"] {
        let path = bench.ours(program);
        let read = std::fs::read(&path).map_err(|error| error.to_string());
        match read.and_then(|content| File::of(program, &content)) {
            Ok(file) => found.files.push(file),
            Err(reason) => found
                .faults
                .push(format!("{}: {reason}", escape(path.as_os_str()))),
        }
    }
    match found.files.is_empty() {
        true => Err(Error::NotMeasured {
            subject: "bytes".to_owned(),
            reason: found.faults.join("; "),
        }),
        false => Ok(found),
    }
}

impl Bytes {
    /// The size of each file.
    pub(super) fn figures(&self) -> Vec<Figure> {
        let size =
            |file: &File| Figure::exact(&file.program, "bytes of the file", file.size() as u64);
        self.files.iter().map(size).collect()
    }
}
