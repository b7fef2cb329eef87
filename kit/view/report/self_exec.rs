//! How the time from one exec to the next is shown: each program's times, and dynamic by static.

use crate::figure::{Axis, Boxes, Dots, Figure};
use crate::peers::Libc;
use crate::report::self_exec::{Measured, Pair, Program, SelfExec, TEXT};
use crate::time::Ratio;
use crate::view::time::micros;
use crate::view::{Page, Table, counted, number, text};

use super::Shown;
use super::words::noisy;

/// Sentences, figures and tables of these facts.
pub(super) fn show(facts: &SelfExec) -> Shown {
    let pairs: Vec<_> = facts.pairs.iter().map(pair).collect();
    let (first, others) = pairs.split_at(pairs.len().min(FIRST));
    let holds = &facts.control.holds;
    let noisy = (!holds).then(|| noisy(&facts.control_of, &facts.control.ratio));
    let asked = "A program that executes itself once tells what an exec costs, and all that happens \
                 before main.";
    let says = [asked.to_owned()].into_iter().chain(first.to_vec());
    let more = floor(facts).into_iter().chain(others.to_vec());
    Shown {
        says: says.chain(against_the_text(facts)).chain(noisy).collect(),
        more: more.chain(crossed(facts)).collect(),
        figures: figures(facts),
        tables: page(facts),
        unfolded: false,
    }
}

/// The programs that were measured.
fn measured(facts: &SelfExec) -> impl Iterator<Item = (&Program, &Measured)> {
    let programs = facts.programs.iter();
    programs.filter_map(|program| Some((program, program.found.measured()?)))
}

/// Of how many C libraries the paragraph tells.
const FIRST: usize = 2;

/// What dynamic linking takes with one libc.
fn pair(pair: &Pair) -> String {
    let Pair { libc, ratio, .. } = pair;
    let [dynamic, fixed] = [pair.dynamic_ns, pair.static_ns].map(micros);
    let times = format!("{dynamic} µs when linked dynamically, {fixed} µs when statically");
    match ratio.no_difference {
        true => format!(
            "With {libc} it takes {times}, which shows no difference: {ratio} times in pairs."
        ),
        false => format!("With {libc} it takes {times}: {ratio} times as long in pairs."),
    }
}

/// Whether what the text found holds here.
fn against_the_text(facts: &SelfExec) -> Option<String> {
    let musl = facts.pairs.iter().find(|pair| pair.libc == Libc::Musl)?;
    let ratio = TEXT.dynamic_ns as f64 / TEXT.static_ns as f64;
    let says = format!(
        "The text measured {} and {} ns with musl on its author's machine, a ratio of {ratio:.2}",
        TEXT.dynamic_ns, TEXT.static_ns
    );
    Some(match verdict(&musl.ratio) {
        Verdict::Longer => format!("{says}; that dynamic linking costs more holds here."),
        Verdict::Same => format!("{says}; here, no difference is shown."),
        Verdict::Shorter => format!("{says}; here it is the other way round."),
    })
}

enum Verdict {
    Longer,
    Same,
    Shorter,
}

fn verdict(ratio: &Ratio) -> Verdict {
    match ratio {
        _ if ratio.no_difference => Verdict::Same,
        _ if ratio.ratio > 1.0 => Verdict::Longer,
        _ => Verdict::Shorter,
    }
}

/// What is left without a C library.
fn floor(facts: &SelfExec) -> Option<String> {
    let (_, floor) = measured(facts).find(|(program, _)| program.libc == Libc::None)?;
    Some(format!(
        "The same without a C library takes {} µs: that is the kernel's exec.",
        micros(floor.spread.median_ns)
    ))
}

