//! `barest trace -- PROG ARGS`; the `--` may be left out, as in strace.

use std::ffi::OsString;

use barest::view::who::Stacks;
use barest::view::{self, Format};
use barest::who::{Until, who_until};

use super::Outcome;
use super::output::Findings;
use super::subject_args::{SubjectArgs, program};

/// Every system call of a program, in order, with its result; and who makes it.
#[derive(clap::Args)]
#[command(override_usage = "barest trace [OPTIONS] [--] PROG [ARG]...")]
pub struct Trace {
    /// Tell who makes each call: the file of the code, on behalf of whom, and through which
    /// functions.
    #[arg(long)]
    who: bool,
    /// Up to where to look.
    #[arg(long, value_enum, default_value = "exit", requires = "who")]
    until: Limit,
    /// Show each stack whole.
    #[arg(long, requires = "who")]
    stacks: bool,
    #[command(flatten)]
    subject: SubjectArgs,
    /// The program, looked up in PATH, and its arguments.
    #[arg(trailing_var_arg = true, required = true, value_name = "PROG")]
    program: Vec<OsString>,
}

/// Up to where to look at a program.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Limit {
    /// The first call that writes.
    Write,
    /// The first instruction of main.
    Main,
    /// The end.
    Exit,
}

impl Trace {
    pub fn run(self, format: Format) -> Outcome {
        let subject = self.subject.apply(program(self.program));
        if !self.who {
            let mut findings = Findings::new("barest.trace/1");
            findings.add(barest::trace::trace(&subject));
            return findings.print(format, view::trace::page);
        }
        let until = match self.until {
            Limit::Write => Until::Write,
            Limit::Main => Until::Main,
            Limit::Exit => Until::Exit,
        };
        let stacks = match self.stacks {
            true => Stacks::Whole,
            false => Stacks::Short,
        };
        let mut findings = Findings::new("barest.who/1");
        findings.add(who_until(&subject, until));
        findings.print(format, |found| view::who::page(found, stacks))
    }
}
