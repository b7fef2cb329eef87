//! `barest report`

use std::io::Write;
use std::path::{Path, PathBuf};

use barest::report::{Found, Plan, Progress, Report as Facts, report};
use barest::view::{self, Format, json, markdown};
use barest::{Error, Result};
use tempfile::NamedTempFile;

use super::Outcome;
use super::output::{Findings, complain};
use super::progress;

/// All programs of this project beside the same in other runtimes.
#[derive(clap::Args)]
pub struct Report {
    /// The folder of our programs.
    #[arg(long, value_name = "FOLDER", default_value = "target/bare")]
    programs: PathBuf,
    /// How the peers are built, and what they must be.
    #[arg(long, value_name = "FILE", default_value = "tests/peers/peers.toml")]
    peers: PathBuf,
    /// The folder that the peers are built into.
    #[arg(long, value_name = "FOLDER", default_value = "target/peers")]
    build: PathBuf,
    /// The folder that report.md and report.json are written into.
    #[arg(long, value_name = "FOLDER", default_value = "target/report")]
    out: PathBuf,
    /// In how many rounds each program is timed; 0 leaves times out.
    #[arg(long, value_name = "N", default_value_t = Plan::default().rounds)]
    rounds: usize,
    /// Leave out instructions, which take the most time to count.
    #[arg(long)]
    no_steps: bool,
}

const SCHEMA: &str = "barest.report/1";

impl Report {
    pub fn run(self, format: Format) -> Outcome {
        let plan = Plan {
            programs: self.programs,
            peers: self.peers,
            build: self.build,
            rounds: self.rounds,
            steps: !self.no_steps,
            ..Plan::default()
        };
        let bar = progress::bar();
        let found = report(&plan, &|Progress { done, of, last }| {
            bar.set_length(of as u64);
            bar.set_position(done as u64);
            bar.set_message(last);
        });
        bar.finish_and_clear();
        let mut findings = Findings::new(SCHEMA);
        let mut outcome = Outcome::Done;
        if let Ok(facts) = &found {
            outcome = failures(facts);
            if let Err(error) = write(facts, &self.out) {
                complain(&error);
                outcome = Outcome::NotMeasured;
            }
        }
        findings.add(found);
        findings.print(format, view::report::page).max(outcome)
    }
}

/// A line on stderr for each row that failed.
fn failures(report: &Facts) -> Outcome {
    let mut outcome = Outcome::Done;
    for comparison in &report.tables {
        if let Some(why) = &comparison.untimed {
            complain(&format_args!("{}: not timed: {why}", comparison.program));
            outcome = Outcome::NotMeasured;
        }
        for row in &comparison.rows {
            if let Found::Failed(why) = &row.found {
                complain(&format_args!(
                    "{}, {}: {why}",
                    comparison.program, row.runtime
                ));
                outcome = Outcome::NotMeasured;
            }
        }
    }
    outcome
}

/// Writes both files, each whole or not at all.
fn write(report: &Facts, out: &Path) -> Result<()> {
    let facts = std::slice::from_ref(report);
    let failed = |e| Error::io(format!("write into {}", out.display()), e);
    std::fs::create_dir_all(out).map_err(failed)?;
    for (name, text) in [
        ("report.md", markdown::render(&view::report::page(facts))),
        ("report.json", json::render(SCHEMA, facts, &[])),
    ] {
        let mut file = NamedTempFile::new_in(out).map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        file.persist(out.join(name)).map_err(|e| failed(e.error))?;
    }
    Ok(())
}
