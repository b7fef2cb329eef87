//! The versions that a file's symbols have: those it defines (`DT_VERDEF`) and those it needs of
//! others (`DT_VERNEED`), by the index that `DT_VERSYM` has for each symbol.
//!
//! The tables are those of the Linux Standard Base, "Symbol Versioning"; what of them counts is
//! as in glibc's `_dl_check_map_versions` (elf/dl-version.c).

use std::mem::size_of;

use object::elf::{self, Verdaux, Verdef, Vernaux, Verneed, VersymIndex};
use object::endian::Endianness;
use object::pod::{Pod, from_bytes};

use super::mapped::{Mapped, Reason, damaged};

/// A version of symbols.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Version {
    /// The hash of its name as the file has it; 0 where there is no version.
    pub(super) hash: u32,
    /// Where its name begins among the file's names.
    pub(super) name: u32,
    /// A default definition without a version does not do for it (`VERSYM_HIDDEN` in
    /// `vna_other`).
    pub(super) hidden: bool,
}

/// A file of more versions is taken for damaged. An index of 15 bits would allow eight times as
/// many; glibc has about fifty.
const MOST: usize = 1 << 12;

/// A table of versions holds at most this many bytes: `MOST` of the longer kind.
const LONGEST: u64 =
    (MOST * (size_of::<Verdef<Endianness>>() + size_of::<Verdaux<Endianness>>())) as u64;

/// As much is read first; most tables are shorter.
const FIRST: u64 = 4096;

/// All versions of a file, by their index. Those it does not name have hash 0, and so has the
/// base version (`VER_FLG_BASE`), whose name is the file's own.
pub(super) fn read(mapped: &Mapped) -> Result<Vec<Version>, Reason> {
    let mut versions = Vec::new();
    for (tag, what, list) in [
        (elf::DT_VERNEED, "table of needed versions", needed as List),
        (elf::DT_VERDEF, "table of versions", defined as List),
    ] {
        let Some(address) = mapped.value(tag) else {
            continue;
        };
        let mut most = FIRST;
        let found = loop {
            let bytes = mapped.read_up_to(address, most, what)?;
            if let Some(found) = list(&bytes, mapped.endian) {
                break found;
            }
            // It goes on after these bytes, if more can be had.
            if (bytes.len() as u64) < most || most == LONGEST {
                return Err(damaged(&format!("its {what} has no end")));
            }
            most = (most * 16).min(LONGEST);
        };
        for (index, version) in found {
            if index >= versions.len() {
                versions.resize(index + 1, Version::default());
            }
            versions[index] = version;
        }
    }
    Ok(versions)
}

/// Reads the versions of one table with their indexes. None where the bytes do not hold it all.
type List = fn(&[u8], Endianness) -> Option<Vec<(usize, Version)>>;

fn needed(bytes: &[u8], endian: Endianness) -> Option<Vec<(usize, Version)>> {
    let mut found = Vec::new();
    let mut at = 0;
    loop {
        let library: &Verneed<Endianness> = one(bytes, at)?;
        let mut aux_at = at.checked_add(library.vn_aux.get(endian) as usize)?;
        loop {
            let aux: &Vernaux<Endianness> = one(bytes, aux_at)?;
            let other = aux.vna_other(endian);
            found.push((
                other.index().0.into(),
                Version {
                    hash: aux.vna_hash.get(endian),
                    name: aux.vna_name.get(endian),
                    hidden: other.is_hidden(),
                },
            ));
            if found.len() > MOST {
                return None;
            }
            match aux.vna_next.get(endian) {
                0 => break,
                next => aux_at = aux_at.checked_add(next as usize)?,
            }
        }
        match library.vn_next.get(endian) {
            0 => return Some(found),
            next => at = at.checked_add(next as usize)?,
        }
    }
}

fn defined(bytes: &[u8], endian: Endianness) -> Option<Vec<(usize, Version)>> {
    let mut found = Vec::new();
    let mut at = 0;
    loop {
        let definition: &Verdef<Endianness> = one(bytes, at)?;
        // The first name is the version's own; those after it are the versions it grew from.
        let aux_at = at.checked_add(definition.vd_aux.get(endian) as usize)?;
        let aux: &Verdaux<Endianness> = one(bytes, aux_at)?;
        if !definition.vd_flags.get(endian).contains(elf::VER_FLG_BASE) {
            found.push((
                VersymIndex::from(definition.vd_ndx.get(endian))
                    .index()
                    .0
                    .into(),
                Version {
                    hash: definition.vd_hash.get(endian),
                    name: aux.vda_name.get(endian),
                    hidden: false,
                },
            ));
        }
        if found.len() > MOST {
            return None;
        }
        match definition.vd_next.get(endian) {
            0 => return Some(found),
            next => at = at.checked_add(next as usize)?,
        }
    }
}

/// The entry at an offset.
fn one<T: Pod>(bytes: &[u8], at: usize) -> Option<&T> {
    from_bytes(bytes.get(at..)?).ok().map(|(entry, _)| entry)
}
