//! How the cost of a wrapper is shown: each in times the target alone, by single starts and by
//! thousands in a row, beside what the text has.

use crate::figure::{Axis, Bars, Dots, Figure};
use crate::report::wrapper::{Between, Measured, Wrapper};
use crate::time::Ratio;
use crate::view::time::micros;
use crate::view::{Page, Table, number, text};

use super::Shown;
use super::words::{noisy, times};

/// Sentences, figures and tables of these facts.
pub(super) fn show(facts: &Wrapper) -> Shown {
    let noisy = (!facts.control.holds).then(|| noisy("the target", &facts.control.ratio));
    let says = [alone(facts), best(facts), musl(facts), faster(facts), noisy];
    Shown {
        says: says.into_iter().flatten().collect(),
        more: direct(facts).into_iter().chain(others(facts)).collect(),
        figures: figures(facts),
        tables: page(facts),
        unfolded: false,
    }
}

/// The ways that were measured.
fn measured(facts: &Wrapper) -> impl Iterator<Item = (Between, &Measured)> {
    let ways = facts.ways.iter();
    ways.filter_map(|way| Some((way.between, way.found.measured()?)))
}

/// One of them, if it was.
fn of(facts: &Wrapper, between: Between) -> Option<&Measured> {
    measured(facts)
        .find(|(it, _)| *it == between)
        .map(|(_, it)| it)
}

/// How many times as long as the target alone many starts in a row took.
fn row_ratio(facts: &Wrapper, it: &Measured) -> Option<f64> {
    let alone = of(facts, Between::Nothing)?.run_ns();
    (alone > 0).then(|| it.run_ns() as f64 / alone as f64)
}

/// The same of the text's numbers.
fn text_ratio(between: Between) -> Option<f64> {
    let middle = |between: Between| {
        let mut runs = between.in_text()?.runs_ms;
        runs.sort_unstable();
        Some(runs[1] as f64)
    };
    Some(middle(between)? / middle(Between::Nothing)?)
}

/// What there is without a wrapper.
fn alone(facts: &Wrapper) -> Option<String> {
    let alone = of(facts, Between::Nothing)?;
    Some(format!(
        "A target that exits at once takes {} µs from vfork to reaped when its parent executes it.",
        micros(alone.spread.median_ns)
    ))
}

/// As in `46 % [44, 48]`, of how much more than once.
fn percent(ratio: &Ratio) -> String {
    let more = |times: f64| (times - 1.0) * 100.0;
    format!(
        "{:.0} % [{:.0}, {:.0}]",
        more(ratio.ratio),
        more(ratio.low),
        more(ratio.high)
    )
}

/// The wrapper that costs least, of those that execute the target.
fn best(facts: &Wrapper) -> Option<String> {
    let (between, ratio) = measured(facts)
        .filter(|(between, _)| *between != Between::Direct)
        .filter_map(|(between, it)| Some((between, it.times_alone?)))
        .min_by(|(_, one), (_, other)| one.ratio.total_cmp(&other.ratio))?;
    let name = between.name();
    if ratio.no_difference {
        return Some(format!(
            "A wrapper that does nothing but execute it shows no difference in the best case \
             ({name}): {ratio} times."
        ));
    }
    let text = text_ratio(Between::Assembler)?;
    let in_text = format!("the text found {:.0} %", (text - 1.0) * 100.0);
    Some(match ratio.ratio > 1.0 {
        true => format!(
            "A wrapper that does nothing but execute it adds {} in the best case ({name}); {in_text} \
             on its author's machine.",
            percent(&ratio)
        ),
        false => format!(
            "A wrapper that does nothing but execute it takes even less in the best case ({name}): \
             {ratio} times; {in_text} more on its author's machine."
        ),
    })
}

/// What wrappers of a C library take that prepares much.
fn others(facts: &Wrapper) -> Option<String> {
    let says = |between: Between| {
        let ratio = of(facts, between)?.times_alone?;
        let text = text_ratio(between)?;
        Some(format!(
            "{} {ratio} times ({text:.2} in the text)",
            between.name()
        ))
    };
    let kinds = [
        Between::GlibcStatic,
        Between::GlibcDynamic,
        Between::MuslDynamic,
    ];
    let all: Vec<_> = kinds.into_iter().filter_map(says).collect();
    (!all.is_empty()).then(|| {
        format!(
            "Of other wrappers in C, the whole takes: {}.",
            all.join(", ")
        )
    })
}

/// Whether musl's static wrapper is nearly as good as the assembler's.
fn musl(facts: &Wrapper) -> Option<String> {
    let ratio = of(facts, Between::MuslStatic)?.times_assembler?;
    let text = text_ratio(Between::MuslStatic)? / text_ratio(Between::Assembler)?;
    let in_text = format!("in the text it was {:.0} % more", (text - 1.0) * 100.0);
    Some(match ratio.no_difference {
        true => format!(
            "With musl, linked statically, no difference to assembler is shown ({ratio} times); {in_text}."
        ),
        false => format!(
            "With musl, linked statically, the whole takes {ratio} times as long as with assembler; \
             {in_text}."
        ),
    })
}

