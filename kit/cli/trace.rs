//! `barest trace -- PROG ARGS`; the `--` may be left out, as in strace.

use std::ffi::OsString;

use barest::view::{self, Format};

use super::Outcome;
use super::output::Findings;
use super::subject_args::{SubjectArgs, program};

/// Every system call of a program, in order, with its result.
#[derive(clap::Args)]
#[command(override_usage = "barest trace [OPTIONS] [--] PROG [ARG]...")]
pub struct Trace {
    #[command(flatten)]
    subject: SubjectArgs,
    /// The program, looked up in PATH, and its arguments.
    #[arg(trailing_var_arg = true, required = true, value_name = "PROG")]
    program: Vec<OsString>,
}

impl Trace {
    pub fn run(self, format: Format) -> Outcome {
        let mut findings = Findings::new("barest.trace/1");
        let subject = self.subject.apply(program(self.program));
        findings.add(barest::trace::trace(&subject));
        findings.print(format, view::trace::page)
    }
}
