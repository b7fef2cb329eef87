//! `trace` and `count` against strace, against programs made for what others get wrong, and
//! against programs that cannot be run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use barest::assertions::{at_most, exactly, never};
use barest::count::{Range, count, count_each};
use barest::exit::Exit;
use barest::peers::Availability;
use barest::trace::{Arch, Method, Trace, trace, trace_by};
use barest::{Error, Stream, Subject};
use predicates::prelude::*;

mod subjects;
use subjects::{compile, run, scratch, subject, untraced, writing};

/// What `strace -f` says of a subject: the names of its calls by thread. A line for each entry,
/// restarts included.
fn strace(subject: &Subject) -> Vec<Vec<String>> {
    let log = scratch("strace");
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-o"])
        .arg(&log)
        .arg("--")
        .arg(&subject.program);
    untraced(&mut strace, subject);
    let log = fs::read_to_string(log).unwrap();
    let mut threads = BTreeMap::<&str, Vec<String>>::new();
    for line in log.lines() {
        let Some((thread, rest)) = line.split_once(' ') else {
            continue;
        };
        let Some((name, _)) = rest.trim_start().split_once('(') else {
            continue;
        };
        if name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        {
            threads.entry(thread).or_default().push(name.to_owned());
        }
    }
    let mut threads: Vec<_> = threads.into_values().collect();
    threads.sort();
    threads
}

/// The same of a trace.
fn by_thread(trace: &Trace) -> Vec<Vec<String>> {
    let mut threads = vec![Vec::new(); trace.threads];
    for call in &trace.calls {
        threads[call.thread].push(call.label().into_owned());
    }
    threads.sort();
    threads
}

/// Names as text to read and compare: "getpid*100 exit".
fn in_short(names: &[String]) -> String {
    let runs = names.chunk_by(|one, next| one == next);
    let runs = runs.map(|run| match run.len() {
        1 => run[0].clone(),
        times => format!("{}*{times}", run[0]),
    });
    runs.collect::<Vec<_>>().join(" ")
}

fn names(trace: &Trace, thread: usize) -> Vec<String> {
    let calls = trace.calls.iter().filter(|call| call.thread == thread);
    calls.map(|call| call.label().into_owned()).collect()
}

/// How many calls of a name a thread made, and how many of them were restarts.
fn entries(trace: &Trace, thread: usize, name: &str) -> (usize, usize) {
    let calls = trace
        .calls
        .iter()
        .filter(|call| call.thread == thread && call.name == Some(name));
    let restarts = calls.clone().filter(|call| call.restart).count();
    (calls.count() - restarts, restarts)
}

/// The command lines in which a text occurs, of all processes of the system but zombies.
fn running_with(text: &str) -> Vec<String> {
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read(entry.unwrap().path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(text))
        .collect()
}

/// Waits until it is true, for at most 10 seconds.
fn becomes_true(what: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while !what() {
        if start.elapsed() > Duration::from_secs(10) {
            return false;
        }
        thread::sleep(Duration::from_millis(10));
    }
    true
}

/// Writes a file that will be executed, by another process: a child that a test running beside
/// this one forks would hold it open for writing otherwise, and it could not be run meanwhile.
fn install(bytes: &[u8], mode: &str, path: &Path) {
    let mut install = Command::new("install")
        .args(["-m", mode, "/dev/stdin"])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    install.stdin.take().unwrap().write_all(bytes).unwrap();
    assert!(install.wait().unwrap().success());
}

