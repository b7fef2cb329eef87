//! The main job: what the four texts measured, measured again on this machine.
//!
//! A report has [`Section`]s. Each has a module of its own here, which measures and gives plain
//! facts, and a module of the same name in [`view::report`](crate::view::report), which makes
//! sentences, figures and tables of them. So a section that was read back from a file is shown
//! just as one that was measured a moment ago.
//!
//! ```no_run
//! // no_run: builds and runs some forty programs.
//! use barest::report::{Name, Plan, report};
//!
//! let plan = Plan { sections: vec![Name::Programs], ..Plan::default() };
//! let report = report(&plan, &|progress| eprintln!("{progress:?}"))?;
//! assert_eq!(report.sections[0].name, Name::Programs);
//! # Ok::<(), barest::Error>(())
//! ```

pub mod before_main;
mod bench;
pub mod big_parent;
pub mod bytes;
mod found;
mod kept;
pub mod method;
pub mod programs;
pub mod self_exec;
pub mod start;
pub mod system;
pub mod wrapper;

use std::path::PathBuf;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::baseline::{Figure, Figures};
use crate::error::Result;
use crate::machine::Machine;
pub use bench::{Bench, Progress};
pub use found::Found;

/// What to measure, with what, and where to.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The folder of our programs, each under its name.
    pub programs: PathBuf,
    /// The data file of the peers.
    pub peers: PathBuf,
    /// The folder that the peers are built into.
    pub build: PathBuf,
    /// Which sections, in this order.
    pub sections: Vec<Name>,
    /// How thoroughly.
    pub depth: Depth,
    /// The folder in which each section is kept once it is measured, so that a report that was
    /// stopped goes on from there. None keeps nothing.
    pub kept: Option<PathBuf>,
}

/// As in a checkout of this project after `make programs`.
impl Default for Plan {
    fn default() -> Self {
        Plan {
            programs: "target/bare".into(),
            peers: "tests/peers/peers.toml".into(),
            build: "target/peers".into(),
            sections: Name::ALL.to_vec(),
            depth: Depth::Default,
            kept: None,
        }
    }
}

/// How thoroughly a report measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Depth {
    /// In a minute: few rounds, wide intervals.
    Quick,
    /// In some minutes.
    #[default]
    Default,
    /// As the texts did it, however long that takes.
    Full,
}

impl Depth {
    /// Its name, as in `quick`.
    pub fn word(self) -> &'static str {
        self.of("quick", "default", "full")
    }

    /// One of three numbers.
    pub fn of<T>(self, quick: T, default: T, full: T) -> T {
        match self {
            Depth::Quick => quick,
            Depth::Default => default,
            Depth::Full => full,
        }
    }
}

/// The sections there are.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum Name {
    /// Each program beside the same in other runtimes.
    Programs,
    /// Who makes which call from execve to main, and what the kernel prepared.
    BeforeMain,
    /// What one start costs.
    Start,
    /// From one exec to the next.
    SelfExec,
    /// What a wrapper between costs.
    Wrapper,
    /// Starting a program from a parent with much memory.
    BigParent,
    /// How this system links.
    System,
    /// Every byte of two programs.
    Bytes,
    /// How all that was measured.
    Method,
}

impl Name {
    /// All of them, in the order in which they are read.
    pub const ALL: [Name; 9] = [
        Name::Programs,
        Name::BeforeMain,
        Name::Start,
        Name::SelfExec,
        Name::Wrapper,
        Name::BigParent,
        Name::System,
        Name::Bytes,
        Name::Method,
    ];

    /// Its name on a command line, as in `before-main`.
    pub fn word(self) -> &'static str {
        match self {
            Name::Programs => "programs",
            Name::BeforeMain => "before-main",
            Name::Start => "start",
            Name::SelfExec => "self-exec",
            Name::Wrapper => "wrapper",
            Name::BigParent => "big-parent",
            Name::System => "system",
            Name::Bytes => "bytes",
            Name::Method => "method",
        }
    }

    /// About how many seconds it takes on two cores: only to tell how long is left.
    fn seconds(self, depth: Depth) -> f64 {
        match self {
            Name::Programs => depth.of(20.0, 80.0, 300.0),
            Name::BeforeMain => depth.of(2.0, 4.0, 8.0),
            Name::Start => depth.of(8.0, 40.0, 160.0),
            Name::SelfExec => depth.of(2.0, 5.0, 20.0),
            Name::Wrapper => depth.of(6.0, 30.0, 700.0),
            Name::BigParent => depth.of(4.0, 20.0, 60.0),
            Name::System => depth.of(3.0, 6.0, 20.0),
            Name::Bytes | Name::Method => 1.0,
        }
    }
}

