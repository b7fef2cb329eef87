//! What one library has on offer, and what programs take of it.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use object::elf::{FileHeader32, FileHeader64};
use object::endian::Endianness;

use super::LibraryUse;
use super::mapped::{Mapped, Reason};
use super::table::{self, Table};
use crate::survey::link::Library;
use crate::survey::root::Root;

/// What a library has on offer, and how often it was taken.
pub(super) struct Offer {
    /// Its symbols.
    pub(super) table: Table,
    /// A bit for each entry of the table that a program uses.
    used: Vec<AtomicU64>,
    /// How many programs load it.
    programs: AtomicU64,
    /// How many of its symbols each of them uses, summed up.
    uses: AtomicU64,
}

impl Offer {
    /// Reads the symbols of a library; or says what is wrong with them.
    pub(super) fn read(root: &Root, library: &Library) -> Result<Self, Reason> {
        let mapped = Mapped::open(root, &library.path, library.inode, &library.image)?;
        let table = if library.image.bits == 32 {
            table::read::<FileHeader32<Endianness>>(&mapped, 0)?.table
        } else {
            table::read::<FileHeader64<Endianness>>(&mapped, 0)?.table
        };
        let words = table.entries.len().div_ceil(64);
        Ok(Offer {
            table,
            used: (0..words).map(|_| AtomicU64::new(0)).collect(),
            programs: AtomicU64::new(0),
            uses: AtomicU64::new(0),
        })
    }

    /// One more program loads it.
    pub(super) fn load(&self) {
        self.programs.fetch_add(1, Ordering::Relaxed);
    }

    /// One more program uses the symbol at that place of its table.
    pub(super) fn take(&self, place: usize) {
        self.uses.fetch_add(1, Ordering::Relaxed);
        if let Some(word) = self.used.get(place / 64) {
            word.fetch_or(1 << (place % 64), Ordering::Relaxed);
        }
    }

    /// What is used of it; nothing where no program that can be told of loads it.
    pub(super) fn library_use(&self, path: &Path) -> Option<LibraryUse> {
        let programs = self.programs.load(Ordering::Relaxed);
        let used = self.used.iter();
        let used = used.map(|word| u64::from(word.load(Ordering::Relaxed).count_ones()));
        let exported = self.table.exported;
        let uses = self.uses.load(Ordering::Relaxed) as f64;
        (programs > 0).then(|| LibraryUse {
            path: path.to_owned(),
            exported,
            programs,
            used_by_any: used.sum(),
            mean_share: (exported > 0).then(|| uses / (exported as f64 * programs as f64)),
        })
    }
}
