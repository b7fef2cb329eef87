//! Which system calls a program makes, in what order and with what result.
//!
//! A trace begins with the execve(2) that starts the program, which counts as one call, and
//! ends when the program, its threads and all processes that came of it are gone. Every entry
//! into the kernel is in it, a call that never returned as well (`exit_group`, a `read` at which
//! the process was killed).
//!
//! The program is left alone: it gets the signals that are sent to it, can be stopped and goes
//! on, and ends as it would untraced. It runs pinned to one processor together with its tracer,
//! and would see that by sched_getaffinity(2). When the tracer dies the program dies.
//!
//! ```
//! use barest::Subject;
//! use barest::trace::trace;
//!
//! let seen = trace(&Subject::new("/bin/true"))?;
//! assert_eq!(seen.names().next().as_deref(), Some("execve"));
//! assert_eq!(seen.names().last().as_deref(), Some("exit_group"));
//! assert_eq!(seen.exit.to_string(), "exited with 0");
//! # Ok::<(), barest::Error>(())
//! ```

pub(crate) mod family;
mod names;
mod restart;
pub(crate) mod tracee;
pub(crate) mod tracer;

use std::borrow::Cow;
use std::path::PathBuf;

use serde::{Serialize, Serializer};

pub use crate::exit::Exit;
pub use names::Arch;

use crate::error::Result;
use crate::spawn;
use crate::subject::{Subject, escaped};

/// All system calls of one run of a subject.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Trace {
    /// What was run.
    pub subject: Subject,
    /// The file that was run, as it was found.
    #[serde(serialize_with = "escaped")]
    pub program: PathBuf,
    /// Every entry into the kernel, in the order in which they were seen. Between threads
    /// that order can differ from run to run; within one it is the program's.
    pub calls: Vec<Call>,
    /// How the first process ended.
    pub exit: Exit,
    /// How many processes there were, the first included.
    pub processes: usize,
    /// How many threads there were in all processes together; each process has at least one.
    pub threads: usize,
    /// What a reader must know to judge the rest.
    pub notes: Vec<String>,
}

/// One system call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Call {
    /// Which thread made it: 0 for the first one of the subject, then in the order of birth.
    pub thread: usize,
    /// Whose table its number is from.
    pub arch: Arch,
    /// Its number there.
    pub number: i64,
    /// Its name there. None for a number without a name.
    pub name: Option<&'static str>,
    /// Its six argument registers, used or not. In JSON text in hex, as "0x1f": numbers of 64
    /// bits are more than JSON's readers can be trusted with.
    #[serde(serialize_with = "hex")]
    pub args: [u64; 6],
    /// What it returned: below zero an errno (errno(3)), and from -512 to -516 a call that a
    /// signal cut short (linux/errno.h, ERESTARTSYS and others). None when it never returned, and
    /// for all calls with [`Method::Filter`].
    pub result: Option<i64>,
    /// Whether the kernel made it, to go on with one that a signal had cut short.
    pub restart: bool,
}

fn hex<S: Serializer>(args: &[u64; 6], to: S) -> std::result::Result<S::Ok, S::Error> {
    to.collect_seq(args.iter().map(|arg| format!("{arg:#x}")))
}

impl Call {
    /// Its name, or its number as in "syscall_999".
    pub fn label(&self) -> Cow<'static, str> {
        match self.name {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(format!("syscall_{}", self.number)),
        }
    }
}

impl Trace {
    /// The names of the calls that the program made, in their order, restarts left out.
    /// A call without a name goes by its number, as in "syscall_999".
    pub fn names(&self) -> impl Iterator<Item = Cow<'static, str>> {
        self.calls
            .iter()
            .filter(|call| !call.restart)
            .map(Call::label)
    }

    /// How many calls the program made, restarts left out.
    pub fn count(&self) -> usize {
        self.calls.len() - self.restarts()
    }

    /// How many calls the kernel made, to go on with calls that signals had cut short.
    pub fn restarts(&self) -> usize {
        self.calls.iter().filter(|call| call.restart).count()
    }
}

/// Runs a subject to its end and traces it, its threads and its children.
///
/// Several threads may trace at once, and start and wait for other children meanwhile; only a
/// wait for *any* child (`waitpid(-1)`) in another thread would take the tracer's reports.
///
/// Fails when the subject cannot be run, may not be traced, or is not done by its timeout, and
/// leaves nothing of it running then. A subject that fails or dies by a signal is no error.
/// Linux 5.9 or later is needed.
pub fn trace(subject: &Subject) -> Result<Trace> {
    trace_by(subject, Method::Syscalls)
}

/// How calls are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Where they begin and where they end, so that results and restarts are seen.
    #[default]
    Syscalls,
    /// Only where they begin, by a seccomp filter, in half the time: no call has a result, and a
    /// restart looks like a new call. The subject runs with no_new_privs (prctl(2)).
    Filter,
}

/// Traces as [`trace`] does, by either method.
pub fn trace_by(subject: &Subject, method: Method) -> Result<Trace> {
    spawn::alone(|| tracer::run(subject, method, &mut ()))
}
