//! The engine of any baked launcher: it does its actions by the code that `launch` has.
//!
//! System calls: those of its actions, in their order, then the target's, as `launch --help` lists
//! them; where argv[0] is to be looked up in PATH, faccessat2 for each directory, before the
//! target's. When something fails, one write with one line on stderr, and exit_group.

#![no_std]
#![no_main]

mod list;
#[allow(dead_code, reason = "shared with the other engines and the kit")]
mod tape;

use core::ptr::NonNull;

use launcher::action::{Action, Does};
use launcher::environment::Environment;
use launcher::reasons::Reason;
use launcher::room::Room;
use launcher::run::{Launcher, Source};
use launcher::text::Text;
use shims::arch::{self, number};
use shims::call::AT_FDCWD;
use shims::stack::CStr;
use shims::{Stack, cstr};

shims::entry!(main, room: end + tape::ROOM);

unsafe extern "C" {
    /// Where the tape starts: the layout's symbol.
    static end: u8;
}

fn main(stack: Stack) -> u8 {
    // SAFETY: the only one, and there are no handlers of signals.
    let room = unsafe { Room::new() };
    // SAFETY: nobody else looks at the environment.
    let environment = unsafe { Environment::new(stack.env().as_ptr().cast_mut()) };
    let mut launcher = Launcher::new(Words(cstr!("argv[0]")), environment, stack.auxv(), room);
    if stack.argc() == 0 {
        launcher.fail(Reason::MISSING);
    }
    // SAFETY: the tape is as `tape` says, and nobody else looks at the arguments.
    unsafe {
        let (argv, records) = list::fill(&raw const end, stack.as_ptr().cast_mut());
        play(&mut launcher, argv.cast(), records.cast())
    }
}

/// A record of the tape.
#[derive(Clone, Copy)]
#[repr(C, packed)]
struct Record {
    with: [usize; 3],
    words: u32,
    does: Does,
}

/// Does what the records say.
///
/// # Safety
///
/// They must be as `tape` says, and `argv` be as [`Launcher::exec`] wants it.
#[inline(always)]
unsafe fn play(
    launcher: &mut Launcher<Words>,
    argv: *mut Option<CStr>,
    mut record: *const Record,
) -> ! {
    // SAFETY: all operands are what the action says; the last record is that of the target.
    unsafe {
        loop {
            let Record { with, words, does } = *record;
            launcher.source = Words(CStr::new(NonNull::new_unchecked(words as usize as *mut u8)));
            let action = Action { does, with };
            if does == Does::Run {
                if with[1] != 0 {
                    find_argv0(launcher, argv);
                }
                launcher.exec(action.text(0), argv);
            }
            launcher.act(&action);
            record = record.add(1);
        }
    }
}

/// The words of the present action.
struct Words(CStr);

impl Source for Words {
    #[inline(always)]
    fn add(&mut self, environment: *mut Option<CStr>, string: Option<CStr>) {
        // SAFETY: the tape's room has a place for each variable that is added.
        unsafe { *environment.sub(1) = string };
    }

    /// Prints one line by one call: what it is about, and why.
    #[inline(never)]
    fn say(launcher: &mut Launcher<Words>, why: Reason) {
        let before = launcher.room;
        let line = before
            .put(b'\n')
            .put_string(why.text())
            .put_string(cstr!(": "))
            .put_string(launcher.source.0)
            .put_string(cstr!("launch: "));
        // SAFETY: so many bytes were put there. Where to report an error of reporting an error?
        unsafe {
            arch::syscall3(
                number::WRITE,
                launcher.errors,
                line.start().addr().get(),
                line.since(before),
            )
        };
    }
}

/// Puts the first path in PATH at which argv[0] could be executed in its place, if it has no slash,
/// and there is one.
///
/// # Safety
///
/// `argv` must have a string.
#[inline(always)]
unsafe fn find_argv0(launcher: &mut Launcher<Words>, argv: *mut Option<CStr>) {
    // access(2).
    const X_OK: usize = 1;
    // SAFETY: there is one; strings end in NUL.
    unsafe {
        let name = (*argv).unwrap_unchecked();
        let mut text = Text::new(name);
        while !matches!(text.peek(), 0 | b'/') {
            text.next();
        }
        let path = launcher.environment.get(cstr!("PATH"));
        let (Some(path), true) = (path, text.is_done()) else {
            return;
        };
        let mut path = Text::new(path);
        let end_of_all = launcher.room.put(0_u8).put_string(name).put(b'/');
        while !path.is_done() {
            let element = path;
            while !matches!(path.peek(), b':' | 0) {
                path.next();
            }
            let element = element.until(path);
            path.next();
            if element.is_empty() {
                continue;
            }
            let candidate = end_of_all.put_all(element);
            let place = candidate.start().addr().get();
            if arch::syscall4(number::FACCESSAT2, AT_FDCWD, place, X_OK, 0) == 0 {
                launcher.room = candidate;
                *argv = Some(candidate.string());
                return;
            }
        }
    }
}
