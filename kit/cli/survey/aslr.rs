//! `barest survey aslr 'PROG ARGS'…`

use std::path::PathBuf;

use barest::survey::aslr::aslr;
use barest::view;
use barest::view::Format;
use clap::builder::{OsStringValueParser, TypedValueParser};

use super::plot;
use crate::cli::commands::Commands;
use crate::cli::output::Findings;
use crate::cli::subject_args::SubjectArgs;
use crate::cli::{Outcome, progress};

/// How many different places the parts of programs have. Alone of all surveys, it runs its subjects.
///
/// Each is started many times, up to its own first instruction: its loader runs, and so do the
/// initializers of its libraries. There it is looked at and killed; its main never runs.
#[derive(clap::Args)]
#[command(
    override_usage = "barest survey aslr [OPTIONS] 'PROG ARG...'...\n       \
                            barest survey aslr [OPTIONS] -- PROG [ARG]..."
)]
pub struct Aslr {
    #[command(flatten)]
    commands: Commands,
    /// Start each so often.
    #[arg(long, value_name = "N", default_value = "100")]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    repeat: u32,
    /// Draw the answer into this file as well: an SVG, which every browser shows. A file that is
    /// there is replaced whole; `-` is refused, as stdout has the table.
    #[arg(long, value_name = "FILE", value_parser = OsStringValueParser::new().try_map(plot::file))]
    plot: Option<PathBuf>,
    #[command(flatten)]
    subject: SubjectArgs,
}

impl Aslr {
    pub fn run(self, format: Format) -> Outcome {
        let starts = self.repeat as usize;
        let subjects = self.commands.subjects();
        let bar = progress::bar();
        bar.set_length((subjects.len() * starts) as u64);
        let mut findings = Findings::new("barest.survey-aslr/1");
        for (index, subject) in subjects.into_iter().enumerate() {
            let done = |done| bar.set_position((index * starts + done) as u64);
            let found =
                subject.and_then(|subject| aslr(&self.subject.apply(subject), starts, &done));
            bar.suspend(|| findings.add(found));
        }
        bar.finish_and_clear();
        if let Some(file) = &self.plot
            && let Err(error) = plot::write(file, &view::survey::aslr::figure(findings.facts()))
        {
            findings.fail(&error);
        }
        findings.print(format, view::survey::aslr::page)
    }
}
