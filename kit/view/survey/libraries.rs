//! How libraries and their users are shown.

use std::collections::BTreeMap;

use crate::figure::{Axis, Figure, Lines, Mark};
use crate::subject::escape;
use crate::survey::Unread;
use crate::survey::libraries::{Few, Fewer, Libraries, Missing};
use crate::survey::walk::Kind;
use crate::view::{Page, Table, counted, number, text};

/// How many files are named in one cell.
const NAMED: usize = 3;

/// How many missing libraries, and how many files that could not be read, are enough for a reader
/// who did not ask for all.
const ENOUGH: usize = 10;

/// The page of these libraries, of which so many are shown: all without a number.
pub fn page(found: &Libraries, shown: Option<usize>) -> Page {
    let enough = shown.map(|_| ENOUGH);
    let mut page = Page::new()
        .note(answer(&users(found), &found.few))
        .heading("programs")
        .table(kinds(&found.programs));
    if found.other_names > 0 {
        page = page.note(format!(
            "Each is counted once: {} of them, hard and symbolic links, {} passed over.",
            counted(found.other_names as u64, "other name"),
            if found.other_names == 1 { "is" } else { "are" }
        ));
    }
    if !found.libraries.is_empty() {
        page = page
            .heading("libraries with few users")
            .table(few(&found.few, found.libraries.len()))
            .heading("users by rank")
            .table(curve(found))
            .heading("libraries")
            .data(libraries(found), shown)
            .note(
                "Users are the dynamic programs that load a library when they start. What they \
                 open later (dlopen) is not in their files.",
            );
    }
    page = limited(page, "libraries not found", &found.missing, enough, missing);
    limited(page, "files not read", &found.unread, enough, unread)
}

/// The users of each library by rank, on logarithmic axes.
pub fn figure(found: &Libraries) -> Figure {
    let first = found.libraries.iter().take(LABELLED);
    let names: Vec<String> = first.map(|library| escape(&library.name)).collect();
    drawn(&users(found), &names, &found.few)
}

/// How many libraries have their names beside their points, as far as there is space.
const LABELLED: usize = 6;

/// The users of each library, the most first.
fn users(found: &Libraries) -> Vec<usize> {
    let users = found.libraries.iter().map(|library| library.users);
    users.collect()
}

/// The same of these users, the most first, with the names of the first libraries.
pub(in crate::view) fn drawn(users: &[usize], names: &[String], few: &Few) -> Figure {
    let points = (1_usize..).zip(users.iter().copied());
    let mut lines = Lines::new(
        Axis::log("rank of the library"),
        Axis::log("programs that load it"),
    );
    let named: Vec<_> = points.clone().zip(names).take(LABELLED).collect();
    // Space is least at the left, where a loader is before its libc: what comes last is left out.
    for (point, name) in named.into_iter().rev() {
        lines = lines.label(point, name);
    }
    Figure::new(
        "How many programs load each library",
        answer(users, few),
        lines.series("libraries", Mark::Points, points),
    )
}

/// Whether programs share libraries, of which these are the users, the most first.
pub(in crate::view) fn answer(users: &[usize], few: &Few) -> String {
    let dynamic = few.of_dynamic_programs.programs;
    let programs = counted(dynamic as u64, "dynamic program");
    // From here on, no library has more users.
    let Some(middle) = users.get(users.len() / 2) else {
        return match (few.of_all_programs.programs, dynamic) {
            (0, _) => "There is no program here.".into(),
            (all, 0) => {
                format!("No program here is dynamic, of {all}: there are no libraries to share.")
            }
            _ => format!("{programs}, and none of their libraries is found."),
        };
    };
    let loads: usize = users.iter().sum();
    let by_half = users.iter().filter(|users| **users * 2 >= dynamic);
    format!(
        "{programs}, each with {:.1} libraries on average. Half of the libraries, {} in all, have \
         {}; {} exactly one, {} half of the programs or more.",
        loads as f64 / dynamic as f64,
        users.len(),
        match middle {
            1 => "1 user".to_owned(),
            users => format!("{users} users or fewer"),
        },
        have(few.exactly_one),
        have(by_half.count()),
    )
}

fn have(number: usize) -> String {
    match number {
        0 => "none has".into(),
        1 => "1 has".into(),
        n => format!("{n} have"),
    }
}

