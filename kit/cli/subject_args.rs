//! What a subject starts from, as every command that runs one takes it.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use barest::{Stream, Subject};
use clap::builder::TypedValueParser;

/// The subject: its environment, its streams, its time.
#[derive(Clone, clap::Args)]
#[command(next_help_heading = "The subject")]
pub struct SubjectArgs {
    /// Start it with the caller's environment, not with the fixed one.
    #[arg(long)]
    inherit_env: bool,
    /// Set a variable of its environment.
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable())]
    env: Vec<OsString>,
    /// What its stdin is: null, pipe, file, tty, inherit or closed.
    #[arg(
        long,
        value_name = "KIND",
        default_value = "null",
        hide_default_value = false
    )]
    stdin: Stream,
    /// What its stdout is: null, pipe, file, tty, inherit or closed.
    #[arg(long, value_name = "KIND", default_value = "null")]
    stdout: Stream,
    /// What its stderr is: null, pipe, file, tty, inherit or closed.
    #[arg(long, value_name = "KIND", default_value = "null")]
    stderr: Stream,
    /// Kill it, and fail, when it runs longer.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
}

impl SubjectArgs {
    /// The subject under these.
    pub fn apply(&self, subject: Subject) -> Subject {
        let mut subject = subject
            .stdin(self.stdin)
            .stdout(self.stdout)
            .stderr(self.stderr);
        subject.timeout = self.timeout;
        if self.inherit_env {
            subject = subject.inherit_environment();
        }
        for variable in &self.env {
            let same = |other: &OsString| name(other) == name(variable);
            match subject.environment.iter_mut().find(|other| same(other)) {
                Some(place) => *place = variable.clone(),
                None => subject.environment.push(variable.clone()),
            }
        }
        subject
    }
}

/// The program that stands behind `--`, with its arguments.
pub fn program(words: Vec<OsString>) -> Subject {
    let mut words = words.into_iter();
    Subject::new(words.next().unwrap_or_default()).args(words)
}

/// The part of `NAME=VALUE` before the sign.
fn name(variable: &OsString) -> Option<&[u8]> {
    variable.as_bytes().split(|byte| *byte == b'=').next()
}

fn variable() -> impl TypedValueParser<Value = OsString> {
    clap::builder::OsStringValueParser::new().try_map(|text| {
        match text.as_bytes().iter().position(|byte| *byte == b'=') {
            Some(1..) => Ok(text),
            _ => Err("it is not NAME=VALUE"),
        }
    })
}

/// A number of seconds above 0, fractions allowed.
pub fn seconds(text: &str) -> Result<Duration, &'static str> {
    text.parse()
        .ok()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|limit| !limit.is_zero())
        .ok_or("it is no number of seconds above 0")
}
