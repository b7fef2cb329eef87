//! What a test can demand of numbers: the bytes of a file, the page faults and the memory of a
//! start, the ratio of two.
//!
//! ```
//! use barest::Subject;
//! use barest::assertions::{bytes_at_most, faults_at_most, memory_at_most, ratio_at_least};
//! use barest::time::{Plan, time};
//! use predicates::prelude::*;
//!
//! barest::image("/bin/true")?.assert(bytes_at_most(1 << 20));
//!
//! let subjects = [Subject::new("/bin/true"), Subject::new("/bin/sh").args(["-c", ":"])];
//! let timing = time(&subjects, &Plan { rounds: 20, ..Plan::default() })?;
//! timing.assert(ratio_at_least("B/A", 0.5));
//! timing.subjects[0].assert(faults_at_most(1000).and(memory_at_most(10_000)));
//! # Ok::<(), barest::Error>(())
//! ```

use std::fmt;

use predicates_core::Predicate;
use predicates_core::reflection::{Case, PredicateReflection, Product};

use super::{assert, case};
use crate::image::Image;
use crate::memory::Memory;
use crate::subject::escape;
use crate::time::{Expectation, Side, Timed, Timing};

/// A file of so many bytes or fewer.
pub fn bytes_at_most(bytes: u64) -> Limit<Image> {
    Limit {
        most: bytes,
        unit: "bytes",
        measured: |image| Some(image.bytes),
    }
}

/// So many page faults or fewer, in each run.
pub fn faults_at_most(faults: u64) -> Limit<Timed> {
    Limit {
        most: faults,
        unit: "page faults",
        measured: |timed| Some(timed.faults.max as u64),
    }
}

/// So many kilobytes in memory or fewer, at any time ([`Memory::peak_kb`]). Not met by a subject
/// whose memory could not be measured.
pub fn memory_at_most<T: HasMemory>(kilobytes: u64) -> Limit<T> {
    Limit {
        most: kilobytes,
        unit: "kB of memory",
        measured: |facts| facts.memory().map(|memory| memory.peak_kb),
    }
}

/// A ratio of two subjects, as in "B/A", of so much or more: not met when its whole interval
/// lies below.
///
/// # Panics
///
/// When the ratio is not of the form "B/A".
#[track_caller]
pub fn ratio_at_least(ratio: &str, limit: f64) -> Proportion {
    Proportion::new(ratio, Side::AtLeast, limit)
}

/// A ratio of two subjects, as in "B/A", of so much or less: not met when its whole interval lies
/// above.
///
/// # Panics
///
/// When the ratio is not of the form "B/A".
#[track_caller]
pub fn ratio_at_most(ratio: &str, limit: f64) -> Proportion {
    Proportion::new(ratio, Side::AtMost, limit)
}

/// Facts that tell of memory.
pub trait HasMemory {
    /// The memory, where it could be measured.
    fn memory(&self) -> Option<Memory>;
}

impl HasMemory for Memory {
    fn memory(&self) -> Option<Memory> {
        Some(*self)
    }
}

impl HasMemory for Timed {
    fn memory(&self) -> Option<Memory> {
        self.memory
    }
}

/// A number that facts may not exceed.
#[derive(Clone, Debug)]
pub struct Limit<T> {
    most: u64,
    unit: &'static str,
    measured: fn(&T) -> Option<u64>,
}

impl<T> Predicate<T> for Limit<T> {
    fn eval(&self, facts: &T) -> bool {
        (self.measured)(facts).is_some_and(|number| number <= self.most)
    }

    fn find_case<'a>(&'a self, expected: bool, facts: &T) -> Option<Case<'a>> {
        case(self, self.eval(facts), expected, || {
            let seen = (self.measured)(facts);
            Product::new(
                self.unit,
                seen.map_or("not measured".into(), |number| number.to_string()),
            )
        })
    }
}

impl<T> PredicateReflection for Limit<T> {}

impl<T> fmt::Display for Limit<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {} {}", self.most, self.unit)
    }
}

/// What [`ratio_at_least()`] and [`ratio_at_most()`] make.
#[derive(Clone, Debug)]
pub struct Proportion {
    expected: Expectation,
}

impl Proportion {
    #[track_caller]
    fn new(ratio: &str, side: Side, limit: f64) -> Self {
        // The text is the test's own, so a wrong one is a wrong test.
        match format!("{ratio} >= 1").parse::<Expectation>() {
            Ok(expected) => Proportion {
                expected: Expectation {
                    side,
                    limit,
                    ..expected
                },
            },
            Err(_) => panic!("{ratio:?} is no ratio of two letters, as in \"B/A\""),
        }
    }
}

impl Predicate<Timing> for Proportion {
    fn eval(&self, timing: &Timing) -> bool {
        let Expectation { of, to, .. } = self.expected;
        timing
            .ratio(of, to)
            .is_some_and(|ratio| self.expected.holds(&ratio))
    }

    fn find_case<'a>(&'a self, expected: bool, timing: &Timing) -> Option<Case<'a>> {
        case(self, self.eval(timing), expected, || {
            let Expectation { of, to, .. } = self.expected;
            let seen = timing.ratio(of, to);
            Product::new(
                "ratio",
                seen.map_or("no such subject".into(), |ratio| ratio.to_string()),
            )
        })
    }
}

impl PredicateReflection for Proportion {}

impl fmt::Display for Proportion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expected.fmt(f)
    }
}

impl Image {
    /// Panics when a demand is not met, and says what differs.
    #[track_caller]
    pub fn assert(&self, demand: impl Predicate<Image>) -> &Self {
        assert(escape(self.path.as_os_str()), self, demand)
    }
}

impl Timed {
    /// Panics when a demand is not met, and says what differs.
    #[track_caller]
    pub fn assert(&self, demand: impl Predicate<Timed>) -> &Self {
        assert(&self.subject, self, demand)
    }
}

impl Timing {
    /// Panics when a demand is not met, and says what differs.
    #[track_caller]
    pub fn assert(&self, demand: impl Predicate<Timing>) -> &Self {
        let lettered = |timed: &Timed| format!("{} is {}", timed.letter, timed.subject);
        let subjects: Vec<_> = self.subjects.iter().map(lettered).collect();
        assert(subjects.join(", "), self, demand)
    }
}
