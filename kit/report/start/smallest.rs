//! The smallest program, `true`, in several C libraries: its calls, and its time by dietlibc's.

use serde::{Deserialize, Serialize};

use super::{Candidate, Missing, OURS, exact, limit, peers, ratio};
use crate::baseline::Figure;
use crate::count::{Range, count};
use crate::error::Result;
use crate::report::{Bench, Found};
use crate::time::{Control, Plan, Ratio, Spread, time_each};

/// `true` in several C libraries.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Smallest {
    /// In how many rounds all were timed, in shuffled order.
    pub rounds: usize,
    /// The first program against a second copy of it.
    pub control: Control,
    /// Each of them.
    pub programs: Vec<Small>,
    /// What a reader must know to judge the times.
    pub notes: Vec<String>,
}

/// `true` in one C library.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Small {
    /// The runtime's name.
    pub name: String,
    /// How long it takes.
    pub time: Spread,
    /// How many times as long as dietlibc's; None of dietlibc's own, and where there is none.
    pub to_dietlibc: Option<Ratio>,
    /// How many times as long as ours; None of ours.
    pub to_ours: Option<Ratio>,
    /// Its calls, or why they could not be counted.
    pub calls: Found<Vec<Call>>,
}

/// How many calls of one name it makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The name.
    pub name: String,
    /// How many, in every run.
    pub count: Range,
}

/// The peer that the second text compared with.
pub const DIETLIBC: &str = "dietlibc, static";

/// The peers, by their ids.
const PEERS: [(&str, &str); 7] = [
    ("dietlibc", "true"),
    ("klibc-static", "true"),
    ("klibc-shared", "true"),
    ("musl-static", "true"),
    ("musl-dynamic", "true"),
    ("glibc-static", "true"),
    ("glibc-dynamic", "true"),
];

/// How often each is run to see whether its calls are always the same.
const REPEAT: usize = 3;

/// What part of the section this is, and where it begins.
const FROM: f64 = 0.65;
const SHARE: f64 = 0.15;

pub(super) fn measure(bench: &Bench, missing: &mut Vec<Missing>) -> Result<Smallest> {
    let mut programs = vec![Candidate {
        name: OURS.to_owned(),
        path: bench.ours("true"),
    }];
    programs.extend(peers(bench, &PEERS, missing));
    bench.tell(FROM, "true in several C libraries");
    let subjects: Vec<_> = programs.iter().map(Candidate::subject).collect();
    let plan = Plan {
        rounds: bench.depth().of(200, 1000, 4000),
        max_time: limit(bench, SHARE),
        memory: false,
        ..Plan::default()
    };
    let timing = time_each(&subjects, &plan, |at| {
        let within = at.done as f64 / at.of.max(1) as f64;
        bench.tell(FROM + SHARE * within, "true in several C libraries");
    })?;
    let dietlibc = programs.iter().position(|it| it.name == DIETLIBC);
    let small = programs.iter().zip(&timing.subjects).enumerate();
    let small = small.map(|(at, (program, timed))| Small {
        name: program.name.clone(),
        time: timed.time,
        to_dietlibc: dietlibc
            .filter(|dietlibc| *dietlibc != at)
            .and_then(|dietlibc| timing.ratio(at, dietlibc)),
        to_ours: timed.ratio,
        calls: calls(program).into(),
    });
    Ok(Smallest {
        rounds: timing.rounds,
        control: timing.control,
        programs: small.collect(),
        notes: timing.notes.clone(),
    })
}

/// Its calls by name, the most frequent first.
fn calls(program: &Candidate) -> Result<Vec<Call>> {
    let counted = count(&program.subject(), REPEAT)?;
    let calls = counted.calls.into_iter();
    let calls = calls.map(|call| Call {
        name: call.name,
        count: call.count,
    });
    Ok(calls.collect())
}

impl Small {
    /// All its calls, execve and exit included; None when they could not be counted.
    pub fn total(&self) -> Option<Range> {
        let calls = self.calls.measured()?.iter();
        Some(Range {
            min: calls.clone().map(|call| call.count.min).sum(),
            max: calls.map(|call| call.count.max).sum(),
        })
    }
}

impl Smallest {
    pub(super) fn figures(&self) -> Vec<Figure> {
        let figures = self.programs.iter().flat_map(|small| {
            let subject = format!("true, {}", small.name);
            let time = small.to_dietlibc.as_ref();
            let time = time.map(|it| ratio(&subject, "start, by that of dietlibc".into(), it));
            let calls = small.total();
            let calls = calls.map(|it| exact(&subject, "calls".into(), it.min, it.max));
            [time, calls].into_iter().flatten().collect::<Vec<_>>()
        });
        figures.collect()
    }
}
