//! What it takes to tell who makes the calls of a program, beside `strace -k`: `make bench`.
//!
//! Exits with 1 when it takes too long. On a machine that is busy, it can.

mod common;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use barest::time::{Plan, time};
use barest::view::Page;
use barest::{Result, Subject};
use common::Figure;

fn main() -> ExitCode {
    common::main(bench)
}

/// Measures and prints all. False when something fell short.
fn bench() -> Result<bool> {
    let programs = [
        ("C hello, dynamic", &["gcc", "-O2"][..], "hello_puts.c"),
        (
            "Rust hello, dynamic",
            &["rustc", "--edition=2024", "-O"],
            "hello.rs",
        ),
    ];
    let mut figures = Vec::new();
    let mut lines = Vec::new();
    for (name, compiler, source) in programs {
        let program = compile(name, compiler, source)?;
        let subjects = [
            Subject::new("strace")
                .args(["-k", "-o", "/dev/null"])
                .arg(&program),
            Subject::new(env!("CARGO_BIN_EXE_barest"))
                .args(["trace", "--who"])
                .arg(&program),
        ];
        // In shuffled rounds, all on one processor.
        let timing = time(
            &subjects,
            &Plan {
                rounds: 100,
                ..Plan::default()
            },
        )?;
        let [strace, ours] = [0, 1].map(|at| timing.subjects[at].time.median_ns as f64 / 1e6);
        figures.push(Figure::at_most(
            format!("trace --who against strace -k: {name}, {ours:.1} and {strace:.1} ms"),
            0.7,
            timing.ratio(1, 0),
        ));
        lines.push(common::conditions(name, &timing));
    }
    let page = Page::new().table(common::table(&figures));
    common::print(lines.into_iter().fold(page, Page::note));
    Ok(figures.iter().all(|figure| figure.met))
}

/// One of the programs of tests/peers, with its symbols.
fn compile(name: &str, compiler: &[&str], source: &str) -> Result<PathBuf> {
    let source = common::root().join("tests/peers").join(source);
    let file = format!("who {name}").replace([' ', ','], "-");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file);
    common::compile(compiler, &source, &program)?;
    Ok(program)
}
