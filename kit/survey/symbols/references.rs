//! The symbols that a program's relocations name (`DT_JMPREL`, `DT_RELA`, `DT_REL`; those of
//! `DT_RELR` name none), and in which way.

use std::ops::BitOr;

use object::elf::{self, Versym, VersymIndex};
use object::endian::Endianness;
use object::read::elf::{FileHeader, Rel, Rela, Sym};

use super::mapped::{Mapped, Reason, all, damaged};
use super::table::{self, Budget, Table, hash};

/// In which ways a symbol is named: a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ways(u8);

impl Ways {
    /// A call through the procedure linkage table: `JUMP_SLOT`.
    pub(super) const PLT: Ways = Ways(1);
    /// An address in the global offset table: `GLOB_DAT`.
    pub(super) const GOT: Ways = Ways(2);
    /// Data that is copied into the program: `COPY`.
    pub(super) const COPY: Ways = Ways(4);
    /// A thread's own data: `DTPMOD`, `DTPOFF`, `TPOFF`, `TLSDESC`.
    pub(super) const TLS: Ways = Ways(8);
    /// An address, or a size, anywhere else: `64`, `32`, `ABS64`, …
    pub(super) const DIRECT: Ways = Ways(16);

    /// Those of them that are in another set too.
    pub(super) fn and(self, other: Ways) -> Ways {
        Ways(self.0 & other.0)
    }

    /// Whether there is one.
    pub(super) fn any(self) -> bool {
        self.0 != 0
    }
}

impl BitOr for Ways {
    type Output = Ways;

    fn bitor(self, other: Ways) -> Ways {
        Ways(self.0 | other.0)
    }
}

/// A symbol that a program's relocations name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reference {
    /// Where its name begins among the program's names.
    pub(super) name: u32,
    /// [`hash`] of its name.
    pub(super) hash: u32,
    /// Its version.
    pub(super) version: VersymIndex,
    /// In which ways it is named.
    pub(super) ways: Ways,
    /// Nothing need define it (`STB_WEAK`).
    pub(super) weak: bool,
    /// It is the program's own, and nobody is asked (`STB_LOCAL`, `STV_HIDDEN`, `STV_INTERNAL`).
    pub(super) local: bool,
}

/// Reads what a program defines, and the symbols that its relocations name.
pub(super) fn read<H: FileHeader<Endian = Endianness>>(
    mapped: &Mapped,
) -> Result<(Table, Vec<Reference>), Reason> {
    let ways = ways_of_symbols::<H>(mapped)?;
    let read = table::read::<H>(mapped, ways.len() as u64)?;
    let (table, endian) = (read.table, mapped.endian);
    let symbols = all::<H::Sym>(&read.symbols);
    let versions = all::<Versym<Endianness>>(&read.versyms);
    let mut budget = Budget::of(&table.names);
    let mut references = Vec::new();
    for (index, ways) in ways.into_iter().enumerate().filter(|(_, ways)| ways.any()) {
        let Some(symbol) = symbols.get(index) else {
            return Err(damaged("a relocation names a symbol that is not there"));
        };
        let version = versions.get(index);
        let version = version.map_or(elf::VER_NDX_GLOBAL.into(), |v| v.0.get(endian));
        table.known(version)?;
        let name = symbol.st_name(endian);
        references.push(Reference {
            name,
            hash: hash(budget.name(&table.names, name)?),
            version,
            ways,
            weak: symbol.st_bind() == elf::STB_WEAK,
            local: symbol.st_bind() == elf::STB_LOCAL
                || matches!(symbol.st_visibility(), elf::STV_HIDDEN | elf::STV_INTERNAL),
        });
    }
    Ok((table, references))
}

/// In which ways the relocations name each symbol, by its index.
fn ways_of_symbols<H: FileHeader<Endian = Endianness>>(
    mapped: &Mapped,
) -> Result<Vec<Ways>, Reason> {
    let what = "relocations";
    let way = Way::of(&mapped.image.machine)?;
    let mut ways = Vec::new();
    let with_addends = mapped.value(elf::DT_PLTREL) == Some(elf::DT_RELA.0 as u64);
    for (table, size, addends) in [
        (elf::DT_RELA, elf::DT_RELASZ, true),
        (elf::DT_REL, elf::DT_RELSZ, false),
        (elf::DT_JMPREL, elf::DT_PLTRELSZ, with_addends),
    ] {
        let (Some(address), Some(bytes @ 1..)) = (mapped.value(table), mapped.value(size)) else {
            continue;
        };
        let bytes = mapped.read(address, bytes, what)?;
        let most = mapped.most_symbols();
        let mut add = |symbol: u32, kind: elf::RelocationType| {
            if symbol == 0 {
                return Ok(());
            }
            let index = symbol as usize;
            if u64::from(symbol) >= most {
                return Err(damaged("a relocation names a symbol that is not there"));
            }
            if index >= ways.len() {
                ways.resize(index + 1, Ways::default());
            }
            ways[index] = ways[index] | way.of_kind(kind);
            Ok(())
        };
        let endian = mapped.endian;
        if addends {
            for entry in all::<H::Rela>(&bytes) {
                add(entry.r_sym(endian, false), entry.r_type(endian, false))?;
            }
        } else {
            for entry in all::<H::Rel>(&bytes) {
                add(entry.r_sym(endian), entry.r_type(endian))?;
            }
        }
    }
    Ok(ways)
}

