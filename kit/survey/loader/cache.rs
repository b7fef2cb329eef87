//! `ld.so.cache`: which file ldconfig(8) found for each name, told apart by ABI and by CPU.
//!
//! The layouts, flags and the choice among entries of one name are those of glibc's
//! `sysdeps/generic/dl-cache.h` and `elf/dl-cache.c`.

use std::collections::HashMap;

use crate::image::Endian;

/// What one loader finds in the cache.
#[derive(Debug, Default)]
pub struct Cache {
    /// Name to path, both as bytes; the name in the form that [`comparable`] gives it.
    paths: HashMap<Vec<u8>, Vec<u8>>,
    /// What is wrong with the file, a line each.
    pub problems: Vec<String>,
}

/// Who reads the cache: that decides which entries are for it.
pub struct Reader<'a> {
    /// The byte order of its numbers.
    pub endian: Endian,
    /// The values of `flags` that it takes (`_dl_cache_check_flags`), its own
    /// (`_DL_CACHE_DEFAULT_ID`) first.
    pub flags: &'a [u32],
    /// How the compiler aligns a 64-bit number: 4 on i386, otherwise 8.
    pub align: usize,
    /// The glibc-hwcaps subdirectories that its CPU may use, the best first.
    pub hwcaps: &'a [&'a [u8]],
    /// The x86-64 level of its CPU, 1 to 4: an entry may ask for one.
    pub level: u32,
}

/// `CACHEMAGIC`, of libc5 and glibc before 2.2.
const OLD_MAGIC: &[u8] = b"ld.so-1.7.0";
/// The bytes of `struct cache_file`: the magic, and how many entries there are.
const OLD_HEADER: usize = 16;
/// The bytes of `struct file_entry`: flags, name, path.
const OLD_ENTRY: usize = 12;
/// `CACHEMAGIC_VERSION_NEW`.
const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
/// The bytes of `struct cache_file_new`.
const HEADER: usize = 48;
/// The bytes of `struct file_entry_new`: those of an old one, an OS version, and `hwcap`.
const ENTRY: usize = 24;
/// `cache_extension_magic`.
const EXTENSION_MAGIC: u32 = -358342284_i32 as u32;
/// `cache_extension_tag_glibc_hwcaps`.
const TAG_HWCAPS: u32 = 1;
/// The upper half of `DL_CACHE_HWCAP_EXTENSION`: the lower half is the index of a subdirectory.
const HWCAP_EXTENSION: u32 = 1 << 30;
/// `DL_CACHE_HWCAP_ISA_LEVEL_MASK`, in the upper half.
const ISA_LEVEL: u32 = (1 << 10) - 1;

impl Cache {
    /// Reads the bytes of a cache. What is damaged is left out as the loader leaves it out, and
    /// said in `problems`.
    pub fn read(bytes: &[u8], reader: &Reader) -> Cache {
        let mut cache = Cache::default();
        if let Err(problem) = cache.fill(bytes, reader) {
            cache.problems.push(problem.into());
        }
        cache
    }

    /// The path that it has for a name.
    pub fn path(&self, name: &[u8]) -> Option<&[u8]> {
        self.paths.get(&comparable(name)).map(Vec::as_slice)
    }

    /// All that it has: names, in the form that is searched for, and paths.
    pub fn all(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let paths = self.paths.iter();
        paths.map(|(name, path)| (name.as_slice(), path.as_slice()))
    }

