//! How a trace is shown: a row a call, then how it ended.

use nix::errno::Errno;

use super::{Page, Table, counted, number, subject, text};
use crate::trace::{Arch, Call, Trace};

/// The page of these traces.
pub fn page(traces: &[Trace]) -> Page {
    traces
        .iter()
        .fold(Page::new(), |page, trace| page.page(one(trace)))
}

fn one(trace: &Trace) -> Page {
    let threads = trace.threads > 1;
    let mut columns = vec![number("#"), text("call"), text("arguments"), text("result")];
    if threads {
        columns.insert(1, number("thread"));
    }
    let mut table = Table::new(columns);
    for (index, call) in trace.calls.iter().enumerate() {
        let mut row = vec![
            (index + 1).to_string(),
            name(call),
            arguments(call),
            result(call),
        ];
        if threads {
            row.insert(1, call.thread.to_string());
        }
        table.row(row);
    }
    let page = Page::new().heading(trace.subject.to_string()).table(table);
    end(page, trace)
}

/// How it ended, under what was shown of it.
pub(super) fn end(page: Page, trace: &Trace) -> Page {
    let mut end = format!("{}; {}", trace.exit, counted(trace.count() as u64, "call"));
    if trace.restarts() > 0 {
        end += &format!(", {}", counted(trace.restarts() as u64, "restart"));
    }
    if trace.processes > 1 {
        end += &format!("; {} processes", trace.processes);
    }
    if trace.threads > trace.processes {
        end += &format!("; {} threads", trace.threads);
    }
    let page = page.note(end).note(subject::footer(&trace.subject));
    trace
        .notes
        .iter()
        .fold(page, |page, note| page.note(format!("note: {note}")))
}

pub(super) fn name(call: &Call) -> String {
    let mut name = call.label().into_owned();
    if call.arch != Arch::X86_64 {
        name += &format!(" ({})", call.arch);
    }
    if call.restart {
        name += " (restart)";
    }
    name
}

/// The arguments in hexadecimal: those that the call has, or all six registers of one whose
/// number of arguments is not known here.
fn arguments(call: &Call) -> String {
    let used = match (call.arch, call.name) {
        (Arch::X86_64, Some(name)) => takes(name).unwrap_or(call.args.len()),
        _ => call.args.len(),
    };
    let words: Vec<_> = call
        .args
        .iter()
        .take(used)
        .map(|arg| format!("{arg:#x}"))
        .collect();
    words.join(" ")
}

/// How many arguments a call of x86-64 has, for those that a start makes
/// (include/linux/syscalls.h).
fn takes(name: &str) -> Option<usize> {
    Some(match name {
        "getpid" | "getppid" | "gettid" | "getuid" | "geteuid" | "getgid" | "getegid" | "fork"
        | "vfork" | "pause" | "sched_yield" | "rt_sigreturn" => 0,
        "brk" | "close" | "exit" | "exit_group" | "set_tid_address" | "chdir" | "umask"
        | "uname" | "pipe" | "dup" | "sysinfo" => 1,
        "access" | "munmap" | "stat" | "fstat" | "lstat" | "arch_prctl" | "dup2" | "kill"
        | "set_robust_list" | "getrlimit" | "clock_gettime" | "nanosleep" | "pipe2"
        | "sigaltstack" | "statfs" | "clone3" | "getcwd" => 2,
        "execve" | "read" | "write" | "readv" | "writev" | "open" | "lseek" | "mprotect"
        | "ioctl" | "fcntl" | "poll" | "readlink" | "getrandom" | "getdents64" | "madvise"
        | "sched_getaffinity" | "sched_setaffinity" | "dup3" | "tgkill" | "faccessat" => 3,
        "openat" | "pread64" | "pwrite64" | "newfstatat" | "readlinkat" | "rt_sigaction"
        | "rt_sigprocmask" | "prlimit64" | "wait4" | "rseq" | "clock_nanosleep" | "ppoll" => 4,
        "prctl" | "clone" | "mremap" | "statx" | "select" | "execveat" | "waitid" => 5,
        "mmap" | "futex" => 6,
        _ => return None,
    })
}

pub(super) fn result(call: &Call) -> String {
    match (call.result, call.label().as_ref()) {
        (None, _) => "does not return".into(),
        (Some(error @ -4095..0), _) => errno(-error as i32),
        (Some(address), "brk" | "mmap" | "mmap2" | "mremap" | "shmat") => format!("{address:#x}"),
        (Some(value), _) => value.to_string(),
    }
}

/// The name of an error, those that only the kernel and a tracer see included
/// (include/linux/errno.h).
fn errno(number: i32) -> String {
    match (number, Errno::from_raw(number)) {
        (512, _) => "ERESTARTSYS".into(),
        (513, _) => "ERESTARTNOINTR".into(),
        (514, _) => "ERESTARTNOHAND".into(),
        (516, _) => "ERESTART_RESTARTBLOCK".into(),
        (_, Errno::UnknownErrno) => format!("error {number}"),
        (_, known) => format!("{known:?}"),
    }
}
