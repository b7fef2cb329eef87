//! `--save`, `--compare` and `--fail-on-change`, as every command that has them takes them.

use std::path::PathBuf;

use barest::baseline::{Baseline, Figures};
use barest::view::counted;
use serde::Serialize;

use super::Outcome;
use super::output::{Findings, complain};

/// A file of numbers to compare with later.
#[derive(Clone, clap::Args)]
#[command(next_help_heading = "The baseline")]
pub struct BaselineArgs {
    /// Write the numbers that are printed into a file, to compare with later.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Show what differs, beyond noise, from the numbers of such a file.
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// Exit with 1 when something differs.
    #[arg(long, requires = "compare")]
    fail_on_change: bool,
}

impl BaselineArgs {
    /// Does what they say with what was found. What differs is printed with it.
    pub fn settle<F: Figures + Serialize>(&self, findings: &mut Findings<F>) -> Outcome {
        let now = Baseline::of(findings.facts());
        let mut outcome = Outcome::Done;
        if let Some(file) = &self.compare {
            match Baseline::load(file).and_then(|before| before.compare(&now, file)) {
                Ok(comparison) => {
                    if self.fail_on_change && comparison.has_changes() {
                        outcome = Outcome::Unexpected;
                        let changes = comparison.changes().count() as u64;
                        complain(&format_args!(
                            "differs from {} in {}",
                            file.display(),
                            counted(changes, "number")
                        ));
                    }
                    findings.compare(comparison);
                }
                Err(error) => findings.fail(&error),
            }
        }
        if let Some(file) = &self.save {
            // Half of the numbers would be taken for all of them.
            if findings.failed() {
                complain(&format_args!(
                    "{}: not written, since not everything was measured",
                    file.display()
                ));
            } else if let Err(error) = now.save(file) {
                findings.fail(&error);
            }
        }
        outcome
    }
}
