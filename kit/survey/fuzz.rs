//! What the fuzz targets of tests/fuzz_survey.rs call: each reader of bytes that are others', as it
//! is called for a system. Whatever the bytes are, they end, soon, without a panic.

use std::io::Write;
use std::path::Path;

use super::loader::built_in::BuiltIn;
use super::loader::cache::{Cache, Reader};
use super::loader::tokens::{self, Tokens};
use super::loader::{glibc, musl};
use super::symbols::program;
use crate::image::Endian;

/// Reads bytes as a cache of a loader on x86-64, in that byte order, and looks for all that is in
/// it. Gives how many names it has, and what is wrong with it.
pub fn cache(bytes: &[u8], endian: Endian) -> (usize, Vec<String>) {
    let reader = Reader {
        endian,
        flags: &[0x303, 3, 1],
        align: 8,
        hwcaps: &[b"x86-64-v3", b"x86-64-v2"],
        level: 3,
    };
    let cache = Cache::read(bytes, &reader);
    for (name, path) in cache.all() {
        assert_eq!(cache.path(name), Some(path));
        assert!(path.len() <= bytes.len());
    }
    (cache.all().count(), cache.problems)
}

/// Reads bytes as a loader. Gives the folders that it was built with, if it is one of glibc.
pub fn loader(bytes: &[u8], bits: u8, endian: Endian) -> Option<Vec<Vec<u8>>> {
    let built_in = BuiltIn::read(bytes, bits, endian)?;
    assert!(!built_in.folders.is_empty());
    Some(built_in.folders)
}

/// Reads bytes as a list of folders, by both loaders. Gives how many there are.
pub fn folders(list: &[u8], secure: bool) -> usize {
    let folders = [b"/lib/".to_vec()];
    let tokens = Tokens {
        origin: Some(b"/lib/folder".to_vec()),
        lib: b"lib64",
        platform: Some(b"x86_64"),
        secure,
        trusted: Some(&folders),
    };
    let elements = list.split(|byte| *byte == b':');
    let replaced = elements.filter_map(|element| {
        let replaced = tokens.replace(element)?;
        let same = replaced == element;
        assert!(same || tokens::has_any(element));
        Some(replaced)
    });
    let origin = || Some(b"/lib/folder".to_vec());
    let of_musl = musl::expanded(list, origin).map_or(0, |list| musl::prefixes(&list).len());
    replaced.count() + of_musl
}

/// Reads bytes as a file of libraries to preload. Gives how many it names.
pub fn preload(bytes: &[u8]) -> usize {
    let names = glibc::preload_names(bytes);
    assert!(names.iter().all(|name| !name.is_empty()));
    names.len()
}

/// Reads bytes as a program or a library. Gives how many symbols it has on offer and how many it
/// names, or what is wrong with it.
pub fn symbols(bytes: &[u8]) -> Result<(u64, usize), String> {
    let failed = |error: std::io::Error| error.to_string();
    let mut file = tempfile::tempfile().map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    let same = file.try_clone().map_err(failed)?;
    let image = crate::image::of_file(same, bytes.len() as u64, Path::new("bytes"))?;
    program::counts(file, bytes.len() as u64, &image)
}
