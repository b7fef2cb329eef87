//! Each program beside the same program in other runtimes: bytes, calls, instructions, page faults,
//! memory and time.
//!
//! Calls, instructions and memory are those of single runs, several at once: they do not depend on
//! what else the machine does. Then one program after the other is timed in all its runtimes, with
//! nothing beside. What cannot be measured is in its place in the facts, with the reason.

mod candidates;
mod clock;
mod place;

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde::{Deserialize, Serialize};

use super::{Bench, Found};
use crate::baseline::Figure;
use crate::count::Range;
use crate::error::{Error, Result};
use crate::image::Linkage;
use crate::peers::{Libc, Part};
use crate::steps::{Tally, cpuid_cost};
use crate::subject::Subject;
use candidates::{Candidate, candidates};
pub use clock::{Clock, Time};
use place::Place;

/// All programs beside their peers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Programs {
    /// What one CPUID takes here, in nanoseconds.
    pub cpuid_cost_ns: u64,
    /// One table a program.
    pub tables: Vec<Comparison>,
}

/// One program in all its runtimes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Comparison {
    /// Which program, as in `true`.
    pub program: String,
    /// What it does.
    pub does: String,
    /// The same in each runtime, ours first.
    pub rows: Vec<Row>,
    /// What to judge its times by.
    pub clock: Found<Clock>,
}

/// What our programs are called beside those of other runtimes.
pub const OURS: &str = "barest";

/// One program in one runtime.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// The runtime's name for people, as in `musl, static`.
    pub runtime: String,
    /// How it is linked.
    pub linkage: Linkage,
    /// Whose code it holds.
    pub libc: Libc,
    /// The parts that it is made of, and their versions.
    pub parts: Vec<Part>,
    /// What was measured, or why nothing was.
    pub found: Outcome,
}

impl Row {
    /// What was measured of it; None where nothing was.
    pub fn measured(&self) -> Option<&Measured> {
        match &self.found {
            Outcome::Measured(measured) => Some(measured),
            Outcome::NotInstalled(_) | Outcome::Failed(_) => None,
        }
    }
}

/// What a row holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It was measured.
    Measured(Box<Measured>),
    /// It is not on this machine: the packages that have it.
    NotInstalled(String),
    /// It could not be built or measured: why.
    Failed(String),
}

/// What could not be measured: the line that says why.
impl From<Error> for Outcome {
    fn from(error: Error) -> Self {
        Outcome::Failed(error.to_string())
    }
}

/// The facts of a row.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// The size of its file.
    pub bytes: u64,
    /// The system calls that it makes, execve included. For `exec` those up to its own execve of
    /// the other program, that call included.
    pub calls: Found<Range>,
    /// Its instructions; for `exec` its own, up to its own execve.
    pub steps: Found<Stepped>,
    /// The most memory that it had, in kilobytes of 1024 bytes, over some runs:
    /// [`Memory::peak_kb`](crate::memory::Memory). `exec` has none of its own at the end.
    pub memory_kb: Found<Range>,
    /// How long it takes, and its page faults. `exec` includes the program that it runs, `true`.
    pub time: Found<Time>,
}

/// The instructions of a program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stepped {
    /// Those of the first run.
    pub tally: Tally,
    /// How many there were in each run.
    pub instructions: Range,
    /// In how many runs they were counted. Only of two or more can be said whether their number is
    /// always the same. Of programs with many instructions that is so of `true` in a report of the
    /// usual depth, of none in a quick one, and of all in a full one.
    pub runs: usize,
}

impl Stepped {
    /// The number of instructions, where it was the same in all of at least two runs.
    pub fn fixed(&self) -> Option<u64> {
        (self.runs > 1 && self.instructions.is_fixed()).then_some(self.tally.instructions)
    }
}

/// Our programs and what they do, in the order in which they are shown. A peer's program is
/// compared with ours of the same name; `hello_puts` is a `hello` that uses `puts`.
const PROGRAMS: [(&str, &str); 6] = [
    ("true", "exits with 0"),
    ("hello", "prints a line"),
    ("exec", "runs another program"),
    ("false", "exits with 1"),
    ("stack", "prints what the kernel left on its stack"),
    ("golf", "exits with 0, in a file of overlapping headers"),
];

/// What part of the section single runs take; the rest is for the times.
const SINGLE: f64 = 0.7;

