//! What unwinding and naming ask of an ELF file: where its code lies, how it is unwound, and how
//! its functions are called.
//!
//! Files are read piece by piece, each piece checked to lie within the file before it is read. A
//! file that is damaged gives less, and never a panic. Only files of x86-64 with 64-bit addresses
//! are read: what the code of this process could be.

use std::fs::File;
use std::os::unix::fs::FileExt;

use object::elf::{self, FileHeader64, ProgramHeader64, SectionHeader64, Sym64};
use object::endian::LittleEndian as LE;
use object::pod;

/// Where the bytes come from.
pub enum Source {
    /// A file, and its length.
    File(File, u64),
    /// All of them: of the vDSO, which is in no file, or of a test.
    Bytes(Vec<u8>),
}

impl Source {
    /// How many bytes there are.
    pub fn len(&self) -> u64 {
        match self {
            Source::File(_, length) => *length,
            Source::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// Some of them. None when they do not all lie within.
    pub fn read(&self, offset: u64, length: u64) -> Option<Vec<u8>> {
        let end = offset.checked_add(length)?;
        if end > self.len() {
            return None;
        }
        let length = usize::try_from(length).ok()?;
        match self {
            Source::File(file, _) => {
                let mut bytes = vec![0; length];
                // Shorter than it was: somebody writes it anew just now.
                file.read_exact_at(&mut bytes, offset).ok()?;
                Some(bytes)
            }
            Source::Bytes(bytes) => {
                let start = usize::try_from(offset).ok()?;
                Some(bytes.get(start..start.checked_add(length)?)?.to_vec())
            }
        }
    }
}

/// An ELF file.
pub struct Elf {
    source: Source,
    /// The address of its first instruction; 0 when it names none.
    pub entry: u64,
    /// Whether it asks for an interpreter.
    pub interpreted: bool,
    /// Its loaded segments.
    pub loads: Vec<Load>,
    /// Its sections; none when they are stripped or damaged.
    sections: Vec<Section>,
    section_names: Vec<u8>,
    /// Where the program headers say that the table for unwinding is.
    unwind_table: Option<(u64, u64, u64)>,
    notes: Vec<(u64, u64)>,
}

/// A loaded segment.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Where it begins in memory, as the file states it.
    pub address: u64,
    /// Where it begins in the file.
    pub offset: u64,
    /// How many of its bytes are in the file.
    pub size: u64,
    /// Whether its bytes may be executed.
    pub executable: bool,
}

/// A section.
#[derive(Clone, Copy, Debug)]
struct Section {
    /// Where its name begins in the names.
    name: u32,
    kind: elf::SectionType,
    allocated: bool,
    address: u64,
    offset: u64,
    size: u64,
    link: u32,
}

/// A piece of a file, and its address in memory.
pub struct Piece {
    /// Its address as the file states it.
    pub address: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A function, or another label in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its address as the file states it.
    pub address: u64,
    /// How long it is; 0 for what was written in assembly without a size.
    pub size: u64,
    /// Where its name begins in the names.
    name: u32,
    /// Whether only its own object file could call it by its name.
    pub local: bool,
    /// Whether it is said to be a function.
    pub function: bool,
}

/// A table of symbols, those of code only.
#[derive(Default)]
pub struct Symbols {
    /// In the order of the file.
    pub list: Vec<Symbol>,
    names: Vec<u8>,
    /// Whether local labels are in it, so that what lies between two symbols is not a function that
    /// was left out.
    pub whole: bool,
}

impl Symbols {
    /// The name of one of them.
    pub fn name(&self, symbol: &Symbol) -> &[u8] {
        name_at(&self.names, symbol.name)
    }
}

/// As long as a header of its kind.
const PROGRAM_HEADER: u64 = size_of::<ProgramHeader64<LE>>() as u64;
const SECTION_HEADER: u64 = size_of::<SectionHeader64<LE>>() as u64;

/// Several of a kind, from bytes. What is left over at the end is dropped.
fn several<T: pod::Pod>(bytes: &[u8]) -> &[T] {
    pod::slice_from_bytes(bytes, bytes.len() / size_of::<T>()).map_or(&[], |(several, _)| several)
}

impl Elf {
    /// Reads the headers. None for what is no x86-64 file with 64-bit addresses, or is cut short.
    pub fn new(source: Source) -> Option<Self> {
        let header = source.read(0, size_of::<FileHeader64<LE>>() as u64)?;
        let (header, _) = pod::from_bytes::<FileHeader64<LE>>(&header).ok()?;
        // The kernel looks at the magic number and the machine alone (load_elf_binary in
        // fs/binfmt_elf.c); the class matters where it says that addresses are of 32 bits, as x32's.
        if header.e_ident.magic != elf::ELFMAG
            || header.e_machine.get(LE) != elf::EM_X86_64
            || header.e_ident.class == elf::ELFCLASS32
        {
            return None;
        }
        let number = u64::from(header.e_phnum.get(LE));
        if number > 0 && u64::from(header.e_phentsize.get(LE)) != PROGRAM_HEADER {
            return None;
        }
        let table = source.read(header.e_phoff.get(LE), number * PROGRAM_HEADER)?;
        let (sections, section_names) = sections(&source, header).unwrap_or_default();
        let mut file = Elf {
            entry: header.e_entry.get(LE),
            interpreted: false,
            loads: Vec::new(),
            sections,
            section_names,
            unwind_table: None,
            notes: Vec::new(),
            source,
        };
        for segment in several::<ProgramHeader64<LE>>(&table) {
            let (address, offset) = (segment.p_vaddr.get(LE), segment.p_offset.get(LE));
            let size = segment.p_filesz.get(LE);
            match segment.p_type.get(LE) {
                elf::PT_INTERP => file.interpreted = true,
                elf::PT_LOAD => file.loads.push(Load {
                    address,
                    offset,
                    size,
                    executable: segment.p_flags.get(LE).contains(elf::PF_X),
                }),
                elf::PT_GNU_EH_FRAME => file.unwind_table = Some((address, offset, size)),
                elf::PT_NOTE => file.notes.push((offset, size)),
                _ => {}
            }
        }
        Some(file)
    }

