//! `barest survey exposure NAME…`

use std::ffi::OsString;
use std::path::PathBuf;

use barest::survey::advisories;
use barest::survey::exposure::exposure;
use barest::view::{self, Format};

use super::{AnswerArgs, PathArgs, RootArgs, counting};
use crate::cli::Outcome;
use crate::cli::output::Findings;

/// What a flaw in some libraries would reach: programs, bytes, packages, downloads.
#[derive(clap::Args)]
pub struct Exposure {
    /// A SONAME (libcrypto.so.3), a path of a library, or a package or the source of some
    /// (libssl3, openssl).
    #[arg(value_name = "NAME", required_unless_present = "advisories")]
    names: Vec<OsString>,
    /// Answer for these advisories too: a line `ID NAME…` each, or JSON of OSV.
    #[arg(long, value_name = "FILE")]
    advisories: Option<PathBuf>,
    /// A folder with programs, or a program; may be given several times [default: the folders of
    /// PATH; with --root those of a system].
    #[arg(long = "path", value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    root: RootArgs,
    #[command(flatten)]
    answer: AnswerArgs,
}

impl Exposure {
    pub fn run(self, format: Format) -> Outcome {
        let paths = PathArgs { paths: self.paths };
        let found = self.root.root().and_then(|root| {
            let advisories = match &self.advisories {
                Some(file) => advisories::read(file)?,
                None => Vec::new(),
            };
            let paths = paths.paths(&root)?;
            counting(|progress| exposure(&root, &self.names, &advisories, &paths, progress))
        });

        let mut findings = Findings::new("barest.survey-exposure/1");
        if let Ok(facts) = &found {
            for unknown in &facts.unknown {
                findings.fail(&unknown.error());
            }
        }
        findings.add(found);
        let shown = self.answer.shown(20);
        self.answer.print(
            findings,
            format,
            |facts| view::survey::exposure::page(facts, shown),
            view::survey::exposure::figure,
        )
    }
}
