//! The symbols that a file defines for others, as its loader finds them: by the dynamic table,
//! and only those that its hash table leads to.

use std::mem::size_of;

use object::elf::{self, Versym, VersymIndex};
use object::endian::{Endianness, U32, U64};
use object::read::elf::{FileHeader, Sym};

use super::mapped::{Mapped, Reason, all, damaged, name_at};
use super::versions::{self, Version};

/// The symbols of one file, by the hash of their names.
pub(super) struct Table {
    /// Its string table (`DT_STRTAB`).
    pub(super) names: Vec<u8>,
    /// Its versions, by index.
    pub(super) versions: Vec<Version>,
    /// Whether each of its symbols has a version (`DT_VERSYM`).
    pub(super) versioned: bool,
    /// Those that a loader may bind to, in the order of their hashes, and of the same hash in the
    /// order in which a loader meets them.
    pub(super) entries: Vec<Entry>,
    /// How many of them are on offer ([`Entry::exported`]).
    pub(super) exported: u64,
}

/// A symbol that a loader may bind to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// [`hash`] of its name.
    hash: u32,
    /// Where its name begins among the names.
    name: u32,
    /// Its version, or the base version where the file has none.
    pub(super) version: VersymIndex,
    /// On offer to others. What is not: the name of a version itself, which some linkers write as
    /// a symbol, and what is [`Entry::address_only`].
    pub(super) exported: bool,
    /// Not a definition, but the address that a program has for another's function, so that all
    /// pointers to it are the same. No call is bound to it.
    pub(super) address_only: bool,
    /// musl does not take it: a function that is chosen when it is bound (`STT_GNU_IFUNC`), or an
    /// absolute 0.
    pub(super) glibc_only: bool,
}

/// The hash of a symbol's name, without the lowest bit: that of `DT_GNU_HASH` (binutils:
/// `bfd_elf_gnu_hash` in bfd/elf.c), where that bit ends a chain.
pub(super) fn hash(name: &[u8]) -> u32 {
    let hash = |hash: u32, byte: &u8| hash.wrapping_mul(33).wrapping_add((*byte).into());
    name.iter().fold(5381, hash) & !1
}

/// How many bytes of names are still to be looked at: names may share their ends, but where they
/// all share one end of many megabytes, a damaged file would take hours.
pub(super) struct Budget(usize);

impl Budget {
    /// Enough for each byte to be in 64 names, and for a few in short tables.
    pub(super) fn of(names: &[u8]) -> Self {
        Budget(names.len().saturating_mul(64).saturating_add(1 << 16))
    }

    /// The name of a symbol.
    pub(super) fn name<'a>(&mut self, names: &'a [u8], at: u32) -> Result<&'a [u8], Reason> {
        let name = name_at(names, at)
            .ok_or_else(|| damaged("a symbol's name does not lie within the file"))?;
        let left = self.0.checked_sub(name.len());
        self.0 = left.ok_or_else(|| damaged("its symbols' names are one within the other"))?;
        Ok(name)
    }
}

/// A file's symbols, and what is needed to look at those it refers to.
pub(super) struct Symbols {
    /// What it defines.
    pub(super) table: Table,
    /// Its symbol table, as bytes.
    pub(super) symbols: Vec<u8>,
    /// The version of each symbol, as bytes; empty where it has none.
    pub(super) versyms: Vec<u8>,
}

/// Reads the symbols of a file: those of its hash table, and at least so many.
pub(super) fn read<H: FileHeader<Endian = Endianness>>(
    mapped: &Mapped,
    at_least: u64,
) -> Result<Symbols, Reason> {
    let endian = mapped.endian;
    let found = hashed(mapped)?;
    let count = found
        .iter()
        .map(|index| u64::from(*index) + 1)
        .max()
        .unwrap_or(0);
    let count = count.max(at_least);
    let (mut symbols, mut versyms, mut names) = (Vec::new(), Vec::new(), Vec::new());
    if count > 0 {
        let (what, tag) = ("symbol table", elf::DT_SYMTAB);
        symbols = mapped.table::<H::Sym>(address(mapped, tag, what)?, count, what)?;
        let (what, tag) = ("string table", elf::DT_STRTAB);
        let bytes = mapped.value(elf::DT_STRSZ).unwrap_or(0);
        names = mapped.read(address(mapped, tag, what)?, bytes, what)?;
        if let Some(at) = mapped.value(elf::DT_VERSYM) {
            let what = "table of symbols' versions";
            versyms = mapped.table::<Versym<Endianness>>(at, count, what)?;
        }
    }
    let versions = versions::read(mapped)?;
    for version in versions.iter().filter(|version| version.hash != 0) {
        let missing = || damaged("a version's name does not lie within the file");
        name_at(&names, version.name).ok_or_else(missing)?;
    }
    let mut table = Table {
        names,
        versions,
        versioned: !versyms.is_empty(),
        entries: Vec::with_capacity(found.len()),
        exported: 0,
    };
    let mut budget = Budget::of(&table.names);
    let (rows, indexes) = (all::<H::Sym>(&symbols), all::<Versym<Endianness>>(&versyms));
    for index in found {
        let Some(symbol) = rows.get(index as usize) else {
            continue;
        };
        let version = indexes.get(index as usize);
        let version = version.map_or(elf::VER_NDX_GLOBAL.into(), |v| v.0.get(endian));
        if let Some(entry) = table.entry::<H>(symbol, version, endian, &mut budget)? {
            table.entries.push(entry);
        }
    }
    table.sort();
    Ok(Symbols {
        table,
        symbols,
        versyms,
    })
}

