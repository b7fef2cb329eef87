//! The main job: every program beside the same program in other runtimes.
//!
//! ```no_run
//! // no_run: builds and runs some forty programs.
//! use barest::report::{Plan, report};
//!
//! let plan = Plan::default();
//! let report = report(&plan, &|progress| eprintln!("{}/{}", progress.done, progress.of))?;
//! assert_eq!(report.tables[0].program, "true");
//! # Ok::<(), barest::Error>(())
//! ```

mod place;

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::Serialize;

use crate::count::{Count, Range};
use crate::error::{Error, Result};
use crate::image::Image;
use crate::machine::Machine;
use crate::peers::{self, Availability, Built, Part, Peer};
use crate::steps::{Tally, cpuid_cost};
use crate::subject::Subject;
use crate::time::{self, Control, Spread, Timed, time};
use place::Place;

/// Where everything is, and how often it is run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The folder of our programs, each under its name.
    pub programs: PathBuf,
    /// The data file of the peers.
    pub peers: PathBuf,
    /// The folder that the peers are built into.
    pub build: PathBuf,
    /// How often each is run to see whether its count is fixed.
    pub repeat: usize,
    /// In how many rounds each is timed; 0 leaves times out.
    pub rounds: usize,
    /// Whether to step through each for its instructions.
    pub steps: bool,
}

/// As in a checkout of this project after `make programs`.
impl Default for Plan {
    fn default() -> Self {
        Plan {
            programs: "target/bare".into(),
            peers: "tests/peers/peers.toml".into(),
            build: "target/peers".into(),
            repeat: 5,
            // With so many subjects between two starts of one there is more noise than usual.
            rounds: 1000,
            steps: true,
        }
    }
}

/// How far a report has come.
#[derive(Clone, Debug)]
pub struct Progress {
    /// How much is done, in parts that take about the same time.
    pub done: usize,
    /// Of how much.
    pub of: usize,
    /// What was done last, as in `built musl, static`.
    pub last: String,
}

/// All programs beside their peers.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Where it was measured.
    pub machine: Machine,
    /// What one CPUID takes there; None without steps.
    #[serde(rename = "cpuid_cost_ns", serialize_with = "crate::nanoseconds::any")]
    pub cpuid_cost: Option<Duration>,
    /// One table a program.
    pub tables: Vec<Comparison>,
}

/// One program in all its runtimes, ours first.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// Which program, as in `true`.
    pub program: String,
    /// What it does.
    pub does: String,
    /// The same in each runtime.
    pub rows: Vec<Row>,
    /// What to judge its times by. None when it was not timed.
    pub clock: Option<Clock>,
    /// Why it could not be timed.
    pub untimed: Option<String>,
}

/// What to judge times by.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Clock {
    /// In how many rounds all rows were timed, in shuffled order.
    pub rounds: usize,
    /// Our program against itself.
    pub control: Control,
    /// A process that ends at once.
    pub floor: Spread,
    /// What a reader must know to judge the times.
    pub notes: Vec<String>,
}

/// One program in one runtime.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Row {
    /// The runtime's name for people, as in `musl, static`.
    pub runtime: String,
    /// The parts that it is made of, and their versions.
    pub parts: Vec<Part>,
    /// What was measured, or why nothing was.
    pub found: Found,
}

/// What a row holds.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Found {
    /// It was measured.
    Measured(Box<Measured>),
    /// It is not on this machine: the packages that have it.
    NotInstalled(String),
    /// It could not be built or measured: why.
    Failed(String),
}

/// The facts of a row.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Measured {
    /// The system calls that it makes, execve included. For `exec` those up to its own execve of
    /// the other program, that call included.
    pub calls: Range,
    /// The run as it was counted; for `exec` with the other program's calls.
    pub count: Count,
    /// What its file is.
    pub image: Image,
    /// Its instructions; for `exec` its own, up to its own execve.
    pub steps: Option<Tally>,
    /// How long it takes, its page faults and its memory; its ratio is to ours. `exec` includes
    /// the program that it runs, `true`, and has no memory of its own at the end.
    pub time: Option<Timed>,
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

