//! Runs a command from a known state, and gives what came of it.
//!
//! The kit starts its subjects in the same way, but has no use for their output. Here stderr is
//! a file, and the environment any list of strings, with an equals sign or without.

use std::ffi::{CString, OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::ptr;

use crate::subjects::scratch;

/// A command and what it starts from: no descriptors but the three streams, all signals at their
/// default and none blocked.
pub struct Start<'a> {
    /// argv; its first is the file to run.
    pub argv: &'a [OsString],
    pub environment: &'a [OsString],
    /// What stdin is, else `/dev/null`.
    pub stdin: Option<&'a Path>,
    /// What stdout is, else `/dev/null`.
    pub stdout: Option<&'a Path>,
    /// What stderr is.
    pub stderr: &'a Path,
}

/// What came of a command.
#[derive(Debug)]
pub struct Run {
    pub pid: u32,
    pub status: ExitStatus,
    pub stderr: Vec<u8>,
}

impl Run {
    pub fn stderr(&self) -> &str {
        str::from_utf8(&self.stderr).unwrap()
    }
}

/// A command with the environment of this process, to its end. For those whose words are all
/// that matters.
pub fn run(argv: &[OsString]) -> Run {
    run_with(argv, &[])
}

/// A command with this environment, to its end.
pub fn run_with(argv: &[OsString], environment: &[OsString]) -> Run {
    Start {
        argv,
        environment,
        stdin: None,
        stdout: None,
        stderr: &scratch("stderr"),
    }
    .run()
}

impl Start<'_> {
    /// To its end.
    pub fn run(&self) -> Run {
        let mut child = self.spawn();
        let status = child.wait().unwrap();
        Run {
            pid: child.id(),
            status,
            stderr: fs::read(self.stderr).unwrap(),
        }
    }

    fn spawn(&self) -> Child {
        // std runs what it is given; the closure goes first, and runs what this is about.
        let mut command = Command::new(&self.argv[0]);
        command
            .stdin(self.stdin.map_or_else(Stdio::null, |path| {
                File::options()
                    .read(true)
                    .write(true)
                    .custom_flags(libc::O_NOCTTY)
                    .open(path)
                    .unwrap()
                    .into()
            }))
            .stdout(
                self.stdout
                    .map_or_else(Stdio::null, |path| File::create(path).unwrap().into()),
            )
            .stderr(File::create(self.stderr).unwrap());
        let argv = Words::new(self.argv);
        let environment = Words::new(self.environment);
        let program = c_string(&self.argv[0]);
        // SAFETY: system calls only, on memory that was made before the fork.
        unsafe {
            command.pre_exec(move || {
                start_clean()?;
                libc::execve(program.as_ptr(), argv.as_ptr(), environment.as_ptr());
                Err(io::Error::last_os_error())
            })
        };
        command
            .spawn()
            .unwrap_or_else(|error| panic!("{:?}: {error}", self.argv))
    }
}

/// Leaves nothing that this process got from its own parent.
fn start_clean() -> io::Result<()> {
    // SAFETY: numbers; no descriptor is closed before the exec.
    if unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3,
            u32::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    } != 0
    {
        return Err(io::Error::last_os_error());
    }
    // struct kernel_sigaction, all zero: SIG_DFL. Those of KILL and STOP cannot be set, nor need be.
    let default = [0u64; 4];
    for signal in 1..=64 {
        // SAFETY: the kernel reads one sigaction, which is on the stack.
        unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, &raw const default, 0, 8) };
    }
    Ok(())
}

/// Strings as execve(2) takes them.
struct Words {
    pointers: Vec<*const libc::c_char>,
    _strings: Vec<CString>,
}

// SAFETY: the pointers are into strings that it owns and never changes.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

impl Words {
    fn new(words: &[OsString]) -> Self {
        let strings: Vec<_> = words.iter().map(c_string).collect();
        let pointers = strings.iter().map(|string| string.as_ptr());
        Words {
            pointers: pointers.chain([ptr::null()]).collect(),
            _strings: strings,
        }
    }

    fn as_ptr(&self) -> *const *const libc::c_char {
        self.pointers.as_ptr()
    }
}

fn c_string(text: impl AsRef<OsStr>) -> CString {
    CString::new(text.as_ref().as_bytes()).unwrap()
}
