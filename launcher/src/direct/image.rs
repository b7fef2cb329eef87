//! A program, or its interpreter, in memory.

use core::cell::{Cell, UnsafeCell};
use core::mem::MaybeUninit;
use core::slice;

use shims::arch::{self, MACHINE, PAGE};
use shims::stack::CStr;

use super::block::Told;
use super::elf::{self, Header, Segment};
use super::{Refusal, call};

/// A file, and its place in memory.
#[repr(C)]
pub struct Image {
    /// The open file.
    pub file: Cell<u32>,
    /// The flags to map it with.
    flags: Cell<u32>,
    /// Its length in bytes.
    pub size: Cell<usize>,
    /// The address of its program headers.
    headers: Cell<usize>,
    /// How many there are.
    count: Cell<usize>,
    /// How far it was moved from the addresses in its headers.
    pub base: Cell<usize>,
    /// The address of its first instruction.
    pub entry: Cell<usize>,
    /// Where they end in the room.
    pub end: Cell<*const Segment>,
    /// The path of the interpreter that it asks for. It is in the room, behind the program
    /// headers.
    pub asks: Cell<Option<CStr>>,
    pub room: Room,
}

/// Room for the start of a file: an ELF header and 17 program headers, which linkers put right
/// behind it. Programs have up to 14. More room would be another page of the stack to touch.
pub type Room = UnsafeCell<MaybeUninit<[usize; ROOM / size_of::<usize>()]>>;

pub const ROOM: usize = 1024;

/// No number in the headers of a program is as large as this, so that sums of a few of them
/// cannot overflow. The largest address of a process is below 2^57 on any machine.
const TOO_LARGE: usize = 1 << 60;

// From the kernel's include/uapi/asm-generic/mman-common.h and include/uapi/linux/mman.h.
const PROT_NONE: usize = 0;
const PROT_READ: usize = 1;
const PROT_WRITE: usize = 2;
const PROT_EXEC: usize = 4;
const MAP_PRIVATE: u32 = 0x2;
const MAP_FIXED: u32 = 0x10;
const MAP_ANONYMOUS: u32 = 0x20;
const MAP_FIXED_NOREPLACE: u32 = 0x10_0000;
const NO_FILE: u32 = u32::MAX;

/// The start of the page of an address.
#[inline(always)]
fn page(address: usize) -> usize {
    address & !(PAGE - 1)
}

/// The address, or the next one where a page starts.
#[inline(always)]
fn page_up(address: usize) -> usize {
    page(address.wrapping_add(PAGE - 1))
}

