//! How a comparison with a baseline is shown: what changed, and how much did not.

use super::{Page, Table, counted, number, text};
use crate::baseline::{Comparison, Figure};
use crate::subject::escape;

/// The page of a comparison.
pub fn page(comparison: &Comparison) -> Page {
    let columns = [
        text("changed"),
        text("what"),
        number("before"),
        number("now"),
    ];
    let mut table = Table::new(columns);
    for pair in comparison.changes() {
        let [before, now] =
            [&pair.before, &pair.now].map(|figure| figure.as_ref().map_or("-".into(), bounds));
        table.row([pair.subject.clone(), pair.name.clone(), before, now]);
    }
    let changes = comparison.changes().count();
    let same = comparison.figures.len() - changes;
    Page::new().table(table).note(format!(
        "against {}: {}, {} the same within noise",
        escape(comparison.file.as_os_str()),
        counted(changes as u64, "change"),
        counted(same as u64, "number")
    ))
}

/// "30", "3–5", "1.500–1.520".
fn bounds(figure: &Figure) -> String {
    let whole = figure.low.fract() == 0.0 && figure.high.fract() == 0.0;
    let digits = if whole { 0 } else { 3 };
    let Figure { low, high, .. } = figure;
    match low == high {
        true => format!("{low:.digits$}"),
        false => format!("{low:.digits$}–{high:.digits$}"),
    }
}
