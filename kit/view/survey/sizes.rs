//! How sizes are shown: by kind, pair by pair, and each program.

use crate::figure::{Axis, Boxes, Figure};
use crate::subject::escape;
use crate::survey::sizes::{OfKind, Pair, Sizes, Spread};
use crate::survey::walk::Kind;
use crate::view::{Page, Table, counted, number, text};

/// The page of a system; of its programs so many rows, or all.
pub fn page(found: &Sizes, shown: Option<usize>) -> Page {
    let mut page = Page::new()
        .table(by_kind(&found.kinds))
        .table(pairs(&found.pairs))
        .data(programs(found), shown);
    if let Some(line) = answer(&found.pairs) {
        page = page.note(line);
    }
    if found.libraries.files > 0 {
        page = page.note(format!(
            "All that they load, each once: {} of {}.",
            counted(found.libraries.files, "library file"),
            counted(found.libraries.bytes, "byte")
        ));
    }
    page = page.note(match found.programs.len() as u64 {
        0 => format!(
            "No program: of {} that may be executed, none is an ELF program.",
            counted(found.others as u64, "file")
        ),
        programs => format!(
            "{}; {} beside them may be executed: scripts, libraries, other formats.",
            counted(programs, "program"),
            counted(found.others as u64, "file")
        ),
    });
    if !found.programs.is_empty() {
        page = page.note(format!(
            "Pages are of {} bytes. Those in memory are what the segments (PT_LOAD) take, without \
             heap, stack and libraries.",
            found.page
        ));
    }
    if !found.pairs.is_empty() {
        page = page.note(
            "Pairs are found by name; whether both are of the same version is not looked at.",
        );
    }
    let lacking = found.programs.iter().filter(|it| !it.missing.is_empty());
    let lacking = lacking.count() as u64;
    if lacking > 0 {
        page = page.note(format!(
            "{} a library, and has no sum with libraries.",
            match lacking {
                1 => "1 program lacks".to_owned(),
                n => format!("Each of {n} programs lacks"),
            }
        ));
    }
    found.unread.iter().fold(page, |page, unread| {
        let path = escape(unread.path.as_os_str());
        page.note(format!("not read: {path}: {}", unread.reason))
    })
}

/// How the bytes of the programs of each kind are spread.
pub fn figure(found: &Sizes) -> Figure {
    let mut boxes = Boxes::new(Axis::log("bytes"));
    let mut words = Vec::new();
    for of in &found.kinds {
        let own = || found.programs.iter().filter(|it| it.kind == of.kind);
        let name = format!("{} ({})", kind(of.kind), of.programs);
        boxes = boxes.values(name, own().map(|it| it.bytes as f64));
        words.push(format!("{} {}", kind(of.kind), of.bytes.median));
        if let Some(spread) = of.with_libraries {
            let name = format!("{}, with libraries", kind(of.kind));
            let whole = own().filter_map(|it| it.with_libraries);
            boxes = boxes.values(name, whole.map(|bytes| bytes as f64));
            words.push(format!("with libraries {}", spread.median));
        }
    }
    let description = match words.is_empty() {
        true => "There is no program.".to_owned(),
        false => format!("The median in bytes: {}.", words.join(", ")),
    };
    Figure::new("How large programs are", description, boxes)
}

/// A row for each number that the programs of a kind have.
fn by_kind(kinds: &[OfKind]) -> Table {
    let mut table = Table::new([
        text("kind"),
        number("programs"),
        text("of each"),
        number("total").optional(),
        number("least").optional(),
        number("1st quartile").optional(),
        number("median"),
        number("3rd quartile").optional(),
        number("most"),
    ]);
    for of in kinds {
        let rows = [
            ("bytes", Some(of.bytes)),
            ("bytes with libraries", of.with_libraries),
            ("pages in memory", Some(of.memory_pages)),
            ("segments", Some(of.segments)),
        ];
        for (name, spread) in rows {
            let Some(Spread {
                total,
                least,
                first_quartile,
                median,
                third_quartile,
                most,
            }) = spread
            else {
                continue;
            };
            let numbers = [total, least, first_quartile, median, third_quartile, most];
            let words = [
                kind(of.kind).to_owned(),
                of.programs.to_string(),
                name.to_owned(),
            ];
            table.row(words.into_iter().chain(numbers.map(|it| it.to_string())));
        }
    }
    table
}

