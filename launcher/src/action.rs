//! What a launcher can do before its exec, decoded from its words.

use core::ptr::NonNull;

use shims::arch::number;
use shims::stack::CStr;

/// One action: what is done, and with what.
///
/// There is one shape for all, as for the instructions of a machine: so it takes few of a real
/// machine's to make one, to write it to a file, and to do it. Operands are numbers, or strings by
/// their addresses; which is which stands at each [`Does`]. Only [`words`](crate::words) makes
/// them, or reads them back from where [`words`](crate::words) had them written.
#[derive(Clone, Copy)]
pub struct Action {
    /// What is done.
    pub does: Does,
    /// With what. What it does not take may be anything, but for a call's arguments.
    pub with: [usize; 3],
}

/// What an action does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
#[repr(u8)]
pub enum Does {
    /// Not an action, but what follows them: becomes the program *0* (a string).
    Run = 0,

    // Those that are one call of the kernel with these three arguments have its number. Further
    // arguments are 0.
    /// chdir(2), into *0* (a path).
    Chdir = number::CHDIR as u8,
    /// chroot(2), to *0* (a path).
    Chroot = number::CHROOT as u8,
    /// umask(2).
    Umask = number::UMASK as u8,
    /// setsid(2).
    Setsid = number::SETSID as u8,
    /// setpgid(2).
    Setpgid = number::SETPGID as u8,
    /// ioctl(2).
    Ioctl = number::IOCTL as u8,
    /// setpriority(2).
    Setpriority = number::SETPRIORITY as u8,
    /// sched_setaffinity(2), with a set of *1* bytes at *2*.
    SchedSetaffinity = number::SCHED_SETAFFINITY as u8,
    /// sched_setscheduler(2), with a `struct sched_param` at *2*.
    SchedSetscheduler = number::SCHED_SETSCHEDULER as u8,
    /// ioprio_set(2).
    IoprioSet = number::IOPRIO_SET as u8,
    /// personality(2).
    Personality = number::PERSONALITY as u8,
    /// prctl(2).
    Prctl = number::PRCTL as u8,
    /// alarm(2).
    Alarm = number::ALARM as u8,
    /// setresuid(2).
    Setresuid = number::SETRESUID as u8,
    /// setresgid(2).
    Setresgid = number::SETRESGID as u8,
    /// setgroups(2), with *0* groups of 4 bytes at *1*.
    Setgroups = number::SETGROUPS as u8,
    /// setuid(2).
    Setuid = number::SETUID as u8,
    /// setgid(2).
    Setgid = number::SETGID as u8,

    // The others have numbers that no such call has.
    /// prlimit64(2): sets the limit *0* to the `struct rlimit` at *1*.
    Limit = FIRST,
    /// rt_sigprocmask(2): blocks the signals of the set at *0*.
    Block,
    /// Opens the file *0* (a path) with the flags *1* (openat(2)) and gives it the number *2*.
    Open,
    /// Duplicates the open file *0* to the number *1*.
    Duplicate,
    /// Closes the file *0*, which need not be open.
    Close,
    /// Closes all files from *0* on; with *1* CLOSE_RANGE_CLOEXEC, at the exec.
    CloseFrom,
    /// Puts *1*, which is `NAME=VALUE`, in the place of the variable whose name *0* starts with;
    /// with *1* 0, takes that away.
    Set,
    /// Sets the variable *0* (a name) to *2* (a string). Of *1* only others make use, a string too.
    Assign,
    /// Does so if there is no variable of that name.
    Default,
    /// Does so, with *1* and the value that it has behind it, unless that is empty.
    Prefix,
    /// Does so, with the value that it has and *1* before it, unless that is empty.
    Suffix,
    /// Takes away all variables.
    Clear,
    /// Makes *0* (a string) argv\[0\].
    Argv0,
    /// Gives each signal of the set *0* (signal 1 is the lowest bit) the disposition *1*.
    Signals,
    /// Asks for the signal *0* when the parent dies, and whether it has died already.
    ParentDeathSignal,
    /// Becomes the user *0* (a string).
    User,
    /// Opens the file *0* (a path) and waits for its lock, which the target keeps.
    Lock,
    /// Writes to the file *0* (a path) the line *1* (a text).
    Write,
    /// Opens `/dev/null` in the place of each of stdin, stdout and stderr that is closed.
    StdioNull,
    /// Sets the bits *0* of [`start`](crate::run::Launcher::start).
    Direct,
    /// In the place of all, and so above all: prints a text on how to use it.
    Help = u8::MAX - 1,
    /// In the place of all: prints which version it is.
    Version,
}

/// The number of the first that is more than a call.
const FIRST: u8 = 206;

const DIRECT: u8 = Does::Direct as u8;
const HELP: u8 = Does::Help as u8;

impl Does {
    /// The number of the call that is all of it, if it is one.
    pub fn call(self) -> Option<usize> {
        match self as u8 {
            0 | FIRST..=DIRECT | HELP.. => None,
            number => Some(number.into()),
        }
    }
}

impl Action {
    /// One that is not done.
    pub const NOTHING: Action = Action {
        does: Does::Run,
        with: [0; 3],
    };

    /// An operand that is a string.
    ///
    /// # Safety
    ///
    /// It must be one that [`Does`] says is a string.
    #[inline(always)]
    pub unsafe fn text(&self, at: usize) -> CStr {
        // SAFETY: such an operand is the address of a string.
        unsafe { CStr::new(NonNull::new_unchecked(self.with[at] as *mut u8)) }
    }

    /// An operand that is a string, or 0.
    ///
    /// # Safety
    ///
    /// As for [`text`](Action::text).
    #[inline(always)]
    pub unsafe fn optional(&self, at: usize) -> Option<CStr> {
        // SAFETY: as for `text`.
        NonNull::new(self.with[at] as *mut u8).map(|first| unsafe { CStr::new(first) })
    }
}
