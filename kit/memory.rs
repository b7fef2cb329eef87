//! How much memory a program has at its end, and had at most.
//!
//! wait4(2) reports an `ru_maxrss`, but that of a child begins with what its parent had: the
//! memory of the launcher is taken for the program's. So the program is stopped where it ends
//! (PTRACE_EVENT_EXIT of ptrace(2)), when its memory is still there, and the kernel is asked.
//!
//! ```
//! use barest::Subject;
//! use barest::memory::memory;
//!
//! let used = memory(&Subject::new("/bin/true"))?;
//! assert!(used.peak_kb >= used.file_kb);
//! # Ok::<(), barest::Error>(())
//! ```

use std::fs;

use libc::pid_t;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::spawn;
use crate::subject::Subject;
use crate::trace::family::{Family, News};
use crate::trace::tracee::{self, Stop, Stopped};

/// The memory of a subject's first process, as the program that it ended as. Kilobytes of 1024
/// bytes, whole pages, as in /proc/PID/status: proc_pid_status(5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Memory {
    /// The most that was in memory at one time: `VmHWM`.
    pub peak_kb: u64,
    /// What belongs to no file, at the end: `RssAnon`.
    pub anonymous_kb: u64,
    /// What belongs to files, at the end: `RssFile`.
    pub file_kb: u64,
}

/// Runs a subject to its end, and asks for its memory there. Processes that it leaves are killed.
///
/// Fails when the subject cannot be run, may not be traced, is not done by its timeout, or is
/// killed before it can be asked, and leaves nothing of it running then.
pub fn memory(subject: &Subject) -> Result<Memory> {
    spawn::alone(|| {
        let prepared = spawn::prepare(subject)?;
        let mut family = Family::start(prepared, subject.timeout, tracee::seize_to_the_exit)?;
        let mut memory = None;
        let exit = loop {
            match family.news()? {
                News::Ended(tid, exit) if tid == family.first => break exit,
                News::Stopped { stopped, .. } => {
                    if matches!(stopped.why, Stop::Exit) {
                        memory = at_exit(family.first, stopped.tid).or(memory);
                    }
                    send_on(stopped)?;
                }
                News::Ended(..) => {}
                News::Over(exit) => break exit,
            }
        };
        memory.ok_or_else(|| Error::NotMeasured {
            subject: subject.to_string(),
            reason: format!("{exit} before its memory could be read; run it again"),
        })
    })
}

/// Lets a thread go on as it would untraced.
fn send_on(stopped: Stopped) -> Result<()> {
    match stopped.why {
        Stop::Signal(signal) => stopped.until_next_event(signal),
        Stop::Group => stopped.stay_stopped(),
        Stop::Call | Stop::Exec | Stop::Birth | Stop::Exit | Stop::Other => {
            stopped.until_next_event(0)
        }
    }
    .map_err(|e| Error::io("PTRACE_CONT", e))
}

/// The memory of a process, asked of a thread of it that is about to end; None of another
/// process's thread. The last thread sees the most.
fn at_exit(process: pid_t, thread: pid_t) -> Option<Memory> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    let number = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':')
            .split_whitespace()
            .next()?
            .parse::<u64>()
            .ok()
    };
    (number("Tgid") == u64::try_from(process).ok()).then_some(())?;
    Some(Memory {
        peak_kb: number("VmHWM")?,
        anonymous_kb: number("RssAnon")?,
        file_kb: number("RssFile")?,
    })
}
