//! What the kit must reach in speed and precision, measured and printed side by side: `make bench`.
//!
//! Exits with 1 when something falls short. On a machine that is busy, something will.

mod common;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use barest::memory::memory;
use barest::steps::{Until, steps};
use barest::time::{Plan, Ratio, Timing, time};
use barest::view::Page;
use barest::{Result, Subject};
use common::{Figure, ours, peer};

fn main() -> ExitCode {
    common::main(bench)
}

/// Measures and prints all. False when something fell short.
fn bench() -> Result<bool> {
    let mut figures = Vec::new();
    for measure in [tracing, stepping, memory_of_a_program, launching, control] {
        figures.extend(measure()?);
        eprintln!("bench: {} figures so far", figures.len());
    }
    common::print(Page::new().table(common::table(&figures)));
    Ok(figures.iter().all(|figure| figure.met))
}

/// `count`, with and without `--fast`, against `strace -c`: the same program of 100,000 calls, in
/// turn, all on one processor.
fn tracing() -> Result<Vec<Figure>> {
    let program = compile("calls")?;
    let kit = env!("CARGO_BIN_EXE_barest");
    let subjects = [
        Subject::new("strace")
            .args(["-c", "-o", "/dev/null"])
            .arg(&program),
        Subject::new(kit).arg("count").arg(&program),
        Subject::new(kit).args(["count", "--fast"]).arg(&program),
        Subject::new(&program),
    ];
    let timing = time(
        &subjects,
        &Plan {
            rounds: 15,
            warmup: 1,
            ..Plan::default()
        },
    )?;
    let figure = |at: usize, what: &str, asked: &str, most| {
        let ratio = against(&timing, at);
        Figure {
            what: format!("{what}, 100,000 calls"),
            asked: asked.to_owned(),
            measured: format!("{ratio} times, {}", milliseconds(&timing, at)),
            met: ratio.ratio <= most,
        }
    };
    Ok(vec![
        Figure {
            what: "strace -c, 100,000 calls; and the program alone".to_owned(),
            asked: "-".to_owned(),
            measured: format!("{}; {}", milliseconds(&timing, 0), milliseconds(&timing, 3)),
            met: true,
        },
        figure(1, "count against strace -c", "at most 0.95 times", 0.95),
        figure(
            2,
            "count --fast against strace -c",
            "at most 0.5 times",
            0.5,
        ),
    ])
}

fn against(timing: &Timing, at: usize) -> Ratio {
    timing.ratio(at, 0).expect("that many subjects were timed")
}

fn milliseconds(timing: &Timing, at: usize) -> String {
    format!("{:.0} ms", timing.subjects[at].time.median_ns as f64 / 1e6)
}

/// How long it takes to step through the Rust hello, which has the most instructions.
fn stepping() -> Result<Vec<Figure>> {
    let mut figure = Figure {
        what: "steps of the dynamic Rust hello".to_owned(),
        asked: "at most 6 s".to_owned(),
        measured: "not measured: that peer is not installed".to_owned(),
        met: false,
    };
    if let Some(hello) = peer("rust-dynamic", "hello")? {
        let start = Instant::now();
        let seen = steps(&Subject::new(hello), Until::End)?;
        let took = start.elapsed();
        let instructions = seen.total.instructions;
        figure.measured = format!("{:.1} s, {instructions} instructions", took.as_secs_f64());
        figure.met = took <= Duration::from_secs(6);
    }
    Ok(vec![figure])
}

/// The memory of a program that touches 64 MiB.
fn memory_of_a_program() -> Result<Vec<Figure>> {
    const MIB: u64 = 1024;
    let small = memory(&Subject::new(compile("touch")?).arg("0"))?;
    let large = memory(&Subject::new(compile("touch")?).arg("64"))?;
    let more = large.peak_kb - small.peak_kb;
    Ok(vec![Figure {
        what: "memory of a program that touches 64 MiB, less its own".to_owned(),
        asked: "65536 kB within 1 %".to_owned(),
        measured: format!("{more} kB"),
        met: more.abs_diff(64 * MIB) * 100 <= 64 * MIB,
    }])
}

/// What the kit itself adds to a start.
fn launching() -> Result<Vec<Figure>> {
    let timing = time(&[Subject::new(ours("true"))], &Plan::default())?;
    let (own, floor) = (timing.own_cost_ns, timing.floor.median_ns);
    Ok(vec![Figure {
        what: "the kit's own part in a start, above the floor".to_owned(),
        asked: "at most a tenth of the floor".to_owned(),
        measured: format!(
            "{:.1} µs above {:.1} µs",
            own as f64 / 1e3,
            floor as f64 / 1e3
        ),
        met: own * 10 <= floor as i64,
    }])
}

/// How often a program compared with itself comes out equal, also beside a busy loop.
fn control() -> Result<Vec<Figure>> {
    let quiet = holds()?;
    let stop = AtomicBool::new(false);
    let busy = thread::scope(|scope| {
        // The kernel puts it on a core that the pinned measurement leaves free.
        scope.spawn(|| while !black_box(stop.load(Ordering::Relaxed)) {});
        let held = holds();
        stop.store(true, Ordering::Relaxed);
        held
    })?;
    let figure = |what: &str, held: usize| Figure {
        what: format!("a program against itself within 1 %, 400 pairs{what}"),
        asked: "19 of 20 runs".to_owned(),
        measured: format!("{held} of 20 runs"),
        met: held >= 19,
    };
    Ok(vec![
        figure("", quiet),
        figure(", a busy loop beside", busy),
    ])
}

fn holds() -> Result<usize> {
    let mut held = 0;
    for seed in 0..20 {
        let timing = time(
            &[Subject::new(ours("true"))],
            &Plan {
                seed,
                ..Plan::default()
            },
        )?;
        held += usize::from(timing.control.holds);
    }
    Ok(held)
}

/// One of the programs of tests/subjects.
fn compile(name: &str) -> Result<PathBuf> {
    let source = common::root().join(format!("tests/subjects/{name}.c"));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    common::compile(&["gcc", "-O2"], &source, &program)?;
    Ok(program)
}