/// The indexes of the symbols that the loader finds by name, those of one name in the order in
/// which it meets them.
fn hashed(mapped: &Mapped) -> Result<Vec<u32>, Reason> {
    // Where both are, glibc (do_lookup_x in elf/dl-lookup.c) and musl (find_sym2 in
    // ldso/dynlink.c) take the newer one.
    if let Some(address) = mapped.value(elf::DT_GNU_HASH) {
        return by_gnu_hash(mapped, address);
    }
    match mapped.value(elf::DT_HASH) {
        Some(address) => by_hash(mapped, address),
        None => Ok(Vec::new()),
    }
}

/// By `DT_GNU_HASH`: a header of four words, a filter of so many addresses, the buckets, and a
/// word for each symbol from the header's first on, whose lowest bit ends a chain.
fn by_gnu_hash(mapped: &Mapped, address: u64) -> Result<Vec<u32>, Reason> {
    let what = "hash table";
    let beyond = || damaged("its hash table has no end");
    let words = |address, count: u64| -> Result<Vec<u32>, Reason> {
        let bytes = mapped.table::<U32<Endianness>>(address, count, what)?;
        let words = all::<U32<Endianness>>(&bytes).iter();
        Ok(words.map(|word| word.get(mapped.endian)).collect())
    };
    let [buckets, first, filter, _] = words(address, 4)?[..] else {
        return Err(beyond());
    };
    let filter = u64::from(filter) * u64::from(mapped.image.bits / 8);
    let at = address.checked_add(16 + filter).ok_or_else(beyond)?;
    let last = words(at, buckets.into())?.into_iter().max().unwrap_or(0);
    // A bucket without symbols has 0.
    if last == 0 {
        return Ok(Vec::new());
    }
    let chain = u64::from(last.checked_sub(first).ok_or_else(beyond)?);
    let at = at.checked_add(4 * u64::from(buckets)).ok_or_else(beyond)?;
    // The chain that begins last is the one that ends last.
    let mut end = chain;
    loop {
        let next = at.checked_add(4 * end).ok_or_else(beyond)?;
        let bytes = mapped.read_up_to(next, 256, what)?;
        let words = all::<U32<Endianness>>(&bytes);
        if words.is_empty() || end > mapped.most_symbols() {
            return Err(beyond());
        }
        match words
            .iter()
            .position(|word| word.get(mapped.endian) & 1 == 1)
        {
            Some(position) => break end += position as u64 + 1,
            None => end += words.len() as u64,
        }
    }
    let end = u32::try_from(u64::from(first) + end).map_err(|_| beyond())?;
    Ok((first..end).collect())
}

/// By `DT_HASH` (System V ABI, "Hash Table"): how many buckets, how many symbols, the first
/// symbol of each bucket, the next symbol after each.
fn by_hash(mapped: &Mapped, address: u64) -> Result<Vec<u32>, Reason> {
    let what = "hash table";
    let circle = || damaged("its hash table leads in a circle or out of the file");
    // Words of 64 bits on s390x (glibc: sysdeps/s390/s390-64/bits/elfclass.h).
    let wide = mapped.image.machine == "s390" && mapped.image.bits == 64;
    let words = |at: u64, count: u64| -> Result<Vec<u64>, Reason> {
        if wide {
            let bytes = mapped.table::<U64<Endianness>>(at, count, what)?;
            let words = all::<U64<Endianness>>(&bytes).iter();
            return Ok(words.map(|word| word.get(mapped.endian)).collect());
        }
        let bytes = mapped.table::<U32<Endianness>>(at, count, what)?;
        let words = all::<U32<Endianness>>(&bytes).iter();
        Ok(words.map(|word| word.get(mapped.endian).into()).collect())
    };
    let [buckets, symbols] = words(address, 2)?[..] else {
        return Err(circle());
    };
    let count = buckets.checked_add(symbols).and_then(|n| n.checked_add(2));
    let table = words(address, count.ok_or_else(circle)?)?;
    let (starts, nexts) = table[2..].split_at(buckets as usize);
    let mut found = Vec::new();
    for start in starts {
        let mut at = *start;
        while at != 0 {
            let next = nexts.get(at as usize).ok_or_else(circle)?;
            found.push(u32::try_from(at).map_err(|_| circle())?);
            if found.len() > nexts.len() {
                return Err(circle());
            }
            at = *next;
        }
    }
    Ok(found)
}

