//! From one exec to the next: a program that executes itself.
//!
//! The program is `tests/peers/self_exec.c`, after `ex.c` of the text "Dynamic linking". It reads
//! the clock first thing in its main, executes itself, and reads it again: what lies between is
//! the kernel's exec, and all that the loader and the C library do before main. The text
//! subtracted the nanoseconds within a second, `tv_nsec`, which is a second too little where a
//! second began in between. This program subtracts whole times, and prints both.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde::{Deserialize, Serialize};

use super::{Bench, Found};
use crate::baseline::Figure;
use crate::error::{Error, Result};
use crate::image::Linkage;
use crate::peers::Libc;
use crate::spawn;
use crate::subject::FIXED_ENVIRONMENT;
use crate::time::{Control, Copies, Random, Ratio, Spread};

/// What the text "Dynamic linking" measured on its author's machine: the mean of a thousand runs
/// of `ex.c`, linked with musl, in nanoseconds.
pub const TEXT: Text = Text {
    runs: 1000,
    dynamic_ns: 137_263,
    static_ns: 64_048,
};

/// The numbers of a text.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Text {
    /// How many runs a mean is of.
    pub runs: u64,
    /// The mean of the dynamic program.
    pub dynamic_ns: u64,
    /// The mean of the static one.
    pub static_ns: u64,
}

/// What was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SelfExec {
    /// The program in each runtime, in the order of the peers.
    pub programs: Vec<Program>,
    /// Dynamic by static, for each libc that has both.
    pub pairs: Vec<Pair>,
    /// In how many rounds each was run once, in an order that was shuffled anew.
    pub rounds: usize,
    /// One of the programs against a second copy of it.
    pub control: Control,
    /// Which one.
    pub control_of: String,
    /// The processor that all ran on; None when they could not be kept on one.
    pub processor: Option<usize>,
}

/// The program in one runtime.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Program {
    /// The runtime's name for people, as in `musl, static`.
    pub runtime: String,
    /// Whose C library it is.
    pub libc: Libc,
    /// How it is linked.
    pub linkage: Linkage,
    /// Its times, or why there are none.
    pub found: Found<Measured>,
}

/// The times of a program, in nanoseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// From one reading of the clock to the next, in each run.
    pub times_ns: Vec<u64>,
    /// How they are spread.
    pub spread: Spread,
    /// Their mean, which is what the text has.
    pub mean_ns: f64,
    /// Their mean as the text took it: of the differences of `tv_nsec`.
    pub mean_of_tv_nsec_ns: f64,
    /// In how many of the runs a second began, so that the text's way is wrong.
    pub crossed: usize,
}

/// The dynamic program of a libc beside the static one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pair {
    /// Which libc.
    pub libc: Libc,
    /// The median of the dynamic one, in nanoseconds.
    pub dynamic_ns: u64,
    /// The median of the static one.
    pub static_ns: u64,
    /// How many times as long the dynamic one takes.
    pub ratio: Ratio,
}

pub(super) fn measure(bench: &Bench) -> Result<SelfExec> {
    let rounds = bench.depth().of(200, 1000, 4000);
    let mut copies = Copies::new()?;
    let (mut programs, mut runners) = (Vec::new(), Vec::new());
    for peer in &bench.peers {
        if !peer.programs.iter().any(|name| name == PROGRAM) {
            continue;
        }
        let runner = bench.peer(&peer.id, PROGRAM).and_then(|built| {
            let built = built.ok_or_else(|| not_measured(&peer.name, "was not built"))?;
            Ok(Runner::new(copies.copy(&built.path)?))
        });
        let why = runner.as_ref().err().map(ToString::to_string);
        runners.push(runner.ok());
        programs.push(Program {
            runtime: peer.name.clone(),
            libc: peer.libc,
            linkage: peer.linkage,
            found: Found::NotMeasured(why.unwrap_or_default()),
        });
    }
    let control_of = control_of(&programs, &runners).ok_or_else(|| nothing(&programs))?;
    let control = match &runners[control_of] {
        Some(runner) => Runner::new(copies.copy(&runner.program)?),
        None => return Err(nothing(&programs)),
    };
    runners.push(Some(control));
    let processor = spawn::alone(|| {
        let processor = nix::sched::sched_getcpu().ok();
        let processor = processor.filter(|processor| spawn::pin_to(*processor).is_ok());
        run_all(&mut runners, rounds, bench);
        Ok(processor)
    })?;

    let control = runners.pop().flatten();
    for (program, runner) in programs.iter_mut().zip(&runners) {
        if let Some(runner) = runner {
            program.found = runner.found();
        }
    }
    let of = |at: Option<usize>| runners.get(at?)?.as_ref().filter(|it| it.failed.is_none());
    let control = match (&control, of(Some(control_of))) {
        (Some(control), Some(first)) if control.failed.is_none() => {
            Control::of(ratio(&control.runs, &first.runs))
        }
        _ => {
            let why = control.and_then(|control| control.failed);
            let program = &programs[control_of].runtime;
            return Err(not_measured(program, &why.unwrap_or("failed".to_owned())));
        }
    };
    let pair = |libc: Libc| {
        let linked = |linkage| {
            let mut all = programs.iter();
            all.position(|program| program.libc == libc && program.linkage == linkage)
        };
        let (dynamic, fixed) = (of(linked(Linkage::Dynamic))?, of(linked(Linkage::Static))?);
        Some(Pair {
            libc,
            dynamic_ns: Spread::of(&dynamic.times()).median_ns,
            static_ns: Spread::of(&fixed.times()).median_ns,
            ratio: ratio(&dynamic.runs, &fixed.runs),
        })
    };
    Ok(SelfExec {
        pairs: [Libc::Musl, Libc::Glibc]
            .into_iter()
            .filter_map(pair)
            .collect(),
        control_of: programs[control_of].runtime.clone(),
        control,
        programs,
        rounds,
        processor,
    })
}

