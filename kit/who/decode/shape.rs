//! What each argument of a call is (the kernel's include/linux/syscalls.h, and the manual page of
//! the call).

use super::flags::{self, Names};

/// What an argument is.
#[derive(Clone, Copy)]
pub enum Shape {
    /// A number, in hexadecimal.
    Hex,
    /// An address of memory that is not shown.
    Address,
    /// The same, of what the kernel fills in.
    Left,
    /// A number of 32 bits with sign; a descriptor.
    Int,
    /// A number of 64 bits with sign.
    Long,
    /// A number of bytes, or of others.
    Size,
    /// A directory's descriptor, or AT_FDCWD.
    Directory,
    /// Permissions.
    Mode,
    /// Permissions, where that other argument has one of these bits.
    ModeIf(usize, u64),
    /// A path.
    Path,
    /// Bytes, as many as that other argument says.
    Written(usize),
    /// Bytes that the kernel fills in, as many as the result says.
    Filled,
    /// Bits with names.
    Flags(Names),
    /// The flags of open.
    Open,
    /// The protection of memory.
    Protection,
    /// The flags of mmap.
    Mapped,
    /// What is to be possible with a file.
    Access,
    /// The flags of clone, with a signal in the lowest byte.
    Clone,
    /// The operation of futex.
    Futex,
    /// One of several values with names.
    One(Names),
    /// A signal.
    Signal,
    /// A vector of texts.
    Words,
    /// A vector of texts, of which only the number is told.
    Count,
    /// Several `struct iovec`, their number in that other argument.
    Pieces(usize),
    /// Several `struct pollfd`, their number in that other argument.
    Polled(usize),
    /// A structure that the kernel reads.
    Given(Record),
    /// A structure that the kernel fills in.
    Told(Record),
}

/// A structure.
#[derive(Clone, Copy)]
pub enum Record {
    /// A set of signals.
    Signals,
    /// `struct stat`.
    Stat,
    /// `struct rlimit64`.
    Limit,
    /// `struct sigaction` of the kernel.
    Action,
    /// `stack_t`.
    SignalStack,
    /// `struct timespec`.
    Time,
    /// Two descriptors.
    Pair,
    /// How a child ended.
    Status,
    /// `struct clone_args`.
    CloneArgs,
}

impl Shape {
    /// Whether it can be read when the call begins.
    pub fn is_known_before(self) -> bool {
        !matches!(self, Shape::Filled | Shape::Told(_) | Shape::Left)
    }
}

/// All six registers.
pub const RAW: [Shape; 6] = [Shape::Hex; 6];

