//! How instructions are shown: of one command by file and by program, of several side by side.

use std::path::Path;
use std::time::Duration;

use super::{Column, Page, Table, counted, number, subject, text};
use crate::exit::Exit;
use crate::steps::{ByFunction, FunctionSteps, Image, Phases, Steps, Tally, Until};
use crate::subject::escape;

/// The page of these.
pub fn page(all: &[Steps]) -> Page {
    let Some(first) = all.first() else {
        return Page::new();
    };
    let page = match all {
        [one] => details(one),
        several => several
            .iter()
            .fold(Page::new().table(side_by_side(several)), |page, steps| {
                page.page(by_function(steps, true))
            }),
    };
    let page = all.iter().fold(page, |page, steps| page.note(cpuid(steps)));
    let page = page.note(subject::footer(&first.subject));
    all.iter().fold(page, |page, steps| {
        let line = |note| format!("note: {}: {note}", steps.subject);
        steps
            .notes
            .iter()
            .fold(page, |page, note| page.note(line(note)))
    })
}

/// One command: a table of files, a table of programs where there are several, and how it ended.
fn details(steps: &Steps) -> Page {
    let numbers = ["instructions", "cpuid", "rdtsc", "xgetbv"].map(number);
    let mut files = Table::new([text("file")].into_iter().chain(numbers.clone()));
    for file in &steps.files {
        files.row(cells(escape(file.file.as_ref()), file.steps));
    }
    files.row(cells("total".into(), steps.total));
    let mut page = Page::new().heading(steps.subject.to_string());
    // By function, the files of one image have a table of their own.
    let is_shown_below = |image: &Image| image.by_function.is_some();
    if steps.images.len() != 1 || !steps.images.iter().any(is_shown_below) {
        page = page.table(files);
    }

    let mut programs = Table::new(
        [number("process"), text("program")]
            .into_iter()
            .chain(numbers),
    );
    if steps.images.len() > 1 {
        for image in &steps.images {
            let program = escape(image.program.as_ref());
            let row = cells(program, image.total);
            programs.row([image.process.to_string()].into_iter().chain(row));
        }
    }
    let mut end = steps.exit.to_string();
    if steps.until == Until::FirstWrite && steps.reached {
        end += "; counted to the first write";
    }
    if steps.processes > 1 {
        end += &format!("; {} processes", steps.processes);
    }
    if steps.threads > steps.processes {
        end += &format!("; {} threads", steps.threads);
    }
    let several = steps.images.len() > 1;
    page.table(programs)
        .page(by_function(steps, several))
        .note(end)
}

/// So many functions are shown, those with the most instructions.
const SHOWN: usize = 20;

/// Each program by function, where that was asked for; named in a heading where there are several.
fn by_function(steps: &Steps, several: bool) -> Page {
    steps.images.iter().fold(Page::new(), |page, image| {
        let Some(found) = &image.by_function else {
            return page;
        };
        let page = match several {
            true => page.heading(format!(
                "process {}: {}",
                image.process,
                escape(image.program.as_ref())
            )),
            false => page,
        };
        page.table(phases_of_files(found, image.total))
            .table(functions(found))
            .table(trapping(found))
    })
}

/// The files of a program, with how far it had come.
fn phases_of_files(found: &ByFunction, total: Tally) -> Table {
    let traps = ["cpuid", "rdtsc", "xgetbv"].map(number);
    let columns = [text("file")].into_iter().chain(phases(found));
    let mut table = Table::new(columns.chain(traps));
    let mut row = |name: String, steps: Tally, phases: Option<Phases>| {
        let numbers = counts(steps, phases);
        table.row([name].into_iter().chain(numbers).chain(traps_of(steps)));
    };
    for file in found.files() {
        row(escape(file.file.as_ref()), file.steps, file.phases);
    }
    row("total".into(), total, found.phases);
    table
}

/// The functions with the most instructions, and all others together.
fn functions(found: &ByFunction) -> Table {
    let names = ["function", "in"].map(text);
    let mut table = Table::new(phases(found).into_iter().chain(names));
    for function in found.functions.iter().take(SHOWN) {
        let numbers = counts(function.steps, function.phases);
        let names = [name(function), file_name(function)];
        table.row(numbers.into_iter().chain(names));
    }
    let others = found.functions.iter().skip(SHOWN);
    let number = others.len() as u64;
    if let Some((steps, phases)) = others
        .map(|function| (function.steps, function.phases))
        .reduce(together)
    {
        let numbers = counts(steps, phases);
        let names = [counted(number, "other function"), String::new()];
        table.row(numbers.into_iter().chain(names));
    }
    table
}

type Numbers = (Tally, Option<Phases>);

fn together((mut steps, phases): Numbers, (more, more_phases): Numbers) -> Numbers {
    steps.add(more);
    let phases = phases.zip(more_phases).map(|(mut phases, more)| {
        phases.add(more);
        phases
    });
    (steps, phases)
}

