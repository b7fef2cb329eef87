//! How times are shown: a row a subject, the first one's ratio being 1 by definition.

use super::{Page, Table, counted, number, subject, text};
use crate::time::{Control, Ratio, Spread, Timed, Timing};

/// The page of measurements, one after the other.
pub fn page(timings: &[Timing]) -> Page {
    timings
        .iter()
        .fold(Page::new(), |page, timing| page.page(one(timing)))
}

fn one(timing: &Timing) -> Page {
    let micros = ["min µs", "p10", "median", "p90", "max"].map(number);
    let columns = [text(""), text("command"), number("n")]
        .into_iter()
        .chain(micros)
        .chain([number("ratio to A"), number("faults"), number("memory kB")]);
    let mut table = Table::new(columns);
    for timed in &timing.subjects {
        table.row(row(timed));
    }
    let mut page = Page::new()
        .table(table)
        .note(control(&timing.control))
        .note(floor(timing))
        .note(conditions(timing));
    if let Some(first) = timing.subjects.first() {
        page = page.note(subject::footer(&first.subject));
    }
    for verdict in &timing.expectations {
        let held = if verdict.holds { "holds" } else { "failed" };
        let (expected, ratio) = (verdict.expected, verdict.ratio);
        page = page.note(format!("expected {expected}: {held}, {ratio}"));
    }
    let unequal = timing
        .subjects
        .iter()
        .filter(|it| it.exit != crate::Exit::Exited(0));
    for timed in unequal {
        page = page.note(format!(
            "note: {}: {} in every run",
            timed.subject, timed.exit
        ));
    }
    timing
        .notes
        .iter()
        .fold(page, |page, note| page.note(format!("note: {note}")))
}

fn row(timed: &Timed) -> Vec<String> {
    let Spread {
        n,
        min_ns,
        p10_ns,
        median_ns,
        p90_ns,
        max_ns,
        ..
    } = timed.time;
    let head = [
        timed.letter.clone(),
        timed.subject.to_string(),
        n.to_string(),
    ];
    let times = [min_ns, p10_ns, median_ns, p90_ns, max_ns].map(micros);
    let ratio = timed.ratio.as_ref().map_or("-".into(), ratio);
    let memory = timed
        .memory
        .map_or("-".into(), |memory| memory.peak_kb.to_string());
    head.into_iter()
        .chain(times)
        .chain([ratio, timed.faults.to_string(), memory])
        .collect()
}

/// "1.52 [1.50, 1.54]", or "no difference [0.99, 1.01]".
fn ratio(ratio: &Ratio) -> String {
    match ratio.no_difference {
        true => format!("no difference [{:.3}, {:.3}]", ratio.low, ratio.high),
        false => ratio.to_string(),
    }
}

/// Microseconds with one decimal.
pub(super) fn micros(ns: u64) -> String {
    format!("{:.1}", ns as f64 / 1e3)
}

fn control(control: &Control) -> String {
    let Control { ratio, holds, .. } = control;
    match holds {
        true => format!("control, A against a copy of A: {ratio}, 1 within 1 %"),
        false => format!(
            "control, A against a copy of A: {ratio}, not 1 within 1 %: this machine is too noisy \
             now to believe a ratio to 1 %; measure again, or with more --rounds"
        ),
    }
}

fn floor(timing: &Timing) -> String {
    let Spread {
        min_ns, median_ns, ..
    } = timing.floor;
    format!(
        "floor, a process that ends at once: min {}, median {} µs; the kit's own part in a start: \
         {:.1} µs above it",
        micros(min_ns),
        micros(median_ns),
        timing.own_cost_ns as f64 / 1e3
    )
}

fn conditions(timing: &Timing) -> String {
    let order = match timing.alone {
        true => "each in a block of its own",
        false => "in shuffled order",
    };
    let place = match timing.processor {
        Some(processor) => format!("on processor {processor}"),
        None => "not pinned".into(),
    };
    let files = if timing.copied {
        "copies"
    } else {
        "files in their places"
    };
    format!(
        "{} {order} after {} to warm up, seed {}; {files}, {place}; ratio: median of the rounds' \
         [95 % interval]",
        counted(timing.rounds as u64, "round"),
        timing.warmup,
        timing.seed
    )
}