/// The text of an error, which is one line.
fn line(subject: &Subject) -> String {
    let text = trace(subject).expect_err("it cannot be run").to_string();
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

#[test]
fn counts_equal_strace_line_for_line() {
    for flags in [&[][..], &["-static"], &["-static-pie"], &["-no-pie"]] {
        let subject = Subject::new(compile("hello", flags));
        let seen = run(&subject);
        assert_eq!(by_thread(&seen), strace(&subject), "{flags:?}");
        assert!(seen.count() > 10);
        assert_eq!((seen.restarts(), seen.threads, seen.processes), (0, 1, 1));
        assert_eq!(seen.exit, Exit::Exited(0));
    }
}

#[test]
fn counts_equal_strace_on_every_peer() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/peers.toml");
    let peers = barest::peers::load(&data).unwrap();
    let mut compared = 0;
    for peer in barest::peers::prepare_all(&peers, &target.join("peers"), |_, _| {}) {
        let Availability::Ready { programs } = peer.unwrap() else {
            // tests/peers.rs says which, and fails where one may not be missing.
            continue;
        };
        for built in programs {
            let args = if built.program == "exec" {
                &["/bin/true"][..]
            } else {
                &[]
            };
            let subject = Subject::new(&built.path).args(args);
            let ours = by_thread(&run(&subject));
            assert_eq!(ours, strace(&subject), "{}, {}", built.peer, built.program);
            compared += 1;
        }
    }
    assert!(compared >= 20, "{compared} programs");
}

#[test]
fn the_first_call_is_one_execve_and_the_last_never_returns() {
    let seen = run(&subject("hello"));
    let (first, last) = (seen.calls.first().unwrap(), seen.calls.last().unwrap());
    assert_eq!((first.name, first.result), (Some("execve"), Some(0)));
    assert_eq!(
        (last.name, last.result, last.args[0]),
        (Some("exit_group"), None, 0)
    );
    assert_eq!(entries(&seen, 0, "execve"), (1, 0));
    assert!(
        seen.calls[1..seen.calls.len() - 1]
            .iter()
            .all(|call| call.result.is_some())
    );
    let write = seen
        .calls
        .iter()
        .find(|call| call.name == Some("write"))
        .unwrap();
    assert_eq!(
        (write.args[0], write.args[2], write.result),
        (1, 6, Some(6))
    );
}

#[test]
fn a_32_bit_program_has_the_names_of_i386() {
    let subject = Subject::new(compile("i386", &["-m32", "-nostdlib", "-static"]));
    let seen = run(&subject);
    assert_eq!(names(&seen, 0), ["execve", "getpid", "write", "exit"]);
    assert_eq!(by_thread(&seen), strace(&subject));
    assert_eq!(seen.calls[0].arch, Arch::X86_64);
    assert!(seen.calls[1..].iter().all(|call| call.arch == Arch::I386));
    assert_eq!(seen.calls[1].number, 20);
    assert_eq!(seen.exit, Exit::Exited(7));
}

#[test]
fn each_call_is_named_by_its_own_architecture_and_unknown_numbers_are_kept() {
    let subject = Subject::new(compile("architectures", &["-static"]));
    let seen = run(&subject);
    let first = seen
        .calls
        .iter()
        .position(|call| call.name == Some("getppid"))
        .unwrap();
    let own: Vec<_> = seen.calls[first..]
        .iter()
        .map(|call| (call.arch, call.number, call.name))
        .collect();
    assert_eq!(
        own,
        [
            (Arch::X86_64, 110, Some("getppid")),
            (Arch::I386, 20, Some("getpid")),
            (Arch::X32, 39, Some("getpid")),
            (Arch::X86_64, 999, None),
            (Arch::X86_64, -1, None),
            (Arch::X86_64, 110, Some("getppid")),
            (Arch::X86_64, 231, Some("exit_group")),
        ]
    );
    assert_eq!(seen.calls[first + 3].label(), "syscall_999");
    assert_eq!(seen.calls[first + 3].result, Some(i64::from(-libc::ENOSYS)));
    assert_eq!(seen.count(), strace(&subject).concat().len());
    assert_eq!(seen.exit, Exit::Exited(0));
}

