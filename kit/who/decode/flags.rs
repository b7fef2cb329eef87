//! The names of bits and of values (the kernel's uapi headers).

use std::fmt::Write;

use nix::sys::signal::Signal;

/// Values and their names.
pub type Names = &'static [(u64, &'static str)];

/// A table of the constants of the libc crate by their own names.
macro_rules! names {
    ($($name:ident)*) => {
        &[$((libc::$name as u32 as u64, stringify!($name))),*]
    };
}

pub const PROTECTION: Names = names!(PROT_READ PROT_WRITE PROT_EXEC PROT_GROWSDOWN);
pub const ACCESS: Names = names!(R_OK W_OK X_OK);
pub const AT: Names =
    names!(AT_SYMLINK_NOFOLLOW AT_EACCESS AT_SYMLINK_FOLLOW AT_NO_AUTOMOUNT AT_EMPTY_PATH);
pub const UNLINK: Names = names!(AT_REMOVEDIR);
pub const REMAP: Names = names!(MREMAP_MAYMOVE MREMAP_FIXED MREMAP_DONTUNMAP);
pub const RANDOM: Names = names!(GRND_NONBLOCK GRND_RANDOM GRND_INSECURE);
pub const WAIT: Names = names!(WNOHANG WUNTRACED WCONTINUED __WNOTHREAD __WALL __WCLONE);
pub const POLL: Names = names!(POLLIN POLLPRI POLLOUT POLLERR POLLHUP POLLNVAL POLLRDNORM);
pub const SIGNAL_STACK: Names = names!(SS_ONSTACK SS_DISABLE);
pub const CLONE: Names = names!(
    CLONE_VM CLONE_FS CLONE_FILES CLONE_SIGHAND CLONE_PIDFD CLONE_PTRACE CLONE_VFORK CLONE_PARENT
    CLONE_THREAD CLONE_NEWNS CLONE_SYSVSEM CLONE_SETTLS CLONE_PARENT_SETTID CLONE_CHILD_CLEARTID
    CLONE_DETACHED CLONE_UNTRACED CLONE_CHILD_SETTID CLONE_NEWCGROUP CLONE_NEWUTS CLONE_NEWIPC
    CLONE_NEWUSER CLONE_NEWPID CLONE_NEWNET CLONE_IO
);
/// asm/signal.h; the restorer's is not told by libc.
pub const ACTION: Names = &[
    (0x0000_0001, "SA_NOCLDSTOP"),
    (0x0000_0002, "SA_NOCLDWAIT"),
    (0x0000_0004, "SA_SIGINFO"),
    (0x0400_0000, "SA_RESTORER"),
    (0x0800_0000, "SA_ONSTACK"),
    (0x1000_0000, "SA_RESTART"),
    (0x4000_0000, "SA_NODEFER"),
    (0x8000_0000, "SA_RESETHAND"),
];
const MAPPED: Names = names!(
    MAP_FIXED MAP_ANONYMOUS MAP_32BIT MAP_GROWSDOWN MAP_DENYWRITE MAP_EXECUTABLE MAP_LOCKED
    MAP_NORESERVE MAP_POPULATE MAP_NONBLOCK MAP_STACK MAP_HUGETLB MAP_SYNC MAP_FIXED_NOREPLACE
);
const OPEN: Names = names!(
    O_CREAT O_EXCL O_NOCTTY O_TRUNC O_APPEND O_NONBLOCK O_DSYNC O_ASYNC O_DIRECT O_DIRECTORY
    O_NOFOLLOW O_NOATIME O_CLOEXEC O_PATH
);

