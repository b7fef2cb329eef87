//! The parent with much memory: a process of its own, which takes that memory, starts children and
//! takes the time of each.
//!
//! It is forked from the kit, which may have other threads at work. Of these the fork has none,
//! but their locks stay as they were; so it makes system calls only, on memory that was there
//! before, and calls nothing that takes a lock or allocates. It ends with the thread that made it
//! (PR_SET_PDEATHSIG), and with all its memory. Should memory be short all the same, it is the
//! first that the kernel ends (proc_pid_oom_score_adj(5)).

use std::arch::asm;
use std::ffi::{c_char, c_int, c_void};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::ptr;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::{Child, Pages, Target, Way};
use crate::error::{Error, Result};
use crate::spawn::{self, Prepared};

/// What a parent is to do.
pub(super) struct Plan<'a> {
    /// How many bytes it takes.
    pub bytes: usize,
    /// In what pages.
    pub pages: Pages,
    /// What it can start.
    pub targets: &'a [Target],
    /// In which order it starts each of them once in a round, by their places.
    pub rounds: &'a [Vec<usize>],
    /// How many of these do not count.
    pub warmup: usize,
    /// No round begins after it has started children for so long, once there are
    /// [`LEAST_ROUNDS`].
    pub most: Duration,
    /// What a child executes.
    pub program: &'a Prepared,
    /// `/dev/null`, for its children's streams.
    pub null: &'a OwnedFd,
}

/// So many rounds are measured whatever time they take.
const LEAST_ROUNDS: usize = 10;

/// What a parent tells.
#[derive(Debug)]
pub(super) struct Told {
    /// What it holds, in kB: Rss of proc_pid_smaps(5).
    pub rss_kb: u64,
    /// What of that is in huge pages: AnonHugePages.
    pub huge_kb: u64,
    /// The rounds that count: for each target its time in nanoseconds.
    pub rounds: Vec<Vec<std::result::Result<u64, Trouble>>>,
}

/// Why a start has no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The call failed: its errno.
    Errno(i32),
    /// The child ended otherwise than it should: its status of wait(2).
    Status(i32),
}

/// Nobody waits longer for a parent: it is killed then.
const LIMIT: Duration = Duration::from_secs(120);

/// Has a parent do that.
///
/// Fails when it cannot get its memory, does not end in two minutes, or is killed. To be called on
/// a thread made by [`spawn::alone`].
pub(super) fn run(plan: &Plan) -> Result<Told> {
    let (read, write) = spawn::pipe()?;
    let mut parent = Parent::new(plan, write);
    // SAFETY: a question without arguments.
    let caller = unsafe { libc::getpid() };
    // A plain clone(2) without flags: a fork that sends no signal when it ends.
    // SAFETY: the child makes system calls only, down to its _exit.
    let pid = match unsafe { libc::syscall(libc::SYS_clone, 0, 0, 0, 0, 0) } {
        -1 => return Err(Error::io("fork", io::Error::last_os_error())),
        // SAFETY: it is the child.
        0 => unsafe {
            parent.work(caller);
            libc::_exit(0)
        },
        pid => pid as libc::pid_t,
    };
    drop(parent);
    let told = read_all(File::from(read));
    // SAFETY: a child of this thread that nobody has reaped; it has told all, or never will.
    unsafe {
        libc::kill(pid, libc::SIGKILL);
        libc::waitpid(pid, ptr::null_mut(), libc::__WALL);
    }
    let told = told.map_err(|e| Error::io("wait for the parent of much memory", e))?;
    Told::read(&told, plan)
}

/// What is written into the pipe until it is closed, within the limit.
fn read_all(mut pipe: File) -> io::Result<Vec<u8>> {
    let end = Instant::now() + LIMIT;
    let mut all = Vec::new();
    let mut bytes = vec![0; 1 << 16];
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let left = PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO);
        let mut ready = [PollFd::new(pipe.as_fd(), PollFlags::POLLIN)];
        if poll(&mut ready, left)? == 0 {
            return Err(io::ErrorKind::TimedOut.into());
        }
        match pipe.read(&mut bytes)? {
            0 => return Ok(all),
            read => all.extend(bytes.iter().take(read)),
        }
    }
}

