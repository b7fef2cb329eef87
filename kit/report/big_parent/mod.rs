//! Starting a program from a parent with much memory.
//!
//! fork(2) copies the tables that say where a process has its pages, and its child throws the copy
//! away when it executes a program. vfork(2), clone(2) with CLONE_VM and CLONE_VFORK, and
//! posix_spawn(3), which uses these, lend the memory instead. How much that is, this tells: the
//! same starts from parents of several sizes, in small pages and in huge ones. The parent is a
//! process of its own, so the kit stays as small as it is.

mod parent;
mod room;

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Bench, Depth, Found};
use crate::baseline::Figure;
use crate::error::{Error, Result};
use crate::spawn::{self, Prepared};
use crate::subject::Subject;
use crate::time::{Copies, Random, Ratio, Spread};
use parent::{Plan, Told};
pub use room::Room;

/// What was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BigParent {
    /// The size of the program that the children execute, in bytes.
    pub program_bytes: u64,
    /// Each parent, the smallest first; those of small pages before those of huge ones.
    pub parents: Vec<Parent>,
    /// How each kind of start grows with the parent.
    pub growth: Vec<Growth>,
    /// How much memory there was to be had.
    pub room: Room,
    /// Parents that were left out, and why: a line each.
    pub left_out: Vec<String>,
}

/// A parent, and the starts from it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Parent {
    /// How many bytes it was to have besides what it was made with.
    pub asked: u64,
    /// In what pages.
    pub pages: Pages,
    /// What it held when it started children, in kB: Rss of proc_pid_smaps(5).
    pub rss_kb: u64,
    /// What of that was in huge pages: AnonHugePages.
    pub huge_kb: u64,
    /// In how many rounds each kind of start was timed once, in shuffled order.
    pub rounds: usize,
    /// Each kind of start.
    pub starts: Vec<Start>,
}

/// What pages a parent's memory is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pages {
    /// Of 4 KiB: MADV_NOHUGEPAGE in madvise(2).
    Small,
    /// Of 2 MiB, as far as the kernel finds such: MADV_HUGEPAGE.
    Huge,
}

/// How a child is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// By fork(2).
    Fork,
    /// By vfork(2).
    Vfork,
    /// By clone(2) with CLONE_VM and CLONE_VFORK, and a stack for the child.
    Clone,
    /// By posix_spawn(3).
    PosixSpawn,
}

/// What a child does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Child {
    /// It executes `true` of this project.
    Executes,
    /// It exits at once.
    Exits,
}

/// A kind of start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// How the child is started.
    pub way: Way,
    /// What it does.
    pub child: Child,
}

/// A kind of start, from one parent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Start {
    /// Which kind.
    pub target: Target,
    /// What it takes, or why it could not be measured.
    pub found: Found<Times>,
}

/// The times of a kind of start.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Times {
    /// From the call until the child is reaped, in nanoseconds.
    pub spread: Spread,
    /// How many times as long as by vfork with a child that does the same, in the same rounds;
    /// None for vfork itself.
    pub times_vfork: Option<Ratio>,
}

/// How a kind of start grows from the smallest parent to the largest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Growth {
    /// Which kind.
    pub target: Target,
    /// In what pages the largest parent is.
    pub pages: Pages,
    /// What the smallest one holds, in kB.
    pub from_kb: u64,
    /// What the largest one holds.
    pub to_kb: u64,
    /// The median at the smallest, in nanoseconds.
    pub from_ns: u64,
    /// The median at the largest.
    pub to_ns: u64,
    /// How many times as long it takes from the largest as from the smallest.
    pub ratio: Ratio,
    /// How many times as long it took from the smallest, when it was measured once more at the end:
    /// so much two moments differ here. None where that could not be measured.
    pub again: Option<Ratio>,
}

impl Growth {
    /// How much longer it takes for each GiB more, in nanoseconds.
    pub fn ns_per_gib(&self) -> f64 {
        let gib = (self.to_kb as f64 - self.from_kb as f64) / (1 << 20) as f64;
        (self.to_ns as f64 - self.from_ns as f64) / gib
    }

