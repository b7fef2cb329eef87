//! Starts processes one after the other, and takes the time of each.
//!
//! The launcher is a process of its own, made for one list of starts. So it can set up once what
//! each start would otherwise have to: no descriptor but those of the subjects, every signal at
//! its default. A child shares its memory (CLONE_VM) and holds it up until its own execve
//! (CLONE_VFORK), as vfork(2) does: nothing is copied, however large the caller is.
//!
//! The launcher is also who inherits what a subject leaves running (PR_SET_CHILD_SUBREAPER), so
//! after each start it knows that nothing is left, or ends it. It does so too when its caller is
//! gone (PR_SET_PDEATHSIG). It is forked from a program that may have many threads: so it makes
//! system calls only, on memory that was there before.

use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr;
use std::time::Duration;

use super::trouble::Trouble;
use crate::error::{Error, Result};
use crate::spawn::{self, Failure, PosixSpawn, Prepared};

/// What is started.
pub(super) enum What<'a> {
    /// A process that ends at once: the least that a start can take.
    Nothing,
    /// All that is done for a subject but its execve: what the kit itself takes.
    SetUp(&'a Prepared),
    /// A subject.
    Subject(&'a Prepared),
    /// A subject, by posix_spawn(3).
    PosixSpawn(&'a Prepared, &'a PosixSpawn<'a>),
}

impl What<'_> {
    /// What is prepared for it; None where nothing has to be.
    fn prepared(&self) -> Option<&Prepared> {
        match self {
            What::Nothing => None,
            What::SetUp(prepared) | What::Subject(prepared) | What::PosixSpawn(prepared, _) => {
                Some(prepared)
            }
        }
    }
}

/// What is started, and around it.
pub(super) struct Target<'a> {
    pub what: What<'a>,
    /// Files among its streams, which are emptied before each start.
    pub files: Vec<RawFd>,
    /// How long it may run.
    pub timeout: Option<Duration>,
}

/// One start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    /// From just before clone(2) until it was reaped, in nanoseconds of CLOCK_MONOTONIC_RAW.
    pub ns: u64,
    /// Its status as of wait(2).
    pub status: i32,
    /// Its page faults, minor and major, those of children that it waited for included.
    pub faults: u64,
}

/// How long what a subject started may outlive it, to be gone by itself.
const GRACE: Duration = Duration::from_millis(100);

/// The stack of a child down to its execve: a few frames, larger ones in an unoptimized build.
const STACK: usize = 64 << 10;

/// Starts `targets` in this order, by their places. All of them run on the processors that this
/// thread may run on. At the first trouble it stops: which start it was, and what it met.
///
/// To be called on a thread made by [`spawn::alone`].
pub(super) fn run(
    targets: &[Target],
    order: &[usize],
) -> Result<std::result::Result<Vec<Sample>, (usize, Trouble)>> {
    let (read, write) = spawn::pipe()?;
    let mut launcher = Launcher::new(targets, order, write);
    // SAFETY: a question without arguments.
    let caller = unsafe { libc::getpid() };
    // A plain clone(2) without flags: a fork that sends no signal when it ends, so that it can be
    // waited for also in a process that ignores SIGCHLD.
    // SAFETY: the child makes system calls only, down to its _exit.
    let pid = match unsafe { libc::syscall(libc::SYS_clone, 0, 0, 0, 0, 0) } {
        -1 => return Err(Error::io("fork", io::Error::last_os_error())),
        // SAFETY: it is the child.
        0 => unsafe {
            launcher.work(caller);
            libc::_exit(0)
        },
        pid => pid as libc::pid_t,
    };
    drop(launcher);
    let mut bytes = Vec::new();
    let read = File::from(read).read_to_end(&mut bytes);
    // SAFETY: a child of this thread that nobody has reaped.
    unsafe { libc::waitpid(pid, ptr::null_mut(), libc::__WALL) };
    read.map_err(|e| Error::io("read from the launcher", e))?;
    Report::read(&bytes, order.len()).ok_or_else(|| {
        Error::io(
            "the process that starts the subjects was killed; leave it alone",
            io::Error::from_raw_os_error(libc::ESRCH),
        )
    })
}