impl Told {
    /// From what was written: the numbers of the head, what smaps says, and two numbers a start.
    fn read(bytes: &[u8], plan: &Plan) -> Result<Self> {
        let broken = || Error::NotMeasured {
            subject: "the parent of much memory".to_owned(),
            reason: "was killed; is there enough memory, and did somebody end it?".to_owned(),
        };
        let (words, _) = bytes.as_chunks::<8>();
        let words: Vec<u64> = words.iter().map(|word| u64::from_ne_bytes(*word)).collect();
        let [step, errno, rounds, length] = *words.first_chunk::<HEAD>().ok_or_else(broken)?;
        if let Some(what) = Step::of(step) {
            let source = io::Error::from_raw_os_error(errno as i32);
            return Err(Error::io(what, source));
        }
        let text = bytes.get(HEAD * 8..).and_then(|it| it.get(..SMAPS));
        let text = text.and_then(|text| text.get(..length as usize));
        let text = String::from_utf8_lossy(text.ok_or_else(broken)?);
        let samples = words.get(HEAD + SMAPS / 8..).ok_or_else(broken)?;
        let times = samples.chunks_exact(2).map(|sample| match *sample {
            [ns, 0] => Ok(ns),
            [_, trouble] if trouble >> 32 == ERRNO => Err(Trouble::Errno(trouble as u32 as i32)),
            [_, trouble] => Err(Trouble::Status(trouble as u32 as i32)),
            _ => Err(Trouble::Errno(0)),
        });
        let times: Vec<_> = times.collect();
        let told = times.chunks_exact(plan.targets.len().max(1));
        let mut told: Vec<_> = told.take(rounds as usize).map(<[_]>::to_vec).collect();
        Ok(Told {
            rss_kb: kb_of(&text, "Rss").ok_or_else(broken)?,
            huge_kb: kb_of(&text, "AnonHugePages").unwrap_or(0),
            rounds: told.split_off(plan.warmup.min(told.len())),
        })
    }
}

/// The number of a line `NAME: NUMBER kB`.
pub(super) fn kb_of(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key == name).then_some(value)
    });
    line?.trim().trim_end_matches("kB").trim_end().parse().ok()
}

/// The numbers at the head: which step failed (0 for none), its errno, how many rounds there are,
/// how many bytes of smaps.
const HEAD: usize = 4;

/// What is above a trouble's number, which is not 0.
const ERRNO: u64 = 1;
const STATUS: u64 = 2;

/// So much of smaps is told: all of smaps_rollup is less.
const SMAPS: usize = 4096;

/// What a parent does before it starts children.
#[derive(Clone, Copy)]
#[repr(u64)]
enum Step {
    Settle = 1,
    Map,
    Advise,
    Smaps,
}

impl Step {
    /// What a number says.
    fn of(number: u64) -> Option<&'static str> {
        Some(match number {
            0 => return None,
            it if it == Step::Settle as u64 => "make a process for much memory",
            it if it == Step::Map as u64 => "map the memory of a parent",
            it if it == Step::Advise as u64 => "choose its pages by madvise",
            _ => "read its /proc/self/smaps_rollup",
        })
    }
}

struct Parent<'a> {
    plan: &'a Plan<'a>,
    write: OwnedFd,
    head: [u64; HEAD],
    smaps: Vec<u8>,
    /// Two numbers a start: its time, and its trouble.
    samples: Vec<u64>,
    /// For a child by clone, which has a stack of its own.
    stack: Vec<u8>,
    /// The arguments of the children's execve.
    execve: [u64; 3],
}

/// The stack of a child down to its execve: a few frames.
const STACK: usize = 64 << 10;

/// The size of a page, which is touched once. A huge one is touched more often than it needs.
const PAGE: usize = 4096;

impl<'a> Parent<'a> {
    fn new(plan: &'a Plan<'a>, write: OwnedFd) -> Self {
        let starts = plan.rounds.len() * plan.targets.len();
        Parent {
            write,
            head: [0; HEAD],
            smaps: vec![0; SMAPS],
            samples: vec![0; 2 * starts],
            stack: vec![0; STACK],
            execve: plan.program.execve_arguments(),
            plan,
        }
    }

