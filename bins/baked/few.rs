//! The engine of a baked launcher whose actions are calls of the kernel that are all known when it
//! is baked, and variables that are set or unset.
//!
//! It is built twice: as `few`, for a target that is given the caller's arguments as they are, and
//! with `cfg(arguments)` as `arguments`, which puts others around them.
//!
//! System calls: those of its records, in their order, then the target's. When one fails: after an
//! execve that says ENOENT faccessat2, as that may mean the interpreter; one writev with one line
//! on the file that errors are told on, and exit_group.

#![no_std]
#![no_main]

#[cfg(arguments)]
mod list;
#[allow(dead_code, reason = "shared with the other engines and the kit")]
mod tape;

use shims::arch::{self, number};
use shims::call::{self, AT_FDCWD, STDERR};
use shims::{Errno, Stack};

#[cfg(not(arguments))]
shims::entry!(main);
#[cfg(arguments)]
shims::entry!(main, room: end + tape::ROOM);

unsafe extern "C" {
    /// Where the tape starts: the layout's symbol.
    static end: u8;
}

/// The start of a record. It may have fewer operands; then what is read for the others is not
/// looked at.
#[repr(C, packed)]
struct Record {
    call: u16,
    with: Operands,
}

#[repr(C, packed)]
struct Operands(i32, i32, i32, i32);

// fcntl(2), from the kernel's include/uapi/asm-generic/fcntl.h.
const F_SETFD: usize = 2;

fn main(stack: Stack) -> u8 {
    // SAFETY: the tape is as `tape` says, and nobody else looks at the stack.
    unsafe { play(&raw const end, stack.as_ptr().cast_mut()) }
}

/// Plays the tape. Gives the exit status, when something fails.
///
/// # Safety
///
/// The tape must be one of this engine, and `top` the initial stack, which nobody else looks at.
#[inline(always)]
unsafe fn play(tape: *const u8, top: *mut usize) -> ! {
    // SAFETY: records are read up to the one that runs the target, and each call is given what it
    // wants: both are promised by the tape. envp is followed by the auxiliary vector, which nobody
    // reads and which takes the variables that are added.
    unsafe {
        let argc = *top;
        let envp = top.add(argc + 2);
        #[cfg(not(arguments))]
        let (argv, mut at) = (
            top.add(1),
            tape.cast::<u32>().read_unaligned() as usize as *const u8,
        );
        #[cfg(arguments)]
        let (argv, mut at) = list::fill(tape, top);
        let mut errors = STDERR.0 as usize;
        let mut result = 0;
        loop {
            let record = at.cast::<Record>();
            let call = (*record).call;
            let mut first = (*record).with.0 as usize;
            let mut second = (*record).with.1 as usize;
            let mut third = (*record).with.2 as usize;
            let fourth = (*record).with.3 as usize;
            let words = at.add(6 + 4 * (call >> tape::COUNT & 3) as usize);
            at = words;
            while next(&mut at) != 0 {}
            let mut error = tape::NO_ARGUMENTS;
            let mut status = 125;
            if argc != 0 {
                if call & tape::SET != 0 {
                    set(envp, first as *const u8, second);
                    continue;
                }
                let mut number = (call & ((1 << tape::COUNT) - 1)) as usize;
                if call & tape::DUPLICATE != 0 {
                    first = result;
                    opaque();
                    if first == second {
                        opaque();
                        (number, second) = (number::FCNTL, F_SETFD);
                    }
                }
                if call & tape::RUN != 0 {
                    if cfg!(not(arguments)) {
                        *argv = second;
                    }
                    (second, third) = (argv.addr(), envp.addr());
                }
                result = arch::syscall5(number, first, second, third, fourth, 0);
                if call & tape::KEEP != 0 {
                    errors = result;
                }
                if call & tape::TRY != 0 || result as isize >= 0 {
                    continue;
                }
                error = result as u8;
                if call & tape::RUN != 0 {
                    status = 126;
                    if error == NOT_THERE {
                        status = 127;
                        if arch::syscall4(number::FACCESSAT2, AT_FDCWD, first, 0, 0) == 0 {
                            error = tape::NO_INTERPRETER;
                            status = 126;
                        }
                    }
                }
            }
            // No instructions: it keeps what follows from being compiled once for each error.
            core::arch::asm!("/* {} */", inout(reg_byte) error, options(nomem, nostack, preserves_flags));
            say(tape, errors, words, at, error);
            call::exit_group(status);
        }
    }
}

/// ENOENT as the tape has errors: negated.
const NOT_THERE: u8 = Errno::ENOENT.0.wrapping_neg();

/// Says in one line which action failed, and why.
///
/// # Safety
///
/// The tape must be one of this engine, and `after` be behind the NUL of `words`.
#[inline(always)]
unsafe fn say(tape: *const u8, errors: usize, words: *const u8, after: *const u8, error: u8) {
    // SAFETY: the last of the tape's errors is OTHER; the pieces (iovec(3type)) are as they say.
    unsafe {
        let mut text = tape.add(match cfg!(arguments) {
            false => tape::FEW_ERRORS,
            true => tape::ARGUMENTS_ERRORS,
        });
        let mut length;
        loop {
            let number = next(&mut text);
            length = next(&mut text) as usize;
            if number == error || number == tape::OTHER {
                break;
            }
            text = text.add(length);
        }
        let line = [
            words.addr(),
            after.offset_from_unsigned(words) - 1,
            text.addr(),
            length,
        ];
        // Where to report an error of reporting an error?
        arch::syscall3(number::WRITEV, errors, line.as_ptr().addr(), 2);
    }
}

/// Puts `new` in the place of the variable that starts as `name` does, up to its `=`; others of
/// that name go. Where there is none, it comes before all others.
///
/// # Safety
///
/// `envp` must have room behind its NULL, and `name` have an `=`.
#[inline(always)]
unsafe fn set(envp: *mut usize, name: *const u8, mut new: usize) {
    // SAFETY: both go through the array, `from` ahead, up to its NULL; no string is read further
    // than to its first byte that is not the name's.
    unsafe {
        let (mut from, mut to) = (envp, envp);
        loop {
            let mut variable = *from;
            from = from.add(1);
            if variable == 0 {
                break;
            }
            let (mut a, mut b) = (variable as *const u8, name);
            while *a == *b {
                if *a == b'=' {
                    (variable, new) = (new, 0);
                    break;
                }
                a = a.add(1);
                b = b.add(1);
            }
            if variable != 0 {
                *to = variable;
                to = to.add(1);
            }
        }
        *to = 0;
        // Each makes room for the one before it.
        let mut at = envp;
        while new != 0 {
            core::ptr::swap(at, &raw mut new);
            at = at.add(1);
            if new == 0 {
                *at = 0;
            }
        }
    }
}

/// No instructions. What the compiler does not see through, it leaves where it is: what is done on a
/// condition is not done in any case, to be chosen from later, which takes more instructions.
#[inline(always)]
fn opaque() {
    // SAFETY: nothing is done.
    unsafe { core::arch::asm!("", options(nomem, nostack, preserves_flags)) };
}

/// The next byte.
///
/// # Safety
///
/// There must be one.
#[inline(always)]
unsafe fn next(at: &mut *const u8) -> u8 {
    // SAFETY: promised.
    let byte = unsafe { **at };
    *at = at.wrapping_add(1);
    // Or a loop of these would become a call of strlen.
    opaque();
    byte
}
