//! What a process leaves behind for the next one.
//!
//! A program that runs before another could slow it down in several ways: it pushes memory out of
//! the caches, fills the tables that predict branches, traps into a hypervisor, or takes pages
//! that the kernel then has to find elsewhere. Programs do all of that at once. So here is one that
//! does one thing at a time (`leave.c`), and is started before the programs that are asked about,
//! in walks in which each follows each once. What it leaves is compared with what it leaves when it
//! does nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::turns::{more, ratio_of};
use super::{Candidate, LIMIT, limit, ratio};
use crate::baseline::Figure;
use crate::count::Range;
use crate::error::{Error, Result};
use crate::report::Bench;
use crate::subject::Subject;
use crate::time::{Control, Plan, Ratio, Spread, Started, Timing, time_each};

/// What each kind of work leaves behind.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Traces {
    /// In how many walks.
    pub walks: usize,
    /// The first program against a second copy of it.
    pub control: Control,
    /// What was done before, the first of which is nothing.
    pub works: Vec<Work>,
    /// What each made of each program that was asked about, against nothing.
    pub effects: Vec<Effect>,
}

/// Work that was done before.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Work {
    /// Its kind.
    pub kind: Kind,
    /// How often it was done.
    pub amount: u64,
    /// How long the process that did it took.
    pub time: Spread,
    /// The page faults of that process.
    pub faults: Range,
}

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// None.
    Nothing,
    /// A loop in registers: time passes, and nothing else is done.
    Loop,
    /// 8192 jumps, one after the other.
    Branch,
    /// CPUID, which a hypervisor traps.
    Cpuid,
    /// A page fault, always on the same page, which is given back.
    Fault,
    /// Writing to a page that was not there before: a page fault as well.
    Write,
}

/// What work makes of a program that is started after it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Effect {
    /// The program.
    pub program: String,
    /// The kind of work before it.
    pub kind: Kind,
    /// How many times as long as after nothing.
    pub ratio: Ratio,
    /// How much longer than after nothing: the median of the differences in the same walk, in
    /// nanoseconds.
    pub more_ns: i64,
}

/// How much is done of each. The loop takes as long as the longest of the others: what it leaves is
/// what time alone leaves.
const WORKS: [(Kind, &str, u64); 6] = [
    (Kind::Nothing, "nothing", 0),
    (Kind::Loop, "loop", 3_000_000),
    (Kind::Branch, "branch", 20),
    (Kind::Cpuid, "cpuid", 60),
    (Kind::Fault, "fault", 512),
    (Kind::Write, "write", 512),
];

/// The program that does one thing at a time.
const SOURCE: &str = include_str!("leave.c");

pub(super) fn measure(bench: &Bench, programs: &[Candidate]) -> Result<Traces> {
    bench.tell(FROM, "builds what leaves one thing behind");
    let leave = build(&bench.build().join("leave"))?;
    let asked = asked(programs);
    let mut subjects: Vec<_> = asked.iter().map(Candidate::subject).collect();
    subjects.extend(WORKS.map(|(_, word, amount)| {
        let subject = Subject::new(&leave).args([word, &amount.to_string()]);
        subject.timeout(LIMIT)
    }));
    let plan = Plan {
        rounds: bench.depth().of(20, 150, 400),
        warmup: 1,
        each_after_each: true,
        max_time: limit(bench, SHARE),
        memory: false,
        ..Plan::default()
    };
    let timing = time_each(&subjects, &plan, |at| {
        let within = at.done as f64 / at.of.max(1) as f64;
        bench.tell(FROM + SHARE * within, "after one thing at a time");
    })?;
    Ok(facts(&asked, &timing))
}

/// What part of the section this is, and where it begins.
const FROM: f64 = 0.4;
const SHARE: f64 = 0.25;

/// The programs that are asked about: the first two, and ours, which is the last and the shortest,
/// so that the least trace is seen in it.
fn asked(programs: &[Candidate]) -> Vec<Candidate> {
    let others = programs.len().saturating_sub(1);
    let first = programs.iter().take(others.min(2));
    first.chain(programs.last()).cloned().collect()
}

fn build(folder: &Path) -> Result<PathBuf> {
    let (source, output) = (folder.join("leave.c"), folder.join("leave"));
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&source, SOURCE))
        .map_err(|e| Error::io(format!("write {}", source.display()), e))?;
    let failed = |reason: String| Error::NotMeasured {
        subject: "what a process leaves behind".to_owned(),
        reason,
    };
    let flags = "-Os -static -nostdlib -ffreestanding -fno-stack-protector -fno-pie -no-pie -s";
    let done = Command::new("gcc")
        .args(flags.split(' '))
        .arg(&source)
        .arg("-o")
        .arg(&output)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| failed(format!("gcc cannot be run ({e}); install gcc (make deps)")))?;
    match done.status.success() {
        true => Ok(output),
        false => {
            let said = String::from_utf8_lossy(&done.stderr);
            let line = said.lines().find(|line| line.contains("error"));
            let line = line.or(said.lines().next()).unwrap_or("no reason given");
            Err(failed(format!("gcc did not build its program: {line}")))
        }
    }
}

fn facts(asked: &[Candidate], timing: &Timing) -> Traces {
    let work = |at: usize| asked.len() + at;
    let works = WORKS
        .iter()
        .enumerate()
        .filter_map(|(at, &(kind, _, amount))| {
            let timed = timing.subjects.get(work(at))?;
            Some(Work {
                kind,
                amount,
                time: timed.time,
                faults: timed.faults,
            })
        });
    let mut effects = Vec::new();
    for (program, candidate) in asked.iter().enumerate() {
        let after =
            |at: usize| timing.times_after(Started::Subject(program), Started::Subject(work(at)));
        let nothing = after(0);
        for (at, &(kind, ..)) in WORKS.iter().enumerate().skip(1) {
            let times = after(at);
            if let Some(ratio) = ratio_of(&times, &nothing) {
                effects.push(Effect {
                    program: candidate.name.clone(),
                    kind,
                    ratio,
                    more_ns: more(&times, &nothing),
                });
            }
        }
    }
    Traces {
        walks: timing.rounds,
        control: timing.control,
        works: works.collect(),
        effects,
    }
}

impl Traces {
    pub(super) fn figures(&self) -> Vec<Figure> {
        let effects = self.effects.iter();
        let figures = effects.map(|effect| {
            let subject = format!("hello, {}", effect.program);
            let name = format!("start after {}, by that after nothing", effect.kind.word());
            ratio(&subject, name, &effect.ratio)
        });
        figures.collect()
    }
}

impl Kind {
    /// Its name in a list, as in `page faults`.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Nothing => "nothing",
            Kind::Loop => "a loop",
            Kind::Branch => "jumps",
            Kind::Cpuid => "CPUID",
            Kind::Fault => "page faults",
            Kind::Write => "written memory",
        }
    }
}
