//! The facts in numbers.

use super::{moving, not_started, started};
use crate::report::Found;
use crate::report::system::text::{MANY, REACH_MANY};
use crate::report::system::{Flaws, Hello, Linked, Pair, Reached, Sharing, Surveyed, System};
use crate::view::survey::aslr::linked;
use crate::view::survey::exposure::download_cell;
use crate::view::survey::libraries::{few, kinds, percent};
use crate::view::survey::sizes::multiple;
use crate::view::survey::symbols::spread;
use crate::view::{Page, Table, number, text, yes_no};

pub(super) fn page(facts: &System) -> Page {
    let mut page = Page::new();
    let none: &[Pair] = &[];
    let pairs = match &facts.surveyed {
        Found::Measured(it) => {
            page = surveyed(page, it);
            &it.pairs[..]
        }
        Found::NotMeasured(why) => {
            page = page.note(format!(
                "programs in the folders of PATH: not measured: {why}"
            ));
            none
        }
    };
    page = both_ways(page, pairs, &facts.hello);
    if let Found::Measured(it) = &facts.surveyed {
        page = flaws(page, &it.flaws);
    }
    moved(page, facts)
}

fn surveyed(page: Page, facts: &Surveyed) -> Page {
    let Sharing {
        programs,
        users,
        few: with_few,
        missing,
        unread,
        ..
    } = &facts.sharing;
    let mut page = page
        .heading("Programs")
        .table(kinds(programs))
        .note(format!(
            "All that may be executed in {}.",
            facts.paths.join(", ")
        ));
    if !users.is_empty() {
        page = page
            .heading("Libraries that programs load")
            .table(few(with_few, users.len()))
            .table(libraries(&facts.sharing));
        if let more @ 1.. = users.len() - facts.sharing.first.len().min(users.len()) {
            page = page.note(format!(
                "and {more} more: barest survey libraries --all shows them"
            ));
        }
    }
    for (number, what) in [
        (missing, "libraries that are asked for and not found"),
        (unread, "files that could not be read"),
    ] {
        if *number > 0 {
            page = page.note(format!(
                "{what}: {number}; barest survey libraries names them"
            ));
        }
    }
    if let Some(shares) = &facts.symbols.spread {
        page = page
            .heading("Symbols that they use")
            .table(spread(shares))
            .note(
                "A symbol is a name with its version, as the loader binds it. The text counted \
                 names as objdump prints them, the vDSO's among those on offer.",
            );
    }
    if let untold @ 1.. = facts.symbols.untold {
        page = page.note(format!(
            "programs and libraries of which symbols could not be told: {untold}; barest survey \
             symbols names them"
        ));
    }
    page
}

fn libraries(sharing: &Sharing) -> Table {
    let mut table = Table::new([
        text("library"),
        number("programs"),
        number("share %"),
        number("direct"),
        number("through others").optional(),
        number("bytes").optional(),
    ]);
    for library in &sharing.first {
        table.row([
            library.name.clone(),
            library.users.to_string(),
            percent(library.users, sharing.few.of_dynamic_programs.programs),
            library.direct.to_string(),
            library.users.saturating_sub(library.direct).to_string(),
            library.bytes.to_string(),
        ]);
    }
    table
}

