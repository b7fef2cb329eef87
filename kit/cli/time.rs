//! `barest time 'COMMAND ARGS'…` and `barest time -- PROG ARGS`

use std::time::Duration;

use barest::Subject;
use barest::time::{Expectation, Plan, Progress, time_each};
use barest::view::{self, Format};

use super::Outcome;
use super::baseline_args::BaselineArgs;
use super::commands::Commands;
use super::output::{Findings, complain};
use super::progress;
use super::subject_args::{SubjectArgs, seconds};

/// How long programs take from start to end, and how they compare.
#[derive(clap::Args)]
#[command(override_usage = "barest time [OPTIONS] 'PROG ARG...'...\n       \
                            barest time [OPTIONS] -- PROG [ARG]...")]
pub struct Time {
    #[command(flatten)]
    commands: Commands,
    /// How many rounds count; in each, every command is started once.
    #[arg(long, value_name = "N", default_value = "400")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// How many rounds are run before.
    #[arg(long, value_name = "N", default_value = "10")]
    warmup: u32,
    /// Go on until each ratio is known to plus or minus so much, as in 1%.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    until: Option<f64>,
    /// Begin no round after this time.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    max_time: Duration,
    /// Exit with 1 when the ratio's interval speaks against it, as in 'B/A >= 1.03'; commands
    /// are lettered in their order.
    #[arg(long, value_name = "EXPECTATION")]
    expect: Vec<Expectation>,
    /// Each command in a block of its own, not in rounds.
    #[arg(long)]
    alone: bool,
    /// Time the files in their places, not copies that were made in the same way.
    #[arg(long)]
    no_copy: bool,
    /// Run on this processor, not on the one that is at hand.
    #[arg(long, value_name = "N")]
    processor: Option<usize>,
    /// What the order of the rounds comes from.
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    #[command(flatten)]
    baseline: BaselineArgs,
    #[command(flatten)]
    subject: SubjectArgs,
}

impl Time {
    pub fn run(self, format: Format) -> Outcome {
        let plan = Plan {
            rounds: self.rounds as usize,
            warmup: self.warmup as usize,
            until: self.until,
            max_time: self.max_time,
            expectations: self.expect,
            alone: self.alone,
            copy: !self.no_copy,
            processor: self.processor,
            seed: self.seed,
            ..Plan::default()
        };
        // One that is no command leaves nothing to compare.
        let subjects: barest::Result<Vec<Subject>> = self
            .commands
            .subjects()
            .into_iter()
            .map(|subject| subject.map(|subject| self.subject.apply(subject)))
            .collect();
        let bar = progress::bar();
        let found = subjects.and_then(|subjects| {
            time_each(&subjects, &plan, |Progress { done, of, .. }| {
                bar.set_length(of as u64);
                bar.set_position(done as u64);
            })
        });
        bar.finish_and_clear();

        let mut findings = Findings::new("barest.time/1");
        findings.add(found);
        let mut faults = Vec::new();
        for verdict in findings
            .facts()
            .iter()
            .flat_map(|timing| &timing.expectations)
        {
            if !verdict.holds {
                faults.push(format!(
                    "expected {}, but it is {}",
                    verdict.expected, verdict.ratio
                ));
            }
        }
        let compared = self.baseline.settle(&mut findings);
        let outcome = findings.print(format, view::time::page).max(compared);
        faults.iter().for_each(complain);
        match faults.is_empty() {
            true => outcome,
            false => outcome.max(Outcome::Unexpected),
        }
    }
}

/// A part of one, written as a percentage.
fn percent(text: &str) -> Result<f64, &'static str> {
    text.strip_suffix('%')
        .unwrap_or(text)
        .trim()
        .parse()
        .ok()
        .filter(|percent: &f64| percent.is_finite() && *percent > 0.0)
        .map(|percent| percent / 100.0)
        .ok_or("it is no percentage above 0, as in 1%")
}