    /// The difference between where code is in memory and where the file states it to be, for a
    /// mapping of it: `start` in memory, `offset` in the file.
    ///
    /// Two segments can share a page of the file, so the one that may be executed is taken.
    pub fn bias(&self, start: u64, offset: u64) -> Option<u64> {
        /// Mappings are of whole pages.
        const PAGE: u64 = 4096;
        let holds = |load: &&Load| {
            let first = load.offset & !(PAGE - 1);
            let end = load.offset.saturating_add(load.size);
            load.executable && (first..end).contains(&offset)
        };
        let load = self.loads.iter().find(holds)?;
        // Both sides wrap round the end of the address space in the same way.
        let stated = load.address.wrapping_sub(load.offset).wrapping_add(offset);
        Some(start.wrapping_sub(stated))
    }

    /// The table `.eh_frame_hdr`, which finds the entry of an address in `.eh_frame`.
    pub fn eh_frame_hdr(&self) -> Option<Piece> {
        let (address, offset, size) = self.unwind_table?;
        Some(Piece {
            address,
            bytes: self.source.read(offset, size)?,
        })
    }

    /// `.eh_frame`: by its section; where sections are stripped, by the address that the table
    /// for it has.
    pub fn eh_frame(&self, by_table: Option<u64>) -> Option<Piece> {
        let by_section = self.section(b".eh_frame").filter(|section| {
            section.allocated && section.kind != elf::SHT_NOBITS && section.size > 0
        });
        if let Some(section) = by_section {
            return Some(Piece {
                address: section.address,
                bytes: self.source.read(section.offset, section.size)?,
            });
        }
        let address = by_table?;
        let (load, within) = self.loads.iter().find_map(|load| {
            let within = address.checked_sub(load.address)?;
            (within < load.size).then_some((load, within))
        })?;
        let offset = load.offset.checked_add(within)?;
        Some(Piece {
            address,
            bytes: self.source.read(offset, load.size - within)?,
        })
    }

    /// The address of a section, which addresses in `.eh_frame` may be relative to.
    pub fn address_of(&self, name: &[u8]) -> Option<u64> {
        self.section(name).map(|section| section.address)
    }

    /// The bytes of a section that is not loaded.
    pub fn contents_of(&self, name: &[u8]) -> Option<Vec<u8>> {
        let section = self.section(name)?;
        if section.kind == elf::SHT_NOBITS {
            return None;
        }
        self.source.read(section.offset, section.size)
    }

    /// The symbols of `.symtab`. None in a file that is stripped of it.
    pub fn symbols(&self) -> Option<Symbols> {
        self.table(elf::SHT_SYMTAB)
    }

