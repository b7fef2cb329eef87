//! Turns a subject into a process.
//!
//! In two halves. [`prepare`] does all that may allocate, fail or take its time: it finds and
//! checks the program, opens the streams, lays out argv and envp. What the new process does
//! with that ([`Prepared::exec`]) is system calls only, so it may follow a `fork` in a program
//! of many threads, or run in the parent's own memory after a `vfork`.
//!
//! The subject starts with its three streams and no other file descriptor, with every signal
//! at its default and none blocked. It keeps the caller's user, directory, limits and umask; but
//! what its [`SetUp`]s say is done last.

mod posix;
mod program;
mod set_up;
mod streams;

use std::ffi::{CString, OsString, c_char, c_int};
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{self, Path, PathBuf};
use std::ptr;
use std::thread;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sched::{CpuSet, sched_getcpu, sched_setaffinity};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, pthread_sigmask};
use nix::unistd::{Pid, pipe2};

pub(crate) use posix::PosixSpawn;
pub(crate) use program::lost_privileges;
use set_up::Ready;
pub(crate) use streams::Nulls;
use streams::{Drain, Streams};

use crate::error::{Error, Result};
use crate::subject::{SetUp, Subject};

/// All that a child needs to become the subject.
pub(crate) struct Prepared {
    /// The file that will be run.
    pub program: PathBuf,
    path: CString,
    argv: Words,
    environment: Words,
    streams: Streams,
    drain: Drain,
    set_up: Vec<Ready>,
    /// Whether every call is to stop for the tracer by a seccomp filter.
    filtered: bool,
}

/// Finds and checks the program of a subject and opens its streams.
///
/// Fails with one line when the program is missing or is none, as far as that can be seen
/// without running it; [`Child::refusal`] tells the rest.
pub(crate) fn prepare(subject: &Subject) -> Result<Prepared> {
    prepare_with(subject, &mut Nulls::default())
}

/// [`prepare`]s one of several subjects that are started by one process, which then holds one
/// `/dev/null` for all of them: each descriptor that it holds is copied in every start, and takes
/// some 0.1 µs.
pub(crate) fn prepare_with(subject: &Subject, nulls: &mut Nulls) -> Result<Prepared> {
    let program = program::find(&subject.program, &subject.environment)?;
    program::check(&program)?;
    let (streams, drain) = streams::open([subject.stdin, subject.stdout, subject.stderr], nulls)?;
    let set_up = subject
        .set_up
        .iter()
        .map(|set_up| Ready::new(set_up, &program))
        .collect::<Result<_>>()?;
    // Other than where a relative path would begin in another directory, the program sees the
    // path as it was named: a script in `$0`.
    let moves = |set_up: &SetUp| matches!(set_up, SetUp::Directory(_));
    let path = match subject.set_up.iter().any(moves) {
        true => path::absolute(&program).map_err(|e| Error::io("find the directory", e))?,
        false => program.clone(),
    };
    Ok(Prepared {
        path: c_string(path.into_os_string(), &program)?,
        set_up,
        argv: Words::new(&subject.argv, &program)?,
        environment: Words::new(&subject.environment, &program)?,
        program,
        streams,
        drain,
        filtered: false,
    })
}

/// A list of strings as execve(2) takes it: pointers to each, and a null pointer.
struct Words {
    pointers: Vec<*const c_char>,
    /// What the pointers point to.
    _strings: Vec<CString>,
}

impl Words {
    fn new(words: &[OsString], program: &Path) -> Result<Self> {
        let strings = words
            .iter()
            .map(|word| c_string(word.clone(), program))
            .collect::<Result<Vec<_>>>()?;
        let pointers = strings
            .iter()
            .map(|string| string.as_ptr())
            .chain([ptr::null()])
            .collect();
        Ok(Words {
            pointers,
            _strings: strings,
        })
    }
}

fn c_string(text: OsString, program: &Path) -> Result<CString> {
    CString::new(text.into_vec()).map_err(|_| Error::NotRunnable {
        path: program.to_owned(),
        reason: "a NUL byte in its name, an argument or the environment; leave it out".to_owned(),
    })
}

/// Why a child did not become the subject: what it did last, and the errno of that.
/// It comes to the parent as two numbers, through a pipe for one.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Failure {
    step: i32,
    errno: c_int,
}

impl Failure {
    /// What has just failed.
    fn at(step: Step) -> Self {
        Failure {
            step: step as i32,
            errno: io::Error::last_os_error().raw_os_error().unwrap_or(0),
        }
    }

