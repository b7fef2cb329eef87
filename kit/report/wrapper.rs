//! What a wrapper between a parent and its target costs.
//!
//! The text is a comment on popen-noshell: could a child that is to become a program leave to a
//! small wrapper what has to be done first? It measured wrappers that do nothing but execute
//! their target, by 100,000 starts in one parent, each way three times. So does this; and it takes
//! single starts in shuffled rounds as well, whose ratios have an interval.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Bench, Found};
use crate::bake::{Recipe, bake};
use crate::baseline::Figure;
use crate::error::{Error, Result};
use crate::subject::Subject;
use crate::time::{Control, Copies, Plan, Random, Ratio, Spread, throughput, time_each};

/// What was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Wrapper {
    /// Each way from the parent to the target; that with nothing between is the first.
    pub ways: Vec<Way>,
    /// How many starts each run of the throughput is of.
    pub starts: usize,
    /// In how many rounds single starts were timed, each way once in each, in shuffled order.
    pub rounds: usize,
    /// The target alone against a copy of it, in these rounds.
    pub control: Control,
    /// What a reader must know to judge the times.
    pub notes: Vec<String>,
}

/// A way from a parent to its target.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Way {
    /// What stands between.
    pub between: Between,
    /// What was measured, or why nothing was.
    pub found: Found<Measured>,
}

/// What a way takes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// The size of the wrapper's file; None where there is none.
    pub bytes: Option<u64>,
    /// How long each run of the throughput took, in nanoseconds.
    pub runs_ns: Vec<u64>,
    /// How long single starts took.
    pub spread: Spread,
    /// How many times as long as the target alone, in rounds; None for that.
    pub times_alone: Option<Ratio>,
    /// How many times as long as through the assembler's wrapper; None for that, and without it.
    pub times_assembler: Option<Ratio>,
}

impl Measured {
    /// The middle one of the throughput's runs, in nanoseconds; 0 where there is none.
    pub fn run_ns(&self) -> u64 {
        Spread::of(&self.runs_ns).median_ns
    }
}

/// What stands between a parent and its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Between {
    /// Nothing: the parent executes the target.
    Nothing,
    /// The program `exec` of this project.
    Ours,
    /// A launcher that `barest bake` makes of the target's path.
    Baked,
    /// `launch --direct`, which maps the target itself and needs no second execve.
    Direct,
    /// The wrapper in assembler, after the text's own.
    Assembler,
    /// A wrapper in C with dietlibc.
    Dietlibc,
    /// A wrapper in C with musl, linked statically.
    MuslStatic,
    /// The same, linked dynamically.
    MuslDynamic,
    /// A wrapper in C with glibc, linked statically.
    GlibcStatic,
    /// The same, linked dynamically.
    GlibcDynamic,
}

/// What the text has of a way, from its author's machine.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct InText {
    /// What 100,000 starts took, in milliseconds of wall time, three times.
    pub runs_ms: [u64; 3],
    /// The size of the wrapper's file; None where there is none.
    pub bytes: Option<u64>,
}

