//! The initial stack, value by value, from its bytes.
//!
//! ```text
//! stack pointer ─► argc
//!                  argv[0] … NULL
//!                  envp[0] … NULL
//!                  auxv[0] … AT_NULL     pairs of words
//!                  padding               so that the stack pointer is a multiple of 16
//!                  16 random bytes       of AT_RANDOM
//!                  "x86_64"              of AT_PLATFORM
//!                  padding               a random part of 8 KiB, arch_align_stack
//!                  strings of argv
//!                  strings of envp
//!                  the path              of AT_EXECFN
//! its end       ─► eight zero bytes
//! ```
//!
//! The psABI (3.4.1) has it down to AT_NULL; the rest is as Linux does it (fs/exec.c,
//! create_elf_tables in fs/binfmt_elf.c). Whatever the bytes are, decoding ends, takes time and
//! memory in proportion to them, and says what is not as it should be.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use serde::{Serialize, Serializer};

use super::address::Address;
use super::auxv::{self, Aux, Decoded, Form};
use crate::subject::escape;

/// What lies on the initial stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Stack {
    /// Where it starts: the stack pointer.
    pub pointer: Address,
    /// Where its bytes end.
    pub end: Address,
    /// The bytes of a word: 8, or 4 in a 32-bit program.
    pub word: u8,
    /// The first word: how many arguments there are.
    pub argc: u64,
    /// argv without the NULL that ends it.
    pub argv: Vec<Pointer>,
    /// envp without the NULL that ends it.
    pub envp: Vec<Pointer>,
    /// The auxiliary vector without the AT_NULL that ends it.
    pub auxv: Vec<Aux>,
    /// Every byte of it, from the stack pointer to the end: one part ends where the next begins.
    pub parts: Vec<Part>,
    /// What is not as the psABI has it, a line each. Nothing on a stack that a kernel has made.
    pub faults: Vec<String>,
}

/// An element of argv or envp.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Pointer {
    /// Where the element lies.
    pub at: Address,
    /// What it is: the address of a string.
    pub to: Address,
    /// The string. None when there is none on this stack, or when it is part of another.
    #[serde(serialize_with = "text")]
    pub text: Option<OsString>,
}

fn text<S: Serializer>(text: &Option<OsString>, to: S) -> Result<S::Ok, S::Error> {
    text.as_deref().map(escape).serialize(to)
}

/// Some bytes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Part {
    /// Where they begin.
    pub at: Address,
    /// How many there are.
    pub bytes: u64,
    /// What they are.
    pub what: What,
}

/// What some bytes of the stack are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// How many arguments there are.
    Argc,
    /// An element of argv.
    Argv(usize),
    /// The NULL that ends argv.
    ArgvNull,
    /// An element of envp.
    Envp(usize),
    /// The NULL that ends envp.
    EnvpNull,
    /// An entry of the auxiliary vector.
    Auxv(usize),
    /// The AT_NULL that ends it.
    AuxvNull,
    /// The bytes of AT_RANDOM.
    Random,
    /// The string of AT_PLATFORM.
    Platform,
    /// The string of AT_BASE_PLATFORM.
    BasePlatform,
    /// The string of an element of argv, its NUL included.
    ArgvString(usize),
    /// The string of an element of envp, its NUL included.
    EnvpString(usize),
    /// The string of AT_EXECFN, its NUL included.
    ExecFn,
    /// Nothing: zero.
    Zeros,
    /// Nothing that is known, and not zero.
    Unknown,
    /// The zero bytes at the very end.
    EndMarker,
}

/// The kernel leaves as much free at the end, whatever the program's words are: fs/exec.c,
/// `__bprm_mm_init`, a null pointer of its own.
const END_MARKER: usize = 8;

