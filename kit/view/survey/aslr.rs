//! How addresses are shown that move: a row for each part of each program, and what that says.

use crate::figure::{Axis, Bars, Figure};
use crate::image::Linkage;
use crate::start::{Moved, Place};
use crate::subject::escape;
use crate::survey::aslr::Aslr;
use crate::view::start::{area, by_spread, runs};
use crate::view::{Page, Table, counted, number, subject, text};

/// The page of these programs.
pub fn page(programs: &[Aslr]) -> Page {
    let Some(first) = programs.first() else {
        return Page::new();
    };
    let mut table = Table::new([
        text("program"),
        text("linked"),
        text("part"),
        number("bases"),
        number("of starts"),
        number("bits"),
        number("by spread"),
        text("bits that differed").optional(),
        number("lowest").optional(),
        number("highest").optional(),
    ]);
    for program in programs {
        for (part, moved) in parts(program) {
            table.row([
                program.subject.to_string(),
                linked(program.linkage, program.pie).to_owned(),
                part,
                moved.distinct.to_string(),
                program.starts.to_string(),
                moved.bits.to_string(),
                by_spread(moved),
                runs(moved.differing),
                moved.lowest.to_string(),
                moved.highest.to_string(),
            ]);
        }
    }
    let mut page = Page::new().data(table, None);
    for line in answer(&all(programs)) {
        page = page.note(line);
    }
    page = page.note(format!(
        "Each program was started {}: its loader ran (glibc's runs the initializers of libraries as well); it \
         was killed before its own first instruction.",
        counted(first.starts as u64, "time")
    ));
    page = page.note(
        "bits: those in which any two bases differ; a borrow can add one or two. By spread: how \
         many were drawn, from the distance between the lowest and the highest base.",
    );
    page = page.note(machine(programs));
    if let Some(line) = chance(programs) {
        page = page.note(line);
    }
    page = page.note(subject::footer(&first.subject));
    for program in programs {
        for note in &program.notes {
            page = page.note(match programs {
                [_] => format!("note: {note}"),
                _ => format!("note: {}: {note}", program.subject),
            });
        }
    }
    page
}

/// How many bits were drawn for each part of each program.
pub fn figure(programs: &[Aslr]) -> Figure {
    drawn(&all(programs))
}

/// A program as the figure and the answer need it.
pub(in crate::view) struct Moving {
    /// What it is called.
    pub name: String,
    /// How its file is linked, where that is known.
    pub linkage: Option<Linkage>,
    /// Whether it runs at any address.
    pub pie: Option<bool>,
    /// Whether the kernel drew addresses for it.
    pub randomized: Option<bool>,
    /// How often it was started.
    pub starts: usize,
    /// Its parts.
    pub parts: Vec<Part>,
}

/// A part of it.
pub(in crate::view) struct Part {
    pub what: Place,
    pub name: String,
    /// How many different bases it had.
    pub distinct: usize,
    /// How many bits were drawn for it; None where it did not move.
    pub bits_by_spread: Option<f64>,
}

fn all(programs: &[Aslr]) -> Vec<Moving> {
    let one = |program: &Aslr| Moving {
        name: program.subject.to_string(),
        linkage: program.linkage,
        pie: program.pie,
        randomized: program.randomized,
        starts: program.starts,
        parts: parts(program)
            .into_iter()
            .map(|(name, moved)| Part {
                what: moved.what,
                name,
                distinct: moved.distinct,
                bits_by_spread: moved.bits_by_spread,
            })
            .collect(),
    };
    programs.iter().map(one).collect()
}

/// How many bits were drawn for each part of each of these.
pub(in crate::view) fn drawn(programs: &[Moving]) -> Figure {
    let mut names: Vec<&str> = Vec::new();
    for part in programs.iter().flat_map(|program| &program.parts) {
        if !names.contains(&part.name.as_str()) {
            names.push(&part.name);
        }
    }
    let mut bars = Bars::new(Axis::linear("bits drawn, by the spread of the bases"))
        .categories(names.iter().copied());
    for program in programs {
        let label = format!("{}, {}", program.name, linked(program.linkage, program.pie));
        for part in &program.parts {
            let category = names.iter().position(|name| *name == part.name);
            let bits = part.bits_by_spread.unwrap_or(0.0);
            bars = bars.bar(label.clone(), bits, category.unwrap_or(0));
        }
    }
    let starts = programs.first().map_or(0, |program| program.starts);
    let mut lines = answer(programs);
    lines.insert(
        0,
        format!("{} of each program.", counted(starts as u64, "start")),
    );
    Figure::new("How far addresses move", lines.join(" "), bars)
}

