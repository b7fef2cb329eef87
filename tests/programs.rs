//! What each program of bins/ promises: its bytes, its calls, its memory map, its messages.

mod common;

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};

use assert_cmd::assert::OutputAssertExt;
use barest::assertions::exactly;
use barest::image::Stack;
use barest::trace::{Exit, trace};
use barest::{Stream, image};
use common::{PROGRAMS, folder, our_segments, program, segments, subject};
use nix::fcntl::{FcntlArg, OFlag};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{self, SigHandler, Signal};
use nix::sys::{ptrace, wait};
use nix::unistd::Pid;

// The files.

#[test]
fn each_program_is_at_most_as_large_as_promised() {
    let most = [
        ("true", 192),
        ("false", 192),
        ("hello", 400),
        ("exec", 504),
        // Not yet the 8192 that it is to have.
        ("launch", 10_240),
        ("stack", 4096),
    ];
    for (name, most) in most {
        let bytes = fs::metadata(program(name)).unwrap().len();
        assert!(bytes <= most, "{name}: {bytes} bytes, {most} at most");
    }
    assert_eq!(fs::metadata(program("golf")).unwrap().len(), 73);
}

#[test]
fn each_program_but_golf_is_one_segment_r_x_and_a_stack_that_is_not_executable() {
    for name in PROGRAMS.into_iter().filter(|&name| name != "golf") {
        let image = image(program(name)).unwrap();
        assert_eq!(segments(&image), our_segments(), "{name}");
        assert_eq!(image.stack, Stack::Nx, "{name}");
        assert!(image.write_xor_execute, "{name}");
        assert_eq!(
            image.segments[0].file_bytes, image.bytes,
            "{name}: not all of it is loaded"
        );
        assert_eq!(
            image.segments[0].memory_bytes, image.bytes,
            "{name}: there is a .bss"
        );
        assert_eq!(image.sections, Some(0), "{name}");
        assert_eq!(image.symbols, Some(0), "{name}");
        assert_eq!(image.relocations, 0, "{name}");
        assert_eq!(image.interpreter, None, "{name}");
        assert_eq!(image.remarks, [] as [&str; 0], "{name}");
    }
}

/// The memory of a program at its first instruction: address, flags and name of each mapping.
/// Stopped there by ptrace, as a program of four instructions is gone before one can look.
fn map(program: &Path) -> Vec<(String, String)> {
    let mut command = Command::new(program);
    command.stdout(Stdio::null());
    // SAFETY: one system call between fork and exec.
    unsafe { command.pre_exec(|| Ok(ptrace::traceme()?)) };
    let mut child = command.spawn().unwrap();
    let pid = Pid::from_raw(child.id() as i32);
    assert_eq!(
        wait::waitpid(pid, None).unwrap(),
        wait::WaitStatus::Stopped(pid, Signal::SIGTRAP)
    );
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    maps.lines()
        .map(|line| {
            let mut fields = line.split_whitespace();
            let flags = fields.nth(1).unwrap().to_owned();
            (flags, fields.nth(3).unwrap_or_default().to_owned())
        })
        .collect()
}

#[test]
fn a_running_program_has_nothing_writable_but_its_stack_and_nothing_both_writable_and_executable() {
    for name in PROGRAMS.into_iter().filter(|&name| name != "golf") {
        let map = map(&program(name));
        let own: Vec<_> = map
            .iter()
            .filter(|(_, what)| !what.starts_with("[v"))
            .collect();
        let path = program(name).canonicalize().unwrap();
        assert_eq!(
            own,
            [
                &("r-xp".to_owned(), path.to_str().unwrap().to_owned()),
                &("rw-p".to_owned(), "[stack]".to_owned()),
            ],
            "{name}"
        );
        assert!(
            !map.iter()
                .any(|(flags, _)| flags.contains('w') && flags.contains('x')),
            "{name}: {map:?}"
        );
    }
}

// The calls.

const EXIT: [&str; 2] = ["execve", "exit_group"];
const WRITE_AND_EXIT: [&str; 3] = ["execve", "write", "exit_group"];

fn calls(name: &str) -> &'static [&'static str] {
    match name {
        "true" | "false" => &EXIT,
        "hello" | "stack" => &WRITE_AND_EXIT,
        "golf" => &["execve", "exit"],
        _ => panic!("{name} takes arguments"),
    }
}

