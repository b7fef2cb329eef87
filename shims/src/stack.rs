//! What the kernel leaves on the initial stack.
//!
//! ```text
//! stack pointer ─► argc              how many arguments, one word
//!                  argv[0]           pointers to strings, argc of them,
//!                  …                   the first one the program's name
//!                  NULL
//!                  envp[0]           pointers to strings, NAME=VALUE
//!                  …
//!                  NULL
//!                  auxv[0]           pairs of words: what, and its value
//!                  …
//!                  AT_NULL, 0
//!                  …                 the strings themselves, higher up
//! ```
//!
//! From the psABI, 3.4.1 and figure 3.9; written by create_elf_tables in fs/binfmt_elf.c. All of
//! it lives as long as the process.

use core::marker::PhantomData;
use core::ptr::NonNull;
use core::slice;

use crate::auxv::Auxv;

/// The initial stack, whole.
#[derive(Clone, Copy)]
pub struct Stack {
    top: *const usize,
}

impl Stack {
    /// Takes the stack pointer that the kernel entered the process with.
    ///
    /// # Safety
    ///
    /// `top` must be that pointer, and what it points to unchanged since.
    #[inline(always)]
    pub unsafe fn new(top: *const usize) -> Self {
        Stack { top }
    }

    /// Where it starts: the address of `argc`.
    #[inline(always)]
    pub fn as_ptr(self) -> *const usize {
        self.top
    }

    /// How many arguments there are, the program's name included. May be 0.
    #[inline(always)]
    pub fn argc(self) -> usize {
        // SAFETY: the first word is argc.
        unsafe { *self.top }
    }

    /// argv.
    #[inline(always)]
    pub fn args(self) -> Strings {
        // SAFETY: argv starts after argc, and ends in NULL.
        unsafe { Strings::new(self.top.add(1).cast()) }
    }

    /// The argument at `index`, and argv from there on; `None` when there are not as many.
    #[inline(always)]
    pub fn args_from(self, index: usize) -> Option<(CStr, Strings)> {
        if index >= self.argc() {
            return None;
        }
        // SAFETY: `index` is below argc, so there is such an element.
        let args = unsafe { Strings::new(self.args().as_ptr().add(index)) };
        // SAFETY: for the same reason it is not the NULL that ends the array.
        let first = unsafe { (*args.as_ptr()).unwrap_unchecked() };
        Some((first, args))
    }

    /// envp.
    #[inline(always)]
    pub fn env(self) -> Strings {
        // SAFETY: envp starts after argc, argc pointers and a NULL, and ends in NULL itself.
        unsafe { Strings::new(self.top.add(1 + self.argc() + 1).cast()) }
    }

    /// The auxiliary vector (getauxval(3)).
    #[inline(always)]
    pub fn auxv(self) -> Auxv {
        let mut env = self.env();
        while env.next().is_some() {}
        // SAFETY: `env` stands at the NULL that ends envp; the vector starts behind it.
        unsafe { Auxv::new(env.next.add(1).cast()) }
    }
}

/// An array of strings that ends in NULL, as argv and envp are; also an iterator over it.
#[derive(Clone, Copy)]
pub struct Strings {
    next: *const Option<CStr>,
}

impl Strings {
    /// Takes a pointer to the first.
    ///
    /// # Safety
    ///
    /// It must point to an array of pointers to strings that end in NUL, and itself end in NULL,
    /// that stays as it is for the life of the process.
    #[inline(always)]
    pub unsafe fn new(first: *const Option<CStr>) -> Self {
        Strings { next: first }
    }

    /// Where the array (what is left of it) starts.
    #[inline(always)]
    pub fn as_ptr(self) -> *const Option<CStr> {
        self.next
    }
}

impl Iterator for Strings {
    type Item = CStr;

    #[inline(always)]
    fn next(&mut self) -> Option<CStr> {
        // SAFETY: `next` never goes past the NULL, so it points to an element of the array.
        let string = unsafe { *self.next }?;
        // SAFETY: that was not the NULL, so there is one more element.
        self.next = unsafe { self.next.add(1) };
        Some(string)
    }
}

/// A string that ends in NUL: one pointer, whose length is only counted when asked for.
/// (`core::ffi::CStr` counts it as it is made.) The layout is that of a C pointer to `char`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct CStr {
    first: NonNull<u8>,
    lives: PhantomData<&'static u8>,
}

impl CStr {
    /// Takes a pointer to its first byte.
    ///
    /// # Safety
    ///
    /// It must point to bytes that end in NUL and stay as they are for the life of the process.
    #[inline(always)]
    pub const unsafe fn new(first: NonNull<u8>) -> Self {
        CStr {
            first,
            lives: PhantomData,
        }
    }

    /// Where it starts.
    #[inline(always)]
    pub fn as_ptr(self) -> *const u8 {
        self.first.as_ptr()
    }

    /// The place of its first byte.
    #[inline(always)]
    pub const fn first(self) -> NonNull<u8> {
        self.first
    }

    /// How many bytes come before the NUL. Counts them.
    #[inline(never)]
    #[allow(
        clippy::len_without_is_empty,
        reason = "that is whether the first byte is NUL"
    )]
    pub fn len(self) -> usize {
        self.to_bytes().len()
    }

    /// Its bytes, without the NUL. Counts them.
    #[inline(always)]
    pub fn to_bytes(self) -> &'static [u8] {
        let mut length = 0;
        // SAFETY: no byte behind the NUL is read.
        while unsafe { *self.as_ptr().add(length) } != 0 {
            length += 1;
            // SAFETY: no instructions: this only keeps the loop from becoming a call of strlen,
            // which is longer than the loop.
            unsafe { core::arch::asm!("", options(nomem, nostack, preserves_flags)) };
        }
        // SAFETY: that many bytes come before the NUL, and they live as long as the process.
        unsafe { slice::from_raw_parts(self.as_ptr(), length) }
    }
}

/// A string literal as a [`CStr`](crate::stack::CStr): `cstr!("/dev/null")`.
#[macro_export]
macro_rules! cstr {
    ($text:expr) => {{
        let bytes = concat!($text, "\0").as_bytes();
        // SAFETY: a literal that ends in NUL and lives for ever, at an address that is not 0.
        unsafe {
            $crate::stack::CStr::new(::core::ptr::NonNull::new_unchecked(
                bytes.as_ptr().cast_mut(),
            ))
        }
    }};
}
