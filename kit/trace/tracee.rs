//! A traced thread, and what can be done to it.
//!
//! Nearly every ptrace(2) request is only valid while its thread is stopped. So a stopped thread
//! is a value, [`Stopped`], which [`wait`] hands out and each way to go on uses up: what needs a
//! stopped thread cannot be asked of a running one.

use std::io;
use std::mem::{MaybeUninit, offset_of, size_of};
use std::ptr;

use libc::{c_int, c_uint, pid_t};

use crate::exit::Exit;

/// linux/ptrace.h; the libc crate has it for other C libraries only.
const PTRACE_EVENT_STOP: c_int = 128;

/// `si_code` of a SIGTRAP that comes from a breakpoint of the processor: sigaction(2).
pub(crate) const TRAP_HWBKPT: c_int = 4;

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
    /// A system call begins or ends, or begins and a seccomp filter has it stop.
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
    /// It is about to end; its memory is still there.
    Exit,
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
            (libc::PTRACE_EVENT_EXIT, _) => Stop::Exit,
            (libc::PTRACE_EVENT_SECCOMP, _) => Stop::Call,
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

/// What is traced whatever the tracer is after: execs, and births, so that all of them are
/// traced; and all of them die with the tracer.
const FAMILY: c_int = libc::PTRACE_O_EXITKILL
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE;

/// Traces a running thread, its threads and its children; all of them die with the tracer.
pub(crate) fn seize(pid: pid_t) -> io::Result<()> {
    let options = FAMILY | libc::PTRACE_O_TRACESYSGOOD;
    request(libc::PTRACE_SEIZE, pid, 0, options as usize)
}

/// As [`seize`], but a call stops only where a seccomp filter has it stop.
pub(crate) fn seize_filtered(pid: pid_t) -> io::Result<()> {
    let options = FAMILY | libc::PTRACE_O_TRACESECCOMP;
    request(libc::PTRACE_SEIZE, pid, 0, options as usize)
}

/// As [`seize`], and each of them stops once more when it is about to end.
pub(crate) fn seize_to_the_exit(pid: pid_t) -> io::Result<()> {
    let options = FAMILY | libc::PTRACE_O_TRACEEXIT;
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
            libc::PTRACE_SYSCALL_INFO_SECCOMP => {
                // SAFETY: `op` says that it is this one.
                let entry = unsafe { info.u.seccomp };
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

    /// A register, by its place in `struct user` (sys/user.h). None when it has been killed
    /// meanwhile.
    pub fn register(&self, offset: usize) -> io::Result<Option<u64>> {
        alive(self.peek(libc::PTRACE_PEEKUSER, offset))
    }

    /// All registers of the processor's general ones. None when it has been killed meanwhile.
    pub fn registers(&self) -> io::Result<Option<libc::user_regs_struct>> {
        let mut registers = MaybeUninit::<libc::user_regs_struct>::zeroed();
        let place = registers.as_mut_ptr() as usize;
        let answer = alive(request(libc::PTRACE_GETREGS, self.tid, 0, place))?;
        // SAFETY: plain numbers, zero where the kernel has written nothing.
        Ok(answer.map(|()| unsafe { registers.assume_init() }))
    }

    /// Sets a register, by its place in `struct user` (sys/user.h).
    pub fn set_register(&self, offset: usize, value: u64) -> io::Result<()> {
        request(libc::PTRACE_POKEUSER, self.tid, offset, value as usize)
    }

    /// Has it stop with a SIGTRAP ([`TRAP_HWBKPT`]) before it executes the instruction at an
    /// address: the first of the processor's four breakpoints.
    pub fn stop_at(&self, address: u64) -> io::Result<()> {
        const REGISTERS: usize = offset_of!(libc::user, u_debugreg);
        self.set_register(REGISTERS, address)?;
        // The eighth register has a bit for each that is in use.
        self.set_register(REGISTERS + 7 * 8, 1)
    }

    /// Eight bytes of its memory. None where it has none.
    pub fn word(&self, address: u64) -> Option<u64> {
        self.peek(libc::PTRACE_PEEKTEXT, address as usize).ok()
    }

    /// Where the signal comes from that it has stopped for: `si_code` of sigaction(2). None when
    /// it has been killed meanwhile.
    pub fn signal_code(&self) -> io::Result<Option<c_int>> {
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        let place = info.as_mut_ptr() as usize;
        let answer = alive(request(libc::PTRACE_GETSIGINFO, self.tid, 0, place))?;
        // SAFETY: plain numbers, zero where the kernel has written nothing.
        Ok(answer.map(|()| unsafe { info.assume_init() }.si_code))
    }

    fn peek(&self, what: c_uint, address: usize) -> io::Result<u64> {
        let mut word = 0u64;
        let place = &raw mut word;
        // By the kernel's own call, which writes the word; libc's returns it, as -1 does an error.
        // SAFETY: the kernel writes one word, which is on the stack.
        match unsafe { libc::syscall(libc::SYS_ptrace, what, self.tid, address, place) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(word),
        }
    }

    /// Goes on to the next system call, or to anything else that stops it.
    pub fn until_next_call(self, signal: c_int) -> io::Result<()> {
        self.go_on(libc::PTRACE_SYSCALL, signal)
    }

    /// Goes on to anything but a system call.
    pub fn until_next_event(self, signal: c_int) -> io::Result<()> {
        self.go_on(libc::PTRACE_CONT, signal)
    }

    /// Goes on by one instruction, or to anything else that stops it.
    pub fn by_one_instruction(self, signal: c_int) -> io::Result<()> {
        self.go_on(libc::PTRACE_SINGLESTEP, signal)
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

/// The answer of a thread. None when it has been killed while it was stopped.
fn alive<T>(answer: io::Result<T>) -> io::Result<Option<T>> {
    match answer {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(None),
        answer => answer.map(Some),
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

/// Kills traced threads and whatever they have made meanwhile, and waits until all are gone.
/// To be called where this thread has no other children left.
pub(crate) fn end(threads: impl Iterator<Item = pid_t>) {
    threads.for_each(kill);
    while let Ok(Some(report)) = wait() {
        if let Report::Stopped(stopped) = report {
            kill(stopped.tid);
            let _ = stopped.until_next_event(0);
        }
    }
}

fn kill(tid: pid_t) {
    // SAFETY: two numbers. The thread is traced from here and has not been reaped.
    unsafe { libc::kill(tid, libc::SIGKILL) };
}
