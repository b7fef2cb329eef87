//! How a report is shown: a row for each program in each runtime.

use std::time::Duration;

use super::time::micros;
use super::{Page, Table, number, text};
use crate::report::{Comparison, Found, Measured, Report, Row};
use crate::steps::Tally;
use crate::time::{Ratio, Timed};

/// The page of a report: one table of all programs in all runtimes.
pub fn page(reports: &[Report]) -> Page {
    reports
        .iter()
        .fold(Page::new(), |page, report| page.page(one(report)))
}

fn one(report: &Report) -> Page {
    let mut table = Table::new([
        text("program"),
        text("runtime"),
        number("calls"),
        number("instructions").optional(),
        number("bytes").optional(),
        number("cpuid").optional(),
        number("faults").optional(),
        number("memory kB").optional(),
        number("start µs"),
        number("times ours"),
        text("made of").optional(),
    ]);
    for comparison in &report.tables {
        for row in &comparison.rows {
            let head = [comparison.program.clone(), row.runtime.clone()];
            table.row(head.into_iter().chain(cells(row, report.cpuid_cost)));
        }
    }
    let page = Page::new()
        .table(table)
        .note(format!("Measured on {}.", report.machine))
        .note(
            "calls: system calls, the execve that starts it included; of exec, those up to its \
             own execve, and so its instructions. start: median from clone to reaped; times \
             ours: the median of the rounds' ratios [95 % interval]; 1 where it holds 1, which is \
             no difference.",
        );
    let page = match report.cpuid_cost {
        Some(cost) => page.note(format!(
            "cpuid: how many, and what part of the start they take: one takes {} µs here.",
            micros(cost.as_nanos() as u64)
        )),
        None => page,
    };
    let page = report.tables.iter().fold(page, notes);
    missing(report).into_iter().fold(page, Page::note)
}

/// What is not installed, a line a runtime: a narrow terminal has no room for it in the table.
fn missing(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    for row in report.tables.iter().flat_map(|comparison| &comparison.rows) {
        if let Found::NotInstalled(what) = &row.found {
            let line = format!("{}: not installed: {what} (make deps)", row.runtime);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

/// What to judge the times of a program by, or why there are none.
fn notes(page: Page, comparison: &Comparison) -> Page {
    let program = &comparison.program;
    if let Some(why) = &comparison.untimed {
        return page.note(format!("{program}: not timed: {why}"));
    }
    // A program without peers has nothing to be compared with.
    let Some(clock) = comparison
        .clock
        .as_ref()
        .filter(|_| comparison.rows.len() > 1)
    else {
        return page;
    };
    let noisy = match clock.control.holds {
        true => "",
        false => ", not 1 within 1 %: the machine is noisy",
    };
    let page = page.note(format!(
        "{program}: {} rounds; ours against a copy of it {}{noisy}; a process that ends at once \
         {} µs",
        clock.rounds,
        clock.control.ratio,
        micros(clock.floor.median_ns),
    ));
    let notes = clock.notes.iter();
    notes.fold(page, |page, note| {
        page.note(format!("note: {program}: {note}"))
    })
}

/// What a row says behind its names. One that was not measured says why at its end.
fn cells(row: &Row, cpuid_cost: Option<Duration>) -> Vec<String> {
    let nothing = |why: String| {
        let mut cells = vec!["-".to_owned(); 8];
        cells.push(why);
        cells
    };
    match &row.found {
        Found::Measured(measured) => {
            let parts: Vec<_> = row.parts.iter().map(ToString::to_string).collect();
            let mut cells = figures(measured, cpuid_cost);
            cells.push(parts.join(", "));
            cells
        }
        Found::NotInstalled(what) => nothing(format!("not installed: {what}")),
        Found::Failed(why) => nothing(format!("failed: {why}")),
    }
}

fn figures(measured: &Measured, cpuid_cost: Option<Duration>) -> Vec<String> {
    let Measured {
        calls,
        image,
        steps,
        time,
        ..
    } = measured;
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    vec![
        calls.to_string(),
        or_none(steps.map(|steps| steps.instructions.to_string())),
        image.bytes.to_string(),
        or_none(steps.map(|steps| cpuid(steps, cpuid_cost, time.as_ref()))),
        or_none(time.as_ref().map(|time| time.faults.to_string())),
        or_none(
            time.as_ref()
                .and_then(|time| Some(time.memory?.peak_kb.to_string())),
        ),
        or_none(time.as_ref().map(|time| micros(time.time.median_ns))),
        or_none(
            time.as_ref()
                .and_then(|time| time.ratio.as_ref())
                .map(times),
        ),
    ]
}

/// As in `43 (31 %)`: how many there are, and what part of the start that is.
fn cpuid(steps: Tally, cost: Option<Duration>, time: Option<&Timed>) -> String {
    let start = time.map(|time| Duration::from_nanos(time.time.median_ns));
    match cost
        .zip(start)
        .and_then(|(cost, start)| steps.cpuid_share(cost, start))
    {
        Some(share) if steps.cpuid > 0 => format!("{} ({:.0} %)", steps.cpuid, share * 100.0),
        _ => steps.cpuid.to_string(),
    }
}

/// As in `1.15 [1.13, 1.16]`, or `1 [0.99, 1.01]` where there is no difference.
fn times(ratio: &Ratio) -> String {
    match ratio.no_difference {
        true => format!("1 [{:.3}, {:.3}]", ratio.low, ratio.high),
        false => ratio.to_string(),
    }
}
