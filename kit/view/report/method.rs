//! How it was measured.

use crate::figure::{Axis, Dots, Figure};
use crate::report::method::Method;
use crate::view::{Page, Table, text, yes_no};

use super::Shown;
use super::words::list;

/// Sentences, figures and tables of these facts.
pub(super) fn show(facts: &Method) -> Shown {
    Shown {
        says: vec![quiet(facts), itself(facts), traps(facts), peers(facts)],
        more: Vec::new(),
        figures: drawing(facts).into_iter().collect(),
        tables: tables(facts),
        unfolded: false,
    }
}

fn quiet(facts: &Method) -> String {
    let load = match facts.load {
        Some(load) => format!(" and the load was {load:.2}"),
        None => String::new(),
    };
    format!(
        "While this was measured, the same work took {:.2} times as long in the slowest tenth of tries \
         as in the fastest{load}.",
        facts.noise
    )
}

/// What a program against itself came to.
fn itself(facts: &Method) -> String {
    if let Some(why) = &facts.uncontrolled {
        return format!("A program could not be compared with itself: {why}.");
    }
    let holding = facts
        .controls
        .iter()
        .filter(|control| control.holds)
        .count();
    let all = facts.controls.len();
    let verdict = match holding == all {
        true => "so ratios of this report can be believed to that",
        false => "so ratios of this report that are closer to 1 than that show no difference",
    };
    let furthest = facts
        .controls
        .iter()
        .map(|control| (control.ratio.ratio - 1.0).abs())
        .fold(0.0, f64::max);
    format!(
        "Our true against a copy of itself, {all} times in {} shuffled rounds each, was 1 within 1 % \
         in {holding} of them, at most {:.1} % off: {verdict}.",
        facts.rounds,
        furthest * 100.0
    )
}

fn traps(facts: &Method) -> String {
    let cost = crate::view::time::micros(facts.cpuid_cost_ns);
    match facts.cpuid_traps {
        true => format!(
            "One CPUID instruction took {cost} µs: a hypervisor traps it, and a C library that asks \
             what the processor can do pays for each."
        ),
        false => format!("One CPUID instruction took {cost} µs: it is not trapped."),
    }
}

fn peers(facts: &Method) -> String {
    let absent = match facts.absent.len() {
        0 => "none was missing".to_owned(),
        _ => {
            let absent = facts.absent.iter().map(|absent| &absent.peer);
            format!("missing were {}", list(absent))
        }
    };
    format!(
        "Of the other runtimes {} measured, and {absent}.",
        match facts.present.len() {
            1 => "1 was".to_owned(),
            several => format!("{several} were"),
        }
    )
}

fn drawing(facts: &Method) -> Option<Figure> {
    if facts.controls.is_empty() {
        return None;
    }
    let dots = Dots::new(Axis::linear("times the first copy").without_zero())
        .reference(1.0, "no difference");
    let dots = facts
        .controls
        .iter()
        .enumerate()
        .fold(dots, |dots, (number, control)| {
            let ratio = control.ratio;
            dots.dot(
                format!("run {}", number + 1),
                ratio.ratio,
                ratio.low,
                ratio.high,
            )
        });
    Some(Figure::new("A program against itself", itself(facts), dots))
}

fn tables(facts: &Method) -> Page {
    let mut able = Table::new([
        text("this machine lets the kit"),
        text(""),
        text("if not, why"),
    ]);
    for ability in &facts.abilities {
        let why = ability.why_not.clone().unwrap_or_default();
        able.row([ability.what.clone(), yes_no(ability.able).to_owned(), why]);
    }
    let mut absent = Table::new([text("not measured"), text("why")]);
    for peer in &facts.absent {
        absent.row([&peer.peer, &peer.why]);
    }
    Page::new()
        .note(format!("Machine: {}.", facts.machine))
        .note(format!(
            "Every subject starts with the environment {} and nothing else, its streams on /dev/null.",
            facts.environment.join(" ")
        ))
        .table(able)
        .table(absent)
        .note(
            "To measure it again: make in a checkout, or barest report there; barest doctor tells how \
             to make the machine quieter.",
        )
}
