//! What a launcher costs, beside other launchers and beside none: `make bench`.
//!
//! Two jobs: just to run a target, which exits at once; and to do five things first, as
//! tests/peers/launchers.toml has them. All that is in one table is timed in one run: every way
//! once in each round, in an order that is shuffled anew, on one processor. What is printed are
//! ratios to the same target started by a vfork and an execve, with no launcher.
//!
//! Exits with 1 when something falls short. On a machine that is busy, something will.

#[path = "../common/mod.rs"]
mod common;
mod comparison;
mod direct;
mod others;
mod ours;
mod place;
mod way;

use std::process::ExitCode;

use barest::time::Plan;
use barest::view::Page;
use barest::{Result, Subject};

use comparison::Comparison;
use direct::Direct;
use ours::{Baked, bake, job, launch};
use place::Place;
use way::Way;

fn main() -> ExitCode {
    common::main(bench)
}

/// Measures and prints all. False when something fell short.
fn bench() -> Result<bool> {
    let place = Place::new()?;
    let plan = Plan {
        rounds: 1000,
        ..Plan::default()
    };
    // First the target is one that sees what has been done, then one that exits at once.
    let sees = place.file("sees");
    let directory = format!("-DDIRECTORY=\"{}\"", place.directory.display());
    let source = common::root().join("tests/peers/launchers/sees.c");
    common::compile(&["gcc", "-O2", &directory], &source, &sees)?;
    place.put(&sees)?;
    let (mut ways, mut notes) = ways(&place)?;
    ways.iter().try_for_each(Way::check)?;
    place.put(&common::ours("true"))?;
    let mut launchers = ways.iter_mut().filter(|way| way.is_launcher);
    launchers.try_for_each(Way::look)?;

    let compared = Comparison::of(ways, &plan)?;
    eprintln!("bench: {} ways timed", compared.ways.len());
    let mut figures = compared.figures();
    notes.push(common::conditions("launchers", &compared.timing));
    let direct = Direct::measure(&place, &plan)?;
    figures.push(direct.figure());

    let page = Page::new()
        .heading("What stands between a parent and its target, in times the target alone")
        .table(compared.table())
        .heading("A target started by mapping it, in times the target alone")
        .table(direct.table())
        .heading("What is asked")
        .table(common::table(&figures))
        .note(
            "alone: the target, started by vfork and execve. job: chdir, a file as stdout, a \
             descriptor closed, setsid, a variable set. calls: between the launcher's execve and \
             the target's, links of a chain counted in. bytes: of its file; two, if the job has \
             one of its own.",
        );
    notes.extend(direct.notes);
    common::print(notes.into_iter().fold(page, Page::note));
    Ok(figures.iter().all(|figure| figure.met))
}

const VFORK: &str = "none: vfork, calls in the child";
const ASSEMBLER: &str = "assembler";
const LAUNCH: &str = "launch";
const BAKED: &str = "baked";

/// All ways there are here, the measure of all first; and a line for each that is not.
fn ways(place: &Place) -> Result<(Vec<Way>, Vec<String>)> {
    let target = &place.target;
    let mut notes = Vec::new();
    let mut ways = vec![
        Way::without_launcher(VFORK, place),
        Way::without_launcher("none: posix_spawn, file actions", place).by_posix_spawn(),
    ];
    match common::peer("gas", "exec")? {
        Some(exec) => ways.push(Way::new(
            ASSEMBLER,
            Some(Subject::new(exec).arg(target)),
            None,
        )),
        None => notes.push("assembler: not installed: binutils".to_owned()),
    }
    let after = |words: Vec<_>| words.into_iter().chain([target.clone().into_os_string()]);
    let launch = |name: &str| {
        let exec = launch(after(Vec::new()));
        Way::new(name, Some(exec), Some(launch(after(job(place)))))
    };
    ways.push(launch(LAUNCH));
    ways.push(launch("launch, by posix_spawn").by_posix_spawn());
    let mut baked = |name: &str, words: Vec<_>| match bake(place, name, words, target) {
        Baked::As(file) => Some(Subject::new(file)),
        Baked::Not(why) => {
            let line = format!("baked: not measured: {why}");
            if !notes.contains(&line) {
                notes.push(line);
            }
            None
        }
    };
    let exec = baked("baked-exec", Vec::new());
    let job = baked("baked-job", job(place));
    ways.push(Way::new(BAKED, exec, job));
    let (others, missing) = others::others(place)?;
    ways.extend(others);
    notes.extend(missing);
    Ok((ways, notes))
}
