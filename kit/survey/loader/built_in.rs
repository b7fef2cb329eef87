//! What a glibc loader was built with: folders and files whose names are in its bytes alone.
//!
//! Each distribution has its own: `/lib/x86_64-linux-gnu/` on Debian, `/lib64/` on Fedora, a
//! folder of its store on NixOS. A loader prints them for `--list-diagnostics`, but nothing that
//! is inspected is run.

use crate::image::Endian;

/// What is in the bytes of a glibc loader.
#[derive(Debug)]
pub struct BuiltIn {
    /// `system_dirs` of `elf/dl-load.c`: where it looks last. Each ends with `/`.
    pub folders: Vec<Vec<u8>>,
    /// Whether those were read, or are the ones that ld.so(8) names.
    pub told: bool,
    /// `LD_SO_CACHE`.
    pub cache: Option<Vec<u8>>,
    /// The file of libraries that it loads first, `/etc/ld.so.preload`.
    pub preload: Vec<u8>,
    /// `DL_DST_LIB`: what `$LIB` stands for.
    pub lib: Vec<u8>,
    /// `_dl_hwcaps_subdirs`: the subdirectories for better CPUs, the best first. None before
    /// glibc 2.33.
    pub hwcaps: Vec<Vec<u8>>,
}

impl BuiltIn {
    /// Reads a loader's bytes. None if they are not those of a glibc loader: it has no name of a
    /// file to preload.
    pub fn read(bytes: &[u8], bits: u8, endian: Endian) -> Option<BuiltIn> {
        let strings = || bytes.split(|byte| *byte == 0);
        let path = |end: &[u8]| {
            let mut paths = strings().filter(|s| s.starts_with(b"/") && s.ends_with(end));
            paths.next().map(<[u8]>::to_vec)
        };
        let preload = path(b".so.preload")?;
        let cache = path(b"/ld.so.cache");
        let levels = strings().find(|s| s.starts_with(b"x86-64-v"));
        let hwcaps = levels
            .into_iter()
            .flat_map(|levels| levels.split(|byte| *byte == b':'))
            .map(<[u8]>::to_vec)
            .collect();
        let found = folders(bytes, usize::from(bits / 8), endian);
        let told = found.is_some();
        let folders = found.unwrap_or_else(|| documented(bits));
        let lib = lib(bytes, &folders);
        Some(BuiltIn {
            folders,
            told,
            cache,
            preload,
            lib,
            hwcaps,
        })
    }
}

/// The folders that ld.so(8) names.
fn documented(bits: u8) -> Vec<Vec<u8>> {
    let folders: [&[u8]; 2] = match bits {
        64 => [b"/lib64/", b"/usr/lib64/"],
        _ => [b"/lib/", b"/usr/lib/"],
    };
    folders.map(<[u8]>::to_vec).to_vec()
}

/// How many rows of folders a file may have that is looked at closer: a loader has one, twice.
const MOST_ROWS: usize = 64;

/// Looks for `system_dirs`: folders that end with `/`, one after the other with a NUL between
/// them. Their lengths stand in the file too, as a row of words (`system_dirs_len`), and tell them
/// from other text; for a single folder the compiler leaves that row out.
fn folders(bytes: &[u8], word: usize, endian: Endian) -> Option<Vec<Vec<u8>>> {
    let mut rows: Vec<Vec<&[u8]>> = Vec::new();
    let mut row: Vec<&[u8]> = Vec::new();
    for string in bytes.split(|byte| *byte == 0) {
        // What stands before the first need not end with a NUL.
        let start = match row.is_empty() {
            true => string.iter().rposition(|byte| *byte < b' '),
            false => None,
        };
        let string = string.get(start.map_or(0, |at| at + 1)..);
        match string.filter(|s| is_folder(s)) {
            Some(folder) => row.push(folder),
            None if row.is_empty() => {}
            None => rows.push(std::mem::take(&mut row)),
        }
    }
    rows.sort();
    rows.dedup();
    if rows.len() > MOST_ROWS {
        return None;
    }
    let several = rows.iter().filter(|row| row.len() > 1);
    let mut measured = several.filter(|row| has_lengths(bytes, row, word, endian));
    let only = |mut rows: Vec<&Vec<&[u8]>>| match rows.len() {
        1 => rows
            .pop()
            .map(|row| row.iter().map(|s| s.to_vec()).collect()),
        _ => None,
    };
    match measured.next() {
        Some(row) if measured.next().is_none() => only(vec![row]),
        Some(_) => None,
        None => only(rows.iter().collect()),
    }
}

fn is_folder(text: &[u8]) -> bool {
    text.len() > 2
        && text.starts_with(b"/")
        && text.ends_with(b"/")
        && !text.starts_with(b"/proc/")
        && !text.starts_with(b"/dev/")
        && text.iter().all(|byte| *byte >= b' ')
}

/// Whether the lengths of these folders stand somewhere in the bytes, as words.
fn has_lengths(bytes: &[u8], row: &[&[u8]], word: usize, endian: Endian) -> bool {
    let lengths = row.iter().flat_map(|folder| {
        let length = folder.len() as u64;
        match endian {
            Endian::Little => length.to_le_bytes()[..word].to_vec(),
            Endian::Big => length.to_be_bytes()[8 - word..].to_vec(),
        }
    });
    let lengths: Vec<u8> = lengths.collect();
    bytes
        .windows(lengths.len())
        .step_by(word)
        .any(|window| window == lengths)
}

/// What `$LIB` stands for: the first folder's last component (`elf/Makefile`), or all of it but
/// its slashes where that is a string of its own, as on Debian.
fn lib(bytes: &[u8], folders: &[Vec<u8>]) -> Vec<u8> {
    let first = folders.first().map(Vec::as_slice).unwrap_or_default();
    let whole = first.strip_prefix(b"/").unwrap_or(first);
    let whole = whole.strip_suffix(b"/").unwrap_or(whole);
    if bytes.split(|byte| *byte == 0).any(|string| string == whole) {
        return whole.to_vec();
    }
    let last = whole.rsplit(|byte| *byte == b'/').next();
    last.unwrap_or_default().to_vec()
}