/// What the arguments of a call of x86-64 are.
pub fn of(name: &str) -> &'static [Shape] {
    use Record::*;
    use Shape::*;
    const CREATES: u64 = (libc::O_CREAT | libc::O_TMPFILE) as u64;
    match name {
        "getpid" | "getppid" | "gettid" | "getuid" | "geteuid" | "getgid" | "getegid" | "fork"
        | "vfork" | "pause" | "sched_yield" | "rt_sigreturn" | "setsid" | "sync" | "getpgrp" => &[],
        "close" | "exit" | "exit_group" | "dup" | "fsync" | "fdatasync" | "fchdir"
        | "epoll_create1" => &[Int],
        "getpgid" | "getsid" | "alarm" => &[Int],
        "brk" | "set_tid_address" | "uname" | "sysinfo" | "times" => &[Address],
        "umask" => &[Mode],
        "setuid" | "setgid" | "setfsuid" | "setfsgid" | "personality" => &[Hex],
        "chdir" | "rmdir" | "unlink" | "chroot" => &[Path],
        "pipe" => &[Told(Pair)],
        "pipe2" => &[Told(Pair), Open],
        "dup2" | "setpgid" => &[Int, Int],
        "dup3" => &[Int, Int, Open],
        "access" => &[Path, Access],
        "faccessat" => &[Directory, Path, Access],
        "faccessat2" => &[Directory, Path, Access, Flags(flags::AT)],
        "munmap" => &[Address, Size],
        "mprotect" => &[Address, Size, Protection],
        "mmap" => &[Address, Size, Protection, Mapped, Int, Hex],
        "mremap" => &[Address, Size, Size, Flags(flags::REMAP), Address],
        "madvise" => &[Address, Size, One(flags::ADVICE)],
        "stat" | "lstat" => &[Path, Told(Stat)],
        "fstat" => &[Int, Told(Stat)],
        "newfstatat" => &[Directory, Path, Told(Stat), Flags(flags::AT)],
        "statx" => &[Directory, Path, Flags(flags::AT), Hex, Address],
        "statfs" => &[Path, Address],
        "open" => &[Path, Open, ModeIf(1, CREATES)],
        "creat" | "mkdir" | "chmod" => &[Path, Mode],
        "openat" => &[Directory, Path, Open, ModeIf(2, CREATES)],
        "mkdirat" => &[Directory, Path, Mode],
        "unlinkat" => &[Directory, Path, Flags(flags::UNLINK)],
        "rename" | "link" | "symlink" => &[Path, Path],
        "read" => &[Int, Filled, Size],
        "pread64" => &[Int, Filled, Size, Long],
        "write" => &[Int, Written(2), Size],
        "pwrite64" => &[Int, Written(2), Size, Long],
        "writev" => &[Int, Pieces(2), Int],
        "readv" => &[Int, Left, Int],
        "lseek" => &[Int, Long, One(flags::WHENCE)],
        "getdents64" => &[Int, Left, Size],
        "getcwd" => &[Filled, Size],
        "readlink" => &[Path, Filled, Size],
        "readlinkat" => &[Directory, Path, Filled, Size],
        "ioctl" => &[Int, One(flags::IOCTL), Address],
        "fcntl" => &[Int, One(flags::FCNTL), Hex],
        "execve" => &[Path, Words, Count],
        "execveat" => &[Directory, Path, Words, Count, Flags(flags::AT)],
        "arch_prctl" => &[One(flags::ARCH), Address],
        "set_robust_list" => &[Address, Size],
        "rseq" => &[Address, Size, Hex, Hex],
        "prctl" => &[One(flags::PRCTL), Hex, Hex, Hex, Hex],
        "getrlimit" => &[One(flags::RESOURCE), Left],
        "setrlimit" => &[One(flags::RESOURCE), Given(Limit)],
        "prlimit64" => &[Int, One(flags::RESOURCE), Given(Limit), Told(Limit)],
        "getrandom" => &[Filled, Size, Flags(flags::RANDOM)],
        "kill" | "tkill" => &[Int, Signal],
        "tgkill" => &[Int, Int, Signal],
        "rt_sigaction" => &[Signal, Given(Action), Told(Action), Size],
        "rt_sigprocmask" => &[One(flags::MASK), Given(Signals), Told(Signals), Size],
        "sigaltstack" => &[Given(SignalStack), Told(SignalStack)],
        "clone" => &[Clone, Address, Address, Address, Address],
        "clone3" => &[Given(CloneArgs), Size],
        "wait4" => &[Int, Told(Status), Flags(flags::WAIT), Address],
        "futex" => &[Address, Futex, Hex, Hex, Address, Hex],
        "poll" => &[Polled(1), Size, Int],
        "ppoll" => &[Polled(1), Size, Given(Time), Given(Signals), Size],
        "sched_getaffinity" | "sched_setaffinity" => &[Int, Size, Address],
        "nanosleep" => &[Given(Time), Address],
        "clock_nanosleep" => &[One(flags::CLOCK), Hex, Given(Time), Address],
        "clock_gettime" | "clock_getres" => &[One(flags::CLOCK), Told(Time)],
        "socket" => &[Int, Hex, Int],
        _ => &RAW,
    }
}
