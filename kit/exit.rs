//! How a process ended.

use std::fmt;

use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Exit {
    /// By exit_group(2) or the last thread's exit(2): the low 8 bits of its argument.
    Exited(i32),
    /// By a signal: its name, as in "SIGSEGV". Signals without a name of their own are
    /// counted from the kernel's first real-time signal, 32 (signal(7)): "SIGRT_2".
    Signaled(String),
}

impl Exit {
    /// From the status of wait(2). None when it tells of a stop.
    pub(crate) fn from_status(status: i32) -> Option<Self> {
        if libc::WIFEXITED(status) {
            Some(Exit::Exited(libc::WEXITSTATUS(status)))
        } else if libc::WIFSIGNALED(status) {
            Some(Exit::Signaled(signal_name(libc::WTERMSIG(status))))
        } else {
            None
        }
    }
}

fn signal_name(number: i32) -> String {
    const FIRST_REAL_TIME: i32 = 32; // SIGRTMIN of the kernel, asm-generic/signal.h
    match Signal::try_from(number) {
        Ok(signal) => signal.as_str().to_owned(),
        Err(_) => format!("SIGRT_{}", number - FIRST_REAL_TIME),
    }
}

/// "exited with 0", "killed by SIGSEGV".
impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Exited(code) => write!(f, "exited with {code}"),
            Exit::Signaled(signal) => write!(f, "killed by {signal}"),
        }
    }
}