impl Image {
    #[inline(always)]
    pub fn new() -> Self {
        Image {
            file: Cell::new(0),
            size: Cell::new(0),
            flags: Cell::new(0),
            headers: Cell::new(0),
            count: Cell::new(0),
            base: Cell::new(0),
            entry: Cell::new(0),
            end: Cell::new(core::ptr::null()),
            asks: Cell::new(None),
            room: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// What the auxiliary vector tells of it.
    #[inline(always)]
    pub fn told(&self) -> Told {
        [
            self.headers.get(),
            self.count.get(),
            self.base.get(),
            self.entry.get(),
        ]
    }

    /// Maps the file at `path`. Refuses what execve would refuse, or do otherwise: a program that
    /// wants to find its libraries by `$ORIGIN`, or to execute its stack.
    #[inline(never)]
    pub fn map(&self, path: CStr) -> Result<(), Refusal> {
        self.file.set(Refusal::check(call::open(path))? as u32);
        self.examine()?;
        self.read()?;
        self.find_place()?;
        let mut table = None;
        for segment in self.segments() {
            match segment.kind {
                // SAFETY: it has passed `find_place`.
                elf::LOAD => unsafe { self.load(segment)? },
                elf::INTERP => self.ask(segment)?,
                elf::DYNAMIC => table = Some(segment),
                elf::STACK if segment.flags & elf::X != 0 => return Err(Refusal::EXECUTABLE_STACK),
                _ => {}
            }
        }
        if let Some(table) = table {
            self.look_for_origin(table.address)?;
        }
        call::close(self.file.get());
        Ok(())
    }

    /// Reads the headers.
    ///
    /// The conditions are those of the kernel's load_elf_binary and load_elf_phdrs, and one more:
    /// the program headers follow the ELF header.
    #[inline(always)]
    fn read(&self) -> Result<(), Refusal> {
        let start = self.room.get().cast::<u8>();
        // SAFETY: there is that much room.
        let length = Refusal::check(unsafe { call::read(self.file.get(), start, ROOM) })?;
        let header = self.header();
        // One that is shorter than that is refused below, as it cannot have what follows.
        if header.magic != elf::MAGIC
            || header.machine != MACHINE
            || header.entry_size as usize != size_of::<Segment>()
            || !matches!(header.kind, elf::EXEC | elf::DYN)
        {
            return Err(Refusal::NOT_ELF);
        }
        let count = header.count as usize;
        self.count.set(count);
        let size = count * size_of::<Segment>();
        self.end.set(self.first().wrapping_byte_add(size));
        if header.table != size_of::<Header>() || length < size_of::<Header>() + size {
            return Err(Refusal::HEADERS);
        }
        Ok(())
    }

    /// The ELF header.
    #[inline(always)]
    fn header(&self) -> &Header {
        // SAFETY: there is room for it, aligned; `examine` and `read` have written there, and any
        // bytes will do.
        unsafe { &*self.room.get().cast() }
    }

    /// Where the program headers are in the room: behind the ELF header, whose size keeps the
    /// alignment.
    #[inline(always)]
    fn first(&self) -> *const Segment {
        let start = self.room.get().cast_const().cast::<Header>();
        start.wrapping_add(1).cast()
    }

    /// The program headers.
    #[inline(always)]
    pub fn segments(&self) -> &[Segment] {
        let first = self.first();
        // SAFETY: `read` has put them there.
        unsafe { slice::from_raw_parts(first, self.end.get().offset_from_unsigned(first)) }
    }

    /// Goes through the segments, before any of them is mapped, and finds the place for all.
    /// Refuses those that reach beyond the file, have more bytes there than in memory, or do not
    /// come one behind the other.
    #[inline(always)]
    fn find_place(&self) -> Result<(), Refusal> {
        // The pages that they take, and the bits of what their addresses are to be multiples of.
        let (mut first, mut end, mut align) = (0, 0, PAGE);
        for segment in self.segments() {
            if segment.kind != elf::LOAD {
                continue;
            }
            let numbers = segment.offset | segment.address | segment.size | segment.align;
            let start = page(segment.address);
            if numbers >= TOO_LARGE
                || segment.file_size > segment.size
                || segment.offset + segment.file_size > self.size.get()
                || start < end
            {
                return Err(Refusal::HEADERS);
            }
            if end == 0 {
                first = start;
            }
            end = page_up(segment.address + segment.size);
            align |= segment.align;
        }
        if end == 0 {
            return Err(Refusal::HEADERS);
        }
        self.reserve(first, end, align)
    }

    /// Finds the place for the pages from `first` to `end` of the file.
    #[inline(always)]
    fn reserve(&self, first: usize, end: usize, align: usize) -> Result<(), Refusal> {
        // At fixed addresses, nothing is to be replaced.
        let (mut base, mut flags) = (0, MAP_PRIVATE | MAP_FIXED_NOREPLACE);
        if self.header().kind == elf::DYN {
            // Where the file may lie anywhere, a reservation finds the place, at random, and keeps
            // it; the segments then replace it piece by piece.
            //
            // Each alignment is a power of two, so the largest is the highest bit of all. (The
            // kernel ignores one that is not; with its highest bit, nothing is lost.) mmap aligns
            // to pages; with that much more, there is an aligned place within.
            let align = 1 << (usize::BITS - 1 - align.leading_zeros());
            let length = end - first + (align - PAGE);
            let kind = MAP_PRIVATE | MAP_ANONYMOUS;
            // SAFETY: a place that mmap chooses.
            let place =
                Refusal::check(unsafe { call::map(0, length, PROT_NONE, kind, NO_FILE, 0) })?;
            base = place.wrapping_sub(first).wrapping_add(align - 1) & !(align - 1);
            flags = MAP_PRIVATE | MAP_FIXED;
        }
        self.flags.set(flags);
        self.base.set(base);
        self.headers.set(base);
        self.entry.set(base.wrapping_add(self.header().entry));
        Ok(())
    }

    /// Maps a segment, as elf_load in the kernel does: the pages that hold bytes of the file, then
    /// pages of zeros.
    ///
    /// # Safety
    ///
    /// The segment must have passed [`find_place`](Image::find_place).
    #[inline(never)]
    unsafe fn load(&self, segment: &Segment) -> Result<(), Refusal> {
        let start = self.base.get().wrapping_add(segment.address);
        let file_end = start.wrapping_add(segment.file_size);
        let end = start.wrapping_add(segment.size);
        let mut at = page(start);
        let protection = protection(segment.flags);
        let flags = self.flags.get();
        if segment.file_size != 0 {
            let offset = segment.offset.wrapping_sub(start - at);
            let length = file_end - at;
            // SAFETY: the caller answers for the place.
            Refusal::check(unsafe {
                call::map(at, length, protection, flags, self.file.get(), offset)
            })?;
            at = page_up(file_end);
            // What the last page has beyond. The kernel leaves it there when it may not be
            // written.
            if segment.size > segment.file_size && protection & PROT_WRITE != 0 {
                // SAFETY: from the end of the file's bytes to that of their last page, which was
                // mapped writable, and starts within the file.
                unsafe { arch::zero(file_end as *mut u8, at - file_end) };
            }
        }
        if end > at {
            // They can be written, whatever the header says: vm_brk_flags in the kernel.
            let protection = protection | PROT_READ | PROT_WRITE;
            let flags = flags | MAP_ANONYMOUS;
            // SAFETY: the caller answers for the place.
            Refusal::check(unsafe { call::map(at, end - at, protection, flags, NO_FILE, 0) })?;
        }
        let into = size_of::<Header>().wrapping_sub(segment.offset);
        if into < segment.file_size {
            self.headers.set(start.wrapping_add(into));
        }
        Ok(())
    }
}

/// How memory is protected for the flags of a segment.
#[inline(always)]
fn protection(flags: u32) -> usize {
    /// Four bits for each of the eight sets of flags, PF_X being 1, PF_W 2 and PF_R 4.
    const ALL: u32 = {
        let mut all = 0;
        let mut flags = 0;
        while flags < 8 {
            let mut protection = 0;
            if flags & elf::X != 0 {
                protection |= PROT_EXEC;
            }
            if flags & elf::W != 0 {
                protection |= PROT_WRITE;
            }
            if flags & elf::R != 0 {
                protection |= PROT_READ;
            }
            all |= (protection as u32) << (4 * flags);
            flags += 1;
        }
        all
    };
    (ALL.rotate_right(flags.wrapping_mul(4)) & 7) as usize
}