impl Stack {
    /// What these bytes are, which begin at the stack pointer and end at the end of the stack,
    /// in words of 4 or 8 bytes.
    ///
    /// ```
    /// use barest::start::{Address, Stack};
    ///
    /// // argc 1, argv {"a"}, no environment, no auxiliary vector.
    /// let words: [u64; 7] = [1, 0x1030, 0, 0, 0, 0, u64::from(b'a')];
    /// let bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
    /// let stack = Stack::decode(&bytes, Address(0x1000), 8);
    /// assert_eq!(stack.argv[0].text.as_deref(), Some("a".as_ref()));
    /// assert_eq!(stack.faults, [""; 0]);
    /// ```
    pub fn decode(bytes: &[u8], pointer: Address, word: u8) -> Stack {
        let mut reader = Reader {
            bytes,
            base: pointer.0,
            word: if word == 4 { 4 } else { 8 },
            next: 0,
            parts: Vec::new(),
            claims: Vec::new(),
            faults: Vec::new(),
        };
        let argc = reader.word(What::Argc).unwrap_or_else(|| {
            reader.faults.push("the stack ends before argc".to_owned());
            0
        });
        let mut argv = reader.pointers("argv", What::Argv, What::ArgvNull, What::ArgvString);
        if argv.len() as u64 != argc {
            let (argc, argv) = (argc, argv.len());
            let fault = format!("argc is {argc}, and argv has {argv} elements");
            reader.faults.push(fault);
        }
        let mut envp = reader.pointers("envp", What::Envp, What::EnvpNull, What::EnvpString);
        let mut auxv = reader.auxv();
        let strings = reader.strings();
        for (what, string) in strings {
            let text = || OsString::from_vec(string.to_vec());
            match what {
                What::ArgvString(index) => argv[index].text = Some(text()),
                What::EnvpString(index) => envp[index].text = Some(text()),
                what => {
                    if let Some(entry) = auxv.iter_mut().find(|e| points_to(e.kind) == Some(what)) {
                        entry.decoded = match <[u8; 16]>::try_from(string) {
                            Ok(random) if what == What::Random => Decoded::Bytes(random),
                            _ => Decoded::Text(text()),
                        };
                    }
                }
            }
        }
        for entry in auxv
            .iter()
            .filter(|entry| entry.decoded == Decoded::Nothing)
        {
            let name = entry.name.unwrap_or_default();
            let fault = format!("{name} points to {}, where there is none", entry.value);
            reader.faults.push(fault);
        }
        let lost = |name: &str, pointers: &[Pointer]| {
            let lost = pointers.iter().filter(|p| p.text.is_none()).count();
            (lost > 0).then(|| format!("{lost} of {name} point to no string of their own"))
        };
        let lost = [lost("argv", &argv), lost("envp", &envp)];
        reader.faults.extend(lost.into_iter().flatten());
        Stack {
            pointer,
            end: Address(pointer.0.saturating_add(bytes.len() as u64)),
            word: reader.word,
            argc,
            argv,
            envp,
            auxv,
            parts: reader.parts,
            faults: reader.faults,
        }
    }

    /// The value of the first entry of this kind, as getauxval(3) gives it: `stack.aux(9)` is
    /// AT_ENTRY.
    pub fn aux(&self, kind: u64) -> Option<Address> {
        let entry = self.auxv.iter().find(|entry| entry.kind == kind)?;
        Some(entry.value)
    }
}

/// What an entry's value is the address of.
fn points_to(kind: u64) -> Option<What> {
    match kind {
        15 => Some(What::Platform),
        24 => Some(What::BasePlatform),
        25 => Some(What::Random),
        31 => Some(What::ExecFn),
        _ => None,
    }
}

/// The bytes, and how far they have been read.
struct Reader<'a> {
    bytes: &'a [u8],
    base: u64,
    word: u8,
    next: usize,
    parts: Vec<Part>,
    /// What other parts must begin where, by the pointers that have been read.
    claims: Vec<(u64, What)>,
    faults: Vec<String>,
}

impl<'a> Reader<'a> {
    /// The address of a place.
    fn address(&self, place: usize) -> Address {
        Address(self.base.wrapping_add(place as u64))
    }

    fn part(&mut self, place: usize, bytes: usize, what: What) {
        let at = self.address(place);
        let bytes = bytes as u64;
        self.parts.push(Part { at, bytes, what });
    }

    /// The word at a place.
    fn peek(&self, place: usize) -> Option<u64> {
        let word = self.bytes.get(place..)?.get(..self.word.into())?;
        let mut whole = [0; 8];
        whole[..word.len()].copy_from_slice(word);
        Some(u64::from_le_bytes(whole))
    }

    /// The next word. None, and nothing read, at the end.
    fn word(&mut self, what: What) -> Option<u64> {
        let word = self.peek(self.next)?;
        self.part(self.next, self.word.into(), what);
        self.next += usize::from(self.word);
        Some(word)
    }

