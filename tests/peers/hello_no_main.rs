//! One line to stdout by std, without Rust's runtime: the C library calls this `main` itself.

#![no_main]

use std::ffi::{c_char, c_int};
use std::io::{Write, stdout};

#[unsafe(no_mangle)]
extern "C" fn main(_argc: c_int, _argv: *const *const c_char) -> c_int {
    c_int::from(stdout().write_all(b"hello, world\n").is_err())
}
