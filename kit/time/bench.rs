//! The measurement: rounds of starts until there are enough, and what they come to.

use std::fs;
use std::os::fd::RawFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{sched_getaffinity, sched_getcpu};
use nix::unistd::Pid;

use super::copies::{Copies, Identity};
use super::launch::{self, Sample, Target, What};
use super::order::{shuffled, walk};
use super::random::Random;
use super::statistics::{Ratio, Spread};
use super::trouble::Trouble;
use super::{Control, Plan, Progress, Run, Started, Timed, Timing, Verdict, letter};
use crate::count::Range;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::memory::{Memory, memory};
use crate::spawn::{self, Nulls, PosixSpawn, Prepared};
use crate::subject::{Stream, Subject};

/// How long the launcher works between two reports of progress.
const BATCH: Duration = Duration::from_millis(200);

/// So many rounds are measured whatever time they take, if so many are asked for.
const LEAST_ROUNDS: usize = 10;

/// To warm up may take this part of the time, but for its first round: one in so many.
const WARMUP_SHARE: u32 = 10;

/// How many times the rounds of the plan are measured before an expectation has failed.
const MOST_TIMES: usize = 8;

/// Measures. To be called on a thread made by [`spawn::alone`].
pub(super) fn run(
    subjects: &[Subject],
    plan: &Plan,
    progress: impl FnMut(Progress),
) -> Result<Timing> {
    let Some(first) = subjects.first() else {
        return Err(not_measured("time", "no subject; give at least one"));
    };
    for expected in &plan.expectations {
        if expected.of.max(expected.to) >= subjects.len() {
            return Err(not_measured(
                &expected.to_string(),
                "no such subject; they are lettered A, B, C in the order given",
            ));
        }
    }
    if let Some(at) = plan.posix_spawn.iter().find(|at| **at >= subjects.len()) {
        return Err(not_measured(
            &format!("posix_spawn of subject {}", letter(*at)),
            "no such subject; they are numbered from 0 in the order given",
        ));
    }
    let mut copies = Copies::new()?;
    let mut files = Vec::new();
    for subject in subjects.iter().chain([first]) {
        files.push(File::new(subject, plan.copy.then_some(&mut copies))?);
    }
    // Before the pinning: what reads the subjects' output shall not be in their way.
    let originals = prepare_all(&files, |file| &file.original)?;
    let prepared = prepare_all(&files, |file| &file.timed)?;
    // The control, which is the last, is started as the first is.
    let spawns = (0..subjects.len()).chain([0]).zip(&prepared);
    let spawns = spawns.map(|(at, prepared)| {
        let chosen = plan.posix_spawn.contains(&at);
        chosen.then(|| PosixSpawn::new(prepared)).transpose()
    });
    let spawns = spawns.collect::<Result<Vec<_>>>()?;
    let mut notes = notes(&files, plan);
    let processor = pin(plan.processor, &mut notes);

    let mut bench = Bench::new(&files, &prepared, &spawns, plan, progress);
    bench.check(&originals)?;
    let memories = match plan.memory {
        true => memories(&files[..subjects.len()], &mut notes)?,
        false => vec![None; subjects.len()],
    };
    bench.measure(&mut notes)?;
    Ok(bench.timing(memories, processor, notes))
}

/// A subject, the file that it names, and the one that is timed for it.
struct File {
    original: Subject,
    timed: Subject,
    program: PathBuf,
    identity: Option<Identity>,
}

impl File {
    fn new(subject: &Subject, copies: Option<&mut Copies>) -> Result<Self> {
        if subject.stdin == Stream::Tty {
            return Err(not_measured(
                &subject.to_string(),
                "a terminal as stdin is at its end after one run; use another stdin to time it",
            ));
        }
        let program = spawn::prepare(subject)?.program;
        let identity = Identity::of(&program);
        let mut timed = subject.clone();
        timed.program = match copies {
            Some(copies) => copies.copy(&program)?,
            None => program.clone(),
        };
        Ok(File {
            original: subject.clone(),
            timed,
            program,
            identity,
        })
    }

    fn is_in_place(&self) -> bool {
        self.timed.program == self.program
    }
}

