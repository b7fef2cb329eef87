//! Programs alone, and in turn with others.
//!
//! It is done in passes. A pass times each program in a block of its own, and then all of them in
//! walks in which each follows each, and itself, once. So alone and in turn are a moment apart,
//! however the machine changes, and each pass has its own copies of the files, in other pages of
//! memory.

use serde::{Deserialize, Serialize};

use super::{Candidate, OURS, limit, ratio};
use crate::baseline::Figure;
use crate::count::Range;
use crate::error::{Error, Result};
use crate::report::Bench;
use crate::subject::Subject;
use crate::time::{Control, Plan, Random, Ratio, Run, Spread, Started, Timing, time_each};

/// Programs alone and in turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Turns {
    /// How many passes there were.
    pub passes: usize,
    /// On which processor all was started; None when it could not be kept on one.
    pub processor: Option<usize>,
    /// Each program.
    pub programs: Vec<Turn>,
    /// A process that ends at once, in the same walks: what a start costs without a program.
    pub floor: Both,
    /// The first program against a second copy of it, in turn: what is equal here.
    pub control: Control,
    /// What it makes which was started before: each program after each.
    pub pairs: Vec<Pair>,
    /// What a reader must know to judge the times.
    pub notes: Vec<String>,
}

/// A program alone and in turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Turn {
    /// The runtime's name.
    pub name: String,
    /// Its page faults.
    pub faults: Range,
    /// Its times.
    pub time: Both,
    /// How many times as long as ours, in turn; None for ours.
    pub to_ours: Option<Ratio>,
    /// Whether it takes longer after programs of more page faults: the rank correlation
    /// (Spearman's) of the page faults of each other program with the ratio after it. 1: in the
    /// same order; -1: in the opposite one. None of fewer than three other programs.
    pub by_faults: Option<f64>,
}

/// How long something takes alone, and in turn with others.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Both {
    /// When it was before itself as well.
    pub alone: Spread,
    /// When each was before it as often as any other one.
    pub in_turn: Spread,
    /// How many times as long in turn as alone: of each pass the one median by the other.
    pub ratio: Ratio,
    /// All of its times alone, in nanoseconds, in rising order.
    pub alone_ns: Vec<u64>,
    /// The same in turn.
    pub in_turn_ns: Vec<u64>,
}

/// A program right after another thing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pair {
    /// The program.
    pub what: String,
    /// What was started before it.
    pub after: Before,
    /// The median of its times, in nanoseconds.
    pub median_ns: u64,
    /// How many times as long as after itself, in the same walk.
    pub to_itself: Ratio,
    /// How much longer than after itself: the median of the differences in the same walk, in
    /// nanoseconds.
    pub more_ns: i64,
}

/// What was started before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Before {
    /// Another program, or itself.
    Program(String),
    /// A second copy of the first program: the same bytes in another file.
    Copy(String),
    /// A process that ends at once, without a program.
    Floor,
}

pub(super) fn measure(bench: &Bench, programs: &[Candidate]) -> Result<Turns> {
    let subjects: Vec<_> = programs.iter().map(Candidate::subject).collect();
    let depth = bench.depth();
    let passes = depth.of(5, 10, 20);
    let pass_time = limit(bench, SHARE).div_f64(passes as f64);
    let alone = Plan {
        rounds: depth.of(20, 50, 100),
        alone: true,
        max_time: pass_time.mul_f64(ALONE),
        memory: false,
        ..Plan::default()
    };
    let walks = Plan {
        rounds: depth.of(6, 20, 80),
        warmup: 1,
        each_after_each: true,
        max_time: pass_time.mul_f64(1.0 - ALONE),
        memory: false,
        ..Plan::default()
    };
    let mut found = Vec::new();
    for pass in 0..passes {
        let seed = 1 + pass as u64;
        let part = |within: f64| (pass as f64 + within) / passes as f64 * SHARE;
        bench.tell(part(0.0), "each alone");
        let alone = time_each(&subjects, &seeded(&alone, seed), |_| {})?;
        let in_turn = time_each(&subjects, &seeded(&walks, seed), |at| {
            let within = at.done as f64 / at.of.max(1) as f64;
            bench.tell(part(ALONE + (1.0 - ALONE) * within), "all in turn");
        })?;
        found.push(Pass { alone, in_turn });
    }
    let names: Vec<_> = programs.iter().map(|it| it.name.as_str()).collect();
    facts(&names, &subjects, &found)
}

