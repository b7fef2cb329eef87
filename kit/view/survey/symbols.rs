//! How the use of symbols is shown: how the programs' shares are spread, each program, and what is
//! used of each library.

use std::cmp::Reverse;

use crate::figure::{Axis, Figure, Histogram};
use crate::subject::escape;
use crate::survey::symbols::{LibraryUse, ProgramUse, Shares, Symbols};
use crate::view::{Page, Table, counted, number, text};

/// The page of a system; of its programs and libraries so many rows each, or all.
pub fn page(found: &Symbols, shown: Option<usize>) -> Page {
    let mut page = Page::new().note(sentence(found.shares.as_ref()));
    if let Some(shares) = &found.shares {
        page = page.table(spread(shares));
    }
    page = page
        .heading("libraries, those that most programs load first")
        .table(libraries(&found.libraries, shown));
    if let Some(more) = shown.and_then(|shown| found.libraries.len().checked_sub(shown + 1)) {
        page = page.note(format!("and {} more; --all shows them", more + 1));
    }
    page = page
        .heading("programs, the greatest share first")
        .data(programs(&found.programs), shown);
    for line in remarks(found) {
        page = page.note(line);
    }
    let untold = found.unread.len();
    let lines = shown.unwrap_or(untold).min(untold);
    for unread in found.unread.iter().take(lines) {
        let path = escape(unread.path.as_os_str());
        page = page.note(format!("not told: {path}: {}", unread.reason));
    }
    if lines < untold {
        page = page.note(format!(
            "and {} more not told; --all names them",
            untold - lines
        ));
    }
    page
}

/// How the programs' shares are spread, drawn.
pub fn figure(found: &Symbols) -> Figure {
    let shares = found.programs.iter().filter_map(|program| program.share);
    drawn(shares, found.shares.as_ref())
}

/// The same of these shares, and how they are spread.
pub(in crate::view) fn drawn(
    shares: impl IntoIterator<Item = f64>,
    spread: Option<&Shares>,
) -> Figure {
    let axis = Axis::linear("symbols used, of those on offer").percent();
    Figure::new(
        "Symbols that programs use of their libraries",
        sentence(spread),
        Histogram::new(axis, "programs").values("", shares),
    )
}

/// What was found, in one sentence.
pub(in crate::view) fn sentence(shares: Option<&Shares>) -> String {
    let Some(shares) = shares else {
        return "No program here loads a library that has symbols on offer.".to_owned();
    };
    if shares.programs == 1 {
        return format!(
            "The program uses {} % of the symbols that its libraries have on offer.",
            percent(shares.mean)
        );
    }
    format!(
        "On average, {} dynamic programs use {} % of the symbols that their libraries have on \
         offer; half of them use at most {} %.",
        shares.programs,
        percent(shares.mean),
        percent(shares.median)
    )
}

/// How shares are spread, in a row.
pub(in crate::view) fn spread(shares: &Shares) -> Table {
    let mut table = Table::new([
        number("programs"),
        number("mean %"),
        number("least %"),
        number("1st quartile %"),
        number("median %"),
        number("3rd quartile %"),
        number("most %"),
    ]);
    let of_each = [
        shares.mean,
        shares.min,
        shares.lower_quartile,
        shares.median,
        shares.upper_quartile,
        shares.max,
    ];
    let programs = shares.programs.to_string();
    table.row([programs].into_iter().chain(of_each.map(percent)));
    table
}

fn libraries(libraries: &[LibraryUse], shown: Option<usize>) -> Table {
    let mut table = Table::new([
        text("library"),
        number("programs"),
        number("on offer"),
        number("used by any"),
        number("by any %").optional(),
        number("mean of each %").optional(),
    ]);
    let mut sorted: Vec<&LibraryUse> = libraries.iter().collect();
    sorted.sort_by_key(|library| Reverse(library.programs));
    for library in sorted.into_iter().take(shown.unwrap_or(usize::MAX)) {
        let any =
            (library.exported > 0).then(|| library.used_by_any as f64 / library.exported as f64);
        table.row([
            escape(library.path.as_os_str()),
            library.programs.to_string(),
            library.exported.to_string(),
            library.used_by_any.to_string(),
            any.map_or_else(|| "-".into(), percent),
            library.mean_share.map_or_else(|| "-".into(), percent),
        ]);
    }
    table
}

fn programs(programs: &[ProgramUse]) -> Table {
    let mut table = Table::new([
        text("program"),
        number("share %"),
        number("used"),
        number("on offer"),
        number("libraries"),
        number("PLT").optional(),
        number("GOT").optional(),
        number("copy").optional(),
        number("TLS").optional(),
        number("direct").optional(),
        number("own").optional(),
        number("weak, undefined").optional(),
        number("unresolved").optional(),
    ]);
    let mut sorted: Vec<&ProgramUse> = programs.iter().collect();
    sorted.sort_by(|a, b| b.share.unwrap_or(-1.0).total_cmp(&a.share.unwrap_or(-1.0)));
    for program in sorted {
        let counts = [
            program.used,
            program.exported,
            program.libraries as u64,
            program.by.plt,
            program.by.got,
            program.by.copy,
            program.by.tls,
            program.by.direct,
            program.own,
            program.weak_undefined,
            program.unresolved,
        ];
        let cells = [
            escape(program.path.as_os_str()),
            program.share.map_or_else(|| "-".into(), percent),
        ];
        table.row(
            cells
                .into_iter()
                .chain(counts.map(|count| count.to_string())),
        );
    }
    table
}

fn remarks(found: &Symbols) -> Vec<String> {
    let mut lines = Vec::new();
    let exported: u64 = found.libraries.iter().map(|library| library.exported).sum();
    let used: u64 = found
        .libraries
        .iter()
        .map(|library| library.used_by_any)
        .sum();
    if exported > 0 {
        lines.push(format!(
            "All together, {} on offer in {}; these programs use {used} of them ({} %).",
            counted(exported, "symbol"),
            match found.libraries.len() {
                1 => "1 library".to_owned(),
                n => format!("{n} libraries"),
            },
            percent(used as f64 / exported as f64)
        ));
    }
    let unresolved = found
        .programs
        .iter()
        .filter(|program| program.unresolved > 0);
    let unresolved = unresolved.count() as u64;
    if unresolved > 0 {
        lines.push(format!(
            "{} with a symbol that nothing defines (unresolved): it does not start, or ends when \
             it calls one.",
            counted(unresolved, "program")
        ));
    }
    lines.push(
        "A symbol is a name with its version; one that is used in two ways counts in both. What \
         libraries use of each other, and what dlsym(3) asks for at run time, does not count."
            .to_owned(),
    );
    lines
}

/// A share as a number of percent: two digits after the point.
fn percent(share: f64) -> String {
    format!("{:.2}", share * 100.0)
}
