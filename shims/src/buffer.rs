//! Output that is collected, so that it takes few calls.

use core::mem::MaybeUninit;

use crate::call::{self, Fd};
use crate::errno::Errno;

/// Up to `SIZE` bytes on their way to a file: one call of write(2) for each `SIZE`, and one for
/// the rest at [`flush`](Buffer::flush), which is the caller's to call: what was not flushed is
/// lost. The bytes are part of the value, which usually lives on the stack.
///
/// ```no_run
/// // no_run: prints to stdout.
/// use shims::{buffer::Buffer, call::STDOUT};
///
/// let mut out = Buffer::<4096>::new(STDOUT);
/// for digit in b'0'..=b'9' {
///     out.push(digit)?;
/// }
/// out.flush()?;
/// # Ok::<(), shims::Errno>(())
/// ```
pub struct Buffer<const SIZE: usize> {
    to: Fd,
    used: usize,
    bytes: [MaybeUninit<u8>; SIZE],
}

impl<const SIZE: usize> Buffer<SIZE> {
    /// An empty one.
    #[inline(always)]
    pub fn new(to: Fd) -> Self {
        const { assert!(SIZE > 0, "a buffer of no bytes can hold none") };
        Buffer {
            to,
            used: 0,
            bytes: [const { MaybeUninit::uninit() }; SIZE],
        }
    }

    /// One byte more. Writes all when there is no room left, which can fail as
    /// [`write_all`](call::write_all) does.
    pub fn push(&mut self, byte: u8) -> Result<(), Errno> {
        if self.used == SIZE {
            self.flush()?;
        }
        // SAFETY: `used` is below SIZE here: it is never above, and flushing makes it 0.
        unsafe { self.bytes.get_unchecked_mut(self.used) }.write(byte);
        self.used += 1;
        Ok(())
    }

    /// Writes what there is. It is gone from the buffer, also when that fails.
    pub fn flush(&mut self) -> Result<(), Errno> {
        // SAFETY: the first `used` bytes were written by `push`.
        let bytes = unsafe { core::slice::from_raw_parts(self.bytes.as_ptr().cast(), self.used) };
        self.used = 0;
        call::write_all(self.to, bytes)
    }
}
