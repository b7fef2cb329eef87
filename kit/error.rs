//! What can go wrong, each as one line that names the thing and what to do.

use std::io;
use std::path::PathBuf;

use crate::subject::escape;

/// Why something could not be measured. Its text is one line; the command
/// prints it on stderr and exits with 2.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No such program: neither at that path nor in the subject's PATH.
    #[error("{}: not found; name a program by its path, or one in PATH", escape(.0.as_os_str()))]
    NotFound(PathBuf),
    /// The kernel refused to run it.
    #[error("{}: cannot be run: {reason}", escape(path.as_os_str()))]
    NotRunnable {
        /// The program.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        reason: String,
    },
    /// A command line that could not be split into words.
    #[error("`{0}`: unbalanced quotes or no words; quote it as for a shell")]
    Words(String),
    /// This process may not trace another.
    #[error(
        "may not trace: {0}; run as the same user, or in a container with --cap-add=SYS_PTRACE"
    )]
    MayNotTrace(io::Error),
    /// The subject ran longer than it was given. It and its children were killed.
    #[error("{}: still running after {seconds} s, killed; give it longer with --timeout", escape(path.as_os_str()))]
    TimedOut {
        /// The program.
        path: PathBuf,
        /// The limit, in seconds.
        seconds: f64,
    },
    /// It ran, but not in a way that can be measured.
    #[error("{subject}: {reason}")]
    NotMeasured {
        /// The subject, or what was asked of it.
        subject: String,
        /// What it did, and what to do.
        reason: String,
    },
    /// A file that is not what it should be.
    #[error("{}: {reason}", escape(path.as_os_str()))]
    BadFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Words that no launcher can be baked of.
    #[error("{words}: {reason}")]
    NotBaked {
        /// The words, as they were given.
        words: String,
        /// What is wrong with them, and what to do.
        reason: String,
    },
    /// A command of others that the kit ran, and that failed.
    #[error("`{command}`: {reason}")]
    Command {
        /// The command, its words joined by spaces.
        command: String,
        /// What it said, or what is wrong with it.
        reason: String,
    },
    /// A file or another thing of the system that failed.
    #[error("{what}: {source}")]
    Io {
        /// What was done to which thing, as in "write target/report/report.md".
        what: String,
        /// The system's answer.
        source: io::Error,
    },
}

/// A measurement, or why there is none.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An [`Error::Io`] that says what was being done.
    pub fn io(what: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Error::Io {
            what: what.into(),
            source: source.into(),
        }
    }
}
