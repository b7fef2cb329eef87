//! From execve to main, as it is shown.

mod sentences;
mod tables;

use std::path::Path;

use super::Shown;
use crate::figure::{Blocks, Figure, Strip};
use crate::report::before_main::calls::{Call, PARTIES, Traced};
use crate::report::before_main::prepared::{Content, Prepared, Region, Stretch};
use crate::report::before_main::{BeforeMain, Runtime};
use crate::start::{Owner, Piece};
use crate::view::counted;
use crate::view::who::party;

/// Sentences, figures and tables of these facts.
pub(super) fn show(facts: &BeforeMain) -> Shown {
    let figures = [strips(facts), map(facts), stack(facts)];
    Shown {
        says: sentences::says(facts),
        more: sentences::more(facts),
        figures: figures.into_iter().flatten().collect(),
        tables: tables::page(facts),
        unfolded: false,
    }
}

/// The programs that were traced.
fn traced(facts: &BeforeMain) -> impl Iterator<Item = (&Runtime, &Traced)> + Clone {
    let runtimes = facts.runtimes.iter();
    runtimes.filter_map(|runtime| Some((runtime, runtime.found.measured()?)))
}

/// The programs that were looked at before their first instruction.
fn prepared(facts: &BeforeMain) -> impl Iterator<Item = (&str, &Prepared)> {
    let starts = facts.prepared.iter();
    starts.filter_map(|start| Some((start.name.as_str(), start.found.measured()?)))
}

/// A row of calls for each program.
fn strips(facts: &BeforeMain) -> Option<Figure> {
    let cell = |call: &Call| {
        let mut parties = PARTIES.into_iter();
        let category = parties.position(|party| party == call.on_behalf_of);
        let made_by = match &call.made_by {
            Some(file) => format!("{}, made by {}", call.name, short(file)),
            None => call.name.clone(),
        };
        (category.unwrap_or(PARTIES.len()), made_by)
    };
    let strip = traced(facts).fold(
        Strip::new(PARTIES.map(party)),
        |strip, (runtime, traced)| strip.row(runtime.name.clone(), traced.calls.iter().map(cell)),
    );
    let least = traced(facts).min_by_key(|(_, traced)| traced.calls.len())?;
    let most = traced(facts).max_by_key(|(_, traced)| traced.calls.len())?;
    let says = |(runtime, traced): (&Runtime, &Traced)| {
        format!(
            "{} {}",
            runtime.name,
            counted(traced.calls.len() as u64, "call")
        )
    };
    Some(Figure::new(
        "Every call of hello, and on whose behalf it is made",
        format!(
            "One cell a call, execve and exit included: from {} to {}.",
            says(least),
            says(most)
        ),
        strip,
    ))
}

/// The memory of each program, before its first instruction.
fn map(facts: &BeforeMain) -> Option<Figure> {
    let categories = [
        "program",
        "loader",
        "kernel's code and data",
        "stack",
        "other",
    ];
    let mut blocks = Blocks::new(categories);
    let mut said = Vec::new();
    for (name, prepared) in prepared(facts) {
        blocks = blocks.memory(name);
        for region in &prepared.map {
            let bytes = region.end.0.saturating_sub(region.start.0);
            let category = match region.what {
                Piece::File(Owner::Program) | Piece::Zeros(Owner::Program) => 0,
                Piece::File(Owner::Interpreter) | Piece::Zeros(Owner::Interpreter) => 1,
                Piece::Vdso | Piece::Vvar | Piece::Vsyscall => 2,
                Piece::Stack => 3,
                Piece::Heap | Piece::Other => 4,
            };
            blocks = blocks.block(region.start.0, bytes, category, piece(region));
        }
        let ranges = counted(prepared.map.len() as u64, "range");
        said.push(format!("{name} {ranges} of memory"));
    }
    (!said.is_empty()).then(|| {
        Figure::new(
            "The memory that the kernel prepared, before the first instruction",
            format!("{}; the lowest address first.", said.join(", ")),
            blocks,
        )
    })
}

/// The stack of the first of them.
fn stack(facts: &BeforeMain) -> Option<Figure> {
    let (name, prepared) = prepared(facts).next()?;
    let categories = [
        "numbers and addresses",
        "auxiliary vector",
        "strings and bytes",
        "zeros",
    ];
    let blocks = prepared
        .stack
        .iter()
        .fold(Blocks::new(categories), |blocks, stretch| {
            let category = match stretch.what {
                Content::Argc | Content::Argv | Content::Envp => 0,
                Content::Auxv => 1,
                Content::Random
                | Content::Platform
                | Content::Arguments
                | Content::Environment
                | Content::Path
                | Content::Unknown => 2,
                Content::Padding | Content::EndMarker => 3,
            };
            blocks.block(stretch.at.0, stretch.bytes, category, content(stretch))
        });
    let parts = prepared.stack.iter();
    let parts = parts.map(|stretch| format!("{} {}", content(stretch), stretch.bytes));
    Some(Figure::new(
        format!("The initial stack of {name}"),
        format!(
            "{} from the stack pointer on: {}.",
            counted(prepared.stack_bytes(), "byte"),
            parts.collect::<Vec<_>>().join(", ")
        ),
        blocks,
    ))
}

/// What a range of memory is.
fn piece(region: &Region) -> String {
    let of = |owner| match owner {
        Owner::Program => "program",
        Owner::Interpreter => "loader",
    };
    let kind = match (region.flags.contains('x'), region.flags.contains('w')) {
        (true, true) => "code that can be overwritten",
        (true, false) => "code",
        (false, true) => "data",
        (false, false) => "read only",
    };
    match region.what {
        Piece::File(owner) => format!("{}: {kind}", of(owner)),
        Piece::Zeros(owner) => format!("{}: zeros", of(owner)),
        Piece::Stack => "stack".to_owned(),
        Piece::Heap => "heap".to_owned(),
        Piece::Vdso | Piece::Vvar | Piece::Vsyscall => region.name.clone(),
        Piece::Other if region.name.is_empty() => "memory of no file".to_owned(),
        Piece::Other => short(&region.name).to_owned(),
    }
}

/// What a part of the stack is.
fn content(stretch: &Stretch) -> &'static str {
    match stretch.what {
        Content::Argc => "argc",
        Content::Argv => "argv",
        Content::Envp => "envp",
        Content::Auxv => "auxiliary vector",
        Content::Random => "random bytes",
        Content::Platform => "platform",
        Content::Arguments => "strings of argv",
        Content::Environment => "strings of envp",
        Content::Path => "path of the program",
        Content::Padding => "padding",
        Content::EndMarker => "end marker",
        Content::Unknown => "unknown",
    }
}

/// A file's own name.
fn short(path: &str) -> &str {
    let name = Path::new(path).file_name().and_then(|name| name.to_str());
    name.unwrap_or(path)
}
