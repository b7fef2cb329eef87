//! How many CPUID instructions a start has, and what they cost here.
//!
//! A hypervisor traps CPUID: one takes tens of nanoseconds on the bare machine, and microseconds
//! under a hypervisor. glibc asks for the processor's caches and features by it at each start.

use serde::{Deserialize, Serialize};

use super::{Candidate, exact};
use crate::baseline::Figure;
use crate::error::Result;
use crate::report::{Bench, Depth};
use crate::steps::{Tally, Until, cpuid_cost, steps};

/// The CPUID instructions of each program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cpuid {
    /// What one takes here, in nanoseconds.
    pub cost_ns: u64,
    /// Each program that was stepped through.
    pub programs: Vec<Stepped>,
    /// The others: which, and why.
    pub left_out: Vec<super::Missing>,
}

/// A program that was stepped through.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stepped {
    /// The runtime's name.
    pub name: String,
    /// Its instructions.
    pub tally: Tally,
}

/// What part of the section was done before.
const FROM: f64 = 0.8;

/// Those of which so many instructions are stepped through take seconds.
const MANY: &str = "Rust";

pub(super) fn measure(bench: &Bench, programs: &[Candidate]) -> Result<Cpuid> {
    let cost_ns = cpuid_cost()?.as_nanos() as u64;
    let (mut stepped, mut left_out) = (Vec::new(), Vec::new());
    for (at, program) in programs.iter().enumerate() {
        let name = program.name.clone();
        let part = at as f64 / programs.len() as f64;
        bench.tell(FROM + (1.0 - FROM) * part, format!("CPUID of {name}"));
        let quick = bench.depth() == Depth::Quick && name.starts_with(MANY);
        if quick {
            let why = "a quick report does not step through so many instructions".to_owned();
            left_out.push(super::Missing { name, why });
            continue;
        }
        match steps(&program.subject(), Until::End) {
            Ok(steps) => stepped.push(Stepped {
                name,
                tally: steps.total,
            }),
            Err(error) => left_out.push(super::Missing {
                name,
                why: error.to_string(),
            }),
        }
    }
    Ok(Cpuid {
        cost_ns,
        programs: stepped,
        left_out,
    })
}

impl Cpuid {
    pub(super) fn figures(&self) -> Vec<Figure> {
        let figures = self.programs.iter().map(|stepped| {
            let many = stepped.tally.cpuid as usize;
            exact(
                &format!("hello, {}", stepped.name),
                "cpuid".into(),
                many,
                many,
            )
        });
        figures.collect()
    }
}
