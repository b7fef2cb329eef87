//! How often a value is met.

use super::axis::{Layout, finite};
use super::canvas::{APART, Canvas, SMALL};
use super::svg::{Anchor, number};
use super::{Axis, Number, style, words};

/// How many values are in each of equally long parts of an axis; one panel a set of values, one
/// under the other, over the same axis.
#[derive(Clone, Debug)]
pub struct Histogram {
    axis: Axis,
    counts: String,
    parts: usize,
    panels: Vec<(String, Vec<f64>)>,
}

/// How high a panel is.
const PANEL: f64 = 110.0;
const ONE: f64 = 200.0;

impl Histogram {
    /// No values yet. `counts` names what is counted, as in `programs`.
    pub fn new(axis: Axis, counts: impl Into<String>) -> Self {
        Histogram {
            axis,
            counts: counts.into(),
            parts: 40,
            panels: Vec::new(),
        }
    }

    /// Into how many parts the axis is divided, at least one: 40 if nothing is said.
    pub fn parts(mut self, parts: usize) -> Self {
        self.parts = parts.clamp(1, 1000);
        self
    }

    /// Adds a panel with its values. Its name may be empty where there is but one.
    pub fn values(
        mut self,
        name: impl Into<String>,
        values: impl IntoIterator<Item = impl Number>,
    ) -> Self {
        let values = values.into_iter().map(Number::number);
        self.panels.push((name.into(), values.collect()));
        self
    }

    pub(super) fn draw(&self, canvas: &mut Canvas) {
        let values = || self.panels.iter().flat_map(|(_, values)| values).copied();
        if values().next().is_none() {
            return canvas.nothing();
        }
        let (left, right) = canvas.inside();
        // Counts are on the left: their widest text is not known before they are laid out.
        let from = left + words::width("0000", SMALL) + 8.0;
        let layout = self.axis.lay_out(values(), (from, right), APART, false);
        let edges = layout.edges(self.parts);
        for (index, (name, values)) in self.panels.iter().enumerate() {
            let counts = counts(canvas, &self.axis, &layout, &edges, values);
            let title = match name.is_empty() {
                true => self.counts.clone(),
                false => format!("{name}: {}", self.counts),
            };
            canvas.y += SMALL;
            let short = words::shorten(&title, SMALL, right - left);
            canvas
                .svg
                .label((left, canvas.y), Anchor::Start, "", &short, &title);
            canvas.y += 14.0;
            let height = if self.panels.len() > 1 { PANEL } else { ONE };
            let (top, bottom) = (canvas.y, canvas.y + height);
            let most = counts.iter().copied().max().unwrap_or(0) as f64;
            let up = Axis::linear("").lay_out([most.max(1.0)], (bottom, top), 28.0, true);
            canvas.grid(&layout, top, bottom);
            for tick in up.ticks.iter().filter(|tick| tick.value.fract() == 0.0) {
                let Some(y) = up.place(tick.value).position() else {
                    continue;
                };
                canvas.svg.line("grid", (from, y), (right, y));
                let at = (from - 6.0, y + SMALL * 0.36);
                canvas.svg.label(at, Anchor::End, "soft", &tick.text, "");
            }
            let mut path = String::new();
            let step = (right - from) / self.parts as f64;
            for (part, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                let x = from + step * part as f64;
                let y = up.place(*count as f64).position().unwrap_or(bottom);
                let (wide, high) = ((step - 1.0).max(0.5), (bottom - y).max(1.0));
                path += &format!(
                    "M{} {}h{}v{}h-{}z",
                    number(x + 0.5),
                    number(bottom),
                    number(wide),
                    number(-high),
                    number(wide)
                );
            }
            let class = format!("dot {}", style::colour(index));
            canvas
                .svg
                .mark("path", &[("class", &class), ("d", &path)], &title);
            canvas.y = bottom;
            if index + 1 < self.panels.len() {
                canvas.svg.line("axis", (from, bottom), (right, bottom));
                canvas.y += 20.0;
            }
        }
        canvas.axis_below(&self.axis, &layout, (from, right));
    }
}

/// How many values are in each part: from its lower end on, up to its upper end but without it;
/// the last part has its upper end too.
fn counts(
    canvas: &mut Canvas,
    axis: &Axis,
    layout: &Layout,
    edges: &[f64],
    values: &[f64],
) -> Vec<usize> {
    let parts = edges.len().saturating_sub(1);
    let mut counts = vec![0; parts];
    for value in values {
        if canvas.place(axis, layout, *value).is_none() {
            continue;
        }
        let value = finite(*value).unwrap_or_default();
        let above = edges.partition_point(|edge| *edge <= value);
        let part = above.saturating_sub(1).min(parts.saturating_sub(1));
        if let Some(count) = counts.get_mut(part) {
            *count += 1;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::WIDE;

    #[test]
    fn every_value_is_in_one_part_the_last_end_included() {
        let axis = Axis::linear("x");
        let values = [0.0, 0.99, 1.0, 5.0, 9.99, 10.0, f64::NAN];
        let layout = axis.lay_out(values, (0.0, 100.0), 20.0, false);
        let edges = layout.edges(10);
        let mut canvas = Canvas::new("f", WIDE);
        let found = counts(&mut canvas, &axis, &layout, &edges, &values);
        assert_eq!(found, [2, 1, 0, 0, 0, 1, 0, 0, 0, 2]);
    }

    #[test]
    fn what_is_at_the_edge_of_a_log_axis_is_in_its_first_part() {
        let axis = Axis::log("x");
        let values = [0.0, 1.0, 100.0];
        let layout = axis.lay_out(values, (0.0, 100.0), 20.0, false);
        let edges = layout.edges(2);
        let mut canvas = Canvas::new("f", WIDE);
        let found = counts(&mut canvas, &axis, &layout, &edges, &values);
        assert_eq!(found, [2, 1]);
    }
}