    fn fill(&mut self, bytes: &[u8], reader: &Reader) -> Result<(), &'static str> {
        let file = File { bytes, reader };
        if bytes.starts_with(MAGIC) {
            let count = file.number(20).unwrap_or(u32::MAX) as usize;
            if bytes.len() <= HEADER || count > (bytes.len() - HEADER) / ENTRY {
                return Err("cut short: the loader does not use it; run ldconfig");
            }
            return self.fill_new(&file, 0);
        }
        if !bytes.starts_with(OLD_MAGIC) {
            return Err("not a cache that a loader knows: it is not used; run ldconfig");
        }
        let count = file.number(12).unwrap_or(u32::MAX) as usize;
        if bytes.len() <= OLD_HEADER || count > (bytes.len() - OLD_HEADER) / OLD_ENTRY {
            return Err("cut short: the loader does not use it; run ldconfig");
        }
        let end = OLD_HEADER + count * OLD_ENTRY;
        let new = end.next_multiple_of(reader.align);
        let behind = bytes.get(new..).unwrap_or_default();
        if behind.len() >= HEADER && behind.starts_with(MAGIC) {
            self.fill_new(&file, new)
        } else {
            self.fill_old(&file, count, end);
            Ok(())
        }
    }

    /// The entries of the old layout: the last that fits, up to one that is the loader's own.
    fn fill_old(&mut self, file: &File, count: usize, strings: usize) {
        let own = file.reader.flags.first().copied();
        let mut complete = HashMap::new();
        for index in 0..count {
            let Some(entry) = file.entry(OLD_HEADER + index * OLD_ENTRY, strings) else {
                self.problem("an entry's name or path lies after its end");
                continue;
            };
            if !file.reader.flags.contains(&entry.flags) {
                continue;
            }
            let name = comparable(entry.name);
            if !complete.contains_key(&name) {
                if Some(entry.flags) == own {
                    complete.insert(name.clone(), ());
                }
                self.paths.insert(name, entry.path.to_vec());
            }
        }
    }

    /// The entries of the new layout, which begins at `start`: of those of one name the one for
    /// the best CPU that this one is, otherwise the first for any.
    fn fill_new(&mut self, file: &File, start: usize) -> Result<(), &'static str> {
        let order = file.bytes.get(start + 28).copied().unwrap_or(0);
        let own_order = match file.reader.endian {
            Endian::Little => 2,
            Endian::Big => 3,
        };
        if order != 0 && order & 3 != own_order {
            return Err("in another byte order: the loader does not use it");
        }
        let count = file.number(start + 20).unwrap_or(0) as usize;
        let subdirectories = match file.hwcaps(start) {
            Ok(names) => names,
            Err(problem) => {
                self.problem(problem);
                Vec::new()
            }
        };
        // What was taken for a name: the place of its CPU among those this one may use.
        let mut taken: HashMap<Vec<u8>, Option<usize>> = HashMap::new();
        for index in 0..count {
            let at = start + HEADER + index * ENTRY;
            if at + ENTRY > file.bytes.len() {
                return Err("cut short: its entries go on after its end; run ldconfig");
            }
            let Some(entry) = file.entry(at, start) else {
                self.problem("an entry's name or path lies after its end");
                continue;
            };
            if !file.reader.flags.contains(&entry.flags) {
                continue;
            }
            let (low, high) = file.hwcap(at + 16);
            let place = if high & !ISA_LEVEL == HWCAP_EXTENSION {
                if high & ISA_LEVEL >= file.reader.level {
                    continue;
                }
                let name = subdirectories.get(low as usize).copied();
                let own = file.reader.hwcaps.iter();
                match name.and_then(|name| own.clone().position(|own| *own == name)) {
                    Some(place) => Some(place),
                    None => continue,
                }
            } else if low != 0 || high != 0 {
                // The hardware capabilities that glibc 2.37 no longer knows.
                continue;
            } else {
                None
            };
            let name = comparable(entry.name);
            let better = match (taken.get(&name), place) {
                (None, _) => true,
                (Some(Some(before)), Some(place)) => place < *before,
                (Some(_), _) => false,
            };
            if better {
                taken.insert(name.clone(), place);
                self.paths.insert(name, entry.path.to_vec());
            }
        }
        Ok(())
    }

    /// Says a problem once.
    fn problem(&mut self, problem: &str) {
        if !self.problems.iter().any(|said| said == problem) {
            self.problems.push(problem.to_owned());
        }
    }
}