fn prepare_all(files: &[File], subject: fn(&File) -> &Subject) -> Result<Vec<Prepared>> {
    let mut nulls = Nulls::default();
    let prepare = |file: &File| {
        spawn::prepare_with(subject(file), &mut nulls).map_err(|error| match error {
            // The file itself can be run: that has been seen.
            Error::NotRunnable { .. } if subject(file).program != file.program => not_measured(
                &file.original.to_string(),
                "its copy in the folder for temporary files cannot be run; set TMPDIR to a folder \
                 that may hold programs, or use --no-copy",
            ),
            error => error,
        })
    };
    files.iter().map(prepare).collect()
}

/// What is known from the start.
fn notes(files: &[File], plan: &Plan) -> Vec<String> {
    let mut notes = Vec::new();
    for file in files[..files.len() - 1]
        .iter()
        .filter(|file| !file.is_in_place())
    {
        let set_id = libc::S_ISUID | libc::S_ISGID;
        if fs::metadata(&file.program).is_ok_and(|found| found.mode() & set_id != 0) {
            notes.push(format!(
                "{}: set-user-ID or set-group-ID, which its copy is not; --no-copy keeps it",
                file.original
            ));
        }
    }
    if plan.alone {
        notes.push(
            "each in a block of its own: what the machine did meanwhile is in the ratios".into(),
        );
    }
    if !plan.copy {
        notes.push(
            "timed in their places: equal files can differ by 2.4 % by how they were written"
                .into(),
        );
    }
    if thread::available_parallelism().is_ok_and(|processors| processors.get() == 1) {
        notes.push("one processor only: whatever else runs is in the times".into());
    }
    notes
}

/// Keeps this thread and its children on one processor; which, or a note why not.
fn pin(wanted: Option<usize>, notes: &mut Vec<String>) -> Option<usize> {
    let processor = match wanted {
        Some(processor) => Ok(processor),
        None => sched_getcpu(),
    };
    let pinned = processor.and_then(|processor| spawn::pin_to(processor).map(|()| processor));
    match pinned {
        Ok(processor) => Some(processor),
        Err(error) => {
            // Pinned from outside, to one processor only, is pinned.
            let allowed = sched_getaffinity(Pid::from_raw(0)).ok();
            let allowed = allowed.map(|set| {
                let all = 0..nix::sched::CpuSet::count();
                all.filter(|at| set.is_set(*at).unwrap_or(false))
                    .collect::<Vec<_>>()
            });
            if let (Some([only]), None) = (allowed.as_deref(), wanted) {
                return Some(*only);
            }
            let which = wanted.map_or("one processor".into(), |at| format!("processor {at}"));
            notes.push(format!(
                "not pinned to {which} ({error}): launcher and subject may run on two, \
                 which takes longer and varies more"
            ));
            None
        }
    }
}

/// The memory of each; None, with a note, where it may not be traced.
fn memories(files: &[File], notes: &mut Vec<String>) -> Result<Vec<Option<Memory>>> {
    let mut memories = Vec::new();
    for file in files {
        memories.push(match memory(&file.timed) {
            Ok(memory) => Some(memory),
            Err(error @ Error::MayNotTrace(_)) => {
                notes.push(format!("{}: no memory: {error}", file.original));
                None
            }
            Err(error) => return Err(of_original(error, file)),
        });
    }
    Ok(memories)
}

/// The error of a run of a copy, by the name of the file that was copied.
fn of_original(error: Error, file: &File) -> Error {
    let path = file.program.clone();
    match error {
        Error::TimedOut { seconds, .. } => Error::TimedOut { path, seconds },
        Error::NotRunnable { reason, .. } => Error::NotRunnable { path, reason },
        Error::NotMeasured { reason, .. } => not_measured(&file.original.to_string(), &reason),
        error => error,
    }
}

/// The running measurement. Its targets are the subjects, the control, the floor, and a start
/// without its execve, in this order.
struct Bench<'a, P> {
    files: &'a [File],
    plan: &'a Plan,
    progress: P,
    targets: Vec<Target<'a>>,
    /// What has been counted of each target.
    samples: Vec<Vec<Sample>>,
    /// The same in the order of time, each with what was started before it.
    runs: Vec<Run>,
    /// How many rounds have warmed up.
    warmup: usize,
    /// How each subject ended first; the others are to end like that.
    exits: Vec<Exit>,
    random: Random,
    /// What one start took lately, in seconds.
    pace: f64,
    begin: Instant,
}

