//! What to run: a program with its arguments, under a fixed, recorded environment.
//!
//! A count is only worth something when the next person gets the same one, and the
//! environment changes counts: its variables, the kind of file that stdout is, a
//! signal that the parent ignored. So a subject starts from nothing of the caller's,
//! and all that it starts from is part of the facts.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::fd::RawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::error::{Error, Result};

/// A program with its arguments and all that it starts from.
///
/// ```
/// use barest::subject::{Stream, Subject};
///
/// let subject = Subject::new("/bin/echo").arg("hello").stdout(Stream::Pipe);
/// assert_eq!(subject.to_string(), "/bin/echo hello");
/// # Ok::<(), barest::Error>(())
/// ```
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Subject {
    /// The program as it was named; without a slash it is looked up in the
    /// subject's own PATH.
    #[serde(serialize_with = "escaped")]
    pub program: PathBuf,
    /// argv, the program's own name first. May be empty: argc is 0 then, which
    /// Linux from 5.18 turns into one empty argument.
    #[serde(serialize_with = "all_escaped")]
    pub argv: Vec<OsString>,
    /// envp, each `NAME=VALUE`, in this order.
    #[serde(serialize_with = "all_escaped")]
    pub environment: Vec<OsString>,
    /// Where stdin comes from.
    pub stdin: Stream,
    /// Where stdout goes.
    pub stdout: Stream,
    /// Where stderr goes.
    pub stderr: Stream,
    /// What is done in its process before its execve, in this order, once its streams are
    /// connected.
    pub set_up: Vec<SetUp>,
    /// How long it may run before it is killed and the measurement fails.
    #[serde(rename = "timeout_ns", serialize_with = "crate::nanoseconds::any")]
    pub timeout: Option<Duration>,
}

/// The environment of a subject that was given no other: enough for a program
/// to find others, and no locale.
pub const FIXED_ENVIRONMENT: [&str; 2] = [
    "LC_ALL=C",
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
];

/// What one of a subject's standard streams is connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    /// `/dev/null`.
    Null,
    /// A pipe that the kit reads to its end and forgets (as stdin: an empty one).
    Pipe,
    /// An empty file without a name.
    File,
    /// A terminal of its own.
    Tty,
    /// The caller's own stream.
    Inherit,
    /// Not open at all.
    Closed,
}

/// One thing that is done in a subject's process before its execve. All but [`SetUp::File`] are
/// one system call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SetUp {
    /// Changes the directory: chdir(2).
    Directory(#[serde(serialize_with = "escaped")] PathBuf),
    /// Makes or empties a file and has it open for writing: open(2), dup2(2).
    File {
        /// The file.
        #[serde(serialize_with = "escaped")]
        path: PathBuf,
        /// As which descriptor.
        descriptor: RawFd,
    },
    /// Has what is open as one descriptor open as another as well: dup2(2).
    Duplicate {
        /// The descriptor that is open.
        of: RawFd,
        /// The other one. Not the same.
        to: RawFd,
    },
    /// Closes a descriptor: close(2). It need not be open.
    Close(RawFd),
    /// Makes the process the leader of a session of its own: setsid(2).
    Session,
}

impl Subject {
    /// A program without arguments, under [`FIXED_ENVIRONMENT`], its streams on `/dev/null`.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        let program = program.into();
        Subject {
            argv: vec![program.clone().into_os_string()],
            program,
            environment: FIXED_ENVIRONMENT.map(OsString::from).to_vec(),
            stdin: Stream::Null,
            stdout: Stream::Null,
            stderr: Stream::Null,
            set_up: Vec::new(),
            timeout: None,
        }
    }

    /// A command line, split into words as a shell would, run without one.
    ///
    /// Fails on unbalanced quotes, and when there is no word.
    pub fn from_command_line(line: &OsStr) -> Result<Self> {
        let bad = || Error::Words(escape(line));
        let words = shlex::bytes::split(line.as_bytes()).ok_or_else(bad)?;
        let mut words = words.into_iter().map(OsString::from_vec);
        let program = words.next().ok_or_else(bad)?;
        Ok(Subject::new(program).args(words))
    }

    /// One more argument.
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.argv.push(arg.into());
        self
    }

    /// More arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.argv.extend(args.into_iter().map(Into::into));
        self
    }

    /// The whole of argv, its first element included.
    pub fn argv(mut self, argv: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.argv = argv.into_iter().map(Into::into).collect();
        self
    }

    /// The whole environment, each element `NAME=VALUE`.
    pub fn environment(mut self, vars: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.environment = vars.into_iter().map(Into::into).collect();
        self
    }

    /// The caller's own environment.
    pub fn inherit_environment(self) -> Self {
        self.environment(std::env::vars_os().map(|(name, value)| {
            let mut var = name;
            var.push("=");
            var.push(value);
            var
        }))
    }

    /// Where stdin comes from.
    pub fn stdin(mut self, stream: Stream) -> Self {
        self.stdin = stream;
        self
    }

    /// Where stdout goes.
    pub fn stdout(mut self, stream: Stream) -> Self {
        self.stdout = stream;
        self
    }

    /// Where stderr goes.
    pub fn stderr(mut self, stream: Stream) -> Self {
        self.stderr = stream;
        self
    }

    /// One more thing that is done before its execve. Other than its streams, descriptors are
    /// only open if one of these opens them.
    ///
    /// ```
    /// use barest::subject::{SetUp, Subject};
    ///
    /// // In the root directory, with a third descriptor that is what stdin is.
    /// let subject = Subject::new("/bin/pwd")
    ///     .set_up(SetUp::Directory("/".into()))
    ///     .set_up(SetUp::Duplicate { of: 0, to: 3 });
    /// # assert_eq!(barest::trace(&subject)?.exit, barest::Exit::Exited(0));
    /// # Ok::<(), barest::Error>(())
    /// ```
    pub fn set_up(mut self, set_up: SetUp) -> Self {
        self.set_up.push(set_up);
        self
    }

    /// How long it may run.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }
}

