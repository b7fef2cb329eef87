//! The target's argv, made of the tape's list and the caller's arguments.

use crate::tape::{INHERIT, ROOM};

/// Puts it where it is to start, and gives that place, and what is behind the list.
///
/// It starts below the initial stack, by as much as it is longer than the caller's and as the
/// environment, which follows, may grow; so no argument is overwritten before it is read.
///
/// # Safety
///
/// `tape` must be one with a list, `top` the initial stack, and so much room below it as the tape
/// says. Where there is no argument, what is made is no argv.
#[inline(always)]
pub unsafe fn fill(tape: *const u8, top: *mut usize) -> (*mut usize, *const u8) {
    // SAFETY: the list has two parts that end in 0; the caller's arguments end in NULL, which is
    // read again after the second.
    unsafe {
        let room = tape.add(ROOM).cast::<u32>().read_unaligned();
        let argv = top.add(1).byte_sub(room as usize);
        let mut at = tape.cast::<u32>().read_unaligned() as usize as *const u32;
        let (mut to, mut from) = (argv, top.add(2));
        let mut parts = 2;
        loop {
            loop {
                let mut string = at.read_unaligned() as usize;
                at = at.add(1);
                if string == 0 {
                    break;
                }
                if string == INHERIT as usize {
                    string = *top.add(1);
                }
                *to = string;
                to = to.add(1);
            }
            parts -= 1;
            if parts == 0 {
                *to = 0;
                return (argv, at.cast());
            }
            while *from != 0 {
                *to = *from;
                to = to.add(1);
                from = from.add(1);
            }
        }
    }
}