    /// The two numbers.
    pub fn numbers(self) -> [i32; 2] {
        [self.step, self.errno]
    }

    /// From its [`Failure::numbers`].
    pub fn from_numbers([step, errno]: [i32; 2]) -> Self {
        Failure { step, errno }
    }

    /// Whether the program could not be executed because somebody has it open for writing.
    pub fn is_busy(self) -> bool {
        self.step == Step::Exec as i32 && self.errno == libc::ETXTBSY
    }

    /// What it means for this program.
    pub fn error(self, program: &Path) -> Error {
        let source = io::Error::from_raw_os_error(self.errno);
        if self.step == Step::Exec as i32 {
            program::refused(program, source)
        } else if self.step == Step::CloseRange as i32 {
            Error::io("close_range (Linux 5.9 or later is needed)", source)
        } else if self.step == Step::Signals as i32 {
            Error::io("set the subject's signals to their defaults", source)
        } else if self.step == Step::Filter as i32 {
            Error::io("install a seccomp filter; count without --fast", source)
        } else if let Some(what) = set_up::what(self.step) {
            Error::io(what, source)
        } else {
            Error::io("connect the subject's streams", source)
        }
    }
}

/// A file that was written a moment ago may still be open in a child that another thread has
/// forked meanwhile. It will not be for long (execve(2), ETXTBSY), so for a second it is tried
/// again.
const TRIES: u32 = 100;
/// In microseconds.
const BETWEEN_TRIES: u32 = 10_000;

/// What a child does to become the subject, in this order.
#[repr(i32)]
#[derive(Clone, Copy)]
enum Step {
    Streams = 1,
    CloseRange,
    SetUpDirectory,
    SetUpFile,
    SetUpDuplicate,
    SetUpSession,
    Signals,
    Filter,
    Exec,
}

impl Prepared {
    /// The arguments of the execve call that starts the subject: the addresses of the path,
    /// of argv and of envp, the same in a forked child as here.
    pub fn execve_arguments(&self) -> [u64; 3] {
        [
            self.path.as_ptr() as u64,
            self.argv.pointers.as_ptr() as u64,
            self.environment.pointers.as_ptr() as u64,
        ]
    }

    /// Has every call of the subject stop for a tracer that asks for it
    /// (PTRACE_O_TRACESECCOMP), by a seccomp filter: its execve is the first.
    pub fn filtered(mut self) -> Self {
        self.filtered = true;
        self
    }

    /// Becomes the subject, with no descriptor but its streams. Returns only when that fails;
    /// then `keep` is still open, which closes on exec.
    ///
    /// # Safety
    ///
    /// To be called in a child of this process only: it takes over the descriptors. Every signal
    /// must be blocked, so that no handler of the parent runs in the child.
    unsafe fn exec(&self, keep: RawFd) -> Failure {
        // SAFETY: as this function.
        if let Err(failure) = unsafe { self.connect() } {
            return failure;
        }
        // Now, not by the exec: the program itself may be among what the parent has open for
        // writing, and could not be executed then.
        if !close_between(3, keep as u32 - 1) || !close_between(keep as u32 + 1, u32::MAX) {
            return Failure::at(Step::CloseRange);
        }
        // SAFETY: as this function.
        if let Err(failure) = unsafe { self.set_up() } {
            return failure;
        }
        if !default_signals() || !unblock_signals() {
            return Failure::at(Step::Signals);
        }
        if self.filtered && !filter_every_call() {
            return Failure::at(Step::Filter);
        }
        for _ in 0..TRIES {
            let failure = self.execve();
            if !failure.is_busy() {
                return failure;
            }
            // SAFETY: a number of microseconds.
            unsafe { libc::usleep(BETWEEN_TRIES) };
        }
        self.execve()
    }

    /// Becomes the subject from a process in which nothing has to be put right: each of its
    /// descriptors is closed on exec, each of its signals at its default. These are the fewest
    /// system calls that a start can do with: up to four before its execve, besides those of its
    /// set-ups. Without `execve`
    /// it does the rest only, and returns.
    ///
    /// # Safety
    ///
    /// As for [`Prepared::exec`]; the child may share the memory of its parent.
    pub unsafe fn exec_cleanly(&self, execve: bool) -> std::result::Result<(), Failure> {
        // SAFETY: as this function.
        unsafe {
            self.connect()?;
            self.set_up()?;
        }
        if !unblock_signals() {
            return Err(Failure::at(Step::Signals));
        }
        match execve {
            true => Err(self.execve()),
            false => Ok(()),
        }
    }

