//! `barest start -- PROG ARGS` and `barest start 'COMMAND ARGS'…`

use barest::start::{Plan, start_by};
use barest::view;
use barest::view::Format;

use super::Outcome;
use super::commands::Commands;
use super::output::Findings;
use super::subject_args::SubjectArgs;

/// What the kernel prepared before a program's first instruction. It is killed there, unrun.
#[derive(clap::Args)]
#[command(override_usage = "barest start [OPTIONS] 'PROG ARG...'...\n       \
                            barest start [OPTIONS] -- PROG [ARG]...")]
pub struct Start {
    #[command(flatten)]
    commands: Commands,
    /// Start each so often, and say which addresses move, and by how many bits.
    #[arg(long, value_name = "N", default_value = "1")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    repeat: u32,
    /// Without address space layout randomization, as `steps` and gdb run a program.
    #[arg(long)]
    fixed: bool,
    #[command(flatten)]
    subject: SubjectArgs,
}

impl Start {
    pub fn run(self, format: Format) -> Outcome {
        let plan = Plan {
            starts: self.repeat as usize,
            fixed: self.fixed,
        };
        let mut findings = Findings::new("barest.start/1");
        for subject in self.commands.subjects() {
            findings.add(subject.and_then(|subject| start_by(&self.subject.apply(subject), plan)));
        }
        findings.print(format, view::start::page)
    }
}
