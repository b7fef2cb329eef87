//! The ELF header and the program headers, field by field: elf(5), and the ELF specification,
//! "ELF Header" and "Program Header".

use std::mem::size_of;

use object::elf::{self, FileHeader64, ProgramHeader64};
use object::endian::LittleEndian as LE;
use object::pod;

use super::{Piece, Role};

/// A part of the file that is in memory: where it begins in the file, its address, its length.
pub(super) struct Load {
    pub offset: u64,
    pub address: u64,
    pub bytes: u64,
}

/// The fields of all headers, what is loaded, and the address of the first instruction.
pub(super) fn headers(content: &[u8]) -> Result<(Vec<Piece>, Vec<Load>, u64), String> {
    let cut = "cut short: its headers lie beyond its end; make programs builds it anew";
    let (header, _) = pod::from_bytes::<FileHeader64<LE>>(content).map_err(|()| cut)?;
    if header.e_ident.magic != elf::ELFMAG || header.e_machine.get(LE) != elf::EM_X86_64 {
        return Err("not an ELF file of x86-64".to_owned());
    }
    let mut pieces = file_header(header);
    let mut loads = Vec::new();
    for number in 0..header.e_phnum.get(LE) {
        let size = size_of::<ProgramHeader64<LE>>();
        let offset = usize::try_from(header.e_phoff.get(LE)).map_err(|_| cut)?;
        let offset = offset.checked_add(usize::from(number) * size).ok_or(cut)?;
        let bytes = content.get(offset..).ok_or(cut)?;
        let (segment, _) = pod::from_bytes::<ProgramHeader64<LE>>(bytes).map_err(|()| cut)?;
        pieces.extend(program_header(segment, offset));
        if segment.p_type.get(LE) == elf::PT_LOAD {
            loads.push(Load {
                offset: segment.p_offset.get(LE),
                address: segment.p_vaddr.get(LE),
                bytes: segment.p_filesz.get(LE),
            });
        }
    }
    Ok((pieces, loads, header.e_entry.get(LE)))
}

/// Pieces that follow on each other, from an offset on: of how many bytes, name, meaning.
fn row<const N: usize>(
    role: Role,
    mut offset: usize,
    fields: [(usize, &str, String); N],
) -> Vec<Piece> {
    let piece = |(bytes, name, means): (usize, &str, String)| {
        offset += bytes;
        Piece {
            offset: offset - bytes,
            bytes,
            role,
            name: name.to_owned(),
            means,
        }
    };
    fields.map(piece).into()
}

fn file_header(header: &FileHeader64<LE>) -> Vec<Piece> {
    let ident = &header.e_ident;
    let kind = header.e_type.get(LE);
    let machine = header.e_machine.get(LE);
    let number = |number: u16| number.to_string();
    let identification = row(
        Role::ElfHeader,
        0,
        [
            (
                4,
                "EI_MAG0 to EI_MAG3",
                "0x7f and ELF: the kernel takes this for an ELF file".into(),
            ),
            (
                1,
                "EI_CLASS",
                named(
                    ident.class,
                    elf::ELFCLASS64,
                    "ELFCLASS64: addresses of 64 bits",
                ),
            ),
            (
                1,
                "EI_DATA",
                named(
                    ident.data,
                    elf::ELFDATA2LSB,
                    "ELFDATA2LSB: the lowest byte first",
                ),
            ),
            (
                1,
                "EI_VERSION",
                named(ident.version, elf::EV_CURRENT, "EV_CURRENT"),
            ),
            (
                1,
                "EI_OSABI",
                named(ident.os_abi, elf::ELFOSABI_SYSV, "ELFOSABI_SYSV"),
            ),
            (1, "EI_ABIVERSION", "not read by the kernel".into()),
            (7, "EI_PAD", "not read by the kernel".into()),
        ],
    );
    let rest = row(
        Role::ElfHeader,
        16,
        [
            (
                2,
                "e_type",
                kind.name().map_or(number(kind.0), |name| match kind {
                    elf::ET_EXEC => format!("{name}: at the address that it names"),
                    elf::ET_DYN => format!("{name}: at any address"),
                    _ => name.to_owned(),
                }),
            ),
            (
                2,
                "e_machine",
                machine.name().map_or(number(machine.0), str::to_owned),
            ),
            (4, "e_version", "not read by the kernel".into()),
            (
                8,
                "e_entry",
                format!("the first instruction is at {:#x}", header.e_entry.get(LE)),
            ),
            (
                8,
                "e_phoff",
                format!(
                    "the program headers begin at offset {}",
                    header.e_phoff.get(LE)
                ),
            ),
            (
                8,
                "e_shoff",
                "section headers: not read by the kernel".into(),
            ),
            (4, "e_flags", "not read by the kernel on x86-64".into()),
            (2, "e_ehsize", "not read by the kernel".into()),
            (
                2,
                "e_phentsize",
                format!("a program header has {} bytes", header.e_phentsize.get(LE)),
            ),
            (
                2,
                "e_phnum",
                format!("there are {}", header.e_phnum.get(LE)),
            ),
            (2, "e_shentsize", "not read by the kernel".into()),
            (2, "e_shnum", "not read by the kernel".into()),
            (2, "e_shstrndx", "not read by the kernel".into()),
        ],
    );
    identification.into_iter().chain(rest).collect()
}

/// What the kernel does not check can hold anything.
fn named<T: PartialEq>(value: T, usual: T, name: &str) -> String {
    match value == usual {
        true => format!("{name}; not read by the kernel"),
        false => "not read by the kernel, and here something else".to_owned(),
    }
}

fn program_header(segment: &ProgramHeader64<LE>, offset: usize) -> Vec<Piece> {
    let kind = segment.p_type.get(LE);
    let loaded = kind == elf::PT_LOAD;
    // Of PT_GNU_STACK the kernel reads the flags alone.
    let of_load = |text: String| match loaded {
        true => text,
        false => "not read by the kernel".to_owned(),
    };
    let flags = segment.p_flags.get(LE);
    let flags = [
        (elf::PF_R, "read"),
        (elf::PF_W, "written"),
        (elf::PF_X, "executed"),
    ]
    .into_iter()
    .filter(|(flag, _)| flags.contains(*flag))
    .map(|(_, name)| name)
    .collect::<Vec<_>>();
    let what = if loaded { "these pages" } else { "the stack" };
    row(
        Role::ProgramHeader,
        offset,
        [
            (
                4,
                "p_type",
                kind.name().map_or(format!("{:#x}", kind.0), str::to_owned),
            ),
            (
                4,
                "p_flags",
                format!("{what} may be {}", flags.join(" and ")),
            ),
            (
                8,
                "p_offset",
                of_load(format!(
                    "from offset {} of the file",
                    segment.p_offset.get(LE)
                )),
            ),
            (
                8,
                "p_vaddr",
                of_load(format!("at address {:#x}", segment.p_vaddr.get(LE))),
            ),
            (8, "p_paddr", "not read by the kernel".into()),
            (
                8,
                "p_filesz",
                of_load(format!("{} bytes of the file", segment.p_filesz.get(LE))),
            ),
            (
                8,
                "p_memsz",
                of_load(format!("{} bytes in memory", segment.p_memsz.get(LE))),
            ),
            (
                8,
                "p_align",
                of_load(format!("aligned to {}", segment.p_align.get(LE))),
            ),
        ],
    )
}
