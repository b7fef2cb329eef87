//! How a report is shown: a row for each program in each runtime.

use super::{Page, Table, number, text};
use crate::image::Image;
use crate::report::{Found, Measured, Report, Row};

/// The page of a report: one table of all programs in all runtimes.
pub fn page(reports: &[Report]) -> Page {
    reports.iter().fold(Page::new(), |page, report| {
        let mut table = Table::new([
            text("program"),
            text("runtime"),
            number("calls"),
            number("bytes"),
            text("mapped"),
            text("made of"),
        ]);
        for comparison in &report.tables {
            for row in &comparison.rows {
                let head = [comparison.program.clone(), row.runtime.clone()];
                table.row(head.into_iter().chain(cells(row)));
            }
        }
        page.table(table)
            .note(format!("Measured on {}.", report.machine))
            .note(
                "calls: system calls, the execve that starts it included; of exec, those up to \
                 its own execve. mapped: the flags of each PT_LOAD.",
            )
    })
}

/// What a row says behind its names. One that was not measured says why at its end.
fn cells(row: &Row) -> [String; 4] {
    let nothing = |why: String| ["-".into(), "-".into(), "-".into(), why];
    match &row.found {
        Found::Measured(measured) => {
            let Measured { calls, image, .. } = &**measured;
            let parts: Vec<_> = row.parts.iter().map(ToString::to_string).collect();
            [
                calls.to_string(),
                image.bytes.to_string(),
                mapped(image),
                parts.join(", "),
            ]
        }
        Found::NotInstalled(what) => nothing(format!("not installed: {what}")),
        Found::Failed(why) => nothing(format!("failed: {why}")),
    }
}

/// The flags of what is loaded, as in `r-x rw-`.
fn mapped(image: &Image) -> String {
    let loads = image
        .segments
        .iter()
        .filter(|segment| segment.kind == "LOAD");
    loads
        .map(|segment| segment.flags.to_string())
        .collect::<Vec<_>>()
        .join(" ")
}
