//! How much of something each has: a bar a row.

use super::axis::finite;
use super::canvas::{APART, Canvas, LETTERS};
use super::svg::Anchor;
use super::{Axis, Number, style, words};

/// Horizontal bars, each with its label before and its value after it.
///
/// Bars of one label that follow each other stand together under it, as those of one program in
/// several categories.
#[derive(Clone, Debug)]
pub struct Bars {
    axis: Axis,
    categories: Vec<String>,
    bars: Vec<Bar>,
}

#[derive(Clone, Debug)]
struct Bar {
    label: String,
    category: usize,
    /// None where there is none; `said` then tells why.
    value: Option<f64>,
    /// What stands at its end, where that is not the value.
    said: Option<String>,
}

/// The height of a bar, and the space after the last of a label.
const BAR: f64 = 15.0;
const BETWEEN: f64 = 8.0;

impl Bars {
    /// No bars yet, along that axis.
    pub fn new(axis: Axis) -> Self {
        Bars {
            axis,
            categories: Vec::new(),
            bars: Vec::new(),
        }
    }

    /// What the bars' categories are called, in their order: with two or more there is a legend.
    pub fn categories(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.categories = names.into_iter().map(Into::into).collect();
        self
    }

    /// Adds a bar of a category, counted from 0.
    pub fn bar(mut self, label: impl Into<String>, value: impl Number, category: usize) -> Self {
        let value = value.number();
        self.bars.push(Bar {
            label: label.into(),
            category,
            value: Some(value),
            said: None,
        });
        self
    }

    /// What is written after the bar that was added last, in place of its value.
    pub fn said(mut self, text: impl Into<String>) -> Self {
        if let Some(bar) = self.bars.last_mut() {
            bar.said = Some(text.into());
        }
        self
    }

    /// Adds a row without a bar, and why it has none.
    pub fn missing(mut self, label: impl Into<String>, why: impl Into<String>) -> Self {
        self.bars.push(Bar {
            label: label.into(),
            category: 0,
            value: None,
            said: Some(why.into()),
        });
        self
    }

    pub(super) fn draw(&self, canvas: &mut Canvas) {
        if self.bars.is_empty() {
            return canvas.nothing();
        }
        // A bar of a category without a name has its pattern as well.
        let used = self.bars.iter().map(|bar| bar.category + 1).max();
        style::define(
            &mut canvas.svg,
            &canvas.id,
            used.unwrap_or(0).max(self.categories.len()),
        );
        canvas.fills(&self.categories);
        let labels = self.bars.iter().map(|bar| bar.label.as_str());
        // What stands in place of a bar has the bar's space.
        let values = self.bars.iter().filter(|bar| bar.drawn().is_some());
        let columns = canvas.columns(labels, values.map(|bar| self.text(bar)));
        let (from, to) = columns.marks;
        let layout = self.axis.lay_out(
            self.bars.iter().filter_map(|bar| bar.value),
            (from, to),
            APART,
            true,
        );
        let top = canvas.y;
        let groups: Vec<&[Bar]> = self
            .bars
            .chunk_by(|one, next| one.label == next.label)
            .collect();
        let height = BAR * self.bars.len() as f64 + BETWEEN * groups.len() as f64;
        canvas.grid(&layout, top, top + height);
        let base = layout.base();
        canvas.y += BETWEEN / 2.0;
        for group in groups {
            let Some(first) = group.first() else { continue };
            let middle = canvas.y + BAR * group.len() as f64 / 2.0;
            canvas.row_label(&columns, middle, &first.label);
            for bar in group {
                let text = self.text(bar);
                let line = canvas.y + BAR / 2.0 + LETTERS * 0.36;
                let (_, right) = canvas.inside();
                match bar
                    .value
                    .and_then(|value| canvas.place(&self.axis, &layout, value))
                {
                    Some(end) => {
                        let says = match self.categories.get(bar.category) {
                            Some(category) => format!("{}, {category}: {text}", bar.label),
                            None => format!("{}: {text}", bar.label),
                        };
                        canvas.svg.rectangle(
                            &format!("bar {}", style::colour(bar.category)),
                            &style::fill(&canvas.id, bar.category),
                            (base.min(end), canvas.y + 1.0),
                            ((end - base).abs(), BAR - 3.0),
                            &says,
                        );
                        let after = base.max(end) + 6.0;
                        let short = words::shorten(&text, LETTERS, right - after);
                        canvas
                            .svg
                            .label((after, line), Anchor::Start, "", &short, &text);
                    }
                    None => {
                        let short = words::shorten(&text, LETTERS, right - base - 6.0);
                        canvas
                            .svg
                            .label((base + 6.0, line), Anchor::Start, "soft", &short, &text);
                    }
                }
                canvas.y += BAR;
            }
            canvas.y += BETWEEN;
        }
        canvas.y -= BETWEEN / 2.0;
        canvas.svg.line("axis", (base, top), (base, canvas.y));
        canvas.axis_below(&self.axis, &layout, (from, to));
    }

    /// What stands after a bar, or in place of it.
    fn text(&self, bar: &Bar) -> String {
        match (&bar.said, bar.value) {
            (Some(said), _) => said.clone(),
            (None, Some(value)) if value.is_finite() => self.axis.value(value),
            (None, _) => "no number".to_owned(),
        }
    }
}

impl Bar {
    /// Its value, if that is one that can be drawn.
    fn drawn(&self) -> Option<f64> {
        self.value.and_then(finite)
    }
}