    /// The next words up to a NULL.
    fn pointers(
        &mut self,
        name: &str,
        element: fn(usize) -> What,
        null: What,
        string: fn(usize) -> What,
    ) -> Vec<Pointer> {
        let mut pointers = Vec::new();
        loop {
            let at = self.address(self.next);
            let what = match self.peek(self.next) {
                Some(0) => null,
                _ => element(pointers.len()),
            };
            match self.word(what) {
                Some(0) => return pointers,
                Some(to) => {
                    self.claims.push((to, string(pointers.len())));
                    let to = Address(to);
                    let text = None;
                    pointers.push(Pointer { at, to, text });
                }
                None => {
                    self.faults
                        .push(format!("the stack ends before {name} does"));
                    return pointers;
                }
            }
        }
    }

    /// The next pairs of words up to AT_NULL.
    fn auxv(&mut self) -> Vec<Aux> {
        let word = usize::from(self.word);
        let mut entries = Vec::new();
        let mut claimed = Vec::new();
        loop {
            let place = self.next;
            let (Some(kind), Some(value)) = (self.peek(place), self.peek(place + word)) else {
                self.faults
                    .push("the stack ends before the auxiliary vector does".to_owned());
                return entries;
            };
            let what = match kind {
                auxv::NULL => What::AuxvNull,
                _ => What::Auxv(entries.len()),
            };
            self.part(place, 2 * word, what);
            self.next += 2 * word;
            if kind == auxv::NULL {
                return entries;
            }
            let known = auxv::known(kind);
            let claim = points_to(kind).filter(|_| value != 0);
            let decoded = match (known.as_ref().map(|known| known.form), claim) {
                (Some(Form::Number), _) => Decoded::Number(value),
                (Some(Form::Bits(names)), _) => Decoded::Bits(auxv::bits(value, names)),
                // Of an entry that is there twice, the first is the one that counts.
                (_, Some(what)) if !claimed.contains(&what) => {
                    claimed.push(what);
                    self.claims.push((value, what));
                    Decoded::Nothing
                }
                _ => Decoded::Address(Address(value)),
            };
            entries.push(Aux {
                at: self.address(place),
                kind,
                name: known.as_ref().map(|known| known.name),
                value: Address(value),
                decoded,
                meaning: known.map(|known| known.meaning),
            });
        }
    }

    /// What the pointers point to, each with its bytes without the NUL; and what lies between.
    ///
    /// Each byte is part of one thing at most, so that the strings together are no longer than
    /// the stack, wherever the pointers point.
    fn strings(&mut self) -> Vec<(What, &'a [u8])> {
        let mut claims = std::mem::take(&mut self.claims);
        claims.sort_by_key(|(to, _)| *to);
        let mut found = Vec::new();
        // Whether a string was met that does not end: nor do those that begin behind it.
        let mut endless = false;
        for (to, what) in claims {
            let Some(place) = to.checked_sub(self.base).map(|place| place as usize) else {
                continue;
            };
            if place < self.next || place >= self.bytes.len() {
                continue;
            }
            let rest = &self.bytes[place..];
            let (bytes, whole) = match what {
                What::Random => (16, 16),
                _ if endless => continue,
                _ => match rest.iter().position(|&byte| byte == 0) {
                    Some(length) => (length, length + 1),
                    None => {
                        endless = true;
                        continue;
                    }
                },
            };
            let Some(bytes) = rest.get(..bytes) else {
                continue;
            };
            self.gap(place);
            self.part(place, whole, what);
            self.next = place + whole;
            found.push((what, bytes));
        }
        let end = self.bytes.len();
        let marker = end.saturating_sub(END_MARKER).max(self.next);
        let is_marker = end - marker == END_MARKER && zero(&self.bytes[marker..]);
        self.gap(if is_marker { marker } else { end });
        if is_marker {
            self.part(marker, END_MARKER, What::EndMarker);
            self.next = end;
        }
        found
    }

    /// What lies between the last part and a place.
    fn gap(&mut self, to: usize) {
        if to > self.next {
            let what = match zero(&self.bytes[self.next..to]) {
                true => What::Zeros,
                false => What::Unknown,
            };
            self.part(self.next, to - self.next, what);
            self.next = to;
        }
    }
}

fn zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}
