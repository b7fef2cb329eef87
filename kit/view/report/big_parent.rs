//! How starts from parents of several sizes are shown: the times by what the parent holds, and how
//! they grow.

use crate::figure::{Axis, Figure, Lines, Mark};
use crate::report::Found;
use crate::report::big_parent::{BigParent, Child, Growth, Pages, Parent, Start, Times, Way, size};
use crate::time::Spread;
use crate::view::time::micros;
use crate::view::{Page, Table, number, text};

use super::Shown;
use super::words::{self, list, times};

/// Sentences, figures and tables of these facts.
pub(super) fn show(facts: &BigParent) -> Shown {
    let none = !facts.parents.iter().any(|parent| parent.asked > 0);
    let none = none.then(|| "No parent with much memory could be measured.".to_owned());
    let says = [fork(facts), against_vfork(facts), huge(facts), none];
    Shown {
        says: says.into_iter().flatten().collect(),
        more: others(facts),
        figures: figures(facts),
        tables: page(facts),
        unfolded: false,
    }
}

fn growth(facts: &BigParent, pages: Pages) -> impl Iterator<Item = &Growth> {
    facts
        .growth
        .iter()
        .filter(move |it| it.pages == pages && it.target.child == Child::Executes)
}

/// How long fork takes in pages of 4 KiB.
fn fork(facts: &BigParent) -> Option<String> {
    let it = growth(facts, Pages::Small).find(|it| it.target.way == Way::Fork)?;
    let held = format!(
        "To fork, have the child execute a program of {} bytes and reap it takes {} from a parent that \
         holds {} and {} from one that holds {} in pages of 4 KiB",
        facts.program_bytes,
        time(it.from_ns as f64),
        kb(it.from_kb),
        time(it.to_ns as f64),
        kb(it.to_kb)
    );
    Some(match it.is_shown() {
        true => format!("{held}: {} more for each GiB.", time(it.ns_per_gib())),
        false => format!("{held}, which shows no growth ({} times).", it.ratio),
    })
}

/// How fork compares with vfork at the largest parent.
fn against_vfork(facts: &BigParent) -> Option<String> {
    let largest = facts.parents.iter().rfind(|it| it.pages == Pages::Small)?;
    let start = largest
        .starts
        .iter()
        .find(|it| it.target.way == Way::Fork && it.target.child == Child::Executes)?;
    let ratio = start.found.measured()?.times_vfork?;
    let whose = kb(largest.rss_kb);
    Some(match ratio.no_difference {
        true => {
            format!("From the one of {whose}, fork and vfork show no difference: {ratio} times.")
        }
        false => format!("From the one of {whose}, fork takes {ratio} times as long as vfork."),
    })
}

/// Which of the others grow.
fn others(facts: &BigParent) -> Vec<String> {
    let others: Vec<_> = growth(facts, Pages::Small)
        .filter(|it| it.target.way != Way::Fork)
        .collect();
    let says = |shown: bool| {
        let some = others.iter().filter(|it| it.is_shown() == shown);
        some.map(|it| match shown {
            true => format!("{} ({} for each GiB)", it.target, time(it.ns_per_gib())),
            false => format!(
                "{} ({} and {})",
                it.target,
                time(it.from_ns as f64),
                time(it.to_ns as f64)
            ),
        })
        .collect::<Vec<_>>()
    };
    let (grow, still) = (says(true), says(false));
    let still = (!still.is_empty())
        .then(|| format!("{} show no growth between these two parents.", list(still)));
    let grow = (!grow.is_empty()).then(|| format!("Also growing: {}.", list(grow)));
    still.into_iter().chain(grow).collect()
}

/// What huge pages change.
fn huge(facts: &BigParent) -> Option<String> {
    let largest = facts.parents.iter().rfind(|it| it.pages == Pages::Huge);
    let Some(largest) = largest else {
        let why = facts
            .left_out
            .iter()
            .find(|it| it.contains(&Pages::Huge.to_string()));
        return why.map(|why| format!("Not measured: {why}."));
    };
    let share = largest.huge_kb as f64 / largest.rss_kb.max(1) as f64;
    let it = growth(facts, Pages::Huge).find(|it| it.target.way == Way::Fork)?;
    let held = format!(
        "Where {:.0} % of {} are in huge pages, fork takes {}",
        share * 100.0,
        kb(it.to_kb),
        time(it.to_ns as f64)
    );
    Some(match it.is_shown() {
        true => format!("{held}: {} more for each GiB.", time(it.ns_per_gib())),
        false => format!("{held}, which shows no growth ({} times).", it.ratio),
    })
}

