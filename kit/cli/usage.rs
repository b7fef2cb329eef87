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
            complain(&format_args!(
                "no command; see {} --help",
                command_of::<C>()
            ));
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

/// The command that the arguments name, as in `barest survey aslr`.
fn command_of<C: CommandFactory>() -> String {
    let mut named = C::command();
    let mut names = vec![named.get_name().to_owned()];
    for argument in std::env::args_os().skip(1) {
        let found = named
            .get_subcommands()
            .find(|command| argument == command.get_name());
        let Some(found) = found.cloned() else {
            continue;
        };
        names.push(found.get_name().to_owned());
        named = found;
    }
    names.join(" ")
}
