//! Where facts and errors go: stdout in the chosen format, and stderr a line each.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use barest::baseline::Comparison;
use barest::view::{self, Format, Page, Terminal, csv, json, markdown, table};
use serde::Serialize;

use super::Outcome;

/// What a command found out, and what it could not.
pub struct Findings<F> {
    schema: &'static str,
    facts: Vec<F>,
    errors: Vec<String>,
    comparison: Option<Comparison>,
}

impl<F: Serialize> Findings<F> {
    /// Nothing yet, to be printed under that schema.
    pub fn new(schema: &'static str) -> Self {
        Findings {
            schema,
            facts: Vec::new(),
            errors: Vec::new(),
            comparison: None,
        }
    }

    /// Keeps facts; says on stderr why there are none.
    pub fn add(&mut self, found: barest::Result<F>) {
        match found {
            Ok(facts) => self.facts.push(facts),
            Err(error) => self.fail(&error),
        }
    }

    /// Says on stderr what could not be done.
    pub fn fail(&mut self, error: &barest::Error) {
        complain(error);
        self.errors.push(error.to_string());
    }

    /// Whether something could not be done.
    pub fn failed(&self) -> bool {
        !self.errors.is_empty()
    }

    /// What was found out.
    pub fn facts(&self) -> &[F] {
        &self.facts
    }

    /// Keeps how the facts compare with a baseline, to be printed with them.
    pub fn compare(&mut self, comparison: Comparison) {
        self.comparison = Some(comparison);
    }

    /// Prints it all, and tells what it comes to.
    pub fn print(&self, format: Format, page: impl FnOnce(&[F]) -> Page) -> Outcome {
        let comparison = self.comparison.as_ref();
        let page = |facts| {
            let page = page(facts);
            match comparison {
                Some(comparison) => page.page(view::baseline::page(comparison)),
                None => page,
            }
        };
        let text = match format {
            Format::Json => {
                json::render_compared(self.schema, &self.facts, &self.errors, comparison)
            }
            Format::Table => table::render(&page(&self.facts), Terminal::stdout()),
            Format::Markdown => markdown::render(&page(&self.facts)),
            Format::Csv => csv::render(&page(&self.facts)),
        };
        let printed = print(&text);
        if self.errors.is_empty() {
            printed
        } else {
            Outcome::NotMeasured
        }
    }
}

/// Writes to stdout. A reader that has gone away, as `head` does, has seen what it wanted.
pub fn print(text: &str) -> Outcome {
    print_bytes(text.as_bytes())
}

/// As [`print`], of bytes.
pub fn print_bytes(bytes: &[u8]) -> Outcome {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            complain(&format_args!(
                "stdout: {error}; send it somewhere that takes it"
            ));
            Outcome::NotMeasured
        }
        _ => Outcome::Done,
    }
}

/// One line on stderr. There is nowhere left to say that stderr itself is closed.
pub fn complain(what: &impl Display) {
    let _ = writeln!(io::stderr(), "barest: {what}");
}
