//! From bytes to an [`Image`], for both sizes of address and both byte orders.

use std::ffi::OsString;
use std::mem::size_of;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use object::elf::{self, FileHeader32, FileHeader64};
use object::endian::Endianness;
use object::read::elf::{
    Dyn, FileHeader, NoteHeader, NoteIterator, ProgramHeader, RelrIterator, SectionHeader,
};
use object::read::{ReadRef, StringTable};

use super::{Endian, Flags, Image, Linkage, Relro, Segment, Stack};

/// What is wrong with a file, and what to do.
type Reason = String;

/// Reads the file `data`, which is `bytes` long. Its path is left empty.
pub(super) fn read<'data, R: ReadRef<'data>>(data: R, bytes: u64) -> Result<Image, Reason> {
    if bytes == 0 {
        return Err("empty; name an ELF file".into());
    }
    let start = |n| data.read_bytes_at(0, n).unwrap_or_default();
    if start(4) != elf::ELFMAG {
        return Err(match start(2) {
            b"#!" => "a script, not an ELF file; name its interpreter".into(),
            _ => "not an ELF file; name a compiled program, a library or an object".into(),
        });
    }
    let mut remarks = Vec::new();
    let (bits, endian) = match start(7).get(4..) {
        Some([1, order @ (1 | 2), 1]) => (32, *order),
        Some([2, order @ (1 | 2), 1]) => (64, *order),
        // The kernel looks at the magic number alone, then at e_machine (load_elf_binary in
        // fs/binfmt_elf.c), so the rest of e_ident may hold anything. Both little-endian:
        // 62 is EM_X86_64 and 3 is EM_386, and e_machine is at 18 in both layouts.
        _ => {
            remarks.push("e_ident is overwritten; read as the kernel does, by e_machine".into());
            match start(20).get(18..) {
                Some([62, 0]) => (64, 1),
                Some([3, 0]) => (32, 1),
                _ => return Err("damaged: its ELF header names no class and no byte order".into()),
            }
        }
    };
    let endian = if endian == 1 {
        Endianness::Little
    } else {
        Endianness::Big
    };
    if bits == 32 {
        Elf::<FileHeader32<Endianness>, R>::new(data, bytes, endian)?.image(remarks)
    } else {
        Elf::<FileHeader64<Endianness>, R>::new(data, bytes, endian)?.image(remarks)
    }
}

/// An ELF file whose headers are there, and whose segments lie within it.
struct Elf<'data, H: FileHeader, R> {
    data: R,
    bytes: u64,
    endian: Endianness,
    header: &'data H,
    segments: &'data [H::ProgramHeader],
    sections: Result<&'data [H::SectionHeader], Reason>,
}

/// What the dynamic table says.
#[derive(Default)]
struct Dynamic {
    needed: Vec<OsString>,
    soname: Option<OsString>,
    rpath: Option<OsString>,
    runpath: Option<OsString>,
    nodeflib: bool,
    bind_now: bool,
    pie: bool,
    relocations: usize,
}