#[test]
fn threads_fork_vfork_and_spawn_equal_strace_in_30_runs() {
    let subject = subject("mixed");
    // Whether a thread has to wait for another is for the scheduler to decide.
    let without_futex = |mut threads: Vec<Vec<String>>| {
        threads
            .iter_mut()
            .for_each(|calls| calls.retain(|name| name != "futex"));
        threads.sort();
        threads
            .iter()
            .map(|calls| in_short(calls))
            .collect::<Vec<_>>()
    };
    let expected = without_futex(strace(&subject));
    assert_eq!(expected.len(), 8);
    for _ in 0..30 {
        let seen = run(&subject);
        assert_eq!(seen.exit, Exit::Exited(0));
        assert_eq!((seen.processes, seen.threads), (4, 8));
        assert_eq!(seen.names().filter(|name| name == "getpid").count(), 400);
        assert_eq!(seen.names().filter(|name| name == "execve").count(), 3);
        assert_eq!(without_futex(by_thread(&seen)), expected);
        assert_eq!(without_futex(strace(&subject)), expected);
    }
}

#[test]
fn a_filter_sees_the_same_calls_but_no_results() {
    for name in ["hello", "architectures", "thread_exec", "mixed"] {
        let flags: &[&str] = if name == "architectures" {
            &["-static"]
        } else {
            &[]
        };
        let subject = Subject::new(compile(name, flags)).timeout(Duration::from_secs(20));
        // What depends on the scheduler, in the programs with threads.
        let fixed = |trace: &Trace| {
            let mut threads = by_thread(trace);
            threads
                .iter_mut()
                .for_each(|calls| calls.retain(|name| name != "futex" && name != "pause"));
            threads.sort();
            threads
        };
        let fast = trace_by(&subject, Method::Filter).unwrap();
        let whole = run(&subject);
        assert_eq!(fixed(&fast), fixed(&whole), "{name}");
        assert_eq!(
            (fast.processes, fast.threads),
            (whole.processes, whole.threads)
        );
        assert_eq!(fast.exit, whole.exit);
        assert!(
            fast.calls.iter().all(|call| call.result.is_none()),
            "{name}"
        );
        let arches = |trace: &Trace| {
            trace
                .calls
                .iter()
                .filter(|call| call.arch != Arch::X86_64)
                .count()
        };
        assert_eq!(arches(&fast), arches(&whole), "{name}");
    }
}

#[test]
fn a_filter_counts_a_restarted_call_again_and_says_so() {
    let subject = subject("restarts").arg("handler");
    let fast = trace_by(&subject, Method::Filter).unwrap();
    let whole = run(&subject);
    assert!(whole.restarts() > 0);
    assert_eq!(fast.count(), whole.count() + whole.restarts());
    assert_eq!(fast.restarts(), 0);
    assert!(
        fast.notes
            .iter()
            .any(|note| note.contains("began again counts twice"))
    );
    let counted = count_each(&subject, 1, Method::Filter, |_| {}).unwrap();
    assert_eq!(counted.restarts, None);
    assert_eq!(
        count(&subject, 1).unwrap().restarts,
        Some(Range {
            min: whole.restarts(),
            max: whole.restarts()
        })
    );
}

#[test]
fn count_says_what_is_fixed_and_between_which_bounds_the_rest_varies() {
    let counted = count(&subject("mixed"), 5).unwrap();
    let of = |name: &str| {
        counted
            .calls
            .iter()
            .find(|call| call.name == name)
            .unwrap()
            .count
    };
    assert_eq!(counted.runs, 5);
    assert_eq!(of("getpid"), Range { min: 400, max: 400 });
    assert_eq!(of("execve"), Range { min: 3, max: 3 });
    assert_eq!(counted.processes, Range { min: 4, max: 4 });
    assert_eq!(counted.exits, [Exit::Exited(0)]);
    let varying = counted.calls.iter().filter(|call| !call.count.is_fixed());
    assert!(
        varying
            .map(|call| call.name.as_str())
            .all(|name| name == "futex")
    );
    let order =
        |call: &barest::count::NameCount| (std::cmp::Reverse(call.count.max), call.name.clone());
    assert!(counted.calls.is_sorted_by_key(order));
    assert_eq!(counted.calls[0].name, "getpid");

    let fixed = count(&subject("hello"), 3).unwrap();
    assert!(fixed.fixed);
    assert_eq!(
        fixed.calls.iter().map(|call| call.count.min).sum::<usize>(),
        fixed.total.min
    );
}

