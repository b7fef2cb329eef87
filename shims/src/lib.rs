//! What stands between a program and the kernel.
//!
//! A Linux process starts with a stack pointer and nothing else: no C library, no heap, no
//! `argc` in a register. What lies at that pointer, and one instruction that enters the kernel,
//! is all a program needs. This crate gives both as safe Rust:
//!
//! - [`entry!`] makes a `fn main(stack: Stack) -> u8` the program's first function;
//! - [`stack`] is what the kernel left there: arguments, environment, auxiliary vector;
//! - [`call`] is the system calls, one function a call, failing with an [`Errno`];
//! - [`buffer`] collects output;
//! - [`mem`](mod@mem) is `memcpy` and its kin, which the compiler calls by itself.
//!
//! It is for Linux programs without the standard library and without libc, and must be linked by
//! one of the layouts of `linker-scripts`. It allocates nothing, keeps no state, starts no
//! threads, and makes no system call that the program does not ask for. It is not a libc: what
//! needs locale, buffers, name look-up or threads is better off with one.
//!
//! Supported: x86-64. All that depends on the architecture is in the one file [`arch`] selects.
//!
//! A program, but for `#![no_std]`, `#![no_main]` and `shims::entry!(program);`:
//!
//! ```
//! use shims::{Stack, call};
//!
//! fn program(_: Stack) -> u8 {
//!     call::write_all(call::STDOUT, b"hi\n").is_err().into()
//! }
//! # fn main() {}
//! ```

#![no_std]

pub mod arch;
pub mod auxv;
pub mod buffer;
pub mod call;
mod entry;
pub mod errno;
pub mod stack;

pub use errno::Errno;
#[cfg(feature = "mem")]
pub use mem;
pub use stack::Stack;
