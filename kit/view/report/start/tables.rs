//! The facts on a start in numbers.

use super::{after, before, us, worked};
use crate::report::Found;
use crate::report::start::cpuid::Cpuid;
use crate::report::start::smallest::Smallest;
use crate::report::start::traces::{Effect, Traces};
use crate::report::start::turns::Turns;
use crate::report::start::{OURS, Start};
use crate::time::{Control, Ratio};
use crate::view::report::words::times;
use crate::view::{Page, Table, number, text};

pub(super) fn page(facts: &Start) -> Page {
    let mut page = Page::new();
    page = match &facts.turns {
        Found::Measured(turns) => of_turns(page, turns, facts.cpuid.measured()),
        Found::NotMeasured(why) => page.note(format!("hello was not timed: {why}")),
    };
    page = match &facts.traces {
        Found::Measured(traces) => of_traces(page, traces),
        Found::NotMeasured(why) => page.note(format!(
            "what a process leaves behind was not measured: {why}"
        )),
    };
    page = match &facts.cpuid {
        Found::Measured(cpuid) => cpuid.left_out.iter().fold(page, |page, left_out| {
            page.note(format!(
                "cpuid of {}: not counted: {}",
                left_out.name, left_out.why
            ))
        }),
        Found::NotMeasured(why) => page.note(format!("cpuid was not counted: {why}")),
    };
    page = match &facts.smallest {
        Found::Measured(smallest) => of_smallest(page, smallest),
        Found::NotMeasured(why) => page.note(format!("true was not timed: {why}")),
    };
    facts.missing.iter().fold(page, |page, missing| {
        page.note(format!("{}: {}", missing.name, missing.why))
    })
}

fn of_turns(page: Page, turns: &Turns, cpuid: Option<&Cpuid>) -> Page {
    let mut timed = Table::new([
        text("hello"),
        number("alone µs"),
        number("in turn µs"),
        number("in turn by alone"),
        number("times ours"),
        number("faults").optional(),
        number("cpuid").optional(),
        number("alone p10–p90").optional(),
        number("in turn p10–p90").optional(),
    ]);
    let spread = |low, high| format!("{}–{}", us(low), us(high));
    let mut row = |name: &str, time: &crate::report::start::turns::Both, more: [String; 3]| {
        let [to_ours, faults, cpuid] = more;
        timed.row([
            name.to_owned(),
            us(time.alone.median_ns),
            us(time.in_turn.median_ns),
            times(&time.ratio),
            to_ours,
            faults,
            cpuid,
            spread(time.alone.p10_ns, time.alone.p90_ns),
            spread(time.in_turn.p10_ns, time.in_turn.p90_ns),
        ]);
    };
    for turn in &turns.programs {
        let alone = turn.time.alone.median_ns;
        let to_ours = turn.to_ours.as_ref().map_or("-".to_owned(), times);
        let cpuid = cpuid.map_or("-".to_owned(), |it| share(it, &turn.name, alone));
        row(
            &turn.name,
            &turn.time,
            [to_ours, turn.faults.to_string(), cpuid],
        );
    }
    row(
        "no program",
        &turns.floor,
        ["-", "-", "-"].map(str::to_owned),
    );

    let columns = turns.programs.first().map(|first| after(turns, first));
    let columns = columns.unwrap_or_default();
    let names = columns
        .iter()
        .map(|pair| number(format!("after {}", before(&pair.after))));
    let mut pairs = Table::new([text("hello")].into_iter().chain(names));
    for turn in &turns.programs {
        let cells = after(turns, turn)
            .into_iter()
            .map(|pair| short(&pair.to_itself));
        pairs.row([turn.name.clone()].into_iter().chain(cells));
    }
    let pinned = match turns.processor {
        Some(at) => format!("all on processor {at}"),
        None => "not kept on one processor".to_owned(),
    };
    let page = page
        .table(timed)
        .table(pairs)
        .note(format!(
            "alone: each started again and again; in turn: each after each other one and itself, \
             equally often; {} passes of both, {pinned}; {} is ours. cpuid: how many, and \
             what part of the start alone they take. no program: a process that ends at once.",
            turns.passes, OURS
        ))
        .note(
            "after …: how many times as long as after itself, in the same walk; 1 where the 95 % \
             interval holds 1, which is no difference.",
        )
        .note(control("hello", &turns.control));
    turns
        .notes
        .iter()
        .fold(page, |page, note| page.note(format!("note: {note}")))
}