/// What the launcher tells at its end: numbers, so that they go through a pipe. First how it
/// ended, as three; then three a start.
struct Report {
    numbers: Vec<u64>,
}

impl Report {
    const WIDTH: usize = 3;

    fn new(starts: usize) -> Self {
        Report {
            numbers: vec![0; Self::WIDTH * (1 + starts)],
        }
    }

    fn set(&mut self, row: usize, numbers: [u64; Self::WIDTH]) {
        let at = row * Self::WIDTH;
        self.numbers[at..at + Self::WIDTH].copy_from_slice(&numbers);
    }

    fn add(&mut self, start: usize, sample: Sample) {
        let status = u64::from(sample.status as u32);
        self.set(1 + start, [sample.ns, status, sample.faults]);
    }

    fn end(&mut self, start: usize, trouble: Trouble) {
        let (kind, detail) = trouble.numbers();
        self.set(0, [start as u64, kind, detail]);
    }

    /// What was written into the pipe; None when that was not all.
    fn read(
        bytes: &[u8],
        starts: usize,
    ) -> Option<std::result::Result<Vec<Sample>, (usize, Trouble)>> {
        let (words, []) = bytes.as_chunks::<8>() else {
            return None;
        };
        let numbers: Vec<u64> = words.iter().map(|word| u64::from_ne_bytes(*word)).collect();
        let (rows, []) = numbers.as_chunks::<{ Self::WIDTH }>() else {
            return None;
        };
        let (&[start, kind, detail], samples) = rows.split_first()?;
        if samples.len() != starts {
            return None;
        }
        if kind != 0 {
            return Some(Err((start as usize, Trouble::from_numbers(kind, detail)?)));
        }
        let samples = samples.iter().map(|&[ns, status, faults]| Sample {
            ns,
            status: status as u32 as i32,
            faults,
        });
        Some(Ok(samples.collect()))
    }
}

struct Launcher<'a> {
    targets: &'a [Target<'a>],
    order: &'a [usize],
    report: Report,
    write: OwnedFd,
    /// The descriptors that it needs, in their order.
    descriptors: Vec<RawFd>,
    stack: Vec<u8>,
}

impl<'a> Launcher<'a> {
    fn new(targets: &'a [Target], order: &'a [usize], write: OwnedFd) -> Self {
        let prepared = targets.iter().filter_map(|target| target.what.prepared());
        let mut descriptors: Vec<RawFd> = prepared
            .flat_map(Prepared::descriptors)
            .flatten()
            .chain([write.as_raw_fd()])
            .collect();
        descriptors.sort();
        descriptors.dedup();
        Launcher {
            targets,
            order,
            report: Report::new(order.len()),
            write,
            descriptors,
            stack: vec![0; STACK],
        }
    }

