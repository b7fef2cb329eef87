//! A report as a page of its own: one file, which needs no network and no script.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{Shown, shown, title};
use crate::baseline::Comparison;
use crate::figure::{self, Figure};
use crate::report::{Depth, Found, Report, Section};
use crate::view::{self, Page, Part, Side, Table};

/// The style of the page. That of the figures comes with them.
const STYLE: &str = include_str!("page.css");

/// The whole page. With a comparison it begins with what has changed.
pub fn render(report: &Report, changes: Option<&Comparison>) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "How little can a Linux process do?" }
                style { (PreEscaped(figure::STYLE)) (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { "How little can a Linux process do?" }
                    p { (introduction(report)) }
                    nav aria-label="Sections" {
                        ol {
                            @for section in &report.sections {
                                li { a href={ "#" (section.name.word()) } { (title(section.name)) } }
                            }
                        }
                    }
                }
                main {
                    @if let Some(changes) = changes { (changed(changes)) }
                    @for section in &report.sections { (one(section, report.depth)) }
                }
                footer {
                    p { "Made by barest " (report.version) ". All figures are in "
                        a href="report.json" { "report.json" } ", the tables alone in "
                        a href="report.md" { "report.md" } "." }
                }
            }
        }
    };
    page.into_string()
}

fn introduction(report: &Report) -> String {
    let how = match report.depth {
        Depth::Quick => ", quickly: with few rounds, so that intervals are wide",
        Depth::Default => "",
        Depth::Full => ", in full",
    };
    format!(
        "What four texts found out about starting a program, measured again on this machine: {}{how}.",
        report.machine
    )
}

fn changed(changes: &Comparison) -> Markup {
    html! {
        section #changes {
            h2 { "What has changed" }
            (blocks(&view::baseline::page(changes), "changes"))
        }
    }
}

fn one(section: &Section, depth: Depth) -> Markup {
    let word = section.name.word();
    let how = match depth {
        Depth::Quick => " --quick",
        Depth::Default => "",
        Depth::Full => " --full",
    };
    html! {
        section id=(word) {
            h2 { (title(section.name)) }
            @match &section.found {
                Found::NotMeasured(why) => p.missing { "Not measured: " (why) },
                Found::Measured(facts) => (measured(word, &shown(facts))),
            }
            p.command {
                "Measured in " (format!("{:.1}", section.took_ms as f64 / 1000.0)) " s by "
                code { "barest report " (word) (how) }
            }
        }
    }
}

fn measured(word: &str, shown: &Shown) -> Markup {
    let opens = match shown.more.is_empty() {
        true => "All in numbers",
        false => "More, and all in numbers",
    };
    html! {
        @if !shown.says.is_empty() { p { (shown.says.join(" ")) } }
        @for (number, figure) in shown.figures.iter().enumerate() {
            (drawing(figure, &format!("{word}-{number}")))
        }
        @if !(shown.more.is_empty() && shown.tables.parts.is_empty()) {
            details open[shown.unfolded] {
                summary { (opens) ": " (title_of(word)) }
                @if !shown.more.is_empty() {
                    ul { @for sentence in &shown.more { li { (sentence) } } }
                }
                (blocks(&shown.tables, word))
            }
        }
    }
}

/// What a section is called, in lower case: a summary must say what it opens.
fn title_of(word: &str) -> String {
    word.replace('-', " ")
}

/// Twice, for a wide and for a narrow page: letters are as large in both.
fn drawing(figure: &Figure, id: &str) -> Markup {
    html! {
        figure {
            figcaption { strong { (figure.title()) "." } " " (figure.description()) }
            div.wide { (PreEscaped(figure.inline(id, figure::WIDE))) }
            div.narrow { (PreEscaped(figure.inline(&format!("{id}-narrow"), figure::NARROW))) }
        }
    }
}

/// The parts of a page.
fn blocks(page: &Page, word: &str) -> Markup {
    html! {
        @for (number, part) in page.parts.iter().enumerate() {
            @match part {
                Part::Heading(text) => h3 { (text) },
                Part::Note(text) => p.note { (text) },
                Part::Table(table) => (rows(table, &format!("{word}: table {}", number + 1))),
                Part::Data { table, .. } => (rows(table, &format!("{word}: table {}", number + 1))),
            }
        }
    }
}

/// A table that a narrow page scrolls by itself.
fn rows(table: &Table, label: &str) -> Markup {
    let class = |side| match side {
        Side::Left => None,
        Side::Right => Some("number"),
    };
    html! {
        div.scroll role="region" tabindex="0" aria-label=(label) {
            table {
                @if table.has_header() {
                    thead { tr {
                        @for column in &table.columns {
                            th scope="col" class=[class(column.side)] { (column.name) }
                        }
                    } }
                }
                tbody {
                    @for row in &table.rows {
                        tr {
                            @for (column, cell) in table.columns.iter().zip(row) {
                                td class=[class(column.side)] { (cell) }
                            }
                        }
                    }
                }
            }
        }
    }
}