    /// Does it all, and tells.
    ///
    /// # Safety
    ///
    /// To be called in a fork of the caller, with every signal blocked; it takes the process over.
    unsafe fn work(&mut self, caller: libc::pid_t) {
        // SAFETY: as this function.
        let ready = unsafe { self.settle(caller).and_then(|()| self.grow()) };
        match ready.and_then(|()| self.look()) {
            Ok(()) => self.rounds(),
            Err(step) => {
                self.head[0] = step as u64;
                self.head[1] = errno() as u64;
            }
        }
        let bytes = |numbers: &[u64]| {
            // SAFETY: numbers are bytes too, eight each.
            unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast::<u8>(), numbers.len() * 8) }
        };
        for part in [bytes(&self.head), &self.smaps, bytes(&self.samples)] {
            if !write_all(part) {
                return;
            }
        }
    }

    /// Makes the process one that children can be started from.
    ///
    /// # Safety
    ///
    /// As [`Parent::work`].
    unsafe fn settle(&self, caller: libc::pid_t) -> std::result::Result<(), Step> {
        let (null, write) = (self.plan.null.as_raw_fd(), self.write.as_raw_fd());
        // SAFETY: numbers, and a path that ends in NUL. The descriptors are this process's own;
        // neither of the two is one of the standard streams.
        let settled = unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            let standard = (0..TELL).all(|stream| libc::dup2(null, stream) == stream);
            let told = write == TELL || libc::dup3(write, TELL, libc::O_CLOEXEC) == TELL;
            let closed = libc::syscall(libc::SYS_close_range, TELL + 1, u32::MAX, 0) == 0;
            // Where it may not, it is as likely to be ended as any other.
            let score = libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY);
            libc::write(score, c"1000".as_ptr().cast(), 4);
            libc::close(score);
            libc::getppid() == caller && standard && told && closed
        };
        match settled && spawn::default_signals() {
            true => Ok(()),
            false => Err(Step::Settle),
        }
    }

    /// Takes its memory and touches each page of it.
    ///
    /// # Safety
    ///
    /// As [`Parent::work`].
    unsafe fn grow(&self) -> std::result::Result<(), Step> {
        let bytes = self.plan.bytes;
        if bytes == 0 {
            return Ok(());
        }
        let advice = match self.plan.pages {
            Pages::Small => libc::MADV_NOHUGEPAGE,
            Pages::Huge => libc::MADV_HUGEPAGE,
        };
        // SAFETY: new memory, which nobody else knows; each write is within it.
        unsafe {
            let memory = libc::mmap(
                ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            if memory == libc::MAP_FAILED {
                return Err(Step::Map);
            }
            // A kernel without huge pages has small ones without being told.
            let advised = libc::madvise(memory, bytes, advice) == 0;
            if !advised && self.plan.pages == Pages::Huge {
                return Err(Step::Advise);
            }
            for at in (0..bytes).step_by(PAGE) {
                memory.cast::<u8>().add(at).write_volatile(1);
            }
        }
        Ok(())
    }

    /// Reads what it holds.
    fn look(&mut self) -> std::result::Result<(), Step> {
        let mut length = 0;
        // SAFETY: a path that ends in NUL; the kernel writes at most as much as there is room for.
        let read = unsafe {
            let file = libc::open(c"/proc/self/smaps_rollup".as_ptr(), libc::O_RDONLY);
            loop {
                let room = &mut self.smaps[length..];
                match libc::read(file, room.as_mut_ptr().cast(), room.len()) {
                    0 => break true,
                    read if read > 0 => length += read as usize,
                    _ => break false,
                }
            }
        };
        self.head[3] = length as u64;
        match read {
            true => Ok(()),
            false => Err(Step::Smaps),
        }
    }

    /// Starts children, round after round.
    fn rounds(&mut self) {
        let begin = now();
        let most = u64::try_from(self.plan.most.as_nanos()).unwrap_or(u64::MAX);
        let least = self.plan.warmup + LEAST_ROUNDS;
        for (done, round) in self.plan.rounds.iter().enumerate() {
            if done >= least && now().saturating_sub(begin) >= most {
                break;
            }
            for &which in round {
                let at = 2 * (done * self.plan.targets.len() + which);
                let begin = now();
                let ended = self.start(self.plan.targets[which]);
                self.samples[at] = now().saturating_sub(begin);
                self.samples[at + 1] = match ended {
                    Ok(0) => 0,
                    Ok(status) => STATUS << 32 | u64::from(status as u32),
                    Err(errno) => ERRNO << 32 | u64::from(errno as u32),
                };
            }
            self.head[2] = done as u64 + 1;
        }
    }

    /// Starts one child and waits for its end: its status, or the errno of what failed.
    fn start(&mut self, target: Target) -> std::result::Result<c_int, i32> {
        let execve = match target.child {
            Child::Executes => Some(self.execve),
            Child::Exits => None,
        };
        let pid = match target.way {
            Way::Fork => fork(execve),
            Way::Vfork => vfork(execve),
            Way::Clone => clone(execve, &mut self.stack),
            Way::PosixSpawn => posix_spawn(self.execve),
        }?;
        let mut status = 0;
        // SAFETY: the kernel writes one int.
        match unsafe { libc::waitpid(pid, &mut status, libc::__WALL) } {
            -1 => Err(errno()),
            _ => Ok(status),
        }
    }
}

/// What the end of the pipe is to a parent.
const TELL: c_int = 3;

