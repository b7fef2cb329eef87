//! What is done, what is left, and how long that will take.

use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

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

/// A bar for work whose parts take unequal times: it is told what share is done.
pub fn share() -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:24} {percent:>3} % {prefix} left {wide_msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(PARTS).with_style(style)
}

const PARTS: u64 = 1000;

/// Moves such a bar: the share that is done, what is being done, and how long is left.
pub fn tell(bar: &ProgressBar, done: f64, doing: &str, left: Duration) {
    bar.set_position((done * PARTS as f64) as u64);
    bar.set_prefix(HumanDuration(left).to_string());
    bar.set_message(doing.to_owned());
}
