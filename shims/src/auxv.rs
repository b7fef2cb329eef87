//! The auxiliary vector: what the kernel tells a program about itself and the machine.

use core::ptr::NonNull;

use crate::stack::CStr;

/// The auxiliary vector (getauxval(3)): an iterator over its entries, up to and without AT_NULL.
#[derive(Clone, Copy)]
pub struct Auxv {
    next: *const Aux,
}

/// An entry: `Elf64_auxv_t` (psABI 3.4.3).
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Aux {
    /// Which entry it is: an AT_ number.
    pub kind: usize,
    /// Its value, or a pointer to it.
    pub value: usize,
}

/// The value of an [`Aux`], by what the entry means.
pub enum Value {
    /// A number, for people in decimal.
    Number(usize),
    /// An address.
    Address(usize),
    /// A set of bits.
    Bits(usize),
    /// A string.
    Text(CStr),
    /// Sixteen random bytes.
    Random(&'static [u8; 16]),
}

impl Auxv {
    /// Takes a pointer to the first entry.
    ///
    /// # Safety
    ///
    /// It must point to the vector that the kernel left on the initial stack.
    #[inline(always)]
    pub unsafe fn new(first: *const Aux) -> Self {
        Auxv { next: first }
    }

    /// Where the vector (what is left of it) starts.
    #[inline(always)]
    pub fn as_ptr(self) -> *const Aux {
        self.next
    }
}

impl Iterator for Auxv {
    type Item = Aux;

    #[inline(always)]
    fn next(&mut self) -> Option<Aux> {
        // SAFETY: `next` never goes past AT_NULL.
        let entry = unsafe { *self.next };
        if entry.kind == 0 {
            return None;
        }
        // SAFETY: that was not AT_NULL, so there is one more entry.
        self.next = unsafe { self.next.add(1) };
        Some(entry)
    }
}

macro_rules! kinds {
    ($($number:literal $name:literal $meaning:ident)*) => {
        impl Aux {
            /// The entry's name, as in `AT_PAGESZ`; `None` for a kind that is not known here.
            #[inline(always)]
            pub fn name(self) -> Option<&'static str> {
                match self.kind {
                    $($number => Some($name),)*
                    _ => None,
                }
            }

            /// The entry's value. One that is not known here is a set of bits.
            #[inline(always)]
            pub fn decode(self) -> Value {
                match self.kind {
                    $($number => self.$meaning(),)*
                    _ => self.bits(),
                }
            }
        }
    };
}

// The kernel's include/uapi/linux/auxvec.h and, from 32 on, arch/x86/include/uapi/asm/auxvec.h.
// Entries of other architectures show as numbers.
kinds! {
    1 "AT_IGNORE" bits
    2 "AT_EXECFD" number
    3 "AT_PHDR" address
    4 "AT_PHENT" number
    5 "AT_PHNUM" number
    6 "AT_PAGESZ" number
    7 "AT_BASE" address
    8 "AT_FLAGS" bits
    9 "AT_ENTRY" address
    10 "AT_NOTELF" number
    11 "AT_UID" number
    12 "AT_EUID" number
    13 "AT_GID" number
    14 "AT_EGID" number
    15 "AT_PLATFORM" text
    16 "AT_HWCAP" bits
    17 "AT_CLKTCK" number
    23 "AT_SECURE" number
    24 "AT_BASE_PLATFORM" text
    25 "AT_RANDOM" random
    26 "AT_HWCAP2" bits
    27 "AT_RSEQ_FEATURE_SIZE" number
    28 "AT_RSEQ_ALIGN" number
    29 "AT_HWCAP3" bits
    30 "AT_HWCAP4" bits
    31 "AT_EXECFN" text
    32 "AT_SYSINFO" address
    33 "AT_SYSINFO_EHDR" address
    51 "AT_MINSIGSTKSZ" number
}

/// The kinds that a launcher asks for by their number.
impl Aux {
    /// AT_NULL: the end. Its value means nothing.
    pub const NULL: usize = 0;
    /// AT_PHDR: where the program headers are.
    pub const PHDR: usize = 3;
    /// AT_PHENT: the size of one.
    pub const PHENT: usize = 4;
    /// AT_PHNUM: how many there are.
    pub const PHNUM: usize = 5;
    /// AT_BASE: where the interpreter is; 0 when there is none.
    pub const BASE: usize = 7;
    /// AT_ENTRY: the program's first instruction.
    pub const ENTRY: usize = 9;
    /// AT_SECURE: not 0 when the process has more rights than its caller.
    pub const SECURE: usize = 23;
    /// AT_EXECFN: the path that execve was given.
    pub const EXECFN: usize = 31;
}

impl Aux {
    #[inline]
    fn number(self) -> Value {
        Value::Number(self.value)
    }

    #[inline]
    fn address(self) -> Value {
        Value::Address(self.value)
    }

    #[inline]
    fn bits(self) -> Value {
        Value::Bits(self.value)
    }

    #[inline]
    fn text(self) -> Value {
        match NonNull::new(self.value as *mut u8) {
            // SAFETY: the kernel puts the address of a string on the stack in such an entry.
            Some(first) => Value::Text(unsafe { CStr::new(first) }),
            None => self.address(),
        }
    }

    #[inline]
    fn random(self) -> Value {
        match NonNull::new(self.value as *mut [u8; 16]) {
            // SAFETY: the kernel puts the address of 16 bytes on the stack in such an entry.
            Some(bytes) => Value::Random(unsafe { bytes.as_ref() }),
            None => self.address(),
        }
    }
}