fn of_traces(page: Page, traces: &Traces) -> Page {
    let mut programs: Vec<&str> = Vec::new();
    for effect in &traces.effects {
        if !programs.contains(&effect.program.as_str()) {
            programs.push(&effect.program);
        }
    }
    let columns = [
        text("a process before that did"),
        number("took µs"),
        number("faults"),
    ];
    let effects = programs.iter().map(|name| number(format!("then {name}")));
    let mut table = Table::new(columns.into_iter().chain(effects));
    for work in &traces.works {
        let cells = programs.iter().map(|program| {
            let is = |effect: &&Effect| effect.program == *program && effect.kind == work.kind;
            let effect = traces.effects.iter().find(is);
            effect.map_or("-".to_owned(), |effect| times(&effect.ratio))
        });
        let head = [
            worked(work),
            us(work.time.median_ns),
            work.faults.to_string(),
        ];
        table.row(head.into_iter().chain(cells));
    }
    page.table(table)
        .note(format!(
            "then …: how many times as long as after the process that did nothing, in {} walks of \
             each after each.",
            traces.walks
        ))
        .note(control("hello", &traces.control))
}

fn of_smallest(page: Page, smallest: &Smallest) -> Page {
    let mut timed = Table::new([
        text("true"),
        number("calls"),
        number("start µs"),
        number("times dietlibc's"),
        number("times ours"),
    ]);
    let or_none = |ratio: &Option<Ratio>| ratio.as_ref().map_or("-".to_owned(), times);
    for small in &smallest.programs {
        let total = small
            .total()
            .map_or("-".to_owned(), |total| total.to_string());
        timed.row([
            small.name.clone(),
            total,
            us(small.time.median_ns),
            or_none(&small.to_dietlibc),
            or_none(&small.to_ours),
        ]);
    }
    let mut names: Vec<&str> = Vec::new();
    for calls in smallest
        .programs
        .iter()
        .rev()
        .filter_map(|small| small.calls.measured())
    {
        for call in calls {
            if !names.contains(&call.name.as_str()) {
                names.push(&call.name);
            }
        }
    }
    let counted = || {
        smallest
            .programs
            .iter()
            .filter(|small| small.calls.measured().is_some())
    };
    let columns = counted().map(|small| number(small.name.clone()));
    let mut calls = Table::new([text("call of true")].into_iter().chain(columns));
    for name in names {
        let cells = counted().map(|small| {
            let calls = small.calls.measured();
            let call = calls.and_then(|calls| calls.iter().find(|call| call.name == name));
            call.map_or(String::new(), |call| call.count.to_string())
        });
        calls.row([name.to_owned()].into_iter().chain(cells));
    }
    let page = page
        .table(timed)
        .table(calls)
        .note(format!(
            "true: {} rounds, in shuffled order.",
            smallest.rounds
        ))
        .note(control("true", &smallest.control));
    let programs = smallest.programs.iter();
    let page = programs.fold(page, |page, small| match small.calls.why() {
        Some(why) => page.note(format!("calls of true, {}: not counted: {why}", small.name)),
        None => page,
    });
    smallest
        .notes
        .iter()
        .fold(page, |page, note| page.note(format!("note: {note}")))
}

/// As in `43 (31 %)`: how many CPUID there are, and what part of the start that is.
fn share(cpuid: &Cpuid, name: &str, start_ns: u64) -> String {
    let Some(stepped) = cpuid.programs.iter().find(|stepped| stepped.name == name) else {
        return "-".to_owned();
    };
    let many = stepped.tally.cpuid;
    let part = many.saturating_mul(cpuid.cost_ns) as f64 / start_ns.max(1) as f64;
    match many {
        0 => "0".to_owned(),
        _ => format!("{many} ({:.0} %)", part * 100.0),
    }
}

/// As in `1.15`, or `1` where there is no difference.
fn short(ratio: &Ratio) -> String {
    match ratio.no_difference {
        true => "1".to_owned(),
        false => format!("{:.3}", ratio.ratio),
    }
}

fn control(what: &str, control: &Control) -> String {
    let noisy = match control.holds {
        true => "",
        false => ", not 1 within 1 %: the machine is too noisy to show a difference",
    };
    format!(
        "{what}: the first against a copy of it {}{noisy}.",
        control.ratio
    )
}
