//! `barest survey libraries [PATH…]`

use barest::survey::libraries::libraries;
use barest::view;
use barest::view::Format;

use super::{AnswerArgs, PathArgs, RootArgs, counting};
use crate::cli::Outcome;

/// How many programs need each library, directly and through others, and what they lack.
#[derive(clap::Args)]
pub struct Libraries {
    #[command(flatten)]
    root: RootArgs,
    #[command(flatten)]
    paths: PathArgs,
    #[command(flatten)]
    answer: AnswerArgs,
}

impl Libraries {
    pub fn run(self, format: Format) -> Outcome {
        let found = self.root.root().and_then(|root| {
            let paths = self.paths.paths(&root)?;
            counting(|progress| libraries(&root, &paths, progress))
        });
        let shown = self.answer.shown(20);
        self.answer.finish(
            "barest.survey-libraries/1",
            found,
            format,
            |found| view::survey::libraries::page(found, shown),
            view::survey::libraries::figure,
        )
    }
}