    /// Whether it is shown to grow: by more than two moments differ, and by more than the smallest
    /// parent did from its first time to its second.
    pub fn is_shown(&self) -> bool {
        let drift = self.again.map_or(1.0, |again| again.high);
        self.ratio.low > drift.max(1.0 + DRIFT)
    }
}

/// By so much two moments may differ on any machine.
const DRIFT: f64 = 0.05;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// How large parents are.
const SIZES: [u64; 6] = [0, 64 * MIB, 256 * MIB, GIB, 2 * GIB, 4 * GIB];

/// Every kind of start.
const TARGETS: [Target; 6] = [
    target(Way::Fork, Child::Executes),
    target(Way::Vfork, Child::Executes),
    target(Way::Clone, Child::Executes),
    target(Way::PosixSpawn, Child::Executes),
    target(Way::Fork, Child::Exits),
    target(Way::Vfork, Child::Exits),
];

const fn target(way: Way, child: Child) -> Target {
    Target { way, child }
}

/// How many rounds do not count.
const WARMUP: usize = 3;

pub(super) fn measure(bench: &Bench) -> Result<BigParent> {
    spawn::alone(|| {
        spawn::pin();
        measure_alone(bench)
    })
}

fn measure_alone(bench: &Bench) -> Result<BigParent> {
    let room = Room::here().ok_or_else(|| {
        not_measured("/proc/meminfo does not say how much memory is available; mount /proc")
    })?;
    let mut copies = Copies::new()?;
    let program = copies.copy(&bench.ours("true"))?;
    let program_bytes = fs::metadata(&program).map_err(|e| Error::io("read true", e))?;
    let prepared = spawn::prepare(&Subject::new(program))?;
    let null = File::options().read(true).write(true).open("/dev/null");
    let null = null.map_err(|e| Error::io("open /dev/null", e))?;
    let from = From {
        depth: bench.depth(),
        program: &prepared,
        null: null.into(),
    };
    let (plans, mut left_out) = plans(bench.depth(), &room);
    let all: u64 = plans.iter().map(|(bytes, _)| weight(*bytes)).sum();
    let (mut done, mut measured) = (0, Vec::new());
    for (bytes, pages) in plans {
        let part = done as f64 / all.max(1) as f64;
        bench.tell(part, format!("{} in {pages}", size(bytes)));
        done += weight(bytes);
        match from.start(bytes, pages) {
            Ok(told) => measured.push((bytes, pages, told)),
            Err(error) => left_out.push(format!("{} in {pages}: {error}", size(bytes))),
        }
    }
    let again = from.start(0, Pages::Small);
    let again = again.map_err(|error| left_out.push(format!("the smallest once more: {error}")));
    if measured.is_empty() {
        return Err(not_measured(&left_out.join("; ")));
    }
    Ok(BigParent {
        program_bytes: program_bytes.len(),
        growth: growth(&measured, again.ok().as_ref()),
        parents: measured
            .iter()
            .map(|(asked, pages, told)| Parent {
                asked: *asked,
                pages: *pages,
                rss_kb: told.rss_kb,
                huge_kb: told.huge_kb,
                rounds: told.rounds.len(),
                starts: starts(told, &prepared),
            })
            .collect(),
        room,
        left_out,
    })
}

fn not_measured(reason: &str) -> Error {
    Error::NotMeasured {
        subject: "big-parent".to_owned(),
        reason: reason.to_owned(),
    }
}

/// What takes how long: a share for the starts, and one for the memory.
fn weight(bytes: u64) -> u64 {
    GIB + bytes
}

