//! How long a program takes from its start to its end, and how that compares.
//!
//! A time is worth little: the next machine has another one, and so has this machine a minute
//! later. A ratio of two programs that were started in turn, again and again, is worth more. So
//! all subjects are started once in each round, in an order that is shuffled anew; the ratio is
//! that of the times in the same round; and with it comes the interval in which chance leaves it.
//!
//! What is timed: from just before clone(2) with CLONE_VM and CLONE_VFORK until wait4(2) has
//! reaped the process. Launcher and subject share one processor. Each subject is a copy of its
//! file that was made in one way; the first has a second copy, the *control*, whose ratio to
//! the first shows what this machine calls equal just now. In each round there is a *floor* too:
//! a process that ends at once.
//!
//! ```
//! use barest::Subject;
//! use barest::time::{Plan, time};
//!
//! let subjects = [Subject::new("/bin/true"), Subject::new("/bin/sh").args(["-c", ":"])];
//! let timing = time(&subjects, &Plan { rounds: 20, ..Plan::default() })?;
//! assert!(timing.floor.median_ns < timing.subjects[0].time.median_ns);
//! assert!(timing.ratio(1, 0).is_some_and(|shell| shell.ratio > 0.0));
//! # Ok::<(), barest::Error>(())
//! ```

mod bench;
mod copies;
mod expectation;
mod launch;
mod order;
mod random;
mod statistics;
mod throughput;
mod trouble;

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub(crate) use copies::Copies;
pub use expectation::{Expectation, Side, letter};
pub(crate) use random::Random;
pub use statistics::{Ratio, Spread};
pub use throughput::throughput;

use crate::count::Range;
use crate::error::Result;
use crate::exit::Exit;
use crate::memory::Memory;
use crate::spawn;
use crate::subject::{Subject, escaped};

/// How to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How many rounds count; 0 is taken for 1. Below 400, intervals are too narrow to be
    /// believed.
    pub rounds: usize,
    /// How many rounds are run before, and do not count; fewer where they would take more than a
    /// tenth of the time.
    pub warmup: usize,
    /// Go on until half the width of each ratio's interval is at most this part of the ratio,
    /// as in 0.01, or until the time is over.
    pub until: Option<f64>,
    /// What is expected of ratios. If one fails, rounds are added, to eight times as many,
    /// before it has failed.
    pub expectations: Vec<Expectation>,
    /// No round begins after this time, once there are 10 of them (or all, if they are fewer).
    pub max_time: Duration,
    /// Each subject in a block of its own, one after the other, instead of rounds. What the
    /// machine does meanwhile is then in the ratio.
    pub alone: bool,
    /// Each round a walk in which every subject is started once after each other one, and once
    /// after itself: so one can ask what the start before does to a start
    /// ([`Timing::times_after`]). The control, the floor and a start without its execve take part.
    /// A round has then as many starts of each as all of these are. Not with [`Plan::alone`], where
    /// each follows itself.
    pub each_after_each: bool,
    /// Time a copy of each subject's file, not the file in its place.
    ///
    /// A copy is not for programs that find other files by their own path (`$ORIGIN`,
    /// `/proc/self/exe`), and it is never set-user-ID. argv stays as it is.
    pub copy: bool,
    /// Run each subject once more, traced, for its memory.
    pub memory: bool,
    /// The subjects, by their places, that the C library's posix_spawn(3) starts, with the same
    /// streams and [`SetUp`](crate::SetUp)s as file actions, in place of the kit's own vfork. That
    /// of glibc makes a [`SetUp::Session`](crate::SetUp::Session) before all else.
    pub posix_spawn: Vec<usize>,
    /// Which processor to run on; None for the one that the caller is on.
    pub processor: Option<usize>,
    /// What the order of the rounds and the resampling come from.
    pub seed: u64,
}

/// 400 rounds after 10 to warm up, in at most a minute.
impl Default for Plan {
    fn default() -> Self {
        Plan {
            rounds: 400,
            warmup: 10,
            until: None,
            expectations: Vec::new(),
            max_time: Duration::from_secs(60),
            alone: false,
            each_after_each: false,
            copy: true,
            memory: true,
            posix_spawn: Vec::new(),
            processor: None,
            seed: 1,
        }
    }
}

/// How far a measurement has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// How many rounds have been counted. With [`Plan::alone`] those of all blocks together.
    pub done: usize,
    /// Of how many, as it looks now.
    pub of: usize,
}

/// How long subjects take, and how they compare.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Timing {
    /// The subjects, in the order in which they were given.
    pub subjects: Vec<Timed>,
    /// The first subject once more, from a second copy of its file: what is equal here.
    pub control: Control,
    /// A process that ends at once: clone, `_exit`, wait4.
    pub floor: Spread,
    /// What the kit itself does in each start of a subject, above the floor: it connects three
    /// streams and unblocks the signals. The median of the rounds' differences, in nanoseconds;
    /// below 0 where it is lost in the noise.
    pub own_cost_ns: i64,
    /// How many rounds were counted.
    pub rounds: usize,
    /// How many were run before, and not counted.
    pub warmup: usize,
    /// Whether each subject ran in a block of its own, not in shuffled rounds.
    pub alone: bool,
    /// What the order of the rounds and the resampling came from.
    pub seed: u64,
    /// The processor on which launcher and subjects ran; None when they were not pinned.
    pub processor: Option<usize>,
    /// Whether copies of the subjects' files were timed.
    pub copied: bool,
    /// What was expected of ratios, in the order in which it was given.
    pub expectations: Vec<Verdict>,
    /// What a reader must know to judge the rest.
    pub notes: Vec<String>,
    /// The times of each subject, in the order of the rounds, in nanoseconds.
    #[serde(skip)]
    times: Vec<Vec<u64>>,
    /// Every start that was counted, in the order of time.
    #[serde(skip)]
    runs: Vec<Run>,
}

