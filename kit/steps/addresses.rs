//! Has the kernel put everything where it was in the last run.
//!
//! Where a program lies decides some of its branches: glibc reads and parses /proc/self/maps,
//! allocators align. Without address space layout randomization two runs are the same.

use std::io;

/// Turns randomization off for what this thread will execute, and for its later children. The
/// thread is to be one that ends with the measurement (personality(2)).
pub(crate) fn fix() -> io::Result<()> {
    const ASK: libc::c_ulong = 0xffff_ffff;
    // SAFETY: takes a number, answers with the present one and changes nothing.
    let now = unsafe { libc::personality(ASK) };
    let wanted = now as libc::c_ulong | libc::ADDR_NO_RANDOMIZE as libc::c_ulong;
    // SAFETY: takes a number, and changes this thread only.
    if now < 0 || unsafe { libc::personality(wanted) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
