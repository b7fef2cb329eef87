//! What the benches share: figures and how they are printed, and the programs that are measured.
#![allow(dead_code, reason = "each bench uses a part of it")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use barest::machine::Machine;
use barest::peers::{self, Availability};
use barest::time::{Ratio, Timing};
use barest::view::{Page, Table, Terminal, table, text, yes_no};
use barest::{Error, Result};

/// Exits with 1 when something fell short, and with 2 when something could not be measured.
pub fn main(bench: fn() -> Result<bool>) -> ExitCode {
    match bench() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::from(2)
        }
    }
}

/// One line: what is measured, what is asked of it, what it was, and whether that will do.
pub struct Figure {
    pub what: String,
    pub asked: String,
    pub measured: String,
    pub met: bool,
}

impl Figure {
    /// A ratio that must not be larger; one that could not be measured falls short.
    pub fn at_most(what: impl Into<String>, most: f64, measured: Option<Ratio>) -> Self {
        Figure {
            what: what.into(),
            asked: format!("at most {most} times"),
            measured: measured.map_or("not measured".into(), |ratio| format!("{ratio} times")),
            met: measured.is_some_and(|measured| measured.ratio <= most),
        }
    }
}

/// Under what a run was timed, in one line.
pub fn conditions(what: &str, timing: &Timing) -> String {
    let noisy = match timing.control.holds {
        true => "",
        false => ", not 1 within 1 %: the machine is noisy",
    };
    format!(
        "{what}: {} subjects in {} shuffled rounds; the first against a copy of it {}{noisy}",
        timing.subjects.len(),
        timing.rounds,
        timing.control.ratio,
    )
}

/// All figures, a row each.
pub fn table(figures: &[Figure]) -> Table {
    let mut table = Table::new([text("what"), text("asked"), text("measured"), text("met")]);
    for figure in figures {
        let met = yes_no(figure.met);
        table.row([&figure.what, &figure.asked, &figure.measured, met]);
    }
    table
}

/// Prints a page, and what machine it is from.
pub fn print(page: Page) {
    let page = page.note(format!("Measured on {}.", Machine::here()));
    print!("{}", table::render(&page, Terminal::stdout()));
}

/// A program of ours, as `make programs` built it.
pub fn ours(name: &str) -> PathBuf {
    target().join("bare").join(name)
}

/// A program of a peer, or nothing where that peer is not installed.
pub fn peer(id: &str, program: &str) -> Result<Option<PathBuf>> {
    let peers = peers::load(&root().join("tests/peers/peers.toml"))?;
    let Some(peer) = peers.iter().find(|peer| peer.id == id) else {
        return Ok(None);
    };
    Ok(match peers::prepare(peer, &target().join("peers"))? {
        Availability::Ready { programs } => programs
            .into_iter()
            .find(|built| built.program == program)
            .map(|built| built.path),
        Availability::NotInstalled { .. } => None,
    })
}

/// Compiles a source by this command, of at least one word.
pub fn compile(command: &[impl AsRef<OsStr>], source: &Path, output: &Path) -> Result<()> {
    let mut compiler = Command::new(&command[0]);
    compiler
        .args(&command[1..])
        .arg(source)
        .arg("-o")
        .arg(output);
    let reason = match compiler.output() {
        Ok(ended) if ended.status.success() => return Ok(()),
        Ok(ended) => {
            let said = String::from_utf8_lossy(&ended.stderr);
            said.lines().next().unwrap_or("it said nothing").to_owned()
        }
        Err(error) => format!("{error}; make deps"),
    };
    Err(Error::Command {
        command: format!("{compiler:?}"),
        reason,
    })
}

/// The folder of the package.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder that cargo builds into.
pub fn target() -> &'static Path {
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    tmp.parent().unwrap_or(tmp)
}
