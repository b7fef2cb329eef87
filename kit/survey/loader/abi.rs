//! Which files a loader can load: those with the class, byte order and machine of its own.

/// What an ELF header says of that, as it says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abi {
    /// `EI_CLASS`.
    class: u8,
    /// `EI_DATA`.
    order: u8,
    /// `e_machine`, in the file's own order.
    machine: [u8; 2],
}

/// Why a file is not loaded.
pub enum Misfit {
    /// It is for another loader; glibc looks on.
    Other(&'static str),
    /// It is none that could be loaded.
    Bad(&'static str),
}

impl From<Misfit> for String {
    fn from(misfit: Misfit) -> String {
        let (Misfit::Other(why) | Misfit::Bad(why)) = misfit;
        why.to_owned()
    }
}

impl Abi {
    /// That of the file which begins with these bytes. None where they are no ELF header.
    pub fn of(header: &[u8]) -> Option<Abi> {
        if !header.starts_with(&object::elf::ELFMAG) {
            return None;
        }
        Some(Abi {
            class: *header.get(4)?,
            order: *header.get(5)?,
            machine: *header.get(18..)?.first_chunk()?,
        })
    }

    /// Whether a file that begins with these bytes can be loaded, in the order in which glibc
    /// tests it (`open_verify` of `elf/dl-load.c`).
    pub fn fits(&self, header: &[u8]) -> Result<(), Misfit> {
        // sizeof(Elf64_Ehdr) and sizeof(Elf32_Ehdr).
        let needed = if self.class == 2 { 64 } else { 52 };
        if header.len() < needed {
            return Err(Misfit::Bad("too short for an ELF header"));
        }
        let Some(other) = Abi::of(header) else {
            return Err(Misfit::Bad("not an ELF file"));
        };
        if other.class != self.class {
            return Err(Misfit::Other(match other.class {
                1 => "a 32-bit file",
                2 => "a 64-bit file",
                _ => "a file of no known class",
            }));
        }
        if other.order != self.order {
            return Err(Misfit::Bad("its numbers are in another byte order"));
        }
        if other.machine != self.machine {
            return Err(Misfit::Other("for another machine"));
        }
        Ok(())
    }
}
