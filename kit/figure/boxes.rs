//! How the values of each are spread.

use super::axis::{Layout, finite};
use super::canvas::{APART, Canvas, LETTERS};
use super::svg::{Anchor, number};
use super::{Axis, Number, style};

/// A box a row: from the first to the third quartile, the median in it, whiskers to the last
/// values within one and a half of its length (Tukey), a circle for each value beyond.
#[derive(Clone, Debug)]
pub struct Boxes {
    axis: Axis,
    rows: Vec<(String, Vec<f64>)>,
}

const ROW: f64 = 34.0;

impl Boxes {
    /// No boxes yet, along that axis.
    pub fn new(axis: Axis) -> Self {
        Boxes {
            axis,
            rows: Vec::new(),
        }
    }

    /// Adds a row with its values, in any order.
    pub fn values(
        mut self,
        label: impl Into<String>,
        values: impl IntoIterator<Item = impl Number>,
    ) -> Self {
        let values = values.into_iter().map(Number::number);
        self.rows.push((label.into(), values.collect()));
        self
    }

    pub(super) fn draw(&self, canvas: &mut Canvas) {
        let values = || self.rows.iter().flat_map(|(_, values)| values).copied();
        if values().next().is_none() {
            return canvas.nothing();
        }
        let spreads: Vec<Option<Spread>> = self
            .rows
            .iter()
            .map(|(_, values)| Spread::of(values))
            .collect();
        let text = |spread: &Option<Spread>| match spread {
            Some(spread) => self.axis.value(spread.median),
            None => "none".to_owned(),
        };
        let labels = self.rows.iter().map(|(label, _)| label.as_str());
        let columns = canvas.columns(labels, spreads.iter().map(text).chain(["median".into()]));
        let (from, to) = columns.marks;
        let layout = self.axis.lay_out(values(), (from, to), APART, false);
        canvas.y += LETTERS;
        let at = (columns.value, canvas.y);
        canvas.svg.label(at, Anchor::Start, "soft", "median", "");
        canvas.y += 4.0;
        let (top, bottom) = (canvas.y, canvas.y + ROW * self.rows.len() as f64);
        canvas.grid(&layout, top, bottom);
        for ((label, values), spread) in self.rows.iter().zip(&spreads) {
            let middle = canvas.y + ROW / 2.0;
            canvas.row_label(&columns, middle, label);
            for value in values {
                // Says what is left out or at the edge.
                canvas.place(&self.axis, &layout, *value);
            }
            if let Some(spread) = spread {
                self.one(canvas, &layout, middle, label, spread);
            }
            let at = (columns.value, middle + LETTERS * 0.36);
            canvas.svg.label(at, Anchor::Start, "", &text(spread), "");
            canvas.y += ROW;
        }
        canvas.axis_below(&self.axis, &layout, (from, to));
    }

    fn one(&self, canvas: &mut Canvas, layout: &Layout, y: f64, label: &str, spread: &Spread) {
        let at = |value: f64| layout.place(value).position().unwrap_or_default();
        let [low, first, median, third, high] = [
            spread.low,
            spread.first,
            spread.median,
            spread.third,
            spread.high,
        ]
        .map(at);
        let colour = style::colour(0);
        let (above, below) = (number(y - 5.0), number(y + 5.0));
        let whiskers = format!(
            "M{low} {y}L{first} {y}M{third} {y}L{high} {y}M{low} {above}L{low} {below}M{high} {above}L{high} {below}",
            low = number(low),
            first = number(first),
            third = number(third),
            high = number(high),
            y = number(y),
        );
        canvas.svg.mark(
            "path",
            &[("class", &format!("stroke {colour}")), ("d", &whiskers)],
            "",
        );
        let says = format!(
            "{label}: {} values; quartiles {}, {}, {}; {} beyond the whiskers",
            spread.count,
            self.axis.value(spread.first),
            self.axis.value(spread.median),
            self.axis.value(spread.third),
            spread.beyond.len()
        );
        canvas.svg.rectangle(
            &format!("box {colour}"),
            "",
            (first, y - 9.0),
            ((third - first).max(1.0), 18.0),
            &says,
        );
        canvas.svg.line(
            &format!("median {colour}"),
            (median, y - 9.0),
            (median, y + 9.0),
        );
        let mut places: Vec<String> = spread.beyond.iter().map(|v| number(at(*v))).collect();
        places.dedup();
        let rings: Vec<String> = places
            .iter()
            .map(|x| {
                format!(
                    "M{x} {}m-2.5 0a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0 -5 0",
                    number(y)
                )
            })
            .collect();
        if !rings.is_empty() {
            canvas.svg.mark(
                "path",
                &[("class", &format!("ring {colour}")), ("d", &rings.join(""))],
                "",
            );
        }
    }
}

/// What a box shows.
#[derive(Clone, Debug, PartialEq)]
struct Spread {
    count: usize,
    low: f64,
    first: f64,
    median: f64,
    third: f64,
    high: f64,
    /// In rising order.
    beyond: Vec<f64>,
}

impl Spread {
    /// Of the values that can be drawn, if there is one.
    fn of(values: &[f64]) -> Option<Self> {
        let mut sorted: Vec<f64> = values.iter().copied().filter_map(finite).collect();
        sorted.sort_by(f64::total_cmp);
        let (least, most) = (*sorted.first()?, *sorted.last()?);
        let [first, median, third] = [0.25, 0.5, 0.75].map(|part| quantile(&sorted, part));
        let reach = 1.5 * (third - first);
        let within = |value: &&f64| **value >= first - reach && **value <= third + reach;
        Some(Spread {
            count: sorted.len(),
            low: sorted.iter().find(within).copied().unwrap_or(least),
            first,
            median,
            third,
            high: sorted.iter().rev().find(within).copied().unwrap_or(most),
            beyond: sorted.iter().filter(|v| !within(v)).copied().collect(),
        })
    }
}

/// Between which values of a rising list a part of it lies, in proportion: R's type 7, which
/// R, NumPy and spreadsheets use if nothing is said.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let place = part * sorted.len().saturating_sub(1) as f64;
    let below = place.floor() as usize;
    let low = sorted.get(below).copied().unwrap_or_default();
    let high = sorted.get(below + 1).copied().unwrap_or(low);
    low + (high - low) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_in_proportion_between_the_values_about_them() {
        // R: quantile(c(1, 2, 3, 4)).
        let spread = Spread::of(&[4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!(
            [spread.first, spread.median, spread.third],
            [1.75, 2.5, 3.25]
        );
        assert_eq!([spread.low, spread.high], [1.0, 4.0]);
        assert_eq!(spread.beyond, [0.0; 0]);
    }

    #[test]
    fn whiskers_end_at_values_and_what_is_farther_is_kept() {
        let spread = Spread::of(&[-9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 20.0]).unwrap();
        // The quartiles are 1.5 and 4.5: 4.5 to each side.
        assert_eq!([spread.low, spread.high], [1.0, 5.0]);
        assert_eq!(spread.beyond, [-9.0, 20.0]);
    }

    #[test]
    fn one_value_is_a_box_and_none_is_not() {
        let spread = Spread::of(&[7.0, f64::NAN]).unwrap();
        assert_eq!(spread.count, 1);
        assert_eq!([spread.low, spread.median, spread.high], [7.0; 3]);
        assert_eq!(Spread::of(&[f64::NAN]), None);
    }
}
