//! What it takes to survey the programs of this machine, beside the pipelines of ldd and objdump
//! that the third text did it with: `make bench`.
//!
//! All is read once before, so that it is in memory for both. Then trees of ever more programs show
//! how time and memory grow. Exits with 1 when something falls short.

#[path = "../common/mod.rs"]
mod common;
mod trees;

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use barest::memory::memory;
use barest::view::{Page, Table, number, text};
use barest::{Error, Result, Subject};

use common::Figure;
use trees::Trees;

const BAREST: &str = env!("CARGO_BIN_EXE_barest");
const PROGRAMS: &str = "/usr/bin";

fn main() -> ExitCode {
    common::main(bench)
}

/// Measures and prints all. False when something fell short.
fn bench() -> Result<bool> {
    let (pipelines, mut figures) = pipelines()?;
    let (growth, more) = growth()?;
    figures.extend(more);
    common::print(
        Page::new()
            .heading(format!("{PROGRAMS} and its libraries, warm"))
            .table(pipelines)
            .heading("Trees of dynamic programs, each with six libraries")
            .table(growth)
            .heading("What is asked")
            .table(common::table(&figures)),
    );
    Ok(figures.iter().all(|figure| figure.met))
}

/// Ours beside the pipeline of the same question.
fn pipelines() -> Result<(Table, Vec<Figure>)> {
    let mut table = Table::new([
        text("survey"),
        number("programs"),
        number("s"),
        number("peak MiB"),
        number("pipeline s"),
        number("times as fast"),
    ]);
    let mut figures = Vec::new();
    for question in ["libraries", "symbols"] {
        let programs = dynamic_programs(PROGRAMS)?;
        let ours = fastest(question, PROGRAMS)?;
        let peak = peak(question, PROGRAMS)?;
        eprintln!("bench: survey {question} timed; its pipeline is next, for minutes");
        let script = common::root().join(format!("benches/survey/{question}.sh"));
        let pipeline = elapsed(Command::new("sh").arg(script).arg(PROGRAMS))?;
        let times = pipeline.as_secs_f64() / ours.as_secs_f64();
        table.row([
            question.to_owned(),
            programs.to_string(),
            seconds(ours),
            mebibytes(peak),
            seconds(pipeline),
            format!("{times:.0}"),
        ]);
        let per_thousand = ours.as_secs_f64() / programs as f64 * 1000.0;
        figures.push(Figure {
            what: format!("survey {question} against its pipeline"),
            asked: "at least 50 times as fast".to_owned(),
            measured: format!("{times:.0} times"),
            met: times >= 50.0,
        });
        figures.push(Figure {
            what: format!("survey {question}, for 1,000 programs"),
            asked: "at most 1 s".to_owned(),
            measured: format!("{per_thousand:.3} s"),
            met: per_thousand <= 1.0,
        });
        figures.push(at_most_256(&format!("survey {question} {PROGRAMS}"), peak));
    }
    Ok((table, figures))
}

/// How time and memory grow with the number of programs.
fn growth() -> Result<(Table, Vec<Figure>)> {
    let trees = Trees::new()?;
    let mut table = Table::new([
        text("survey"),
        number("programs"),
        number("s"),
        number("µs a program"),
        number("peak MiB"),
    ]);
    let mut figures = Vec::new();
    let mut folders = Vec::new();
    for programs in [1_000, 10_000, 50_000] {
        folders.push((programs, trees.of(programs)?));
    }
    for question in ["libraries", "symbols", "sizes"] {
        let mut each = Vec::new();
        for (programs, folder) in &folders {
            let (programs, folder) = (*programs, folder.to_string_lossy());
            let time = fastest(question, &folder)?;
            let peak = peak(question, &folder)?;
            let micros = time.as_secs_f64() * 1e6 / f64::from(programs);
            table.row([
                question.to_owned(),
                programs.to_string(),
                seconds(time),
                format!("{micros:.1}"),
                mebibytes(peak),
            ]);
            each.push(micros);
            if programs == 50_000 {
                let name = format!("survey {question}, 50,000 programs");
                figures.push(at_most_256(&name, peak));
            }
        }
        let growth = each[2] / each[1];
        figures.push(Figure {
            what: format!("survey {question}: time a program, 50,000 against 10,000"),
            asked: "at most 1.2 times (linear)".to_owned(),
            measured: format!("{growth:.2} times"),
            met: growth <= 1.2,
        });
        eprintln!("bench: survey {question}: growth timed");
    }
    Ok((table, figures))
}

/// How long it takes, the fastest of five runs; one more before has read the files into memory.
fn fastest(question: &str, folder: &str) -> Result<Duration> {
    let run = || elapsed(&mut survey(question, folder));
    run()?;
    let mut fastest = run()?;
    for _ in 0..4 {
        fastest = fastest.min(run()?);
    }
    Ok(fastest)
}

fn survey(question: &str, folder: &str) -> Command {
    let mut command = Command::new(BAREST);
    command.args(["survey", question, folder]);
    command
}

/// From start to end, its output left aside.
fn elapsed(command: &mut Command) -> Result<Duration> {
    let started = Instant::now();
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    let failed = |reason: String| Error::Command {
        command: format!("{command:?}"),
        reason,
    };
    match status {
        Ok(status) if status.success() => Ok(started.elapsed()),
        Ok(status) => Err(failed(status.to_string())),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// The most memory it has, in kB.
fn peak(question: &str, folder: &str) -> Result<u64> {
    let subject = Subject::new(BAREST).args(["survey", question, folder]);
    Ok(memory(&subject)?.peak_kb)
}

fn at_most_256(what: &str, kb: u64) -> Figure {
    Figure {
        what: format!("{what}: peak memory"),
        asked: "at most 256 MiB".to_owned(),
        measured: format!("{} MiB", mebibytes(kb)),
        met: kb <= 256 * 1024,
    }
}

/// How many dynamic programs there are in a folder, as the survey itself says.
fn dynamic_programs(folder: &str) -> Result<usize> {
    let root = barest::survey::Root::here();
    let folder = [Path::new(folder).to_owned()];
    let found = barest::survey::walk::walk(&root, &folder, &|_| {})?;
    let dynamic = |program: &&barest::survey::walk::Program| {
        program.kind == barest::survey::walk::Kind::Dynamic
    };
    Ok(found.list.iter().filter(dynamic).count())
}

fn seconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64())
}

fn mebibytes(kb: u64) -> String {
    format!("{:.1}", kb as f64 / 1024.0)
}