/// The bytes of a cache, and who reads them.
struct File<'a> {
    bytes: &'a [u8],
    reader: &'a Reader<'a>,
}

/// `struct file_entry`.
struct Entry<'a> {
    flags: u32,
    name: &'a [u8],
    path: &'a [u8],
}

impl<'a> File<'a> {
    fn number(&self, at: usize) -> Option<u32> {
        let (word, _) = self.bytes.get(at..)?.split_first_chunk()?;
        Some(match self.reader.endian {
            Endian::Little => u32::from_le_bytes(*word),
            Endian::Big => u32::from_be_bytes(*word),
        })
    }

    /// The lower and the upper half of a 64-bit number.
    fn hwcap(&self, at: usize) -> (u32, u32) {
        let half = |at| self.number(at).unwrap_or(0);
        match self.reader.endian {
            Endian::Little => (half(at), half(at + 4)),
            Endian::Big => (half(at + 4), half(at)),
        }
    }

    /// The entry that is at that place, its strings counted from `strings`. They end at a NUL, or
    /// with the file: what a page holds after it is 0.
    fn entry(&self, at: usize, strings: usize) -> Option<Entry<'a>> {
        let string = |at| self.string(strings.checked_add(self.number(at)? as usize)?);
        Some(Entry {
            flags: self.number(at)?,
            name: string(at + 4)?,
            path: string(at + 8)?,
        })
    }

    fn string(&self, at: usize) -> Option<&'a [u8]> {
        let rest = self.bytes.get(at..).filter(|rest| !rest.is_empty())?;
        rest.split(|byte| *byte == 0).next()
    }

    /// The names of the glibc-hwcaps subdirectories that entries speak of by their index. Other
    /// than those of entries, their offsets are from the file's beginning.
    fn hwcaps(&self, start: usize) -> Result<Vec<&'a [u8]>, &'static str> {
        let outside = "its extensions lie after its end: those for better CPUs are left out";
        let at = self.number(start + 32).unwrap_or(0) as usize;
        if at == 0 {
            return Ok(Vec::new());
        }
        if !at.is_multiple_of(4) || self.number(at) != Some(EXTENSION_MAGIC) {
            return Err("its extensions are damaged: those for better CPUs are left out");
        }
        let count = self.number(at + 4).ok_or(outside)? as usize;
        if count > (self.bytes.len() - at) / 16 {
            return Err(outside);
        }
        let mut names = Vec::new();
        for section in (0..count).map(|index| at + 8 + index * 16) {
            let field = |number: usize| self.number(section + number * 4).ok_or(outside);
            let (tag, offset, size) = (field(0)?, field(2)? as usize, field(3)? as usize);
            if offset.saturating_add(size) > self.bytes.len() {
                return Err(outside);
            }
            if tag == TAG_HWCAPS && offset.is_multiple_of(4) && size.is_multiple_of(4) {
                let offsets = (0..size / 4).map(|index| self.number(offset + index * 4));
                let name = |at: Option<u32>| at.and_then(|at| self.string(at as usize));
                names = offsets.map(|at| name(at).unwrap_or_default()).collect();
            }
        }
        Ok(names)
    }
}

/// A name in a form that is the same for names that `_dl_cache_libcmp` takes for equal: it compares
/// numbers by their value, so that `01` is `1`.
fn comparable(name: &[u8]) -> Vec<u8> {
    let mut form = Vec::with_capacity(name.len());
    let mut bytes = name.iter().copied().peekable();
    let mut in_number = false;
    while let Some(byte) = bytes.next() {
        let more = bytes.peek().is_some_and(u8::is_ascii_digit);
        if byte == b'0' && !in_number && more {
            continue;
        }
        in_number = byte.is_ascii_digit();
        form.push(byte);
    }
    form
}
