//! A traced thread, and what can be done to it.
//!
//! Nearly every ptrace(2) request is only valid while its thread is stopped. So a stopped thread
//! is a value, [`Stopped`], which [`wait`] hands out and each way to go on uses up: what needs a
//! stopped thread cannot be asked of a running one.

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::ptr;

use libc::{c_int, c_uint, pid_t};

use crate::exit::Exit;

/// linux/ptrace.h; the libc crate has it for other C libraries only.
const PTRACE_EVENT_STOP: c_int = 128;

/// What wait4 has to tell of a child or a traced thread.
pub(crate) enum Report {
    /// It has stopped, and stays so until it is told to go on.
    Stopped(Stopped),
    /// It is gone.
    Ended(pid_t, Exit),
}

/// A traced thread that is stopped.
#[must_use = "it stays stopped until it is told to go on"]
pub(crate) struct Stopped {
    /// Its thread id.
    pub tid: pid_t,
    /// Why it stopped.
    pub why: Stop,
}

/// Why a thread stopped: ptrace(2), "Stopped states".
#[derive(Clone, Copy)]
pub(crate) enum Stop {
    /// A system call begins or ends.
    Call,
    /// It has executed a new program. The other threads of its process are gone, and it has
    /// the leader's thread id from now on, whichever thread it was.
    Exec,
    /// It has made a new thread or process, which is traced as well.
    Birth,
    /// It is about to receive this signal.
    Signal(c_int),
    /// A signal has stopped its whole process, traced or not.
    Group,
    /// Nothing of its own doing: it has just been born, or its process goes on after a group stop.
    Other,
}

impl Stop {
    fn from_status(status: c_int) -> Self {
        const CALL: c_int = libc::SIGTRAP | 0x80; // PTRACE_O_TRACESYSGOOD
        match (status >> 16, libc::WSTOPSIG(status)) {
            (0, CALL) => Stop::Call,
            (0, signal) => Stop::Signal(signal),
            (libc::PTRACE_EVENT_EXEC, _) => Stop::Exec,
            (libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE, _) => {
                Stop::Birth
            }
            (PTRACE_EVENT_STOP, libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU) => {
                Stop::Group
            }
            _ => Stop::Other,
        }
    }
}

/// Waits for any child or traced thread of this thread, and of no other one of this process.
/// None when there is none left.
pub(crate) fn wait() -> io::Result<Option<Report>> {
    let mut status = 0;
    loop {
        // SAFETY: the kernel writes one int.
        let tid = unsafe {
            libc::wait4(
                -1,
                &mut status,
                libc::__WALL | libc::__WNOTHREAD,
                ptr::null_mut(),
            )
        };
        if tid >= 0 {
            return Ok(Some(match Exit::from_status(status) {
                Some(exit) => Report::Ended(tid, exit),
                None => Report::Stopped(Stopped {
                    tid,
                    why: Stop::from_status(status),
                }),
            }));
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::ECHILD) => return Ok(None),
            Some(libc::EINTR) => {}
            _ => return Err(error),
        }
    }
}

/// Traces a running thread, its threads and its children; all of them die with the tracer.
pub(crate) fn seize(pid: pid_t) -> io::Result<()> {
    let options = libc::PTRACE_O_EXITKILL
        | libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACECLONE;
    request(libc::PTRACE_SEIZE, pid, 0, options as usize)
}

/// One end of a system call.
pub(crate) struct CallStop {
    /// The instruction after the one that makes the call, or where the call returns to.
    pub instruction: u64,
    /// The stack pointer.
    pub stack: u64,
    /// Which end.
    pub end: End,
}

/// Which end of a system call a thread is at.
pub(crate) enum End {
    /// The kernel is about to carry it out.
    Entry {
        /// Whose number it is: an AUDIT_ARCH of linux/audit.h.
        arch: u32,
        /// Which call.
        number: u64,
        /// Its arguments, all six registers.
        args: [u64; 6],
    },
    /// The kernel has carried it out: its result, or an errno below zero.
    Exit(i64),
}

impl Stopped {
    /// Which end of which call it is at. None when it is at none, or has been killed meanwhile.
    pub fn call(&self) -> io::Result<Option<CallStop>> {
        let mut info = MaybeUninit::<libc::ptrace_syscall_info>::zeroed();
        let size = size_of::<libc::ptrace_syscall_info>();
        match request(
            libc::PTRACE_GET_SYSCALL_INFO,
            self.tid,
            size,
            info.as_mut_ptr() as usize,
        ) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(None),
            Err(error) => return Err(error),
        }
        // SAFETY: plain numbers, zero where the kernel has written nothing.
        let info = unsafe { info.assume_init() };
        let end = match info.op {
            libc::PTRACE_SYSCALL_INFO_ENTRY => {
                // SAFETY: `op` says that it is this one.
                let entry = unsafe { info.u.entry };
                End::Entry {
                    arch: info.arch,
                    number: entry.nr,
                    args: entry.args,
                }
            }
            // SAFETY: `op` says that it is this one.
            libc::PTRACE_SYSCALL_INFO_EXIT => End::Exit(unsafe { info.u.exit }.sval),
            _ => return Ok(None),
        };
        Ok(Some(CallStop {
            instruction: info.instruction_pointer,
            stack: info.stack_pointer,
            end,
        }))
    }

    /// The thread id that goes with an event: at [`Stop::Exec`] the one that the thread had
    /// before, at [`Stop::Birth`] that of the new thread.
    pub fn message(&self) -> io::Result<pid_t> {
        let mut message: libc::c_ulong = 0;
        request(
            libc::PTRACE_GETEVENTMSG,
            self.tid,
            0,
            (&raw mut message) as usize,
        )?;
        Ok(message as pid_t)
    }

    /// Goes on to the next system call, or to anything else that stops it.
    pub fn until_next_call(self, signal: c_int) -> io::Result<()> {
        self.go_on(libc::PTRACE_SYSCALL, signal)
    }

    /// Goes on to anything but a system call.
    pub fn until_next_event(self, signal: c_int) -> io::Result<()> {
        self.go_on(libc::PTRACE_CONT, signal)
    }

    /// Stays stopped with its process, until a SIGCONT comes.
    pub fn stay_stopped(self) -> io::Result<()> {
        self.go_on(libc::PTRACE_LISTEN, 0)
    }

    /// A thread that has been killed while it was stopped is no error: [`wait`] tells of its end.
    fn go_on(self, how: c_uint, signal: c_int) -> io::Result<()> {
        match request(how, self.tid, 0, signal as usize) {
            Err(error) if error.raw_os_error() != Some(libc::ESRCH) => Err(error),
            _ => Ok(()),
        }
    }
}

fn request(request: c_uint, tid: pid_t, addr: usize, data: usize) -> io::Result<()> {
    // SAFETY: `data` is a number, or the address of a buffer of the size that the request takes:
    // each caller is in this file. The kernel checks the rest.
    match unsafe { libc::ptrace(request, tid, addr, data) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