/// All functions that execute an instruction that traps.
fn trapping(found: &ByFunction) -> Table {
    let numbers = ["cpuid", "rdtsc", "xgetbv"].map(number);
    let names = ["trapping in", "in"].map(text);
    let mut table = Table::new(numbers.into_iter().chain(names));
    for function in found.trapping() {
        let names = [name(function), file_name(function)];
        table.row(traps_of(function.steps).into_iter().chain(names));
    }
    table
}

/// The columns of [`counts()`].
fn phases(found: &ByFunction) -> Vec<Column> {
    let names: &[&str] = match found.phases {
        Some(_) => &["instructions", "before main", "in main", "after main"],
        None => &["instructions"],
    };
    names.iter().map(|name| number(*name)).collect()
}

/// All of them, and by how far the process had come, where that can be told.
fn counts(steps: Tally, phases: Option<Phases>) -> Vec<String> {
    let mut counts = vec![steps.instructions];
    if let Some(phases) = phases {
        counts.extend([phases.before_main, phases.main, phases.after_main]);
    }
    counts.iter().map(u64::to_string).collect()
}

fn traps_of(steps: Tally) -> [String; 3] {
    [steps.cpuid, steps.rdtsc, steps.xgetbv].map(|number| number.to_string())
}

fn name(function: &FunctionSteps) -> String {
    // A file's symbols may hold anything.
    let name = function.function.as_deref();
    name.map_or("?".into(), |name| escape(name.as_ref()))
}

fn file_name(function: &FunctionSteps) -> String {
    let file = function.file.file_name();
    escape(file.unwrap_or(function.file.as_ref()))
}

fn cells(name: String, tally: Tally) -> [String; 5] {
    let Tally {
        instructions,
        cpuid,
        rdtsc,
        xgetbv,
    } = tally;
    let [a, b, c, d] = [instructions, cpuid, rdtsc, xgetbv].map(|number| number.to_string());
    [name, a, b, c, d]
}

/// Several commands: a column each. The program of each is in one row, other files by name.
fn side_by_side(all: &[Steps]) -> Table {
    let commands = all.iter().map(|steps| number(steps.subject.to_string()));
    let mut table = Table::new([text("instructions in")].into_iter().chain(commands));
    let mut row = |name: &str, cell: &dyn Fn(&Steps) -> String| {
        table.row([name.to_owned()].into_iter().chain(all.iter().map(cell)));
    };
    let mut names: Vec<String> = Vec::new();
    for steps in all {
        for file in &steps.files {
            let name = short(steps, &file.file);
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    for name in &names {
        row(name, &|steps| {
            let same = steps
                .files
                .iter()
                .filter(|file| short(steps, &file.file) == *name);
            match same.map(|file| file.steps.instructions).sum::<u64>() {
                0 => "-".into(),
                some => some.to_string(),
            }
        });
    }
    row("total", &|steps| steps.total.instructions.to_string());
    row("cpuid", &|steps| steps.total.cpuid.to_string());
    row("rdtsc", &|steps| steps.total.rdtsc.to_string());
    row("xgetbv", &|steps| steps.total.xgetbv.to_string());
    row("exit", &|steps| match &steps.exit {
        Exit::Exited(code) => code.to_string(),
        Exit::Signaled(signal) => signal.clone(),
    });
    table
}

/// "program" for the first program's own file, the file name of any other.
fn short(steps: &Steps, file: &Path) -> String {
    let own = steps
        .images
        .first()
        .is_some_and(|image| image.program == file);
    match file.file_name() {
        _ if own => "program".into(),
        Some(name) => escape(name),
        None => escape(file.as_ref()),
    }
}

/// What the CPUID instructions cost, as in "about 435 µs in 68 CPUID", and what part that is.
fn cpuid(steps: &Steps) -> String {
    let Steps {
        subject,
        total,
        cpuid_cost,
        ..
    } = steps;
    match total.cpuid {
        0 => format!("{subject}: no CPUID"),
        times => format!(
            "{subject}: about {} in {times} CPUID, {} each on this machine now{}",
            time(steps.cpuid_time()),
            time(*cpuid_cost),
            share(steps)
        ),
    }
}

/// Which part of a start that is, as in ": 31 % of a start of 490 µs".
fn share(steps: &Steps) -> String {
    match (steps.cpuid_share(), steps.start) {
        (Some(share), Some(start)) => {
            format!(": {:.0} % of a start of {}", share * 100.0, time(start))
        }
        _ => String::new(),
    }
}

/// "6.4 µs", "435 µs", "80 ns": two digits or all before the point.
pub(super) fn time(time: Duration) -> String {
    let nanos = time.as_nanos();
    let micros = nanos as f64 / 1e3;
    match nanos {
        0..1_000 => format!("{nanos} ns"),
        1_000..10_000 => format!("{micros:.1} µs"),
        10_000..10_000_000 => format!("{micros:.0} µs"),
        _ => format!("{:.0} ms", micros / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_two_digits_or_more() {
        let shown = [80, 6_400, 435_200, 12_345_678].map(|n| time(Duration::from_nanos(n)));
        assert_eq!(shown, ["80 ns", "6.4 µs", "435 µs", "12 ms"]);
    }
}
