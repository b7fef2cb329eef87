//! The loaders: each finds libraries by rules of its own.
//!
//! Which rules are a program's is told by the name of its interpreter (`PT_INTERP`): `ld-linux*`,
//! `ld64.so.*` and `ld.so.1` are glibc's, `ld-musl-ARCH.so.1` is musl's. Those of others are not
//! known, and not guessed.

mod abi;
pub(super) mod built_in;
pub(super) mod cache;
mod cpu;
mod files;
mod folders;
pub(super) mod glibc;
pub(super) mod musl;
mod process;
pub(super) mod tokens;

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use abi::Abi;
pub(super) use files::Files;
use files::Opened;
use glibc::Glibc;
use musl::Musl;
pub(super) use process::link;

use super::link::Library;
use super::root::Unread;

/// The most bytes of a loader that are read.
const LARGEST_LOADER: u64 = 16 << 20;

/// One loader of the system, under one of its names.
pub struct Loader {
    /// The name (`PT_INTERP`).
    pub path: OsString,
    /// The file.
    pub library: Arc<Library>,
    rules: Rules,
}

enum Rules {
    Glibc(Box<Glibc>),
    Musl(Box<Musl>),
    Unknown,
}

impl Loader {
    /// The loader that programs name by this path, or why the kernel cannot start it. Says what
    /// of its own files cannot be read.
    pub fn open(files: &Files, path: &OsStr, unread: &mut Vec<Unread>) -> Result<Loader, String> {
        let at = Path::new(path);
        let (seen, file) = match files.open(at) {
            Ok(Opened::File(seen, file)) => (seen, file),
            Ok(Opened::Other(what)) => return Err(what.into()),
            Err(error) if error.kind() == ErrorKind::NotFound => return Err("not found".into()),
            Err(error) => return Err(error.to_string()),
        };
        if seen.mode & 0o111 == 0 {
            return Err("it may not be executed".into());
        }
        let header = seen.header.clone()?;
        let abi = Abi::of(&header).ok_or("not an ELF file")?;
        let library = files.library(&seen, file, at)?;
        let name = at.file_name().unwrap_or_default().as_bytes();
        let begins = |text: &[u8]| name.starts_with(text);
        let rules = if begins(b"ld-musl-") && name.ends_with(b".so.1") {
            let (musl, problem) = Musl::new(files, path.as_bytes(), abi);
            unread.extend(problem);
            Rules::Musl(Box::new(musl))
        } else if begins(b"ld-linux") || begins(b"ld64.so.") || name == b"ld.so.1" {
            let bytes = files.root.read(at, LARGEST_LOADER);
            let bytes = bytes.map_err(|error| error.to_string())?;
            match Glibc::new(files, at, &library.image, abi, &bytes) {
                Some((glibc, problems)) => {
                    unread.extend(problems);
                    Rules::Glibc(Box::new(glibc))
                }
                None => Rules::Unknown,
            }
        } else {
            Rules::Unknown
        };
        Ok(Loader {
            path: path.to_owned(),
            library,
            rules,
        })
    }
}
