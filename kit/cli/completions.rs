//! `barest completions SHELL`

use clap::CommandFactory;
use clap_complete::Shell;

use super::output::print_bytes;
use super::{Cli, Outcome};

/// A script that has a shell complete this command line: put it where that shell looks for such.
#[derive(clap::Args)]
#[command(
    after_help = "bash: barest completions bash > ~/.local/share/bash-completion/completions/barest\n\
                        zsh: barest completions zsh > a folder of $fpath, as _barest\n\
                        fish: barest completions fish > ~/.config/fish/completions/barest.fish"
)]
pub struct Completions {
    /// Which shell.
    shell: Shell,
}

impl Completions {
    pub fn run(self) -> Outcome {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "barest", &mut script);
        print_bytes(&script)
    }
}
