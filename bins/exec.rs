//! `exec PATH [ARG…]`: runs PATH with the arguments ARG… and the environment as it is.
//!
//! System calls: execve, then PATH's execve, with nothing between. When that fails, one writev
//! with one line on stderr, and exit_group; without a PATH, one write and exit_group. PATH is not
//! searched for in directories.
//!
//! Exit status, as of env(1): 127 when there is no PATH, 126 when it cannot be run, 125 when no
//! PATH is given; otherwise that of the program at PATH.

#![no_std]
#![no_main]

use shims::call::{self, STDERR};
use shims::{Errno, Stack, reasons};

shims::entry!(main);

fn main(stack: Stack) -> u8 {
    let Some((path, args)) = stack.args_from(1) else {
        let _ = call::write(STDERR, b"usage: exec PATH [ARG]...\n");
        return 125;
    };
    let error = call::execve(path, args, stack.env());
    // The errors of execve(2) that a launcher's user meets.
    let reason = reasons![
        ENOENT,
        EACCES,
        ENOEXEC,
        ENOTDIR,
        E2BIG,
        ENOMEM,
        ETXTBSY,
        ELOOP,
        EPERM,
        ENAMETOOLONG
    ]
    .of(error);
    let line = [
        b"exec: ".into(),
        path.to_bytes().into(),
        b": E".into(),
        reason.into(),
    ];
    let _ = call::writev(STDERR, &line);
    if error == Errno::ENOENT { 127 } else { 126 }
}