impl<'data, H, R> Elf<'data, H, R>
where
    H: FileHeader<Endian = Endianness>,
    R: ReadRef<'data>,
{
    fn new(data: R, bytes: u64, endian: Endianness) -> Result<Self, Reason> {
        let header = data.read_at::<H>(0).map_err(|()| {
            format!("cut short: {bytes} bytes do not hold an ELF header; get the whole file")
        })?;
        let segments = header.program_headers(endian, data).map_err(
            |_| "cut short or damaged: its program headers lie beyond its end; get the whole file",
        )?;
        for (index, segment) in segments.iter().enumerate() {
            let (offset, size) = segment.file_range(endian);
            if size > 0 && offset.checked_add(size).is_none_or(|end| end > bytes) {
                return Err(format!(
                    "cut short or damaged: segment {index} ends after the file's {bytes} bytes; \
                     get the whole file"
                ));
            }
        }
        let sections = header
            .section_headers(endian, data)
            .map_err(|_| "section headers: named, but not within the file".to_owned());
        Ok(Elf {
            data,
            bytes,
            endian,
            header,
            segments,
            sections,
        })
    }

    fn image(&self, mut remarks: Vec<String>) -> Result<Image, Reason> {
        let interpreter = self.interpreter()?;
        let dynamic = self.dynamic()?;
        let linkage = if self.emptied() {
            remarks.push("its segments were emptied: a file of debug information".into());
            Linkage::Other
        } else {
            self.linkage(interpreter.is_some(), dynamic.as_ref())
        };
        let segments: Vec<Segment> = self.segments.iter().map(|s| self.segment(s)).collect();
        if let Err(reason) = &self.sections {
            remarks.push(reason.clone());
        }
        if segments.is_empty() && self.sections.as_ref().is_ok_and(|s| s.is_empty()) {
            return Err("damaged: it has neither segments nor sections; get the whole file".into());
        }
        let symbols = self.symbols(elf::SHT_SYMTAB);
        let dynamic_symbols = match (&dynamic, self.symbols(elf::SHT_DYNSYM)) {
            (None, _) => Some(0),
            (Some(_), Some(0)) => None,
            (Some(_), found) => found,
        };
        let build_id = self.build_id().unwrap_or_else(|reason| {
            remarks.push(reason);
            None
        });
        let relocations = match &dynamic {
            Some(dynamic) => dynamic.relocations,
            None => self.loaded_relocations(),
        };
        let relro = self.relro(dynamic.as_ref());
        let dynamic = dynamic.unwrap_or_default();
        Ok(Image {
            path: PathBuf::new(),
            bytes: self.bytes,
            bits: if H::is_type_64_sized() { 64 } else { 32 },
            endian: match self.endian {
                Endianness::Little => Endian::Little,
                Endianness::Big => Endian::Big,
            },
            machine: self.machine(),
            kind: self.kind(),
            linkage,
            entry: self.header.e_entry(self.endian).into(),
            interpreter,
            pie: matches!(linkage, Linkage::StaticPie | Linkage::Dynamic)
                && self.header.e_type(self.endian) == elf::ET_DYN,
            relro,
            stack: self.stack(),
            write_xor_execute: !segments
                .iter()
                .any(|s| s.kind == "LOAD" && s.flags.write && s.flags.execute),
            segments,
            sections: self.sections.as_ref().ok().map(|s| s.len()),
            symbols,
            dynamic_symbols,
            stripped: symbols.unwrap_or(0) == 0,
            relocations,
            soname: dynamic.soname,
            needed: dynamic.needed,
            rpath: dynamic.rpath,
            runpath: dynamic.runpath,
            nodeflib: dynamic.nodeflib,
            build_id,
            remarks,
        })
    }

    fn machine(&self) -> String {
        let machine = self.header.e_machine(self.endian);
        match machine.name() {
            _ if machine == elf::EM_386 => "i386".into(),
            Some(name) => name.trim_start_matches("EM_").to_ascii_lowercase(),
            None => format!("machine {}", machine.0),
        }
    }

    fn kind(&self) -> String {
        let kind = self.header.e_type(self.endian);
        match kind.name() {
            Some(name) => name.trim_start_matches("ET_").into(),
            None => format!("{:#x}", kind.0),
        }
    }

    fn segment(&self, header: &H::ProgramHeader) -> Segment {
        let kind = header.p_type(self.endian);
        let flags = header.p_flags(self.endian);
        Segment {
            kind: match kind.name() {
                Some(name) => name.trim_start_matches("PT_").into(),
                None => format!("{:#x}", kind.0),
            },
            flags: Flags {
                read: flags.contains(elf::PF_R),
                write: flags.contains(elf::PF_W),
                execute: flags.contains(elf::PF_X),
            },
            offset: header.p_offset(self.endian).into(),
            address: header.p_vaddr(self.endian).into(),
            file_bytes: header.p_filesz(self.endian).into(),
            memory_bytes: header.p_memsz(self.endian).into(),
            align: header.p_align(self.endian).into(),
        }
    }

    fn first(&self, kind: elf::ProgramType) -> Option<&'data H::ProgramHeader> {
        self.segments.iter().find(|s| s.p_type(self.endian) == kind)
    }

    /// A debug file keeps the program headers and drops what they point to.
    fn emptied(&self) -> bool {
        [elf::PT_INTERP, elf::PT_DYNAMIC]
            .into_iter()
            .filter_map(|kind| self.first(kind))
            .any(|segment| segment.file_range(self.endian).1 == 0)
    }

    fn interpreter(&self) -> Result<Option<OsString>, Reason> {
        let Some(segment) = self.first(elf::PT_INTERP).filter(|_| !self.emptied()) else {
            return Ok(None);
        };
        match segment.interpreter(self.endian, self.data) {
            Ok(path) => Ok(path.map(|path| OsString::from_vec(path.to_vec()))),
            Err(_) => Err("damaged: its interpreter's path has no end; get the whole file".into()),
        }
    }

    /// A library and a program at any address are both `ET_DYN`; only a flag that the linker
    /// sets, or what is missing, tells them apart.
    fn linkage(&self, interpreter: bool, dynamic: Option<&Dynamic>) -> Linkage {
        let marked_pie = dynamic.is_some_and(|d| d.pie);
        let named = dynamic.is_some_and(|d| d.soname.is_some());
        match self.header.e_type(self.endian) {
            elf::ET_EXEC if interpreter => Linkage::Dynamic,
            elf::ET_EXEC => Linkage::Static,
            elf::ET_DYN if interpreter && (marked_pie || !named) => Linkage::Dynamic,
            elf::ET_DYN if interpreter => Linkage::SharedObject,
            elf::ET_DYN if marked_pie || dynamic.is_none() => Linkage::StaticPie,
            elf::ET_DYN => Linkage::SharedObject,
            elf::ET_REL => Linkage::Object,
            elf::ET_CORE => Linkage::Core,
            _ => Linkage::Other,
        }
    }

    fn relro(&self, dynamic: Option<&Dynamic>) -> Relro {
        match self.first(elf::PT_GNU_RELRO) {
            None => Relro::None,
            Some(_) if dynamic.is_some_and(|d| d.bind_now) => Relro::Full,
            Some(_) => Relro::Partial,
        }
    }

    fn stack(&self) -> Stack {
        match self.first(elf::PT_GNU_STACK) {
            None => Stack::Unstated,
            Some(s) if s.p_flags(self.endian).contains(elf::PF_X) => Stack::Executable,
            Some(_) => Stack::Nx,
        }
    }

    /// Where the bytes of an address lie in the file.
    fn offset_of(&self, address: u64) -> Option<u64> {
        self.segments
            .iter()
            .filter(|s| s.p_type(self.endian) == elf::PT_LOAD)
            .find_map(|s| {
                let (offset, size) = s.file_range(self.endian);
                let within = address.checked_sub(s.p_vaddr(self.endian).into())?;
                (within < size).then(|| offset + within)
            })
    }

    /// Reads the dynamic table as the loader does, by its segment.
    fn dynamic(&self) -> Result<Option<Dynamic>, Reason> {
        let damaged = |what| format!("damaged: {what}; get the whole file");
        let Some(segment) = self.first(elf::PT_DYNAMIC).filter(|_| !self.emptied()) else {
            return Ok(None);
        };
        let entries = segment
            .dynamic(self.endian, self.data)
            .map_err(|_| damaged("its dynamic table is no row of entries"))?
            .unwrap_or_default()
            .iter()
            .map(|entry| (entry.tag(self.endian), entry.val(self.endian)))
            .take_while(|(tag, _)| *tag != elf::DT_NULL)
            .collect::<Vec<_>>();
        let value = |tag| entries.iter().find(|(t, _)| *t == tag).map(|(_, v)| *v);

        let range = value(elf::DT_STRTAB)
            .and_then(|address| self.offset_of(address))
            .map(|start| {
                let end = start.saturating_add(value(elf::DT_STRSZ).unwrap_or(0));
                (start, end.min(self.bytes))
            });
        let strings = range
            .map(|(start, end)| StringTable::new(self.data, start, end))
            .unwrap_or_default();
        let names = |tag| {
            entries
                .iter()
                .filter(move |(t, _)| *t == tag)
                .map(|(_, at)| {
                    let at = u32::try_from(*at).map_err(|_| ())?;
                    let text = strings.get(at).ok().or_else(|| {
                        let (start, end) = range?;
                        self.long_string(start.checked_add(at.into())?, end)
                    });
                    Ok(OsString::from_vec(text.ok_or(())?.to_vec()))
                })
                .collect::<Result<Vec<_>, ()>>()
                .map_err(|()| damaged("a library's name does not lie within the file"))
        };
        let flags = elf::DynamicFlags(value(elf::DT_FLAGS).unwrap_or(0));
        let flags_1 = elf::DynamicFlags1(value(elf::DT_FLAGS_1).unwrap_or(0));
        Ok(Some(Dynamic {
            needed: names(elf::DT_NEEDED)?,
            soname: names(elf::DT_SONAME)?.pop(),
            rpath: names(elf::DT_RPATH)?.pop(),
            runpath: names(elf::DT_RUNPATH)?.pop(),
            nodeflib: flags_1.contains(elf::DF_1_NODEFLIB),
            bind_now: value(elf::DT_BIND_NOW).is_some()
                || flags.contains(elf::DF_BIND_NOW)
                || flags_1.contains(elf::DF_1_NOW),
            pie: flags_1.contains(elf::DF_1_PIE),
            relocations: self
                .relocations(value)
                .ok_or_else(|| damaged("its relocations do not lie within the file"))?,
        }))
    }

    /// The string that is at `start`, ended by a NUL before `end`, however long: a file's cache
    /// gives none of more than 4 KiB, and a list of folders may be longer.
    fn long_string(&self, start: u64, end: u64) -> Option<&'data [u8]> {
        let left = end.checked_sub(start)?;
        let mut length = 0;
        while length < left {
            length = (length * 4).max(16 << 10).min(left);
            let bytes = self.data.read_bytes_at(start, length).ok()?;
            if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
                return bytes.get(..end);
            }
        }
        None
    }

    /// How many relocations the dynamic table names; none when they are not in the file.
    fn relocations(&self, value: impl Fn(elf::DynamicTag) -> Option<u64>) -> Option<usize> {
        // The entries of a table, or 0 where there is none.
        let entries = |address, bytes, entry: usize| match (value(address), value(bytes)) {
            (Some(_), Some(0)) | (None, _) => Some(0),
            (Some(address), bytes) => {
                let bytes = bytes?;
                let end = self.offset_of(address)?.checked_add(bytes)?;
                (end <= self.bytes).then_some(bytes as usize / entry)
            }
        };
        let rela = entries(elf::DT_RELA, elf::DT_RELASZ, size_of::<H::Rela>())?;
        let rel = entries(elf::DT_REL, elf::DT_RELSZ, size_of::<H::Rel>())?;
        let with_addends = value(elf::DT_PLTREL) == Some(elf::DT_RELA.0 as u64);
        let (table, table_bytes, entry) = if with_addends {
            (elf::DT_RELA, elf::DT_RELASZ, size_of::<H::Rela>())
        } else {
            (elf::DT_REL, elf::DT_RELSZ, size_of::<H::Rel>())
        };
        // Some linkers let the first table run on over this one.
        let inside = value(elf::DT_JMPREL)
            .zip(value(table))
            .and_then(|(address, table)| address.checked_sub(table))
            .is_some_and(|within| within < value(table_bytes).unwrap_or(0));
        let functions = if inside {
            0
        } else {
            entries(elf::DT_JMPREL, elf::DT_PLTRELSZ, entry)?
        };
        let words = entries(elf::DT_RELR, elf::DT_RELRSZ, size_of::<H::Relr>())?;
        let packed = if words == 0 {
            0
        } else {
            let offset = self.offset_of(value(elf::DT_RELR)?)?;
            let words = self.data.read_slice_at::<H::Relr>(offset, words).ok()?;
            RelrIterator::<H>::new(self.endian, words).count()
        };
        Some(rela + rel + functions + packed)
    }

    fn of_kind(
        &self,
        kind: elf::SectionType,
    ) -> Option<impl Iterator<Item = &'data H::SectionHeader>> {
        let sections = *self.sections.as_ref().ok()?;
        let endian = self.endian;
        Some(sections.iter().filter(move |s| s.sh_type(endian) == kind))
    }

    /// The entries of the symbol table of that kind, without the empty first one.
    fn symbols(&self, kind: elf::SectionType) -> Option<usize> {
        let tables = self.of_kind(kind)?;
        let bytes: u64 = tables
            .map(|s| s.sh_size(self.endian).into())
            .max()
            .unwrap_or(0);
        Some((bytes as usize / size_of::<H::Sym>()).saturating_sub(1))
    }

    /// The relocations of a program without a dynamic table: its C library applies those of
    /// the sections that are loaded (`IRELATIVE` ones, in a static glibc program).
    fn loaded_relocations(&self) -> usize {
        let entries = |kind, entry: usize| -> usize {
            self.of_kind(kind)
                .into_iter()
                .flatten()
                .filter(|s| s.sh_flags(self.endian).contains(elf::SHF_ALLOC))
                .map(|s| s.sh_size(self.endian).into() as usize / entry)
                .fold(0, usize::saturating_add)
        };
        let rela = entries(elf::SHT_RELA, size_of::<H::Rela>());
        rela.saturating_add(entries(elf::SHT_REL, size_of::<H::Rel>()))
    }

    fn build_id(&self) -> Result<Option<String>, Reason> {
        let damaged = |_| "notes: not as notes are written".to_owned();
        for segment in self.segments {
            let notes = segment.notes(self.endian, self.data).map_err(damaged)?;
            if let Some(id) = build_id_of(notes, self.endian).map_err(damaged)? {
                return Ok(Some(id));
            }
        }
        // A kernel module has sections only.
        for section in self.sections.iter().copied().flatten() {
            let notes = section.notes(self.endian, self.data).map_err(damaged)?;
            if let Some(id) = build_id_of(notes, self.endian).map_err(damaged)? {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }
}

fn build_id_of<H: FileHeader<Endian = Endianness>>(
    notes: Option<NoteIterator<'_, H>>,
    endian: Endianness,
) -> object::read::Result<Option<String>>
where
    H::NoteHeader: NoteHeader<Endian = Endianness>,
{
    for note in notes.into_iter().flatten() {
        let note = note?;
        if note.name() == elf::ELF_NOTE_GNU && note.n_type(endian) == elf::NT_GNU_BUILD_ID {
            return Ok(Some(
                note.desc().iter().map(|b| format!("{b:02x}")).collect(),
            ));
        }
    }
    Ok(None)
}