#[test]
fn exec_by_a_thread_that_is_not_the_leader_keeps_the_count() {
    let subject = subject("thread_exec").timeout(Duration::from_secs(20));
    for _ in 0..10 {
        let seen = run(&subject);
        assert_eq!(seen.exit, Exit::Exited(7));
        assert_eq!((seen.processes, seen.threads), (1, 3));
        assert_eq!(entries(&seen, 0, "execve"), (1, 0));
        assert_eq!(entries(&seen, 2, "execve"), (1, 0));
        assert_eq!(
            (entries(&seen, 2, "getuid"), entries(&seen, 2, "getgid")),
            ((1, 0), (1, 0))
        );
        let exec = seen
            .calls
            .iter()
            .rfind(|call| call.name == Some("execve"))
            .unwrap();
        assert_eq!(exec.result, Some(0));
        assert_eq!(names(&seen, 2).last().unwrap(), "exit_group");
    }
}

#[test]
fn a_call_restarted_after_its_handler_is_no_new_call() {
    let seen = run(&subject("restarts").arg("handler"));
    assert_eq!(seen.exit, Exit::Exited(0));
    assert_eq!(entries(&seen, 0, "read").1, 1);
    let reads: Vec<_> = seen
        .calls
        .iter()
        .filter(|call| call.thread == 0 && call.name == Some("read"))
        .collect();
    let [.., cut, restart] = reads[..] else {
        panic!("two reads")
    };
    assert_eq!((cut.result, cut.restart), (Some(-512), false));
    assert_eq!((restart.result, restart.restart), (Some(1), true));
    assert_eq!((cut.args, cut.number), (restart.args, restart.number));
}

#[test]
fn a_loop_that_tries_again_after_eintr_makes_new_calls() {
    let subject = subject("restarts");
    let own_reads = |mode: &str| {
        let seen = run(&subject.clone().arg(mode));
        assert_eq!(seen.exit, Exit::Exited(0), "{mode}");
        entries(&seen, 0, "read")
    };
    // All modes have the reads of the C library's start in common; "sleep" has no other.
    let (start, none) = own_reads("sleep");
    assert_eq!(none, 0);
    assert_eq!(own_reads("eintr"), (start + 3, 0));
    assert_eq!(own_reads("handler"), (start + 1, 1));
}

#[test]
fn a_sleep_cut_short_by_a_handler_is_the_programs_to_begin_again() {
    let seen = run(&subject("restarts").arg("sleep"));
    assert_eq!(seen.exit, Exit::Exited(0));
    assert_eq!(entries(&seen, 0, "nanosleep"), (2, 0));
}

#[test]
fn a_handler_that_jumps_away_restarts_nothing() {
    let subject = subject("restarts");
    let (start, _) = entries(&run(&subject.clone().arg("sleep")), 0, "read");
    let seen = run(&subject.arg("jump"));
    assert_eq!(seen.exit, Exit::Exited(0));
    assert_eq!(entries(&seen, 0, "read"), (start + 2, 0));
}

#[test]
fn a_stopped_sleep_goes_on_by_restart_syscall() {
    let subject = subject("restarts")
        .arg("stop")
        .timeout(Duration::from_secs(20));
    let seen = run(&subject);
    assert_eq!(seen.exit, Exit::Exited(0));
    // The child: nanosleep, then what the kernel goes on with, then its end. SIGSTOP and SIGCONT
    // each cut it short.
    assert_eq!(entries(&seen, 1, "nanosleep"), (1, 0));
    let (new, restarts) = entries(&seen, 1, "restart_syscall");
    assert_eq!(new, 0);
    assert!((1..=2).contains(&restarts), "{restarts}");
}