    /// Does it all, and reports.
    ///
    /// # Safety
    ///
    /// To be called in a fork of the caller, with every signal blocked; it takes the process over.
    unsafe fn work(&mut self, caller: libc::pid_t) {
        // SAFETY: as this function.
        if let Err(trouble) = unsafe { self.settle(caller) } {
            self.report.end(0, trouble);
        } else {
            for place in 0..self.order.len() {
                match self.start(self.order[place]) {
                    Ok(sample) => self.report.add(place, sample),
                    Err(trouble) => {
                        let all_ended = end_children();
                        let trouble = match trouble {
                            Trouble::LeavesProcesses { .. } => {
                                Trouble::LeavesProcesses { all_ended }
                            }
                            trouble => trouble,
                        };
                        self.report.end(place, trouble);
                        break;
                    }
                }
            }
        }
        let mut bytes: &[u8] = {
            let numbers = &self.report.numbers;
            // SAFETY: numbers are bytes too, eight each.
            unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), numbers.len() * 8) }
        };
        while !bytes.is_empty() {
            // SAFETY: the kernel reads that many bytes.
            let written =
                unsafe { libc::write(self.write.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
            match usize::try_from(written) {
                Ok(written) => bytes = &bytes[written..],
                Err(_) if errno() == libc::EINTR => {}
                // Nobody reads any more.
                Err(_) => return,
            }
        }
    }

    /// Makes the process one that starts can be made from.
    ///
    /// # Safety
    ///
    /// As [`Launcher::work`].
    unsafe fn settle(&self, caller: libc::pid_t) -> std::result::Result<(), Trouble> {
        // SAFETY: numbers only. The signal waits until it is asked for.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
            if libc::getppid() != caller {
                return Err(Trouble::Abandoned);
            }
            if libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) < 0 {
                return Err(Trouble::System(errno()));
            }
        }
        // It must not hold the other end of anybody's pipe.
        let mut next = 0;
        for &descriptor in &self.descriptors {
            if next < descriptor {
                close_between(next, descriptor as u32 - 1)?;
            }
            next = descriptor + 1;
        }
        close_between(next, u32::MAX)?;
        match spawn::default_signals() {
            true => Ok(()),
            false => Err(Trouble::System(errno())),
        }
    }

    /// One start, from before its clone until all is gone that came of it.
    fn start(&mut self, which: usize) -> std::result::Result<Sample, Trouble> {
        let target = &self.targets[which];
        for &file in &target.files {
            // SAFETY: numbers only. What fails here fails for the subject too.
            unsafe {
                libc::ftruncate(file, 0);
                libc::lseek(file, 0, libc::SEEK_SET);
            }
        }
        let begin = now();
        let (pid, failure) = match target.what {
            What::PosixSpawn(_, spawn) => (spawn.start().map_err(Trouble::Refused)?, None),
            ref what => vfork(what, &mut self.stack)?,
        };
        let limit = target
            .timeout
            .map(|timeout| begin.saturating_add(ns_of(timeout)));
        let mut sample = reap(pid, limit)?;
        sample.ns = now() - begin;

        if let Some(failure) = failure {
            return Err(Trouble::Refused(failure));
        }
        nothing_left()?;
        Ok(sample)
    }
}

/// Starts a child that does this, and comes back when it is gone or has executed: its process
/// id, and why it did not become the subject.
fn vfork(
    what: &What,
    stack: &mut [u8],
) -> std::result::Result<(libc::pid_t, Option<Failure>), Trouble> {
    let mut child = Child {
        what,
        failure: None,
    };
    // glibc and musl align it themselves; it grows downwards.
    let stack = stack.as_mut_ptr_range().end;
    // SAFETY: the child runs on a stack of its own, in memory that stays as it is until it is
    // gone or has executed: this process sleeps as long, and has no other thread.
    let pid = unsafe {
        libc::clone(
            child_main,
            stack.cast(),
            libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
            (&raw mut child).cast(),
        )
    };
    match pid {
        -1 => Err(Trouble::System(errno())),
        pid => Ok((pid, child.failure)),
    }
}

/// What a child is to do, in the memory that it shares with the launcher.
struct Child<'a> {
    what: &'a What<'a>,
    /// Why it did not become the subject.
    failure: Option<Failure>,
}

extern "C" fn child_main(child: *mut c_void) -> c_int {
    // SAFETY: the launcher's own, which sleeps; the child may use it until it is gone. Every
    // signal is blocked, and the streams are the child's.
    unsafe {
        let child = &mut *child.cast::<Child>();
        child.failure = match child.what {
            // The last is not started by this.
            What::Nothing | What::PosixSpawn(..) => None,
            What::SetUp(prepared) => prepared.exec_cleanly(false).err(),
            What::Subject(prepared) => prepared.exec_cleanly(true).err(),
        };
        libc::_exit(0)
    }
}

/// Waits for the end of one child. The time in the sample is left to the caller.
fn reap(pid: libc::pid_t, limit: Option<u64>) -> std::result::Result<Sample, Trouble> {
    let mut status = 0;
    // SAFETY: plain numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        wait_for_a_child(limit)?;
        let flags = libc::WNOHANG | libc::__WALL;
        // SAFETY: the kernel writes one int and one rusage.
        match unsafe { libc::wait4(pid, &mut status, flags, &mut usage) } {
            0 => {}
            -1 => return Err(Trouble::System(errno())),
            _ => break,
        }
    }
    Ok(Sample {
        ns: 0,
        status,
        faults: (usage.ru_minflt + usage.ru_majflt) as u64,
    })
}

