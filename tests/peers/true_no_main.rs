//! Exits 0 without Rust's runtime: the C library calls this `main` itself.

#![no_main]

use std::ffi::{c_char, c_int};

#[unsafe(no_mangle)]
extern "C" fn main(_argc: c_int, _argv: *const *const c_char) -> c_int {
    0
}