#[test]
fn a_call_cut_short_by_an_ignored_signal_is_restarted_at_once() {
    let seen = run(&subject("restarts").arg("ignored"));
    assert_eq!(seen.exit, Exit::Exited(0));
    assert_eq!(entries(&seen, 0, "wait4"), (1, 1));
}

#[test]
fn restarts_and_entries_together_are_the_lines_of_strace() {
    for mode in ["handler", "eintr", "sleep", "jump", "ignored"] {
        let subject = subject("restarts").arg(mode);
        let seen = run(&subject);
        let theirs = strace(&subject);
        assert!(
            theirs.contains(&names(&seen, 0)),
            "{mode}: {:?}\n{theirs:?}",
            names(&seen, 0)
        );
    }
}

#[test]
fn six_threads_trace_at_once_while_others_start_commands() {
    let subject = subject("hello");
    let mixed = compile("mixed", &[]);
    let expected = run(&subject).count();
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                for _ in 0..20 {
                    assert_eq!(run(&subject).count(), expected);
                    assert!(Command::new("/bin/true").status().unwrap().success());
                    let output = Command::new("/bin/echo").arg("x").output().unwrap();
                    assert_eq!(output.stdout, b"x\n");
                }
                let seen = run(&Subject::new(&mixed));
                assert_eq!(seen.names().filter(|name| name == "getpid").count(), 400);
            });
        }
    });
}

#[test]
fn a_program_behaves_the_same_traced_or_not() {
    let (subject, out) = writing("signals");
    let plain = untraced(&mut Command::new(&subject.program), &subject);
    let expected = fs::read_to_string(&out).unwrap();
    fs::remove_file(&out).unwrap();
    assert_eq!(plain.code(), Some(42));

    let seen = run(&subject.timeout(Duration::from_secs(20)));
    assert_eq!(seen.exit, Exit::Exited(42));
    assert_eq!(fs::read_to_string(&out).unwrap(), expected);
    let (usr1, trap, rtmin) = (libc::SIGUSR1, libc::SIGTRAP, libc::SIGRTMIN());
    for line in [
        "blocked 0".to_owned(),
        format!("stopped by {}", libc::SIGSTOP),
        format!("killed by {}", libc::SIGKILL),
        format!("{usr1}: 1"),
        format!("{trap}: 1"),
        format!("{rtmin}: 5"),
    ] {
        assert!(
            expected.lines().any(|other| other == line),
            "{line}: {expected}"
        );
    }
}

#[test]
fn a_program_that_dies_by_a_signal_is_a_fact() {
    let subject = subject("dies");
    for (signal, name) in [
        (libc::SIGSEGV, "SIGSEGV"),
        (libc::SIGABRT, "SIGABRT"),
        (libc::SIGKILL, "SIGKILL"),
        (libc::SIGPIPE, "SIGPIPE"),
        (34, "SIGRT_2"),
    ] {
        let seen = run(&subject.clone().arg(signal.to_string()));
        assert_eq!(seen.exit, Exit::Signaled(name.to_owned()));
        assert!(!seen.names().any(|name| name == "exit_group"));
    }
}

#[test]
fn children_in_the_background_are_waited_for() {
    let (subject, out) = writing("leaves");
    let seen = run(&subject);
    assert_eq!(seen.exit, Exit::Exited(3));
    assert_eq!(fs::read_to_string(out).unwrap(), "done\n");
    assert_eq!((seen.processes, seen.threads), (2, 2));
    assert_eq!(entries(&seen, 1, "write"), (1, 0));
}

#[test]
fn a_program_that_hangs_is_killed_with_all_its_children() {
    let marker = format!("hang-{}-timeout", std::process::id());
    let limit = Duration::from_millis(700);
    let subject = subject("hang").arg(&marker).timeout(limit);
    let start = Instant::now();
    let result = trace(&subject);
    assert!(
        matches!(result, Err(Error::TimedOut { seconds: 0.7, .. })),
        "{result:?}"
    );
    assert!(start.elapsed() >= limit && start.elapsed() < limit + Duration::from_secs(5));
    assert_eq!(running_with(&marker), Vec::<String>::new());
}

