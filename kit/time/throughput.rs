//! How long one parent takes for many starts: the measure of who starts programs by the thousand.

use std::time::{Duration, Instant};

use super::launch::{self, Target, What};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::spawn;
use crate::subject::Subject;

/// So many starts are made by one parent; more of them by several, one after the other. What such
/// a parent itself takes, less than a millisecond, is lost in that of so many starts.
const BATCH: usize = 2500;

/// How long it takes to start a subject so many times by vfork and execve, and to wait for the end
/// of each before the next: wall time, as time(1) of a program has it that does nothing else. All
/// runs on one processor. The file is run in its place.
///
/// The starts of [`time`](super::time()) are taken one by one and in turn; these follow on each
/// other, as in a program whose work they are.
///
/// Fails as [`time`](super::time()) does, and when one start does not exit with 0.
pub fn throughput(subject: &Subject, starts: usize) -> Result<Duration> {
    spawn::alone(|| {
        let prepared = spawn::prepare(subject)?;
        spawn::pin();
        let target = Target {
            what: What::Subject(&prepared),
            files: Vec::new(),
            timeout: subject.timeout,
        };
        let order = vec![0; starts.min(BATCH)];
        let (mut left, mut wall) = (starts, Duration::ZERO);
        while left > 0 {
            let now = left.min(BATCH);
            let begin = Instant::now();
            let samples = launch::run(std::slice::from_ref(&target), &order[..now])?;
            wall += begin.elapsed();
            let samples =
                samples.map_err(|(_, trouble)| trouble.error(subject, &prepared.program))?;
            if let Some(failed) = samples
                .iter()
                .map(|sample| sample.status)
                .find(|status| *status != 0)
            {
                let how = Exit::from_status(failed);
                return Err(Error::NotMeasured {
                    subject: subject.to_string(),
                    reason: match how {
                        Some(exit) => format!("{exit}; only starts that exit with 0 are counted"),
                        None => format!("status {failed}"),
                    },
                });
            }
            left -= now;
        }
        Ok(wall)
    })
}