/// Nanoseconds in the unit that suits them.
fn time(ns: f64) -> String {
    match ns.abs() {
        it if it < 1e6 => format!("{:.1} µs", ns / 1e3),
        it if it < 1e9 => format!("{:.1} ms", ns / 1e6),
        _ => format!("{:.1} s", ns / 1e9),
    }
}

/// Memory, as in `9.1 MiB`.
fn kb(kb: u64) -> String {
    words::size(kb.saturating_mul(1024))
}

/// The starts of one kind of pages: the parent without memory of its own is of both.
fn of_pages(facts: &BigParent, pages: Pages) -> impl Iterator<Item = &Parent> {
    facts
        .parents
        .iter()
        .filter(move |it| it.pages == pages || it.asked == 0)
}

fn spread(start: &Start) -> Option<&Spread> {
    start.found.measured().map(|times| &times.spread)
}

fn figures(facts: &BigParent) -> Vec<Figure> {
    let here = |pages| {
        facts
            .parents
            .iter()
            .any(|it| it.pages == pages && it.asked > 0)
    };
    let figure = |pages: Pages| {
        let axes = (Axis::log("MiB that the parent holds"), Axis::log("µs"));
        let mut lines = Lines::new(axes.0, axes.1);
        let mut says = Vec::new();
        for way in [Way::Fork, Way::Vfork, Way::Clone, Way::PosixSpawn] {
            let points = of_pages(facts, pages).filter_map(|parent| {
                let start = parent
                    .starts
                    .iter()
                    .find(|it| it.target.way == way && it.target.child == Child::Executes)?;
                let median = spread(start)?.median_ns as f64 / 1e3;
                Some((parent.rss_kb as f64 / 1024.0, median))
            });
            let points: Vec<_> = points.collect();
            if let Some((held, median)) = points.last() {
                let held = kb((held * 1024.0) as u64);
                says.push(format!("{way} {} from {held}", time(median * 1e3)));
            }
            lines = lines.series(way.to_string(), Mark::Both, points);
        }
        Figure::new(
            format!("A start by what its parent holds, in {pages}"),
            format!("From the largest: {}.", says.join("; ")),
            lines,
        )
    };
    [Pages::Small, Pages::Huge]
        .into_iter()
        .filter(|pages| here(*pages))
        .map(figure)
        .collect()
}

fn page(facts: &BigParent) -> Page {
    let mut table = Table::new([
        text("parent holds"),
        number("huge"),
        text("start"),
        number("p10 µs").optional(),
        number("median"),
        number("p90").optional(),
        number("times vfork"),
    ]);
    let mut notes = Vec::new();
    for parent in &facts.parents {
        let share = parent.huge_kb as f64 / parent.rss_kb.max(1) as f64;
        let head = [kb(parent.rss_kb), format!("{:.0} %", share * 100.0)];
        for start in &parent.starts {
            match &start.found {
                Found::Measured(Times {
                    spread,
                    times_vfork,
                }) => table.row(head.iter().cloned().chain([
                    start.target.to_string(),
                    micros(spread.p10_ns),
                    micros(spread.median_ns),
                    micros(spread.p90_ns),
                    times_vfork.as_ref().map_or("-".to_owned(), times),
                ])),
                Found::NotMeasured(why) => notes.push(format!(
                    "{} from {}: not measured: {why}",
                    start.target, head[0]
                )),
            }
        }
    }
    let mut grown = Table::new([
        text("start"),
        text("pages"),
        text("from"),
        text("to"),
        number("µs a GiB"),
        number("times"),
        number("smallest again"),
    ]);
    for it in &facts.growth {
        grown.row([
            it.target.to_string(),
            it.pages.to_string(),
            kb(it.from_kb),
            kb(it.to_kb),
            match it.is_shown() {
                true => format!("{:.1}", it.ns_per_gib() / 1e3),
                false => "not shown".to_owned(),
            },
            times(&it.ratio),
            it.again.as_ref().map_or("-".to_owned(), times),
        ]);
    }
    let page = Page::new()
        .table(table)
        .note(
            "holds: Rss, and what part of it is AnonHugePages. start: from the call until the child \
             is reaped that executes true; with exit, one that ends at once. clone: with CLONE_VM \
             and CLONE_VFORK. times vfork: the median of the rounds' ratios [95 % interval]; 1 \
             where it holds 1.",
        )
        .table(grown)
        .note(format!(
            "times: the largest parent by the smallest, of two moments; smallest again: the same of \
             the smallest, measured once more at the end. Growth is more than that, and than 5 %. \
             There were {} to be had ({}), of which a parent takes half at most.",
            size(facts.room.bytes),
            facts.room.by
        ));
    let left_out = facts.left_out.iter();
    let left_out = left_out.map(|why| format!("left out: {why}"));
    notes.into_iter().chain(left_out).fold(page, Page::note)
}
