//! What the programs are like, in words: ours beside the least and the most of the others.

use super::{Quantity, smallest};
use crate::count::Range;
use crate::figure::exact;
use crate::image::Linkage;
use crate::peers::Libc;
use crate::report::programs::{Comparison, Measured, Programs, Row, Time};
use crate::time::Ratio;
use crate::view::time::micros;

/// How small the smallest program is, and how fast.
pub(super) fn says(facts: &Programs) -> Vec<String> {
    let Some(comparison) = smallest(facts) else {
        return vec!["No program was compared.".to_owned()];
    };
    let says = [
        Some(introduction(comparison)),
        beside(comparison, Quantity::Bytes),
        beside(comparison, Quantity::Calls),
        untimed(comparison).or_else(|| ratios(comparison)),
        noise(facts),
    ];
    says.into_iter().flatten().collect()
}

/// What else there is to say of it, and of the other programs.
pub(super) fn more(facts: &Programs) -> Vec<String> {
    let Some(comparison) = smallest(facts) else {
        return Vec::new();
    };
    let others = facts.tables.iter();
    let others = others.filter(|other| other.program != comparison.program);
    let its = [
        beside(comparison, Quantity::Instructions),
        floor(comparison),
        libraries(comparison),
    ];
    its.into_iter()
        .flatten()
        .chain(others.filter_map(in_short))
        .collect()
}

/// The rows that were measured, with their names.
fn measured(comparison: &Comparison) -> impl Iterator<Item = (&Row, &Measured)> {
    let rows = comparison.rows.iter();
    rows.filter_map(|row| Some((row, row.measured()?)))
}

/// Ours, which is the first row, if it was measured.
fn ours(comparison: &Comparison) -> Option<&Measured> {
    comparison.rows.first()?.measured()
}

/// The others.
fn others(comparison: &Comparison) -> impl Iterator<Item = (&Row, &Measured)> {
    let rows = comparison.rows.iter().skip(1);
    rows.filter_map(|row| Some((row, row.measured()?)))
}

fn introduction(comparison: &Comparison) -> String {
    let program = &comparison.program;
    let other = match others(comparison).count() {
        0 => "no other runtime that was measured".to_owned(),
        1 => "one other runtime".to_owned(),
        many => format!("{many} other runtimes"),
    };
    let absent = comparison.rows.len() - measured(comparison).count();
    let absent = match absent {
        0 => String::new(),
        many => format!(" ({many} could not be measured: see the notes)"),
    };
    format!(
        "The program {program} only {}, so what it takes is what its runtime takes; here ours is \
         beside {other}{absent}.",
        comparison.does
    )
}

/// Ours beside the least and the most of the others, in one quantity.
fn beside(comparison: &Comparison, quantity: Quantity) -> Option<String> {
    let ours = match quantity.of(ours(comparison)?) {
        Ok(ours) => ours,
        Err(why) => {
            let unit = quantity.unit();
            return Some(format!("Its {unit} could not be measured: {why}."));
        }
    };
    let others: Vec<(&str, Range)> = others(comparison)
        .filter_map(|(row, measured)| Some((row.runtime.as_str(), quantity.of(measured).ok()?)))
        .collect();
    let least = others.iter().min_by_key(|(_, value)| value.min);
    let most = others.iter().max_by_key(|(_, value)| value.max);
    let said = amount(ours, quantity);
    let (Some((least, low)), Some((most, high))) = (least, most) else {
        return Some(format!("Ours has {said}."));
    };
    let place = place(ours, &others);
    Some(format!(
        "Ours has {said}, {place}; theirs: {} ({least}) to {} ({most}).",
        number(low.min),
        number(high.max)
    ))
}

