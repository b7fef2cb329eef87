//! Writes `ld.so.cache` files, as `sysdeps/generic/dl-cache.h` of glibc lays them out.
#![allow(dead_code, reason = "each test uses a part of it")]

use barest::image::Endian;

/// One entry.
#[derive(Clone)]
pub struct Entry {
    flags: u32,
    name: Vec<u8>,
    path: Vec<u8>,
    hwcap: u64,
}

impl Entry {
    /// For any CPU.
    pub fn new(flags: u32, name: impl AsRef<[u8]>, path: impl AsRef<[u8]>) -> Self {
        Entry {
            flags,
            name: name.as_ref().to_vec(),
            path: path.as_ref().to_vec(),
            hwcap: 0,
        }
    }

    /// For a CPU of that level, counted from 0, from the glibc-hwcaps subdirectory of that index.
    pub fn hwcap(mut self, level: u64, index: u64) -> Self {
        // DL_CACHE_HWCAP_EXTENSION, and the level in the upper half.
        self.hwcap = 1 << 62 | level << 32 | index;
        self
    }
}

struct Writer {
    bytes: Vec<u8>,
    endian: Endian,
}

impl Writer {
    fn number(&mut self, number: usize) {
        let number = u32::try_from(number).unwrap();
        self.bytes.extend(match self.endian {
            Endian::Little => number.to_le_bytes(),
            Endian::Big => number.to_be_bytes(),
        });
    }

    fn hwcap(&mut self, hwcap: u64) {
        self.bytes.extend(match self.endian {
            Endian::Little => hwcap.to_le_bytes(),
            Endian::Big => hwcap.to_be_bytes(),
        });
    }
}

/// A row of strings, and where each begins when the row begins at that offset.
fn strings(texts: impl Iterator<Item = Vec<u8>>, mut at: usize) -> (Vec<u8>, Vec<usize>) {
    let (mut bytes, mut places) = (Vec::new(), Vec::new());
    for text in texts {
        places.push(at);
        at += text.len() + 1;
        bytes.extend(text);
        bytes.push(0);
    }
    (bytes, places)
}

fn texts(entries: &[Entry]) -> impl Iterator<Item = Vec<u8>> {
    entries
        .iter()
        .flat_map(|e| [e.name.clone(), e.path.clone()])
}

/// The layout `ld.so-1.7.0`, alone.
pub fn old(entries: &[Entry]) -> Vec<u8> {
    let (strings, places) = strings(texts(entries), 0);
    let mut file = old_head(entries, &places);
    file.extend(strings);
    file
}

fn old_head(entries: &[Entry], places: &[usize]) -> Vec<u8> {
    let bytes = b"ld.so-1.7.0\0".to_vec();
    let endian = Endian::Little;
    let mut file = Writer { bytes, endian };
    file.number(entries.len());
    for (entry, places) in entries.iter().zip(places.chunks(2)) {
        file.number(entry.flags as usize);
        file.number(places[0]);
        file.number(places[1]);
    }
    file.bytes
}

/// The layout `glibc-ld.so.cache1.1`, alone; `hwcaps` are the names of the subdirectories.
pub fn new(entries: &[Entry], hwcaps: &[&str], endian: Endian) -> Vec<u8> {
    new_behind(entries, hwcaps, endian, 0)
}

/// The same after so many bytes of something else: its entries' strings are counted from its own
/// beginning, all other offsets from that of the file.
fn new_behind(entries: &[Entry], hwcaps: &[&str], endian: Endian, before: usize) -> Vec<u8> {
    let all = texts(entries).chain(hwcaps.iter().map(|name| name.as_bytes().to_vec()));
    let (strings, places) = strings(all, 48 + entries.len() * 24);
    let mut file = Writer {
        bytes: b"glibc-ld.so.cache1.1".to_vec(),
        endian,
    };
    file.number(entries.len());
    file.number(strings.len());
    file.bytes
        .push(if endian == Endian::Little { 2 } else { 3 });
    file.bytes.extend([0; 3]);
    let extension = (48 + entries.len() * 24 + strings.len()).next_multiple_of(4);
    file.number(if hwcaps.is_empty() {
        0
    } else {
        before + extension
    });
    file.bytes.extend([0; 12]);
    let (of_entries, of_hwcaps) = places.split_at(entries.len() * 2);
    for (entry, places) in entries.iter().zip(of_entries.chunks(2)) {
        file.number(entry.flags as usize);
        file.number(places[0]);
        file.number(places[1]);
        file.number(0);
        file.hwcap(entry.hwcap);
    }
    file.bytes.extend(strings);
    if !hwcaps.is_empty() {
        file.bytes.resize(extension, 0);
        file.number(0xeaa4_2174);
        file.number(1);
        // One section: its tag, flags, offset and size.
        file.number(1);
        file.number(0);
        file.number(before + extension + 24);
        file.number(hwcaps.len() * 4);
        for place in of_hwcaps {
            file.number(before + place);
        }
    }
    file.bytes
}

/// The new layout behind the old one, whose strings are the new one and its own.
pub fn both(entries: &[Entry], hwcaps: &[&str]) -> Vec<u8> {
    let places = vec![0; entries.len() * 2];
    let mut file = old_head(entries, &places);
    file.resize(file.len().next_multiple_of(8), 0);
    let new = new_behind(entries, hwcaps, Endian::Little, file.len());
    file.extend(new);
    file
}
