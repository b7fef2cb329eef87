//! How long each program takes, in rounds of all its runtimes.

use std::slice;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Comparison, Outcome};
use crate::count::Range;
use crate::error::{Error, Result};
use crate::report::{Bench, Found, Name};
use crate::subject::Subject;
use crate::time::{Control, Plan, Ratio, Spread, Timing, time_each};

/// What to judge times by.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Clock {
    /// In how many rounds all rows were timed, in shuffled order.
    pub rounds: usize,
    /// Our program against a copy of it.
    pub control: Control,
    /// A process that ends at once.
    pub floor: Spread,
    /// What a reader must know to judge the times.
    pub notes: Vec<String>,
}

/// How long one program takes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Time {
    /// How long it takes, from just before its start until it is reaped.
    pub spread: Spread,
    /// How many times as long as ours; None for ours.
    pub ratio: Option<Ratio>,
    /// Its page faults.
    pub faults: Range,
}

/// What part of the section's usual time the rounds of one program may take, whatever the machine
/// does meanwhile.
const MOST: f64 = 0.25;

/// Times all rows of which there is a subject. Whether that succeeds or not is in the rows and in
/// the clock.
pub(super) fn time(
    comparison: &mut Comparison,
    mut subjects: Vec<(usize, Subject)>,
    bench: &Bench,
    tell: impl Fn(f64) + Sync,
) {
    let most = Name::Programs.seconds(bench.depth()) * MOST;
    let plan = Plan {
        rounds: bench.depth().of(100, 1000, 2000),
        max_time: Duration::from_secs_f64(most),
        memory: false,
        ..Plan::default()
    };
    let mut timing = together(comparison, &subjects, &plan, &tell);
    if timing.is_err() {
        // One that cannot be timed shall not be in the way of the others.
        let before = subjects.len();
        subjects.retain(|(row, subject)| match alone(subject) {
            Ok(()) => true,
            Err(error) => {
                comparison.set(*row, Found::NotMeasured(error.to_string()));
                false
            }
        });
        if subjects.len() < before {
            timing = together(comparison, &subjects, &plan, &tell);
        }
    }
    match timing {
        Ok(timing) => {
            for ((row, _), timed) in subjects.iter().zip(&timing.subjects) {
                let time = Time {
                    spread: timed.time,
                    ratio: timed.ratio,
                    faults: timed.faults,
                };
                comparison.set(*row, Found::Measured(time));
            }
            comparison.clock = Found::Measured(Clock {
                rounds: timing.rounds,
                control: timing.control,
                floor: timing.floor,
                notes: timing.notes,
            });
        }
        Err(error) => {
            for (row, _) in &subjects {
                comparison.set(*row, Found::NotMeasured(error.to_string()));
            }
            comparison.clock = Found::NotMeasured(error.to_string());
        }
    }
}

/// All in the same rounds, ours being the first: all ratios are to that.
fn together(
    comparison: &Comparison,
    subjects: &[(usize, Subject)],
    plan: &Plan,
    tell: &(impl Fn(f64) + Sync),
) -> Result<Timing> {
    if subjects.first().is_none_or(|(row, _)| *row != 0) {
        return Err(Error::NotMeasured {
            subject: comparison.program.clone(),
            reason: "ours cannot be run, and all times are by that of ours; build it anew with \
                     make programs"
                .to_owned(),
        });
    }
    let subjects: Vec<_> = subjects.iter().map(|(_, it)| it.clone()).collect();
    time_each(&subjects, plan, |at| {
        tell(at.done as f64 / at.of.max(1) as f64);
    })
}

/// Whether it can be timed at all: one round of it.
fn alone(subject: &Subject) -> Result<()> {
    let plan = Plan {
        rounds: 1,
        warmup: 0,
        memory: false,
        ..Plan::default()
    };
    time_each(slice::from_ref(subject), &plan, |_| {}).map(|_| ())
}

impl Comparison {
    fn set(&mut self, row: usize, time: Found<Time>) {
        if let Some(row) = self.rows.get_mut(row)
            && let Outcome::Measured(measured) = &mut row.found
        {
            measured.time = time;
        }
    }
}
