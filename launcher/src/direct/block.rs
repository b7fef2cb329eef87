//! What a program finds on its stack.

use shims::arch;
use shims::auxv::Aux;

use super::Refusal;
use crate::run::{Launcher, Source};

/// More than the functions here use of the stack. As little as that, since it is a page more to
/// touch where the block comes to lie on the next one.
const FRAMES: usize = if cfg!(debug_assertions) { 8192 } else { 256 };

/// What the auxiliary vector tells of a program, by kind: AT_PHDR, AT_PHNUM, AT_BASE and AT_ENTRY,
/// which are every second number.
pub type Told = [usize; 4];

/// Where AT_BASE is there.
pub const BASE: usize = (Aux::BASE - Aux::PHDR) / 2;

const _: () = assert!(Aux::PHDR == 3 && Aux::PHNUM == 5 && Aux::BASE == 7 && Aux::ENTRY == 9);

/// Writes the block that [`shims::stack`] shows below all that is on the stack. The strings stay
/// where they are, and so does what the auxiliary vector says of the machine, the user and this
/// run; `path` is what execve would be given. Gives the stack pointer of the program.
///
/// # Safety
///
/// argv and envp must be on the stack, below the auxiliary vector, and not where it is free.
#[inline(always)]
pub unsafe fn write<S: Source>(
    launcher: &mut Launcher<S>,
    told: &Told,
    path: usize,
) -> *const usize {
    let argv: *const usize = launcher.argv.cast_const().cast();
    let envp: *const usize = launcher.environment.as_ptr().cast();
    let auxv = launcher.auxv.as_ptr();
    let mut free = arch::stack_pointer().wrapping_sub(FRAMES);
    let room = launcher.room.start();
    if room < launcher.untouched.start() {
        free = free.min(room.as_ptr());
    }
    // SAFETY: there is room for the block, and nothing in use. All is read up to the ends of its
    // parts.
    unsafe {
        // All three are above the lower of argv and envp, each in its own place, so they are not
        // more than what is between that and the end of the auxiliary vector; then there is argc.
        let mut end = auxv;
        while (*end).kind != Aux::NULL {
            end = end.add(1);
        }
        let size = end.addr() - argv.min(envp).addr() + 3 * size_of::<usize>();
        let block: *mut usize = free
            .wrapping_sub(size)
            .map_addr(|address| address & !15)
            .cast_mut()
            .cast();
        let to = copy(argv, block.add(1));
        // argc: without its end, and this word.
        *block = to.offset_from_unsigned(block) - 2;
        let mut to: *mut Aux = copy(envp, to).cast();
        let mut from = auxv;
        loop {
            let Aux { kind, mut value } = *from;
            from = from.add(1);
            if let Some(other) = told.get((kind.wrapping_sub(Aux::PHDR)).rotate_right(1)) {
                value = *other;
            }
            if kind == Aux::EXECFN {
                value = path;
            }
            if kind == Aux::SECURE && value != 0 {
                launcher.leave(Refusal::SECURE);
            }
            *to = Aux { kind, value };
            to = to.add(1);
            if kind == Aux::NULL {
                return block;
            }
        }
    }
}

/// Copies an array with the NULL at its end. Gives what is behind it.
///
/// # Safety
///
/// There must be room for it.
#[inline(always)]
unsafe fn copy(from: *const usize, to: *mut usize) -> *mut usize {
    let (mut from, mut to) = (from, to);
    // SAFETY: it is read up to its NULL, and there is room for as much.
    unsafe {
        loop {
            let string = *from;
            *to = string;
            from = from.add(1);
            to = to.add(1);
            if string == 0 {
                return to;
            }
        }
    }
}
