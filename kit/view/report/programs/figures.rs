//! `true` in all runtimes, a figure for each thing that is asked of it.

use super::{Quantity, absent, smallest, times};
use crate::figure::{Axis, Bars, Dots, Figure, exact};
use crate::image::Linkage;
use crate::report::programs::{Comparison, Programs, Row};

pub(super) fn figures(facts: &Programs) -> Vec<Figure> {
    let Some(comparison) = smallest(facts) else {
        return Vec::new();
    };
    vec![
        bars(comparison, Quantity::Bytes, Axis::log("bytes")),
        bars(comparison, Quantity::Calls, Axis::linear("system calls")),
        bars(
            comparison,
            Quantity::Instructions,
            Axis::log("instructions"),
        ),
        bars(comparison, Quantity::Memory, Axis::log("kB of memory")),
        start(comparison),
    ]
}

/// The categories: whose program it is, and whether it has all of its parts.
const CATEGORIES: [&str; 3] = ["ours", "static", "dynamic"];

fn category(at: usize, row: &Row) -> usize {
    match (at, row.linkage) {
        (0, _) => 0,
        (_, Linkage::Dynamic) => 2,
        _ => 1,
    }
}

fn bars(comparison: &Comparison, quantity: Quantity, axis: Axis) -> Figure {
    let mut bars = Bars::new(axis).categories(CATEGORIES);
    let mut values = Vec::new();
    for (at, row) in comparison.rows.iter().enumerate() {
        let name = &row.runtime;
        let Some(measured) = row.measured() else {
            bars = bars.missing(name, absent(row).unwrap_or_default());
            continue;
        };
        match quantity.of(measured) {
            Ok(value) => {
                bars = bars.bar(name, value.max, category(at, row));
                if !value.is_fixed() {
                    let ends = [value.min, value.max].map(|end| exact(end as f64));
                    bars = bars.said(ends.join("–"));
                }
                values.push((at, name.as_str(), value.max));
            }
            Err(why) => bars = bars.missing(name, why),
        }
    }
    let program = &comparison.program;
    let unit = quantity.unit();
    Figure::new(
        match quantity {
            Quantity::Bytes => format!("How large the file of {program} is"),
            Quantity::Calls => format!("System calls of {program}"),
            Quantity::Instructions => format!("Instructions of {program}"),
            Quantity::Memory => format!("The most memory that {program} has"),
        },
        says(&values, unit),
        bars,
    )
}

/// Ours, and the least and the most of the others.
fn says(values: &[(usize, &str, usize)], unit: &str) -> String {
    let ours = values.iter().find(|(at, _, _)| *at == 0);
    let ours = match ours {
        Some((_, _, value)) => format!("Ours: {} {unit}", exact(*value as f64)),
        None => format!("Ours was not measured in {unit}"),
    };
    let others = || values.iter().filter(|(at, _, _)| *at > 0);
    let least = others().min_by_key(|(_, _, value)| value);
    let most = others().max_by_key(|(_, _, value)| value);
    match (least, most) {
        (Some((_, least, low)), Some((_, most, high))) => format!(
            "{ours}; the others: from {} ({least}) to {} ({most}).",
            exact(*low as f64),
            exact(*high as f64)
        ),
        _ => format!("{ours}; none of the others was measured."),
    }
}

/// How many times as long as ours the others take.
fn start(comparison: &Comparison) -> Figure {
    let mut dots = Dots::new(Axis::log("times ours, from start to reaped"));
    dots = dots.reference(1.0, "as ours");
    let mut says = Vec::new();
    for row in comparison.rows.iter().skip(1) {
        let time = row.measured().and_then(|it| it.time.measured());
        if let Some(ratio) = time.and_then(|time| time.ratio) {
            dots = dots
                .dot(&row.runtime, ratio.ratio, ratio.low, ratio.high)
                .said(match ratio.no_difference {
                    true => "1".to_owned(),
                    false => exact(ratio.ratio),
                });
            says.push(format!("{} {}", row.runtime, times(&ratio)));
        }
    }
    let says = match (says.is_empty(), comparison.clock.why()) {
        (true, Some(why)) => format!("Nothing was timed: {why}."),
        (true, None) => "None of the others was timed.".to_owned(),
        (false, _) => format!(
            "Times ours, the median of the rounds' ratios with its 95 % interval: {}.",
            says.join("; ")
        ),
    };
    let title = format!("How long {} takes", comparison.program);
    Figure::new(title, says, dots)
}
