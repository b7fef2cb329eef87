//! Why a launcher ends: what is said of it.

use core::ptr::NonNull;

use shims::errno::Errno;
use shims::stack::CStr;

use crate::direct::Refusal;

/// A reason to end: the number of an error, which is below 134 (errno(3)), or one of those here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason(pub u8);

impl From<Errno> for Reason {
    #[inline(always)]
    fn from(error: Errno) -> Self {
        Reason(error.0)
    }
}

impl From<Refusal> for Reason {
    #[inline(always)]
    fn from(refusal: Refusal) -> Self {
        Reason(refusal.number())
    }
}

impl Reason {
    /// The line's end: an error's name and its meaning, or another reason in words.
    #[inline(always)]
    pub fn text(self) -> CStr {
        let mut at = REASONS.as_ptr();
        // SAFETY: each part ends in NUL, and the last starts with OTHER.
        unsafe {
            loop {
                let number = *at;
                at = at.add(1);
                if number == OTHER || number == self.0 {
                    return CStr::new(NonNull::new_unchecked(at.cast_mut()));
                }
                at = at.add(CStr::new(NonNull::new_unchecked(at.cast_mut())).len() + 1);
            }
        }
    }
}

/// Any other error.
const OTHER: u8 = 134;

macro_rules! reasons {
    (
        $($error:ident $meaning:literal)*;
        $($(#[$doc:meta])* $reason:ident = $number:literal $text:literal)*;
        $($refusal:ident $refused:literal)*
    ) => {
        impl Reason {
            $($(#[$doc])* pub const $reason: Reason = Reason($number);)*
        }

        /// For each its number, its text and NUL; at last [`OTHER`] and what is said of any
        /// other error.
        static REASONS: &[u8] = &{
            const PARTS: &[(u8, &str)] = &[
                $((Errno::$error.0, concat!(stringify!($error), ", ", $meaning, "\0")),)*
                $(($number, concat!($text, "\0")),)*
                $((Refusal::$refusal.number(), concat!($refused, "\0")),)*
                (OTHER, "an error without a name here\0"),
            ];
            const LENGTH: usize = {
                let mut length = 0;
                let mut part = 0;
                while part < PARTS.len() {
                    length += 1 + PARTS[part].1.len();
                    part += 1;
                }
                length
            };
            let mut packed = [0; LENGTH];
            let mut at = 0;
            let mut part = 0;
            while part < PARTS.len() {
                let (number, text) = PARTS[part];
                let (_, rest) = packed.split_at_mut(at);
                rest[0] = number;
                rest.split_at_mut(1).1.split_at_mut(text.len()).0.copy_from_slice(text.as_bytes());
                at += 1 + text.len();
                part += 1;
            }
            packed
        };
    };
}

// The errors are those that the man pages of a launcher's calls list.
reasons! {
    EPERM "not permitted"
    ENOENT "not there"
    EIO "I/O error"
    ENXIO "no device"
    E2BIG "too much, or a string of 128 KiB"
    ENOEXEC "not a program"
    EBADF "not open"
    EAGAIN "too many processes"
    ENOMEM "no memory"
    EACCES "permission denied"
    EBUSY "in use"
    EEXIST "its address is taken"
    ENOTDIR "not a directory"
    EISDIR "a directory"
    EINVAL "invalid value"
    EMFILE "too many files"
    ENOTTY "no terminal"
    ETXTBSY "being written, try again"
    EFBIG "too large"
    ENOSPC "no space"
    EROFS "read-only"
    EPIPE "nobody reads"
    ENAMETOOLONG "name too long"
    ENOSYS "not in this kernel"
    ELOOP "too many links";
    /// No error: the target is there. So what it is to be interpreted by is not.
    NO_INTERPRETER = 0 "ENOENT, no interpreter"
    /// The parent has died before its death was watched.
    NO_PARENT = 201 "the parent has died"
    /// A user or group that is not there.
    NO_USER = 206 "no such user or group"
    /// An entry of a user or group that has no id.
    NO_ID = 207 "its entry has no id"
    /// No such option.
    UNKNOWN = 202 "no such option; see launch --help"
    /// There are too few words.
    MISSING = 203 "a value is missing"
    /// A value that is not of its form.
    WRONG = 204 "not a value for it"
    /// No program behind the actions.
    NO_PROGRAM = 205 "no program; see launch --help";
    NOT_REGULAR "not a regular file"
    NOT_EXECUTABLE "no execute permission"
    SET_ID "set-user-ID or set-group-ID"
    CAPABILITIES "file capabilities"
    NOT_ELF "not an ELF program of this machine"
    HEADERS "unusual or malformed headers"
    EXECUTABLE_STACK "executable stack"
    INTERPRETER "its interpreter cannot be mapped"
    ORIGIN "$ORIGIN in its run path"
    SECURE "secure-execution mode"
    USER "the user was changed"
    RANDOMIZATION "address randomization was turned off"
    STACK_LIMIT "the stack limit was set"
    FILES "files to close at the exec"
}