/// Whether ours has less than the others.
fn place(ours: Range, others: &[(&str, Range)]) -> String {
    let names = |which: &dyn Fn(&Range) -> bool| -> Vec<&str> {
        let chosen = others.iter().filter(|(_, value)| which(value));
        chosen.map(|(name, _)| *name).collect()
    };
    let below = names(&|value| value.max < ours.min);
    let above = names(&|value| value.min > ours.max).len();
    let equal = names(&|value| value.max >= ours.min && value.min <= ours.max);
    if !below.is_empty() {
        return format!("more than {}", list(&below));
    }
    match (equal.is_empty(), above) {
        (true, 1) => "less than the other one".to_owned(),
        (true, all) => format!("less than all {all} others"),
        (false, 0) => format!("as many as {}", list(&equal)),
        (false, rest) => format!("as many as {} and less than {rest} others", list(&equal)),
    }
}

/// As in `188 bytes`, or `3–5 system calls`.
fn amount(value: Range, quantity: Quantity) -> String {
    match value.is_fixed() {
        true => quantity.counted(value.min),
        false => format!("{}–{}", number(value.min), quantity.counted(value.max)),
    }
}

/// A number with its digits in threes.
fn number(value: usize) -> String {
    exact(value as f64)
}

/// Names in a row: some of them, and how many more there are.
fn list(names: &[&str]) -> String {
    const SOME: usize = 3;
    let quoted: Vec<_> = names.iter().map(|name| format!("“{name}”")).collect();
    match quoted.as_slice() {
        [] => "none".to_owned(),
        [one] => one.clone(),
        [first @ .., last] if quoted.len() <= SOME => format!("{} and {last}", first.join(", ")),
        more => format!("{} and {} more", more[..SOME].join(", "), more.len() - SOME),
    }
}

/// What the C libraries add, each linked statically.
fn libraries(comparison: &Comparison) -> Option<String> {
    let ours = ours(comparison)?;
    let mut seen: Vec<Libc> = Vec::new();
    let mut says = Vec::new();
    for (row, measured) in others(comparison) {
        if row.libc == Libc::None || row.linkage != Linkage::Static || seen.contains(&row.libc) {
            continue;
        }
        seen.push(row.libc);
        let more = |quantity: Quantity| {
            let (ours, theirs) = (quantity.of(ours).ok()?, quantity.of(measured).ok()?);
            Some(match theirs.min.checked_sub(ours.min) {
                Some(more) => format!("{} more", quantity.counted(more)),
                None => format!("{} less", quantity.counted(ours.min - theirs.min)),
            })
        };
        let quantities = [Quantity::Calls, Quantity::Instructions, Quantity::Bytes];
        let more: Vec<_> = quantities.into_iter().filter_map(more).collect();
        let cpuid = measured.steps.measured().map_or(0, |it| it.tally.cpuid);
        let cpuid = match cpuid {
            0 => String::new(),
            many => format!(" ({many} of the instructions are CPUID)"),
        };
        says.push(format!("{} {}{cpuid}", row.libc, more.join(", ")));
    }
    (!says.is_empty()).then(|| {
        format!(
            "Beside ours, a C library that is linked statically has: {}.",
            says.join("; ")
        )
    })
}

/// Why there are no times.
fn untimed(comparison: &Comparison) -> Option<String> {
    let why = comparison.clock.why()?;
    Some(format!("It could not be timed: {why}."))
}

/// How far each is from a process that ends at once.
fn floor(comparison: &Comparison) -> Option<String> {
    let floor = comparison.clock.measured()?.floor.median_ns;
    let above = |time: &Time| time.spread.median_ns as f64 - floor as f64;
    let ours = above(ours(comparison)?.time.measured()?);
    let begin = format!(
        "A process that ends at once, the floor, takes {} µs from its start until it is reaped",
        micros(floor)
    );
    let ours = match ours > 0.0 {
        true => format!("ours takes {:.1} µs more", ours / 1e3),
        false => "ours takes no longer".to_owned(),
    };
    let theirs = others(comparison).filter_map(|(row, it)| {
        let time = it.time.measured()?;
        Some((row.runtime.as_str(), above(time)))
    });
    let most = theirs.max_by(|(_, one), (_, other)| one.total_cmp(other));
    let most = most.map_or(String::new(), |(name, above)| {
        format!(", and {name}, the slowest, {:.1} µs more", above / 1e3)
    });
    Some(format!("{begin}; {ours}{most}."))
}