impl Between {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Between; 10] = [
        Between::Nothing,
        Between::Ours,
        Between::Baked,
        Between::Direct,
        Between::Assembler,
        Between::Dietlibc,
        Between::MuslStatic,
        Between::MuslDynamic,
        Between::GlibcStatic,
        Between::GlibcDynamic,
    ];

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Between::Nothing => "nothing",
            Between::Ours => "exec of barest",
            Between::Baked => "baked",
            Between::Direct => "launch --direct",
            Between::Assembler => "assembler",
            Between::Dietlibc => "dietlibc, static",
            Between::MuslStatic => "musl, static",
            Between::MuslDynamic => "musl, dynamic",
            Between::GlibcStatic => "glibc, static",
            Between::GlibcDynamic => "glibc, dynamic",
        }
    }

    /// The peer whose `exec` it is.
    fn peer(self) -> Option<&'static str> {
        match self {
            Between::Nothing | Between::Ours | Between::Baked | Between::Direct => None,
            Between::Assembler => Some("gas"),
            Between::Dietlibc => Some("dietlibc"),
            Between::MuslStatic => Some("musl-static"),
            Between::MuslDynamic => Some("musl-dynamic"),
            Between::GlibcStatic => Some("glibc-static"),
            Between::GlibcDynamic => Some("glibc-dynamic"),
        }
    }

    /// What the text has of it: its wrapper/run-tests.sh. None where it has nothing.
    pub fn in_text(self) -> Option<InText> {
        let (runs_ms, bytes) = match self {
            Between::Nothing => ([4409, 4370, 4313], None),
            Between::Assembler => ([6392, 6364, 6424], Some(504)),
            Between::MuslStatic => ([6910, 6990, 6879], Some(17_688)),
            Between::MuslDynamic => ([11_946, 12_129, 11_879], Some(5632)),
            Between::GlibcStatic => ([14_342, 14_255, 14_469], Some(803_392)),
            Between::GlibcDynamic => ([22_742, 21_923, 22_359], Some(6248)),
            Between::Ours | Between::Baked | Between::Direct | Between::Dietlibc => return None,
        };
        Some(InText { runs_ms, bytes })
    }
}

/// So often the text took the throughput of each way.
const RUNS: usize = 3;

/// What part of the time single starts take; the rest is for the throughput.
const SINGLE: f64 = 0.15;

pub(super) fn measure(bench: &Bench) -> Result<Wrapper> {
    let starts = bench.depth().of(600, 4000, 100_000);
    let rounds = bench.depth().of(200, 1000, 4000);
    let mut place = Place::new(&bench.ours("true"))?;
    let (mut here, mut missing) = (Vec::new(), Vec::new());
    for between in Between::ALL {
        match place.wrapper(between, bench) {
            Ok(wrapper) => here.push(wrapper),
            Err(error) if between == Between::Nothing => return Err(error),
            Err(error) => missing.push((between, error.to_string())),
        }
    }
    let subjects: Vec<Subject> = here.iter().map(|it| it.subject.clone()).collect();
    let plan = Plan {
        rounds,
        max_time: MOST,
        memory: false,
        ..Plan::default()
    };
    let timing = time_each(&subjects, &plan, |progress| {
        let part = progress.done as f64 / progress.of.max(1) as f64;
        bench.tell(
            SINGLE * part,
            format!("round {} of {}", progress.done, progress.of),
        );
    })?;
    let runs_ns = in_a_row(&here, starts, bench)?;
    let place_of = |between| here.iter().position(|it| it.between == between);
    let assembler = place_of(Between::Assembler);
    let found = |between| match place_of(between) {
        Some(at) => Found::Measured(Measured {
            bytes: here[at].bytes,
            runs_ns: runs_ns[at].clone(),
            spread: timing.subjects[at].time,
            times_alone: timing.subjects[at].ratio,
            times_assembler: assembler
                .filter(|assembler| *assembler != at)
                .and_then(|assembler| timing.ratio(at, assembler)),
        }),
        None => {
            let why = missing.iter().find(|(missing, _)| *missing == between);
            Found::NotMeasured(why.map_or(String::new(), |(_, why)| why.clone()))
        }
    };
    let ways = Between::ALL.map(|between| Way {
        between,
        found: found(between),
    });
    Ok(Wrapper {
        ways: ways.into(),
        starts,
        rounds: timing.rounds,
        control: timing.control,
        notes: timing.notes.clone(),
    })
}

/// Single starts take no longer than this, other than on a very slow machine.
const MOST: Duration = Duration::from_secs(60);

