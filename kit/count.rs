//! How many system calls a program makes, by name, over one run or several.
//!
//! ```
//! use barest::Subject;
//! use barest::count::count;
//!
//! let counted = count(&Subject::new("/bin/true"), 3)?;
//! assert!(counted.fixed);
//! assert_eq!(counted.calls.iter().find(|call| call.name == "execve").unwrap().count.to_string(), "1");
//! # Ok::<(), barest::Error>(())
//! ```

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::exit::Exit;
use crate::subject::{Subject, escaped};
use crate::trace::{Method, Trace, trace_by};

/// How many system calls a subject makes.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Count {
    /// What was run.
    pub subject: Subject,
    /// The file that was run, as it was found.
    #[serde(serialize_with = "escaped")]
    pub program: PathBuf,
    /// How often it was run.
    pub runs: usize,
    /// Whether every run made the same numbers of the same calls and ended in the same way.
    pub fixed: bool,
    /// All calls that the program made, execve and exit included, restarts not.
    pub total: Range,
    /// How they were looked at.
    pub method: Method,
    /// How many of the program's calls the kernel began again after a signal. None where that
    /// cannot be seen.
    pub restarts: Option<Range>,
    /// The calls by name: the most frequent first, by the most that a run made of them;
    /// those of equal number by name.
    pub calls: Vec<NameCount>,
    /// How the first process ended: each way that was met, once.
    pub exits: Vec<Exit>,
    /// How many processes there were.
    pub processes: Range,
    /// How many threads there were in all processes together.
    pub threads: Range,
    /// What a reader must know to judge the rest.
    pub notes: Vec<String>,
}

/// How many calls of one name there were.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NameCount {
    /// The name, or "syscall_999" for a number without one. Calls of the same name in two
    /// architectures are counted together.
    pub name: String,
    /// How many. From 0 on when not every run made one.
    pub count: Range,
}

/// A number that was the same in every run, or between which bounds it varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    /// The least.
    pub min: usize,
    /// The most.
    pub max: usize,
}

impl Range {
    /// The range of some numbers; 0 of none.
    pub(crate) fn of(numbers: impl Iterator<Item = usize> + Clone) -> Self {
        Range {
            min: numbers.clone().min().unwrap_or(0),
            max: numbers.max().unwrap_or(0),
        }
    }

    /// Whether it was the same in every run.
    pub fn is_fixed(self) -> bool {
        self.min == self.max
    }
}

/// "4", or "3–5".
impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_fixed() {
            true => f.pad(&self.min.to_string()),
            false => f.pad(&format!("{}–{}", self.min, self.max)),
        }
    }
}

/// What is kept of one run.
struct Run {
    names: BTreeMap<String, usize>,
    total: usize,
    restarts: usize,
    processes: usize,
    threads: usize,
}

impl Run {
    fn of(trace: &Trace) -> Self {
        let mut names = BTreeMap::new();
        for name in trace.names() {
            match names.get_mut(name.as_ref()) {
                Some(count) => *count += 1,
                None => drop(names.insert(name.into_owned(), 1)),
            }
        }
        Run {
            names,
            total: trace.count(),
            restarts: trace.restarts(),
            processes: trace.processes,
            threads: trace.threads,
        }
    }
}

/// Runs a subject `repeat` times, at least once, and counts its calls.
///
/// Fails as [`trace`](fn@crate::trace::trace) does, at the first run that fails.
pub fn count(subject: &Subject, repeat: usize) -> Result<Count> {
    count_each(subject, repeat, Method::Syscalls, |_| {})
}

/// Counts as [`count`] does, by either method, and shows the trace of each run to `see` before
/// it is dropped.
pub fn count_each(
    subject: &Subject,
    repeat: usize,
    method: Method,
    mut see: impl FnMut(&Trace),
) -> Result<Count> {
    let first = trace_by(subject, method)?;
    see(&first);
    let mut runs = vec![Run::of(&first)];
    let Trace {
        subject,
        program,
        exit,
        notes,
        ..
    } = first;
    let mut exits = vec![exit];
    for _ in 1..repeat {
        let next = trace_by(&subject, method)?;
        see(&next);
        runs.push(Run::of(&next));
        if !exits.contains(&next.exit) {
            exits.push(next.exit);
        }
    }

    let range = |number: fn(&Run) -> usize| Range::of(runs.iter().map(number));
    let names: BTreeSet<&String> = runs.iter().flat_map(|run| run.names.keys()).collect();
    let mut calls: Vec<NameCount> = names
        .into_iter()
        .map(|name| NameCount {
            name: name.clone(),
            count: Range::of(
                runs.iter()
                    .map(|run| run.names.get(name).copied().unwrap_or(0)),
            ),
        })
        .collect();
    // They are in the order of their names, and a stable sort leaves equals so.
    calls.sort_by_key(|call| Reverse(call.count.max));

    let (total, restarts) = (range(|run| run.total), range(|run| run.restarts));
    let (processes, threads) = (range(|run| run.processes), range(|run| run.threads));
    let fixed = exits.len() == 1
        && [total, restarts, processes, threads]
            .into_iter()
            .all(Range::is_fixed)
        && calls.iter().all(|call| call.count.is_fixed());
    Ok(Count {
        program,
        runs: runs.len(),
        fixed,
        total,
        method,
        restarts: (method == Method::Syscalls).then_some(restarts),
        calls,
        exits,
        processes,
        threads,
        notes,
        subject,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_one_number_or_two() {
        assert_eq!(Range { min: 4, max: 4 }.to_string(), "4");
        assert_eq!(Range { min: 3, max: 5 }.to_string(), "3–5");
        assert_eq!(format!("{:>5}|", Range { min: 3, max: 5 }), "  3–5|");
        assert_eq!(Range::of([4, 3, 5].into_iter()), Range { min: 3, max: 5 });
    }
}
