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

use std::collections::HashSet;
use std::fs;

use libc::pid_t;
use serde::Serialize;

use crate::deadline::Deadline;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::spawn;
use crate::subject::Subject;
use crate::trace::tracee::{self, Report, Stop};

/// The memory of a subject's first process, as the program that it ended as. Kilobytes of 1024
/// bytes, whole pages, as in /proc/PID/status: proc_pid_status(5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
        let program = prepared.program.clone();
        spawn::pin();
        let mut child = prepared.fork()?;
        let deadline = subject.timeout.map(Deadline::after).transpose()?;
        spawn::let_sigchld_through()?;
        tracee::seize_to_the_exit(child.pid).map_err(Error::MayNotTrace)?;
        let mut watch = Watch {
            first: child.pid,
            threads: HashSet::from([child.pid]),
            executed: false,
            deadline,
            memory: None,
        };
        child.release();
        match watch.run()? {
            Outcome::Ended(_) if !watch.executed => Err(child.refusal()),
            Outcome::Ended(exit) => watch.memory.ok_or_else(|| Error::NotMeasured {
                subject: subject.to_string(),
                reason: format!("{exit} before its memory could be read; run it again"),
            }),
            Outcome::TimedOut => Err(Error::TimedOut {
                path: program,
                seconds: subject.timeout.unwrap_or_default().as_secs_f64(),
            }),
        }
    })
}

enum Outcome {
    /// The first process has ended.
    Ended(Exit),
    /// It still ran at the deadline.
    TimedOut,
}

/// A traced subject. Dropping it leaves nothing of it.
struct Watch {
    /// The process id of the subject.
    first: pid_t,
    /// All threads that have been heard of and have not ended.
    threads: HashSet<pid_t>,
    /// Whether the child is the subject by now.
    executed: bool,
    deadline: Option<Deadline>,
    /// What was read last.
    memory: Option<Memory>,
}

impl Watch {
    fn run(&mut self) -> Result<Outcome> {
        loop {
            let report = tracee::wait().map_err(|e| Error::io("wait4", e))?;
            let Some(report) = report else {
                return Err(Error::io(
                    "wait4: somebody else reaped the subject",
                    std::io::Error::from_raw_os_error(libc::ECHILD),
                ));
            };
            let stopped = match report {
                Report::Stopped(stopped) => stopped,
                Report::Ended(tid, how) => {
                    if self
                        .deadline
                        .as_mut()
                        .is_some_and(|it| it.is_passed_by(tid))
                    {
                        return Ok(Outcome::TimedOut);
                    }
                    self.threads.remove(&tid);
                    if tid == self.first {
                        return Ok(Outcome::Ended(how));
                    }
                    continue;
                }
            };
            self.threads.insert(stopped.tid);
            let signal = match stopped.why {
                Stop::Signal(signal) => signal,
                Stop::Group => {
                    let stayed = stopped.stay_stopped();
                    stayed.map_err(|e| Error::io("PTRACE_LISTEN", e))?;
                    continue;
                }
                Stop::Exec => {
                    self.executed = true;
                    0
                }
                Stop::Exit => {
                    self.memory = at_exit(self.first, stopped.tid).or(self.memory);
                    0
                }
                Stop::Call | Stop::Birth | Stop::Other => 0,
            };
            let gone_on = stopped.until_next_event(signal);
            gone_on.map_err(|e| Error::io("PTRACE_CONT", e))?;
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.deadline = None;
        tracee::end(self.threads.iter().copied());
    }
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