impl<'a, P: FnMut(Progress)> Bench<'a, P> {
    fn new(
        files: &'a [File],
        prepared: &'a [Prepared],
        spawns: &'a [Option<PosixSpawn<'a>>],
        plan: &'a Plan,
        progress: P,
    ) -> Self {
        let mut targets: Vec<_> = files
            .iter()
            .zip(prepared.iter().zip(spawns))
            .map(|(file, (prepared, spawn))| {
                let what = match spawn {
                    Some(spawn) => What::PosixSpawn(prepared, spawn),
                    None => What::Subject(prepared),
                };
                target(&file.timed, prepared, what)
            })
            .collect();
        let others = [What::Nothing, What::SetUp(&prepared[0])];
        targets.extend(others.map(|what| Target {
            what,
            files: Vec::new(),
            timeout: None,
        }));
        Bench {
            files,
            plan,
            progress,
            samples: vec![Vec::new(); targets.len()],
            runs: Vec::new(),
            targets,
            warmup: 0,
            exits: Vec::new(),
            random: Random::new(plan.seed),
            pace: 0.0,
            begin: Instant::now(),
        }
    }

    /// What the target at a place is to those who ask for the time.
    fn started(&self, target: usize) -> Started {
        let control = self.files.len() - 1;
        match target {
            _ if target < control => Started::Subject(target),
            _ if target == control => Started::Control,
            _ if target == self.floor() => Started::Floor,
            _ => Started::SetUp,
        }
    }

    /// How often each target is started in a round.
    fn starts(&self) -> usize {
        match self.plan.each_after_each && !self.plan.alone {
            true => self.targets.len(),
            false => 1,
        }
    }

    /// The place of the process that ends at once.
    fn floor(&self) -> usize {
        self.files.len()
    }

    /// The place of the start without its execve.
    fn set_up(&self) -> usize {
        self.files.len() + 1
    }

    /// Runs each subject once in its place and once as it will be timed, and sees that both end
    /// in the same way.
    fn check(&mut self, originals: &[Prepared]) -> Result<()> {
        let files = self.files;
        let originals: Vec<_> = files
            .iter()
            .zip(originals)
            .map(|(file, prepared)| target(&file.original, prepared, What::Subject(prepared)))
            .collect();
        let all: Vec<usize> = (0..files.len()).collect();
        let in_place = self.start(&originals, &all)?;
        let timed = self.start(&self.targets, &all)?;
        for (file, (in_place, timed)) in files.iter().zip(in_place.iter().zip(&timed)) {
            let (expected, exit) = (exit_of(file, in_place)?, exit_of(file, timed)?);
            if exit != expected {
                let subject = file.original.to_string();
                return Err(match file.is_in_place() {
                    true => varied(&subject, &expected, &exit),
                    false => not_measured(
                        &subject,
                        &format!(
                            "{expected} in its place, {exit} as a copy; \
                             if it looks for files beside itself use --no-copy"
                        ),
                    ),
                });
            }
            self.exits.push(exit);
        }
        Ok(())
    }

    /// Warms up, and measures until there is enough.
    fn measure(&mut self, notes: &mut Vec<String>) -> Result<()> {
        let rounds = self.plan.rounds.max(1);
        self.begin = Instant::now();
        self.rounds(self.plan.warmup, None, self.plan.max_time / WARMUP_SHARE)?;
        self.warmup = self.counted();
        self.samples.iter_mut().for_each(Vec::clear);
        self.runs.clear();

        self.begin = Instant::now();
        let mut planned = rounds;
        loop {
            let missing = planned - self.counted();
            self.rounds(missing, Some(planned), self.plan.max_time)?;
            if self.counted() < planned {
                notes.push(format!(
                    "stopped by --max-time after {} of {planned} rounds",
                    self.counted()
                ));
                return Ok(());
            }
            let wide = self.plan.until.is_some_and(|until| !self.narrow(until));
            let failed = self.verdicts().iter().any(|verdict| !verdict.holds);
            let tried = planned >= rounds * MOST_TIMES;
            if !wide && (!failed || tried) {
                return Ok(());
            }
            planned *= 2;
        }
    }

    /// How many rounds have been counted of every target.
    fn counted(&self) -> usize {
        self.samples.iter().map(Vec::len).min().unwrap_or(0) / self.starts()
    }

    /// So many more rounds; fewer if the time is over. `planned` in all, if they count.
    fn rounds(&mut self, rounds: usize, planned: Option<usize>, max_time: Duration) -> Result<()> {
        let all: Vec<usize> = (0..self.targets.len()).collect();
        if !self.plan.alone {
            return self.batches(&all, rounds, planned, max_time);
        }
        for &target in &all {
            // The time is shared out.
            let share = (target + 1) as f64 / all.len() as f64;
            self.batches(&[target], rounds, planned, max_time.mul_f64(share))?;
        }
        Ok(())
    }

    /// So many more rounds of these targets, in batches that let progress be told.
    fn batches(
        &mut self,
        which: &[usize],
        rounds: usize,
        planned: Option<usize>,
        max_time: Duration,
    ) -> Result<()> {
        let least = planned.map_or(1, |planned| planned.min(LEAST_ROUNDS));
        let mut left = rounds;
        while left > 0 {
            let enough = self.samples[which[0]].len() >= least * self.starts();
            if enough && self.begin.elapsed() >= max_time {
                return Ok(());
            }
            let round = self.pace * (which.len() * self.starts()) as f64;
            let fit = (BATCH.as_secs_f64() / round.max(1e-9)) as usize;
            // The first one tells the pace.
            let most = if self.pace == 0.0 {
                1
            } else {
                fit.clamp(1, 100)
            };
            let now = left.min(most);
            self.batch(which, now)?;
            left -= now;
            if let Some(planned) = planned {
                let all: usize = self.samples.iter().map(Vec::len).sum();
                let starts = self.starts();
                // In rounds, all targets of a round are one.
                (self.progress)(Progress {
                    done: all / which.len() / starts,
                    of: planned * self.targets.len() / which.len(),
                });
            }
        }
        Ok(())
    }

    /// Some rounds of these targets, each in an order of its own.
    fn batch(&mut self, which: &[usize], rounds: usize) -> Result<()> {
        // The launcher's first start meets memory that it has not touched before.
        let mut order = vec![self.floor()];
        for _ in 0..rounds {
            order.extend(match self.starts() {
                1 => shuffled(which, &mut self.random),
                // From the floor, and back to it: the next one begins there.
                _ => walk(which, self.floor(), &mut self.random),
            });
        }
        let begin = Instant::now();
        let samples = self.start(&self.targets, &order)?;
        self.pace = begin.elapsed().as_secs_f64() / order.len() as f64;

        let after = order.iter().copied();
        let counted = order.iter().zip(&samples).skip(1);
        for ((&target, sample), after) in counted.zip(after) {
            if let Some(file) = self.files.get(target) {
                let exit = exit_of(file, sample)?;
                if exit != self.exits[target] {
                    let subject = file.original.to_string();
                    return Err(varied(&subject, &self.exits[target], &exit));
                }
            }
            self.samples[target].push(*sample);
            self.runs.push(Run {
                what: self.started(target),
                after: self.started(after),
                ns: sample.ns,
            });
        }
        Ok(())
    }

    /// Starts targets in this order, and sees that they are still the files that they were.
    fn start(&self, targets: &[Target], order: &[usize]) -> Result<Vec<Sample>> {
        let samples = loop {
            match launch::run(targets, order)? {
                // A copy that has just been written is still open in a fork that another
                // thread made meanwhile, and will not be for long: execve(2), ETXTBSY.
                Err((_, Trouble::Refused(failure)))
                    if failure.is_busy() && self.begin.elapsed() < Duration::from_secs(1) =>
                {
                    thread::sleep(Duration::from_millis(10));
                }
                samples => break samples,
            }
        };
        for file in self.files.iter().filter(|file| file.is_in_place()) {
            if Identity::of(&file.program) != file.identity {
                return Err(not_measured(
                    &file.original.to_string(),
                    "its file was replaced or changed while it was measured; \
                     leave it alone, or time a copy",
                ));
            }
        }
        samples.map_err(|(start, trouble)| {
            let target = order.get(start).copied().unwrap_or(0);
            // What is no subject can fail by the system only; it is named by the first.
            let file = self.files.get(target).unwrap_or(&self.files[0]);
            trouble.error(&file.original, &file.program)
        })
    }

    fn times(&self, target: usize) -> Vec<u64> {
        self.samples[target]
            .iter()
            .map(|sample| sample.ns)
            .collect()
    }

    /// How many times as long one target takes as another. Always the same for the same times.
    fn ratio(&self, of: usize, to: usize) -> Ratio {
        let mut random = Random::new(self.plan.seed);
        Ratio::paired(&self.times(of), &self.times(to), &mut random)
    }

    /// Whether the ratio of each subject and of the control is known so narrowly.
    fn narrow(&self, until: f64) -> bool {
        (1..self.files.len()).all(|of| self.ratio(of, 0).half_width() <= until)
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let verdict = |expected: &super::Expectation| {
            let ratio = self.ratio(expected.of, expected.to);
            Verdict {
                expected: *expected,
                ratio,
                holds: expected.holds(&ratio),
            }
        };
        self.plan.expectations.iter().map(verdict).collect()
    }

    fn timing(
        self,
        memories: Vec<Option<Memory>>,
        processor: Option<usize>,
        notes: Vec<String>,
    ) -> Timing {
        let control = self.files.len() - 1;
        let ratio = self.ratio(control, 0);
        let subjects = memories.into_iter().enumerate().map(|(at, memory)| {
            let faults = self.samples[at].iter().map(|sample| sample.faults as usize);
            Timed {
                letter: letter(at),
                subject: self.files[at].original.clone(),
                program: self.files[at].program.clone(),
                exit: self.exits[at].clone(),
                posix_spawn: self.plan.posix_spawn.contains(&at),
                time: Spread::of(&self.times(at)),
                ratio: (at > 0).then(|| self.ratio(at, 0)),
                faults: Range::of(faults),
                memory,
            }
        });
        let floor = self.times(self.floor());
        let mut own: Vec<i64> = self
            .times(self.set_up())
            .iter()
            .zip(&floor)
            .map(|(set_up, floor)| *set_up as i64 - *floor as i64)
            .collect();
        own.sort_unstable();
        Timing {
            subjects: subjects.collect(),
            control: Control::of(ratio),
            floor: Spread::of(&floor),
            own_cost_ns: own[own.len() / 2],
            rounds: self.counted(),
            warmup: self.warmup,
            alone: self.plan.alone,
            seed: self.plan.seed,
            processor,
            copied: self.plan.copy,
            expectations: self.verdicts(),
            notes,
            times: (0..control).map(|at| self.times(at)).collect(),
            runs: self.runs,
        }
    }
}

