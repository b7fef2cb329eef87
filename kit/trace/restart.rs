//! Tells a call that the kernel makes again from one that the program makes again.
//!
//! A signal can cut a call short. The kernel then either has the thread execute the very same
//! instruction once more (a restart; signal(7), "Interruption of system calls"), or lets the
//! call fail with EINTR, and a program's own loop may come back to the same instruction too.
//! Both look the same at the next entry. What tells them apart is how the thread got there:
//!
//! - without a handler the restart is the next call of the thread;
//! - with a handler the thread runs that first, and its sigreturn goes back to the instruction
//!   itself for a restart, or to the one behind it when the call fails with EINTR;
//! - a handler that jumps away never returns, and nothing is restarted.

use super::{Arch, Call};

/// The length of the instruction that makes a call: `syscall`, `sysenter` and `int 0x80` alike.
const CALL_INSTRUCTION: u64 = 2;

/// What the kernel returns from a call that it may restart, for itself and for tracers to see:
/// ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND, ERESTART_RESTARTBLOCK (linux/errno.h).
fn cut_short(result: i64) -> bool {
    matches!(result, -512 | -513 | -514 | -516)
}

/// The calls of one thread that were cut short and may be restarted.
#[derive(Default)]
pub(super) struct Interrupted {
    /// The innermost last: a handler's own call can be cut short as well.
    calls: Vec<Cut>,
    /// Whether the next call of the thread restarts the last of them.
    due: bool,
}

struct Cut {
    arch: Arch,
    number: i64,
    at: Place,
}

/// Where in the program a call is made: the instruction after it, and the stack pointer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub instruction: u64,
    pub stack: u64,
}

impl Interrupted {
    /// Whether the next call is expected to be a restart, so that a signal's handler matters.
    pub fn is_due(&self) -> bool {
        self.due
    }

    /// A handler runs first.
    pub fn handled(&mut self) {
        self.due = false;
    }

    /// A call begins. Whether that is a restart.
    #[inline]
    pub fn entry(&mut self, arch: Arch, number: i64, name: Option<&str>, at: Place) -> bool {
        if !self.due {
            return false;
        }
        self.due = false;
        let again = self.calls.last().is_some_and(|cut| {
            let same = cut.number == number || name == Some("restart_syscall");
            same && cut.arch == arch && cut.at == at
        });
        if again {
            self.calls.pop();
        }
        again
    }

    /// A call ends with a result.
    #[inline]
    pub fn exit(&mut self, call: &Call, result: i64, at: Place) {
        // sigreturn restores the result of another call.
        if matches!(call.name, Some("rt_sigreturn" | "sigreturn")) {
            self.returned(at);
        } else if cut_short(result) {
            // One that was cut short at this very place before has been left for good.
            self.calls.retain(|cut| cut.at != at);
            self.calls.push(Cut {
                arch: call.arch,
                number: call.number,
                at,
            });
            self.due = true;
        }
    }

    /// A handler returns to a place.
    fn returned(&mut self, to: Place) {
        let before = |cut: &Cut| cut.at.instruction - CALL_INSTRUCTION;
        let found = self.calls.iter().rposition(|cut| {
            cut.at.stack == to.stack
                && (cut.at.instruction == to.instruction || before(cut) == to.instruction)
        });
        if let Some(index) = found {
            self.due = before(&self.calls[index]) == to.instruction;
            self.calls
                .truncate(if self.due { index + 1 } else { index });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Place = Place {
        instruction: 0x1002,
        stack: 0x8000,
    };
    const RESTART: Place = Place {
        instruction: 0x1000,
        stack: 0x8000,
    };
    const IN_HANDLER: Place = Place {
        instruction: 0x2002,
        stack: 0x7000,
    };

    fn call(number: i64) -> Call {
        let name = Arch::X86_64.name(number);
        Call {
            thread: 0,
            arch: Arch::X86_64,
            number,
            name,
            args: [0; 6],
            result: None,
            restart: false,
        }
    }

    fn enter(interrupted: &mut Interrupted, number: i64, at: Place) -> bool {
        interrupted.entry(Arch::X86_64, number, Arch::X86_64.name(number), at)
    }

    #[test]
    fn without_a_handler_the_next_call_at_the_same_place_is_a_restart_once() {
        let mut it = Interrupted::default();
        it.exit(&call(0), -512, HERE);
        assert!(enter(&mut it, 0, HERE));
        it.exit(&call(0), 1, HERE);
        assert!(!enter(&mut it, 0, HERE));
    }

    #[test]
    fn restart_syscall_restarts_what_was_cut_short() {
        let mut it = Interrupted::default();
        it.exit(&call(35), -516, HERE);
        assert!(enter(&mut it, 219, HERE));
    }

    #[test]
    fn after_a_handler_that_returns_to_the_instruction_it_is_a_restart() {
        let mut it = Interrupted::default();
        it.exit(&call(0), -512, HERE);
        it.handled();
        assert!(!enter(&mut it, 1, IN_HANDLER));
        it.exit(&call(1), 1, IN_HANDLER);
        assert!(!enter(&mut it, 15, IN_HANDLER));
        it.exit(&call(15), 0, RESTART);
        assert!(enter(&mut it, 0, HERE));
    }

    #[test]
    fn after_a_handler_that_returns_behind_the_instruction_it_is_the_programs_own() {
        let mut it = Interrupted::default();
        it.exit(&call(230), -516, HERE);
        it.handled();
        assert!(!enter(&mut it, 15, IN_HANDLER));
        it.exit(&call(15), -4, HERE);
        assert!(!enter(&mut it, 230, HERE));
    }

    #[test]
    fn a_handler_that_jumps_away_leaves_nothing_to_restart() {
        let mut it = Interrupted::default();
        it.exit(&call(0), -512, HERE);
        it.handled();
        assert!(!enter(&mut it, 0, HERE));
        it.exit(&call(0), -512, HERE);
        assert_eq!(it.calls.len(), 1);
    }

    #[test]
    fn a_call_cut_short_inside_a_handler_is_restarted_before_the_outer_one() {
        let inner_restart = Place {
            instruction: 0x2000,
            stack: 0x7000,
        };
        let deeper = Place {
            instruction: 0x3002,
            stack: 0x6000,
        };
        let mut it = Interrupted::default();
        it.exit(&call(0), -512, HERE);
        it.handled();
        it.exit(&call(61), -512, IN_HANDLER);
        it.handled();
        assert!(!enter(&mut it, 15, deeper));
        it.exit(&call(15), 61, inner_restart);
        assert!(enter(&mut it, 61, IN_HANDLER));
        it.exit(&call(61), 1, IN_HANDLER);
        assert!(!enter(&mut it, 15, IN_HANDLER));
        it.exit(&call(15), 0, RESTART);
        assert!(enter(&mut it, 0, HERE));
    }
}
