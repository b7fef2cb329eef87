//! `barest image FILE…`

use std::path::PathBuf;

use barest::view;
use barest::view::Format;

use super::Outcome;
use super::baseline_args::BaselineArgs;
use super::output::Findings;

/// What files are: size, segments, linkage, protections; read, never run.
#[derive(clap::Args)]
pub struct Image {
    /// ELF files: one is shown whole, several a row each.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    baseline: BaselineArgs,
}

impl Image {
    pub fn run(self, format: Format) -> Outcome {
        let mut findings = Findings::new("barest.image/1");
        for file in self.files {
            findings.add(barest::image(file));
        }
        let compared = self.baseline.settle(&mut findings);
        findings.print(format, view::image::page).max(compared)
    }
}
