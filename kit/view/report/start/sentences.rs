//! What the facts on a start say, against what the texts found.

use super::{after, before, differs, is_itself, us, worked};
use crate::report::start::Start;
use crate::report::start::cpuid::{Cpuid, Stepped};
use crate::report::start::smallest::{DIETLIBC, Small, Smallest};
use crate::report::start::traces::{Effect, Kind, Traces, Work};
use crate::report::start::turns::{Turn, Turns};
use crate::time::Ratio;
use crate::view::report::words::list;

/// The static and the dynamic program, by which both texts' questions are answered.
const STATIC: &str = "glibc, static";
const DYNAMIC: &str = "glibc, dynamic";

/// The riddle of the first text, what the data say of its reasons, and the ratios of the second.
pub(super) fn says(facts: &Start) -> Vec<String> {
    let (turns, traces) = (facts.turns.measured(), facts.traces.measured());
    let says = [
        turns.and_then(in_turn),
        turns.and_then(by_predecessor),
        traces.and_then(supported),
        facts.smallest.measured().map(by_dietlibc),
    ];
    says.into_iter().flatten().collect()
}

/// What each of these answers is made of.
pub(super) fn more(facts: &Start) -> Vec<String> {
    let (turns, traces) = (facts.turns.measured(), facts.traces.measured());
    let cpuid = turns.zip(facts.cpuid.measured());
    let more = [
        turns.and_then(others_in_turn),
        turns.and_then(losses),
        turns.and_then(by_faults),
        traces.and_then(effects),
        cpuid.and_then(|(turns, cpuid)| explained(turns, cpuid)),
        facts.smallest.measured().and_then(calls),
    ];
    more.into_iter().flatten().collect()
}

/// Whether the static program is slower in turn here.
fn in_turn(turns: &Turns) -> Option<String> {
    let first = turns.programs.first()?;
    let found = match (
        differs(&first.time.ratio, &turns.control),
        turns.control.holds,
    ) {
        (true, _) if first.time.ratio.ratio > 1.0 => "slower in turn here too",
        (true, _) => "faster in turn here",
        (false, true) => "not shown to be slower in turn here",
        (false, false) => {
            "not shown to be slower in turn: this machine was too noisy, its copy differed from it"
        }
    };
    let time = &first.time;
    let (alone, in_turn) = (us(time.alone.median_ns), us(time.in_turn.median_ns));
    Some(format!(
        "The first text found its static program slower when it was started in turn with others \
         (171 µs against 111 µs alone, 1.54 times) and did not know why: {} is {found}, {alone} µs \
         alone and {in_turn} µs in turn ({} times).",
        first.name, time.ratio
    ))
}

/// Those that take another time in turn than alone.
fn different(turns: &Turns) -> impl Iterator<Item = &Turn> {
    let programs = turns.programs.iter();
    programs.filter(|turn| differs(&turn.time.ratio, &turns.control))
}

/// Which of the others differ in turn.
fn others_in_turn(turns: &Turns) -> Option<String> {
    let first = turns.programs.first()?;
    let others = different(turns).filter(|turn| turn.name != first.name);
    let others = list(others.map(|turn| format!("{} {} times", turn.name, turn.time.ratio)));
    (turns.programs.len() > 1).then(|| match others.is_empty() {
        true => "Of the other programs, none is shown to differ in turn.".to_owned(),
        false => format!("Others that differ in turn: {others}."),
    })
}

/// Whether those that are slower in turn lose as much.
fn losses(turns: &Turns) -> Option<String> {
    let losses: Vec<_> = different(turns).map(loss).collect();
    let (least, most) = (losses.iter().min()?, losses.iter().max()?);
    let same = losses.len() > 1 && *least > 0 && *most <= least.saturating_mul(2);
    same.then(|| {
        format!(
            "Each program that differs loses about as much in turn, {} to {} µs, so it is a larger \
             part the shorter the program is.",
            us(least.unsigned_abs()),
            us(most.unsigned_abs())
        )
    })
}

/// How much longer it takes in turn, by the medians, in nanoseconds.
fn loss(turn: &Turn) -> i64 {
    let nanoseconds = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
    let (alone, in_turn) = (turn.time.alone.median_ns, turn.time.in_turn.median_ns);
    nanoseconds(in_turn).saturating_sub(nanoseconds(alone))
}

