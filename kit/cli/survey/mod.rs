//! `barest survey QUESTION …`: one file a question.

mod aslr;
mod exposure;
mod libraries;
mod plot;
mod sizes;
mod symbols;

use std::path::PathBuf;

use barest::Result;
use barest::figure::Figure;
use barest::survey::{Root, walk};
use barest::view::{Format, Page};
use clap::Subcommand;
use clap::builder::{OsStringValueParser, TypedValueParser};
use serde::Serialize;

use super::output::Findings;
use super::{Outcome, progress};

/// How a whole system links. Files are read, never run; only aslr starts its subjects.
#[derive(clap::Args)]
pub struct Survey {
    #[command(subcommand)]
    question: Question,
}

#[derive(Subcommand)]
enum Question {
    Libraries(libraries::Libraries),
    Symbols(symbols::Symbols),
    Exposure(exposure::Exposure),
    Aslr(aslr::Aslr),
    Sizes(sizes::Sizes),
}

impl Survey {
    pub fn run(self, format: Format) -> Outcome {
        match self.question {
            Question::Libraries(question) => question.run(format),
            Question::Symbols(question) => question.run(format),
            Question::Exposure(question) => question.run(format),
            Question::Aslr(question) => question.run(format),
            Question::Sizes(question) => question.run(format),
        }
    }
}

/// Which system is surveyed.
#[derive(clap::Args)]
struct RootArgs {
    /// Survey the system that is in this folder, such as an unpacked container image; all paths
    /// are then that system's.
    #[arg(long, value_name = "FOLDER")]
    root: Option<PathBuf>,
}

impl RootArgs {
    fn root(&self) -> Result<Root> {
        match &self.root {
            Some(folder) => Root::at(folder),
            None => Ok(Root::here()),
        }
    }
}

/// Which of its programs.
#[derive(clap::Args)]
struct PathArgs {
    /// Folders with programs, or programs [default: the folders of PATH; with --root
    /// /usr/local/sbin, /usr/local/bin, /usr/sbin, /usr/bin, /sbin, /bin].
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
}

impl PathArgs {
    /// What was named, or the folders where programs are.
    fn paths(&self, root: &Root) -> Result<Vec<PathBuf>> {
        match self.paths.is_empty() {
            true => walk::default_paths(root),
            false => Ok(self.paths.clone()),
        }
    }
}

/// How much of the answer is shown, and where it is drawn.
#[derive(clap::Args)]
struct AnswerArgs {
    /// Show all rows, not only the first (JSON and CSV always have all).
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    plot: PlotArgs,
}

impl AnswerArgs {
    /// How many rows are shown where so many are enough: what `Page::data` takes.
    fn shown(&self, enough: usize) -> Option<usize> {
        (!self.all).then_some(enough)
    }

    /// Draws what was found where a plot is wanted, prints it, and tells what it comes to.
    fn finish<F: Serialize>(
        &self,
        schema: &'static str,
        found: Result<F>,
        format: Format,
        page: impl FnOnce(&F) -> Page,
        figure: impl FnOnce(&F) -> Figure,
    ) -> Outcome {
        let mut findings = Findings::new(schema);
        findings.add(found);
        self.print(findings, format, page, figure)
    }

    /// The same for findings that are already there.
    fn print<F: Serialize>(
        &self,
        mut findings: Findings<F>,
        format: Format,
        page: impl FnOnce(&F) -> Page,
        figure: impl FnOnce(&F) -> Figure,
    ) -> Outcome {
        self.plot
            .draw(&mut findings, |facts| facts.first().map(figure));
        findings.print(format, |facts| facts.first().map(page).unwrap_or_default())
    }
}

/// Where the answer is drawn.
#[derive(clap::Args)]
struct PlotArgs {
    /// Draw the answer into this file as well: an SVG, which every browser shows. A file that is
    /// there is replaced whole; `-` is refused, as stdout has the table.
    #[arg(long, value_name = "FILE", value_parser = OsStringValueParser::new().try_map(plot::file))]
    plot: Option<PathBuf>,
}

impl PlotArgs {
    /// Draws what was found, if that is wanted and there is something; says so if it fails.
    fn draw<F: Serialize>(
        &self,
        findings: &mut Findings<F>,
        figure: impl FnOnce(&[F]) -> Option<Figure>,
    ) {
        let Some(file) = &self.plot else { return };
        let Some(figure) = figure(findings.facts()) else {
            return;
        };
        if let Err(error) = plot::write(file, &figure) {
            findings.fail(&error);
        }
    }
}

/// Does a survey, which tells how many files it has read, and shows that number meanwhile where
/// stderr is a terminal.
fn counting<T>(survey: impl FnOnce(&(dyn Fn(usize) + Sync)) -> T) -> T {
    let bar = progress::count("files read");
    let found = survey(&|done| bar.set_position(done as u64));
    bar.finish_and_clear();
    found
}
