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
//! and all but fgetxattr and prctl come again. A refusal leaves the file to the execve, which
//! closes it; and a program that was found in PATH is looked up once more, by execve.
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
//!   [`Refusal::USER`], [`Refusal::RANDOMIZATION`], [`Refusal::STACK_LIMIT`] and [`Refusal::FILES`], which actions set.
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

use shims::arch;
use shims::call::exit_group;
use shims::errno::Errno;
use shims::stack::CStr;

use crate::run::{DIRECT, DIRECT_ONLY, EXPLAIN, Launcher, Source};

use image::Image;

pub use refusal::Refusal;

impl<S: Source> Launcher<S> {
    /// Starts the target whose file is at `path`, or [leaves](Launcher::leave) it to execve, which
    /// is as possible as before: all that may be left is memory and open files, which an execve
    /// lets go of. Comes back only when there is no such file.
    ///
    /// # Safety
    ///
    /// - The process must have one thread, and no destructor or lock that has to run on its way
    ///   out.
    /// - `self.auxv` must be what the kernel left on the initial stack.
    /// - argv and the environment must be on the stack too: there, or below.
    #[inline(never)]
    pub(crate) unsafe fn in_place(&mut self, path: CStr) -> Errno {
        if let Some(refusal) = self.refused {
            self.leave(refusal);
        }
        let image = Image::new();
        if let Err(refusal) = image.map(path) {
            let error = Errno(refusal.number());
            if matches!(error, Errno::ENOENT | Errno::ENOTDIR) {
                return error;
            }
            self.leave(refusal);
        }
        let mut told = image.told();
        told[block::BASE] = 0;
        if let Some(path) = image.asks.get() {
            // The path is read before the room, which it is in, is used again.
            if image.map(path).is_err() {
                self.leave(Refusal::INTERPRETER);
            }
            told[block::BASE] = image.base.get();
        }
        // SAFETY: a program has been mapped that is to be entered there; the rest is as for this
        // function.
        unsafe {
            let stack = block::write(self, &told, path.as_ptr().addr());
            if let Err(refusal) = Refusal::check(call::name(basename(path))) {
                self.leave(refusal);
            }
            self.close();
            arch::enter(stack, image.entry.get())
        }
    }

    /// Says why, if that is wanted, and leaves the target to execve: the search for it starts anew,
    /// as if nobody had asked for more. Or that is the end.
    #[inline(never)]
    pub(crate) fn leave(&mut self, why: Refusal) -> ! {
        let start = self.start;
        if start & (DIRECT_ONLY | EXPLAIN) != 0 {
            S::say(self, why.into());
        }
        if start & DIRECT_ONLY != 0 {
            exit_group(126);
        }
        self.start = start & !DIRECT;
        self.search()
    }
}

/// What follows the last slash, which execve makes the process's name.
#[inline(always)]
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