/// The command line, its words joined by spaces, for people to read.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escape(self.program.as_os_str()))?;
        for arg in self.argv.iter().skip(1) {
            write!(f, " {}", escape(arg))?;
        }
        Ok(())
    }
}

/// As a shell has it: `cd DIR`, `1>FILE`, `3<&0`, `3<&-`, `setsid`.
impl fmt::Display for SetUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetUp::Directory(path) => write!(f, "cd {}", escape(path.as_os_str())),
            SetUp::File { path, descriptor } => {
                write!(f, "{descriptor}>{}", escape(path.as_os_str()))
            }
            SetUp::Duplicate { of, to } => write!(f, "{to}<&{of}"),
            SetUp::Close(descriptor) => write!(f, "{descriptor}<&-"),
            SetUp::Session => f.write_str("setsid"),
        }
    }
}

/// The name, as [`FromStr`] takes it.
impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stream::Null => "null",
            Stream::Pipe => "pipe",
            Stream::File => "file",
            Stream::Tty => "tty",
            Stream::Inherit => "inherit",
            Stream::Closed => "closed",
        })
    }
}

impl FromStr for Stream {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        Ok(match name {
            "null" => Stream::Null,
            "pipe" => Stream::Pipe,
            "file" => Stream::File,
            "tty" => Stream::Tty,
            "inherit" => Stream::Inherit,
            "closed" => Stream::Closed,
            _ => return Err("one of null, pipe, file, tty, inherit, closed".to_owned()),
        })
    }
}

/// Text of bytes that need not be UTF-8: what is not, and what would move a
/// terminal's cursor, is written `\xNN`; a backslash is doubled, so that nothing is lost.
pub fn escape(text: &OsStr) -> String {
    let mut out = String::new();
    for chunk in text.as_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => out.push_str(r"\\"),
                c if c.is_control() => {
                    let mut bytes = [0; 4];
                    for byte in c.encode_utf8(&mut bytes).bytes() {
                        out.push_str(&format!(r"\x{byte:02x}"));
                    }
                }
                c => out.push(c),
            }
        }
        for byte in chunk.invalid() {
            out.push_str(&format!(r"\x{byte:02x}"));
        }
    }
    out
}

/// Serializes a path or an argument by [`escape`].
pub(crate) fn escaped<S: Serializer>(
    text: &impl AsRef<OsStr>,
    to: S,
) -> std::result::Result<S::Ok, S::Error> {
    to.serialize_str(&escape(text.as_ref()))
}

/// Serializes a list of arguments, each by [`escape`].
pub(crate) fn all_escaped<S: Serializer>(
    list: &[OsString],
    to: S,
) -> std::result::Result<S::Ok, S::Error> {
    to.collect_seq(list.iter().map(|text| escape(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_split_into_words_without_a_shell() {
        let subject = Subject::from_command_line(OsStr::new(r#"a 'b c' "$d" e\ f"#)).unwrap();
        assert_eq!(subject.argv, ["a", "b c", "$d", "e f"]);
    }

    #[test]
    fn a_command_line_without_words_or_with_an_open_quote_is_refused() {
        for line in ["", "  ", "a 'b"] {
            assert!(matches!(
                Subject::from_command_line(OsStr::new(line)),
                Err(Error::Words(_))
            ));
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_escaped_and_backslashes_doubled() {
        assert_eq!(
            escape(OsStr::from_bytes(b"a\xffb\\\x1b\xc3\xa9")),
            "a\\xffb\\\\\\x1b\u{e9}"
        );
    }
}
