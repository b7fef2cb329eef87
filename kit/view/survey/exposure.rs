//! How the reach of a flaw is shown: a sentence, a row a name, then libraries, programs and
//! packages, and what the answer cannot see.

use std::cmp::Reverse;

use crate::figure::{Axis, Bars, Figure};
use crate::subject::escape;
use crate::survey::exposure::{Advised, Exposure, Is, Library, Reach, Update};
use crate::view::{Page, Table, counted, number, text};

/// How many names a figure has room for.
const BARS: usize = 40;

/// How many names a line has room for.
const LISTED: usize = 5;

/// The page of an answer. Of each long table so many rows are shown; without a number, all.
pub fn page(facts: &Exposure, shown: Option<usize>) -> Page {
    if facts.names.is_empty() && facts.advisories.is_empty() {
        return Page::new().note("Nothing that was named is on this system.");
    }
    let page = sentences(facts).table(rows(facts));
    let page = libraries(page, facts, shown);
    let page = match facts.programs.is_empty() {
        true => page,
        false => page.heading("Programs, the largest first"),
    };
    let page = page.data(programs(facts), shown);
    let page = packages(page, facts, shown);
    notes(page, facts, shown)
}

fn sentences(facts: &Exposure) -> Page {
    let reach = &facts.total;
    let these = match reach.libraries.len() {
        0 => return Page::new().note("No library is owned by what was named: nothing is reached."),
        1 => "this library".to_owned(),
        number => format!("any of these {number} libraries"),
    };
    let share = percent(reach.share);
    let page = Page::new().note(format!(
        "A flaw in {these} would reach {} of {} ({share} %): {} link to one themselves, {} through \
         other libraries. Their files have {}.",
        reach.programs.len(),
        counted(facts.population.programs as u64, "program"),
        reach.direct,
        reach.through_others,
        counted(reach.bytes, "byte"),
    ));
    if facts.databases.is_empty() {
        return page;
    }
    page.note(format!(
        "Today {} would have to be downloaded; were all programs static, {}.",
        download(&reach.today),
        download(&reach.all_static),
    ))
}

/// `3 packages (2031 bytes)`, and for how many of them the size is not known.
fn download(update: &Update) -> String {
    let packages = counted(update.packages as u64, "package");
    let size = match update.download_unknown {
        _ if update.packages == 0 => String::new(),
        0 => format!(" ({})", counted(update.download_bytes, "byte")),
        unknown if unknown == update.packages => " (of unknown size)".to_owned(),
        unknown => format!(
            " ({} and {unknown} of unknown size)",
            counted(update.download_bytes, "byte")
        ),
    };
    let unowned = match update.unowned {
        0 => String::new(),
        unowned => format!(" and {} of no package", counted(unowned as u64, "file")),
    };
    packages + &size + &unowned
}

/// The same in a cell.
pub(in crate::view) fn download_cell(update: &Update) -> String {
    match update.download_unknown {
        0 if update.packages == 0 => "-".to_owned(),
        0 => update.download_bytes.to_string(),
        unknown if unknown == update.packages => "unknown".to_owned(),
        unknown => format!("{} + {unknown} unknown", update.download_bytes),
    }
}

fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

fn rows(facts: &Exposure) -> Table {
    let mut table = Table::new([
        text("name"),
        text("is"),
        number("libraries"),
        number("direct"),
        number("through others"),
        number("programs"),
        number("share %"),
        number("bytes"),
        number("download today").optional(),
        number("packages if static").optional(),
        number("download if static").optional(),
    ]);
    let mut row = |name: String, is: &str, reach: &Reach| {
        table.row([
            name,
            is.to_owned(),
            reach.libraries.len().to_string(),
            reach.direct.to_string(),
            reach.through_others.to_string(),
            reach.programs.len().to_string(),
            percent(reach.share),
            reach.bytes.to_string(),
            download_cell(&reach.today),
            reach.all_static.packages.to_string(),
            download_cell(&reach.all_static),
        ]);
    };
    for named in &facts.names {
        let is = match named.is {
            Is::Path => "path",
            Is::Soname => "library",
            Is::Package => "package",
        };
        row(escape(&named.name), is, &named.reach);
    }
    for advised in facts
        .advisories
        .iter()
        .filter(|advised| is_installed(advised))
    {
        row(advised.advisory.id.clone(), "advisory", &advised.reach);
    }
    row("all".to_owned(), "", &facts.total);
    row("all but libc".to_owned(), "", &facts.without_libc);
    table
}

