//! Numbers kept in a file, and what has changed since.
//!
//! Every kind of facts hands out its numbers as [`Figure`]s: a name, and between which bounds the
//! number lies. A count that is the same in every run is its own bounds; a ratio of times has its
//! interval, and a margin around it. Two figures differ when their bounds, with the margin, do
//! not meet. What belongs to one machine and one moment, a time for instance, is no figure.
//!
//! ```
//! use barest::{Subject, count};
//! use barest::baseline::Baseline;
//!
//! let counted = [count(&Subject::new("/bin/true"), 1)?];
//! let file = tempfile::NamedTempFile::new().unwrap();
//! Baseline::of(&counted).save(file.path())?;
//!
//! let before = Baseline::load(file.path())?;
//! let comparison = before.compare(&Baseline::of(&counted), file.path())?;
//! assert!(!comparison.has_changes());
//! # Ok::<(), barest::Error>(())
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::count::{Count, Range};
use crate::error::{Error, Result};
use crate::image::Image;
use crate::steps::Steps;
use crate::subject::{escape, escaped};
use crate::time::{Ratio, Timed, Timing};
use crate::whole;

/// One number that can be compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// What it is about: a command line, or a file.
    pub subject: String,
    /// What it says of that, as in "calls".
    pub name: String,
    /// The least that it may be.
    pub low: f64,
    /// The most that it may be.
    pub high: f64,
    /// By what part of itself it may differ all the same; 0 for what is exact.
    pub margin: f64,
}

impl Figure {
    /// One that lies between two whole numbers, in every run.
    pub(crate) fn range(subject: &str, name: impl Into<String>, range: Range) -> Self {
        Figure {
            subject: subject.to_owned(),
            name: name.into(),
            low: range.min as f64,
            high: range.max as f64,
            margin: 0.0,
        }
    }

    /// One that is always the same.
    pub(crate) fn exact(subject: &str, name: &str, number: u64) -> Self {
        let number = number as usize;
        Figure::range(
            subject,
            name,
            Range {
                min: number,
                max: number,
            },
        )
    }

    /// A ratio of times.
    pub(crate) fn ratio(subject: &str, name: impl Into<String>, ratio: &Ratio) -> Self {
        Figure {
            subject: subject.to_owned(),
            name: name.into(),
            low: ratio.low,
            high: ratio.high,
            margin: RATIO_MARGIN,
        }
    }

    /// The most memory that a program had, in kilobytes, over one run or several.
    pub(crate) fn memory_kb(subject: &str, peak: Range) -> Self {
        let around = Range {
            min: peak.min.saturating_sub(MEMORY_KB),
            max: peak.max.saturating_add(MEMORY_KB),
        };
        Figure::range(subject, "memory kB", around)
    }

    /// Whether both can be the same number.
    fn meets(&self, other: &Figure) -> bool {
        let low = |figure: &Figure| figure.low * (1.0 - figure.margin);
        let high = |figure: &Figure| figure.high * (1.0 + figure.margin);
        low(self) <= high(other) && low(other) <= high(self)
    }
}

/// Facts that have numbers to compare.
pub trait Figures {
    /// What kind of facts they are: the command that prints them.
    const KIND: &str;

    /// Their numbers.
    fn figures(&self) -> Vec<Figure>;
}

/// The numbers of some facts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    schema: String,
    /// Which command printed the facts, as in "count".
    pub kind: String,
    /// Their numbers.
    pub figures: Vec<Figure>,
}

const SCHEMA: &str = "barest.baseline/1";

impl Baseline {
    /// The numbers of these facts.
    pub fn of<F: Figures>(facts: &[F]) -> Self {
        Baseline {
            schema: SCHEMA.into(),
            kind: F::KIND.into(),
            figures: facts.iter().flat_map(Figures::figures).collect(),
        }
    }

    /// Writes them into a file, whole or not at all.
    pub fn save(&self, file: &Path) -> Result<()> {
        let failed = |e| Error::io(format!("write {}", file.display()), e);
        let mut text = serde_json::to_vec_pretty(self).map_err(|e| failed(e.into()))?;
        text.push(b'\n');
        whole::write(file, 0o666, &text).map_err(failed)
    }