fn address(mapped: &Mapped, tag: elf::DynamicTag, what: &str) -> Result<u64, Reason> {
    let missing = || damaged(&format!("it has symbols, but no {what}"));
    mapped.value(tag).ok_or_else(missing)
}

impl Table {
    /// A symbol, if a loader may bind to it: glibc's `check_match` (elf/dl-lookup.c) and musl's
    /// `find_sym2` (ldso/dynlink.c).
    fn entry<H: FileHeader<Endian = Endianness>>(
        &self,
        symbol: &H::Sym,
        version: VersymIndex,
        endian: Endianness,
        budget: &mut Budget,
    ) -> Result<Option<Entry>, Reason> {
        let (section, kind) = (symbol.st_shndx(endian), symbol.st_type());
        let has_value = symbol.st_value(endian).into() != 0;
        let undefined = section == elf::SHN_UNDEF;
        let bindable = (has_value || section == elf::SHN_ABS || kind == elf::STT_TLS && !undefined)
            && matches!(
                kind,
                elf::STT_NOTYPE
                    | elf::STT_OBJECT
                    | elf::STT_FUNC
                    | elf::STT_COMMON
                    | elf::STT_TLS
                    | elf::STT_GNU_IFUNC
            )
            && matches!(
                symbol.st_bind(),
                elf::STB_GLOBAL | elf::STB_WEAK | elf::STB_GNU_UNIQUE
            )
            && matches!(
                symbol.st_visibility(),
                elf::STV_DEFAULT | elf::STV_PROTECTED
            );
        if !bindable {
            return Ok(None);
        }
        let at = symbol.st_name(endian);
        let name = budget.name(&self.names, at)?;
        self.known(version)?;
        let marker = section == elf::SHN_ABS && self.version_name(version) == Some(name);
        Ok(Some(Entry {
            hash: hash(name),
            name: at,
            version,
            exported: !undefined && !marker,
            address_only: undefined,
            glibc_only: kind == elf::STT_GNU_IFUNC || !has_value && kind != elf::STT_TLS,
        }))
    }

    /// The version of that index, unless it is the base version or none.
    pub(super) fn version(&self, index: VersymIndex) -> Option<&Version> {
        let version = self.versions.get(usize::from(index.index().0));
        version.filter(|version| version.hash != 0)
    }

    /// Fails on a version that the file neither defines nor needs.
    pub(super) fn known(&self, index: VersymIndex) -> Result<(), Reason> {
        let index = index.index();
        if index.0 <= elf::VER_NDX_GLOBAL.0 || usize::from(index.0) < self.versions.len() {
            return Ok(());
        }
        Err(damaged(&format!(
            "a symbol has version {}, which is nowhere named",
            index.0
        )))
    }

    fn version_name(&self, index: VersymIndex) -> Option<&[u8]> {
        name_at(&self.names, self.version(index)?.name)
    }

    /// Orders the entries by hash and name, and leaves out those that a loader never comes to
    /// because one of the same name and version stands before.
    fn sort(&mut self) {
        let mut entries: Vec<_> = self.entries.drain(..).enumerate().collect();
        let names = &self.names;
        let name = |entry: &Entry| (entry.hash, name_at(names, entry.name));
        let version = |entry: &Entry| (entry.version.index().0, entry.address_only);
        // Names are compared where hashes are the same, which is seldom.
        let by_name = |a: &Entry, b: &Entry| {
            let by_hash = a.hash.cmp(&b.hash);
            by_hash.then_with(|| name(a).cmp(&name(b)))
        };
        entries.sort_by(|(_, a), (_, b)| by_name(a, b).then_with(|| version(a).cmp(&version(b))));
        entries.dedup_by(|(_, later), (_, first)| {
            by_name(later, first).is_eq() && version(later) == version(first)
        });
        entries.sort_by(|(first, a), (second, b)| by_name(a, b).then(first.cmp(second)));
        self.entries = entries.into_iter().map(|(_, entry)| entry).collect();
        self.exported = self.entries.iter().filter(|entry| entry.exported).count() as u64;
    }

    /// The symbols of that name, in the order in which a loader meets them, with their places.
    pub(super) fn named<'a>(
        &'a self,
        name: &'a [u8],
        hash: u32,
    ) -> impl Iterator<Item = (usize, &'a Entry)> {
        let wanted = (hash, Some(name));
        let found = |entry: &Entry| (entry.hash, name_at(&self.names, entry.name));
        let from = self.entries.partition_point(|entry| {
            entry.hash < hash || entry.hash == hash && found(entry) < wanted
        });
        let entries = self.entries.iter().enumerate().skip(from);
        entries.take_while(move |(_, entry)| entry.hash == hash && self.is_named(entry, name))
    }

    fn is_named(&self, entry: &Entry, name: &[u8]) -> bool {
        let from = self.names.get(entry.name as usize..);
        let rest = from.and_then(|from| from.strip_prefix(name));
        rest.is_some_and(|rest| rest.first() == Some(&0))
    }
}

/// Every entry takes as little as it can: a large system has millions.
const _: () = assert!(size_of::<Entry>() <= 16);