fn is_installed(advised: &Advised) -> bool {
    !advised.installed.is_empty()
}

fn owner(facts: &Exposure, place: Option<usize>) -> &str {
    let owner = place.and_then(|place| facts.packages.get(place));
    owner.map_or("-", |owner| &owner.package.name)
}

/// Libraries by the number of programs that load them.
fn libraries(page: Page, facts: &Exposure, shown: Option<usize>) -> Page {
    let loads = |library: &Library| library.direct + library.through_others;
    let mut libraries: Vec<&Library> = facts.libraries.iter().collect();
    libraries.sort_by_key(|library| Reverse(loads(library)));
    let loaded = libraries
        .iter()
        .filter(|library| loads(library) > 0)
        .count();
    let rows = shown.map_or(libraries.len(), |shown| loaded.min(shown));
    let mut table = Table::new([
        text("library"),
        number("bytes"),
        text("package"),
        text("libc"),
        number("direct"),
        number("through others"),
    ]);
    for library in &libraries[..rows] {
        table.row([
            escape(library.path.as_os_str()),
            library.bytes.to_string(),
            owner(facts, library.package).to_owned(),
            if library.libc { "yes" } else { "" }.to_owned(),
            library.direct.to_string(),
            library.through_others.to_string(),
        ]);
    }
    let page = match libraries.is_empty() {
        true => page,
        false => page.heading("Libraries").table(table),
    };
    let (more, unused) = (
        loaded.saturating_sub(rows),
        libraries.len() - loaded.max(rows),
    );
    let page = match more {
        0 => page,
        more => page.note(format!(
            "and {more} more that programs load; --all shows them"
        )),
    };
    match unused {
        0 => page,
        1 => page.note("and 1 that no program links to; --all shows it"),
        unused => page.note(format!(
            "and {unused} that no program links to; --all shows them"
        )),
    }
}

/// A row for each name or advisory and each program that it reaches, the largest programs first.
fn programs(facts: &Exposure) -> Table {
    let names = facts
        .names
        .iter()
        .map(|named| (escape(&named.name), &named.reach));
    let advisories = facts.advisories.iter();
    let advisories = advisories.map(|advised| (advised.advisory.id.clone(), &advised.reach));
    let reached = names
        .chain(advisories)
        .enumerate()
        .flat_map(|(order, (name, reach))| {
            let members = reach.programs.iter();
            members.filter_map(move |member| {
                let program = facts.programs.get(member.program)?;
                let key = (Reverse(program.bytes), member.program, order);
                Some((key, program, name.clone(), member.direct))
            })
        });
    let mut reached: Vec<_> = reached.collect();
    reached.sort_by_key(|(key, ..)| *key);
    let mut table = Table::new([
        text("program"),
        text("name"),
        text("links"),
        number("bytes"),
        text("package"),
    ]);
    for (_, program, name, direct) in reached {
        table.row([
            escape(program.path.as_os_str()),
            name,
            if direct { "directly" } else { "through others" }.to_owned(),
            program.bytes.to_string(),
            owner(facts, program.package).to_owned(),
        ]);
    }
    table
}

/// The packages by the bytes of the programs that are reached.
fn packages(page: Page, facts: &Exposure, shown: Option<usize>) -> Page {
    let mut packages: Vec<_> = facts.packages.iter().collect();
    packages.sort_by_key(|owner| Reverse(owner.program_bytes));
    let rows = shown.unwrap_or(usize::MAX).min(packages.len());
    let mut table = Table::new([
        text("package"),
        text("version"),
        text("source").optional(),
        number("programs"),
        number("their bytes"),
        number("libraries"),
        number("installed bytes"),
        number("download bytes"),
    ]);
    let size = |bytes: Option<u64>| bytes.map_or("unknown".to_owned(), |bytes| bytes.to_string());
    for owner in &packages[..rows] {
        table.row([
            owner.package.name.clone(),
            owner.package.version.clone(),
            owner.package.source.clone(),
            owner.programs.to_string(),
            owner.program_bytes.to_string(),
            owner.libraries.to_string(),
            size(owner.package.installed_bytes),
            size(owner.package.download_bytes),
        ]);
    }
    let page = match packages.is_empty() {
        true => page,
        false => page.heading("Packages").table(table),
    };
    match packages.len() - rows {
        0 => page,
        more => page.note(format!("and {more} more packages; --all shows them")),
    }
}

