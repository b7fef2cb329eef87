//! What is done, what is left, and how long that will take.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar that is drawn on stderr, and only where that is a terminal.
pub fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {wide_msg} {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(0).with_style(style)
}
