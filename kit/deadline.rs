//! A limit on how long an observer waits for its children.
//!
//! An observer sleeps in wait4(2), and only a child can wake it there. So the clock is a child
//! too: it sleeps as long as the subject may run, and ends. No other thread kills anything,
//! so nothing is killed by a process id that meanwhile belongs to somebody else.

use std::io;
use std::ptr;
use std::time::Duration;

use crate::error::{Error, Result};

/// A child of this thread that ends when the time is up. Dropping it ends it before.
pub(crate) struct Deadline {
    /// None once it has been reaped.
    pid: Option<libc::pid_t>,
}

impl Deadline {
    /// Starts the clock. To be called on a thread where every signal is blocked.
    pub fn after(limit: Duration) -> Result<Self> {
        let time = libc::timespec {
            tv_sec: limit.as_secs().try_into().unwrap_or(libc::time_t::MAX),
            tv_nsec: limit.subsec_nanos().into(),
        };
        // A plain clone(2) without flags: a fork that sends no signal when it ends, so that it
        // can be waited for also in a process that ignores SIGCHLD.
        // SAFETY: the child makes system calls only, down to its _exit.
        match unsafe { libc::syscall(libc::SYS_clone, 0, 0, 0, 0, 0) } {
            -1 => Err(Error::io("fork", io::Error::last_os_error())),
            // SAFETY: numbers, and a timespec that is on the stack; every signal is blocked.
            0 => unsafe {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                // It must not hold the other end of anybody's pipe.
                libc::syscall(libc::SYS_close_range, 0, u32::MAX, 0);
                libc::nanosleep(&time, ptr::null_mut());
                libc::_exit(0)
            },
            pid => Ok(Deadline {
                pid: Some(pid as libc::pid_t),
            }),
        }
    }

    /// Whether it was this child whose end wait4 has just reported: the time is up.
    pub fn is_passed_by(&mut self, ended: libc::pid_t) -> bool {
        self.pid.take_if(|pid| *pid == ended).is_some()
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        if let Some(pid) = self.pid {
            // SAFETY: it is a child of this thread that nobody has reaped.
            unsafe {
                libc::kill(pid, libc::SIGKILL);
                libc::waitpid(pid, ptr::null_mut(), libc::__WALL);
            }
        }
    }
}
