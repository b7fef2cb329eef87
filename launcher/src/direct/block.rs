//! What a program finds on its stack, and the jump to it.

use shims::arch;
use shims::auxv::Aux;
use shims::stack::Strings;

use super::Target;

/// More than the functions here use of the stack. As little as that, since it is a page more to
/// touch where the block comes to lie on the next one.
const FRAMES: usize = if cfg!(debug_assertions) { 4096 } else { 256 };

/// Writes the block that [`shims::stack`] shows below all that is on the stack, and enters the
/// program at `entry`. The strings stay where they are.
///
/// # Safety
///
/// A program's first instruction must be at `entry`, and the process be ready for it. argv and
/// envp must be on the stack, below the auxiliary vector, and not where it is free.
#[inline(always)]
pub unsafe fn enter(target: &Target, entry: usize) -> ! {
    // All three are above the lower of argv and envp, each in its own place, so they are not more
    // than what is between that and the last word of the auxiliary vector; then there is argc.
    let first = target.argv.as_ptr().min(target.envp.as_ptr());
    let last = super::entry(target.auxv, Aux::NULL);
    let size = last as usize - first as usize + 2 * size_of::<usize>();
    let mut free = arch::stack_pointer().wrapping_sub(FRAMES);
    if let Some(stack) = target.stack {
        free = free.min(stack.as_ptr());
    }
    let block: *mut usize = free
        .wrapping_sub(size)
        .map_addr(|address| address & !15)
        .cast_mut()
        .cast();
    // SAFETY: there is room for the block, and nothing in use. It is read up to the ends of its
    // parts.
    unsafe {
        let to = copy(target.argv, block.add(1));
        // argc: without its end, and this word.
        *block = to.offset_from_unsigned(block) - 2;
        let mut to: *mut Aux = copy(target.envp, to).cast();
        let mut from = target.auxv.as_ptr();
        loop {
            *to = *from;
            if (*from).kind == Aux::NULL {
                break;
            }
            from = from.add(1);
            to = to.add(1);
        }
        arch::enter(block, entry)
    }
}

/// Copies an array with the NULL at its end. Gives what is behind it.
///
/// # Safety
///
/// There must be room for it.
#[inline(always)]
unsafe fn copy(strings: Strings, to: *mut usize) -> *mut usize {
    let mut from: *const usize = strings.as_ptr().cast();
    let mut to = to;
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