    /// Reads them from a file. Fails when it is none that [`Baseline::save`] wrote.
    pub fn load(file: &Path) -> Result<Self> {
        let text = fs::read_to_string(file)
            .map_err(|e| Error::io(format!("read {}", file.display()), e))?;
        let bad = |reason: String| Error::BadFile {
            path: file.to_owned(),
            reason: format!("no baseline ({reason}); write one with --save"),
        };
        let baseline: Baseline = serde_json::from_str(&text).map_err(|e| bad(e.to_string()))?;
        match baseline.schema.as_str() {
            SCHEMA => Ok(baseline),
            other => Err(bad(format!(
                "its schema is {}, not {SCHEMA}",
                escape(other.as_ref())
            ))),
        }
    }

    /// What of these numbers has changed, `now` being of the same kind. `file` is where they
    /// come from.
    pub fn compare(&self, now: &Baseline, file: &Path) -> Result<Comparison> {
        if self.kind != now.kind {
            return Err(Error::BadFile {
                path: file.to_owned(),
                reason: format!(
                    "a baseline of {}, not of {}; compare like with like",
                    escape(self.kind.as_ref()),
                    now.kind
                ),
            });
        }
        let same =
            |one: &&Figure, other: &Figure| one.subject == other.subject && one.name == other.name;
        let pair = |before: Option<&Figure>, now: Option<&Figure>| {
            let figure = before.or(now)?;
            Some(Pair {
                subject: figure.subject.clone(),
                name: figure.name.clone(),
                before: before.cloned(),
                now: now.cloned(),
                changed: match (before, now) {
                    (Some(before), Some(now)) => !before.meets(now),
                    _ => true,
                },
            })
        };
        let known = self.figures.iter().filter_map(|before| {
            pair(
                Some(before),
                now.figures.iter().find(|now| same(now, before)),
            )
        });
        let new = now
            .figures
            .iter()
            .filter(|now| !self.figures.iter().any(|before| same(&before, now)))
            .filter_map(|now| pair(None, Some(now)));
        Ok(Comparison {
            file: file.to_owned(),
            figures: known.chain(new).collect(),
        })
    }
}

/// Numbers of now beside those of a baseline.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// The file of the baseline.
    #[serde(serialize_with = "escaped")]
    pub file: PathBuf,
    /// Each number: those of the baseline in its order, then new ones.
    pub figures: Vec<Pair>,
}

/// A number then and now.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Pair {
    /// What it is about.
    pub subject: String,
    /// What it says.
    pub name: String,
    /// What it was; None when there was none.
    pub before: Option<Figure>,
    /// What it is; None when there is none any more.
    pub now: Option<Figure>,
    /// Whether it differs beyond noise.
    pub changed: bool,
}

impl Comparison {
    /// The numbers that differ beyond noise.
    pub fn changes(&self) -> impl Iterator<Item = &Pair> {
        self.figures.iter().filter(|pair| pair.changed)
    }

    /// Whether there is one.
    pub fn has_changes(&self) -> bool {
        self.changes().next().is_some()
    }
}

impl Figures for Count {
    const KIND: &str = "count";

    /// All calls, and those of each name; how many processes and threads.
    fn figures(&self) -> Vec<Figure> {
        let subject = self.subject.to_string();
        let calls = self
            .calls
            .iter()
            .map(|call| Figure::range(&subject, format!("calls of {}", call.name), call.count));
        let mut figures = vec![Figure::range(&subject, "calls", self.total)];
        figures.extend(calls);
        figures.push(Figure::range(&subject, "processes", self.processes));
        figures.push(Figure::range(&subject, "threads", self.threads));
        figures
    }
}

impl Figures for Steps {
    const KIND: &str = "steps";

    /// All instructions, and those that trap.
    fn figures(&self) -> Vec<Figure> {
        let subject = self.subject.to_string();
        [
            ("instructions", self.total.instructions),
            ("cpuid", self.total.cpuid),
            ("rdtsc", self.total.rdtsc),
            ("xgetbv", self.total.xgetbv),
        ]
        .map(|(name, number)| Figure::exact(&subject, name, number))
        .to_vec()
    }
}

/// Ratios move by so much between two runs, whatever their intervals say: what an A/A pair does.
const RATIO_MARGIN: f64 = 0.01;

