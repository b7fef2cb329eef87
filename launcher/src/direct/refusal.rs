//! Why a program is left to execve.

use core::num::NonZeroU8;

use shims::Errno;

/// Why a program was not started here: an error that a call gave, or one of the reasons below.
///
/// One byte, as of a [`Reason`](crate::reasons::Reason), which has the texts: errors are below 134
/// (errno(3)), the other reasons above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal(NonZeroU8);

/// The number of the first reason that is no error.
const FIRST: u8 = 0x90;

macro_rules! refusals {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Their numbers, in order.
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "named as the constants")]
        enum Order { $($name,)* }

        impl Refusal {
            $($(#[$doc])*
            pub const $name: Refusal = Refusal(NonZeroU8::new(FIRST + Order::$name as u8).unwrap());)*
        }
    };
}

refusals! {
    /// A directory, a device, a pipe.
    NOT_REGULAR,
    /// This process may not execute it.
    NOT_EXECUTABLE,
    /// It would run with the rights of its file's owner or group.
    SET_ID,
    /// It would run with capabilities that its file gives, or nobody can say that it would not.
    CAPABILITIES,
    /// A script, or an ELF file of another machine or word size, or one that is not a program.
    NOT_ELF,
    /// Headers that contradict each other or the file, or are not where linkers put them.
    HEADERS,
    /// It asks for a stack that can be executed.
    EXECUTABLE_STACK,
    /// Its interpreter is missing, or is refused itself.
    INTERPRETER,
    /// Its libraries are looked for where its file is, which is asked of `/proc/self/exe`.
    ORIGIN,
    /// This process runs with more rights than its caller, which execve would tell the program
    /// (AT_SECURE).
    SECURE,
    /// For the caller: an action has changed the user or group. Only an execve tells the program
    /// its ids (AT_UID and its kin), and gives `/proc/self` back to it (PR_SET_DUMPABLE in
    /// prctl(2)).
    USER,
    /// For the caller: an action has turned address randomization off, as of the next execve.
    RANDOMIZATION,
    /// For the caller: an action has set the limit of the stack, for which only an execve makes
    /// room.
    STACK_LIMIT,
    /// For the caller: an action has files closed at the exec that it does not know one by one.
    FILES,
}

impl Refusal {
    /// A call failed. The only one that fails with EEXIST is mmap, for an address that is taken.
    #[inline(always)]
    pub(super) fn of(result: usize) -> Self {
        // SAFETY: no call fails with the error 0.
        Refusal(unsafe { NonZeroU8::new_unchecked(Errno::of(result).0) })
    }

    /// What a call gave, unless it failed.
    #[inline(always)]
    pub(super) fn check(result: usize) -> Result<usize, Refusal> {
        if (result as isize) < 0 {
            return Err(Refusal::of(result));
        }
        Ok(result)
    }

    /// Its number.
    #[inline(always)]
    pub const fn number(self) -> u8 {
        self.0.get()
    }
}