/// A row for each program that is there in both ways.
fn pairs(pairs: &[Pair]) -> Table {
    let mut table = Table::new([
        text("both ways"),
        number("dynamic bytes"),
        number("with libraries"),
        number("static bytes"),
        number("static/dynamic"),
        number("static/all"),
        number("dynamic pages").optional(),
        number("static pages").optional(),
        text("dynamic file").optional(),
        text("static file").optional(),
    ]);
    for pair in pairs {
        table.row([
            escape(&pair.name),
            pair.dynamic.bytes.to_string(),
            number_or_none(pair.dynamic.with_libraries),
            pair.fixed.bytes.to_string(),
            multiple(Some(pair.to_dynamic)),
            multiple(pair.to_dynamic_with_libraries),
            pair.dynamic.memory_pages.to_string(),
            pair.fixed.memory_pages.to_string(),
            escape(pair.dynamic.path.as_os_str()),
            escape(pair.fixed.path.as_os_str()),
        ]);
    }
    table
}

/// A row for each program.
fn programs(found: &Sizes) -> Table {
    let mut table = Table::new([
        text("program"),
        text("kind"),
        number("bytes"),
        number("pages in memory"),
        number("segments").optional(),
        number("libraries").optional(),
        number("bytes with libraries"),
        number("pages of the file").optional(),
        number("missing").optional(),
    ]);
    for program in &found.programs {
        table.row([
            escape(program.path.as_os_str()),
            kind(program.kind).to_owned(),
            program.bytes.to_string(),
            program.memory_pages.to_string(),
            program.segments.to_string(),
            number_or_none(program.libraries),
            number_or_none(program.with_libraries),
            program.file_pages.to_string(),
            program.missing.len().to_string(),
        ]);
    }
    table
}

/// Whether static programs are huge, as far as the pairs tell.
fn answer(pairs: &[Pair]) -> Option<String> {
    let median = |numbers: &mut Vec<f64>| {
        numbers.sort_by(f64::total_cmp);
        numbers.get(numbers.len().saturating_sub(1) / 2).copied()
    };
    let alone = median(&mut pairs.iter().map(|it| it.to_dynamic).collect())?;
    let whole = median(
        &mut pairs
            .iter()
            .filter_map(|it| it.to_dynamic_with_libraries)
            .collect(),
    );
    let whole = match whole {
        Some(whole) => format!(
            ", and {} times what it and the libraries that it loads are together",
            multiple(Some(whole))
        ),
        None => String::new(),
    };
    Some(format!(
        "Linked statically, a program's file is {} times the dynamic one{whole} (median of {}).",
        multiple(Some(alone)),
        counted(pairs.len() as u64, "pair")
    ))
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Dynamic => "dynamic",
        Kind::Static => "static",
        Kind::StaticPie => "static-PIE",
        Kind::Script => "script",
        Kind::Library => "library",
        Kind::Other => "other",
    }
}

fn number_or_none(number: Option<u64>) -> String {
    number.map_or("-".to_owned(), |number| number.to_string())
}

/// A multiple, to three digits.
pub(in crate::view) fn multiple(number: Option<f64>) -> String {
    match number {
        Some(number) if number >= 99.95 => format!("{number:.0}"),
        Some(number) if number >= 9.995 => format!("{number:.1}"),
        Some(number) if number >= 0.9995 => format!("{number:.2}"),
        Some(number) => format!("{number:.3}"),
        None => "-".to_owned(),
    }
}
