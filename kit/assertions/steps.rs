//! What a test can demand of the instructions of a program.
//!
//! ```
//! use barest::Subject;
//! use barest::assertions::{cpuid, instructions_at_most};
//! use barest::steps::{Until, steps};
//! use predicates::prelude::*;
//!
//! let seen = steps(&Subject::new("/bin/true"), Until::End)?;
//! seen.assert(instructions_at_most(1_000_000).and(cpuid(seen.total.cpuid)));
//! # Ok::<(), barest::Error>(())
//! ```

use std::fmt;

use predicates_core::Predicate;
use predicates_core::reflection::{Case, PredicateReflection, Product};

use super::{Block, assert, case};
use crate::steps::{FileSteps, Steps};
use crate::subject::escape;

/// So many instructions or fewer, of all programs that were executed together.
pub fn instructions_at_most(instructions: u64) -> InstructionsAtMost {
    InstructionsAtMost { instructions }
}

/// Exactly so many CPUID instructions.
pub fn cpuid(times: u64) -> Cpuid {
    Cpuid { times }
}

/// What [`instructions_at_most()`] makes.
#[derive(Clone, Debug)]
pub struct InstructionsAtMost {
    instructions: u64,
}

/// What [`cpuid()`] makes.
#[derive(Clone, Debug)]
pub struct Cpuid {
    times: u64,
}

impl Predicate<Steps> for InstructionsAtMost {
    fn eval(&self, steps: &Steps) -> bool {
        steps.total.instructions <= self.instructions
    }

    fn find_case<'a>(&'a self, expected: bool, steps: &Steps) -> Option<Case<'a>> {
        case(self, self.eval(steps), expected, || {
            let all = steps.total.instructions;
            Product::new(
                format!("{all} instructions"),
                by_file(steps, |file| file.steps.instructions),
            )
        })
    }
}

impl Predicate<Steps> for Cpuid {
    fn eval(&self, steps: &Steps) -> bool {
        steps.total.cpuid == self.times
    }

    fn find_case<'a>(&'a self, expected: bool, steps: &Steps) -> Option<Case<'a>> {
        case(self, self.eval(steps), expected, || {
            let all = steps.total.cpuid;
            Product::new(
                format!("{all} CPUID"),
                by_file(steps, |file| file.steps.cpuid),
            )
        })
    }
}

/// A line for each file that has any.
fn by_file(steps: &Steps, number: fn(&FileSteps) -> u64) -> Block {
    let having = steps.files.iter().filter(|file| number(file) > 0);
    let lines = having.map(|file| format!("{} in {}", number(file), escape(file.file.as_ref())));
    Block(lines.collect::<Vec<_>>().join("\n"))
}

impl PredicateReflection for InstructionsAtMost {}
impl PredicateReflection for Cpuid {}

impl fmt::Display for InstructionsAtMost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {} instructions", self.instructions)
    }
}

impl fmt::Display for Cpuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exactly {} CPUID", self.times)
    }
}

impl Steps {
    /// Panics when a demand is not met, and says what differs.
    #[track_caller]
    pub fn assert(&self, demand: impl Predicate<Steps>) -> &Self {
        let name = format_args!("{}: {}", self.subject, self.exit);
        assert(name, self, demand)
    }
}