/// What part of the section this is, and what part of a pass is alone.
const SHARE: f64 = 0.4;
const ALONE: f64 = 0.2;

fn seeded(plan: &Plan, seed: u64) -> Plan {
    Plan {
        seed,
        ..plan.clone()
    }
}

struct Pass {
    alone: Timing,
    in_turn: Timing,
}

fn facts(names: &[&str], subjects: &[Subject], passes: &[Pass]) -> Result<Turns> {
    let absent = || Error::NotMeasured {
        subject: "start".to_owned(),
        reason: "no start was timed".to_owned(),
    };
    let last = passes.last().ok_or_else(absent)?;
    let ours = names.iter().position(|name| *name == OURS);
    let in_turn = |what: Started| {
        let runs = passes.iter().flat_map(|pass| pass.in_turn.runs());
        let runs = runs.filter(|run| run.what == what);
        runs.map(|run| run.ns).collect::<Vec<_>>()
    };
    let mut programs = Vec::new();
    for (at, name) in names.iter().enumerate().take(subjects.len()) {
        let what = Started::Subject(at);
        let to_ours = ours.filter(|ours| *ours != at);
        let faults = passes.iter().flat_map(|pass| {
            let faults = pass.in_turn.subjects.get(at).map(|timed| timed.faults);
            faults.into_iter().flat_map(|range| [range.min, range.max])
        });
        programs.push(Turn {
            name: (*name).to_owned(),
            faults: Range {
                min: faults.clone().min().unwrap_or(0),
                max: faults.max().unwrap_or(0),
            },
            time: both(what, passes).ok_or_else(absent)?,
            to_ours: to_ours
                .and_then(|ours| ratio_of(&in_turn(what), &in_turn(Started::Subject(ours)))),
            by_faults: None,
        });
    }
    let pairs = pairs(names, passes);
    correlate(&mut programs, &pairs);
    let control = ratio_of(&in_turn(Started::Control), &in_turn(Started::Subject(0)));
    Ok(Turns {
        passes: passes.len(),
        processor: last.in_turn.processor,
        programs,
        floor: both(Started::Floor, passes).ok_or_else(absent)?,
        control: Control::of(control.ok_or_else(absent)?),
        pairs,
        notes: last.in_turn.notes.clone(),
    })
}

/// Each program after each, after the copy of the first, and after a process without a program.
fn pairs(names: &[&str], passes: &[Pass]) -> Vec<Pair> {
    let mut before: Vec<(Started, Before)> = names
        .iter()
        .enumerate()
        .map(|(at, name)| (Started::Subject(at), Before::Program((*name).to_owned())))
        .collect();
    if let Some(first) = names.first() {
        before.insert(1, (Started::Control, Before::Copy((*first).to_owned())));
    }
    before.push((Started::Floor, Before::Floor));
    let mut pairs = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let what = Started::Subject(at);
        let times = |after| {
            let times = passes.iter();
            let times = times.flat_map(|pass| pass.in_turn.times_after(what, after));
            times.collect::<Vec<_>>()
        };
        let itself = times(what);
        for (after, before) in &before {
            let times = times(*after);
            if let Some(to_itself) = ratio_of(&times, &itself) {
                pairs.push(Pair {
                    what: (*name).to_owned(),
                    after: before.clone(),
                    median_ns: Spread::of(&times).median_ns,
                    to_itself,
                    more_ns: more(&times, &itself),
                });
            }
        }
    }
    pairs
}

/// Sets whether each takes longer after programs of more page faults.
fn correlate(programs: &mut [Turn], pairs: &[Pair]) {
    let faults: Vec<_> = programs
        .iter()
        .map(|turn| (turn.name.clone(), turn.faults.max as f64))
        .collect();
    for turn in programs {
        let others = faults.iter().filter(|(name, _)| *name != turn.name);
        let found = others.filter_map(|(name, faults)| {
            let mut of_it = pairs.iter().filter(|pair| pair.what == turn.name);
            let pair = of_it.find(|pair| pair.after == Before::Program(name.clone()))?;
            Some((*faults, pair.to_itself.ratio))
        });
        turn.by_faults = rank_correlation(&found.collect::<Vec<_>>());
    }
}

