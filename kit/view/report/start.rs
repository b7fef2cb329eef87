//! What one start costs, as it is shown.

mod sentences;
mod tables;

use super::Shown;
use super::words::list;
use crate::figure::{Axis, Bars, Boxes, Dots, Figure};
use crate::report::start::smallest::Smallest;
use crate::report::start::traces::{Kind, Traces, Work};
use crate::report::start::turns::{Before, Pair, Turn, Turns};
use crate::report::start::{OURS, Start};
use crate::time::{Control, Ratio};

/// Sentences, figures and tables of these facts.
pub(super) fn show(facts: &Start) -> Shown {
    let mut figures = Vec::new();
    if let Some(turns) = facts.turns.measured() {
        figures.push(times(turns));
        figures.push(ratios(turns));
        figures.extend(by_predecessor(turns, facts.traces.measured()));
    }
    if let Some(smallest) = facts.smallest.measured() {
        figures.extend(calls(smallest));
    }
    Shown {
        says: sentences::says(facts),
        more: sentences::more(facts),
        figures,
        tables: tables::page(facts),
        unfolded: false,
    }
}

/// How the times of each program are spread, alone and in turn.
fn times(turns: &Turns) -> Figure {
    let micros = |times: &[u64]| times.iter().map(|ns| *ns as f64 / 1e3).collect::<Vec<_>>();
    let mut boxes = Boxes::new(Axis::log("µs from clone to reaped"));
    for turn in &turns.programs {
        boxes = boxes
            .values(format!("{}, alone", turn.name), micros(&turn.time.alone_ns))
            .values(
                format!("{}, in turn", turn.name),
                micros(&turn.time.in_turn_ns),
            );
    }
    let medians = turns.programs.iter().map(|turn| {
        let (alone, in_turn) = (turn.time.alone.median_ns, turn.time.in_turn.median_ns);
        format!("{} {} and {} µs", turn.name, us(alone), us(in_turn))
    });
    Figure::new(
        "How long hello takes from its start to its end, alone and in turn with others",
        format!("Medians alone and in turn: {}.", list(medians)),
        boxes,
    )
}

/// How many times as long as ours each takes.
fn ratios(turns: &Turns) -> Figure {
    let mut dots = Dots::new(Axis::log("times ours")).reference(1.0, "as long as ours");
    let mut said = Vec::new();
    for turn in &turns.programs {
        if let Some(ratio) = &turn.to_ours {
            dots = dots.dot(turn.name.clone(), ratio.ratio, ratio.low, ratio.high);
            said.push(format!("{} {ratio}", turn.name));
        }
    }
    Figure::new(
        "How many times as long as barest's a start takes",
        match said.is_empty() {
            true => "There is no other program here to compare with.".to_owned(),
            false => format!("In turn, with 95 % intervals: {}.", list(said)),
        },
        dots,
    )
}

/// What it makes of the first program which was started before it.
fn by_predecessor(turns: &Turns, traces: Option<&Traces>) -> Option<Figure> {
    let first = turns.programs.first()?;
    let mut dots = Dots::new(Axis::linear("times as long").without_zero())
        .reference(1.0, "as after itself, or after nothing");
    let pairs = after(turns, first);
    for pair in pairs.iter().filter(|pair| !is_itself(pair)) {
        let Ratio {
            ratio, low, high, ..
        } = pair.to_itself;
        dots = dots.dot(format!("after {}", before(&pair.after)), ratio, low, high);
    }
    let effects = traces.into_iter().flat_map(|traces| {
        let of_first = |kind: Kind| {
            let mut effects = traces.effects.iter();
            effects.find(|effect| effect.program == first.name && effect.kind == kind)
        };
        let works = traces.works.iter();
        works.filter_map(move |work| Some((work, of_first(work.kind)?)))
    });
    for (work, effect) in effects {
        let ratio = effect.ratio;
        dots = dots.dot(
            format!("after {}", worked(work)),
            ratio.ratio,
            ratio.low,
            ratio.high,
        );
    }
    let most = pairs
        .iter()
        .max_by(|a, b| a.to_itself.ratio.total_cmp(&b.to_itself.ratio))?;
    Some(Figure::new(
        format!(
            "What it makes of {} which process was before it",
            first.name
        ),
        format!(
            "Of programs, most after {}: {} times as long as after itself; the lower rows are a \
             process that did one thing only, against one that did nothing.",
            before(&most.after),
            most.to_itself
        ),
        dots,
    ))
}

/// How many of each call the dynamic `true` makes.
fn calls(smallest: &Smallest) -> Option<Figure> {
    let dynamic: Vec<_> = smallest
        .programs
        .iter()
        .filter(|small| {
            ["dynamic", "shared"]
                .iter()
                .any(|how| small.name.ends_with(how))
        })
        .filter_map(|small| Some((small, small.calls.measured()?)))
        .collect();
    let mut names: Vec<&str> = Vec::new();
    for (_, calls) in dynamic.iter().rev() {
        for call in *calls {
            if !names.contains(&call.name.as_str()) {
                names.push(&call.name);
            }
        }
    }
    let mut bars = Bars::new(Axis::linear("calls"))
        .categories(dynamic.iter().map(|(small, _)| small.name.clone()));
    for name in names {
        for (category, (_, calls)) in dynamic.iter().enumerate() {
            if let Some(call) = calls.iter().find(|call| call.name == name) {
                bars = bars.bar(name, call.count.max, category);
                if !call.count.is_fixed() {
                    bars = bars.said(call.count.to_string());
                }
            }
        }
    }
    let totals: Vec<_> = dynamic
        .iter()
        .filter_map(|(small, _)| Some(format!("{} makes {}", small.name, small.total()?)))
        .collect();
    (!totals.is_empty()).then(|| {
        Figure::new(
            "Which calls a dynamic true makes",
            format!("With execve and exit, {}.", list(totals)),
            bars,
        )
    })
}

/// What a program was started after, in the order of the facts.
fn after<'a>(turns: &'a Turns, program: &Turn) -> Vec<&'a Pair> {
    let pairs = turns.pairs.iter();
    pairs.filter(|pair| pair.what == program.name).collect()
}

fn is_itself(pair: &Pair) -> bool {
    matches!(&pair.after, Before::Program(name) if *name == pair.what)
}

/// What was started before, as in `after …`.
fn before(before: &Before) -> String {
    match before {
        Before::Program(name) if name == OURS => "ours".to_owned(),
        Before::Program(name) => name.clone(),
        Before::Copy(name) => format!("a copy of {name}"),
        Before::Floor => "no program".to_owned(),
    }
}

/// What was done before, as in `after …`.
fn worked(work: &Work) -> String {
    let amount = work.amount;
    match work.kind {
        Kind::Nothing => "nothing".to_owned(),
        Kind::Loop => format!("{amount} rounds of a loop"),
        Kind::Branch => format!("{amount} times 8192 jumps"),
        Kind::Cpuid => format!("{amount} CPUID"),
        Kind::Fault => format!("{amount} faults of one page"),
        Kind::Write => format!("writing {amount} pages"),
    }
}

/// Whether a ratio is one that may be called a difference: its interval does not hold 1, and what
/// is equal was found equal.
fn differs(ratio: &Ratio, control: &Control) -> bool {
    control.holds && !ratio.no_difference
}

/// Microseconds, with as many digits as say something.
fn us(ns: u64) -> String {
    match ns {
        0..100_000 => format!("{:.1}", ns as f64 / 1e3),
        _ => format!("{:.0}", ns as f64 / 1e3),
    }
}
