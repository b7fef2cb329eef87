//! Charts, as plain values that are drawn as SVG.
//!
//! A [`Figure`] is a title, a sentence on what is to be seen, and one of seven charts. It is drawn
//! for two places: as a [document](Figure::document) of its own that every browser and image
//! viewer shows, and [inline](Figure::inline) for a page that has [`STYLE`] in its head. In both,
//! colours follow the reader's light or dark scheme, and no colour stands alone: each category
//! has a pattern or a mark of its own too, and a legend.
//!
//! | chart | question |
//! |---|---|
//! | [`Bars`] | how much of something does each have |
//! | [`Dots`] | a value for each, and between which bounds it is sure to be |
//! | [`Lines`] | how one thing grows with another |
//! | [`Histogram`] | how often is a value met |
//! | [`Boxes`] | how are the values of each spread |
//! | [`Strip`] | what happens in which order |
//! | [`Blocks`] | what lies where in memory |
//!
//! ```
//! use barest::figure::{Axis, Bars, Figure};
//!
//! let bars = Bars::new(Axis::log("bytes"))
//!     .categories(["ours", "another's"])
//!     .bar("barest", 188_u64, 0)
//!     .bar("musl, static", 13_376_u64, 1)
//!     .bar("glibc, static", 682_696_u64, 1);
//! let figure = Figure::new(
//!     "How large `true` is",
//!     "barest's is 188 bytes, the smallest of the others 13376.",
//!     bars,
//! );
//! let svg = figure.document();
//! assert!(svg.starts_with("<svg "));
//! assert!(svg.contains("682\u{202f}696"));
//! ```
//!
//! The same figure is the same text, byte for byte. Values that have no place in a chart (zero on
//! a log axis, NaN) are named under it, never left out in silence; no value makes it panic.

mod axis;
mod bars;
mod blocks;
mod boxes;
mod canvas;
mod dots;
mod histogram;
mod lines;
mod strip;
mod style;
mod svg;
mod words;

pub(crate) use words::exact;

pub use axis::Axis;
pub use bars::Bars;
pub use blocks::Blocks;
pub use boxes::Boxes;
pub use dots::Dots;
pub use histogram::Histogram;
pub use lines::{Lines, Mark};
pub use strip::Strip;
pub use style::STYLE;

use canvas::Canvas;

/// A width for pages that are read on a desk, in units of the drawing. Letters are 13 high.
pub const WIDE: u32 = 720;

/// A width for telephones: at 360 pixels, letters are as large as a page's small print.
pub const NARROW: u32 = 360;

/// A chart and what it says in words.
#[derive(Clone, Debug)]
pub struct Figure {
    title: String,
    description: String,
    chart: Chart,
}

/// One of the charts.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Chart {
    /// See [`Bars`].
    Bars(Bars),
    /// See [`Dots`].
    Dots(Dots),
    /// See [`Lines`].
    Lines(Lines),
    /// See [`Histogram`].
    Histogram(Histogram),
    /// See [`Boxes`].
    Boxes(Boxes),
    /// See [`Strip`].
    Strip(Strip),
    /// See [`Blocks`].
    Blocks(Blocks),
}

macro_rules! chart {
    ($($kind:ident),*) => {$(
        impl From<$kind> for Chart {
            fn from(chart: $kind) -> Self {
                Chart::$kind(chart)
            }
        }
    )*};
}

chart!(Bars, Dots, Lines, Histogram, Boxes, Strip, Blocks);

/// A number that a chart can show.
pub trait Number {
    /// As the nearest floating-point number: a drawing has no more digits.
    fn number(self) -> f64;
}

macro_rules! number {
    ($($kind:ty),*) => {$(
        impl Number for $kind {
            fn number(self) -> f64 {
                self as f64
            }
        }
    )*};
}

number!(f64, u64, u32, usize, i64, i32);

impl Figure {
    /// A chart under a title, and one sentence on what it shows, with its numbers: for those who
    /// do not see it, and under the title for those who do.
    pub fn new(
        title: impl Into<String>,
        description: impl Into<String>,
        chart: impl Into<Chart>,
    ) -> Self {
        Figure {
            title: title.into(),
            description: description.into(),
            chart: chart.into(),
        }
    }

    /// What the figure is called.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// What it shows, as a sentence.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// An SVG file of its own, [`WIDE`], with title and description over the chart and its own
    /// background.
    pub fn document(&self) -> String {
        let mut canvas = Canvas::new("figure", WIDE);
        canvas.heading(&self.title, &self.description);
        self.chart.draw(&mut canvas);
        canvas.finish(&self.title, &self.description, true)
    }

    /// An `svg` element for an HTML page, so many units wide ([`WIDE`], [`NARROW`], or any from
    /// 240 on). The page has [`STYLE`] in its head, and shows title and description itself: they
    /// are in the element for those who do not see it, but not drawn. `id` is this figure's alone
    /// in the page, of letters, digits, `-` and `_`.
    pub fn inline(&self, id: &str, width: u32) -> String {
        let mut canvas = Canvas::new(id, width);
        self.chart.draw(&mut canvas);
        canvas.finish(&self.title, &self.description, false)
    }
}

impl Chart {
    fn draw(&self, canvas: &mut Canvas) {
        match self {
            Chart::Bars(chart) => chart.draw(canvas),
            Chart::Dots(chart) => chart.draw(canvas),
            Chart::Lines(chart) => chart.draw(canvas),
            Chart::Histogram(chart) => chart.draw(canvas),
            Chart::Boxes(chart) => chart.draw(canvas),
            Chart::Strip(chart) => chart.draw(canvas),
            Chart::Blocks(chart) => chart.draw(canvas),
        }
    }
}