/// Builds the peers, measures every program of every runtime, and gives all that was found.
/// `progress` is called after each part, from any thread.
///
/// Fails when the plan itself cannot be followed: no data file, none of our programs. What is
/// wrong with one peer is in its row.
pub fn report(plan: &Plan, progress: &(impl Fn(Progress) + Sync)) -> Result<Report> {
    let peers = peers::load(&plan.peers)?;
    let mut place = Place::new(&plan.programs)?;
    let rows: usize = PROGRAMS
        .iter()
        .map(|(program, _)| 1 + of_peers(&peers, program).count())
        .sum();
    let running = 1 + STEPPING * usize::from(plan.steps);
    let timing = TIMING * usize::from(plan.rounds > 0);
    let work = Work {
        done: AtomicUsize::new(0),
        of: BUILDING * peers.len() + (running + timing) * rows,
        progress,
    };
    let built = peers::prepare_all(&peers, &plan.build, |peer, _| {
        work.done(BUILDING, format!("built {}", peer.name));
    });
    let mut tables = Vec::new();
    for (program, does) in PROGRAMS {
        let mut comparison = Comparison {
            program: program.to_owned(),
            does: does.to_owned(),
            rows: Vec::new(),
            clock: None,
            untimed: None,
        };
        let mut subjects = Vec::new();
        for candidate in candidates(plan, &peers, &built, program) {
            let Candidate {
                runtime,
                parts,
                file,
            } = candidate;
            let found = file.and_then(|path| {
                let subject = place.subject(program, &path)?;
                let measured = place.measure(&subject, program, &path, plan)?;
                subjects.push(subject);
                Ok(Found::Measured(Box::new(measured)))
            });
            work.done(running, format!("{program}: {runtime}"));
            comparison.rows.push(Row {
                runtime,
                parts,
                found: found.unwrap_or_else(|why| why),
            });
        }
        if plan.rounds > 0 {
            comparison.time(&subjects, plan.rounds);
            work.done(timing * comparison.rows.len(), format!("timed {program}"));
        }
        tables.push(comparison);
    }
    Ok(Report {
        machine: Machine::here(),
        cpuid_cost: plan.steps.then(cpuid_cost).transpose()?,
        tables,
    })
}

/// One of our programs in one runtime, before it is measured.
struct Candidate {
    runtime: String,
    parts: Vec<Part>,
    /// The file, or why there is none.
    file: std::result::Result<PathBuf, Found>,
}

/// One of our programs in all runtimes, ours first.
fn candidates(
    plan: &Plan,
    peers: &[Peer],
    built: &[Result<Availability>],
    program: &str,
) -> Vec<Candidate> {
    let ours = Candidate {
        runtime: "barest".to_owned(),
        parts: Vec::new(),
        file: Ok(plan.programs.join(program)),
    };
    let theirs = of_peers(peers, program).map(|(at, variant)| {
        let name = &peers[at].name;
        let found = program_of(&built[at], variant);
        Candidate {
            runtime: match variant.strip_prefix(program) {
                Some("") | None => name.clone(),
                Some(how) => format!("{name} ({})", how.trim_start_matches('_')),
            },
            parts: found
                .as_ref()
                .map_or(Vec::new(), |built| built.parts.clone()),
            file: found.map(|built| built.path.clone()),
        }
    });
    [ours].into_iter().chain(theirs).collect()
}

/// What could not be measured: the line that says why.
impl From<Error> for Found {
    fn from(error: Error) -> Self {
        Found::Failed(error.to_string())
    }
}

/// About how many times as long as to count the calls of a program it takes to build a peer, to
/// step through a program, and to time it.
const BUILDING: usize = 10;
const STEPPING: usize = 20;
const TIMING: usize = 6;

impl Comparison {
    /// Times all rows that were measured: these are their subjects.
    fn time(&mut self, subjects: &[Subject], rounds: usize) {
        let plan = time::Plan {
            rounds,
            ..time::Plan::default()
        };
        match time(subjects, &plan) {
            Err(error) => self.untimed = Some(error.to_string()),
            Ok(timing) => {
                let measured = self.rows.iter_mut().filter_map(|row| match &mut row.found {
                    Found::Measured(measured) => Some(measured),
                    _ => None,
                });
                for (measured, mut timed) in measured.zip(timing.subjects) {
                    if self.program == "exec" {
                        // What has memory at the end is the program that it ran.
                        timed.memory = None;
                    }
                    measured.time = Some(timed);
                }
                self.clock = Some(Clock {
                    rounds: timing.rounds,
                    control: timing.control,
                    floor: timing.floor,
                    notes: timing.notes,
                });
            }
        }
    }
}

/// The programs of the peers that do the same as one of ours: the peer's place in the list and
/// the program's name there.
fn of_peers<'a>(peers: &'a [Peer], program: &str) -> impl Iterator<Item = (usize, &'a str)> {
    let variant = format!("{program}_");
    peers.iter().enumerate().flat_map(move |(at, peer)| {
        let same = |name: &&String| *name == program || name.starts_with(&variant);
        peer.programs
            .iter()
            .filter(same)
            .map(move |name| (at, name.as_str()))
            .collect::<Vec<_>>()
    })
}

/// A program of a peer, or why there is none.
fn program_of<'a>(
    peer: &'a Result<Availability>,
    name: &str,
) -> std::result::Result<&'a Built, Found> {
    match peer {
        Err(error) => Err(Found::Failed(error.to_string())),
        Ok(Availability::NotInstalled { what }) => Err(Found::NotInstalled(what.clone())),
        Ok(Availability::Ready { programs }) => programs
            .iter()
            .find(|built| built.program == name)
            .ok_or_else(|| Found::Failed(format!("{name}: was not built"))),
    }
}

/// Counts the work of a report.
struct Work<'a, P> {
    done: AtomicUsize,
    of: usize,
    progress: &'a P,
}

impl<P: Fn(Progress)> Work<'_, P> {
    fn done(&self, parts: usize, last: String) {
        let done = self.done.fetch_add(parts, Ordering::Relaxed) + parts;
        (self.progress)(Progress {
            done,
            of: self.of,
            last,
        });
    }
}