/// The kernel may place what it maps so that this much more is in memory, or less: two pages.
const MEMORY_KB: usize = 8;

impl Figures for Timing {
    const KIND: &str = "time";

    /// The ratios to the first subject, and the memory of each. Times are the machine's.
    fn figures(&self) -> Vec<Figure> {
        let first = self.subjects.first().map(|first| first.subject.to_string());
        let figures = |timed: &Timed| {
            let subject = timed.subject.to_string();
            let ratio = timed.ratio.map(|ratio| {
                let first = first.as_deref().unwrap_or_default();
                Figure::ratio(&subject, format!("time, by that of {first}"), &ratio)
            });
            let memory = timed.memory.map(|memory| {
                let peak = Range::of([memory.peak_kb as usize].into_iter());
                Figure::memory_kb(&subject, peak)
            });
            ratio.into_iter().chain(memory)
        };
        self.subjects.iter().flat_map(figures).collect()
    }
}

impl Figures for Image {
    const KIND: &str = "image";

    /// Its size.
    fn figures(&self) -> Vec<Figure> {
        let subject = escape(self.path.as_os_str());
        vec![Figure::exact(&subject, "bytes", self.bytes)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn baseline(figures: &[(&str, f64, f64, f64)]) -> Baseline {
        Baseline {
            schema: SCHEMA.into(),
            kind: "count".into(),
            figures: figures
                .iter()
                .map(|&(name, low, high, margin)| Figure {
                    subject: "x".into(),
                    name: name.into(),
                    low,
                    high,
                    margin,
                })
                .collect(),
        }
    }

    fn changed(before: (f64, f64, f64), now: (f64, f64, f64)) -> bool {
        let one = |(low, high, margin)| baseline(&[("calls", low, high, margin)]);
        let comparison = one(before).compare(&one(now), Path::new("file")).unwrap();
        comparison.has_changes()
    }

    #[test]
    fn an_exact_number_changes_by_one_and_an_interval_when_it_no_longer_meets() {
        assert!(!changed((30.0, 30.0, 0.0), (30.0, 30.0, 0.0)));
        assert!(changed((30.0, 30.0, 0.0), (31.0, 31.0, 0.0)));
        assert!(!changed((3.0, 5.0, 0.0), (5.0, 6.0, 0.0)));
        assert!(changed((3.0, 5.0, 0.0), (6.0, 7.0, 0.0)));
        assert!(!changed((1.50, 1.52, 0.01), (1.54, 1.56, 0.01)));
        assert!(changed((1.50, 1.52, 0.01), (1.56, 1.58, 0.01)));
        assert!(changed((1.56, 1.58, 0.01), (1.50, 1.52, 0.01)));
    }

    #[test]
    fn a_number_that_is_gone_or_new_has_changed() {
        let before = baseline(&[("a", 1.0, 1.0, 0.0), ("b", 2.0, 2.0, 0.0)]);
        let now = baseline(&[("c", 3.0, 3.0, 0.0), ("b", 2.0, 2.0, 0.0)]);
        let comparison = before.compare(&now, Path::new("file")).unwrap();
        let seen: Vec<_> = comparison
            .figures
            .iter()
            .map(|pair| {
                let here = (pair.before.is_some(), pair.now.is_some());
                (pair.name.as_str(), here, pair.changed)
            })
            .collect();
        assert_eq!(
            seen,
            [
                ("a", (true, false), true),
                ("b", (true, true), false),
                ("c", (false, true), true)
            ]
        );
    }

    #[test]
    fn a_file_is_read_as_it_was_written_and_another_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("base.json");
        let before = baseline(&[("a", 1.0, 1.5, 0.01)]);
        before.save(&file).unwrap();
        assert_eq!(Baseline::load(&file).unwrap(), before);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

        let mut other = before.clone();
        other.kind = "time".into();
        let error = other.compare(&before, &file).unwrap_err().to_string();
        assert!(error.ends_with("a baseline of time, not of count; compare like with like"));

        let text = fs::read_to_string(&file).unwrap();
        for bad in ["", "{}", &text.replace("baseline/1", "baseline/2")] {
            fs::write(&file, bad).unwrap();
            let error = Baseline::load(&file).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("{}: no baseline (", file.display())),
                "{error}"
            );
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }
}