    /// The symbols of `.dynsym`, those that others may call.
    pub fn dynamic_symbols(&self) -> Option<Symbols> {
        self.table(elf::SHT_DYNSYM)
    }

    /// What its makers numbered it by, to find what was split off it.
    pub fn build_id(&self) -> Option<Vec<u8>> {
        let notes = self.notes.iter().copied();
        let sections = self
            .sections
            .iter()
            .filter(|section| section.kind == elf::SHT_NOTE)
            .map(|section| (section.offset, section.size));
        notes
            .chain(sections)
            .filter_map(|(offset, size)| self.source.read(offset, size))
            .find_map(|notes| build_id(&notes))
    }

    fn section(&self, name: &[u8]) -> Option<&Section> {
        let named = |section: &&Section| name_at(&self.section_names, section.name) == name;
        self.sections.iter().find(named)
    }

    fn table(&self, kind: elf::SectionType) -> Option<Symbols> {
        let table = self.sections.iter().find(|section| section.kind == kind)?;
        let names = self.sections.get(table.link as usize)?;
        if names.kind == elf::SHT_NOBITS {
            return None;
        }
        let names = self.source.read(names.offset, names.size)?;
        let bytes = self.source.read(table.offset, table.size)?;
        Some(symbols(&bytes, names))
    }
}

/// The symbols of code in a table.
pub(super) fn symbols(table: &[u8], names: Vec<u8>) -> Symbols {
    let all = several::<Sym64<LE>>(table);
    let mut whole = false;
    let mut list = Vec::with_capacity(all.len());
    for symbol in all {
        let kind = symbol.st_info.st_type();
        let local = symbol.st_info.st_bind() == elf::STB_LOCAL;
        // Of code: a function, one that is chosen at the start, or a label without a kind.
        let function = kind == elf::STT_FUNC || kind == elf::STT_GNU_IFUNC;
        if !function && kind != elf::STT_NOTYPE {
            continue;
        }
        let section = symbol.st_shndx.get(LE);
        if section == elf::SHN_UNDEF || section == elf::SHN_ABS {
            continue;
        }
        whole |= local;
        list.push(Symbol {
            address: symbol.st_value.get(LE),
            size: symbol.st_size.get(LE),
            name: symbol.st_name.get(LE),
            local,
            function,
        });
    }
    Symbols { list, names, whole }
}

/// A name among names, each of which ends with a zero byte.
fn name_at(names: &[u8], at: u32) -> &[u8] {
    let rest = names.get(at as usize..).unwrap_or_default();
    rest.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// The sections, and their names. None when they do not lie within the file.
fn sections(source: &Source, header: &FileHeader64<LE>) -> Option<(Vec<Section>, Vec<u8>)> {
    if u64::from(header.e_shentsize.get(LE)) != SECTION_HEADER {
        return None;
    }
    let number = u64::from(header.e_shnum.get(LE));
    let table = source.read(header.e_shoff.get(LE), number * SECTION_HEADER)?;
    let headers = several::<SectionHeader64<LE>>(&table);
    let names = headers.get(usize::from(header.e_shstrndx.get(LE).0))?;
    let names = source.read(names.sh_offset.get(LE), names.sh_size.get(LE))?;
    let section = |header: &SectionHeader64<LE>| Section {
        name: header.sh_name.get(LE),
        kind: header.sh_type.get(LE),
        allocated: header.sh_flags.get(LE).contains(elf::SHF_ALLOC),
        address: header.sh_addr.get(LE),
        offset: header.sh_offset.get(LE),
        size: header.sh_size.get(LE),
        link: header.sh_link.get(LE),
    };
    Some((headers.iter().map(section).collect(), names))
}

/// The build id among notes: elf(5), "Notes".
fn build_id(mut notes: &[u8]) -> Option<Vec<u8>> {
    loop {
        let (head, rest) = notes.split_at_checked(12)?;
        let number = |at: usize| -> Option<usize> {
            let bytes = head.get(at..at + 4)?;
            Some(u32::from_le_bytes(bytes.try_into().ok()?) as usize)
        };
        let (name_size, size, kind) = (number(0)?, number(4)?, number(8)?);
        let (name, rest) = rest.split_at_checked(name_size.checked_next_multiple_of(4)?)?;
        let content = rest.get(..size)?;
        if name == b"GNU\0" && kind == elf::NT_GNU_BUILD_ID.0 as usize {
            return Some(content.to_vec());
        }
        notes = rest.get(size.checked_next_multiple_of(4)?..)?;
    }
}
