//! What one program uses of its libraries.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use object::elf::{FileHeader32, FileHeader64};
use object::endian::Endianness;

use super::lookup::{Bound, Loader, Scope};
use super::mapped::{Mapped, Reason};
use super::offer::Offer;
use super::references::{self, Reference, Ways};
use super::table::Table;
use super::{ProgramUse, UsedBy};
use crate::image::Image;
use crate::subject::escape;
use crate::survey::link::Library;
use crate::survey::root::{Inode, Root};
use crate::survey::walk::Program;

/// What a program uses of its libraries, which are given by their indexes.
pub(super) fn program_use(
    root: &Root,
    program: &Program,
    loaded: &[u32],
    libraries: &[Arc<Library>],
    offers: &[Result<Offer, Reason>],
) -> Result<ProgramUse, Reason> {
    let image = program.image.as_deref();
    let image = image.ok_or("became another file while it was read; run it again")?;
    let mapped = Mapped::open(root, &program.path, program.inode, image)?;
    let (own, references) = read(&mapped)?;
    let mut of = Vec::with_capacity(loaded.len());
    let mut files = Vec::with_capacity(loaded.len());
    for index in loaded.iter().map(|index| *index as usize) {
        let both = libraries.get(index).zip(offers.get(index));
        let (library, offer) = both.ok_or("its libraries changed; run it again")?;
        let offer = offer.as_ref().map_err(|reason| {
            let path = escape(library.path.as_os_str());
            format!("its library {path}: {reason}")
        })?;
        of.push(offer);
        files.push(library.inode);
    }
    let tables: Vec<&Table> = of.iter().map(|offer| &offer.table).collect();
    let interpreter = Path::new(image.interpreter.as_deref().unwrap_or_default());
    let loader = Loader::of(interpreter);
    let musl = match loader {
        Loader::Glibc => None,
        Loader::Musl => root.metadata(interpreter).ok().and_then(|meta| {
            let musl = Inode::of(&meta);
            files.iter().position(|file| *file == musl)
        }),
    };
    let scope = Scope {
        loader,
        own: &own,
        libraries: &tables,
        musl,
    };
    let mut found = ProgramUse {
        path: program.path.clone(),
        libraries: of.len(),
        exported: tables.iter().map(|table| table.exported).sum(),
        used: 0,
        share: None,
        by: UsedBy::default(),
        own: 0,
        weak_undefined: 0,
        unresolved: 0,
    };
    for (library, place, ways) in found.bind(&scope, &references) {
        found.used += 1;
        found.by.add(ways);
        if let Some(offer) = of.get(library) {
            offer.take(place);
        }
    }
    for offer in of {
        offer.load();
    }
    found.share = (found.exported > 0).then(|| found.used as f64 / found.exported as f64);
    Ok(found)
}

/// How many symbols an open file of so many bytes has on offer, and how many it names.
pub(in crate::survey) fn counts(
    file: File,
    bytes: u64,
    image: &Image,
) -> Result<(u64, usize), Reason> {
    let (table, references) = read(&Mapped::of(file, bytes, image)?)?;
    Ok((table.exported, references.len()))
}

/// What a program defines, and the symbols that its relocations name.
fn read(mapped: &Mapped) -> Result<(Table, Vec<Reference>), Reason> {
    if mapped.image.bits == 32 {
        references::read::<FileHeader32<Endianness>>(mapped)
    } else {
        references::read::<FileHeader64<Endianness>>(mapped)
    }
}

impl ProgramUse {
    /// Binds all references, and counts those that come to no library. Gives each symbol that
    /// is used once: its library's place in the scope, its own in the library's table, and in
    /// which ways it is used.
    fn bind(&mut self, scope: &Scope, references: &[Reference]) -> Vec<(usize, usize, Ways)> {
        let mut uses: Vec<(usize, usize, Ways)> = Vec::new();
        for reference in references {
            let bound = scope.bind(reference);
            if bound.iter().any(|(_, bound)| *bound == Bound::Nowhere) {
                match reference.weak {
                    true => self.weak_undefined += 1,
                    false => self.unresolved += 1,
                }
            } else if bound.iter().all(|(_, bound)| *bound == Bound::Own) {
                self.own += 1;
            }
            for (ways, bound) in bound {
                if let Bound::To(library, place) = bound
                    && scope.exports(library, place)
                {
                    uses.push((library, place, ways));
                }
            }
        }
        uses.sort_unstable_by_key(|(library, place, _)| (*library, *place));
        uses.dedup_by(
            |(library, place, ways), (kept_library, kept_place, kept_ways)| {
                let same = (&*library, &*place) == (&*kept_library, &*kept_place);
                if same {
                    *kept_ways = *kept_ways | *ways;
                }
                same
            },
        );
        uses
    }
}

impl UsedBy {
    fn add(&mut self, ways: Ways) {
        for (count, way) in [
            (&mut self.plt, Ways::PLT),
            (&mut self.got, Ways::GOT),
            (&mut self.copy, Ways::COPY),
            (&mut self.tls, Ways::TLS),
            (&mut self.direct, Ways::DIRECT),
        ] {
            *count += u64::from(ways.and(way).any());
        }
    }
}