/// How many programs there are of each kind.
pub(in crate::view) fn kinds(programs: &BTreeMap<Kind, usize>) -> Table {
    let mut table = Table::new([text("kind"), number("programs")]);
    for (kind, count) in programs {
        let name = match kind {
            Kind::Dynamic => "dynamic",
            Kind::Static => "static",
            Kind::StaticPie => "static-PIE",
            Kind::Script => "script",
            Kind::Library => "library that may be executed",
            Kind::Other => "other",
        };
        table.row([name, &count.to_string()]);
    }
    let all: usize = programs.values().sum();
    table.row(["in all", &all.to_string()]);
    table
}

/// How many of so many libraries have few users.
pub(in crate::view) fn few(few: &Few, libraries: usize) -> Table {
    let mut table = Table::new([text("used by"), number("libraries"), number("share %")]);
    let mut row = |what: String, number: usize| {
        table.row([what, number.to_string(), percent(number, libraries)]);
    };
    row("exactly 1 program".into(), few.exactly_one);
    let mut fewer = |few: Fewer, of| {
        let programs = few.programs;
        row(
            format!("fewer than 0.1 % of {programs} {of}"),
            few.than_1_in_1000,
        );
        row(
            format!("fewer than 1 % of {programs} {of}"),
            few.than_1_in_100,
        );
    };
    fewer(few.of_dynamic_programs, "dynamic programs");
    fewer(few.of_all_programs, "programs of all kinds");
    table
}

/// The users at some ranks, 1, 2, 5, 10 and so on, and at the last.
fn curve(found: &Libraries) -> Table {
    let last = found.libraries.len();
    let decades = (0..).map(|power| 10_usize.saturating_pow(power));
    let ranks = decades.flat_map(|decade| [1, 2, 5].map(|step| decade.saturating_mul(step)));
    let ranks: Vec<usize> = ranks
        .take_while(|rank| *rank < last)
        .chain([last])
        .collect();
    let columns = ranks.iter().map(|rank| number(rank.to_string()));
    let mut table = Table::new([text("rank")].into_iter().chain(columns));
    let at_rank = ranks
        .iter()
        .filter_map(|rank| found.libraries.get(rank - 1));
    let users = at_rank.map(|library| library.users.to_string());
    table.row(["users".to_owned()].into_iter().chain(users));
    table
}

fn libraries(found: &Libraries) -> Table {
    let mut table = Table::new([
        number("users"),
        number("share %"),
        number("direct"),
        number("through others"),
        text("library"),
        number("bits"),
        text("machine").optional(),
        number("bytes").optional(),
        text("path").optional(),
    ]);
    for library in &found.libraries {
        table.row([
            library.users.to_string(),
            percent(library.users, found.few.of_dynamic_programs.programs),
            library.direct.to_string(),
            library.through_others.to_string(),
            escape(&library.name),
            library.bits.to_string(),
            library.machine.clone(),
            library.bytes.to_string(),
            escape(library.path.as_os_str()),
        ]);
    }
    table
}

/// A part of some, in percent, with one decimal. Of none there is no share.
pub(in crate::view) fn percent(part: usize, of: usize) -> String {
    match of {
        0 => "-".into(),
        of => format!("{:.1}", part as f64 * 100.0 / of as f64),
    }
}

/// The first rows under a heading that says how many there are in all.
fn limited<T>(
    page: Page,
    what: &str,
    all: &[T],
    enough: Option<usize>,
    table: fn(&[T]) -> Table,
) -> Page {
    if all.is_empty() {
        return page;
    }
    let shown = enough.unwrap_or(all.len()).min(all.len());
    let page = page
        .heading(format!("{what}: {}", all.len()))
        .table(table(&all[..shown]));
    match all.len() - shown {
        0 => page,
        more => page.note(format!("and {more} more; --all shows them")),
    }
}

fn missing(missing: &[Missing]) -> Table {
    let mut table = Table::new([
        text("library"),
        number("programs"),
        text("wanted by"),
        text("why"),
    ]);
    for one in missing {
        let named = one.wanted_by.iter().take(NAMED);
        let mut files: Vec<String> = named.map(|path| escape(path.as_os_str())).collect();
        if let more @ 1.. = one.wanted_by.len().saturating_sub(NAMED) {
            files.push(format!("and {more} more"));
        }
        table.row([
            escape(&one.name),
            one.programs.len().to_string(),
            files.join(", "),
            one.reason.clone(),
        ]);
    }
    table
}

fn unread(unread: &[Unread]) -> Table {
    let mut table = Table::new([text("file"), text("why")]);
    for file in unread {
        table.row([escape(file.path.as_os_str()), file.reason.clone()]);
    }
    table
}