/// Whether it matters to the first program which was before it.
fn by_predecessor(turns: &Turns) -> Option<String> {
    let first = turns.programs.first()?;
    let pairs = after(turns, first);
    let itself = pairs.iter().find(|pair| is_itself(pair))?;
    let mut others: Vec<_> = pairs
        .iter()
        .filter(|pair| !is_itself(pair) && differs(&pair.to_itself, &turns.control))
        .collect();
    others.sort_by(|a, b| b.to_itself.ratio.total_cmp(&a.to_itself.ratio));
    let Some(most) = others.first() else {
        return Some(format!(
            "After none of {} others is {} shown to take another time than after itself ({} µs).",
            pairs.len() - 1,
            first.name,
            us(itself.median_ns)
        ));
    };
    Some(format!(
        "It matters what was before: of {} others, {} make {} differ from a start after itself \
         ({} µs), the most {}, {} times ({}).",
        pairs.len() - 1,
        others.len(),
        first.name,
        us(itself.median_ns),
        before(&most.after),
        most.to_itself,
        by(most.more_ns),
    ))
}

/// Whether it goes by the page faults of what was before.
fn by_faults(turns: &Turns) -> Option<String> {
    let first = turns.programs.first()?;
    let order = first.by_faults?;
    Some(format!(
        "How long {} takes {} the page faults of what was before (rank correlation {order:.2}).",
        first.name,
        match order {
            0.8.. => "goes by",
            ..=-0.8 => "goes against",
            _ => "does not go by",
        }
    ))
}

/// Which of the causes the data support.
fn supported(traces: &Traces) -> Option<String> {
    let first = traces.effects.first()?;
    if !traces.control.holds {
        return Some(format!(
            "What a process leaves behind for the next one could not be told: this machine was too \
             noisy, {} against a copy of it took {} times as long.",
            first.program, traces.control.ratio
        ));
    }
    let shortest = &traces.effects.last()?.program;
    verdict(|kind| of(traces, shortest, kind).map(|effect| effect.ratio))
}

/// What one kind of work made of a program.
fn of<'a>(traces: &'a Traces, program: &str, kind: Kind) -> Option<&'a Effect> {
    let mut effects = traces.effects.iter();
    effects.find(|it| it.program == program && it.kind == kind)
}

/// What each kind of work makes of the shortest program, and which slow the first.
fn effects(traces: &Traces) -> Option<String> {
    let first = traces.effects.first().filter(|_| traces.control.holds)?;
    let slows =
        |effect: &&Effect| differs(&effect.ratio, &traces.control) && effect.ratio.ratio > 1.0;
    let shortest = &traces.effects.last()?.program;
    let said = |work: &Work| {
        let effect = of(traces, shortest, work.kind)?;
        let much = match slows(&effect) {
            true => format!("{} times, {}", effect.ratio, by(effect.more_ns)),
            false => format!("not shown, {}", effect.ratio),
        };
        Some(format!("{} ({much})", worked(work)))
    };
    let all: Vec<_> = traces.works.iter().filter_map(said).collect();
    let too = match first.program == *shortest {
        true => String::new(),
        false => {
            let works = traces.works.iter().map(|work| work.kind);
            let slowed = works.filter(|kind| {
                of(traces, &first.program, *kind)
                    .as_ref()
                    .is_some_and(slows)
            });
            let slowed: Vec<_> = slowed.map(Kind::word).collect();
            format!("; {} is slowed by {}", first.program, or_none(slowed))
        }
    };
    Some(format!(
        "A process that did one thing only before had this effect on {shortest}: {}{too}; how much \
         each has in what a whole program leaves stays open.",
        list(all)
    ))
}

fn or_none(words: Vec<&'static str>) -> String {
    match words.is_empty() {
        true => "none".to_owned(),
        false => list(words),
    }
}

/// Which reasons that supports, and which not: the effect of each kind of work on one program is
/// held against that of a loop, in which time passes and nothing else, and that of memory against
/// that of as many page faults without it.
fn verdict(effect: impl Fn(Kind) -> Option<Ratio>) -> Option<String> {
    let (mut yes, mut no) = (Vec::new(), Vec::new());
    for (kind, beyond, reason) in [
        (Kind::Loop, Kind::Nothing, "that time passes"),
        (
            Kind::Branch,
            Kind::Loop,
            "that its code displaces other code and what predicts branches",
        ),
        (Kind::Cpuid, Kind::Loop, "that it traps into the hypervisor"),
        (
            Kind::Fault,
            Kind::Loop,
            "that the kernel's code and data for page faults displace others",
        ),
        (
            Kind::Write,
            Kind::Fault,
            "that its memory displaces other memory, beyond its page faults",
        ),
    ] {
        let other = match beyond {
            Kind::Nothing => 1.0,
            kind => effect(kind)?.high,
        };
        match effect(kind)?.low > other {
            true => yes.push(reason),
            false => no.push(reason),
        }
    }
    Some(format!(
        "Of the reasons for that, the data support: {}; not shown: {}.",
        or_none(yes),
        or_none(no)
    ))
}