/// Spearman's: the correlation of the ranks. None of fewer than three pairs, or where one side is
/// always the same.
fn rank_correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    // Equal ones share the middle of their ranks.
    let ranks = |side: fn(&(f64, f64)) -> f64| {
        let rank = |value: f64| {
            let below = pairs.iter().filter(|pair| side(pair) < value).count();
            let equal = pairs.iter().filter(|pair| side(pair) == value).count();
            below as f64 + (equal as f64 - 1.0) / 2.0
        };
        pairs
            .iter()
            .map(|pair| rank(side(pair)))
            .collect::<Vec<_>>()
    };
    let (ones, others) = (ranks(|pair| pair.0), ranks(|pair| pair.1));
    // Ranks from 0 to n - 1 have this middle, whichever share one.
    let middle = (pairs.len() as f64 - 1.0) / 2.0;
    let product = |a: &[f64], b: &[f64]| -> f64 {
        let both = a.iter().zip(b);
        both.map(|(a, b)| (a - middle) * (b - middle)).sum()
    };
    let spread = (product(&ones, &ones) * product(&others, &others)).sqrt();
    (pairs.len() >= 3 && spread > 0.0).then(|| product(&ones, &others) / spread)
}

fn both(what: Started, passes: &[Pass]) -> Option<Both> {
    let times = |runs: &[Run], alone: bool| {
        let counted = |run: &&Run| run.what == what && (!alone || run.after == what);
        let times = runs.iter().filter(counted).map(|run| run.ns);
        times.collect::<Vec<u64>>()
    };
    let (mut alone, mut in_turn) = (Vec::new(), Vec::new());
    let mut medians = [Vec::new(), Vec::new()];
    for pass in passes {
        // The first of a block has another one before it.
        let one = times(pass.alone.runs(), true);
        let other = times(pass.in_turn.runs(), false);
        medians[0].push(Spread::of(&one).median_ns);
        medians[1].push(Spread::of(&other).median_ns);
        alone.extend(one);
        in_turn.extend(other);
    }
    Some(Both {
        alone: Spread::of(&alone),
        in_turn: Spread::of(&in_turn),
        ratio: ratio_of(&medians[1], &medians[0])?,
        alone_ns: rising(alone),
        in_turn_ns: rising(in_turn),
    })
}

/// The ratio of the n-th of one list by the n-th of the other; None when there is none.
pub(super) fn ratio_of(times: &[u64], others: &[u64]) -> Option<Ratio> {
    let some = !times.is_empty() && !others.is_empty();
    some.then(|| Ratio::paired(times, others, &mut Random::new(1)))
}

/// How much longer some times are than others: the median of the differences of the n-th from the
/// n-th; 0 of none.
pub(super) fn more(times: &[u64], others: &[u64]) -> i64 {
    let pairs = times.iter().zip(others);
    let mut more: Vec<i64> = pairs
        .map(|(time, other)| *time as i64 - *other as i64)
        .collect();
    more.sort_unstable();
    more.get(more.len() / 2).copied().unwrap_or(0)
}

fn rising(mut times: Vec<u64>) -> Vec<u64> {
    times.sort_unstable();
    times
}

impl Turns {
    pub(super) fn figures(&self) -> Vec<Figure> {
        let programs = self.programs.iter();
        let figures = programs.flat_map(|turn| {
            let subject = format!("hello, {}", turn.name);
            let in_turn = ratio(&subject, "start in turn, by alone".into(), &turn.time.ratio);
            let to_ours = turn.to_ours.as_ref();
            let to_ours = to_ours.map(|it| ratio(&subject, "start, by that of ours".into(), it));
            [Some(in_turn), to_ours].into_iter().flatten()
        });
        figures.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_correlation_is_one_in_the_same_order_and_less_in_any_other() {
        assert_eq!(
            rank_correlation(&[(1.0, 1.0), (2.0, 4.0), (9.0, 5.0)]),
            Some(1.0)
        );
        assert_eq!(
            rank_correlation(&[(1.0, 5.0), (2.0, 4.0), (9.0, 1.0)]),
            Some(-1.0)
        );
        assert_eq!(
            rank_correlation(&[(1.0, 1.0), (2.0, 3.0), (3.0, 2.0)]),
            Some(0.5)
        );
        assert_eq!(
            rank_correlation(&[(1.0, 1.0), (1.0, 3.0), (1.0, 2.0)]),
            None
        );
        assert_eq!(rank_correlation(&[(1.0, 1.0), (2.0, 3.0)]), None);
    }

    #[test]
    fn more_is_the_median_of_differences() {
        assert_eq!(more(&[10, 30, 5, 7], &[8, 20, 9]), 2);
        assert_eq!(more(&[], &[1]), 0);
    }
}