impl SelfExec {
    /// The ratios of dynamic to static.
    pub(super) fn figures(&self) -> Vec<Figure> {
        let figure = |pair: &Pair| Figure {
            subject: format!("self-exec, {}", pair.libc),
            name: "time, dynamic by static".to_owned(),
            low: pair.ratio.low,
            high: pair.ratio.high,
            margin: MARGIN,
        };
        self.pairs.iter().map(figure).collect()
    }
}

/// By so much a ratio of two medians moves from one report to the next.
const MARGIN: f64 = 0.02;

/// The program, as the peers have it.
const PROGRAM: &str = "self_exec";

/// A run takes less than a thousandth of this, unless something is wrong with the program.
const LIMIT: Duration = Duration::from_secs(10);

/// How many rounds are run before, and do not count.
const WARMUP: usize = 5;

/// A copy of a program that is run again and again.
struct Runner {
    program: PathBuf,
    runs: Vec<Run>,
    /// Why it is not run any more.
    failed: Option<String>,
}

/// What one run printed, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    /// `tv_nsec` of the first reading of the clock.
    first: u64,
    /// `tv_nsec` of the second.
    second: u64,
    /// What lies between.
    between: u64,
}

impl Runner {
    fn new(program: PathBuf) -> Self {
        Runner {
            program,
            runs: Vec::new(),
            failed: None,
        }
    }

    fn run(&mut self) {
        if self.failed.is_none() {
            match run(&self.program) {
                Ok(run) => self.runs.push(run),
                Err(error) => self.failed = Some(error.to_string()),
            }
        }
    }

    fn times(&self) -> Vec<u64> {
        self.runs.iter().map(|run| run.between).collect()
    }

    fn found(&self) -> Found<Measured> {
        if let Some(why) = &self.failed {
            return Found::NotMeasured(why.clone());
        }
        let mean = |of: fn(&Run) -> f64| {
            self.runs.iter().map(of).sum::<f64>() / self.runs.len().max(1) as f64
        };
        Found::Measured(Measured {
            times_ns: self.times(),
            spread: Spread::of(&self.times()),
            mean_ns: mean(|run| run.between as f64),
            mean_of_tv_nsec_ns: mean(|run| run.second as f64 - run.first as f64),
            crossed: self.runs.iter().filter(|run| run.crossed()).count(),
        })
    }
}

impl Run {
    /// Whether a second began between the two readings of the clock.
    fn crossed(&self) -> bool {
        self.second as i128 - self.first as i128 != self.between as i128
    }
}

/// Runs all of them, round after round, each in an order of its own.
fn run_all(runners: &mut [Option<Runner>], rounds: usize, bench: &Bench) {
    let mut random = Random::new(1);
    let mut order: Vec<usize> = (0..runners.len()).collect();
    let mut told = Instant::now();
    for round in 0..WARMUP + rounds {
        if round == WARMUP {
            runners.iter_mut().flatten().for_each(|it| it.runs.clear());
        }
        random.shuffle(&mut order);
        for &at in &order {
            if let Some(runner) = &mut runners[at] {
                runner.run();
            }
        }
        if told.elapsed() > Duration::from_millis(500) {
            told = Instant::now();
            let part = round as f64 / (WARMUP + rounds) as f64;
            bench.tell(part, format!("round {round} of {rounds}"));
        }
    }
}

