//! `exec PATH [ARG...]` without Rust's runtime: the C library calls this `main` itself.
//! Exits 127 when PATH is not there, 126 when it cannot be run, 125 when it was not named.

#![no_main]

use std::ffi::{c_char, c_int};
use std::io::{Error, ErrorKind};

unsafe extern "C" {
    static environ: *const *const c_char;

    fn execve(path: *const c_char, argv: *const *const c_char, envp: *const *const c_char)
    -> c_int;
}

#[unsafe(no_mangle)]
extern "C" fn main(argc: c_int, argv: *const *const c_char) -> c_int {
    if argc < 2 {
        return 125;
    }
    // SAFETY: the C library passes `argc` arguments and a null pointer after them; so argv[1]
    // is a C string, and the list from there on ends in a null pointer, as `environ` does.
    unsafe { execve(*argv.add(1), argv.add(1), environ) };
    match Error::last_os_error().kind() {
        ErrorKind::NotFound => 127,
        _ => 126,
    }
}