/// Measures every program of every runtime. What is wrong with one peer is in its row.
pub(super) fn measure(bench: &Bench) -> Result<Programs> {
    let cpuid_cost_ns = cpuid_cost()?.as_nanos() as u64;
    let mut place = Place::new(&bench.ours("true"), bench.depth())?;
    let mut jobs = Vec::new();
    for (program, _) in PROGRAMS {
        for candidate in candidates(bench, program) {
            let run = candidate.file.clone().and_then(|file| {
                let subject = place.subject(program, &file)?;
                Ok((file, subject))
            });
            jobs.push(Job {
                program,
                candidate,
                run,
            });
        }
    }
    let done = AtomicUsize::new(0);
    let found = at_once(&jobs, |job| {
        let part = SINGLE * done.load(Ordering::Relaxed) as f64 / jobs.len() as f64;
        let Candidate { runtime, .. } = &job.candidate;
        bench.tell(part, format!("{}, {runtime}", job.program));
        let found = job.run.clone().and_then(|(file, subject)| {
            let ours = runtime == OURS;
            let measured = place.measure(&subject, job.program, ours, &file)?;
            Ok(Outcome::Measured(Box::new(measured)))
        });
        done.fetch_add(1, Ordering::Relaxed);
        found.unwrap_or_else(|why| why)
    });
    let mut rows = jobs.into_iter().zip(found).peekable();
    let mut tables = Vec::new();
    for (at, (program, does)) in PROGRAMS.into_iter().enumerate() {
        let mut comparison = Comparison {
            program: program.to_owned(),
            does: does.to_owned(),
            rows: Vec::new(),
            clock: Found::NotMeasured(String::new()),
        };
        let mut subjects = Vec::new();
        while let Some((job, found)) = rows.next_if(|(job, _)| job.program == program) {
            if let (Ok((_, subject)), Outcome::Measured(_)) = (job.run, &found) {
                subjects.push((comparison.rows.len(), subject));
            }
            comparison.rows.push(job.candidate.row(found));
        }
        clock::time(&mut comparison, subjects, bench, |part| {
            let part = (at as f64 + part) / PROGRAMS.len() as f64;
            let doing = format!("{program}, in shuffled rounds");
            bench.tell(SINGLE + (1.0 - SINGLE) * part, doing);
        });
        tables.push(comparison);
    }
    Ok(Programs {
        cpuid_cost_ns,
        tables,
    })
}

/// A program in a runtime, and its file and how that is run here, or why it cannot be.
struct Job {
    program: &'static str,
    candidate: Candidate,
    run: std::result::Result<(PathBuf, Subject), Outcome>,
}

/// What becomes of each of them, in their order: as many at once as the machine has cores.
fn at_once<T: Sync, R: Send>(all: &[T], one: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..cores.min(all.len()) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(it) = all.get(at) else { break };
                    let result = one(it);
                    let mut found = found.lock().unwrap_or_else(|e| e.into_inner());
                    found.push((at, result));
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap_or_else(|e| e.into_inner());
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, result)| result).collect()
}

impl Programs {
    /// Bytes, calls and memory of each program, its instructions where their number is always the
    /// same, and how many times as long as ours it takes.
    pub(super) fn figures(&self) -> Vec<Figure> {
        let rows = self.tables.iter().flat_map(|comparison| {
            let rows = comparison.rows.iter();
            rows.map(|row| (comparison.program.as_str(), row))
        });
        rows.flat_map(|(program, row)| {
            let subject = format!("programs: {program}, {}", row.runtime);
            row.measured()
                .map_or(Vec::new(), |measured| measured.figures(&subject))
        })
        .collect()
    }
}

impl Measured {
    fn figures(&self, subject: &str) -> Vec<Figure> {
        let bytes = Figure::exact(subject, "bytes", self.bytes);
        let calls = self.calls.measured();
        let calls = calls.map(|calls| Figure::range(subject, "calls", *calls));
        let fixed = self.steps.measured().and_then(Stepped::fixed);
        let steps = fixed.map(|steps| Figure::exact(subject, "instructions", steps));
        let memory = self.memory_kb.measured();
        let memory = memory.map(|peak| Figure::memory_kb(subject, *peak));
        let ratio = self.time.measured().and_then(|time| time.ratio);
        let ratio = ratio.map(|ratio| Figure::ratio(subject, "time, by that of ours", &ratio));
        [Some(bytes), calls, steps, memory, ratio]
            .into_iter()
            .flatten()
            .collect()
    }
}
