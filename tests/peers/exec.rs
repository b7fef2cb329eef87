//! `exec PATH [ARG...]`: runs PATH with ARGs and the environment untouched.
//! Exits 127 when PATH is not there, 126 when it cannot be run, 125 when it was not named.
//!
//! `CommandExt::exec` looks PATH up in $PATH only when it holds no slash.

use std::env::args_os;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::{Command, exit};

fn main() {
    let mut args = args_os().skip(1);
    let Some(path) = args.next() else { exit(125) };
    let error = Command::new(path).args(args).exec();
    exit(if error.kind() == ErrorKind::NotFound {
        127
    } else {
        126
    });
}