#[test]
fn a_program_that_ends_in_time_is_not_held_up_by_its_limit() {
    let subject = subject("hello").timeout(Duration::from_secs(3600));
    let start = Instant::now();
    assert_eq!(run(&subject).exit, Exit::Exited(0));
    assert!(start.elapsed() < Duration::from_secs(30));
}

/// This test runs itself as the tracer that is killed.
#[test]
fn a_tracer_that_is_killed_takes_its_tracees_with_it() {
    const MARKER: &str = "BAREST_TEST_HANG";
    if let Some(marker) = std::env::var_os(MARKER) {
        panic!("{:?}", trace(&subject("hang").arg(marker)));
    }
    let marker = format!("hang-{}-killed", std::process::id());
    let mut tracer = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "a_tracer_that_is_killed_takes_its_tracees_with_it",
        ])
        .env(MARKER, &marker)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // The program, a stopped and a busy child, and a grandchild.
    assert!(
        becomes_true(|| running_with(&marker).len() == 4),
        "{:?}",
        running_with(&marker)
    );
    tracer.kill().unwrap();
    tracer.wait().unwrap();
    assert!(
        becomes_true(|| running_with(&marker).is_empty()),
        "{:?}",
        running_with(&marker)
    );
}

#[test]
fn an_inherited_stream_is_the_callers() {
    let (subject, out) = writing("start");
    let subject = subject
        .stdin(Stream::Null)
        .stdout(Stream::Inherit)
        .stderr(Stream::Inherit);
    let seen = run(&subject);
    assert_eq!(seen.exit, Exit::Exited(0));
    let kind = |fd: &str| {
        let target = fs::read_link(format!("/proc/self/fd/{fd}")).unwrap();
        let target = target.to_str().unwrap().to_owned();
        match () {
            () if target.starts_with("pipe:") => 'p',
            () if target.starts_with("/dev/pts") || target == "/dev/tty" => 't',
            () if target.starts_with("/dev/") => 'c',
            () if target.starts_with("socket:") => '?',
            () => 'f',
        }
    };
    let expected = format!("c{}{} ", kind("1"), kind("2"));
    let text = fs::read_to_string(&out).unwrap();
    assert!(text.starts_with(&expected), "{text}: {expected}");
}

#[test]
fn any_number_of_arguments_can_be_given() {
    let (subject, out) = writing("start");
    let name = subject.program.as_os_str().len();
    let seen = run(&subject.clone().args((0..16).map(|_| "x".repeat(1 << 16))));
    assert_eq!(seen.exit, Exit::Exited(0));
    let text = fs::read_to_string(&out).unwrap();
    assert!(
        text.ends_with(&format!("argc=17 bytes={}\n", (1 << 20) + name)),
        "{text}"
    );

    // Linux makes one empty argument out of none, from 5.18 on.
    let none: [&str; 0] = [];
    assert_eq!(run(&subject.clone().argv(none)).exit, Exit::Exited(0));
    let text = fs::read_to_string(&out).unwrap();
    assert!(
        text.ends_with("argc=1 bytes=0\n") || text.ends_with("argc=0 bytes=0\n"),
        "{text}"
    );

    let too_long = subject.args((0..64).map(|_| "x".repeat(1 << 17)));
    assert!(line(&too_long).contains("too long"), "{}", line(&too_long));
}

#[test]
fn output_that_nobody_wants_is_read_all_the_same() {
    let subject = subject("chatty").timeout(Duration::from_secs(20));
    for stream in [Stream::Pipe, Stream::Tty, Stream::File, Stream::Null] {
        let seen = run(&subject.clone().stdout(stream).stderr(stream));
        assert_eq!(seen.exit, Exit::Exited(0), "{stream:?}");
        assert!(entries(&seen, 0, "write").0 >= 2048);
    }
}