/// The throughput of all ways, in nanoseconds a run: each once in a row of starts, in shuffled
/// order, and so again.
fn in_a_row(here: &[Start], starts: usize, bench: &Bench) -> Result<Vec<Vec<u64>>> {
    let mut runs = vec![Vec::new(); here.len()];
    let mut random = Random::new(1);
    let mut order: Vec<usize> = (0..here.len()).collect();
    let all = (RUNS * here.len()).max(1) as f64;
    for run in 0..RUNS {
        random.shuffle(&mut order);
        for (nth, &at) in order.iter().enumerate() {
            let part = (run * here.len() + nth) as f64 / all;
            let name = here[at].between.name();
            bench.tell(
                SINGLE + (1.0 - SINGLE) * part,
                format!("{starts} starts, {name}"),
            );
            let took = throughput(&here[at].subject, starts)?;
            runs[at].push(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
        }
    }
    Ok(runs)
}

impl Wrapper {
    /// The size of each wrapper, and its ratio to the target alone.
    pub(super) fn figures(&self) -> Vec<Figure> {
        let figures = |way: &Way| {
            let Found::Measured(measured) = &way.found else {
                return Vec::new();
            };
            let subject = format!("wrapper, {}", way.between.name());
            let bytes = measured
                .bytes
                .map(|bytes| Figure::exact(&subject, "bytes", bytes));
            let ratio = measured.times_alone.map(|ratio| Figure {
                subject: subject.clone(),
                name: "time, by that of the target alone".to_owned(),
                low: ratio.low,
                high: ratio.high,
                margin: MARGIN,
            });
            bytes.into_iter().chain(ratio).collect()
        };
        self.ways.iter().flat_map(figures).collect()
    }
}

/// By so much a ratio of two medians moves from one report to the next.
const MARGIN: f64 = 0.02;

/// A way that can be gone here.
struct Start {
    between: Between,
    subject: Subject,
    bytes: Option<u64>,
}

/// A folder with the target and all wrappers, written in one way.
struct Place {
    copies: Copies,
    target: PathBuf,
}

/// None of the programs takes that long, unless something is wrong with it.
const LIMIT: Duration = Duration::from_secs(60);

impl Place {
    fn new(target: &Path) -> Result<Self> {
        let mut copies = Copies::new()?;
        let target = copies.copy(target)?;
        Ok(Place { copies, target })
    }

    /// A way to the target. Fails when it does not lead there: the target exits with 0, and a
    /// wrapper that cannot execute it with something else.
    fn wrapper(&mut self, between: Between, bench: &Bench) -> Result<Start> {
        let file = match between {
            Between::Nothing => None,
            Between::Ours => Some(bench.ours("exec")),
            Between::Direct => Some(bench.ours("launch")),
            Between::Baked => Some(self.bake()?),
            _ => Some(of_a_peer(between, bench)?),
        };
        let target = self.target.clone();
        let (subject, bytes) = match file {
            None => (Subject::new(target), None),
            Some(file) => {
                let subject = Subject::new(self.copies.copy(&file)?);
                let subject = match between {
                    Between::Baked => subject,
                    // By an execve after all, it would not be what it is called.
                    Between::Direct => subject.arg("--direct=only").arg(target),
                    _ => subject.arg(target),
                };
                let metadata = fs::metadata(&file)
                    .map_err(|e| Error::io(format!("read {}", file.display()), e))?;
                (subject, Some(metadata.len()))
            }
        };
        let subject = subject.timeout(LIMIT);
        throughput(&subject, 1)?;
        Ok(Start {
            between,
            subject,
            bytes,
        })
    }

    /// A launcher that holds the target's path.
    fn bake(&self) -> Result<PathBuf> {
        let file = self.target.with_file_name("baked");
        bake(&Recipe::new([&self.target])?, &file)?;
        Ok(file)
    }
}

/// The `exec` of a peer.
fn of_a_peer(between: Between, bench: &Bench) -> Result<PathBuf> {
    let built = match between.peer() {
        Some(peer) => bench.peer(peer, "exec")?,
        None => None,
    };
    let built = built.ok_or_else(|| Error::NotMeasured {
        subject: between.name().to_owned(),
        reason: "not among the peers, or it has no exec".to_owned(),
    })?;
    Ok(built.path.clone())
}