/// Programs that are there static and dynamic: those of the system, and our own.
fn both_ways(page: Page, pairs: &[Pair], hello: &[Hello]) -> Page {
    let mut table = Table::new([
        text("program"),
        number("static bytes"),
        number("dynamic bytes"),
        number("with libraries"),
        number("static/dynamic"),
        number("static/all"),
    ]);
    let ours = hello.iter().filter_map(|it| {
        let pair = it.found.measured()?;
        Some((format!("{}, {}", pair.name, it.libc), pair))
    });
    for (name, pair) in ours.chain(pairs.iter().map(|pair| (pair.name.clone(), pair))) {
        let times = |of: u64| multiple((of > 0).then(|| pair.fixed_bytes as f64 / of as f64));
        let none = || "-".to_owned();
        table.row([
            name,
            pair.fixed_bytes.to_string(),
            pair.dynamic_bytes.to_string(),
            pair.with_libraries_bytes
                .map_or_else(none, |bytes| bytes.to_string()),
            times(pair.dynamic_bytes),
            pair.with_libraries_bytes.map_or_else(none, times),
        ]);
    }
    let page = page.heading("Static and dynamic").table(table);
    hello.iter().fold(page, |page, it| match &it.found {
        Found::Measured(_) => page,
        Found::NotMeasured(why) => page.note(format!("{}: not measured: {why}", it.libc)),
    })
}

fn flaws(page: Page, facts: &Flaws) -> Page {
    let mut table = Table::new([
        text("a flaw in"),
        text("libc"),
        number("programs"),
        number("through others"),
        number("share %"),
        number("bytes"),
        number("download today").optional(),
        number("if static").optional(),
    ]);
    let mut row = |name: &str, libc: &str, reached: &Reached| {
        let [today, if_static] =
            [&reached.today, &reached.all_static].map(|update| match facts.package_data {
                true => download_cell(update),
                false => "unknown".to_owned(),
            });
        table.row([
            name.to_owned(),
            libc.to_owned(),
            reached.programs().to_string(),
            reached.through_others.to_string(),
            percent(reached.programs(), facts.programs),
            reached.bytes.to_string(),
            today,
            if_static,
        ]);
    };
    for flaw in &facts.flaws {
        row(&flaw.library, yes_no(flaw.libc), &flaw.reached);
    }
    if !facts.flaws.is_empty() {
        row("all of them", "", &facts.all);
        row("all but libc", "", &facts.without_libc);
    }
    let mut page = page.heading("What a flaw would reach").table(table);
    page = page.note(format!(
        "The text took 37 libraries with flaws of 2019 and grepped programs for their names; those \
         that reached over {MANY} were {}. These are asked about here, and OpenSSL, zlib and the C \
         library, found as the loader does. bytes: of the programs' files. download: of the \
         libraries' packages, and of all those that own such a program.",
        REACH_MANY.join(", ")
    ));
    if !facts.package_data {
        page = page.note(
            "What would be downloaded is unknown: neither dpkg nor apk nor rpm has data here.",
        );
    }
    if !facts.absent.is_empty() {
        page = page.note(format!("No program loads: {}.", facts.absent.join(", ")));
    }
    match facts.unseen.is_empty() {
        true => page,
        false => page.note(format!("Not seen: {}.", facts.unseen.join("; "))),
    }
}

fn moved(page: Page, facts: &System) -> Page {
    let mut table = Table::new([
        text("program"),
        text("linked"),
        text("part"),
        number("bases"),
        number("of starts"),
        number("bits that differed").optional(),
        number("bits by spread"),
    ]);
    for (program, shown) in started(facts).zip(moving(facts)) {
        for (part, shown) in program.parts.iter().zip(shown.parts) {
            table.row([
                program.program.clone(),
                linked(program.linkage, program.pie).to_owned(),
                shown.name,
                part.distinct.to_string(),
                program.starts.to_string(),
                part.bits.to_string(),
                part.bits_by_spread
                    .map_or("-".to_owned(), |bits| format!("{bits:.1}")),
            ]);
        }
    }
    let mut page = page.heading("Where programs are in memory").table(table);
    for (it, why) in not_started(facts) {
        let way = match it.linked {
            Linked::Static => "static",
            Linked::StaticPie => "static-PIE",
            Linked::Dynamic => "dynamic",
        };
        page = page.note(format!("{way}: not measured: {why}"));
    }
    for program in started(facts) {
        for note in &program.notes {
            page = page.note(format!("note: {}: {note}", program.program));
        }
    }
    page
}