#[test]
fn what_cannot_be_run_is_named_with_its_fault() {
    let file = |name: &str, bytes: &[u8], mode: &str| {
        let path = scratch(name);
        install(bytes, mode, &path);
        path
    };
    let hello = fs::read(compile("hello", &[])).unwrap();
    let missing = scratch("missing");
    let cases = [
        (missing.clone(), "not found"),
        (missing.join("below"), "not found"),
        (file("plain", b"", "644").join("below"), "not found"),
        (std::env::temp_dir(), "a directory"),
        (PathBuf::from("/dev/null"), "a device"),
        (file("text", b"just text\n", "755"), "not a program"),
        (file("empty", b"", "755"), "an empty file"),
        (file("no-x", &hello, "644"), "no permission to execute"),
        (file("cut-20", &hello[..20], "755"), "cut short"),
        (file("cut-100", &hello[..100], "755"), "cut short"),
        (
            file("cut-half", &hello[..hello.len() / 2], "755"),
            "cut short",
        ),
        (
            file("no-interpreter", b"#!/nonexistent/sh\n", "755"),
            "its interpreter is missing",
        ),
        (
            file("foreign", &foreign(&hello), "755"),
            "made for another machine",
        ),
    ];
    for (path, fault) in cases {
        let text = line(&Subject::new(&path));
        assert!(
            text.starts_with(path.to_str().unwrap()) && text.contains(fault),
            "{text}"
        );
    }
    assert!(line(&Subject::new("")).contains("not found"));
    assert!(
        line(&Subject::new("no-such-program-anywhere"))
            .starts_with("no-such-program-anywhere: not found")
    );
    assert!(
        line(&Subject::new("/bin/true").arg(OsString::from_vec(vec![b'a', 0]))).contains("NUL")
    );
}

/// The same ELF file for a machine that there is none of: e_machine at offset 18, elf(5).
fn foreign(elf: &[u8]) -> Vec<u8> {
    let mut elf = elf.to_vec();
    elf[18..20].copy_from_slice(&[0xfe, 0xfe]);
    elf
}

#[test]
fn a_name_without_a_slash_is_looked_up_in_the_subjects_own_path() {
    let directory = scratch("path");
    fs::create_dir(&directory).unwrap();
    let program = directory.join("a-program");
    fs::rename(compile("hello", &[]), &program).unwrap();
    let path = |directory: &Path| format!("PATH=/nonexistent:{}", directory.display());
    let seen = run(&Subject::new("a-program").environment([path(&directory)]));
    assert_eq!(seen.program, program);
    assert_eq!(seen.subject.argv, ["a-program"]);
    assert!(matches!(
        trace(&Subject::new("a-program")),
        Err(Error::NotFound(_))
    ));

    // One that can be run goes before one that cannot.
    let other = scratch("path");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("a-program"), "no program").unwrap();
    let both = format!("PATH={}:{}", other.display(), directory.display());
    assert_eq!(
        run(&Subject::new("a-program").environment([both])).program,
        program
    );
    assert!(line(&Subject::new("a-program").environment([path(&other)])).contains("no permission"));
}

#[test]
fn a_script_counts_one_execve() {
    let script = scratch("script");
    install(b"#!/bin/sh\nexit 5\n", "755", &script);
    let seen = run(&Subject::new(&script));
    assert_eq!(seen.exit, Exit::Exited(5));
    assert_eq!(entries(&seen, 0, "execve"), (1, 0));
}

#[test]
fn a_program_that_loses_its_privileges_by_being_traced_is_noted() {
    let (program, owner) = set_user_id_program();
    let subject = Subject::new(&program).arg("--help");
    let seen = thread::scope(|scope| {
        scope
            .spawn(|| without_capabilities(|| run(&subject)))
            .join()
            .unwrap()
    });
    let note = format!(
        "{}: set-user-ID: runs without its privileges under trace",
        program.display()
    );
    assert_eq!(seen.notes, [note]);
    assert_eq!(run(&Subject::new("/bin/true")).notes, Vec::<String>::new());
    // Who may trace all sees it run as it is.
    if owner {
        assert_eq!(run(&subject).notes, Vec::<String>::new());
    }
}

