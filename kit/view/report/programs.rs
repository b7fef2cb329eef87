//! How the programs are shown: `true` in words and in figures, and a row for each program in each
//! runtime.

mod figures;
mod sentences;
mod tables;

use super::Shown;
use super::words::times;
use crate::count::Range;
use crate::figure::exact;
use crate::report::programs::{Comparison, Measured, Outcome, Programs, Row};

/// Sentences, figures and tables of these facts.
pub(super) fn show(facts: &Programs) -> Shown {
    Shown {
        says: sentences::says(facts),
        more: sentences::more(facts),
        figures: figures::figures(facts),
        tables: tables::page(facts),
        unfolded: false,
    }
}

/// The program that the figures are of, which does nothing: what it takes is all of its runtime.
const SMALLEST: &str = "true";

/// It in all runtimes.
fn smallest(facts: &Programs) -> Option<&Comparison> {
    facts.tables.iter().find(|it| it.program == SMALLEST)
}

/// Something that can be asked of a program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quantity {
    Bytes,
    Calls,
    Instructions,
    Memory,
}

impl Quantity {
    /// What is counted, as in `188 bytes`.
    fn unit(self) -> &'static str {
        match self {
            Quantity::Bytes => "bytes",
            Quantity::Calls => "system calls",
            Quantity::Instructions => "instructions",
            Quantity::Memory => "kB of memory",
        }
    }

    /// As in `188 bytes` or `1 system call`.
    fn counted(self, amount: usize) -> String {
        let unit = match amount {
            1 => self.unit().trim_end_matches('s'),
            _ => self.unit(),
        };
        format!("{} {unit}", exact(amount as f64))
    }

    /// How much of it a program has, over all its runs, or why that is not known.
    fn of(self, measured: &Measured) -> Result<Range, &str> {
        let bytes = measured.bytes as usize;
        let (value, why) = match self {
            Quantity::Bytes => {
                return Ok(Range {
                    min: bytes,
                    max: bytes,
                });
            }
            Quantity::Calls => (measured.calls.measured().copied(), measured.calls.why()),
            Quantity::Instructions => (
                measured.steps.measured().map(|steps| steps.instructions),
                measured.steps.why(),
            ),
            Quantity::Memory => (
                measured.memory_kb.measured().copied(),
                measured.memory_kb.why(),
            ),
        };
        value.ok_or_else(|| why.unwrap_or_default())
    }
}

/// Why nothing of a row was measured; None where something was.
fn absent(row: &Row) -> Option<String> {
    match &row.found {
        Outcome::Measured(_) => None,
        Outcome::NotInstalled(_) => Some("not installed".to_owned()),
        Outcome::Failed(why) => Some(format!("failed: {why}")),
    }
}
