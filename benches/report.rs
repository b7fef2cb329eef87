//! How long a report of all sections takes, quick and as `make` makes it: `make bench`.
//!
//! The peers are built before. Exits with 1 when it takes too long.

mod common;

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use barest::view::Page;
use barest::{Error, Result};
use common::Figure;

fn main() -> ExitCode {
    common::main(bench)
}

/// Measures and prints all. False when something fell short.
fn bench() -> Result<bool> {
    // Builds the peers, in some seconds.
    report(&["bytes"])?;
    let figures = [
        figure("report --quick", 60.0, report(&["--quick"])?),
        figure("report", 240.0, report(&[])?),
    ];
    common::print(Page::new().table(common::table(&figures)));
    Ok(figures.iter().all(|figure| figure.met))
}

fn figure(what: &str, most: f64, seconds: f64) -> Figure {
    Figure {
        what: format!("{what}, all sections"),
        asked: format!("at most {most} s"),
        measured: format!("{seconds:.1} s"),
        met: seconds <= most,
    }
}

/// Makes a report, and gives how many seconds that took.
fn report(args: &[&str]) -> Result<f64> {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report-bench");
    let mut command = Command::new(env!("CARGO_BIN_EXE_barest"));
    command
        .arg("report")
        .args(args)
        .arg("--out")
        .arg(out)
        .arg("--programs")
        .arg(common::target().join("bare"))
        .arg("--peers")
        .arg(common::root().join("tests/peers/peers.toml"))
        .arg("--build")
        .arg(common::target().join("peers"))
        .stdout(Stdio::null());
    let began = Instant::now();
    let reason = match command.status() {
        Ok(status) if status.success() => return Ok(began.elapsed().as_secs_f64()),
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    Err(Error::Command {
        command: format!("{command:?}"),
        reason,
    })
}
