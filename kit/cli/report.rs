//! `barest report [SECTION…]`

use std::path::{Path, PathBuf};

use barest::baseline::{Baseline, Comparison};
use barest::report::{self, Depth, Name, Plan, Progress, Report as Facts, report};
use barest::subject::escape;
use barest::view::{self, Format, json, markdown};
use barest::{Error, Result, whole};
use serde::Deserialize;

use super::Outcome;
use super::output::{Findings, complain};
use super::progress;

/// What the four texts measured, measured on this machine: a page, and all its figures.
#[derive(clap::Args)]
pub struct Report {
    /// Which sections; all where none is named.
    #[arg(value_enum, value_name = "SECTION")]
    sections: Vec<Name>,
    /// In a minute: few rounds, wide intervals.
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// As the texts did it, however long that takes.
    #[arg(long)]
    full: bool,
    /// The folder that index.html, report.md and report.json are written into.
    #[arg(long, short, value_name = "FOLDER", default_value = "target/report")]
    out: PathBuf,
    /// The folder of our programs.
    #[arg(long, value_name = "FOLDER", default_value = "target/bare")]
    programs: PathBuf,
    /// How the peers are built, and what they must be.
    #[arg(long, value_name = "FILE", default_value = "tests/peers/peers.toml")]
    peers: PathBuf,
    /// The folder that the peers are built into.
    #[arg(long, value_name = "FOLDER", default_value = "target/peers")]
    build: PathBuf,
    /// Mark what has changed beyond noise since this report.json was written.
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// Exit with 1 when something has.
    #[arg(long, requires = "compare")]
    fail_on_change: bool,
}

const SCHEMA: &str = "barest.report/2";

impl Report {
    pub fn run(self, format: Format) -> Outcome {
        let plan = Plan {
            programs: self.programs.clone(),
            peers: self.peers.clone(),
            build: self.build.clone(),
            sections: match self.sections.is_empty() {
                true => Name::ALL.to_vec(),
                false => self.sections.clone(),
            },
            depth: match (self.quick, self.full) {
                (true, _) => Depth::Quick,
                (_, true) => Depth::Full,
                _ => Depth::Default,
            },
            kept: Some(self.out.join("measured")),
        };
        // Before what takes minutes.
        let old = self.compare.as_deref().map(|file| read(file, plan.depth));
        let old = match old
            .transpose()
            .and_then(|old| takes_files(&self.out).map(|()| old))
        {
            Ok(old) => old,
            Err(error) => {
                complain(&error);
                return Outcome::NotMeasured;
            }
        };
        let bar = progress::share();
        let found = report(&plan, &|progress: Progress| {
            progress::tell(&bar, progress.done, &progress.doing, progress.left);
        });
        bar.finish_and_clear();
        let mut findings = Findings::new(SCHEMA);
        let mut outcome = Outcome::Done;
        if let Ok(facts) = &found {
            match self.settle(facts, &plan, old.as_ref()) {
                Ok(Some(comparison)) => {
                    if self.fail_on_change && comparison.has_changes() {
                        outcome = Outcome::Unexpected;
                    }
                    findings.compare(comparison);
                }
                Ok(None) => {}
                Err(error) => {
                    complain(&error);
                    outcome = Outcome::NotMeasured;
                }
            }
        }
        let written = found.is_ok() && outcome != Outcome::NotMeasured;
        findings.add(found);
        let page = |facts: &[Facts]| match (format, written) {
            (Format::Table, true) => view::report::digest(facts).note(format!(
                "The page: {}",
                self.out.join("index.html").display()
            )),
            (Format::Table, false) => view::report::digest(facts),
            _ => view::report::page(facts),
        };
        findings.print(format, page).max(outcome)
    }

    /// Compares, if that is asked for, writes all files, and forgets what was kept for them.
    fn settle(
        &self,
        facts: &Facts,
        plan: &Plan,
        old: Option<&Facts>,
    ) -> Result<Option<Comparison>> {
        let comparison = match (&self.compare, old) {
            (Some(file), Some(old)) => Some(compare(facts, old, file)?),
            _ => None,
        };
        write(facts, comparison.as_ref(), &self.out)?;
        report::forget(plan)?;
        Ok(comparison)
    }
}

/// The report in a report.json, which must have been measured as this one is.
fn read(file: &Path, depth: Depth) -> Result<Facts> {
    #[derive(Deserialize)]
    struct Envelope {
        schema: String,
        facts: Vec<Facts>,
    }
    let bad = |reason: String| Error::BadFile {
        path: file.to_owned(),
        reason: format!("no report.json of this version ({reason}); write one with barest report"),
    };
    let text = std::fs::read(file).map_err(|e| Error::io(format!("read {}", file.display()), e))?;
    let mut old: Envelope = serde_json::from_slice(&text).map_err(|e| bad(e.to_string()))?;
    if old.schema != SCHEMA {
        return Err(bad(format!(
            "its schema is {}",
            escape(old.schema.as_ref())
        )));
    }
    let old = old
        .facts
        .pop()
        .ok_or_else(|| bad("it holds none".to_owned()))?;
    if old.depth != depth {
        return Err(Error::BadFile {
            path: file.to_owned(),
            reason: format!(
                "its depth is {}, and that of this report {}; measure both alike",
                old.depth.word(),
                depth.word()
            ),
        });
    }
    Ok(old)
}

/// What has changed since, in the sections that both have.
fn compare(now: &Facts, old: &Facts, file: &Path) -> Result<Comparison> {
    let shared = |report: &Facts, other: &Facts| {
        let mut report = report.clone();
        let has = |name| other.sections.iter().any(|section| section.name == name);
        report.sections.retain(|section| has(section.name));
        Baseline::of(&[report])
    };
    shared(old, now).compare(&shared(now, old), file)
}

/// Makes the folder where it is not there. Fails when no file can be written into it.
fn takes_files(out: &Path) -> Result<()> {
    std::fs::create_dir_all(out)
        .and_then(|()| tempfile::tempfile_in(out))
        .map(drop)
        .map_err(|e| Error::io(format!("write into {}", out.display()), e))
}

/// Writes all files, each whole or not at all.
fn write(report: &Facts, changes: Option<&Comparison>, out: &Path) -> Result<()> {
    let facts = std::slice::from_ref(report);
    let failed = |e| Error::io(format!("write into {}", out.display()), e);
    std::fs::create_dir_all(out).map_err(failed)?;
    for (name, text) in [
        ("report.json", json::render(SCHEMA, facts, &[])),
        ("report.md", markdown::render(&view::report::page(facts))),
        ("index.html", view::report::html::render(report, changes)),
    ] {
        whole::write(&out.join(name), 0o666, text.as_bytes()).map_err(failed)?;
    }
    Ok(())
}
