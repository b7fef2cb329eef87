//! A subject under ptrace(2), with all its threads and children, from its start until all are
//! gone: what every observer that traces has in common.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use libc::pid_t;

use super::tracee::{self, Report, Stop, Stopped};
use crate::deadline::Deadline;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::spawn::{self, Child, Prepared};

/// A subject, its threads and its children. Dropping it leaves none of them.
///
/// Every child and every traced thread of the thread that this is used on is taken for its own;
/// see [`spawn::alone`].
pub(crate) struct Family {
    /// The process id of the subject.
    pub first: pid_t,
    child: Child,
    program: PathBuf,
    limit: Option<Duration>,
    deadline: Option<Deadline>,
    /// All that have been heard of and have not ended.
    threads: HashSet<pid_t>,
    /// Those that were heard of before their parent told of their birth, which it will still do:
    /// running, and gone.
    early: HashSet<pid_t>,
    gone_early: HashSet<pid_t>,
    /// Whether the child is the subject by now.
    executed: bool,
    /// How the first process ended.
    exit: Option<Exit>,
}

/// What there is to tell of a family.
pub(crate) enum News {
    /// A thread has stopped, and stays so until it is told to go on.
    Stopped {
        /// It.
        stopped: Stopped,
        /// A thread that is heard of for the first time: this one, or a child of it.
        born: Option<pid_t>,
    },
    /// A thread is gone.
    Ended(pid_t, Exit),
    /// All are gone; the first process ended like this.
    Over(Exit),
}

impl Family {
    /// Starts the subject, on one processor with its tracer. `seize` decides what stops it.
    pub fn start(
        prepared: Prepared,
        limit: Option<Duration>,
        seize: fn(pid_t) -> io::Result<()>,
    ) -> Result<Self> {
        spawn::pin();
        let program = prepared.program.clone();
        let child = prepared.fork()?;
        let deadline = limit.map(Deadline::after).transpose()?;
        spawn::let_sigchld_through()?;
        seize(child.pid).map_err(Error::MayNotTrace)?;
        let mut family = Family {
            first: child.pid,
            threads: HashSet::from([child.pid]),
            child,
            program,
            limit,
            deadline,
            early: HashSet::new(),
            gone_early: HashSet::new(),
            executed: false,
            exit: None,
        };
        family.child.release();
        Ok(family)
    }

    /// Waits for what comes next.
    ///
    /// Fails when the child ended without having become the subject, and when the time is up.
    pub fn news(&mut self) -> Result<News> {
        if self.threads.is_empty() {
            // The clock alone is no reason to wait.
            self.deadline = None;
        }
        match tracee::wait().map_err(|e| Error::io("wait4", e))? {
            Some(Report::Stopped(stopped)) => {
                let born = self.heard_of(&stopped);
                Ok(News::Stopped { stopped, born })
            }
            Some(Report::Ended(tid, how)) => self.ended(tid, how),
            None => self.exit.take().map(News::Over).ok_or_else(|| {
                // Another thread of this program has waited for all children of the process.
                Error::io(
                    "wait4: somebody else reaped the subject",
                    io::Error::from_raw_os_error(libc::ECHILD),
                )
            }),
        }
    }

    /// Keeps account of who there is. Gives a thread that was not known.
    fn heard_of(&mut self, stopped: &Stopped) -> Option<pid_t> {
        let tid = stopped.tid;
        if self.threads.insert(tid) {
            self.early.insert(tid);
            return Some(tid);
        }
        match stopped.why {
            Stop::Birth => {
                // Nothing to hear from one that has been killed.
                let child = stopped.message().ok()?;
                if self.early.remove(&child) {
                    return None;
                }
                if !self.gone_early.remove(&child) {
                    self.threads.insert(child);
                }
                Some(child)
            }
            Stop::Exec => {
                // It goes by its leader's id from here on, which is in the list already.
                self.threads.remove(&stopped.message().unwrap_or(tid));
                self.threads.insert(tid);
                self.executed = true;
                None
            }
            _ => None,
        }
    }

    fn ended(&mut self, tid: pid_t, how: Exit) -> Result<News> {
        let deadline = self.deadline.as_mut();
        if deadline.is_some_and(|deadline| deadline.is_passed_by(tid)) {
            return Err(Error::TimedOut {
                path: self.program.clone(),
                seconds: self.limit.unwrap_or_default().as_secs_f64(),
            });
        }
        if !self.threads.remove(&tid) {
            self.gone_early.insert(tid);
        }
        if tid == self.first {
            if !self.executed {
                return Err(self.child.refusal());
            }
            self.exit = Some(how.clone());
        }
        Ok(News::Ended(tid, how))
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        self.deadline = None;
        tracee::end(self.threads.iter().copied());
    }
}