/// Exit code of a child whose execve failed, as a shell has it.
const NOT_EXECUTED: c_int = 127;

/// Becomes the program, if there is one, and ends.
///
/// # Safety
///
/// To be called in a child only; the arguments are those of a [`Prepared`].
unsafe fn be(execve: Option<[u64; 3]>) -> ! {
    // SAFETY: the path ends in NUL, the lists in a null pointer.
    unsafe {
        if let Some([path, argv, envp]) = execve {
            libc::execve(path as *const c_char, argv as *const _, envp as *const _);
            libc::_exit(NOT_EXECUTED)
        }
        libc::_exit(0)
    }
}

/// The call that fork(3) makes, without what a C library does around it.
fn fork(execve: Option<[u64; 3]>) -> std::result::Result<libc::pid_t, i32> {
    // SAFETY: the child has a copy of all memory, and makes system calls only.
    match unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) } {
        -1 => Err(errno()),
        // SAFETY: it is the child.
        0 => unsafe { be(execve) },
        pid => Ok(pid as libc::pid_t),
    }
}

/// vfork(2). The child runs on the parent's own stack, so what it does is in one block, and all
/// of it in registers: there is nothing that it could change for the parent.
fn vfork(execve: Option<[u64; 3]>) -> std::result::Result<libc::pid_t, i32> {
    let (number, [first, second, third]) = match execve {
        Some(arguments) => (libc::SYS_execve, arguments),
        None => (libc::SYS_exit_group, [0; 3]),
    };
    let pid: i64;
    // SAFETY: parent and child leave the stack alone; the kernel reads what the arguments point
    // to, and its calls change rax, rcx and r11. The child does not come out of the block.
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "mov rax, r8",
            "syscall",
            "mov edi, {failed}",
            "mov eax, {exit}",
            "syscall",
            "2:",
            failed = const NOT_EXECUTED,
            exit = const libc::SYS_exit_group,
            inlateout("rax") libc::SYS_vfork => pid,
            in("rdi") first,
            in("rsi") second,
            in("rdx") third,
            in("r8") number,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    match pid {
        // The kernel's way to say that it failed: the errno, below 0.
        pid if pid < 0 => Err(-pid as i32),
        pid => Ok(pid as libc::pid_t),
    }
}

/// clone(2) with CLONE_VM and CLONE_VFORK, and a stack for the child.
fn clone(execve: Option<[u64; 3]>, stack: &mut [u8]) -> std::result::Result<libc::pid_t, i32> {
    extern "C" fn child(execve: *mut c_void) -> c_int {
        // SAFETY: the parent's own, which sleeps until this child is gone or has executed.
        unsafe { be(*execve.cast::<Option<[u64; 3]>>()) }
    }

    let mut execve = execve;
    // glibc and musl align it themselves; it grows downwards.
    let stack = stack.as_mut_ptr_range().end;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the child runs on a stack of its own, in memory that stays as it is meanwhile: this
    // process sleeps, and has no other thread.
    match unsafe { libc::clone(child, stack.cast(), flags, (&raw mut execve).cast()) } {
        -1 => Err(errno()),
        pid => Ok(pid),
    }
}

/// posix_spawn(3) without any list. glibc's and musl's make a stack by mmap(2) or have it on their
/// own, block all signals, and clone(2) as [`clone`] does.
fn posix_spawn([path, argv, envp]: [u64; 3]) -> std::result::Result<libc::pid_t, i32> {
    let mut pid = 0;
    // SAFETY: the path ends in NUL, the lists in a null pointer; no list, no attributes.
    let errno = unsafe {
        libc::posix_spawn(
            &mut pid,
            path as *const c_char,
            ptr::null(),
            ptr::null(),
            argv as *const _,
            envp as *const _,
        )
    };
    match errno {
        0 => Ok(pid),
        errno => Err(errno),
    }
}

/// Writes it to whom it tells. False when nobody reads any more.
fn write_all(mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        // SAFETY: the kernel reads that many bytes.
        let written = unsafe { libc::write(TELL, bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(written) {
            Ok(written) => bytes = &bytes[written..],
            Err(_) if errno() == libc::EINTR => {}
            Err(_) => return false,
        }
    }
    true
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

fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

impl Trouble {
    /// In words, of a program.
    pub fn words(self, program: &Path) -> String {
        match self {
            Trouble::Errno(errno) => io::Error::from_raw_os_error(errno).to_string(),
            Trouble::Status(status) => match crate::exit::Exit::from_status(status) {
                Some(exit) => format!("{}: {exit}", program.display()),
                None => format!("{}: status {status}", program.display()),
            },
        }
    }
}
