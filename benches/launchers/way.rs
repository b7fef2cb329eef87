//! A way from a parent to the target, and what is to be known of it.

use std::fs;

use barest::count::{Range, count_each};
use barest::subject::FIXED_ENVIRONMENT;
use barest::trace::{Method, Trace, trace};
use barest::{Error, Exit, Result, SetUp, Subject};

use crate::place::Place;

/// A way from a parent to the target.
pub struct Way {
    pub name: String,
    /// Whether something stands between.
    pub is_launcher: bool,
    /// Just to run it.
    pub exec: Option<Run>,
    /// To do the job first.
    pub job: Option<Run>,
}

/// One of the two, as it is measured.
pub struct Run {
    pub subject: Subject,
    /// Who starts it: posix_spawn(3), or the kit's own vfork.
    pub posix_spawn: bool,
    /// What stands between, if something does: how many bytes its file has, and the calls between
    /// its own execve and the target's.
    pub launcher: Option<(u64, Range)>,
}

impl Run {
    /// A launcher, not yet looked at.
    pub fn of(subject: Subject) -> Self {
        Run {
            subject,
            posix_spawn: false,
            launcher: None,
        }
    }

    /// The same, for the job: what it is to close is open.
    pub fn for_job(subject: Subject) -> Self {
        Run::of(subject.set_up(SetUp::Duplicate { of: 0, to: 3 }))
    }
}

impl Way {
    /// A launcher.
    pub fn new(name: impl Into<String>, exec: Option<Subject>, job: Option<Subject>) -> Self {
        Way {
            name: name.into(),
            is_launcher: true,
            exec: exec.map(Run::of),
            job: job.map(Run::for_job),
        }
    }

    /// No launcher: a parent that does all itself, in the child of its vfork.
    pub fn without_launcher(name: &str, place: &Place) -> Self {
        let variables = FIXED_ENVIRONMENT.into_iter().chain(["A=1"]);
        let job = Run::for_job(Subject::new(&place.target).environment(variables));
        let actions = [
            SetUp::Directory(place.directory.clone()),
            SetUp::File {
                path: "out".into(),
                descriptor: 1,
            },
            SetUp::Close(3),
            SetUp::Session,
        ];
        let job = actions.into_iter().fold(job.subject, Subject::set_up);
        Way {
            name: name.to_owned(),
            is_launcher: false,
            exec: Some(Run::of(Subject::new(&place.target))),
            job: Some(Run::of(job)),
        }
    }

    /// The same, but the parent hands over to posix_spawn(3) what it would do itself.
    pub fn by_posix_spawn(mut self) -> Self {
        for run in [&mut self.exec, &mut self.job].into_iter().flatten() {
            run.posix_spawn = true;
        }
        self
    }

    /// Sees that it does what it is for, the target being the program that exits with the sum of
    /// what has not been done.
    pub fn check(&self) -> Result<()> {
        const NOTHING_DONE: i32 = 1 + 2 + 8 + 16; // there is no descriptor 3 to be closed
        for (run, expected) in [(&self.exec, NOTHING_DONE), (&self.job, 0)] {
            let Some(run) = run else { continue };
            let exit = trace(&run.subject)?.exit;
            if exit != Exit::Exited(expected) {
                return Err(Error::NotMeasured {
                    subject: run.subject.to_string(),
                    reason: format!("{exit}, where {expected} says that all is done as asked"),
                });
            }
        }
        Ok(())
    }

    /// Looks at the launchers.
    pub fn look(&mut self) -> Result<()> {
        for run in [&mut self.exec, &mut self.job].into_iter().flatten() {
            let mut between = Vec::new();
            let count = count_each(&run.subject, RUNS, Method::Syscalls, |trace| {
                between.push(calls_between(trace));
            })?;
            let file = fs::metadata(&count.program)
                .map_err(|e| Error::io(format!("read {}", count.program.display()), e))?;
            let (min, max) = (between.iter().min(), between.iter().max());
            let range = min.zip(max).map(|(&min, &max)| Range { min, max });
            run.launcher = range.map(|range| (file.len(), range));
        }
        Ok(())
    }
}

/// How often calls are counted, to see that they are the same.
const RUNS: usize = 3;

/// The calls between the first execve, which starts a launcher, and the last, which starts the
/// target. Those of links of a chain are counted, and their execves.
fn calls_between(trace: &Trace) -> usize {
    let calls = trace.calls.iter().filter(|call| !call.restart);
    let execs = calls
        .enumerate()
        .filter(|(_, call)| call.label() == "execve" && call.result == Some(0));
    let last = execs.last().map_or(0, |(at, _)| at);
    last.saturating_sub(1)
}