    /// Connects the standard streams.
    ///
    /// # Safety
    ///
    /// To be called in a child of this process only: it takes over the standard streams.
    unsafe fn connect(&self) -> std::result::Result<(), Failure> {
        for (fd, stream) in self.streams.iter().enumerate() {
            // SAFETY: two system calls on descriptors that are the child's own.
            let result = unsafe {
                match stream {
                    Some(stream) => libc::dup2(stream.as_raw_fd(), fd as RawFd),
                    None => {
                        libc::close(fd as RawFd);
                        0
                    }
                }
            };
            if result < 0 {
                return Err(Failure::at(Step::Streams));
            }
        }
        Ok(())
    }

    /// Does what the subject is to find done.
    ///
    /// # Safety
    ///
    /// As for [`Prepared::connect`].
    unsafe fn set_up(&self) -> std::result::Result<(), Failure> {
        // SAFETY: as this function.
        self.set_up
            .iter()
            .try_for_each(|ready| unsafe { ready.run() })
    }

    /// The last step.
    fn execve(&self) -> Failure {
        // SAFETY: the path ends in NUL, the lists in a null pointer, and `self` holds them.
        unsafe {
            libc::execve(
                self.path.as_ptr(),
                self.argv.pointers.as_ptr(),
                self.environment.pointers.as_ptr(),
            );
        }
        Failure::at(Step::Exec)
    }

    /// What stdin, stdout and stderr are connected to, by descriptors of this process; None for
    /// one that is closed.
    pub fn descriptors(&self) -> [Option<RawFd>; 3] {
        self.streams
            .each_ref()
            .map(|stream| stream.as_ref().map(AsRawFd::as_raw_fd))
    }

    /// Forks a child that waits for [`Child::release`] before it becomes the subject.
    ///
    /// To be called on a thread made by [`alone`], where every signal is blocked.
    pub fn fork(self) -> Result<Child> {
        let (go_read, go_write) = pipe()?;
        let (failure_read, failure_write) = pipe()?;
        // Out of the way of the set-ups.
        let highest = self.set_up.iter().map(Ready::highest).max().unwrap_or(0);
        let failure_write = streams::above(failure_write, highest)?;
        fcntl(&failure_read, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))
            .map_err(|e| Error::io("fcntl", e))?;
        // SAFETY: the child makes system calls only, down to its execve or its _exit.
        match unsafe { libc::fork() } {
            -1 => Err(Error::io("fork", io::Error::last_os_error())),
            // SAFETY: descriptors and buffers are the child's own; every signal is blocked.
            0 => unsafe {
                // The child ends with its parent: by a signal, or because nobody is left to write.
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                libc::close(go_write.as_raw_fd());
                let mut byte = 0u8;
                if libc::read(go_read.as_raw_fd(), (&raw mut byte).cast(), 1) == 1 {
                    libc::prctl(libc::PR_SET_PDEATHSIG, 0);
                    let failure = self.exec(failure_write.as_raw_fd());
                    libc::write(
                        failure_write.as_raw_fd(),
                        (&raw const failure).cast(),
                        size_of::<Failure>(),
                    );
                }
                libc::_exit(127)
            },
            pid => Ok(Child {
                pid,
                program: self.program,
                go: Some(go_write),
                failure: failure_read,
                _drain: self.drain,
            }),
        }
    }
}

/// Closes these descriptors, the last one included, if there is one between them.
fn close_between(first: u32, last: u32) -> bool {
    // SAFETY: takes three numbers; the descriptors are the child's.
    first > last || unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } == 0
}

/// One bit a signal: the size of a signal set that the kernel takes.
const SET_BYTES: usize = 8;

/// Every signal at its default. By the kernel's own calls: libc keeps two signals to itself
/// (signal(7), nptl(7)), which a parent can have ignored all the same.
pub(crate) fn default_signals() -> bool {
    const SIGNALS: c_int = 64; // _NSIG, arch/x86/include/asm/signal.h
    // struct kernel_sigaction, all zero: SIG_DFL, no flags, no restorer, an empty mask.
    let default = [0u64; 4];
    for signal in 1..=SIGNALS {
        if signal == libc::SIGKILL || signal == libc::SIGSTOP {
            continue;
        }
        // SAFETY: the kernel reads one sigaction, which is on the stack.
        let result = unsafe {
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                default.as_ptr(),
                ptr::null::<u64>(),
                SET_BYTES,
            )
        };
        if result < 0 {
            return false;
        }
    }
    true
}

