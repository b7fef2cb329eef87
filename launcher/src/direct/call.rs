//! The calls that only this needs. Each makes exactly that call, once, and gives what the kernel
//! gives: an error is its number, negated.

use shims::arch::{self, Status, number};
use shims::call::AT_FDCWD;
use shims::stack::CStr;

/// The name of the file itself, for calls that take a file and a path (AT_EMPTY_PATH).
const EMPTY: &[u8; 1] = b"\0";

/// From the kernel's include/uapi/linux/fcntl.h.
const AT_EMPTY_PATH: usize = 0x1000;
const AT_EACCESS: usize = 0x200;

/// openat(2) from the working directory: opens a file to be read, until an exec.
#[inline(always)]
pub fn open(path: CStr) -> usize {
    /// O_RDONLY, O_CLOEXEC, and O_NONBLOCK, without which opening a pipe would wait (the kernel's
    /// include/uapi/asm-generic/fcntl.h).
    const FLAGS: usize = 0o2_004_000;
    // SAFETY: a path that ends in NUL, by its type; the rest are numbers.
    unsafe { arch::syscall3(number::OPENAT, AT_FDCWD, path.as_ptr() as usize, FLAGS) }
}

/// close(2).
#[inline(always)]
pub fn close(fd: u32) {
    // SAFETY: a number; what becomes invalid by it is a file, not memory. It was only read:
    // nothing is lost when this fails.
    unsafe { arch::syscall1(number::CLOSE, fd as usize) };
}

/// fstat(2): what an open file is.
///
/// # Safety
///
/// There must be room for it at `to`, and nobody who looks at it.
#[inline(always)]
pub unsafe fn status(fd: u32, to: *mut Status) -> usize {
    // SAFETY: there is room for what the call writes, which is all of it.
    unsafe { arch::syscall2(number::FSTAT, fd as usize, to as usize) }
}

/// faccessat2(2) of an open file: may this process, as what it is now, execute it?
#[inline(always)]
pub fn executable(fd: u32) -> bool {
    const X_OK: usize = 1;
    // SAFETY: the path is an empty string.
    let result = unsafe {
        arch::syscall4(
            number::FACCESSAT2,
            fd as usize,
            EMPTY.as_ptr() as usize,
            X_OK,
            AT_EACCESS | AT_EMPTY_PATH,
        )
    };
    result == 0
}

/// fgetxattr(2): the length of an attribute of an open file.
#[inline(always)]
pub fn attribute(fd: u32, name: CStr) -> usize {
    // SAFETY: a name that ends in NUL, by its type; nothing is written to a room of no bytes.
    unsafe { arch::syscall4(number::FGETXATTR, fd as usize, name.as_ptr() as usize, 0, 0) }
}

/// mmap(2). Gives its address.
///
/// # Safety
///
/// With MAP_FIXED, nothing that is in use may be there.
#[inline(always)]
pub unsafe fn map(
    at: usize,
    length: usize,
    protection: usize,
    flags: u32,
    fd: u32,
    offset: usize,
) -> usize {
    // SAFETY: without MAP_FIXED, memory that is in use is left alone; with it the caller answers.
    unsafe {
        arch::syscall6(
            number::MMAP,
            at,
            length,
            protection,
            flags as usize,
            fd as usize,
            offset,
        )
    }
}

/// read(2): up to `length` bytes. Gives how many were read.
///
/// # Safety
///
/// There must be room for them at `to`.
#[inline(always)]
pub unsafe fn read(fd: u32, to: *mut u8, length: usize) -> usize {
    // SAFETY: the kernel writes at most as many bytes as there is room for.
    unsafe { arch::syscall3(number::READ, fd as usize, to as usize, length) }
}

/// pread64(2): up to `length` bytes from `offset` on. Gives how many were read.
///
/// # Safety
///
/// There must be room for them at `to`.
#[inline(always)]
pub unsafe fn read_at(fd: u32, to: *mut u8, length: usize, offset: usize) -> usize {
    // SAFETY: the kernel writes at most as many bytes as there is room for.
    unsafe { arch::syscall4(number::PREAD64, fd as usize, to as usize, length, offset) }
}

/// prctl(2), PR_SET_NAME: the process's name, of which the kernel takes 15 bytes.
#[inline(always)]
pub fn name(name: CStr) -> usize {
    const PR_SET_NAME: usize = 15;
    // SAFETY: a string that ends in NUL, by its type.
    unsafe { arch::syscall2(number::PRCTL, PR_SET_NAME, name.as_ptr() as usize) }
}
