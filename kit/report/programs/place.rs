//! Where the programs of a report are run, and what single runs of them show.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Measured, Stepped};
use crate::count::{Range, count};
use crate::error::{Error, Result};
use crate::memory::memory;
use crate::report::{Depth, Found};
use crate::steps::{Tally, Until, steps};
use crate::subject::Subject;
use crate::time::Copies;
use crate::trace::trace;

/// A folder with a copy of each program, all made in one way, under paths of one length: a
/// longer path is more to read for a runtime that looks at it.
pub(super) struct Place {
    copies: Copies,
    depth: Depth,
    /// What `exec` runs.
    target: PathBuf,
    /// How many calls that makes behind its execve.
    of_target: Found<usize>,
}

/// None of the programs takes that long, unless something is wrong with it.
const LIMIT: Duration = Duration::from_secs(60);

/// How often each is run to see whether its calls are fixed, and its memory.
const REPEAT: usize = 5;

/// A program of no more instructions is stepped through twice whatever the depth: it takes a
/// second or two.
const FEW: u64 = 50_000;

impl Place {
    pub fn new(target: &Path, depth: Depth) -> Result<Self> {
        let mut copies = Copies::new()?;
        let target = copies.copy(target)?;
        let traced = trace(&Subject::new(&target).timeout(LIMIT));
        Ok(Place {
            copies,
            depth,
            target,
            of_target: traced.map(|trace| trace.count().saturating_sub(1)).into(),
        })
    }

    /// A program as it is run here, by which of our programs it is compared with.
    pub fn subject(&mut self, program: &str, file: &Path) -> Result<Subject> {
        let subject = Subject::new(self.copies.copy(file)?).timeout(LIMIT);
        Ok(match program {
            "exec" => subject.arg(&self.target),
            _ => subject,
        })
    }

    /// All but its time. Fails only when its file cannot be read.
    pub fn measure(
        &self,
        subject: &Subject,
        program: &str,
        ours: bool,
        file: &Path,
    ) -> Result<Measured> {
        let metadata =
            fs::metadata(file).map_err(|e| Error::io(format!("read {}", file.display()), e))?;
        Ok(Measured {
            bytes: metadata.len(),
            calls: self.calls(subject, program),
            steps: match self.depth == Depth::Quick && !ours && program != "true" {
                true => Found::NotMeasured(QUICK.to_owned()),
                false => self.steps(subject, program).into(),
            },
            memory_kb: match program {
                "exec" => Found::NotMeasured(ANOTHER.to_owned()),
                _ => peak_kb(subject).into(),
            },
            time: Found::NotMeasured(String::new()),
        })
    }

    /// Its calls: of `exec` its own.
    fn calls(&self, subject: &Subject, program: &str) -> Found<Range> {
        let of_target = match (program, &self.of_target) {
            ("exec", Found::NotMeasured(why)) => return Found::NotMeasured(why.clone()),
            ("exec", Found::Measured(calls)) => *calls,
            _ => 0,
        };
        let own = count(subject, REPEAT).map(|count| Range {
            min: count.total.min.saturating_sub(of_target),
            max: count.total.max.saturating_sub(of_target),
        });
        own.into()
    }

    /// Its instructions, once or twice.
    fn steps(&self, subject: &Subject, program: &str) -> Result<Stepped> {
        let tally = own(subject)?;
        let mut runs = vec![tally.instructions];
        let twice = self.depth.of(false, program == "true", true);
        if twice || tally.instructions <= FEW {
            runs.push(own(subject)?.instructions);
        }
        Ok(Stepped {
            tally,
            instructions: Range::of(runs.iter().map(|run| *run as usize)),
            runs: runs.len(),
        })
    }
}

/// Why a quick report has no instructions of a program.
const QUICK: &str = "a quick report steps through ours, and of the others through true";

/// Why `exec` has no memory.
const ANOTHER: &str = "what has memory at the end is the program that it ran";

/// The instructions of the first image, which is the program itself: that of `exec` ends with its
/// execve.
fn own(subject: &Subject) -> Result<Tally> {
    let steps = steps(subject, Until::End)?;
    let first = steps.images.first();
    Ok(first.map_or(steps.total, |image| image.total))
}

/// The most memory that it has, in each run.
fn peak_kb(subject: &Subject) -> Result<Range> {
    let runs = (0..REPEAT).map(|_| Ok(memory(subject)?.peak_kb as usize));
    let runs = runs.collect::<Result<Vec<_>>>()?;
    Ok(Range::of(runs.into_iter()))
}