/// Which parents to measure; and a line for each that is left out.
fn plans(depth: Depth, room: &Room) -> (Vec<(u64, Pages)>, Vec<String>) {
    let (mut plans, mut left_out) = (Vec::new(), Vec::new());
    let most = depth.of(GIB, 4 * GIB, 4 * GIB);
    let no_huge = no_huge_pages();
    for pages in [Pages::Small, Pages::Huge] {
        for bytes in SIZES {
            match (pages, &no_huge) {
                // Without memory of its own there are no pages of it.
                (Pages::Huge, _) if bytes == 0 => continue,
                (Pages::Huge, Some(_)) => continue,
                _ => {}
            }
            let why = if bytes > most {
                "not asked for with --quick".to_owned()
            } else if bytes > room.bytes / 2 {
                let left = size(room.bytes);
                format!("more than half of the {left} that {} leaves", room.by)
            } else {
                plans.push((bytes, pages));
                continue;
            };
            left_out.push(format!("{} in {pages}: {why}", size(bytes)));
        }
    }
    left_out.extend(no_huge.map(|why| format!("{}: {why}", Pages::Huge)));
    (plans, left_out)
}

/// Why there are no huge pages, if there are none.
fn no_huge_pages() -> Option<String> {
    const FILE: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
    match fs::read_to_string(FILE) {
        Ok(text) if text.contains("[never]") => {
            Some(format!("off on this machine: {FILE} says never"))
        }
        Ok(_) => None,
        Err(error) => Some(format!("{FILE}: {error}")),
    }
}

/// What all parents have in common.
struct From<'a> {
    depth: Depth,
    program: &'a Prepared,
    null: OwnedFd,
}

impl From<'_> {
    /// Has a parent of that size start children.
    fn start(&self, bytes: u64, pages: Pages) -> Result<Told> {
        let mut random = Random::new(bytes);
        let rounds = WARMUP + self.depth.of(60, 300, 1000);
        let rounds = (0..rounds).map(|_| {
            let mut round: Vec<usize> = (0..TARGETS.len()).collect();
            random.shuffle(&mut round);
            round
        });
        let rounds: Vec<_> = rounds.collect();
        parent::run(&Plan {
            bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
            pages,
            targets: &TARGETS,
            rounds: &rounds,
            warmup: WARMUP,
            most: Duration::from_millis(self.depth.of(250, 1000, 4000)),
            program: self.program,
            null: &self.null,
        })
    }
}

/// The times of one kind of start; None where one of them failed.
fn times(told: &Told, which: usize) -> Option<Vec<u64>> {
    let times = told.rounds.iter().map(|round| round.get(which)?.ok());
    let times: Option<Vec<u64>> = times.collect();
    times.filter(|times| !times.is_empty())
}

/// What is to be known of all starts from one parent.
fn starts(told: &Told, program: &Prepared) -> Vec<Start> {
    let vfork = |child| {
        let vfork = target(Way::Vfork, child);
        let at = TARGETS.iter().position(|target| *target == vfork)?;
        times(told, at)
    };
    let start = |(which, target): (usize, &Target)| {
        let found = match times(told, which) {
            Some(times) => Found::Measured(Times {
                spread: Spread::of(&times),
                times_vfork: vfork(target.child)
                    .filter(|_| target.way != Way::Vfork)
                    .map(|others| Ratio::paired(&times, &others, &mut Random::new(1))),
            }),
            None => {
                let all = told.rounds.iter().filter_map(|round| round.get(which));
                let trouble = all.filter_map(|time| time.err()).next();
                Found::NotMeasured(match trouble {
                    Some(trouble) => trouble.words(&program.program),
                    None => "not one round".to_owned(),
                })
            }
        };
        Start {
            target: *target,
            found,
        }
    };
    TARGETS.iter().enumerate().map(start).collect()
}

/// Each kind of start from the smallest parent, which has no pages of its own, and from the
/// largest of each kind of pages; `again` is the smallest once more.
fn growth(measured: &[(u64, Pages, Told)], again: Option<&Told>) -> Vec<Growth> {
    let mut all = Vec::new();
    for pages in [Pages::Small, Pages::Huge] {
        let Some((_, _, small)) = measured.first() else {
            continue;
        };
        let largest = measured.iter().rfind(|(_, its, _)| *its == pages);
        let Some((_, _, large)) = largest.filter(|(_, _, it)| it.rss_kb > small.rss_kb) else {
            continue;
        };
        for (which, target) in TARGETS.iter().enumerate() {
            let (Some(from), Some(to)) = (times(small, which), times(large, which)) else {
                continue;
            };
            all.push(Growth {
                target: *target,
                pages,
                from_kb: small.rss_kb,
                to_kb: large.rss_kb,
                from_ns: Spread::of(&from).median_ns,
                to_ns: Spread::of(&to).median_ns,
                ratio: Ratio::paired(&to, &from, &mut Random::new(1)),
                again: again
                    .and_then(|again| times(again, which))
                    .map(|again| Ratio::paired(&again, &from, &mut Random::new(1))),
            });
        }
    }
    all
}