/// What the text's subtraction makes of these runs.
fn crossed(facts: &SelfExec) -> Vec<String> {
    let runs: usize = measured(facts).map(|(_, it)| it.times_ns.len()).sum();
    let crossed: usize = measured(facts).map(|(_, it)| it.crossed).sum();
    let all: u64 = measured(facts).flat_map(|(_, it)| &it.times_ns).sum();
    let expected = all as f64 / SECOND;
    let says = format!(
        "The text subtracted the nanoseconds within a second only, which is a second too little \
         where one begins in between: true of {crossed} of these {runs} runs ({expected:.1} are to be \
         expected)",
    );
    let worst = measured(facts)
        .filter(|(_, it)| it.crossed > 0)
        .min_by(|(_, one), (_, other)| one.mean_of_tv_nsec_ns.total_cmp(&other.mean_of_tv_nsec_ns));
    let one = SECOND / TEXT.runs as f64;
    // One such run among the text's takes so much from their mean.
    let in_the_text = match one > TEXT.dynamic_ns as f64 {
        true => format!(
            "One such run would have moved the text's means by {one:.0} ns, below zero, so there was \
             none among its {}.",
            TEXT.runs
        ),
        false => format!("One such run would have moved the text's means by {one:.0} ns."),
    };
    let says = match worst {
        _ if runs == 0 => return Vec::new(),
        None => format!("{says}."),
        Some((program, it)) => format!(
            "{says}; by it the mean of {} would be {:.0} ns, not {:.0}.",
            program.runtime, it.mean_of_tv_nsec_ns, it.mean_ns
        ),
    };
    vec![says, in_the_text]
}

/// In nanoseconds.
const SECOND: f64 = 1e9;

fn figures(facts: &SelfExec) -> Vec<Figure> {
    let mut boxes = Boxes::new(Axis::log("µs from exec to exec"));
    for (program, it) in measured(facts) {
        let times = it.times_ns.iter().map(|ns| *ns as f64 / 1e3);
        boxes = boxes.values(program.runtime.clone(), times);
    }
    let median = |(program, it): (&Program, &Measured)| {
        format!("{} {} µs", program.runtime, micros(it.spread.median_ns))
    };
    let medians: Vec<_> = measured(facts).map(median).collect();
    let mut figures = vec![Figure::new(
        "From one exec to the next",
        format!("Medians: {}.", medians.join("; ")),
        boxes,
    )];
    if !facts.pairs.is_empty() {
        let mut dots = Dots::new(Axis::linear("times as long as static"));
        dots = dots.reference(1.0, "no difference");
        let mut says = Vec::new();
        for Pair { libc, ratio, .. } in &facts.pairs {
            dots = dots.dot(libc.to_string(), ratio.ratio, ratio.low, ratio.high);
            says.push(format!("{ratio} times with {libc}"));
        }
        figures.push(Figure::new(
            "Dynamic by static",
            format!("Linked dynamically it takes {}.", says.join(", ")),
            dots,
        ));
    }
    figures
}

fn page(facts: &SelfExec) -> Page {
    let mut table = Table::new([
        text("runtime"),
        number("runs"),
        number("min µs"),
        number("median"),
        number("p90"),
        number("mean ns"),
        number("mean of tv_nsec").optional(),
        number("crossed").optional(),
    ]);
    for (program, it) in measured(facts) {
        table.row([
            program.runtime.clone(),
            it.times_ns.len().to_string(),
            micros(it.spread.min_ns),
            micros(it.spread.median_ns),
            micros(it.spread.p90_ns),
            format!("{:.0}", it.mean_ns),
            format!("{:.0}", it.mean_of_tv_nsec_ns),
            it.crossed.to_string(),
        ]);
    }
    let mut page = Page::new().table(table).note(format!(
        "From the first reading of the clock in main to that after an exec of itself. mean of \
         tv_nsec: as the text took it; crossed: runs in which a second began. {} of shuffled order; \
         {} against a copy of itself {}.",
        counted(facts.rounds as u64, "round"),
        facts.control_of,
        facts.control.ratio
    ));
    if facts.processor.is_none() {
        page = page.note("Not kept on one processor: times vary more.");
    }
    let programs = facts.programs.iter();
    programs.fold(page, |page, program| match program.found.why() {
        Some(why) => page.note(format!("{}: not measured: {why}", program.runtime)),
        None => page,
    })
}