/// Environments of no, 35 and 1,000 variables.
fn environments() -> impl Iterator<Item = Vec<String>> {
    [0, 35, 1000].into_iter().map(|size| {
        (0..size)
            .map(|i| format!("VARIABLE_{i}=value {i}"))
            .collect()
    })
}

#[test]
fn each_program_makes_exactly_its_calls_whatever_the_environment() {
    for name in ["true", "false", "hello", "golf"] {
        for environment in environments() {
            let seen = trace(&subject(name).environment(environment)).unwrap();
            seen.assert(exactly(calls(name).iter().copied()));
            let status = if name == "false" { 1 } else { 0 };
            assert_eq!(seen.exit, Exit::Exited(status), "{name}");
        }
    }
}

#[test]
fn stack_makes_one_write_for_each_64_kib_of_output() {
    for environment in environments() {
        let length = Command::new(program("stack"))
            .env_clear()
            .envs(environment.iter().map(|var| var.split_once('=').unwrap()))
            .output()
            .unwrap()
            .stdout
            .len();
        let mut expected = vec!["execve"];
        expected.resize(1 + length.div_ceil(64 << 10), "write");
        expected.push("exit_group");
        trace(&subject("stack").environment(environment))
            .unwrap()
            .assert(exactly(expected));
    }
}

/// Nine arguments of nearly 128 KiB, the most that Linux takes for one (MAX_ARG_STRLEN).
fn a_mebibyte_of_arguments() -> Vec<String> {
    let arguments = vec!["x".repeat((128 << 10) - 16); 9];
    assert!(arguments.iter().map(String::len).sum::<usize>() > 1 << 20);
    arguments
}

#[test]
fn each_program_makes_exactly_its_calls_with_no_arguments_and_with_a_mebibyte_of_them() {
    for name in ["true", "false", "hello", "golf"] {
        let none: [&str; 0] = [];
        trace(&subject(name).argv(none))
            .unwrap()
            .assert(exactly(calls(name).iter().copied()));
        let seen = trace(&subject(name).args(a_mebibyte_of_arguments())).unwrap();
        seen.assert(exactly(calls(name).iter().copied()));
    }
}

#[test]
fn exec_makes_no_call_between_its_execve_and_that_of_the_program() {
    for environment in environments() {
        let exec = || {
            subject("exec")
                .arg(program("hello"))
                .environment(environment.clone())
        };
        let expected = ["execve", "execve", "write", "exit_group"];
        trace(&exec()).unwrap().assert(exactly(expected));
        trace(&exec().args(a_mebibyte_of_arguments()))
            .unwrap()
            .assert(exactly(expected));
    }
}

#[test]
fn an_exec_that_fails_makes_one_writev_and_exits() {
    let failed = ["execve", "execve", "writev", "exit_group"];
    trace(&subject("exec").arg("/nowhere"))
        .unwrap()
        .assert(exactly(failed));
    let usage = ["execve", "write", "exit_group"];
    trace(&subject("exec")).unwrap().assert(exactly(usage));
}

// hello

#[test]
fn hello_prints_one_line() {
    Command::new(program("hello"))
        .assert()
        .success()
        .stdout("hello, world\n")
        .stderr("");
}

fn write_error(name: &str) -> Command {
    let mut command = Command::new(program(name));
    command.stderr(Stdio::piped());
    command
}

#[test]
fn a_full_device_is_one_line_on_stderr_and_exit_1() {
    for name in ["hello", "stack"] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        write_error(name)
            .stdout(full)
            .assert()
            .code(1)
            .stderr(format!("{name}: stdout: ENOSPC\n"));
    }
}

#[test]
fn a_closed_stdout_is_one_line_on_stderr_and_exit_1() {
    for name in ["hello", "stack"] {
        let mut command = write_error(name);
        // SAFETY: one system call between fork and exec.
        unsafe { command.pre_exec(|| Ok(nix::unistd::close(1)?)) };
        command
            .assert()
            .code(1)
            .stderr(format!("{name}: stdout: EBADF\n"));
    }
}

/// The writing end of a pipe that nobody reads.
fn broken_pipe() -> OwnedFd {
    let (_, write) = nix::unistd::pipe().unwrap();
    write
}

#[test]
fn a_broken_pipe_is_one_line_on_stderr_and_exit_1_where_sigpipe_is_ignored() {
    for name in ["hello", "stack"] {
        let mut command = write_error(name);
        // SAFETY: one system call between fork and exec.
        unsafe {
            command.pre_exec(|| {
                signal::signal(Signal::SIGPIPE, SigHandler::SigIgn)?;
                Ok(())
            })
        };
        command
            .stdout(broken_pipe())
            .assert()
            .code(1)
            .stderr(format!("{name}: stdout: EPIPE\n"));
    }
}