/// What the text says of assembler: nothing runs faster.
fn faster(facts: &Wrapper) -> Option<String> {
    of(facts, Between::Assembler)?;
    let faster = measured(facts)
        .filter(|(between, _)| *between != Between::Nothing)
        .filter_map(|(between, it)| Some((between, it.times_assembler?)))
        .filter(|(_, ratio)| ratio.high < 1.0);
    let faster: Vec<_> = faster
        .map(|(between, ratio)| format!("{} ({ratio} times)", between.name()))
        .collect();
    Some(match faster.is_empty() {
        true => "\"Nothing runs faster than assembler here\" holds for all wrappers of this list."
            .to_owned(),
        false => format!(
            "\"Nothing runs faster than assembler here\" does not hold any more: {}.",
            faster.join(", ")
        ),
    })
}

/// What is saved by leaving the second execve out.
fn direct(facts: &Wrapper) -> Option<String> {
    let ratio = of(facts, Between::Direct)?.times_alone?;
    Some(match ratio.no_difference {
        true => format!(
            "launch --direct, which maps the target without a second execve, shows no difference to \
             the target alone: {ratio} times."
        ),
        false => format!(
            "launch --direct, which maps the target without a second execve, takes {ratio} times as \
             long as the target alone."
        ),
    })
}

fn figures(facts: &Wrapper) -> Vec<Figure> {
    let mut dots = Dots::new(Axis::linear("times the target alone")).reference(1.0, "target alone");
    let mut says = Vec::new();
    for (between, it) in measured(facts) {
        if let Some(ratio) = &it.times_alone {
            dots = dots.dot(between.name(), ratio.ratio, ratio.low, ratio.high);
            says.push(format!("{} {ratio}", between.name()));
        }
    }
    let single = Figure::new(
        "One start through a wrapper",
        format!("Times the target alone: {}.", or_none(&says)),
        dots,
    );
    let mut bars =
        Bars::new(Axis::linear("times the target alone")).categories(["here", "the text"]);
    let mut says = Vec::new();
    for (between, it) in measured(facts).filter(|(between, _)| *between != Between::Nothing) {
        let Some(here) = row_ratio(facts, it) else {
            continue;
        };
        bars = bars.bar(between.name(), here, 0);
        let mut line = format!("{} {here:.2}", between.name());
        if let Some(text) = text_ratio(between) {
            bars = bars.bar(between.name(), text, 1);
            line += &format!(" (text: {text:.2})");
        }
        says.push(line);
    }
    let in_a_row = Figure::new(
        "Many starts in a row",
        format!(
            "{} starts one after the other, in times those of the target alone: {}.",
            facts.starts,
            or_none(&says)
        ),
        bars,
    );
    vec![single, in_a_row]
}

fn or_none(says: &[String]) -> String {
    match says {
        [] => "none was measured".to_owned(),
        says => says.join("; "),
    }
}

fn page(facts: &Wrapper) -> Page {
    let mut table = Table::new([
        text("between"),
        number("bytes"),
        number("start µs"),
        number("times alone"),
        number("in a row, s").optional(),
        number("times").optional(),
        number("text, s").optional(),
        number("times").optional(),
        number("text's bytes").optional(),
    ]);
    let none = || "-".to_owned();
    for (between, it) in measured(facts) {
        let in_text = between.in_text();
        let seconds: Vec<_> = it
            .runs_ns
            .iter()
            .map(|ns| format!("{:.2}", *ns as f64 / 1e9))
            .collect();
        let text_seconds = in_text.map(|text| {
            text.runs_ms
                .map(|ms| format!("{:.2}", ms as f64 / 1e3))
                .join(" ")
        });
        table.row([
            between.name().to_owned(),
            it.bytes.map_or_else(none, |bytes| bytes.to_string()),
            micros(it.spread.median_ns),
            it.times_alone.as_ref().map_or("1".to_owned(), times),
            seconds.join(" "),
            row_ratio(facts, it).map_or_else(none, |ratio| format!("{ratio:.2}")),
            text_seconds.unwrap_or_else(none),
            text_ratio(between).map_or_else(none, |ratio| format!("{ratio:.2}")),
            in_text
                .and_then(|text| text.bytes)
                .map_or_else(none, |bytes| bytes.to_string()),
        ]);
    }
    let mut page = Page::new().table(table).note(format!(
        "start: the median of single starts from vfork to reaped, in {} shuffled rounds; times \
         alone: the median of the rounds' ratios [95 % interval]; 1 where it holds 1. in a row: {} \
         starts one after the other, three times; times: by the middle run. All on one processor; the \
         text's 100000 starts ran on its author's. The target against a copy of itself: {}.",
        facts.rounds, facts.starts, facts.control.ratio
    ));
    for way in &facts.ways {
        if let Some(why) = way.found.why() {
            page = page.note(format!("{}: not measured: {why}", way.between.name()));
        }
    }
    facts
        .notes
        .iter()
        .fold(page, |page, note| page.note(format!("note: {note}")))
}
