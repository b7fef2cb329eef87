//! What an ELF file says of itself. Names and values: elf(5).
//!
//! For files of 64 bits, which have the same layout on every machine.

/// The ELF header.
#[repr(C)]
pub struct Header {
    /// What the file starts with. The kernel compares these four bytes and no more.
    pub magic: [u8; 4],
    _ident: [u8; 12],
    /// [`EXEC`] or [`DYN`].
    pub kind: u16,
    /// The machine: EM_.
    pub machine: u16,
    _version: u32,
    /// Where it starts.
    pub entry: usize,
    /// Where the file has the program headers.
    pub table: usize,
    _sections: usize,
    _flags: u32,
    _header_size: u16,
    /// The size of a program header. It tells files of 64 bits from others.
    pub entry_size: u16,
    /// How many program headers there are.
    pub count: u16,
    _section_headers: [u16; 3],
}

/// What [`Header::magic`] is.
pub const MAGIC: [u8; 4] = *b"\x7fELF";

/// ET_EXEC: a program at fixed addresses.
pub const EXEC: u16 = 2;
/// ET_DYN: a program, or a library, that may lie anywhere.
pub const DYN: u16 = 3;

/// A program header.
#[repr(C)]
pub struct Segment {
    /// PT_: what it is about.
    pub kind: u32,
    /// PF_: how the memory may be used.
    pub flags: u32,
    /// Where it is in the file.
    pub offset: usize,
    /// Its address in memory, before the program is moved.
    pub address: usize,
    _physical: usize,
    /// How many bytes come from the file.
    pub file_size: usize,
    /// How many bytes it has in memory; what is beyond the file's is zero.
    pub size: usize,
    /// What its address must be a multiple of, as the offset is.
    pub align: usize,
}

const _: () = assert!(size_of::<Header>() == 64 && size_of::<Segment>() == 56);

/// PT_LOAD: to be mapped.
pub const LOAD: u32 = 1;
/// PT_DYNAMIC: the table for the interpreter.
pub const DYNAMIC: u32 = 2;
/// PT_INTERP: the interpreter's path.
pub const INTERP: u32 = 3;
/// PT_GNU_STACK: how the stack may be used.
pub const STACK: u32 = 0x6474_e551;

/// PF_X: may be executed.
pub const X: u32 = 1;
/// PF_W: may be written.
pub const W: u32 = 2;
/// PF_R: may be read.
pub const R: u32 = 4;

/// An entry of the table for the interpreter. Packed, as nobody has checked that it is aligned.
#[derive(Clone, Copy)]
#[repr(C, packed)]
pub struct Dynamic {
    /// DT_: what it is about.
    pub tag: usize,
    /// A number, an address, or where a string is in the string table.
    pub value: usize,
}

/// The tags of [`Dynamic`].
pub mod tag {
    /// DT_NULL: the end.
    pub const NULL: usize = 0;
    /// DT_NEEDED: a library's name.
    pub const NEEDED: usize = 1;
    /// DT_STRTAB: the string table's address.
    pub const STRINGS: usize = 5;
    /// DT_RPATH: where to look for libraries, first of all.
    pub const RPATH: usize = 15;
    /// DT_RUNPATH: where to look for libraries, after LD_LIBRARY_PATH.
    pub const RUNPATH: usize = 29;
}
