//! The loop: one stop of one thread after the other, until all are gone.

use std::collections::HashMap;
use std::fs;
use std::io;

use libc::{c_int, pid_t};

use super::family::{Family, News};
use super::restart::{Interrupted, Place};
use super::tracee::{self, CallStop, End, Stop, Stopped};
use super::{Arch, Call, Method, Trace};
use crate::error::{Error, Result};
use crate::spawn;
use crate::subject::Subject;

/// Looks at the threads of a subject at the calls that they make, while they are stopped there.
pub(crate) trait Watch {
    /// A thread is about to enter the kernel for a call, which is new in the list.
    fn begins(&mut self, _stopped: &Stopped, _call: &Call) -> io::Result<()> {
        Ok(())
    }

    /// A call, by its place in the list, has its result.
    fn ends(&mut self, _stopped: &Stopped, _at: usize, _call: &Call) -> io::Result<()> {
        Ok(())
    }

    /// A thread is at the first instruction of a new program. Its call, by its place in the list, is
    /// new there when it is the one that starts the subject.
    fn executed(&mut self, _stopped: &Stopped, _at: usize, _call: &Call) -> io::Result<()> {
        Ok(())
    }

    /// A thread is about to receive a signal. Whether it was sent for the watcher's own doing, and is
    /// not to be delivered.
    fn takes(&mut self, _stopped: &Stopped, _signal: c_int) -> io::Result<bool> {
        Ok(false)
    }

    /// A thread is gone, and its id may become another's.
    fn ended(&mut self, _tid: pid_t) {}
}

/// Nobody looks.
impl Watch for () {}

/// Traces one run of a subject, on a thread of its own ([`crate::spawn::alone`]).
pub(crate) fn run(subject: &Subject, method: Method, watch: &mut impl Watch) -> Result<Trace> {
    let prepared = spawn::prepare(subject)?;
    let program = prepared.program.clone();
    let [path, argv, envp] = prepared.execve_arguments();
    let mut notes: Vec<String> = spawn::lost_privileges(&program).into_iter().collect();
    let mut tracer = Tracer {
        threads: HashMap::new(),
        execve: [path, argv, envp, 0, 0, 0],
        method,
        calls: Vec::new(),
        born: 0,
        processes: 0,
        watch,
    };
    let mut family = match method {
        Method::Syscalls => Family::start(prepared, subject.timeout, tracee::seize)?,
        Method::Filter => {
            notes.push(UNSEEN.to_owned());
            Family::start(prepared.filtered(), subject.timeout, tracee::seize_filtered)?
        }
    };
    tracer.begin(family.first);
    let exit = loop {
        match family.news()? {
            News::Stopped { stopped, born } => {
                born.into_iter().for_each(|tid| tracer.begin(tid));
                tracer.stopped(stopped)?;
            }
            News::Ended(tid, _) => {
                tracer.threads.remove(&tid);
                tracer.watch.ended(tid);
            }
            News::Over(exit) => break exit,
        }
    };
    Ok(Trace {
        subject: subject.clone(),
        program,
        calls: tracer.calls,
        exit,
        processes: tracer.processes,
        threads: tracer.born,
        notes,
    })
}

/// What a filter cannot see.
const UNSEEN: &str = "counted by a seccomp filter: a call that a signal cut short and the kernel \
                      began again counts twice, and a program that would gain privileges \
                      (set-user-ID and the like) runs without them";

/// What is known of a subject's threads while they run.
struct Tracer<'w, W> {
    /// By thread id.
    threads: HashMap<pid_t, Thread>,
    /// The arguments of the call that starts the subject, made where nothing is counted.
    execve: [u64; 6],
    /// At which of their stops calls are looked at.
    method: Method,
    calls: Vec<Call>,
    /// How many threads there have been, and how many of them began a process.
    born: usize,
    processes: usize,
    watch: &'w mut W,
}

/// What is known of one thread.
struct Thread {
    /// Its place in the order of birth.
    index: usize,
    /// The call that it is in, by its place in the list of calls.
    call: Option<usize>,
    interrupted: Interrupted,
}

impl<W: Watch> Tracer<'_, W> {
    /// Notes what a thread has stopped for, and sends it on.
    fn stopped(&mut self, stopped: Stopped) -> Result<()> {
        let tid = stopped.tid;
        let mut signal = 0;
        match stopped.why {
            // What the child does before it is the subject is not the subject's.
            Stop::Call if self.calls.is_empty() => {}
            Stop::Call => {
                let stop = stopped.call().map_err(|e| {
                    Error::io("PTRACE_GET_SYSCALL_INFO (Linux 5.3 or later is needed)", e)
                })?;
                if let Some(stop) = stop {
                    self.call(&stopped, &stop)
                        .map_err(|e| Error::io("ptrace, to look at a call", e))?;
                }
            }
            Stop::Exec => self
                .executed(&stopped)
                .map_err(|e| Error::io("ptrace, to look at a new program", e))?,
            Stop::Signal(received) => {
                let taken = self.watch.takes(&stopped, received);
                if !taken.map_err(|e| Error::io("ptrace, to look at a signal", e))? {
                    self.receives(tid, received);
                    signal = received;
                }
            }
            Stop::Group => {
                return stopped
                    .stay_stopped()
                    .map_err(|e| Error::io("PTRACE_LISTEN", e));
            }
            Stop::Birth | Stop::Exit | Stop::Other => {}
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
    fn call(&mut self, stopped: &Stopped, stop: &CallStop) -> io::Result<()> {
        let Some(thread) = self.threads.get_mut(&stopped.tid) else {
            return Ok(());
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
                if let Some(call) = self.calls.last() {
                    self.watch.begins(stopped, call)?;
                }
            }
            End::Exit(result) => {
                if let Some(index) = thread.call.take() {
                    let call = &mut self.calls[index];
                    call.result = Some(result);
                    thread.interrupted.exit(call, result, at);
                    self.watch.ends(stopped, index, call)?;
                }
            }
        }
        Ok(())
    }

    /// A new program. The thread that executed it goes by its leader's id from here on; whatever
    /// the leader was before is gone, and the ends of all others are still reported.
    fn executed(&mut self, stopped: &Stopped) -> io::Result<()> {
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
            if let Some((index, call)) = thread.call.and_then(|at| Some((at, self.calls.get(at)?)))
            {
                self.watch.executed(stopped, index, call)?;
            }
            self.threads.insert(stopped.tid, thread);
        }
        Ok(())
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
