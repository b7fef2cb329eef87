//! The parts of an ELF file that its loader maps, read by their address.
//!
//! Each part is read by pread(2), after its length was checked against that of the file: what a
//! damaged file says of itself takes no memory, and a file that shrinks is an error, no signal.

use std::fs::File;
use std::io::ErrorKind;
use std::mem::size_of;
use std::os::unix::fs::FileExt;
use std::path::Path;

use object::elf::{self, DynamicTag, FileHeader32, FileHeader64};
use object::endian::Endianness;
use object::pod::{Pod, slice_from_bytes};
use object::read::elf::{Dyn, FileHeader};

use crate::image::{Endian, Image};
use crate::survey::root::{Inode, Root};

/// What is wrong with a file.
pub(super) type Reason = String;

/// The longest part that is read, in bytes. The string tables of the largest libraries have some
/// tens of MiB; a part beyond this is a hole in a damaged file.
const LONGEST: u64 = 256 << 20;

/// An open ELF file with a dynamic table.
pub(super) struct Mapped<'a> {
    file: File,
    bytes: u64,
    /// What it says about itself.
    pub(super) image: &'a Image,
    /// The order of its bytes.
    pub(super) endian: Endianness,
    /// Its dynamic table, as far as `DT_NULL`.
    dynamic: Vec<(DynamicTag, u64)>,
}

impl<'a> Mapped<'a> {
    /// Opens the file that had this image and this inode when it was met first.
    pub(super) fn open(
        root: &Root,
        path: &Path,
        inode: Inode,
        image: &'a Image,
    ) -> Result<Self, Reason> {
        let failed = |error| format!("cannot be read: {error}");
        let file = root.open(path, libc::O_RDONLY).map_err(failed)?;
        let meta = file.metadata().map_err(failed)?;
        if !meta.is_file() || Inode::of(&meta) != inode {
            return Err("became another file while it was read; run it again".into());
        }
        Mapped::of(file, meta.len(), image)
    }

    /// An open file of so many bytes, that has this image.
    pub(super) fn of(file: File, bytes: u64, image: &'a Image) -> Result<Self, Reason> {
        let mut mapped = Mapped {
            file,
            bytes,
            image,
            endian: match image.endian {
                Endian::Little => Endianness::Little,
                Endian::Big => Endianness::Big,
            },
            dynamic: Vec::new(),
        };
        mapped.dynamic = if image.bits == 32 {
            mapped.dynamic_table::<FileHeader32<Endianness>>()
        } else {
            mapped.dynamic_table::<FileHeader64<Endianness>>()
        }?;
        Ok(mapped)
    }

    fn dynamic_table<H: FileHeader<Endian = Endianness>>(
        &self,
    ) -> Result<Vec<(DynamicTag, u64)>, Reason> {
        let segments = &self.image.segments;
        let Some(segment) = segments.iter().find(|segment| segment.kind == "DYNAMIC") else {
            return Ok(Vec::new());
        };
        let bytes = self.at(segment.offset, segment.file_bytes, "dynamic table")?;
        let entries = all::<H::Dyn>(&bytes).iter();
        Ok(entries
            .map(|entry| (entry.tag(self.endian), entry.val(self.endian)))
            .take_while(|(tag, _)| *tag != elf::DT_NULL)
            .collect())
    }

    /// What the dynamic table says for a tag. Of several the last counts, as in glibc's
    /// `elf_get_dynamic_info` (elf/get-dynamic-info.h).
    pub(super) fn value(&self, tag: DynamicTag) -> Option<u64> {
        let mut entries = self.dynamic.iter().rev();
        entries.find(|(t, _)| *t == tag).map(|(_, value)| *value)
    }

    /// Where an address lies in the file, and how many bytes its segment has there from it on.
    fn place(&self, address: u64, what: &str) -> Result<(u64, u64), Reason> {
        let loaded = self.image.segments.iter().filter(|s| s.kind == "LOAD");
        loaded
            .filter_map(|segment| {
                let within = address.checked_sub(segment.address)?;
                let left = segment.file_bytes.checked_sub(within)?;
                (left > 0).then_some((segment.offset.checked_add(within)?, left))
            })
            .next()
            .ok_or_else(|| damaged(&format!("its {what} lies in no segment")))
    }

    /// So many bytes from an address on.
    pub(super) fn read(&self, address: u64, bytes: u64, what: &str) -> Result<Vec<u8>, Reason> {
        let (offset, left) = self.place(address, what)?;
        if bytes > left {
            return Err(damaged(&format!("its {what} ends after its segment")));
        }
        self.at(offset, bytes, what)
    }

    /// At most so many bytes from an address on: as many as its segment has.
    pub(super) fn read_up_to(
        &self,
        address: u64,
        most: u64,
        what: &str,
    ) -> Result<Vec<u8>, Reason> {
        let (offset, left) = self.place(address, what)?;
        self.at(offset, left.min(most), what)
    }

    /// So many entries of a table from an address on, as bytes for [`all`].
    pub(super) fn table<T: Pod>(
        &self,
        address: u64,
        entries: u64,
        what: &str,
    ) -> Result<Vec<u8>, Reason> {
        let bytes = entries.checked_mul(size_of::<T>() as u64);
        let bytes = bytes.ok_or_else(|| damaged(&format!("its {what} has no end")))?;
        self.read(address, bytes, what)
    }

    /// How many symbols a file of this length can have at most: elf(5) has 16 bytes for one, and
    /// 24 with addresses of 64 bits.
    pub(super) fn most_symbols(&self) -> u64 {
        self.bytes / if self.image.bits == 32 { 16 } else { 24 }
    }

    fn at(&self, offset: u64, bytes: u64, what: &str) -> Result<Vec<u8>, Reason> {
        let cut_short = || format!("cut short: its {what} ends after the file; get the whole file");
        if offset.checked_add(bytes).is_none_or(|end| end > self.bytes) {
            return Err(cut_short());
        }
        if bytes > LONGEST {
            return Err(damaged(&format!("its {what} has {bytes} bytes")));
        }
        let mut buffer = vec![0; bytes as usize];
        match self.file.read_exact_at(&mut buffer, offset) {
            Ok(()) => Ok(buffer),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Err(cut_short()),
            Err(error) => Err(format!("cannot be read: {error}")),
        }
    }
}

/// All whole entries in these bytes.
pub(super) fn all<T: Pod>(bytes: &[u8]) -> &[T] {
    // The entries are of single bytes (object's feature `unaligned`), so they fit any address;
    // with as many as there are bytes for, nothing can fail.
    slice_from_bytes(bytes, bytes.len() / size_of::<T>()).map_or(&[], |(entries, _)| entries)
}

/// The text that ends with a NUL from an offset on.
pub(super) fn name_at(names: &[u8], at: u32) -> Option<&[u8]> {
    let from = names.get(at as usize..)?;
    from.split(|byte| *byte == 0)
        .next()
        .filter(|name| name.len() < from.len())
}

/// What is wrong with a file that is not as its linker made it.
pub(super) fn damaged(what: &str) -> Reason {
    format!("damaged: {what}; get the whole file")
}
