//! Where the programs of a report are run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Measured, Plan};
use crate::count::{Range, count};
use crate::error::{Error, Result};
use crate::image::image;
use crate::steps::{Until, steps};
use crate::subject::Subject;
use crate::time::Copies;
use crate::trace::trace;

/// A folder with a copy of each program, all made in one way, under paths of one length: a
/// longer path is more to read for a runtime that looks at it.
pub(super) struct Place {
    copies: Copies,
    /// What `exec` runs.
    target: PathBuf,
    /// How many calls that makes behind its execve.
    of_target: usize,
}

/// None of the programs takes that long, unless something is wrong with it.
const LIMIT: Duration = Duration::from_secs(60);

impl Place {
    pub fn new(programs: &Path) -> Result<Self> {
        let mut copies = Copies::new()?;
        let path = programs.join("true");
        if !path.is_file() {
            let reason = "no such program; make programs builds ours".to_owned();
            return Err(Error::BadFile { path, reason });
        }
        let target = copies.copy(&path)?;
        let of_target = trace(&Subject::new(&target))?.count() - 1;
        Ok(Place {
            copies,
            target,
            of_target,
        })
    }

    /// A program as it is run here, by which of our programs it is compared with.
    pub fn subject(&mut self, program: &str, path: &Path) -> Result<Subject> {
        let subject = Subject::new(self.copies.copy(path)?).timeout(LIMIT);
        Ok(match program {
            "exec" => subject.arg(&self.target),
            _ => subject,
        })
    }

    /// All but its time.
    pub fn measure(
        &self,
        subject: &Subject,
        program: &str,
        path: &Path,
        plan: &Plan,
    ) -> Result<Measured> {
        let count = count(subject, plan.repeat)?;
        let calls = match program {
            "exec" => Range {
                min: count.total.min.saturating_sub(self.of_target),
                max: count.total.max.saturating_sub(self.of_target),
            },
            _ => count.total,
        };
        let steps = match plan.steps {
            // The first image is the program itself; that of `exec` ends with its execve.
            true => steps(subject, Until::End)?
                .images
                .first()
                .map(|image| image.total),
            false => None,
        };
        Ok(Measured {
            calls,
            count,
            image: image(path)?,
            steps,
            time: None,
        })
    }
}