#[test]
fn a_broken_pipe_ends_a_program_by_sigpipe_as_any_other() {
    let output = write_error("hello").stdout(broken_pipe()).output().unwrap();
    assert_eq!(output.status.signal(), Some(Signal::SIGPIPE as i32));
    assert_eq!(output.stderr, b"");
}

#[test]
fn with_all_three_streams_closed_each_program_makes_the_same_calls_and_ends() {
    let failed_write = &["execve", "write", "writev", "exit_group"][..];
    for (name, expected, status) in [
        ("true", &EXIT[..], 0),
        ("false", &EXIT[..], 1),
        ("golf", &["execve", "exit"][..], 0),
        ("hello", failed_write, 1),
        ("stack", failed_write, 1),
        ("exec", &["execve", "write", "exit_group"][..], 125),
        ("launch", &["execve", "write", "exit_group"][..], 125),
    ] {
        let closed = Stream::Closed;
        let subject = subject(name).stdin(closed).stdout(closed).stderr(closed);
        let seen = trace(&subject).unwrap();
        seen.assert(exactly(expected.iter().copied()));
        assert_eq!(seen.exit, Exit::Exited(status), "{name}");
    }
}

#[test]
fn closed_stderr_changes_neither_the_calls_nor_the_status() {
    let subject = subject("exec").arg("/nowhere").stderr(Stream::Closed);
    let seen = trace(&subject).unwrap();
    seen.assert(exactly(["execve", "execve", "writev", "exit_group"]));
    assert_eq!(seen.exit, Exit::Exited(127));
}

