//! What is done, what is left, and how long that will take.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar that is drawn on stderr, and only where that is a terminal.
pub fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {wide_msg} {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(0).with_style(style)
}

/// A count of what is done where nobody knows how much there is, drawn as [`bar`] is.
pub fn count(of: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {pos} {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner());
    ProgressBar::no_length().with_style(style).with_message(of)
}
