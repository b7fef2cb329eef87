//! Where the programs of a report are run.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use super::{Found, Measured, Plan};
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
    copies: Mutex<Copies>,
    /// What `exec` runs.
    target: PathBuf,
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
        Ok(Place {
            copies: Mutex::new(copies),
            target,
        })
    }

    /// A program as it is run here, by which of our programs it is compared with.
    pub fn subject(&self, program: &str, path: &Path) -> Result<Subject> {
        let copy = self
            .copies
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .copy(path)?;
        let subject = Subject::new(copy).timeout(LIMIT);
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
    ) -> Result<Found> {
        let count = count(subject, plan.repeat)?;
        let calls = match program {
            // Less the calls of the target, which are all of its own but its execve.
            "exec" => {
                let target = trace(&Subject::new(&self.target))?.count() - 1;
                Range {
                    min: count.total.min.saturating_sub(target),
                    max: count.total.max.saturating_sub(target),
                }
            }
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
        Ok(Found::Measured(Box::new(Measured {
            calls,
            count,
            image: image(path)?,
            steps,
            time: None,
        })))
    }
}
