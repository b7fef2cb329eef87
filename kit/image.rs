//! What a file is: its bytes, its segments, how it is linked and what protects it.
//!
//! The file is read, never run, and no loader is asked about it. What the kernel and the
//! loader read (the ELF header, the segments, the dynamic table) must be whole, or there is
//! no [`Image`]. What only tools read (section headers, notes) may be broken: the kernel
//! runs such a file all the same, so it has facts, and [`Image::remarks`] names what is missing.

mod elf;

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use object::read::ReadCache;
use serde::{Deserialize, Serialize, Serializer};

use crate::error::{Error, Result};
use crate::subject::{all_escaped, escape, escaped};

/// What an ELF file says about itself.
///
/// Numbers and names are those of `elf(5)` and of the System V ABI, "Object Files".
///
/// ```
/// let image = barest::image("/proc/self/exe")?;
/// assert!(image.write_xor_execute);
/// # Ok::<(), barest::Error>(())
/// ```
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Image {
    /// The file as it was named.
    #[serde(serialize_with = "escaped")]
    pub path: PathBuf,
    /// Its length, in bytes.
    pub bytes: u64,
    /// 32 or 64: the size of its addresses.
    pub bits: u8,
    /// The order of the bytes in its numbers.
    pub endian: Endian,
    /// The machine it runs on: the name of `e_machine` in lower case (`x86_64`, `aarch64`,
    /// `i386` for `EM_386`), or `machine N` where it has none.
    pub machine: String,
    /// `e_type` without its `ET_`: `EXEC`, `DYN`, `REL`, `CORE`, or a number.
    pub kind: String,
    /// How it comes to its other parts.
    pub linkage: Linkage,
    /// The address of its first instruction, before the kernel moves it if it is
    /// position-independent. 0 where it has none.
    pub entry: u64,
    /// The loader that the kernel starts in its place (`PT_INTERP`).
    #[serde(serialize_with = "escaped_if_any")]
    pub interpreter: Option<OsString>,
    /// The name that others link to it by (`DT_SONAME`).
    #[serde(serialize_with = "escaped_if_any")]
    pub soname: Option<OsString>,
    /// The libraries it asks for (`DT_NEEDED`), whole names in the file's order.
    #[serde(serialize_with = "all_escaped")]
    pub needed: Vec<OsString>,
    /// Where it and what it loads look for libraries first (`DT_RPATH`), as it is written:
    /// folders with `:` between them.
    #[serde(serialize_with = "escaped_if_any")]
    pub rpath: Option<OsString>,
    /// Where it looks for its own libraries (`DT_RUNPATH`), as it is written. Where it stands,
    /// `rpath` is not looked at.
    #[serde(serialize_with = "escaped_if_any")]
    pub runpath: Option<OsString>,
    /// Its libraries are not to be looked for in the system's folders (`DF_1_NODEFLIB`).
    pub nodeflib: bool,
    /// A program that runs at any address.
    pub pie: bool,
    /// What becomes read-only after relocation.
    pub relro: Relro,
    /// Whether it asks for an executable stack.
    pub stack: Stack,
    /// No `PT_LOAD` is both writable and executable.
    pub write_xor_execute: bool,
    /// Its program headers, in the file's order.
    pub segments: Vec<Segment>,
    /// How many section headers it has, the empty first one included. Unknown when they
    /// cannot be read.
    pub sections: Option<usize>,
    /// How many symbols are in its symbol table (`SHT_SYMTAB`), without the empty first one.
    /// Unknown when the section headers cannot be read.
    pub symbols: Option<usize>,
    /// How many symbols are in its dynamic symbol table (`SHT_DYNSYM`), without the empty
    /// first one. Unknown when it has a dynamic table but no section headers that tell.
    pub dynamic_symbols: Option<usize>,
    /// It has no symbol table that can be read.
    pub stripped: bool,
    /// How many relocations its start has to apply: the entries of `DT_RELA`, `DT_REL`,
    /// `DT_JMPREL` and `DT_RELR` (unpacked), or of the loaded relocation sections in a file
    /// without a dynamic table. Those of an object file are the linker's and do not count.
    pub relocations: usize,
    /// The build id (`NT_GNU_BUILD_ID`), in hexadecimal.
    pub build_id: Option<String>,
    /// What could not be read or is out of the ordinary, a line each.
    pub remarks: Vec<String>,
}