/// Which types of relocations are which ways, on one machine.
struct Way {
    plt: elf::RelocationType,
    got: elf::RelocationType,
    copy: elf::RelocationType,
    tls: &'static [elf::RelocationType],
}

impl Way {
    /// By the machine's supplement to the System V ABI. Those of glibc and musl that are not here
    /// name symbols without a relocation (mips), or have types of more than one symbol.
    fn of(machine: &str) -> Result<&'static Way, Reason> {
        Ok(match machine {
            "x86_64" => &Way {
                plt: elf::R_X86_64_JUMP_SLOT,
                got: elf::R_X86_64_GLOB_DAT,
                copy: elf::R_X86_64_COPY,
                tls: &[
                    elf::R_X86_64_DTPMOD64,
                    elf::R_X86_64_DTPOFF64,
                    elf::R_X86_64_TPOFF64,
                    elf::R_X86_64_DTPOFF32,
                    elf::R_X86_64_TPOFF32,
                    elf::R_X86_64_TLSDESC,
                ],
            },
            "i386" => &Way {
                plt: elf::R_386_JMP_SLOT,
                got: elf::R_386_GLOB_DAT,
                copy: elf::R_386_COPY,
                tls: &[
                    elf::R_386_TLS_TPOFF,
                    elf::R_386_TLS_DTPMOD32,
                    elf::R_386_TLS_DTPOFF32,
                    elf::R_386_TLS_TPOFF32,
                    elf::R_386_TLS_DESC,
                ],
            },
            "aarch64" => &Way {
                plt: elf::R_AARCH64_JUMP_SLOT,
                got: elf::R_AARCH64_GLOB_DAT,
                copy: elf::R_AARCH64_COPY,
                tls: &[
                    elf::R_AARCH64_TLS_DTPMOD,
                    elf::R_AARCH64_TLS_DTPREL,
                    elf::R_AARCH64_TLS_TPREL,
                    elf::R_AARCH64_TLSDESC,
                ],
            },
            "arm" => &Way {
                plt: elf::R_ARM_JUMP_SLOT,
                got: elf::R_ARM_GLOB_DAT,
                copy: elf::R_ARM_COPY,
                tls: &[
                    elf::R_ARM_TLS_DESC,
                    elf::R_ARM_TLS_DTPMOD32,
                    elf::R_ARM_TLS_DTPOFF32,
                    elf::R_ARM_TLS_TPOFF32,
                ],
            },
            // Its table of addresses is filled by R_RISCV_64 or _32, as any other address.
            "riscv" => &Way {
                plt: elf::R_RISCV_JUMP_SLOT,
                got: elf::R_RISCV_NONE,
                copy: elf::R_RISCV_COPY,
                tls: &[
                    elf::R_RISCV_TLS_DTPMOD32,
                    elf::R_RISCV_TLS_DTPMOD64,
                    elf::R_RISCV_TLS_DTPREL32,
                    elf::R_RISCV_TLS_DTPREL64,
                    elf::R_RISCV_TLS_TPREL32,
                    elf::R_RISCV_TLS_TPREL64,
                    elf::R_RISCV_TLSDESC,
                ],
            },
            "ppc" => &Way {
                plt: elf::R_PPC_JMP_SLOT,
                got: elf::R_PPC_GLOB_DAT,
                copy: elf::R_PPC_COPY,
                tls: &[elf::R_PPC_DTPMOD32, elf::R_PPC_DTPREL32, elf::R_PPC_TPREL32],
            },
            "ppc64" => &Way {
                plt: elf::R_PPC64_JMP_SLOT,
                got: elf::R_PPC64_GLOB_DAT,
                copy: elf::R_PPC64_COPY,
                tls: &[
                    elf::R_PPC64_DTPMOD64,
                    elf::R_PPC64_DTPREL64,
                    elf::R_PPC64_TPREL64,
                ],
            },
            "s390" => &Way {
                plt: elf::R_390_JMP_SLOT,
                got: elf::R_390_GLOB_DAT,
                copy: elf::R_390_COPY,
                tls: &[
                    elf::R_390_TLS_DTPMOD,
                    elf::R_390_TLS_DTPOFF,
                    elf::R_390_TLS_TPOFF,
                ],
            },
            _ => {
                return Err(format!(
                    "for {machine}, the types of whose relocations are not known here"
                ));
            }
        })
    }

    fn of_kind(&self, kind: elf::RelocationType) -> Ways {
        match kind {
            _ if kind == self.plt => Ways::PLT,
            _ if kind == self.got => Ways::GOT,
            _ if kind == self.copy => Ways::COPY,
            _ if self.tls.contains(&kind) => Ways::TLS,
            _ => Ways::DIRECT,
        }
    }
}
