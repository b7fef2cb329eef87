//! What a start can meet that makes it none.

use std::io;
use std::path::Path;
use std::time::Duration;

use crate::error::Error;
use crate::spawn::Failure;
use crate::subject::Subject;

/// Why a start has no time.
#[derive(Clone, Copy)]
pub(super) enum Trouble {
    /// The child did not become the subject.
    Refused(Failure),
    /// It ran longer than it may. It and what it started were killed.
    TimedOut,
    /// It ended before processes that it started.
    LeavesProcesses {
        /// Whether these have been killed, all of them.
        all_ended: bool,
    },
    /// Who asked for the time is gone.
    Abandoned,
    /// The system did not do what a start needs: its errno.
    System(i32),
}

impl Trouble {
    /// As two numbers, the first of which is not 0.
    pub fn numbers(self) -> (u64, u64) {
        match self {
            Trouble::Refused(failure) => {
                let [step, errno] = failure.numbers().map(|number| u64::from(number as u32));
                (1, step << 32 | errno)
            }
            Trouble::TimedOut => (2, 0),
            Trouble::LeavesProcesses { all_ended } => (3, all_ended.into()),
            Trouble::Abandoned => (4, 0),
            Trouble::System(errno) => (5, u64::from(errno as u32)),
        }
    }

    /// From its [`Trouble::numbers`].
    pub fn from_numbers(kind: u64, detail: u64) -> Option<Self> {
        Some(match kind {
            1 => {
                let numbers = [detail >> 32, detail].map(|number| number as u32 as i32);
                Trouble::Refused(Failure::from_numbers(numbers))
            }
            2 => Trouble::TimedOut,
            3 => Trouble::LeavesProcesses {
                all_ended: detail == 1,
            },
            4 => Trouble::Abandoned,
            5 => Trouble::System(detail as u32 as i32),
            _ => return None,
        })
    }

    /// In words, of a subject whose file is this one.
    pub fn error(self, subject: &Subject, program: &Path) -> Error {
        let not_measured = |reason: &str| Error::NotMeasured {
            subject: subject.to_string(),
            reason: reason.to_owned(),
        };
        match self {
            Trouble::Refused(failure) => failure.error(program),
            Trouble::TimedOut => Error::TimedOut {
                path: program.to_owned(),
                seconds: subject.timeout.unwrap_or(Duration::ZERO).as_secs_f64(),
            },
            Trouble::LeavesProcesses { all_ended: true } => not_measured(
                "ends before processes that it started, which were killed; \
                 time one that waits for them",
            ),
            Trouble::LeavesProcesses { all_ended: false } => not_measured(
                "ends before processes that it started, and not all could be killed; \
                 end them, and time one that waits for them",
            ),
            Trouble::Abandoned => not_measured("its launcher was told to end; leave it alone"),
            Trouble::System(errno) => Error::io(
                format!("start {subject}"),
                io::Error::from_raw_os_error(errno),
            ),
        }
    }
}
