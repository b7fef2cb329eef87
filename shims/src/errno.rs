//! Error numbers, and their names in few bytes.

/// Why a call failed: a number of errno(3). The kernel's are all below 134.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub u8);

impl Errno {
    /// Splits what a system call left in its result register: below 0 is an error number,
    /// negated. For calls that have no other use for such a result.
    #[inline(always)]
    pub fn check(result: usize) -> Result<usize, Errno> {
        if (result as isize) < 0 {
            Err(Errno::of(result))
        } else {
            Ok(result)
        }
    }

    /// The error in the result of a call that only returns to fail.
    #[inline(always)]
    pub fn of(result: usize) -> Errno {
        Errno(result.wrapping_neg() as u8)
    }
}

macro_rules! errnos {
    ($($name:ident = $number:literal,)*) => {
        impl Errno {
            $(#[doc = concat!("`", stringify!($name), "`, see errno(3).")]
            pub const $name: Errno = Errno($number);)*
        }
    };
}

// From the kernel's include/uapi/asm-generic/errno-base.h and errno.h: the errors that the man
// pages of the calls made here list.
errnos! {
    EPERM = 1,
    ENOENT = 2,
    EINTR = 4,
    EIO = 5,
    ENXIO = 6,
    E2BIG = 7,
    ENOEXEC = 8,
    EBADF = 9,
    EAGAIN = 11,
    ENOMEM = 12,
    EACCES = 13,
    EFAULT = 14,
    EBUSY = 16,
    EEXIST = 17,
    ENOTDIR = 20,
    EISDIR = 21,
    EINVAL = 22,
    ENFILE = 23,
    EMFILE = 24,
    ENOTTY = 25,
    ETXTBSY = 26,
    EFBIG = 27,
    ENOSPC = 28,
    EROFS = 30,
    EPIPE = 32,
    ENAMETOOLONG = 36,
    ENOSYS = 38,
    ELOOP = 40,
    ELIBBAD = 80,
    EDESTADDRREQ = 89,
    EOPNOTSUPP = 95,
    EDQUOT = 122,
}

/// How lines about some errors end, packed: for each a byte that is its number negated, which is
/// no ASCII character, then its name and a newline; at last 0x80 and what stands for any other
/// error. Made by [`reasons!`](crate::reasons).
///
/// All names start with the same letter, so it is left to the text before: a line is written as
/// `"cp: E"` and then `"NOENT\n"`.
pub struct Reasons(&'static [u8]);

impl Reasons {
    /// Takes what [`reasons!`](crate::reasons) packed.
    ///
    /// # Safety
    ///
    /// It must be packed as described above.
    #[inline(always)]
    pub const unsafe fn new(packed: &'static [u8]) -> Self {
        Reasons(packed)
    }

    /// The name of `error` without its `E`, and a newline; `?` when it is not one of these.
    ///
    /// ```
    /// use shims::{Errno, reasons};
    ///
    /// let reasons = reasons![EPIPE, ENOENT];
    /// assert_eq!(reasons.of(Errno::ENOENT), b"NOENT\n");
    /// assert_eq!(reasons.of(Errno::EIO), b"?\n");
    /// ```
    #[inline(always)]
    pub fn of(&self, error: Errno) -> &'static [u8] {
        let mut at = self.0.as_ptr();
        // SAFETY: each part ends in a newline, and the last starts with 0x80.
        unsafe {
            loop {
                let byte = *at;
                at = at.add(1);
                if byte == 0x80 || byte == error.0.wrapping_neg() {
                    break;
                }
            }
            let first = at;
            let mut length = 1;
            while *at != b'\n' {
                at = at.add(1);
                length += 1;
            }
            core::slice::from_raw_parts(first, length)
        }
    }
}

/// Packs the names of error numbers into the program as [`Reasons`](crate::errno::Reasons):
/// `reasons![ENOENT, EACCES]`.
#[macro_export]
macro_rules! reasons {
    ($($name:ident),* $(,)?) => {{
        const LENGTH: usize = 3 $(+ stringify!($name).len() + 1)*;
        static PACKED: [u8; LENGTH] = {
            let mut packed = [b'\n'; LENGTH];
            let mut at = 0;
            $(
                packed[at] = $crate::Errno::$name.0.wrapping_neg();
                let letters = stringify!($name).as_bytes().split_at(1).1;
                packed.split_at_mut(at + 1).1.split_at_mut(letters.len()).0.copy_from_slice(letters);
                at += 1 + letters.len() + 1;
            )*
            packed[at] = 0x80;
            packed[at + 1] = b'?';
            packed
        };
        // SAFETY: packed as asked for.
        unsafe { $crate::errno::Reasons::new(&PACKED) }
    }};
}
