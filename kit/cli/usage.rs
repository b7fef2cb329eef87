//! A wrong command line, as one line.

use barest::subject::escape;
use clap::CommandFactory;
use clap::error::ErrorKind;

use super::Outcome;
use super::output::{complain, print};

/// Prints what was asked for (help, version), or one line that names the wrong argument and
/// where to read on.
pub fn answer<C: CommandFactory>(error: &clap::Error) -> Outcome {
    let text = error.render().to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => return print(&text),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            complain(&"no command; see barest --help");
            return Outcome::NotMeasured;
        }
        _ => {}
    }
    // clap writes a paragraph on the fault, then tips, then the usage.
    let mut paragraphs = text.split("\n\n");
    let fault = paragraphs.next().unwrap_or_default();
    let tip = paragraphs.find(|text| text.trim_start().starts_with("tip:"));
    let words = fault
        .split_whitespace()
        .chain(tip.unwrap_or_default().split_whitespace());
    let line = words.collect::<Vec<_>>().join(" ");
    let line = line.trim_start_matches("error: ").replace(" tip: ", "; ");
    complain(&format_args!(
        "{}; see {} --help",
        escape(line.as_ref()),
        command_of::<C>()
    ));
    Outcome::NotMeasured
}

/// The command that the arguments name, as in `barest count`.
fn command_of<C: CommandFactory>() -> String {
    let cli = C::command();
    let named = std::env::args_os().skip(1).find_map(|arg| {
        cli.get_subcommands()
            .find(|command| arg == command.get_name())
            .map(|command| format!(" {}", command.get_name()))
    });
    format!("{}{}", cli.get_name(), named.unwrap_or_default())
}
