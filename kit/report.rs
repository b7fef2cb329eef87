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

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::Serialize;
use tempfile::TempDir;

use crate::count::{Count, Range, count};
use crate::error::{Error, Result};
use crate::image::{Image, image};
use crate::machine::Machine;
use crate::peers::{self, Availability, Built, Part, Peer};
use crate::subject::Subject;
use crate::trace::trace;

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
}

/// As in a checkout of this project after `make programs`.
impl Default for Plan {
    fn default() -> Self {
        Plan {
            programs: "target/bare".into(),
            peers: "tests/peers/peers.toml".into(),
            build: "target/peers".into(),
            repeat: 5,
        }
    }
}

/// How far a report has come.
#[derive(Clone, Debug)]
pub struct Progress {
    /// How many steps are done.
    pub done: usize,
    /// Of how many.
    pub of: usize,
    /// The step that was done last, as in `built musl, static`.
    pub last: String,
}

/// All programs beside their peers.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Where it was measured.
    pub machine: Machine,
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

/// Builds the peers, runs every program of every runtime, and gives all that was found.
/// `progress` is called after each step, from any thread.
///
/// Fails when the plan itself cannot be followed: no data file, none of our programs. What is
/// wrong with one peer is in its row.
pub fn report(plan: &Plan, progress: &(impl Fn(Progress) + Sync)) -> Result<Report> {
    let peers = peers::load(&plan.peers)?;
    let place = Place::new(&plan.programs)?;
    let rows = PROGRAMS.map(|(program, _)| 1 + of_peers(&peers, program).count());
    let steps = Steps {
        done: AtomicUsize::new(0),
        of: peers.len() + rows.iter().sum::<usize>(),
        progress,
    };
    let built = peers::prepare_all(&peers, &plan.build, |peer, _| {
        steps.done(format!("built {}", peer.name));
    });
    let tables = PROGRAMS.map(|(program, does)| {
        let measured = |runtime: String, parts, path: &Path| {
            let found = match place.measure(program, path, plan.repeat) {
                Ok(measured) => Found::Measured(Box::new(measured)),
                Err(error) => Found::Failed(error.to_string()),
            };
            steps.done(format!("ran {program}: {runtime}"));
            Row {
                runtime,
                parts,
                found,
            }
        };
        let ours = measured(
            "barest".to_owned(),
            Vec::new(),
            &plan.programs.join(program),
        );
        let theirs = of_peers(&peers, program).map(|(at, variant)| {
            let runtime = match variant.strip_prefix(program) {
                Some("") | None => peers[at].name.clone(),
                Some(how) => format!("{} ({})", peers[at].name, how.trim_start_matches('_')),
            };
            match program_of(&built[at], variant) {
                Ok(built) => measured(runtime, built.parts.clone(), &built.path),
                Err(found) => {
                    steps.done(format!("left out {program}: {runtime}"));
                    Row {
                        runtime,
                        parts: Vec::new(),
                        found,
                    }
                }
            }
        });
        Comparison {
            program: program.to_owned(),
            does: does.to_owned(),
            rows: [ours].into_iter().chain(theirs).collect(),
        }
    });
    Ok(Report {
        machine: Machine::here(),
        tables: tables.into(),
    })
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

/// Counts the steps of a report.
struct Steps<'a, P> {
    done: AtomicUsize,
    of: usize,
    progress: &'a P,
}

impl<P: Fn(Progress)> Steps<'_, P> {
    fn done(&self, last: String) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        (self.progress)(Progress {
            done,
            of: self.of,
            last,
        });
    }
}

/// Where programs are run: each is copied there in the same way, to a name of the same length.
/// A longer path on its stack is more to read for a runtime that looks at it.
struct Place {
    folder: TempDir,
    /// What `exec` runs.
    target: PathBuf,
}

impl Place {
    fn new(programs: &Path) -> Result<Self> {
        let folder =
            TempDir::with_prefix("barest-").map_err(|e| Error::io("make a temporary folder", e))?;
        let target = folder.path().join("target");
        copy(&programs.join("true"), &target)?;
        Ok(Place { folder, target })
    }

    fn measure(&self, program: &str, path: &Path, repeat: usize) -> Result<Measured> {
        let copied = self.folder.path().join("program");
        copy(path, &copied)?;
        let subject = Subject::new(&copied).timeout(Duration::from_secs(10));
        let subject = if program == "exec" {
            subject.arg(&self.target)
        } else {
            subject
        };
        let count = count(&subject, repeat)?;
        let calls = match program {
            // Less the calls of the target, which are all of its own but its execve.
            "exec" => {
                let target = trace(&Subject::new(&self.target))?.count() - 1;
                Range {
                    min: count.total.min - target,
                    max: count.total.max - target,
                }
            }
            _ => count.total,
        };
        Ok(Measured {
            calls,
            count,
            image: image(path)?,
        })
    }
}

/// Copies a program. Writing a file that another thread's child still has open would fail, so
/// the copy is a new file that takes its name.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let failed = |e| {
        Error::io(
            format!("copy {} (make programs builds ours)", from.display()),
            e,
        )
    };
    let new = to.with_extension("new");
    fs::copy(from, &new).map_err(failed)?;
    fs::rename(&new, to).map_err(failed)
}