/// How many times as long as ours the others take. Where ours against a copy of itself was not 1,
/// less than that is no difference either.
fn ratios(comparison: &Comparison) -> Option<String> {
    let control = comparison.clock.measured()?.control;
    let slack = match control.holds {
        true => 0.0,
        false => (control.ratio.ratio - 1.0).abs(),
    };
    let is_faster = |ratio: &Ratio| ratio.high < 1.0 - slack;
    let is_slower = |ratio: &Ratio| ratio.low > 1.0 + slack;
    let mut ratios: Vec<(&str, Ratio)> = others(comparison)
        .filter_map(|(row, it)| Some((row.runtime.as_str(), it.time.measured()?.ratio?)))
        .collect();
    ratios.sort_by(|(_, one), (_, other)| one.ratio.total_cmp(&other.ratio));
    let names = |which: &dyn Fn(&Ratio) -> bool| -> Vec<&str> {
        let chosen = ratios.iter().filter(|(_, ratio)| which(ratio));
        chosen.map(|(name, _)| *name).collect()
    };
    let faster = names(&is_faster);
    let equal = names(&|ratio| !is_faster(ratio) && !is_slower(ratio));
    let slower: Vec<_> = ratios.iter().filter(|(_, it)| is_slower(it)).collect();
    let mut says = Vec::new();
    if let [first, ..] = slower.as_slice() {
        let last = slower.last().unwrap_or(first);
        let one = |(name, ratio): &(&str, Ratio)| format!("{ratio} times ({name})");
        says.push(match slower.len() {
            1 => format!("one of the others takes longer than ours, {}", one(first)),
            many => format!(
                "{many} of the others take longer than ours, from {} to {}",
                one(first),
                one(last)
            ),
        });
    }
    if !equal.is_empty() {
        says.push(format!("no difference is shown to {}", list(&equal)));
    }
    if !faster.is_empty() {
        says.push(format!("{} took less than ours", list(&faster)));
    }
    let text = says.join("; ");
    let mut letters = text.chars();
    let first = letters.next()?;
    Some(format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

/// Another program beside its peers.
fn in_short(comparison: &Comparison) -> Option<String> {
    let ours = ours(comparison)?;
    let one = |quantity: Quantity| {
        let mine = quantity.of(ours).ok()?;
        let theirs: Vec<_> = others(comparison)
            .filter_map(|(_, it)| quantity.of(it).ok())
            .collect();
        let low = theirs.iter().map(|it| it.min).min()?;
        let high = theirs.iter().map(|it| it.max).max()?;
        Some(format!(
            "{} (others: {} to {})",
            amount(mine, quantity),
            number(low),
            number(high)
        ))
    };
    let quantities = [Quantity::Bytes, Quantity::Calls];
    let says: Vec<_> = quantities.into_iter().filter_map(one).collect();
    (!says.is_empty()).then(|| {
        format!(
            "Ours of {}, which {}, has {}.",
            comparison.program,
            comparison.does,
            says.join(" and ")
        )
    })
}

/// Whether times can be believed.
fn noise(facts: &Programs) -> Option<String> {
    let compared = facts.tables.iter().filter(|it| it.rows.len() > 1);
    let clocks = compared.filter_map(|it| Some((it.program.as_str(), it.clock.measured()?)));
    let noisy: Vec<_> = clocks
        .filter(|(_, clock)| !clock.control.holds)
        .map(|(program, clock)| format!("{program} {} times", clock.control.ratio))
        .collect();
    (!noisy.is_empty()).then(|| {
        format!(
            "The machine was noisy: ours against a copy of itself took {}, which should be 1 \
             within 1 %, so no ratio is sure to 1 %.",
            noisy.join(", ")
        )
    })
}
