//! The loop: one stop of one thread after the other, until all are gone.

use std::collections::HashMap;
use std::fs;
use std::io;

use libc::{c_int, pid_t};

use super::restart::{Interrupted, Place};
use super::tracee::{self, CallStop, End, Report, Stop, Stopped};
use super::{Arch, Call, Method, Trace};
use crate::deadline::Deadline;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::spawn;
use crate::subject::Subject;

/// Traces one run of a subject. Every child and every traced thread of the thread that this runs
/// on is taken for its own; see [`spawn::alone`].
pub(super) fn run(subject: &Subject, method: Method) -> Result<Trace> {
    let prepared = spawn::prepare(subject)?;
    let program = prepared.program.clone();
    let [path, argv, envp] = prepared.execve_arguments();
    let mut notes: Vec<String> = spawn::lost_privileges(&program).into_iter().collect();

    spawn::pin();
    let (prepared, seize) = match method {
        Method::Syscalls => (prepared, tracee::seize as fn(pid_t) -> io::Result<()>),
        Method::Filter => (prepared.filtered(), tracee::seize_filtered as _),
    };
    if method == Method::Filter {
        notes.push(UNSEEN.to_owned());
    }
    let mut child = prepared.fork()?;
    let deadline = subject.timeout.map(Deadline::after).transpose()?;
    spawn::let_sigchld_through()?;
    seize(child.pid).map_err(Error::MayNotTrace)?;
    let execve = [path, argv, envp, 0, 0, 0];
    let mut tracer = Tracer::of(child.pid, execve, method, deadline);
    child.release();

    match tracer.run()? {
        Outcome::Done(exit) => Ok(Trace {
            subject: subject.clone(),
            program,
            calls: std::mem::take(&mut tracer.calls),
            exit,
            processes: tracer.processes,
            threads: tracer.born,
            notes,
        }),
        Outcome::NeverBegan => Err(child.refusal()),
        Outcome::TimedOut => Err(Error::TimedOut {
            path: program,
            seconds: subject.timeout.unwrap_or_default().as_secs_f64(),
        }),
    }
}

/// What a filter cannot see.
const UNSEEN: &str = "counted by a seccomp filter: a call that a signal cut short and the kernel \
                      began again counts twice, and a program that would gain privileges \
                      (set-user-ID and the like) runs without them";

enum Outcome {
    /// All is gone; the first process ended like this.
    Done(Exit),
    /// The child ended without an execve.
    NeverBegan,
    /// Something still ran at the deadline.
    TimedOut,
}

/// What is known of a subject's threads while they run. Dropping it leaves none of them.
struct Tracer {
    /// By thread id. In it are all that have been heard of and have not ended.
    threads: HashMap<pid_t, Thread>,
    /// Those that stopped for the first time before their parent told of their birth, which it
    /// will still do, perhaps when they are gone.
    early: Vec<pid_t>,
    /// The process id of the subject.
    first: pid_t,
    /// The arguments of the call that starts the subject, made where nothing is counted.
    execve: [u64; 6],
    /// At which of their stops calls are looked at.
    method: Method,
    calls: Vec<Call>,
    /// How many threads there have been, and how many of them began a process.
    born: usize,
    processes: usize,
    deadline: Option<Deadline>,
}

/// What is known of one thread.
struct Thread {
    /// Its place in the order of birth.
    index: usize,
    /// The call that it is in, by its place in the list of calls.
    call: Option<usize>,
    interrupted: Interrupted,
}

impl Tracer {
    fn of(first: pid_t, execve: [u64; 6], method: Method, deadline: Option<Deadline>) -> Self {
        let thread = Thread {
            index: 0,
            call: None,
            interrupted: Interrupted::default(),
        };
        Tracer {
            threads: HashMap::from([(first, thread)]),
            early: Vec::new(),
            first,
            execve,
            method,
            calls: Vec::new(),
            born: 1,
            processes: 1,
            deadline,
        }
    }

    fn run(&mut self) -> Result<Outcome> {
        let mut exit = None;
        loop {
            if self.threads.is_empty() {
                // The clock alone is no reason to wait.
                self.deadline = None;
            }
            match tracee::wait().map_err(|e| Error::io("wait4", e))? {
                Some(Report::Stopped(stopped)) => self.stopped(stopped)?,
                Some(Report::Ended(tid, how)) => {
                    if self
                        .deadline
                        .as_mut()
                        .is_some_and(|deadline| deadline.is_passed_by(tid))
                    {
                        return Ok(Outcome::TimedOut);
                    }
                    self.threads.remove(&tid);
                    if tid == self.first {
                        exit = Some(how);
                    }
                }
                None if self.calls.is_empty() => return Ok(Outcome::NeverBegan),
                None => break,
            }
        }
        exit.map(Outcome::Done).ok_or_else(|| {
            // Another thread of this program has waited for all children of the process.
            Error::io(
                "wait4: somebody else reaped the subject",
                io::Error::from_raw_os_error(libc::ECHILD),
            )
        })
    }