/// "3.2 µs more", "0.4 µs less".
fn by(ns: i64) -> String {
    let much = us(ns.unsigned_abs());
    match ns {
        ..0 => format!("{much} µs less"),
        _ => format!("{much} µs more"),
    }
}

/// How much of a start, and of the difference between two, is CPUID.
fn explained(turns: &Turns, cpuid: &Cpuid) -> Option<String> {
    let find = |name: &str| {
        let turn = turns.programs.iter().find(|turn| turn.name == name)?;
        let stepped = cpuid.programs.iter().find(|stepped| stepped.name == name)?;
        Some((turn, stepped))
    };
    let cost = |stepped: &Stepped| stepped.tally.cpuid.saturating_mul(cpuid.cost_ns);
    let share = |(turn, stepped): (&Turn, &Stepped)| {
        let part = cost(stepped) as f64 / turn.time.alone.median_ns.max(1) as f64;
        format!(
            "{} executes {} ({:.0} % of its start)",
            turn.name,
            stepped.tally.cpuid,
            part * 100.0
        )
    };
    let (fixed, dynamic) = (find(STATIC), find(DYNAMIC));
    let shares: Vec<_> = [fixed, dynamic].into_iter().flatten().map(share).collect();
    if shares.is_empty() {
        return None;
    }
    let between = match (fixed, dynamic) {
        (Some((turn, stepped)), Some((other, others))) => {
            let less = turn.time.alone.median_ns;
            let longer = other.time.alone.median_ns as f64 - less as f64;
            let of_it = cost(others) as f64 - cost(stepped) as f64;
            match longer > 0.0 {
                true => format!(
                    "; of the {} µs that dynamic linking adds alone, CPUID is {:.0} %",
                    us(longer as u64),
                    of_it / longer * 100.0
                ),
                false => "; dynamic linking adds nothing here".to_owned(),
            }
        }
        _ => String::new(),
    };
    Some(format!(
        "One CPUID takes {} µs here: {}{between}.",
        us(cpuid.cost_ns),
        list(shares)
    ))
}

/// Whether the second text's ratios hold here.
fn by_dietlibc(smallest: &Smallest) -> String {
    let ratio = |name: &str| {
        let mut programs = smallest.programs.iter();
        let small = programs.find(|small| small.name == name)?;
        small.to_dietlibc
    };
    let said = |name: &str, low: f64, high: f64| {
        let ratio = ratio(name)?;
        Some(format!(
            "{name} {ratio} times, {}",
            against(&ratio, low, high)
        ))
    };
    let both = [said(DYNAMIC, 1.38, 1.47), said(STATIC, 1.06, 1.06)];
    let text = "The second text found true with glibc 1.38 to 1.47 times as slow as with dietlibc \
                when dynamic, and 1.06 times when static";
    let both = list(both.into_iter().flatten());
    match (both.is_empty(), smallest.control.holds) {
        (true, _) => format!(
            "{text}: that could not be compared here, where {DIETLIBC} or glibc is missing."
        ),
        (false, true) => format!("{text}: here {both}."),
        (false, false) => format!(
            "{text}: here {both}; but the control failed, so this machine was too noisy to be sure."
        ),
    }
}

/// A ratio beside what a text found.
fn against(ratio: &Ratio, low: f64, high: f64) -> &'static str {
    match () {
        () if ratio.low > high => "more than there",
        () if ratio.high < low => "less than there",
        () => "as there",
    }
}

/// The calls of `true`, as the second text counted them.
fn calls(smallest: &Smallest) -> Option<String> {
    // Without the execve that starts it and the exit at its end.
    let said = |name: &str, there: usize| {
        let mut programs = smallest.programs.iter();
        let calls = programs.find(|small| small.name == name)?;
        let total = Small::total(calls)?;
        let (min, max) = (total.min.saturating_sub(2), total.max.saturating_sub(2));
        let here = crate::count::Range { min, max };
        Some(format!("{name} {here} ({there} there)"))
    };
    let all = [said(DYNAMIC, 19), said(STATIC, 3), said(DIETLIBC, 0)];
    let all = list(all.into_iter().flatten());
    (!all.is_empty()).then(|| format!("The calls of true but execve and exit: {all}."))
}
