//! How baked launchers are shown: their words, a line each, to be given to `barest bake` again.

use super::Page;
use crate::bake::Baked;

/// The page of these launchers.
pub fn page(launchers: &[Baked]) -> Page {
    let words = launchers.iter().map(|launcher| launcher.recipe.to_string());
    words.fold(Page::new(), Page::note)
}
