//! The architecture: one file each, with the entry, the system call instruction, the call numbers
//! and the machine's number in the ELF header. Nothing else in this crate, in a layout (but the
//! museum's) or in a program depends on it.
//!
//! # Safety
//!
//! The functions `syscall0` to `syscall6` hand their arguments to the kernel unseen. The caller
//! answers for what the call does with them: a pointer must be valid for what the call reads or
//! writes there, and a call that ends, replaces or duplicates the process does just that.

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
compile_error!(
    "shims has no port to this target: build for x86_64 Linux, or add a file to shims/src/arch"
);
