//! Runs a program in one of the ways, and gives what came of it.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::resource::{Resource, setrlimit};

use crate::common::program;

/// How a program is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By whoever runs the tests.
    Alone,
    /// By the launcher, through execve.
    Execve,
    /// By the launcher, in place or not at all.
    Only,
    /// By the launcher, in place or through execve.
    Direct,
    /// So too; the launcher says why when it is through execve.
    Explain,
}

impl Way {
    /// A command that starts `target`. It gets few variables, nothing to read, and no core dumps;
    /// what never ends is ended.
    pub fn command(self, target: &Path) -> Command {
        self.command_of(&program("launch"), target)
    }

    /// The same by a copy of the launcher.
    pub fn command_of(self, launcher: &Path, target: &Path) -> Command {
        let words: &[&str] = match self {
            Way::Alone => &[],
            Way::Execve => &["--"],
            Way::Only => &["--direct=only", "--"],
            Way::Direct => &["--direct", "--"],
            Way::Explain => &["--direct", "--explain", "--"],
        };
        let mut command = if self == Way::Alone {
            Command::new(target)
        } else {
            let mut command = Command::new(launcher);
            command.args(words).arg(target);
            command
        };
        command
            .env_clear()
            .envs([("LC_ALL", "C"), ("PATH", "/usr/local/bin:/usr/bin:/bin")])
            .stdin(Stdio::null());
        // SAFETY: system calls only.
        unsafe {
            command.pre_exec(|| {
                setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
                setrlimit(Resource::RLIMIT_CPU, 5, 5)?;
                Ok(())
            })
        };
        command
    }
}

/// What came of a command.
#[derive(Clone, PartialEq, Eq)]
pub struct Outcome {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

impl Outcome {
    pub fn of(command: &mut Command) -> Self {
        loop {
            match command.output() {
                Ok(output) => {
                    return Outcome {
                        status: output.status,
                        stdout: output.stdout,
                        stderr: output.stderr,
                    };
                }
                // A test beside this one has forked while the file was being written.
                Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(error) => panic!("{command:?}: {error}"),
            }
        }
    }

    pub fn stdout(&self) -> &str {
        str::from_utf8(&self.stdout).unwrap()
    }

    pub fn stderr(&self) -> &str {
        str::from_utf8(&self.stderr).unwrap()
    }
}

impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (stdout, stderr) = (
            String::from_utf8_lossy(&self.stdout),
            String::from_utf8_lossy(&self.stderr),
        );
        write!(f, "{}, stdout {stdout:?}, stderr {stderr:?}", self.status)
    }
}

/// Runs `target` with these arguments.
pub fn run<S: AsRef<OsStr>>(way: Way, target: &Path, args: &[S]) -> Outcome {
    Outcome::of(way.command(target).args(args))
}

/// Says something on stderr, past the test runner, which keeps what a passed test prints.
pub fn say(line: &str) {
    io::stderr()
        .write_all(format!("{line}\n").as_bytes())
        .unwrap();
}