/// The rows of one program: a part, and how it moved. What moves together has one row.
fn parts(program: &Aslr) -> Vec<(String, &Moved)> {
    let together = program.together == Some(true);
    let libraries = program.libraries.len();
    let mut rows = Vec::new();
    for moved in &program.parts {
        let name = match moved.what {
            Place::Interpreter if together => loader_and(libraries),
            Place::Interpreter => "loader".to_owned(),
            place => area(place).to_owned(),
        };
        rows.push((name, moved));
        if moved.what == Place::Interpreter && !together {
            for library in &program.libraries {
                let name = library.path.file_name().unwrap_or_default();
                rows.push((escape(name), &library.moved));
            }
        }
    }
    rows
}

/// A loader and so many libraries that move as one.
pub(in crate::view) fn loader_and(libraries: usize) -> String {
    format!(
        "loader and {}, together",
        match libraries {
            1 => "its library".to_owned(),
            n => format!("{n} libraries"),
        }
    )
}

/// How a program is linked, in words.
pub(in crate::view) fn linked(linkage: Option<Linkage>, pie: Option<bool>) -> &'static str {
    match (linkage, pie) {
        (Some(Linkage::Dynamic), Some(true)) => "dynamic PIE",
        (Some(Linkage::Dynamic), _) => "dynamic fixed",
        (Some(Linkage::StaticPie), _) => "static-PIE",
        (Some(Linkage::Static), _) => "static fixed",
        (Some(Linkage::SharedObject), _) => "shared object",
        (_, _) => "unknown",
    }
}

impl Moving {
    /// How many different places the program itself had.
    pub fn bases(&self) -> usize {
        let own = self.parts.iter().find(|part| part.what == Place::Program);
        own.map_or(0, |part| part.distinct)
    }
}

/// Whether static linking keeps addresses from moving, as far as these programs tell.
pub(in crate::view) fn answer(programs: &[Moving]) -> Vec<String> {
    if programs
        .iter()
        .all(|program| program.randomized == Some(false))
    {
        return vec![
            "Addresses were not random here (randomize_va_space is 0, or setarch -R): this says \
             nothing on static linking."
                .to_owned(),
        ];
    }
    let of = |linkage, pie| {
        programs.iter().find(move |program| {
            program.linkage == Some(linkage)
                && program.pie == Some(pie)
                && program.randomized != Some(false)
        })
    };
    let bases = |program: &Moving| {
        let distinct = program.bases() as u64;
        format!("{} in {} starts", counted(distinct, "base"), program.starts)
    };
    let mut lines = Vec::new();
    let dynamic = of(Linkage::Dynamic, true);
    if let Some(pie) = of(Linkage::StaticPie, true) {
        let beside = match dynamic {
            Some(other) => format!("; {}, dynamic, {}", other.name, bases(other)),
            None => String::new(),
        };
        let verdict = match pie.bases() {
            0 | 1 => "A static-PIE that did not move",
            _ => "Static linking does not prevent ASLR",
        };
        lines.push(format!(
            "{verdict}: {} is a static-PIE and had {}{beside}.",
            pie.name,
            bases(pie)
        ));
    }
    if let Some(fixed) = of(Linkage::Static, false) {
        let mut line = format!("{} is static and no PIE: {}", fixed.name, bases(fixed));
        if fixed.bases() == 1 {
            line += ". It is PIE that lets a program move (-static-pie), not how it is linked";
        }
        if let Some(other) = of(Linkage::Dynamic, false) {
            line += &format!("; {}, dynamic and no PIE, {}", other.name, bases(other));
        }
        lines.push(line + ".");
    }
    lines
}

/// What this machine draws.
fn machine(programs: &[Aslr]) -> String {
    let mut line = match programs.first().and_then(|it| it.randomize_va_space) {
        Some(level) => format!("This machine: kernel.randomize_va_space is {level}"),
        None => "This machine does not tell kernel.randomize_va_space".to_owned(),
    };
    for (bits, name) in [(64, "vm.mmap_rnd_bits"), (32, "vm.mmap_rnd_compat_bits")] {
        let Some(program) = programs.iter().find(|program| program.bits == bits) else {
            continue;
        };
        line += &match program.mmap_rnd_bits {
            Some(drawn) => format!(", {name} {drawn}"),
            None => format!(", {name} is for root to read"),
        };
    }
    line + "."
}

/// What chance alone makes of few places: where a part moved and yet met one place twice.
fn chance(programs: &[Aslr]) -> Option<String> {
    let (moved, starts) = programs.iter().find_map(|program| {
        let mut rows = parts(program).into_iter().map(|(_, moved)| moved);
        let twice = rows.find(|moved| moved.distinct > 1 && moved.distinct < program.starts)?;
        Some((twice, program.starts))
    })?;
    let bits = moved.bits_by_spread?.round();
    let places = bits.exp2();
    // Each place is missed by all starts with (1 - 1/places)^starts.
    let met = places * (1.0 - (1.0 - 1.0 / places).powf(starts as f64));
    Some(format!(
        "Of 2^{bits} places, {starts} starts meet {met:.0} different ones on average."
    ))
}
