//! The command line: one file a command.
//!
//! A new command is one file here, and one line in each of [`Command`] and [`run`].

mod bake;
mod baseline_args;
mod commands;
mod completions;
mod count;
mod doctor;
mod image;
mod man;
mod output;
mod progress;
mod report;
mod start;
mod steps;
mod subject_args;
mod survey;
mod time;
mod trace;
mod usage;

use std::process::ExitCode;

use barest::view::Format;
use clap::{Parser, Subcommand};

/// What a command came to: the exit code of `barest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// 0: everything was measured, and is as expected.
    Done = 0,
    /// 1: everything was measured, and something is not as expected.
    Unexpected = 1,
    /// 2: something could not be measured, or the command line was wrong.
    NotMeasured = 2,
}

/// Counts and shows what a program does between execve and its exit.
#[derive(Parser)]
#[command(
    name = "barest",
    version,
    after_help = "Exit codes: 0 done, 1 an expectation failed, 2 could not measure."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// How to print.
    #[arg(long, global = true, value_enum, default_value_t)]
    format: Format,
}

#[derive(Subcommand)]
enum Command {
    Count(count::Count),
    Trace(trace::Trace),
    Start(start::Start),
    Steps(steps::Steps),
    Time(time::Time),
    Image(image::Image),
    Survey(survey::Survey),
    Report(report::Report),
    Bake(bake::Bake),
    Doctor(doctor::Doctor),
    Completions(completions::Completions),
    Man(man::Man),
}

/// Does what the command line says.
pub fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return exit(usage::answer::<Cli>(&error)),
    };
    let format = cli.format;
    exit(match cli.command {
        Command::Count(command) => command.run(format),
        Command::Trace(command) => command.run(format),
        Command::Start(command) => command.run(format),
        Command::Steps(command) => command.run(format),
        Command::Time(command) => command.run(format),
        Command::Image(command) => command.run(format),
        Command::Survey(command) => command.run(format),
        Command::Report(command) => command.run(format),
        Command::Bake(command) => command.run(format),
        Command::Doctor(command) => command.run(format),
        Command::Completions(command) => command.run(),
        Command::Man(command) => command.run(),
    })
}

fn exit(outcome: Outcome) -> ExitCode {
    ExitCode::from(outcome as u8)
}
