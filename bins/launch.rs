//! `launch [ACTION…] [--] PROGRAM [ARG…]`: changes a few things about its process, then becomes
//! PROGRAM.
//!
//! System calls: those of its actions, in their order, then execve; `--help` lists them. With a
//! bare name, one execve for each directory of PATH that does not have it. When something fails,
//! one write with one line on stderr, and exit_group.
//!
//! Exit status, as of env(1): 125 when an action fails or the words are wrong, 126 when PROGRAM
//! cannot be run, 127 when there is none; otherwise that of PROGRAM.

#![no_std]
#![no_main]

use launcher::action::{Action, Does};
use launcher::arguments::Words;
use launcher::environment::Environment;
use launcher::reasons::Reason;
use launcher::room::Room;
use launcher::run::{Launcher, Source};
use launcher::words::{self, HELP};
use shims::Stack;
use shims::arch::number;
use shims::call::{STDOUT, exit_group};
use shims::cstr;
use shims::stack::CStr;

shims::entry!(main);

fn main(stack: Stack) -> u8 {
    // SAFETY: the only one, and there are no handlers of signals.
    let room = unsafe { Room::new() };
    // SAFETY: nothing else here looks at the arguments.
    let first = unsafe { Words::new(stack) };
    // SAFETY: nothing else looks at the environment.
    let environment = unsafe { Environment::new(stack.env().as_ptr().cast_mut()) };
    let list = List {
        words: first,
        current: first,
    };
    let mut launcher = Launcher::new(list, environment, stack.auxv(), room);
    // Nothing is done before all is understood.
    each(&mut launcher, false);
    launcher.source.words = first;
    let program = each(&mut launcher, true);
    // SAFETY: a program was read last.
    unsafe {
        let argv = launcher.source.words.last();
        // Errors tell of the program, whatever its argv[0] is: it takes the place of the word before,
        // which is the launcher's name at least.
        *argv.sub(1) = Some(program);
        launcher.source.current = Words::at(argv.sub(1));
        launcher.source.words = Words::at(argv);
        launcher.exec(program, argv)
    }
}

/// Reads each action up to the program, which it gives; and does it, or not.
#[inline(never)]
fn each(launcher: &mut Launcher<List>, act: bool) -> CStr {
    let mut action = Action::NOTHING;
    loop {
        let list = &mut launcher.source;
        list.current = list.words;
        if let Err(why) = words::read(&mut list.words, &mut launcher.room, &mut action) {
            launcher.fail(why);
        }
        if action.does >= Does::Help {
            let help = action.does == Does::Help;
            print(launcher, if help { HELP } else { VERSION });
        }
        // SAFETY: its operands are as it was read.
        unsafe {
            if action.does == Does::Run {
                return action.text(0);
            }
            if act {
                launcher.act(&action);
            }
        }
    }
}

/// The words, read action by action.
struct List {
    /// Those to come.
    words: Words,
    /// Those from the present action on.
    current: Words,
}

impl Source for List {
    #[inline(always)]
    fn add(&mut self, environment: *mut Option<CStr>, string: Option<CStr>) {
        // SAFETY: the arguments end where the environment starts; and an action that adds a
        // variable has words.
        unsafe { self.words.insert(environment, string) };
    }

    /// Prints one line by one call: what it is about, and why.
    #[inline(never)]
    fn say(launcher: &mut Launcher<List>, why: Reason) {
        let list = &launcher.source;
        let before = launcher.room;
        let mut line = before.put(b'\n').put_string(why.text());
        let mut gap = cstr!(": ");
        for word in list.current.before(list.words) {
            line = line.put_string(gap).put_string(word);
            gap = cstr!(" ");
        }
        line = line.put_string(cstr!("launch: "));
        // SAFETY: so many bytes were put there. Where to report an error of reporting an error?
        unsafe {
            shims::arch::syscall3(
                number::WRITE,
                launcher.errors,
                line.start().addr().get(),
                line.since(before),
            )
        };
    }
}

/// Prints on stdout, and ends.
#[inline(always)]
fn print(launcher: &mut Launcher<List>, text: CStr) -> ! {
    let (mut start, mut left) = (text.as_ptr().addr(), text.len());
    while left != 0 {
        // SAFETY: there are so many bytes; and the kernel never says that it wrote more.
        let written = unsafe { launcher.call(number::WRITE, [STDOUT.0 as usize, start, left]) };
        start += written;
        left -= written;
    }
    exit_group(0)
}

const VERSION: CStr = cstr!(concat!("launch ", env!("CARGO_PKG_VERSION"), "\n"));
