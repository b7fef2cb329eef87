//! How a report is shown: a file a section here makes sentences, figures and tables of its facts.

mod before_main;
mod big_parent;
mod bytes;
pub mod html;
mod method;
mod programs;
mod self_exec;
mod start;
mod system;
mod words;
mod wrapper;

use super::Page;
use crate::report::{Facts, Found, Name, Report, Section};

/// A section as it is shown. All of it is computed from the facts: nothing is claimed that is not
/// in them.
#[derive(Debug, Default)]
pub struct Shown {
    /// What was asked, what the facts answer, and whether that is what a text found: a paragraph
    /// of five sentences at most, the most important first.
    pub says: Vec<String>,
    /// What else the facts say, a sentence each.
    pub more: Vec<String>,
    /// Drawings of the facts.
    pub figures: Vec<crate::figure::Figure>,
    /// The facts in numbers, and what to know to judge them.
    pub tables: Page,
    /// Whether those are what the section is about, so that the page shows them unasked.
    pub unfolded: bool,
}

/// Sentences, figures and tables of a section that was measured.
pub fn shown(facts: &Facts) -> Shown {
    match facts {
        Facts::Programs(facts) => programs::show(facts),
        Facts::BeforeMain(facts) => before_main::show(facts),
        Facts::Start(facts) => start::show(facts),
        Facts::SelfExec(facts) => self_exec::show(facts),
        Facts::Wrapper(facts) => wrapper::show(facts),
        Facts::BigParent(facts) => big_parent::show(facts),
        Facts::System(facts) => system::show(facts),
        Facts::Bytes(facts) => bytes::show(facts),
        Facts::Method(facts) => method::show(facts),
    }
}

/// What a section is called for people.
pub fn title(name: Name) -> &'static str {
    match name {
        Name::Programs => "The programs",
        Name::BeforeMain => "From execve to main",
        Name::Start => "What one start costs",
        Name::SelfExec => "Self-exec",
        Name::Wrapper => "A wrapper between",
        Name::BigParent => "Spawning from a big parent",
        Name::System => "How this system links",
        Name::Bytes => "Every byte of true",
        Name::Method => "How it was measured",
    }
}

/// The page of a report, for a terminal or for Markdown: all that each section says, and its
/// tables.
pub fn page(reports: &[Report]) -> Page {
    let sections = reports.iter().flat_map(|report| &report.sections);
    let page = sections.fold(Page::new(), |page, section| page.page(one(section)));
    reports.iter().fold(page, |page, report| {
        page.note(format!("Measured on {}.", report.machine))
    })
}

/// The same in short: the paragraph of each section, and the table of the programs.
pub fn digest(reports: &[Report]) -> Page {
    let mut page = Page::new();
    for section in reports.iter().flat_map(|report| &report.sections) {
        page = match &section.found {
            Found::Measured(facts) => {
                let shown = shown(facts);
                let page = page.heading(title(section.name)).note(shown.says.join(" "));
                match section.name {
                    Name::Programs => page.page(shown.tables),
                    _ => page,
                }
            }
            Found::NotMeasured(_) => page.page(one(section)),
        };
    }
    reports.iter().fold(page, |page, report| {
        page.note(format!("Measured on {}.", report.machine))
    })
}

fn one(section: &Section) -> Page {
    let page = Page::new().heading(title(section.name));
    match &section.found {
        Found::Measured(facts) => {
            let shown = shown(facts);
            let page = match shown.says.is_empty() {
                true => page,
                false => page.note(shown.says.join(" ")),
            };
            let page = shown.more.into_iter().fold(page, Page::note);
            page.page(shown.tables)
        }
        Found::NotMeasured(why) => page.note(format!("not measured: {why}")),
    }
}
