//! What to run, as every command that compares programs takes it.

use std::ffi::OsString;

use barest::Subject;

use super::subject_args::program;

/// Several commands, each one quoted string, or one program behind `--`.
#[derive(clap::Args)]
pub struct Commands {
    /// Commands, each one quoted string; split into words, run without a shell.
    #[arg(value_name = "COMMAND", required_unless_present = "program")]
    commands: Vec<OsString>,
    /// One program, looked up in PATH, and its arguments.
    #[arg(last = true, value_name = "PROG", conflicts_with = "commands")]
    program: Vec<OsString>,
}

impl Commands {
    /// The subjects, or why a command is none.
    pub fn subjects(self) -> Vec<barest::Result<Subject>> {
        if !self.program.is_empty() {
            return vec![Ok(program(self.program))];
        }
        let split = |line: &OsString| Subject::from_command_line(line);
        self.commands.iter().map(split).collect()
    }
}
