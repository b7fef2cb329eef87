//! How the linking of a system is shown: who shares what, how much of it is used, what a flaw
//! reaches and what moves, beside what the text found on its author's machine.

mod sentences;
mod tables;

use crate::figure::Figure;
use crate::report::Found;
use crate::report::system::{Flaws, Moving, Part, Started, Surveyed, System};
use crate::start::Place;
use crate::view::start::area;
use crate::view::survey::{aslr, exposure, libraries, symbols};

use super::Shown;

/// Sentences, figures and tables of these facts.
pub(super) fn show(facts: &System) -> Shown {
    Shown {
        says: sentences::says(facts),
        more: sentences::more(facts),
        figures: figures(facts),
        tables: tables::page(facts),
        unfolded: false,
    }
}

/// One figure a question, of those that were answered and have something to draw.
fn figures(facts: &System) -> Vec<Figure> {
    let mut figures = Vec::new();
    if let Found::Measured(Surveyed {
        sharing,
        symbols: used,
        flaws,
        ..
    }) = &facts.surveyed
    {
        if !sharing.users.is_empty() {
            let names = sharing.first.iter().map(|it| it.name.clone());
            let names: Vec<String> = names.collect();
            figures.push(libraries::drawn(&sharing.users, &names, &sharing.few));
        }
        if used.spread.is_some() {
            figures.push(symbols::drawn(used.shares(), used.spread.as_ref()));
        }
        if !flaws.flaws.is_empty() {
            figures.push(reached(flaws));
        }
    }
    let moving = moving(facts);
    if !moving.is_empty() {
        figures.push(aslr::drawn(&moving));
    }
    figures
}

fn reached(flaws: &Flaws) -> Figure {
    let rows = flaws.flaws.iter().map(|flaw| {
        let reached = &flaw.reached;
        (flaw.library.clone(), reached.direct, reached.through_others)
    });
    let all = [flaws.all.programs(), flaws.without_libc.programs()];
    exposure::drawn(rows.collect(), all, flaws.programs)
}

/// The programs that were started.
fn started(facts: &System) -> impl Iterator<Item = &Moving> {
    facts.started.iter().filter_map(|it| it.found.measured())
}

/// The ways of linking of which none was started, and why.
fn not_started(facts: &System) -> impl Iterator<Item = (&Started, &str)> {
    let started = facts.started.iter();
    started.filter_map(|it| Some((it, it.found.why()?)))
}

/// Those that were, as the survey's own figure and answer need them.
fn moving(facts: &System) -> Vec<aslr::Moving> {
    let part = |moving: &Moving, part: &Part| aslr::Part {
        what: part.what,
        name: match (part.what, &part.library) {
            (_, Some(library)) => library.clone(),
            (Place::Interpreter, None) if moving.together => aslr::loader_and(moving.libraries),
            (Place::Interpreter, None) => "loader".to_owned(),
            (place, None) => area(place).to_owned(),
        },
        distinct: part.distinct,
        bits_by_spread: part.bits_by_spread,
    };
    let one = |it: &Moving| aslr::Moving {
        name: it.program.clone(),
        linkage: it.linkage,
        pie: it.pie,
        randomized: it.randomized,
        starts: it.starts,
        parts: it.parts.iter().map(|its| part(it, its)).collect(),
    };
    started(facts).map(one).collect()
}
