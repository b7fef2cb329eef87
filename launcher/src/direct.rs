//! Starting a program without execve: its file is mapped here and entered, as `ld.so PROGRAM` does.
//!
//! An execve makes a new address space, and takes the old one down; for a small program that is
//! most of what a launcher costs. The kernel's own part in it, `load_elf_binary` in
//! fs/binfmt_elf.c, needs no privilege: map the segments where the file's headers want them, map
//! the interpreter that they name, write what the program expects on its stack, and jump.
//!
//! A program must not see the difference by accident. So what cannot be done here as execve does
//! it is refused, with a reason, while there is still an execve to turn to: the last call that
//! can fail comes before anything that cannot be taken back.
//!
//! # Calls
//!
//! | call | what for |
//! |---|---|
//! | openat | the file |
//! | fstat | its kind, its set-id bits, its length |
//! | faccessat2 | may it be executed: mode, ACL, mount |
//! | fgetxattr | file capabilities |
//! | read | the headers, in one piece of 1 KiB |
//! | mmap | one for each segment, and one for what a .bss has beyond its last page of the file; before them, where the program may be anywhere, one to find room for all |
//! | close | the file |
//! | prctl | the process's name |
//!
//! A program of one segment takes eight. Where there is an interpreter, a pread64 finds its path,
//! and all but fgetxattr and prctl come again. A refusal costs a close, and no prctl.
//!
//! # What differs from execve
//!
//! - `/proc/self/exe`, and what the kernel knows as the command line, remain the launcher's.
//! - So do the start of the heap (brk), and the copy of the auxiliary vector in `/proc/self/auxv`.
//! - The launcher's own pages stay mapped, at the address that it was linked for. They cannot be
//!   written; but an attacker who looks for code knows where some is.
//! - Security modules see no exec: no change of domain, no audit record, no check by IMA.
//! - A file that is open for writing is not refused (ETXTBSY), and can be written while it runs.
//! - A position-independent program lies where mmap puts it: at random, but at a distance from its
//!   interpreter that is always the same.
//! - What execve itself would change is only changed by an execve: see
//!   [`Refusal::USER`], [`Refusal::RANDOMIZATION`] and [`Refusal::STACK_LIMIT`], which the caller has to look for.
//! - `$ORIGIN` in LD_LIBRARY_PATH, LD_PRELOAD, or a path that the program gives to dlopen(3), is
//!   the launcher's folder.
//! - Vector registers are not cleared. The psABI (3.4.1) leaves them open.

mod block;
mod call;
mod elf;
mod file;
mod image;
mod interpreter;
mod refusal;

use core::ptr::NonNull;

use shims::auxv::{Aux, Auxv};
use shims::stack::{CStr, Strings};

use image::Image;

pub use refusal::Refusal;

/// What execve would be given, and the auxiliary vector to start from.
#[derive(Clone, Copy)]
pub struct Target {
    /// The program's file.
    pub path: CStr,
    /// Its arguments, its name first.
    pub argv: Strings,
    /// Its environment.
    pub envp: Strings,
    /// The vector of this process, on its initial stack. It is changed there.
    pub auxv: Auxv,
    /// Below this address the stack is free; without one, it is below the stack pointer.
    pub stack: Option<NonNull<u8>>,
}

/// Starts the program. Comes back only when it is not to be started here; then execve is as
/// possible as before: all that may be left is memory, which an execve lets go of.
///
/// `close` is called when nothing can fail any more, and is to close what an execve would have
/// closed.
///
/// # Safety
///
/// - The process must have one thread, and no destructor or lock that has to run on its way out.
/// - `target.auxv` must be what the kernel left on the initial stack, with nothing that reads it
///   later.
/// - `target.argv` and `target.envp` must be on the stack too: there, or below.
#[inline(always)]
pub unsafe fn start(target: &Target, close: impl FnOnce()) -> Refusal {
    let image = Image::new();
    // SAFETY: as for this function.
    match unsafe { prepare(target, &image) } {
        Err(refusal) => refusal,
        Ok(()) => {
            close();
            // SAFETY: `prepare` has mapped a program that is to be entered there; the rest is as
            // for this function.
            unsafe { block::enter(target, image.entry.get()) }
        }
    }
}

/// All that can fail. Leaves the image that is to be entered: the interpreter, if there is one.
///
/// # Safety
///
/// As for [`start`].
#[inline(always)]
unsafe fn prepare(target: &Target, image: &Image) -> Result<(), Refusal> {
    // SAFETY: what is on the stack can be written, and is written by nobody else.
    let tell = |kind, value| unsafe { *entry(target.auxv, kind) = value };
    // SAFETY: an entry.
    if unsafe { *entry(target.auxv, Aux::SECURE) } != 0 {
        return Err(Refusal::SECURE);
    }
    image.map(target.path)?;
    // What is said of the machine, the user and this run stays.
    tell(Aux::PHDR, image.headers.get());
    tell(Aux::PHNUM, image.count.get());
    tell(Aux::ENTRY, image.entry.get());
    tell(Aux::EXECFN, target.path.as_ptr() as usize);
    let mut base = 0;
    if let Some(path) = image.interpreter.get() {
        // The path is read before the room, which it is in, is used again.
        if image.map(path).is_err() {
            return Err(Refusal::INTERPRETER);
        }
        base = image.base.get();
    }
    tell(Aux::BASE, base);
    call::name(basename(target.path)).map_err(Refusal::of)
}

/// Where the value of the auxiliary vector's entry of a kind is. When there is none, that of the
/// last, AT_NULL, of which the value means nothing.
#[inline(always)]
fn entry(auxv: Auxv, kind: usize) -> *mut usize {
    let mut at = auxv.as_ptr().cast_mut();
    // SAFETY: nothing is looked at behind AT_NULL, which is 0.
    unsafe {
        while (*at).kind != kind && (*at).kind != 0 {
            at = at.add(1);
        }
        &raw mut (*at).value
    }
}

/// What follows the last slash, which execve makes the process's name.
fn basename(path: CStr) -> CStr {
    let mut name = path.as_ptr();
    let mut at = name;
    // SAFETY: `at` stops at the NUL; `name` is at most one byte behind a byte that is not it.
    unsafe {
        while *at != 0 {
            let byte = *at;
            at = at.add(1);
            if byte == b'/' {
                name = at;
            }
        }
        CStr::new(NonNull::new_unchecked(name.cast_mut()))
    }
}
