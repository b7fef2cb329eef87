//! A value for each, and between which bounds it is.

use super::canvas::{APART, Canvas};
use super::svg::{Anchor, number};
use super::{Axis, Number, style, words};

/// A dot a row, with a whisker over its interval; a line where all would be equal.
#[derive(Clone, Debug)]
pub struct Dots {
    axis: Axis,
    reference: Option<(f64, String)>,
    dots: Vec<Dot>,
}

#[derive(Clone, Debug)]
struct Dot {
    label: String,
    value: f64,
    low: f64,
    high: f64,
    /// What stands at the end of the row, where that is not the value.
    said: Option<String>,
}

const ROW: f64 = 22.0;

impl Dots {
    /// No dots yet, along that axis.
    pub fn new(axis: Axis) -> Self {
        Dots {
            axis,
            reference: None,
            dots: Vec::new(),
        }
    }

    /// A dashed line at a value, and what it means.
    pub fn reference(mut self, value: impl Number, name: impl Into<String>) -> Self {
        self.reference = Some((value.number(), name.into()));
        self
    }

    /// Adds a value and the ends of its interval.
    pub fn dot(
        mut self,
        label: impl Into<String>,
        value: impl Number,
        low: impl Number,
        high: impl Number,
    ) -> Self {
        self.dots.push(Dot {
            label: label.into(),
            value: value.number(),
            low: low.number(),
            high: high.number(),
            said: None,
        });
        self
    }

    /// What is written after the dot that was added last, in place of its value: its interval
    /// with it, for one.
    pub fn said(mut self, text: impl Into<String>) -> Self {
        if let Some(dot) = self.dots.last_mut() {
            dot.said = Some(text.into());
        }
        self
    }

    pub(super) fn draw(&self, canvas: &mut Canvas) {
        if self.dots.is_empty() {
            return canvas.nothing();
        }
        let labels = self.dots.iter().map(|dot| dot.label.as_str());
        let columns = canvas.columns(labels, self.dots.iter().map(|dot| self.text(dot)));
        let (from, to) = columns.marks;
        let reference = self.reference.as_ref().map(|(value, _)| *value);
        let values = self
            .dots
            .iter()
            .flat_map(|dot| [dot.value, dot.low, dot.high]);
        let layout = self
            .axis
            .lay_out(values.chain(reference), (from, to), APART, false);
        if let Some((value, name)) = &self.reference
            && let Some(x) = canvas.place(&self.axis, &layout, *value)
        {
            let (left, right) = canvas.inside();
            let half = words::width(name, 12.0) / 2.0;
            let middle = x.clamp(left + half, (right - half).max(left + half));
            canvas.y += 12.0;
            canvas
                .svg
                .label((middle, canvas.y), Anchor::Middle, "soft", name, "");
            canvas.y += 6.0;
        }
        let top = canvas.y;
        let bottom = top + ROW * self.dots.len() as f64;
        canvas.grid(&layout, top, bottom);
        if let Some(x) = reference.and_then(|value| layout.place(value).position()) {
            canvas.svg.line("reference", (x, top), (x, bottom));
        }
        for dot in &self.dots {
            let middle = canvas.y + ROW / 2.0;
            canvas.row_label(&columns, middle, &dot.label);
            let ends = [dot.low, dot.high].map(|end| canvas.place(&self.axis, &layout, end));
            let colour = style::colour(0);
            if let [Some(low), Some(high)] = ends {
                canvas.svg.mark(
                    "path",
                    &[
                        ("class", &format!("stroke {colour}")),
                        (
                            "d",
                            &format!(
                                "M{low} {y}L{high} {y}M{low} {above}L{low} {below}M{high} {above}L{high} {below}",
                                low = number(low),
                                high = number(high),
                                y = number(middle),
                                above = number(middle - 6.0),
                                below = number(middle + 6.0),
                            ),
                        ),
                    ],
                    "",
                );
            }
            if let Some(x) = canvas.place(&self.axis, &layout, dot.value) {
                let says = format!(
                    "{}: {}, between {} and {}",
                    dot.label,
                    self.axis.value(dot.value),
                    self.axis.value(dot.low),
                    self.axis.value(dot.high)
                );
                canvas.svg.mark(
                    "circle",
                    &[
                        ("class", &format!("dot {colour}")),
                        ("cx", &number(x)),
                        ("cy", &number(middle)),
                        ("r", "4"),
                    ],
                    &says,
                );
            }
            let at = (columns.value, middle + 4.7);
            canvas.svg.label(at, Anchor::Start, "", &self.text(dot), "");
            canvas.y += ROW;
        }
        canvas.axis_below(&self.axis, &layout, (from, to));
    }

    fn text(&self, dot: &Dot) -> String {
        match &dot.said {
            Some(said) => said.clone(),
            None if dot.value.is_finite() => self.axis.value(dot.value),
            None => "no number".to_owned(),
        }
    }
}
