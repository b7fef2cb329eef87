//! The programs in numbers: a row for each program in each runtime.

use std::time::Duration;

use super::{Quantity, absent, times};
use crate::report::programs::{Comparison, Measured, OURS, Outcome, Programs, Row, Stepped};
use crate::view::time::micros;
use crate::view::{Page, Table, number, text};

pub(super) fn page(facts: &Programs) -> Page {
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
    let cpuid_cost = Duration::from_nanos(facts.cpuid_cost_ns);
    for comparison in &facts.tables {
        for row in &comparison.rows {
            let head = [comparison.program.clone(), row.runtime.clone()];
            table.row(head.into_iter().chain(cells(row, cpuid_cost)));
        }
    }
    let page = Page::new().table(table).note(
        "calls: system calls, the execve that starts it included; of exec, those up to its \
         own execve, and so its instructions. start: median from clone to reaped; times \
         ours: the median of the rounds' ratios [95 % interval]; 1 where it holds 1, which is \
         no difference.",
    );
    let page = page.note(format!(
        "cpuid: how many, and what part of the start they take: one takes {} µs here.",
        micros(facts.cpuid_cost_ns)
    ));
    let page = once(facts).into_iter().fold(page, Page::note);
    let page = facts.tables.iter().fold(page, clock);
    let page = not_measured(facts).into_iter().fold(page, Page::note);
    missing(facts).into_iter().fold(page, Page::note)
}

/// What a row says behind its names. One that was not measured says why at its end.
fn cells(row: &Row, cpuid_cost: Duration) -> Vec<String> {
    match &row.found {
        Outcome::Measured(measured) => {
            let parts: Vec<_> = row.parts.iter().map(ToString::to_string).collect();
            let mut cells = figures(measured, cpuid_cost);
            cells.push(parts.join(", "));
            cells
        }
        Outcome::NotInstalled(_) | Outcome::Failed(_) => {
            let mut cells = vec!["-".to_owned(); 8];
            cells.extend(absent(row));
            cells
        }
    }
}

fn figures(measured: &Measured, cpuid_cost: Duration) -> Vec<String> {
    let amount = |quantity: Quantity| {
        let value = quantity.of(measured).ok();
        or_none(value.map(|value| value.to_string()))
    };
    let time = measured.time.measured();
    vec![
        amount(Quantity::Calls),
        amount(Quantity::Instructions),
        amount(Quantity::Bytes),
        or_none(measured.steps.measured().map(|steps| {
            let start = time.map(|time| Duration::from_nanos(time.spread.median_ns));
            cpuid(steps, cpuid_cost, start)
        })),
        or_none(time.map(|time| time.faults.to_string())),
        amount(Quantity::Memory),
        or_none(time.map(|time| micros(time.spread.median_ns))),
        or_none(time.and_then(|time| time.ratio.as_ref()).map(times)),
    ]
}

fn or_none(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

/// As in `43 (31 %)`: how many there are, and what part of the start that is.
fn cpuid(steps: &Stepped, cost: Duration, start: Option<Duration>) -> String {
    let tally = steps.tally;
    match start.and_then(|start| tally.cpuid_share(cost, start)) {
        Some(share) if tally.cpuid > 0 => format!("{} ({:.0} %)", tally.cpuid, share * 100.0),
        _ => tally.cpuid.to_string(),
    }
}

/// Which programs were stepped through once only.
fn once(facts: &Programs) -> Option<String> {
    let once = rows(facts).filter(|(_, row)| {
        let steps = row.measured().and_then(|it| it.steps.measured());
        steps.is_some_and(|steps| steps.runs == 1)
    });
    let names = names(once);
    (!names.is_empty()).then(|| {
        format!("instructions were counted once, so whether they are always as many is not known, of: {names}.")
    })
}

/// What to judge the times of a program by.
fn clock(page: Page, comparison: &Comparison) -> Page {
    let program = &comparison.program;
    // A program without peers has nothing to be compared with.
    let Some(clock) = comparison
        .clock
        .measured()
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

/// Why cells are empty in rows that were measured: a line for each column and reason.
fn not_measured(facts: &Programs) -> Vec<String> {
    type Why = fn(&Measured) -> Option<&str>;
    let columns: [(&str, Why); 4] = [
        ("calls", |it| it.calls.why()),
        ("instructions", |it| it.steps.why()),
        ("memory", |it| it.memory_kb.why()),
        ("times and faults", |it| it.time.why()),
    ];
    let mut lines = Vec::new();
    for (column, why) in columns {
        let why = |row: &Row| row.measured().and_then(why).map(str::to_owned);
        let mut reasons: Vec<String> = Vec::new();
        for reason in rows(facts).filter_map(|(_, row)| why(row)) {
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        for reason in reasons {
            let same = rows(facts).filter(|(_, row)| why(row).as_ref() == Some(&reason));
            lines.push(format!("no {column} of {}: {reason}", names(same)));
        }
    }
    lines
}

/// All rows, each with its program.
fn rows(facts: &Programs) -> impl Iterator<Item = (&Comparison, &Row)> {
    let tables = facts.tables.iter();
    tables.flat_map(|comparison| comparison.rows.iter().map(move |row| (comparison, row)))
}

/// The names of some rows, by their programs: the program alone where those are all.
fn names<'a>(rows: impl Iterator<Item = (&'a Comparison, &'a Row)>) -> String {
    let mut by_program: Vec<(&Comparison, Vec<&str>)> = Vec::new();
    for (comparison, row) in rows {
        match by_program.last_mut() {
            Some((last, names)) if last.program == comparison.program => names.push(&row.runtime),
            _ => by_program.push((comparison, vec![&row.runtime])),
        }
    }
    let says = by_program.into_iter().map(|(comparison, names)| {
        let measured = comparison
            .rows
            .iter()
            .filter(|row| row.measured().is_some());
        let without = measured.count().saturating_sub(names.len());
        let program = &comparison.program;
        match (without, names.contains(&OURS)) {
            (0, _) => program.clone(),
            (1, false) => format!("{program} (all but ours)"),
            _ => format!("{program} ({})", names.join("; ")),
        }
    });
    says.collect::<Vec<_>>().join(", ")
}

/// What is not installed, a line a runtime: a narrow terminal has no room for it in the table.
fn missing(facts: &Programs) -> Vec<String> {
    let mut lines = Vec::new();
    for (_, row) in rows(facts) {
        if let Outcome::NotInstalled(what) = &row.found {
            let line = format!("{}: not installed: {what} (make deps)", row.runtime);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}
