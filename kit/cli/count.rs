//! `barest count 'COMMAND ARGS'…` and `barest count -- PROG ARGS`

use barest::assertions::{Exactly, at_most, exactly};
use barest::trace::{Method, Trace};
use barest::view::Format;
use barest::{count, view};
use predicates_core::Predicate;

use super::Outcome;
use super::baseline_args::BaselineArgs;
use super::commands::Commands;
use super::output::{Findings, complain};
use super::subject_args::SubjectArgs;

/// How many system calls programs make, side by side.
#[derive(clap::Args)]
#[command(override_usage = "barest count [OPTIONS] 'PROG ARG...'...\n       \
                            barest count [OPTIONS] -- PROG [ARG]...")]
pub struct Count {
    #[command(flatten)]
    commands: Commands,
    /// Run each so often, and say whether the counts are the same each time.
    #[arg(long, value_name = "N", default_value = "1")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Exit with 1, and show a diff, unless each run makes exactly these calls in this order.
    #[arg(long, value_name = "CALL,CALL,...", value_delimiter = ',')]
    expect: Option<Vec<String>>,
    /// Exit with 1 when a run makes more calls.
    #[arg(long, value_name = "N")]
    at_most: Option<usize>,
    /// Stop each call once instead of twice, by a seccomp filter: half the time, but what was
    /// restarted after a signal counts again, and set-user-ID programs gain nothing.
    #[arg(long)]
    fast: bool,
    #[command(flatten)]
    baseline: BaselineArgs,
    #[command(flatten)]
    subject: SubjectArgs,
}

impl Count {
    pub fn run(self, format: Format) -> Outcome {
        let demands = Demands {
            exactly: self.expect.map(exactly),
            at_most: self.at_most,
        };
        let method = if self.fast {
            Method::Filter
        } else {
            Method::Syscalls
        };
        let mut findings = Findings::new("barest.count/1");
        let mut faults = Vec::new();
        for subject in self.commands.subjects() {
            let mut fault = None;
            findings.add(subject.and_then(|subject| {
                count::count_each(
                    &self.subject.apply(subject),
                    self.repeat as usize,
                    method,
                    |trace| {
                        fault = fault.take().or_else(|| demands.fault(trace));
                    },
                )
            }));
            faults.extend(fault);
        }
        let compared = self.baseline.settle(&mut findings);
        let outcome = findings.print(format, view::count::page).max(compared);
        for fault in &faults {
            complain(fault);
        }
        let expected = if faults.is_empty() {
            Outcome::Done
        } else {
            Outcome::Unexpected
        };
        outcome.max(expected)
    }
}

/// What each run has to be.
struct Demands {
    exactly: Option<Exactly>,
    at_most: Option<usize>,
}

impl Demands {
    /// How a run is not as demanded, if so.
    fn fault(&self, trace: &Trace) -> Option<String> {
        let subject = &trace.subject;
        if let Some(exactly) = &self.exactly
            && !exactly.eval(trace)
        {
            return Some(format!(
                "{subject}: not the calls of --expect: - is missing, + is one too many\n{}",
                exactly.diff(trace)
            ));
        }
        if let Some(most) = self.at_most
            && !at_most(most).eval(trace)
        {
            let made = trace.count();
            return Some(format!(
                "{subject}: {made} calls, more than --at-most {most}"
            ));
        }
        None
    }
}