impl BigParent {
    /// How many times as long as by vfork each start from each parent takes.
    pub(super) fn figures(&self) -> Vec<Figure> {
        let of = |parent: &Parent, start: &Start| {
            let ratio = start.found.measured()?.times_vfork?;
            Some(Figure {
                subject: format!("{} in {}", size(parent.asked), parent.pages),
                name: format!("time of {}, by that of vfork", start.target),
                low: ratio.low,
                high: ratio.high,
                margin: MARGIN,
            })
        };
        let parents = self.parents.iter();
        parents
            .flat_map(|parent| {
                parent
                    .starts
                    .iter()
                    .filter_map(move |start| of(parent, start))
            })
            .collect()
    }
}

/// By so much a ratio moves from one report to the next, where other memory lies elsewhere.
const MARGIN: f64 = 0.1;

/// As in `nothing`, `64 MiB`, `4 GiB`.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0 => "nothing".to_owned(),
        bytes if bytes < GIB => format!("{} MiB", bytes / MIB),
        bytes if bytes.is_multiple_of(GIB) => format!("{} GiB", bytes / GIB),
        bytes => format!("{:.1} GiB", bytes as f64 / GIB as f64),
    }
}

impl std::fmt::Display for Pages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Pages::Small => "small pages",
            Pages::Huge => "huge pages",
        })
    }
}

/// The function's name.
impl std::fmt::Display for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Way::Fork => "fork",
            Way::Vfork => "vfork",
            Way::Clone => "clone",
            Way::PosixSpawn => "posix_spawn",
        })
    }
}

/// As in `fork`, or `fork, exit` where nothing is executed.
impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.child {
            Child::Executes => write!(f, "{}", self.way),
            Child::Exits => write!(f, "{}, exit", self.way),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(bytes: u64) -> Room {
        Room {
            bytes,
            by: "MemAvailable".to_owned(),
        }
    }

    #[test]
    fn no_parent_takes_more_than_half_of_what_there_is() {
        let (plans, left_out) = plans(Depth::Full, &room(600 * MIB));
        let small: Vec<_> = plans.iter().filter(|(_, it)| *it == Pages::Small).collect();
        assert_eq!(small.len(), 3);
        assert!(
            plans.iter().all(|(bytes, _)| *bytes <= 300 * MIB),
            "{plans:?}"
        );
        assert_eq!(
            left_out[0],
            "1 GiB in small pages: more than half of the 600 MiB that MemAvailable leaves"
        );
        let (plans, left_out) = super::plans(Depth::Quick, &room(100 * GIB));
        assert!(plans.iter().all(|(bytes, _)| *bytes <= GIB), "{plans:?}");
        assert_eq!(
            left_out[0],
            "2 GiB in small pages: not asked for with --quick"
        );
    }

    #[test]
    fn a_start_that_failed_once_has_no_time_and_says_why() {
        let prepared = spawn::prepare(&Subject::new("/bin/true")).unwrap();
        let mut rounds = vec![vec![Ok(1000); TARGETS.len()]; 10];
        rounds[7][0] = Err(parent::Trouble::Errno(libc::ENOMEM));
        let told = Told {
            rss_kb: 1,
            huge_kb: 0,
            rounds,
        };
        let starts = starts(&told, &prepared);
        let Found::NotMeasured(why) = &starts[0].found else {
            panic!("{starts:?}")
        };
        assert!(why.contains("Cannot allocate memory"), "{why}");
        let others = starts.iter().skip(1);
        assert!(others.clone().all(|it| it.found.measured().is_some()));
    }
}
