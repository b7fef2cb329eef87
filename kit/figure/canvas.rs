//! What charts are drawn on: a column of a given width that grows downwards.

use super::axis::{Layout, Place};
use super::style;
use super::svg::{Anchor, Svg, number};
use super::words;
use super::{Axis, STYLE};

/// The height of letters, as [`STYLE`] has it.
pub(super) const LETTERS: f64 = 13.0;
/// The height of lesser letters: of class `soft`.
pub(super) const SMALL: f64 = 12.0;
const TITLE: f64 = 17.0;
/// The space around all.
const MARGIN: f64 = 12.0;
/// How far apart ticks of a horizontal axis are, so that their texts do not touch.
pub(super) const APART: f64 = 56.0;

/// A figure that is being drawn.
pub(super) struct Canvas {
    pub(super) svg: Svg,
    pub(super) id: String,
    width: f64,
    /// Where the next thing is drawn.
    pub(super) y: f64,
    /// What a reader is to be told that the drawing does not show, each once.
    notes: Vec<String>,
}

/// The part of a row that is left of its marks, the part with marks, and the part after.
#[derive(Clone, Copy, Debug)]
pub(super) struct Columns {
    /// Where labels begin and how wide they may be.
    pub(super) label: (f64, f64),
    /// Where marks begin and end.
    pub(super) marks: (f64, f64),
    /// Where values begin.
    pub(super) value: f64,
}

