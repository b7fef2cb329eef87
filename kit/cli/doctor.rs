//! `barest doctor`

use barest::view;
use barest::view::Format;

use super::Outcome;
use super::output::{Findings, complain};

/// What this machine lets the kit measure, and how well; for each no the reason and the remedy.
#[derive(clap::Args)]
pub struct Doctor {}

impl Doctor {
    pub fn run(self, format: Format) -> Outcome {
        let found = barest::doctor();
        let fault = match &found {
            Ok(doctor) => doctor.trace.why_not(),
            Err(_) => None,
        };
        let mut findings = Findings::new("barest.doctor/1");
        findings.add(found);
        let outcome = findings.print(format, view::doctor::page);
        match fault {
            None => outcome,
            Some(why_not) => {
                complain(&format_args!("may not trace: {why_not}"));
                Outcome::NotMeasured
            }
        }
    }
}