/// What was measured, and where.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The version of the kit.
    pub version: String,
    /// Where it was measured.
    pub machine: Machine,
    /// How thoroughly.
    pub depth: Depth,
    /// Its sections, in the order in which they were asked for.
    pub sections: Vec<Section>,
}

/// One section.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Section {
    /// Which.
    pub name: Name,
    /// How long it took to measure, in milliseconds.
    pub took_ms: u64,
    /// Its facts, or why there are none.
    pub found: Found<Box<Facts>>,
}

impl Section {
    /// Its facts, where it was measured.
    pub fn facts(&self) -> Option<&Facts> {
        self.found.measured().map(|facts| &**facts)
    }
}

/// The facts of a section.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(
    clippy::large_enum_variant,
    reason = "a section has one, and that in a box"
)]
pub enum Facts {
    /// Of [`Name::Programs`].
    Programs(programs::Programs),
    /// Of [`Name::BeforeMain`].
    BeforeMain(before_main::BeforeMain),
    /// Of [`Name::Start`].
    Start(start::Start),
    /// Of [`Name::SelfExec`].
    SelfExec(self_exec::SelfExec),
    /// Of [`Name::Wrapper`].
    Wrapper(wrapper::Wrapper),
    /// Of [`Name::BigParent`].
    BigParent(big_parent::BigParent),
    /// Of [`Name::System`].
    System(system::System),
    /// Of [`Name::Bytes`].
    Bytes(bytes::Bytes),
    /// Of [`Name::Method`].
    Method(method::Method),
}

impl Name {
    fn measure(self, bench: &Bench) -> Result<Facts> {
        Ok(match self {
            Name::Programs => Facts::Programs(programs::measure(bench)?),
            Name::BeforeMain => Facts::BeforeMain(before_main::measure(bench)?),
            Name::Start => Facts::Start(start::measure(bench)?),
            Name::SelfExec => Facts::SelfExec(self_exec::measure(bench)?),
            Name::Wrapper => Facts::Wrapper(wrapper::measure(bench)?),
            Name::BigParent => Facts::BigParent(big_parent::measure(bench)?),
            Name::System => Facts::System(system::measure(bench)?),
            Name::Bytes => Facts::Bytes(bytes::measure(bench)?),
            Name::Method => Facts::Method(method::measure(bench)?),
        })
    }
}

/// Builds the peers, measures section after section, and gives all that was found. `progress` is
/// told what is being done, from any thread.
///
/// Fails when the plan itself cannot be followed: no data file, none of our programs. Why a section
/// could not be measured is in its place.
pub fn report(plan: &Plan, progress: &(dyn Fn(Progress) + Sync)) -> Result<Report> {
    let bench = Bench::new(plan, progress)?;
    let kept = kept::Kept::new(plan)?;
    let mut sections = Vec::new();
    for &name in &plan.sections {
        let section = match kept.load(name) {
            Some(section) => section,
            None => {
                bench.begin(name);
                let section = measure(name, &bench);
                if section.facts().is_some() {
                    kept.save(&section)?;
                }
                section
            }
        };
        bench.end(name);
        sections.push(section);
    }
    Ok(Report {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        machine: Machine::here(),
        depth: plan.depth,
        sections,
    })
}

fn measure(name: Name, bench: &Bench) -> Section {
    let began = Instant::now();
    let found = name.measure(bench).map(Box::new).into();
    Section {
        name,
        took_ms: began.elapsed().as_millis() as u64,
        found,
    }
}

/// Forgets what a report of this plan kept, once its files are written.
pub fn forget(plan: &Plan) -> Result<()> {
    kept::Kept::new(plan)?.forget()
}

impl Figures for Report {
    const KIND: &str = "report";

    /// The numbers of all sections that can be compared.
    fn figures(&self) -> Vec<Figure> {
        let measured = self.sections.iter().filter_map(Section::facts);
        measured
            .flat_map(|facts| match facts {
                Facts::Programs(facts) => facts.figures(),
                Facts::BeforeMain(facts) => facts.figures(),
                Facts::Start(facts) => facts.figures(),
                Facts::SelfExec(facts) => facts.figures(),
                Facts::Wrapper(facts) => facts.figures(),
                Facts::BigParent(facts) => facts.figures(),
                Facts::System(facts) => facts.figures(),
                Facts::Bytes(facts) => facts.figures(),
                Facts::Method(facts) => facts.figures(),
            })
            .collect()
    }
}
