//! `barest survey sizes [PATH…]`

use barest::survey::sizes::sizes;
use barest::view;
use barest::view::Format;

use super::{AnswerArgs, PathArgs, RootArgs, counting};
use crate::cli::Outcome;

/// How large programs are: bytes, pages and segments, with their libraries and without.
#[derive(clap::Args)]
pub struct Sizes {
    #[command(flatten)]
    root: RootArgs,
    #[command(flatten)]
    paths: PathArgs,
    #[command(flatten)]
    answer: AnswerArgs,
}

impl Sizes {
    pub fn run(self, format: Format) -> Outcome {
        let found = self.root.root().and_then(|root| {
            let paths = self.paths.paths(&root)?;
            counting(|progress| sizes(&root, &paths, progress))
        });
        let shown = self.answer.shown(20);
        self.answer.finish(
            "barest.survey-sizes/1",
            found,
            format,
            |found| view::survey::sizes::page(found, shown),
            view::survey::sizes::figure,
        )
    }
}
