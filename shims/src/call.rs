//! System calls, one function a call. Each makes exactly that call, once.
//!
//! The exception says so in its name: [`write_all`] writes until all is written.

use crate::arch::{self, number};
use crate::errno::Errno;
use crate::stack::{CStr, Strings};

/// An open file, by its number in the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fd(pub u32);

/// Standard output (stdout(3)).
pub const STDOUT: Fd = Fd(1);
/// Standard error (stderr(3)).
pub const STDERR: Fd = Fd(2);

/// In place of a directory: the working directory (the kernel's include/uapi/linux/fcntl.h).
pub const AT_FDCWD: usize = -100_isize as usize;

/// A piece of a [`writev`]: `struct iovec` (iovec(3type)).
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Piece<'a> {
    start: *const u8,
    length: usize,
    bytes: core::marker::PhantomData<&'a [u8]>,
}

impl<'a> From<&'a [u8]> for Piece<'a> {
    #[inline(always)]
    fn from(bytes: &'a [u8]) -> Self {
        Piece {
            start: bytes.as_ptr(),
            length: bytes.len(),
            bytes: core::marker::PhantomData,
        }
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Piece<'a> {
    #[inline(always)]
    fn from(bytes: &'a [u8; N]) -> Self {
        bytes.as_slice().into()
    }
}

/// write(2): up to all of `bytes`. Gives how many were written, which may be fewer.
#[inline(always)]
pub fn write(fd: Fd, bytes: &[u8]) -> Result<usize, Errno> {
    // SAFETY: the kernel reads `bytes.len()` bytes from a slice that has them.
    Errno::check(unsafe {
        arch::syscall3(
            number::WRITE,
            fd.0 as usize,
            bytes.as_ptr() as usize,
            bytes.len(),
        )
    })
}

/// writev(2): up to all of the pieces, in one call, so that a line stays one. Gives how many
/// bytes were written, which may be fewer.
#[inline(always)]
pub fn writev(fd: Fd, pieces: &[Piece]) -> Result<usize, Errno> {
    // SAFETY: `Piece` is laid out as `struct iovec`, and each came from a slice that is borrowed.
    Errno::check(unsafe {
        arch::syscall3(
            number::WRITEV,
            fd.0 as usize,
            pieces.as_ptr() as usize,
            pieces.len(),
        )
    })
}

/// All of `bytes`, by as many calls of write(2) as it takes: one, unless the kernel takes only a
/// part, or a signal comes first (EINTR). A device that takes nothing and says no error is EIO.
#[inline(always)]
pub fn write_all(fd: Fd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match write(fd, bytes) {
            Ok(0) => return Err(Errno(0)),
            // SAFETY: the kernel never says that it wrote more than it was given.
            Ok(written) => bytes = unsafe { bytes.get_unchecked(written..) },
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// execve(2): replaces the program by the one at `path`. Only comes back when it could not.
#[inline(always)]
pub fn execve(path: CStr, argv: Strings, envp: Strings) -> Errno {
    // SAFETY: a path that ends in NUL and two arrays that end in NULL, by their types.
    Errno::of(unsafe {
        arch::syscall3(
            number::EXECVE,
            path.as_ptr() as usize,
            argv.as_ptr() as usize,
            envp.as_ptr() as usize,
        )
    })
}

/// exit_group(2): ends the process, all its threads, with `status`.
#[inline(always)]
pub fn exit_group(status: u8) -> ! {
    // SAFETY: exit_group does not return.
    unsafe { arch::syscall_noreturn(number::EXIT_GROUP, status.into()) }
}
