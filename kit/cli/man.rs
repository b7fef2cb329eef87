//! `barest man [COMMAND…]`

use clap::{Command, CommandFactory};
use clap_mangen::Man as Page;

use super::output::{complain, print_bytes};
use super::{Cli, Outcome};

/// The manual page, or that of a command: `barest man time | man -l -`.
#[derive(clap::Args)]
pub struct Man {
    /// Which command, as in `survey libraries`; the page of all where none is named.
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

impl Man {
    pub fn run(self) -> Outcome {
        let mut cli = Cli::command();
        // Each command then knows what all have in common.
        cli.build();
        let mut command: &Command = &cli;
        for name in &self.command {
            match command.find_subcommand(name) {
                Some(found) => command = found,
                None => {
                    let name = barest::subject::escape(name.as_ref());
                    complain(&format_args!("{name}: no such command; see barest --help"));
                    return Outcome::NotMeasured;
                }
            }
        }
        let mut page = Vec::new();
        let titled = command.clone().display_name(title(&self.command));
        match Page::new(titled).render(&mut page) {
            Ok(()) => print_bytes(&page),
            Err(error) => {
                complain(&format_args!("the manual page: {error}"));
                Outcome::NotMeasured
            }
        }
    }
}

/// As git names the pages of its commands: `barest-survey-libraries`.
fn title(command: &[String]) -> String {
    let words = ["barest"]
        .into_iter()
        .chain(command.iter().map(String::as_str));
    words.collect::<Vec<_>>().join("-")
}