/// Every call of this process and of its children stops for the tracer: seccomp(2),
/// SECCOMP_RET_TRACE. Who may not do all takes a filter only with no_new_privs (prctl(2)).
fn filter_every_call() -> bool {
    let mut code = [libc::sock_filter {
        code: (libc::BPF_RET | libc::BPF_K) as u16,
        jt: 0,
        jf: 0,
        k: libc::SECCOMP_RET_TRACE,
    }];
    let program = libc::sock_fprog {
        len: code.len() as u16,
        filter: code.as_mut_ptr(),
    };
    // SAFETY: numbers, and a program of one instruction, which is on the stack.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                0,
                &raw const program,
            ) == 0
    }
}

/// No signal blocked.
fn unblock_signals() -> bool {
    let empty = 0u64;
    // SAFETY: the kernel reads one mask, which is on the stack.
    let result = unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const empty,
            ptr::null::<u64>(),
            SET_BYTES,
        )
    };
    result == 0
}

/// A child that waits, or has been released and is the subject by now.
/// One that was not released is killed and reaped when this is dropped.
pub(crate) struct Child {
    /// Its process id.
    pub pid: libc::pid_t,
    program: PathBuf,
    /// The pipe that it waits on. None from its release on.
    go: Option<OwnedFd>,
    failure: OwnedFd,
    _drain: Drain,
}

impl Child {
    /// Lets it become the subject. To reap it is up to the caller from here on.
    pub fn release(&mut self) {
        if let Some(go) = self.go.take() {
            // A child that is gone already is seen by who waits for it.
            let _ = nix::unistd::write(&go, &[1]);
        }
    }

    /// Why a released child ended without having become the subject.
    pub fn refusal(&self) -> Error {
        let mut bytes = [0; size_of::<Failure>()];
        match nix::unistd::read(&self.failure, &mut bytes) {
            Ok(n) if n == bytes.len() => {
                let [a, b, c, d, e, f, g, h] = bytes;
                let numbers = [[a, b, c, d], [e, f, g, h]].map(i32::from_ne_bytes);
                Failure::from_numbers(numbers).error(&self.program)
            }
            _ => Error::NotRunnable {
                path: self.program.clone(),
                reason: "killed by the kernel while it was loaded; \
                         is the file intact, and is there memory for all its segments?"
                    .to_owned(),
            },
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.go.is_some() {
            // SAFETY: it is a child of this thread that nobody has reaped.
            unsafe {
                libc::kill(self.pid, libc::SIGKILL);
                libc::waitpid(self.pid, ptr::null_mut(), libc::__WALL);
            }
        }
    }
}

/// Runs an observer on a thread of its own with every signal blocked: its children are its own
/// to wait for, the caller's affinity stays as it is, and signals to this process go to others.
pub(crate) fn alone<T: Send>(observe: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    thread::scope(|scope| {
        let observer = move || {
            pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), None)
                .map_err(|e| Error::io("block signals", e))?;
            observe()
        };
        let thread = thread::Builder::new()
            .name("observer".to_owned())
            .spawn_scoped(scope, observer)
            .map_err(|e| Error::io("start a thread", e))?;
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Lets SIGCHLD through on a thread made by [`alone`] that is about to wait for many stops, once
/// its children are forked. Each stop sends one (ptrace(2)). Most programs ignore it; but where
/// the tracer blocks it, it is kept, and wakes another thread of the process for nothing.
pub(crate) fn let_sigchld_through() -> Result<()> {
    let mut set = SigSet::empty();
    set.add(Signal::SIGCHLD);
    pthread_sigmask(SigmaskHow::SIG_UNBLOCK, Some(&set), None)
        .map_err(|e| Error::io("unblock SIGCHLD", e))
}

/// Keeps this thread, and so its later children, on the processor it is on. Two processes that
/// take turns run ten times faster on one than on two. Where it is not permitted, all is slower.
pub(crate) fn pin() {
    if let Ok(here) = sched_getcpu() {
        let _ = pin_to(here);
    }
}

/// Keeps this thread, and so its later children, on one processor.
pub(crate) fn pin_to(processor: usize) -> nix::Result<()> {
    let mut set = CpuSet::new();
    set.set(processor)?;
    sched_setaffinity(Pid::from_raw(0), &set)
}

/// A pipe, closed on exec, both ends outside of the standard streams.
pub(crate) fn pipe() -> Result<(OwnedFd, OwnedFd)> {
    let (read, write) = pipe2(OFlag::O_CLOEXEC).map_err(|e| Error::io("pipe", e))?;
    Ok((
        streams::above(read, streams::STANDARD)?,
        streams::above(write, streams::STANDARD)?,
    ))
}
