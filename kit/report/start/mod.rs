//! What one start costs, alone and in turn.
//!
//! The first text timed a start of its four programs and met a riddle: the static one was slower
//! when all four were started in turn. So what is asked here goes one step at a time:
//!
//! - [`turns`]: how long a start takes alone and in turn, and what it makes which program was
//!   started before;
//! - [`traces`]: what it makes when the process before did one thing only;
//! - [`cpuid`]: how much of a start its CPUID instructions are;
//! - [`smallest`]: what the second text compared, `true` in other C libraries, with their calls.
//!
//! Each of these is in the facts, or the reason why it is not.

pub mod cpuid;
pub mod smallest;
pub mod traces;
pub mod turns;

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Bench, Found, Name};
use crate::baseline::Figure;
use crate::error::{Error, Result};
use crate::subject::{Subject, escape};
use cpuid::Cpuid;
use smallest::Smallest;
use traces::Traces;
use turns::Turns;

/// What was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Start {
    /// `hello` in several runtimes, alone and in turn.
    pub turns: Found<Turns>,
    /// What the process before leaves behind.
    pub traces: Found<Traces>,
    /// The CPUID instructions of each `hello`.
    pub cpuid: Found<Cpuid>,
    /// `true` in several C libraries.
    pub smallest: Found<Smallest>,
    /// What is not on this machine, or could not be built.
    pub missing: Vec<Missing>,
}

/// A program that is not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// Which: a runtime's name.
    pub name: String,
    /// Why, and what to do.
    pub why: String,
}

/// A program in one runtime.
#[derive(Clone, Debug)]
struct Candidate {
    name: String,
    path: PathBuf,
}

impl Candidate {
    fn subject(&self) -> Subject {
        Subject::new(&self.path).timeout(LIMIT)
    }
}

/// None of the programs takes that long, unless something is wrong with it.
const LIMIT: Duration = Duration::from_secs(20);

/// How long a part of the section may time starts, whatever the machine does meanwhile: a half more
/// than it usually takes.
fn limit(bench: &Bench, share: f64) -> Duration {
    Duration::from_secs_f64(Name::Start.seconds(bench.depth()) * share * 1.5)
}

/// What our programs are called beside those of other runtimes.
pub const OURS: &str = "barest";

/// The runtimes of `hello` by the ids of their peers, and what it is called there: those of the
/// first text, and one more C library. The first is the one whose riddle is to be solved: it has
/// a second copy in each measurement.
const HELLO: [(&str, &str); 5] = [
    ("glibc-static", "hello_puts"),
    ("glibc-dynamic", "hello_puts"),
    ("rust-dynamic", "hello"),
    ("rust-no-main", "hello"),
    ("musl-static", "hello_puts"),
];

pub(super) fn measure(bench: &Bench) -> Result<Start> {
    let mut missing = Vec::new();
    let mut hello = peers(bench, &HELLO, &mut missing);
    hello.push(Candidate {
        name: OURS.to_owned(),
        path: bench.ours("hello"),
    });
    let turns: Found<_> = turns::measure(bench, &hello).into();
    let traces: Found<_> = traces::measure(bench, &hello).into();
    let smallest: Found<_> = smallest::measure(bench, &mut missing).into();
    let cpuid: Found<_> = cpuid::measure(bench, &hello).into();
    if let (Found::NotMeasured(why), None, None, None) = (
        &turns,
        traces.measured(),
        smallest.measured(),
        cpuid.measured(),
    ) {
        return Err(Error::NotMeasured {
            subject: "start".to_owned(),
            reason: why.clone(),
        });
    }
    Ok(Start {
        turns,
        traces,
        cpuid,
        smallest,
        missing,
    })
}

/// The programs of some peers. Those that are not there are named among the missing.
fn peers(bench: &Bench, wanted: &[(&str, &str)], missing: &mut Vec<Missing>) -> Vec<Candidate> {
    let mut found = Vec::new();
    for (id, program) in wanted {
        let peer = bench.peers.iter().find(|peer| peer.id == *id);
        let name = peer.map_or(*id, |peer| &peer.name).to_owned();
        let why = match bench.peer(id, program) {
            Ok(Some(built)) => {
                let path = built.path.clone();
                found.push(Candidate { name, path });
                continue;
            }
            Ok(None) => format!("the data file of the peers has no {program} of it"),
            Err(Error::NotMeasured { reason, .. }) => reason,
            Err(error) => error.to_string(),
        };
        let one = Missing {
            name: escape(name.as_ref()),
            why,
        };
        if !missing.contains(&one) {
            missing.push(one);
        }
    }
    found
}

impl Start {
    /// Ratios of times, and numbers of calls and of CPUID instructions.
    pub(super) fn figures(&self) -> Vec<Figure> {
        let turns = self.turns.measured().map(Turns::figures);
        let traces = self.traces.measured().map(Traces::figures);
        let cpuid = self.cpuid.measured().map(Cpuid::figures);
        let smallest = self.smallest.measured().map(Smallest::figures);
        [turns, traces, cpuid, smallest]
            .into_iter()
            .flatten()
            .flatten()
            .collect()
    }
}

/// A ratio of times as a number to compare: two measurements of one thing differ by this much,
/// whatever their intervals say.
fn ratio(subject: &str, name: String, ratio: &crate::time::Ratio) -> Figure {
    Figure {
        subject: subject.to_owned(),
        name,
        low: ratio.low,
        high: ratio.high,
        margin: 0.03,
    }
}

/// An exact number to compare.
fn exact(subject: &str, name: String, low: usize, high: usize) -> Figure {
    Figure {
        subject: subject.to_owned(),
        name,
        low: low as f64,
        high: high as f64,
        margin: 0.0,
    }
}