fn notes(mut page: Page, facts: &Exposure, shown: Option<usize>) -> Page {
    let some = |names: Vec<String>| {
        let rows = shown.map_or(names.len(), |_| LISTED.min(names.len()));
        let more = match names.len() - rows {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        names[..rows].join(", ") + &more
    };
    page = page.heading("How to read this").note(
        "A program's bytes are its file's, without its libraries; a static one would have what it \
         uses of them as well. A package's are those of all its files.",
    );
    let libc = &facts.libc;
    if !libc.packages.is_empty() {
        let packages = libc.packages.join(", ");
        page = page.note(format!("libc: the libraries of {packages}."));
    }
    if !libc.by_name.is_empty() {
        let names = libc.by_name.iter().map(|path| escape(path.as_os_str()));
        page = page.note(format!(
            "libc, by the name alone: {}.",
            some(names.collect())
        ));
    }
    let absent = facts
        .advisories
        .iter()
        .filter(|advised| !is_installed(advised));
    let absent: Vec<String> = absent.map(|advised| advised.advisory.id.clone()).collect();
    if !absent.is_empty() {
        page = page.note(format!(
            "{} about nothing that is installed, or withdrawn: {}.",
            counted(absent.len() as u64, "advisory").replace("advisorys", "advisories"),
            some(absent),
        ));
    }
    let missing = facts
        .advisories
        .iter()
        .filter(|advised| is_installed(advised));
    let missing = missing.flat_map(|advised| &advised.not_installed);
    let missing: Vec<String> = missing.map(|name| name.name.clone()).collect();
    if !missing.is_empty() {
        page = page.note(format!("Not installed: {}.", some(missing)));
    }
    if !facts.static_programs.is_empty() {
        let names = facts
            .static_programs
            .iter()
            .map(|path| escape(path.as_os_str()));
        page = page.note(format!(
            "Static, so not seen into: {}.",
            some(names.collect())
        ));
    }
    page = page.note(format!("Not seen: {}.", facts.unseen.join("; ")));
    for database in &facts.databases {
        for remark in &database.remarks {
            page = page.note(format!("{}: {remark}", escape(database.path.as_os_str())));
        }
    }
    if !facts.unread.is_empty() {
        let unread = facts.unread.iter();
        let unread = unread.map(|u| format!("{} ({})", escape(u.path.as_os_str()), u.reason));
        page = page.note(format!("Not read: {}.", some(unread.collect())));
    }
    page
}

/// How many programs each name and each advisory reaches.
pub fn figure(facts: &Exposure) -> Figure {
    let names = facts
        .names
        .iter()
        .map(|named| (escape(&named.name), &named.reach));
    let advisories = facts
        .advisories
        .iter()
        .filter(|advised| is_installed(advised));
    let advisories = advisories.map(|advised| (advised.advisory.id.clone(), &advised.reach));
    let rows = names.chain(advisories);
    let rows = rows.map(|(name, reach)| (name, reach.direct, reach.through_others));
    let reached = [&facts.total, &facts.without_libc].map(|reach| reach.programs.len());
    drawn(rows.collect(), reached, facts.population.programs)
}

/// The same of these names, each with the programs that it reaches directly and through others;
/// and how many all of them reach, with and without libc, of how many programs.
pub(in crate::view) fn drawn(
    mut rows: Vec<(String, usize, usize)>,
    [all, without_libc]: [usize; 2],
    programs: usize,
) -> Figure {
    rows.sort_by_key(|(_, direct, through_others)| Reverse(direct + through_others));
    let drawn = rows.len().min(BARS);
    let mut bars = Bars::new(Axis::linear("programs")).categories(["directly", "through others"]);
    for (name, direct, through_others) in &rows[..drawn] {
        bars = bars.bar(name, *direct, 0).bar(name, *through_others, 1);
    }
    let mut sentence = format!(
        "All of them reach {all} of {}, {without_libc} without libc.",
        counted(programs as u64, "program"),
    );
    if drawn < rows.len() {
        sentence += &format!(" The {drawn} that reach most of {}.", rows.len());
    }
    Figure::new("Programs that a flaw would reach", sentence, bars)
}