    /// Notes what a thread has stopped for, and sends it on.
    fn stopped(&mut self, stopped: Stopped) -> Result<()> {
        let tid = stopped.tid;
        // The first stop of a thread is never a call.
        if !matches!(stopped.why, Stop::Call) && !self.threads.contains_key(&tid) {
            self.begin(tid);
            self.early.push(tid);
        }
        let mut signal = 0;
        match stopped.why {
            // What the child does before it is the subject is not the subject's.
            Stop::Call if self.calls.is_empty() => {}
            Stop::Call => {
                let stop = stopped.call().map_err(|e| {
                    Error::io("PTRACE_GET_SYSCALL_INFO (Linux 5.3 or later is needed)", e)
                })?;
                if let Some(stop) = stop {
                    self.call(tid, &stop);
                }
            }
            Stop::Exec => self.executed(&stopped),
            Stop::Birth => {
                // Nothing to hear from one that has been killed.
                if let Ok(child) = stopped.message() {
                    match self.early.iter().position(|&early| early == child) {
                        Some(known) => drop(self.early.swap_remove(known)),
                        None => self.begin(child),
                    }
                }
            }
            Stop::Signal(received) => {
                self.receives(tid, received);
                signal = received;
            }
            Stop::Group => {
                return stopped
                    .stay_stopped()
                    .map_err(|e| Error::io("PTRACE_LISTEN", e));
            }
            Stop::Exit | Stop::Other => {}
        }
        let gone_on = match self.method {
            Method::Syscalls if !self.calls.is_empty() => stopped.until_next_call(signal),
            _ => stopped.until_next_event(signal),
        };
        gone_on.map_err(|e| Error::io("PTRACE_SYSCALL", e))
    }

    /// A new thread.
    fn begin(&mut self, tid: pid_t) {
        // A thread that leads a thread group is a process.
        // SAFETY: three numbers; signal 0 is only a question.
        if unsafe { libc::syscall(libc::SYS_tgkill, tid, tid, 0) } == 0 {
            self.processes += 1;
        }
        let thread = Thread {
            index: self.born,
            call: None,
            interrupted: Interrupted::default(),
        };
        self.threads.insert(tid, thread);
        self.born += 1;
    }

    /// One end of a call.
    fn call(&mut self, tid: pid_t, stop: &CallStop) {
        let Some(thread) = self.threads.get_mut(&tid) else {
            return;
        };
        let at = Place {
            instruction: stop.instruction,
            stack: stop.stack,
        };
        match stop.end {
            End::Entry { arch, number, args } => {
                let (arch, number) = Arch::of(arch, number);
                let name = arch.name(number);
                let restart = thread.interrupted.entry(arch, number, name, at);
                thread.call = Some(self.calls.len());
                self.calls.push(Call {
                    thread: thread.index,
                    arch,
                    number,
                    name,
                    args,
                    result: None,
                    restart,
                });
            }
            End::Exit(result) => {
                if let Some(call) = thread.call.take() {
                    let call = &mut self.calls[call];
                    call.result = Some(result);
                    thread.interrupted.exit(call, result, at);
                }
            }
        }
    }

    /// A new program. The thread that executed it goes by its leader's id from here on; whatever
    /// the leader was before is gone, and the ends of all others are still reported.
    fn executed(&mut self, stopped: &Stopped) {
        // One that has been killed meanwhile has nothing more to tell than its end.
        let before = stopped.message().unwrap_or(stopped.tid);
        if let Some(mut thread) = self.threads.remove(&before) {
            thread.interrupted = Interrupted::default();
            if self.calls.is_empty() {
                // The start of the subject. Its result comes with the next stop.
                let number = libc::SYS_execve;
                thread.call = Some(0);
                self.calls.push(Call {
                    thread: thread.index,
                    arch: Arch::OWN,
                    number,
                    name: Arch::OWN.name(number),
                    args: self.execve,
                    result: None,
                    restart: false,
                });
            }
            self.threads.insert(stopped.tid, thread);
        }
    }

    /// A signal is about to be delivered. A call that it cut short is only restarted at once
    /// when the signal has no handler.
    fn receives(&mut self, tid: pid_t, signal: c_int) {
        if let Some(thread) = self.threads.get_mut(&tid)
            && thread.interrupted.is_due()
            && has_handler(tid, signal)
        {
            thread.interrupted.handled();
        }
    }
}

/// Whether a thread has a handler for a signal: by its line in /proc, see proc(5).
fn has_handler(tid: pid_t, signal: c_int) -> bool {
    let status = fs::read_to_string(format!("/proc/{tid}/status")).unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("SigCgt:"))
        .and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok())
        .is_some_and(|caught| caught >> (signal - 1) & 1 == 1)
}

impl Drop for Tracer {
    fn drop(&mut self) {
        self.deadline = None;
        tracee::end(self.threads.keys().copied());
    }
}