impl Canvas {
    pub(super) fn new(id: &str, width: u32) -> Self {
        let id = id.chars().map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' => c,
            _ => '-',
        });
        Canvas {
            svg: Svg::default(),
            id: id.collect(),
            width: f64::from(width.clamp(240, 4096)),
            y: MARGIN,
            notes: Vec::new(),
        }
    }

    /// The space between the margins.
    pub(super) fn inside(&self) -> (f64, f64) {
        (MARGIN, self.width - MARGIN)
    }

    /// Title and description, over the chart.
    pub(super) fn heading(&mut self, title: &str, description: &str) {
        let (left, right) = self.inside();
        // Bold letters are wider.
        for line in words::wrap(title, TITLE * 1.1, right - left) {
            self.y += TITLE * 1.25;
            self.svg
                .label((left, self.y), Anchor::Start, "title", &line, "");
        }
        self.y += 4.0;
        self.paragraph(description);
        self.y += 10.0;
    }

    fn paragraph(&mut self, text: &str) {
        let (left, right) = self.inside();
        for line in words::wrap(text, SMALL, right - left) {
            self.y += SMALL * 1.4;
            self.svg
                .label((left, self.y), Anchor::Start, "soft", &line, "");
        }
    }

    /// Keeps a sentence to be put under the chart.
    pub(super) fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    /// Where a value is; says under the chart what is to be known about it.
    pub(super) fn place(&mut self, axis: &Axis, layout: &Layout, value: f64) -> Option<f64> {
        let place = layout.place(value);
        match place {
            Place::At(_) => {}
            Place::Edge(_) => {
                self.note(format!(
                    "Zero and less have no place on the log axis “{}”: drawn at its edge.",
                    axis.name
                ));
            }
            Place::Nowhere => self.note("What is no number that can be drawn is left out."),
        }
        place.position()
    }

    /// Says in place of a chart that there is nothing to show.
    pub(super) fn nothing(&mut self) {
        let (left, right) = self.inside();
        self.y += 30.0;
        self.svg.label(
            ((left + right) / 2.0, self.y),
            Anchor::Middle,
            "soft",
            "There is nothing to show.",
            "",
        );
        self.y += 20.0;
    }

    /// The names of categories beside what each is drawn with, in lines.
    pub(super) fn legend(&mut self, names: &[String], swatch: impl Fn(&mut Svg, usize, f64, f64)) {
        let (left, right) = self.inside();
        let mut x = left;
        self.y += LETTERS;
        for (index, name) in names.iter().enumerate() {
            let name = words::shorten(name, LETTERS, right - left - 26.0);
            let wide = 26.0 + words::width(&name, LETTERS);
            if x > left && x + wide > right {
                (x, self.y) = (left, self.y + LETTERS * 1.5);
            }
            swatch(&mut self.svg, index, x, self.y - LETTERS + 2.0);
            self.svg
                .label((x + 26.0, self.y), Anchor::Start, "", &name, "");
            x += wide + 18.0;
        }
        self.y += 14.0;
    }

    /// A legend of filled squares.
    pub(super) fn fills(&mut self, names: &[String]) {
        let id = self.id.clone();
        if names.len() > 1 {
            self.legend(names, |svg, category, x, y| {
                let class = format!("bar {}", style::colour(category));
                svg.rectangle(
                    &class,
                    &style::fill(&id, category),
                    (x, y),
                    (18.0, 12.0),
                    "",
                );
            });
        }
    }

    /// Divides rows between labels, marks and values of these texts.
    pub(super) fn columns<'a>(
        &self,
        labels: impl Iterator<Item = &'a str>,
        values: impl Iterator<Item = String>,
    ) -> Columns {
        let (left, right) = self.inside();
        let widest = |widths: &mut dyn Iterator<Item = f64>| widths.fold(0.0, f64::max);
        let inside = right - left;
        let label = widest(&mut labels.map(|label| words::width(label, LETTERS)));
        let label = label.min(inside * 0.4).ceil();
        let value = widest(&mut values.map(|value| words::width(&value, LETTERS)));
        let value = value.min(inside * 0.35).ceil();
        let begin = left + label + if label > 0.0 { 10.0 } else { 0.0 };
        let end = right - value - if value > 0.0 { 8.0 } else { 0.0 };
        Columns {
            label: (left, label),
            marks: (begin, end),
            value: end + 8.0,
        }
    }

    /// The label of a row whose middle is at that height.
    pub(super) fn row_label(&mut self, columns: &Columns, middle: f64, label: &str) {
        let (left, wide) = columns.label;
        let short = words::shorten(label, LETTERS, wide);
        self.svg.label(
            (left + wide, middle + LETTERS * 0.36),
            Anchor::End,
            "",
            &short,
            label,
        );
    }

    /// Grid lines through a chart that reaches from the one height to the other, to be drawn
    /// before it.
    pub(super) fn grid(&mut self, layout: &Layout, top: f64, bottom: f64) {
        for tick in &layout.ticks {
            if let Some(x) = layout.place(tick.value).position() {
                self.svg.line("grid", (x, top), (x, bottom));
            }
        }
    }

    /// A horizontal axis under a chart: its line, the ticks' texts, its name.
    pub(super) fn axis_below(&mut self, axis: &Axis, layout: &Layout, (from, to): (f64, f64)) {
        self.svg.line("axis", (from, self.y), (to, self.y));
        let (left, right) = self.inside();
        let mut taken = f64::NEG_INFINITY;
        for tick in &layout.ticks {
            let Some(x) = layout.place(tick.value).position() else {
                continue;
            };
            self.svg.line("axis", (x, self.y), (x, self.y + 4.0));
            let half = words::width(&tick.text, SMALL) / 2.0;
            // A text that would stick out of the figure is moved in; one that would touch the
            // text before it is left out.
            let middle = x.clamp(left + half, (right - half).max(left + half));
            if middle - half < taken {
                continue;
            }
            taken = middle + half + 4.0;
            self.svg.label(
                (middle, self.y + 17.0),
                Anchor::Middle,
                "soft",
                &tick.text,
                "",
            );
        }
        self.y += 34.0;
        let name = words::shorten(&axis.name, SMALL, right - left);
        let half = words::width(&name, SMALL) / 2.0;
        let middle = ((from + to) / 2.0).clamp(left + half, (right - half).max(left + half));
        self.svg
            .label((middle, self.y), Anchor::Middle, "soft", &name, &axis.name);
        self.y += 6.0;
    }

    /// Puts the notes under the chart, and makes an `svg` element of it all.
    pub(super) fn finish(mut self, title: &str, description: &str, alone: bool) -> String {
        for note in std::mem::take(&mut self.notes) {
            self.y += 2.0;
            self.paragraph(&note);
        }
        let (width, height) = (number(self.width), number((self.y + MARGIN).ceil()));
        let size = format!("0 0 {width} {height}");
        let label = format!("{title}. {description}");
        let mut attributes = vec![
            ("xmlns", "http://www.w3.org/2000/svg"),
            ("class", "figure"),
            ("id", self.id.as_str()),
            ("role", "img"),
            ("aria-label", label.as_str()),
            ("viewBox", size.as_str()),
        ];
        attributes.push(("width", width.as_str()));
        attributes.push(("height", height.as_str()));
        if !alone {
            attributes.remove(0);
        }
        let mut out = Svg::default();
        out.open("svg", &attributes);
        out.words("title", &[], title);
        out.words("desc", &[], description);
        if alone {
            out.words("style", &[], STYLE);
            out.mark(
                "rect",
                &[("class", "paper"), ("width", "100%"), ("height", "100%")],
                "",
            );
        }
        out.raw(&self.svg.finish());
        out.close("svg");
        out.finish()
    }
}