/// The program whose second copy is the control: musl's static one, or the first that is there.
fn control_of(programs: &[Program], runners: &[Option<Runner>]) -> Option<usize> {
    let here = || (0..programs.len()).filter(|at| runners[*at].is_some());
    let musl = |at: &usize| {
        let program = &programs[*at];
        program.libc == Libc::Musl && program.linkage == Linkage::Static
    };
    here().find(musl).or_else(|| here().next())
}

/// How many times as long the runs of one took as those of another.
fn ratio(runs: &[Run], others: &[Run]) -> Ratio {
    let [times, others] = [runs, others].map(|runs| {
        let times = runs.iter().map(|run| run.between);
        times.collect::<Vec<_>>()
    });
    Ratio::paired(&times, &others, &mut Random::new(1))
}

/// Runs it once, and reads what it prints.
fn run(program: &Path) -> Result<Run> {
    let failed = |error: std::io::Error| Error::io(format!("run {}", program.display()), error);
    let environment = FIXED_ENVIRONMENT.iter().filter_map(|it| it.split_once('='));
    let mut child = Command::new(program)
        .env_clear()
        .envs(environment)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    let said = match child.stdout.take() {
        Some(stdout) => read_line(File::from(OwnedFd::from(stdout))),
        None => Ok(String::new()),
    };
    if said.is_err() {
        // It may be gone already.
        let _ = child.kill();
    }
    let status = child.wait().map_err(failed)?;
    let said = said.map_err(failed)?;
    match parse(&said) {
        Some(run) if status.success() => Ok(run),
        _ => Err(not_measured(
            &program.display().to_string(),
            "did not print two times and their difference; is its source self_exec.c?",
        )),
    }
}

/// What is written into a pipe until it is closed, for a while, and no more than a line.
fn read_line(mut pipe: File) -> std::io::Result<String> {
    const LINE: usize = 64;
    let end = Instant::now() + LIMIT;
    let mut said = Vec::new();
    while said.len() < LINE {
        let left = end.saturating_duration_since(Instant::now());
        let left = PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO);
        let mut ready = [PollFd::new(pipe.as_fd(), PollFlags::POLLIN)];
        if poll(&mut ready, left)? == 0 {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        let mut bytes = [0; LINE];
        match pipe.read(&mut bytes)? {
            0 => break,
            read => said.extend(bytes.iter().take(read)),
        }
    }
    Ok(String::from_utf8_lossy(&said).into_owned())
}

/// Three numbers, which go together.
fn parse(line: &str) -> Option<Run> {
    const SECOND: u64 = 1_000_000_000;
    let numbers = line.strip_suffix('\n')?.split(' ').map(str::parse);
    let numbers = numbers.collect::<std::result::Result<Vec<u64>, _>>().ok()?;
    let [first, second, between] = numbers[..] else {
        return None;
    };
    let together = first < SECOND && second == first.checked_add(between)? % SECOND;
    together.then_some(Run {
        first,
        second,
        between,
    })
}

fn not_measured(subject: &str, reason: &str) -> Error {
    Error::NotMeasured {
        subject: subject.to_owned(),
        reason: reason.to_owned(),
    }
}

/// Why there is nothing to show.
fn nothing(programs: &[Program]) -> Error {
    let why = programs.iter().find_map(|program| match &program.found {
        Found::NotMeasured(why) if !why.is_empty() => Some(why.as_str()),
        _ => None,
    });
    not_measured(PROGRAM, why.unwrap_or("no peer has it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_crosses_a_second_is_told_from_one_that_does_not() {
        let within = parse("999000000 999100000 100000\n").unwrap();
        assert!(!within.crossed());
        let crossing = parse("999950000 50000 100000\n").unwrap();
        assert!(crossing.crossed());
        // The text's way has it end before it began; a whole second more is one too.
        assert!(parse("5 5 1000000000\n").unwrap().crossed());
        let mut runner = Runner::new(PathBuf::new());
        runner.runs = vec![within, crossing];
        let Found::Measured(found) = runner.found() else {
            panic!()
        };
        assert_eq!((found.mean_ns, found.crossed), (100_000.0, 1));
        assert_eq!(found.mean_of_tv_nsec_ns, 100_000.0 - 500_000_000.0);
    }

    #[test]
    fn what_is_no_line_of_the_program_is_refused() {
        for line in [
            "",
            "\n",
            "1 2\n",
            "1 2 1",
            "1 2 3\n",
            "1 2 1 4\n",
            "a b c\n",
            "-1 2 3\n",
            "1000000000 1000000001 1\n",
            "1 0 18446744073709551615\n",
        ] {
            assert_eq!(parse(line), None, "{line:?}");
        }
    }
}