/// One start that was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Run {
    /// What was started.
    pub what: Started,
    /// What was started just before it, on the same processor.
    pub after: Started,
    /// How long it took, in nanoseconds.
    pub ns: u64,
}

/// What is started to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Started {
    /// A subject, by its place.
    Subject(usize),
    /// The second copy of the first subject.
    Control,
    /// A process that ends at once.
    Floor,
    /// All of a start of the first subject but its execve.
    SetUp,
}

/// What one subject takes.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Timed {
    /// Its letter in expectations: A for the first.
    pub letter: String,
    /// What was run.
    pub subject: Subject,
    /// The file that was run (or copied), as it was found.
    #[serde(serialize_with = "escaped")]
    pub program: PathBuf,
    /// How it ended, in every run.
    pub exit: Exit,
    /// Whether posix_spawn(3) started it.
    pub posix_spawn: bool,
    /// How long it took.
    pub time: Spread,
    /// How many times as long as the first subject; None for the first.
    pub ratio: Option<Ratio>,
    /// Its page faults, minor and major, those of children that it waited for included.
    pub faults: Range,
    /// Its memory, from one more run that is not timed; None when that could not be traced, and
    /// without [`Plan::memory`].
    pub memory: Option<Memory>,
}

/// What this machine calls equal: one program compared with itself.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Control {
    /// How many times as long the second copy took as the first.
    pub ratio: Ratio,
    /// Whether that is 1 within 1 %. If not, the machine is too noisy for other ratios of this
    /// run to be believed to 1 %.
    pub holds: bool,
}

/// What became of an expectation.
#[derive(Clone, Copy, Debug, Serialize)]
#[non_exhaustive]
pub struct Verdict {
    /// What was expected.
    pub expected: Expectation,
    /// What was measured.
    pub ratio: Ratio,
    /// Whether the one does not speak against the other.
    pub holds: bool,
}

impl Control {
    /// How far its ratio may be from 1.
    const MARGIN: f64 = 0.01;

    /// What a ratio of one thing to itself says.
    pub(crate) fn of(ratio: Ratio) -> Self {
        Control {
            ratio,
            holds: (ratio.ratio - 1.0).abs() <= Self::MARGIN,
        }
    }
}

impl Timing {
    /// How many times as long one subject took as another, by their places. None when there
    /// are not so many.
    pub fn ratio(&self, of: usize, to: usize) -> Option<Ratio> {
        let (times, others) = (self.times.get(of)?, self.times.get(to)?);
        let mut random = random::Random::new(self.seed);
        Some(Ratio::paired(times, others, &mut random))
    }

    /// All starts that were counted, in the order in which they were made. Each follows the one
    /// before it in this list, but where a new launcher began: that starts a floor first, which is
    /// not in the list.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The times of something right after something else, in the order of the rounds, in
    /// nanoseconds. With [`Plan::each_after_each`] there is one of each round.
    pub fn times_after(&self, what: Started, after: Started) -> Vec<u64> {
        let runs = self.runs.iter();
        let runs = runs.filter(|run| run.what == what && run.after == after);
        runs.map(|run| run.ns).collect()
    }

    /// As [`Timing::ratio`], of any ratio that the times of one round make, as that of two sums:
    /// `of_round` is given them in the order of the subjects, in nanoseconds.
    pub fn ratio_by(&self, of_round: impl Fn(&[u64]) -> f64) -> Ratio {
        let round = |at: usize| self.times.iter().map(|times| times[at]).collect::<Vec<_>>();
        let rounds = self.times.iter().map(Vec::len).min().unwrap_or(0);
        let rounds = (0..rounds).map(|at| of_round(&round(at)));
        Ratio::of_rounds(rounds.collect(), &mut random::Random::new(self.seed))
    }
}

/// Times subjects, as a [`Plan`] says.
///
/// Fails when one cannot be run, is killed, ends in another way than before, leaves processes
/// running, is not done by its timeout, or (timed in its place) is another file than before: the
/// error names it, and nothing of it is left running. That it exits with something else than 0,
/// always the same, is no error. Also fails without subjects, and when the plan is about one that
/// is not there.
pub fn time(subjects: &[Subject], plan: &Plan) -> Result<Timing> {
    time_each(subjects, plan, |_| {})
}

/// Times as [`time`] does, and tells between rounds how far it has come.
pub fn time_each(
    subjects: &[Subject],
    plan: &Plan,
    progress: impl FnMut(Progress) + Send,
) -> Result<Timing> {
    spawn::alone(|| bench::run(subjects, plan, progress))
}