/// Sleeps until a child has something to tell, at most until the limit.
fn wait_for_a_child(limit: Option<u64>) -> std::result::Result<(), Trouble> {
    // SAFETY: a set of signals is plain numbers, which sigemptyset fills.
    let signals = unsafe {
        let mut signals = std::mem::zeroed();
        libc::sigemptyset(&mut signals);
        libc::sigaddset(&mut signals, libc::SIGCHLD);
        libc::sigaddset(&mut signals, libc::SIGTERM);
        signals
    };
    let left = limit.map(|limit| {
        let left = Duration::from_nanos(limit.saturating_sub(now()));
        libc::timespec {
            tv_sec: left.as_secs() as libc::time_t,
            tv_nsec: left.subsec_nanos().into(),
        }
    });
    let left = left.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: a set and a time that are on the stack.
    match unsafe { libc::sigtimedwait(&signals, ptr::null_mut(), left) } {
        libc::SIGTERM => Err(Trouble::Abandoned),
        -1 if errno() == libc::EAGAIN => Err(Trouble::TimedOut),
        _ => Ok(()),
    }
}

/// Sees that no process is left that came of a start.
fn nothing_left() -> std::result::Result<(), Trouble> {
    let limit = now() + ns_of(GRACE);
    loop {
        // SAFETY: nothing is written.
        match unsafe { libc::waitpid(-1, ptr::null_mut(), libc::WNOHANG | libc::__WALL) } {
            0 => match wait_for_a_child(Some(limit)) {
                Err(Trouble::TimedOut) => {
                    return Err(Trouble::LeavesProcesses { all_ended: false });
                }
                other => other?,
            },
            -1 => return Ok(()),
            _ => {}
        }
    }
}

/// Kills all children and what they leave behind. False when one could not be.
fn end_children() -> bool {
    loop {
        let mut list = [0u8; 4096];
        // The first level of children, proc(5); those of a child come there when it is gone.
        // SAFETY: a path that ends in NUL; the kernel writes at most as much as the list takes.
        let length = unsafe {
            let file = libc::open(c"/proc/thread-self/children".as_ptr(), libc::O_RDONLY);
            if file < 0 {
                return no_child();
            }
            let length = libc::read(file, list.as_mut_ptr().cast(), list.len());
            libc::close(file);
            usize::try_from(length).unwrap_or(0)
        };
        if length == 0 {
            return no_child();
        }
        // Each number is followed by a space, unless the list was cut within it.
        let (mut pid, mut ended) = (0, 0);
        for &byte in &list[..length] {
            if byte.is_ascii_digit() {
                pid = pid * 10 + libc::pid_t::from(byte - b'0');
                continue;
            }
            // SAFETY: a child of this process that nobody has reaped.
            unsafe {
                if libc::kill(pid, libc::SIGKILL) == 0 {
                    libc::waitpid(pid, ptr::null_mut(), libc::__WALL);
                    ended += 1;
                }
            }
            pid = 0;
        }
        if ended == 0 {
            return false;
        }
    }
}

/// Whether this process has no child.
fn no_child() -> bool {
    // SAFETY: nothing is written.
    unsafe { libc::waitpid(-1, ptr::null_mut(), libc::WNOHANG | libc::__WALL) < 0 }
}

fn close_between(first: RawFd, last: u32) -> std::result::Result<(), Trouble> {
    // SAFETY: numbers only; descriptors that this process does not use.
    match unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } {
        0 => Ok(()),
        _ => Err(Trouble::System(errno())),
    }
}

/// Nanoseconds of a clock that nobody sets and nothing slews: clock_gettime(2).
fn now() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes one timespec. This clock is always there.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_RAW, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn ns_of(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}