fn target<'a>(subject: &Subject, prepared: &Prepared, what: What<'a>) -> Target<'a> {
    let streams = [subject.stdin, subject.stdout, subject.stderr];
    let files: Vec<RawFd> = streams
        .into_iter()
        .zip(prepared.descriptors())
        .filter_map(|(stream, descriptor)| descriptor.filter(|_| stream == Stream::File))
        .collect();
    Target {
        what,
        files,
        timeout: subject.timeout,
    }
}

/// How a subject ended. By a signal is an error.
fn exit_of(file: &File, sample: &Sample) -> Result<Exit> {
    match Exit::from_status(sample.status) {
        Some(exit @ Exit::Exited(_)) => Ok(exit),
        exit => {
            let how = exit.map_or_else(|| format!("status {}", sample.status), |it| it.to_string());
            Err(not_measured(
                &file.original.to_string(),
                &format!("{how}; time a program that ends by itself"),
            ))
        }
    }
}

fn varied(subject: &str, expected: &Exit, exit: &Exit) -> Error {
    not_measured(
        subject,
        &format!("{expected} at first, then {exit}; time a program that always ends alike"),
    )
}

fn not_measured(subject: &str, reason: &str) -> Error {
    Error::NotMeasured {
        subject: subject.to_owned(),
        reason: reason.to_owned(),
    }
}