pub const KINDS: Names = names!(S_IFREG S_IFDIR S_IFCHR S_IFBLK S_IFIFO S_IFLNK S_IFSOCK);
pub const WHENCE: Names = names!(SEEK_SET SEEK_CUR SEEK_END SEEK_DATA SEEK_HOLE);
pub const ADVICE: Names = names!(
    MADV_NORMAL MADV_RANDOM MADV_SEQUENTIAL MADV_WILLNEED MADV_DONTNEED MADV_FREE MADV_DONTFORK
    MADV_DOFORK MADV_HUGEPAGE MADV_NOHUGEPAGE MADV_DONTDUMP MADV_DODUMP
);
pub const IOCTL: Names = names!(TCGETS TCSETS TCSETSW TCSETSF TIOCGWINSZ TIOCSWINSZ TIOCGPGRP TIOCSPGRP TIOCSCTTY FIONREAD FIONBIO FIOCLEX FIONCLEX);
pub const FCNTL: Names = names!(F_DUPFD F_GETFD F_SETFD F_GETFL F_SETFL F_GETLK F_SETLK F_SETLKW F_DUPFD_CLOEXEC F_GETPIPE_SZ F_SETPIPE_SZ F_ADD_SEALS F_GET_SEALS);
pub const RESOURCE: Names = &[
    (0, "RLIMIT_CPU"),
    (1, "RLIMIT_FSIZE"),
    (2, "RLIMIT_DATA"),
    (3, "RLIMIT_STACK"),
    (4, "RLIMIT_CORE"),
    (5, "RLIMIT_RSS"),
    (6, "RLIMIT_NPROC"),
    (7, "RLIMIT_NOFILE"),
    (8, "RLIMIT_MEMLOCK"),
    (9, "RLIMIT_AS"),
    (10, "RLIMIT_LOCKS"),
    (11, "RLIMIT_SIGPENDING"),
    (12, "RLIMIT_MSGQUEUE"),
    (13, "RLIMIT_NICE"),
    (14, "RLIMIT_RTPRIO"),
    (15, "RLIMIT_RTTIME"),
];
pub const MASK: Names = names!(SIG_BLOCK SIG_UNBLOCK SIG_SETMASK);
pub const CLOCK: Names = names!(
    CLOCK_REALTIME CLOCK_MONOTONIC CLOCK_PROCESS_CPUTIME_ID CLOCK_THREAD_CPUTIME_ID
    CLOCK_MONOTONIC_RAW CLOCK_REALTIME_COARSE CLOCK_MONOTONIC_COARSE CLOCK_BOOTTIME
);
pub const PRCTL: Names = names!(
    PR_SET_PDEATHSIG PR_GET_PDEATHSIG PR_GET_DUMPABLE PR_SET_DUMPABLE PR_SET_NAME PR_GET_NAME
    PR_SET_SECCOMP PR_CAPBSET_READ PR_SET_NO_NEW_PRIVS PR_GET_NO_NEW_PRIVS PR_SET_CHILD_SUBREAPER
    PR_SET_VMA
);
/// asm/prctl.h.
pub const ARCH: Names = &[
    (0x1001, "ARCH_SET_GS"),
    (0x1002, "ARCH_SET_FS"),
    (0x1003, "ARCH_GET_FS"),
    (0x1004, "ARCH_GET_GS"),
    (0x1011, "ARCH_GET_CPUID"),
    (0x1012, "ARCH_SET_CPUID"),
    // The first two of glibc 2.36 and before, of a kernel that never took them.
    (0x3001, "ARCH_CET_STATUS"),
    (0x3002, "ARCH_CET_DISABLE"),
    (0x5001, "ARCH_SHSTK_ENABLE"),
    (0x5002, "ARCH_SHSTK_DISABLE"),
    (0x5003, "ARCH_SHSTK_LOCK"),
    (0x5004, "ARCH_SHSTK_UNLOCK"),
    (0x5005, "ARCH_SHSTK_STATUS"),
];
/// linux/futex.h.
const FUTEX: Names = &[
    (0, "FUTEX_WAIT"),
    (1, "FUTEX_WAKE"),
    (3, "FUTEX_REQUEUE"),
    (4, "FUTEX_CMP_REQUEUE"),
    (5, "FUTEX_WAKE_OP"),
    (6, "FUTEX_LOCK_PI"),
    (7, "FUTEX_UNLOCK_PI"),
    (9, "FUTEX_WAIT_BITSET"),
    (10, "FUTEX_WAKE_BITSET"),
];

/// Bits by their names, those without one in hexadecimal.
pub fn text(value: u64, names: Names) -> String {
    or_none(value, "0", names)
}

/// As [`text`], with a name for no bit.
pub fn or_none(value: u64, none: &str, names: Names) -> String {
    let mut text = String::new();
    let rest = add(&mut text, value, names);
    finish(text, rest, none)
}

/// Adds the names of bits, and gives those that have none.
fn add(text: &mut String, mut value: u64, names: Names) -> u64 {
    for (bits, name) in names {
        if *bits != 0 && value & bits == *bits {
            value &= !bits;
            join(text, name);
        }
    }
    value
}

fn join(text: &mut String, name: &str) {
    if !text.is_empty() {
        text.push('|');
    }
    text.push_str(name);
}

fn finish(mut text: String, rest: u64, none: &str) -> String {
    if rest != 0 {
        join(&mut text, &format!("{rest:#x}"));
    }
    if text.is_empty() {
        return none.to_owned();
    }
    text
}

