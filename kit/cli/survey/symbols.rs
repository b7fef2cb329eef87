//! `barest survey symbols [PATH…]`

use barest::survey::symbols::{SCHEMA, symbols};
use barest::view;
use barest::view::Format;

use super::{AnswerArgs, PathArgs, RootArgs, counting};
use crate::cli::Outcome;

/// How much of their libraries programs use: of the symbols on offer, those they are bound to.
#[derive(clap::Args)]
pub struct Symbols {
    #[command(flatten)]
    root: RootArgs,
    #[command(flatten)]
    paths: PathArgs,
    #[command(flatten)]
    answer: AnswerArgs,
}

impl Symbols {
    pub fn run(self, format: Format) -> Outcome {
        let found = self.root.root().and_then(|root| {
            let paths = self.paths.paths(&root)?;
            counting(|progress| symbols(&root, &paths, progress))
        });
        let shown = self.answer.shown(20);
        self.answer.finish(
            SCHEMA,
            found,
            format,
            |found| view::survey::symbols::page(found, shown),
            view::survey::symbols::figure,
        )
    }
}