/// A set-user-ID program of another user, and whether this test could make it itself, as root.
fn set_user_id_program() -> (PathBuf, bool) {
    let program = compile("hello", &[]);
    const NOBODY: u32 = 65534;
    if std::os::unix::fs::chown(&program, Some(NOBODY), None).is_ok() {
        fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
        return (program, true);
    }
    let set_user_id =
        |path: &&str| fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o4000 != 0);
    let program = ["/usr/bin/su", "/usr/bin/passwd", "/usr/bin/mount"]
        .iter()
        .find(|path| set_user_id(path));
    (
        PathBuf::from(program.expect("a set-user-ID program of the system")),
        false,
    )
}

/// Does something on this thread after it has given up its capabilities, capset(2).
fn without_capabilities<T>(then: impl FnOnce() -> T) -> T {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    const VERSION_3: u32 = 0x2008_0522; // linux/capability.h
    let header = Header {
        version: VERSION_3,
        pid: 0,
    };
    let none = [0u32; 6];
    // SAFETY: the kernel reads both, which have the sizes of version 3.
    let result = unsafe { libc::syscall(libc::SYS_capset, &header, none.as_ptr()) };
    assert_eq!(result, 0);
    then()
}

#[test]
fn demands_on_a_trace_show_what_differs() {
    let seen = run(&Subject::new(compile(
        "i386",
        &["-m32", "-nostdlib", "-static"],
    )));
    seen.assert(exactly(["execve", "getpid", "write", "exit"]))
        .assert(at_most(4).and(never("openat")))
        .assert(never("write").not());
    assert!(!at_most(3).eval(&seen));
    assert!(!exactly(["execve", "getpid", "write"]).eval(&seen));
    assert_eq!(
        exactly(["execve", "brk", "exit"]).diff(&seen),
        "  execve\n- brk\n+ getpid\n+ write\n  exit"
    );

    let failure = |demand: &(dyn Fn() + std::panic::RefUnwindSafe)| {
        let panic = std::panic::catch_unwind(demand).unwrap_err();
        panic.downcast_ref::<String>().unwrap().clone()
    };
    let text = failure(&|| {
        seen.assert(exactly(["execve", "exit"]).and(at_most(9)));
    });
    for part in [
        "calls are exactly execve, exit",
        "+ getpid",
        "+ write",
        "exited with 7",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = failure(&|| {
        seen.assert(never("write"));
    });
    assert!(
        text.contains("never calls write") && text.contains("call 3"),
        "{text}"
    );
    let text = failure(&|| {
        seen.assert(at_most(3));
    });
    assert!(
        text.contains("at most 3 calls") && text.contains("+ exit"),
        "{text}"
    );
}

#[test]
fn facts_are_plain_json() {
    let subject = Subject::new(compile("i386", &["-m32", "-nostdlib", "-static"]));
    let json = serde_json::to_value(run(&subject)).unwrap();
    assert_eq!(json["exit"], serde_json::json!({ "exited": 7 }));
    assert_eq!(json["calls"][3]["name"], "exit");
    assert_eq!(json["calls"][3]["args"][0], "0x7");
    assert_eq!(json["calls"][3]["arch"], "i386");
    assert_eq!(json["calls"][3]["result"], serde_json::Value::Null);
    assert_eq!(json["calls"][2]["result"], 6);
    assert_eq!(json["program"], subject.program.to_str().unwrap());
    let json = serde_json::to_value(count(&subject, 2).unwrap()).unwrap();
    assert_eq!(json["total"], serde_json::json!({ "min": 4, "max": 4 }));
    assert_eq!(json["fixed"], true);
}