/// One value by its name, or in hexadecimal.
pub fn one(value: u64, names: Names) -> String {
    let value = value & 0xffff_ffff;
    let found = names.iter().find(|(number, _)| *number == value);
    found.map_or_else(|| format!("{value:#x}"), |(_, name)| (*name).to_owned())
}

/// The flags of open: how, in the two lowest bits, and whether.
pub fn open(value: u64) -> String {
    let value = value & 0xffff_ffff;
    let accesses = ["O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE"];
    let mut text = accesses[(value & 3) as usize].to_owned();
    let rest = add(&mut text, value & !3, OPEN);
    // It stands for a bit of its own and O_DIRECTORY, which has been taken off.
    finish(text, rest, "")
}

/// The flags of mmap: what kind, in the four lowest bits, and how.
pub fn mapped(value: u64) -> String {
    let kinds = ["0", "MAP_SHARED", "MAP_PRIVATE", "MAP_SHARED_VALIDATE"];
    let kind = value & 0xf;
    let mut text = match kinds.get(kind as usize) {
        Some(kind) => (*kind).to_owned(),
        None => format!("{kind:#x}"),
    };
    let rest = add(&mut text, value & !0xf, MAPPED);
    finish(text, rest, "")
}

/// The flags of clone, and the signal that tells of the child's end.
pub fn clone(value: u64) -> String {
    let mut text = String::new();
    let rest = add(&mut text, value & !0xff, CLONE);
    if value & 0xff != 0 {
        join(&mut text, &signal(value & 0xff));
    }
    finish(text, rest, "0")
}

/// The operation of futex, and its bits.
pub fn futex(value: u64) -> String {
    const PRIVATE: u64 = 128;
    const REALTIME: u64 = 256;
    let mut text = one(value & !(PRIVATE | REALTIME), FUTEX);
    for (bit, name) in [
        (PRIVATE, "|FUTEX_PRIVATE_FLAG"),
        (REALTIME, "|FUTEX_CLOCK_REALTIME"),
    ] {
        if value & bit != 0 {
            text.push_str(name);
        }
    }
    text
}

/// A signal by its name, or its number.
pub fn signal(value: u64) -> String {
    /// signal(7): the kernel's first real-time signal.
    const REALTIME: i32 = 32;
    match value as i32 {
        0 => "0".into(),
        number @ REALTIME..=64 => format!("SIGRT_{}", number - REALTIME),
        number => Signal::try_from(number)
            .map_or_else(|_| number.to_string(), |signal| signal.as_str().to_owned()),
    }
}

/// A set of signals: those in it, or those not in it where that is shorter.
pub fn signals(mask: u64) -> String {
    let (not, mask) = match mask.count_ones() {
        0..=32 => ("", mask),
        _ => ("~", !mask),
    };
    let mut text = format!("{not}[");
    let signals = (0..64u64).filter(|at| mask >> at & 1 == 1);
    for (index, at) in signals.enumerate() {
        let space = if index == 0 { "" } else { " " };
        let name = signal(at + 1);
        let _ = write!(text, "{space}{}", name.strip_prefix("SIG").unwrap_or(&name));
    }
    text.push(']');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_have_names_and_those_without_one_are_kept() {
        assert_eq!(open(0), "O_RDONLY");
        assert_eq!(
            open((libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC) as u64),
            "O_WRONLY|O_CREAT|O_TRUNC"
        );
        assert_eq!(open(1 << 30), "O_RDONLY|0x40000000");
        assert_eq!(mapped(0x812), "MAP_PRIVATE|MAP_FIXED|MAP_DENYWRITE");
        assert_eq!(mapped(0x22), "MAP_PRIVATE|MAP_ANONYMOUS");
        assert_eq!(or_none(0, "PROT_NONE", PROTECTION), "PROT_NONE");
        assert_eq!(or_none(9, "PROT_NONE", PROTECTION), "PROT_READ|0x8");
        assert_eq!(
            clone(0x0120_0011),
            "CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD"
        );
        assert_eq!(futex(129), "FUTEX_WAKE|FUTEX_PRIVATE_FLAG");
    }

    #[test]
    fn signals_are_named_alone_and_in_sets() {
        assert_eq!(signal(11), "SIGSEGV");
        assert_eq!(signal(32), "SIGRT_0");
        assert_eq!(signal(99), "99");
        assert_eq!(signals(0), "[]");
        assert_eq!(signals(1 << 12 | 1 << 33), "[PIPE RT_2]");
        assert_eq!(signals(!0), "~[]");
        assert_eq!(signals(!(1 << 8)), "~[KILL]");
    }
}