#[test]
fn a_pipe_that_is_full_and_does_not_block_is_one_line_on_stderr_and_exit_1() {
    let (_read, write) = nix::unistd::pipe().unwrap();
    nix::fcntl::fcntl(&write, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
    while nix::unistd::write(&write, b"x").is_ok() {}
    write_error("hello")
        .stdout(write)
        .assert()
        .code(1)
        .stderr("hello: stdout: EAGAIN\n");
}

#[test]
fn what_a_file_size_limit_leaves_room_for_is_written_and_then_the_error_named() {
    let path = folder("file_size_limit").join("out");
    let mut command = write_error("stack");
    // SAFETY: two system calls between fork and exec.
    unsafe {
        command.pre_exec(|| {
            signal::signal(Signal::SIGXFSZ, SigHandler::SigIgn)?;
            Ok(setrlimit(Resource::RLIMIT_FSIZE, 7, 7)?)
        })
    };
    command
        .stdout(File::create(&path).unwrap())
        .assert()
        .code(1)
        .stderr("stack: stdout: EFBIG\n");
    assert_eq!(fs::read_to_string(path).unwrap().len(), 7);
}

/// Runs hello under ptrace: the first write is answered by `answer` instead of the
/// kernel. Gives what reached stdout, the calls of write, and the exit status.
#[allow(clippy::zombie_processes, reason = "waitpid reaps it")]
fn hello_with_a_first_write_that_gives(answer: i64) -> (String, usize, i32) {
    let (read, write) = nix::unistd::pipe().unwrap();
    let mut command = Command::new(program("hello"));
    command.stdout(write).stderr(Stdio::null());
    // SAFETY: one system call between fork and exec.
    unsafe { command.pre_exec(|| Ok(ptrace::traceme()?)) };
    let child = command.spawn().unwrap();
    drop(command);
    let pid = Pid::from_raw(child.id() as i32);
    wait::waitpid(pid, None).unwrap();
    ptrace::setoptions(pid, ptrace::Options::PTRACE_O_TRACESYSGOOD).unwrap();
    let mut writes = 0;
    let mut entry = true;
    let status = loop {
        ptrace::syscall(pid, None).unwrap();
        match wait::waitpid(pid, None).unwrap() {
            wait::WaitStatus::PtraceSyscall(_) => {
                let mut registers = ptrace::getregs(pid).unwrap();
                if registers.orig_rax == libc::SYS_write as u64 && entry {
                    writes += 1;
                    if writes == 1 && answer <= 0 {
                        registers.orig_rax = u64::MAX; // no call at all
                        ptrace::setregs(pid, registers).unwrap();
                    } else if writes == 1 {
                        registers.rdx = answer as u64; // a part only
                        ptrace::setregs(pid, registers).unwrap();
                    }
                } else if writes == 1 && !entry && answer <= 0 {
                    registers.rax = answer as u64;
                    ptrace::setregs(pid, registers).unwrap();
                } else if writes == 1 && !entry {
                    // The kernel leaves rdx alone, and so must this.
                    registers.rdx = b"hello, world\n".len() as u64;
                    ptrace::setregs(pid, registers).unwrap();
                }
                entry = !entry;
            }
            wait::WaitStatus::Exited(_, status) => break status,
            other => panic!("{other:?}"),
        }
    };
    let mut all = String::new();
    File::from(read).read_to_string(&mut all).unwrap();
    (all, writes, status)
}

#[test]
fn after_a_part_the_rest_is_written_and_only_the_rest() {
    for part in [1, 5, 12] {
        assert_eq!(
            hello_with_a_first_write_that_gives(part),
            ("hello, world\n".to_owned(), 2, 0)
        );
    }
}

#[test]
fn a_write_that_a_signal_cut_short_is_made_again() {
    let eintr = -i64::from(libc::EINTR);
    assert_eq!(
        hello_with_a_first_write_that_gives(eintr),
        ("hello, world\n".to_owned(), 2, 0)
    );
}

#[test]
fn a_device_that_takes_nothing_is_an_error_and_no_endless_loop() {
    assert_eq!(
        hello_with_a_first_write_that_gives(0),
        (String::new(), 1, 1)
    );
}

// exec

#[test]
fn exec_passes_arguments_environment_and_status_on_untouched() {
    let shell = "printf '%s|' \"$0\" \"$@\" \"$A\"; exit 7";
    Command::new(program("exec"))
        .args(["/bin/sh", "-c", shell, "a b", "", "ü"])
        .env("A", "1 2")
        .assert()
        .code(7)
        .stdout("a b||ü|1 2|");
}

#[test]
fn exec_searches_no_directories() {
    Command::new(program("exec"))
        .arg("true")
        .assert()
        .code(127)
        .stderr("exec: true: ENOENT\n");
}

#[test]
fn a_program_that_is_not_there_is_127_and_one_that_cannot_be_run_126() {
    let folder = folder("exec_errors");
    let text = folder.join("text");
    fs::write(&text, "just text\n").unwrap();
    let unmarked = folder.join("unmarked");
    fs::copy("/bin/true", &unmarked).unwrap();
    fs::set_permissions(&text, fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&unmarked, fs::Permissions::from_mode(0o644)).unwrap();
    let busy = folder.join("busy");
    fs::copy("/bin/true", &busy).unwrap();
    let _writer = OpenOptions::new().write(true).open(&busy).unwrap();
    let circle = folder.join("circle");
    std::os::unix::fs::symlink("circle", &circle).unwrap();
    let below = text.join("below");
    let missing = folder.join("missing");
    let long = format!("/{}", "x".repeat(300));
    for (path, error, status) in [
        (missing.to_str().unwrap(), "ENOENT", 127),
        ("", "ENOENT", 127),
        (folder.to_str().unwrap(), "EACCES", 126),
        (unmarked.to_str().unwrap(), "EACCES", 126),
        (text.to_str().unwrap(), "ENOEXEC", 126),
        (below.to_str().unwrap(), "ENOTDIR", 126),
        (busy.to_str().unwrap(), "ETXTBSY", 126),
        (circle.to_str().unwrap(), "ELOOP", 126),
        (long.as_str(), "ENAMETOOLONG", 126),
    ] {
        Command::new(program("exec"))
            .arg(path)
            .assert()
            .code(status)
            .stdout("")
            .stderr(format!("exec: {path}: {error}\n"));
    }
}

#[test]
fn a_path_that_is_no_text_is_named_byte_for_byte() {
    let path = std::ffi::OsString::from_vec(b"/no\xff\xfe".to_vec());
    let output = Command::new(program("exec")).arg(path).output().unwrap();
    assert_eq!(output.stderr, b"exec: /no\xff\xfe: ENOENT\n");
}

#[test]
fn exec_without_a_path_is_125_also_when_argc_is_0() {
    Command::new(program("exec"))
        .assert()
        .code(125)
        .stderr("usage: exec PATH [ARG]...\n");
    let none: [&str; 0] = [];
    let seen = trace(&subject("exec").argv(none)).unwrap();
    assert_eq!(seen.exit, Exit::Exited(125));
}

// stack

#[test]
fn stack_prints_arguments_environment_and_auxiliary_vector_in_the_order_they_lie() {
    let output = Command::new(program("stack"))
        .args(["one", "quote \" and \\ and \u{e9}\n"])
        .env_clear()
        .env("A", "1")
        .output()
        .unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let mut last = 0;
    let mut printed = Vec::new();
    for line in text.lines() {
        let (address, what) = line.split_once("  ").unwrap();
        let address = usize::from_str_radix(address.strip_prefix("0x").unwrap(), 16).unwrap();
        assert!(address > last && address % 8 == 0, "{text}");
        last = address;
        // Where a string lies differs from run to run.
        printed.push(
            match what
                .split_once(" 0x")
                .and_then(|(name, at)| Some((name, at.split_once(' ')?)))
            {
                Some((name, (_, string))) => format!("{name} {string}"),
                None => what.to_owned(),
            },
        );
    }
    let name = program("stack");
    let first = [
        "argc 3",
        &format!("argv[0] {:?}", name.to_str().unwrap()),
        "argv[1] \"one\"",
        r#"argv[2] "quote \" and \\ and \xc3\xa9\x0a""#,
        "argv[3] NULL",
        "envp[0] \"A=1\"",
        "envp[1] NULL",
    ];
    assert_eq!(printed[..first.len()], first);
    assert!(
        printed[first.len()..]
            .iter()
            .all(|line| line.starts_with("AT_")),
        "{text}"
    );
    assert_eq!(printed.last().unwrap(), "AT_NULL");
}

/// The values that `stack` prints, by the names of their entries.
fn auxiliary() -> std::collections::HashMap<String, String> {
    let output = Command::new(program("stack")).output().unwrap();
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .filter_map(|line| line.split_once("  ")?.1.split_once(' '))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[test]
fn stack_decodes_the_auxiliary_vector_by_what_its_entries_mean() {
    let entries = auxiliary();
    let image = image(program("stack")).unwrap();
    assert_eq!(entries["AT_PAGESZ"], "4096");
    assert_eq!(entries["AT_PHNUM"], "2");
    assert_eq!(entries["AT_PHENT"], "56");
    assert_eq!(entries["AT_ENTRY"], format!("{:#x}", image.entry));
    assert_eq!(entries["AT_UID"], nix::unistd::getuid().to_string());
    assert_eq!(entries["AT_SECURE"], "0");
    let path = program("stack");
    assert!(entries["AT_EXECFN"].ends_with(&format!(" {:?}", path.to_str().unwrap())));
    assert!(entries["AT_PLATFORM"].ends_with(" \"x86_64\""));
    let random = entries["AT_RANDOM"].split(' ').nth(1).unwrap();
    assert_eq!(random.len(), 32);
    assert!(random.bytes().all(|byte| byte.is_ascii_hexdigit()));
    assert_ne!(auxiliary()["AT_RANDOM"].split(' ').nth(1).unwrap(), random);
}

#[test]
fn stack_knows_by_name_every_entry_that_this_kernel_gives() {
    for name in auxiliary().keys() {
        let number = name
            .strip_prefix("AT_")
            .is_some_and(|rest| rest.parse::<u32>().is_ok());
        assert!(!number, "{name}");
    }
}

#[test]
fn stack_agrees_with_the_kernel_on_its_own_auxiliary_vector() {
    // cat prints the same kernel's vector as raw words: the same kinds, in the same order.
    let raw = Command::new("/bin/cat")
        .arg("/proc/self/auxv")
        .output()
        .unwrap()
        .stdout;
    let output = Command::new(program("stack")).output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let printed = lines.lines().filter(|line| line.contains("  AT_")).count();
    assert_eq!(printed, raw.len() / 16);
}

#[test]
fn stack_with_argc_0_or_an_empty_environment_is_whole() {
    let none: [&str; 0] = [];
    let seen = trace(&subject("stack").argv(none).environment(none)).unwrap();
    seen.assert(exactly(WRITE_AND_EXIT));
    assert_eq!(seen.exit, Exit::Exited(0));
}

#[test]
fn stack_prints_all_of_a_mebibyte_of_arguments() {
    let arguments = a_mebibyte_of_arguments();
    let mut child = Command::new(program("stack"))
        .args(&arguments)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let found = lines
        .map(Result::unwrap)
        .filter(|line| line.contains(&arguments[0]))
        .count();
    assert_eq!(found, arguments.len());
    assert!(child.wait().unwrap().success());
}
