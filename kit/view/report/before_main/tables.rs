//! The facts in numbers.

use super::{content, piece, prepared, traced};
use crate::report::before_main::BeforeMain;
use crate::report::before_main::calls::{PARTIES, ToldBy, Traced};
use crate::report::before_main::prepared::Prepared;
use crate::view::report::words::list;
use crate::view::who::party;
use crate::view::{Page, Table, number, text};
use crate::who::Party;

pub(super) fn page(facts: &BeforeMain) -> Page {
    let mut page = Page::new().table(counts(facts));
    for line in missing(facts) {
        page = page.note(line);
    }
    page = page.note(
        "Each program had its stdout on a file. \"-\" stands for none, \"?\" for what is not known. \
         A call is made on behalf of the outermost that is on its stack: program, runtime, libc, \
         loader. Of a hello in C, which is nothing but main, what libc calls outside of main is \
         libc's.",
    );
    if let Some(line) = untold(facts) {
        page = page.note(line);
    }
    for (runtime, traced) in traced(facts) {
        page = page
            .heading(format!("The calls of {}", runtime.name))
            .table(calls(traced));
        if let ToldBy::Files(why) = &traced.told_by {
            page = page.note(format!("told by the files alone: {why}"));
        }
    }
    for (name, prepared) in prepared(facts) {
        page = page
            .heading(format!("The memory of {name} before its first instruction"))
            .table(map(prepared))
            .heading(format!("The initial stack of {name}"))
            .table(stack(prepared));
        if prepared.randomized == Some(true) {
            page = page.note("Addresses are random: another start has others.");
        }
        for note in &prepared.notes {
            page = page.note(format!("note: {note}"));
        }
    }
    page
}

/// How many calls each makes, and on whose behalf.
fn counts(facts: &BeforeMain) -> Table {
    let parties: Vec<_> = PARTIES
        .into_iter()
        .filter(|party| traced(facts).any(|(_, traced)| traced.on_behalf_of(*party) > 0))
        .collect();
    let columns = parties.iter().map(|one| number(party(*one)));
    let mut table = Table::new(
        [text("hello of"), number("calls")]
            .into_iter()
            .chain(columns)
            .chain([
                number("before main"),
                number("before the write"),
                number("in the text"),
                number("after it"),
                text("made of").optional(),
            ]),
    );
    let or = |known: Option<usize>, unknown: &str| {
        known.map_or_else(|| unknown.to_owned(), |calls| calls.to_string())
    };
    for (runtime, traced) in traced(facts) {
        let parties = parties.iter().map(|one| match traced.on_behalf_of(*one) {
            0 => "-".to_owned(),
            calls => calls.to_string(),
        });
        let parts: Vec<_> = runtime.parts.iter().map(ToString::to_string).collect();
        table.row(
            [runtime.name.clone(), traced.calls.len().to_string()]
                .into_iter()
                .chain(parties)
                .chain([
                    or(traced.before_main(), "?"),
                    or(traced.before_write().map(<[_]>::len), "?"),
                    or(runtime.in_the_text, "-"),
                    or(traced.after_write(), "?"),
                    parts.join(", "),
                ]),
        );
    }
    table
}

/// What could not be measured, and why.
fn missing(facts: &BeforeMain) -> Vec<String> {
    let runtimes = facts.runtimes.iter().filter_map(|runtime| {
        let why = runtime.found.why()?;
        Some(format!("{}: {why}", runtime.name))
    });
    let starts = facts.prepared.iter().filter_map(|start| {
        let (name, why) = (&start.name, start.found.why()?);
        Some(format!("{name}, before its first instruction: {why}"))
    });
    runtimes.chain(starts).collect()
}

/// What cannot be told.
fn untold(facts: &BeforeMain) -> Option<String> {
    let unknown = traced(facts).filter_map(|(runtime, traced)| {
        let calls = traced.on_behalf_of(Party::Unknown);
        (calls > 0).then(|| format!("{calls} of {}", runtime.name))
    });
    let unknown = list(unknown);
    (!unknown.is_empty())
        .then(|| format!("On whose behalf some calls are made cannot be told: {unknown}."))
}

fn calls(traced: &Traced) -> Table {
    let mut table = Table::new([
        number("#"),
        text("call"),
        text("made by"),
        text("on behalf of"),
    ]);
    for (at, call) in traced.calls.iter().enumerate() {
        table.row([
            (at + 1).to_string(),
            call.name.clone(),
            call.made_by.clone().unwrap_or_else(|| "?".to_owned()),
            party(call.on_behalf_of).to_owned(),
        ]);
    }
    table
}

fn map(prepared: &Prepared) -> Table {
    let mut table = Table::new([
        number("from"),
        number("to"),
        text("flags"),
        text("what"),
        number("offset").optional(),
        text("file").optional(),
    ]);
    for region in &prepared.map {
        let in_file = region.name.starts_with('/');
        let offset = match in_file {
            true => format!("{:#x}", region.offset),
            false => String::new(),
        };
        table.row([
            region.start.to_string(),
            region.end.to_string(),
            region.flags.clone(),
            piece(region),
            offset,
            region.name.clone(),
        ]);
    }
    table
}

fn stack(prepared: &Prepared) -> Table {
    let mut table = Table::new([number("at"), number("bytes"), text("what"), text("holds")]);
    for stretch in &prepared.stack {
        table.row([
            stretch.at.to_string(),
            stretch.bytes.to_string(),
            content(stretch).to_owned(),
            stretch.holds.join(", "),
        ]);
    }
    table
}
