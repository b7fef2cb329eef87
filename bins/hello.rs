//! `hello`: prints one line.
//!
//! System calls: execve, write, exit_group. More writes when the kernel takes only a part of the
//! line or a signal comes first; when it takes none, a line on stderr by one writev, and exit 1.
//! A pipe that nobody reads ends it by SIGPIPE, as any program, unless that signal is ignored.

#![no_std]
#![no_main]

use shims::call::{self, STDERR, STDOUT};
use shims::{Stack, reasons};

shims::entry!(main);

fn main(_: Stack) -> u8 {
    let Err(error) = call::write_all(STDOUT, b"hello, world\n") else {
        return 0;
    };
    // The errors of write(2) that a standard output can give.
    let reason = reasons![EBADF, ENOSPC, EPIPE, EIO, EAGAIN, EDQUOT].of(error);
    // Where to report an error of reporting an error?
    let _ = call::writev(STDERR, &[b"hello: stdout: E".into(), reason.into()]);
    1
}
