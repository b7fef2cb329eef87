//! `barest steps 'COMMAND ARGS'…` and `barest steps -- PROG ARGS`

use barest::assertions::instructions_at_most;
use barest::steps::{Until, steps, steps_by_function};
use barest::view;
use barest::view::Format;
use predicates_core::Predicate;

use super::Outcome;
use super::baseline_args::BaselineArgs;
use super::commands::Commands;
use super::output::{Findings, complain};
use super::subject_args::SubjectArgs;

/// How many instructions programs execute, in which files, and which of them trap.
#[derive(clap::Args)]
#[command(override_usage = "barest steps [OPTIONS] 'PROG ARG...'...\n       \
                            barest steps [OPTIONS] -- PROG [ARG]...")]
pub struct Steps {
    #[command(flatten)]
    commands: Commands,
    /// Tell which functions execute them, before and after main, and which of them trap.
    #[arg(long)]
    who: bool,
    /// Count to the end, or to the first call that writes.
    #[arg(long, value_enum, default_value = "end")]
    until: Limit,
    /// Exit with 1 when one executes more instructions.
    #[arg(long, value_name = "N")]
    at_most: Option<u64>,
    /// Run each once only. Where CPUID is met, some 20 starts more are timed otherwise, to say
    /// what part of a start it explains.
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    baseline: BaselineArgs,
    #[command(flatten)]
    subject: SubjectArgs,
}

/// Up to where to count.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Limit {
    End,
    Write,
}

impl Steps {
    pub fn run(self, format: Format) -> Outcome {
        let until = match self.until {
            Limit::End => Until::End,
            Limit::Write => Until::FirstWrite,
        };
        let count = match self.who {
            true => steps_by_function,
            false => steps,
        };
        let mut findings = Findings::new("barest.steps/1");
        let mut expected = Outcome::Done;
        let mut faults = Vec::new();
        for subject in self.commands.subjects() {
            let seen = subject.and_then(|subject| count(&self.subject.apply(subject), until));
            if let (Ok(seen), Some(most)) = (&seen, self.at_most)
                && !instructions_at_most(most).eval(seen)
            {
                expected = Outcome::Unexpected;
                faults.push(format!(
                    "{}: {} instructions, more than --at-most {most}",
                    seen.subject, seen.total.instructions
                ));
            }
            findings.add(seen.map(|mut seen| {
                if seen.total.cpuid > 0
                    && !self.once
                    && let Err(error) = seen.time_start()
                {
                    seen.notes.push(format!("its start was not timed: {error}"));
                }
                seen
            }));
        }
        let compared = self.baseline.settle(&mut findings);
        let outcome = findings.print(format, view::steps::page).max(compared);
        for fault in &faults {
            complain(fault);
        }
        outcome.max(expected)
    }
}