/// The order of the bytes in a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Endian {
    /// The lowest byte first.
    Little,
    /// The highest byte first.
    Big,
}

/// How a file comes to its other parts.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Linkage {
    /// A program with all its parts, at a fixed address.
    Static,
    /// A program with all its parts, at any address: `ET_DYN` without an interpreter, and
    /// either marked `DF_1_PIE` or without a dynamic table that others could link to.
    StaticPie,
    /// A program that an interpreter completes.
    Dynamic,
    /// A library. The loader itself and libc, which can be run, are libraries too.
    SharedObject,
    /// One translation unit, for a linker (`ET_REL`).
    Object,
    /// The memory of a process that died (`ET_CORE`).
    Core,
    /// None of these: a file of debug information, or a type of no Linux file.
    Other,
}

/// What becomes read-only once relocations are applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relro {
    /// Nothing: no `PT_GNU_RELRO`.
    None,
    /// The segment's part, without the table of functions that are looked up when first called.
    Partial,
    /// That table too: every function is looked up at the start (`DF_BIND_NOW` or `DF_1_NOW`).
    Full,
}

/// What the file says about its stack (`PT_GNU_STACK`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stack {
    /// Not executable.
    Nx,
    /// Executable.
    Executable,
    /// Nothing: there is no such header, and the kernel decides by the machine. On x86-64 the
    /// stack is NX from Linux 5.8, and executable before; on i386 it is executable (kernel:
    /// the table above `elf_read_implies_exec` in `arch/x86/include/asm/elf.h`).
    Unstated,
}

/// One program header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Segment {
    /// `p_type` without its `PT_`: `LOAD`, `GNU_STACK`; or its number, as in `0x70000003`.
    pub kind: String,
    /// What its pages may be used for.
    pub flags: Flags,
    /// Where it begins in the file.
    pub offset: u64,
    /// Where it begins in memory.
    pub address: u64,
    /// Its bytes in the file.
    pub file_bytes: u64,
    /// Its bytes in memory: what the file does not fill is zero.
    pub memory_bytes: u64,
    /// The alignment of its address, in bytes.
    pub align: u64,
}

/// A segment's `p_flags`. Its text, and its JSON, is as in `/proc/PID/maps`: `r-x`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// `PF_R`.
    pub read: bool,
    /// `PF_W`.
    pub write: bool,
    /// `PF_X`.
    pub execute: bool,
}

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bit = |set, letter| if set { letter } else { '-' };
        write!(
            f,
            "{}{}{}",
            bit(self.read, 'r'),
            bit(self.write, 'w'),
            bit(self.execute, 'x')
        )
    }
}

impl Serialize for Flags {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// Reads what the file at `path` is, without running it.
///
/// Fails with [`Error::BadFile`] on what is no whole ELF file, a FIFO or a device included,
/// and never waits for one.
pub fn image(path: impl AsRef<Path>) -> Result<Image> {
    let path = path.as_ref();
    let (file, bytes) = open(path)?;
    of_file(file, bytes, path).map_err(|reason| bad(path, reason))
}

/// Reads what an open file of so many bytes is, and gives it that path; or says what is wrong
/// with it.
pub(crate) fn of_file(file: File, bytes: u64, path: &Path) -> std::result::Result<Image, String> {
    let image = elf::read(&ReadCache::new(file), bytes)?;
    Ok(Image {
        path: path.to_owned(),
        ..image
    })
}

/// Opens a regular file, and tells its length. What is none is not opened at all: opening a
/// device may do something, and opening a FIFO waits.
fn open(path: &Path) -> Result<(File, u64)> {
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => bad(path, "no such file; check the path"),
        ErrorKind::PermissionDenied => bad(path, "permission denied; make it readable first"),
        _ => bad(path, format!("cannot be opened: {error}")),
    };
    let meta = fs::metadata(path).map_err(failed)?;
    let kind = meta.file_type();
    let what = if kind.is_file() {
        let file = File::options()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(path)
            .map_err(failed)?;
        return Ok((file, meta.len()));
    } else if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    Err(bad(path, format!("{what}, not a file; name an ELF file")))
}

fn bad(path: &Path, reason: impl Into<String>) -> Error {
    Error::BadFile {
        path: path.to_owned(),
        reason: reason.into(),
    }
}

fn escaped_if_any<S: Serializer>(
    text: &Option<OsString>,
    to: S,
) -> std::result::Result<S::Ok, S::Error> {
    text.as_deref().map(escape).serialize(to)
}
