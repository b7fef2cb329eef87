//! What a test can demand of what was measured.
//!
//! The demands are predicates as those of the `predicates` crate, which combines them.
//! [`Trace::assert`] panics when one is not met, and shows what differs; so does
//! [`Steps::assert`](crate::steps::Steps::assert).
//!
//! ```
//! use barest::Subject;
//! use barest::assertions::{at_most, never};
//! use barest::trace::trace;
//! use predicates::prelude::*;
//!
//! let seen = trace(&Subject::new("/bin/true"))?;
//! seen.assert(at_most(100).and(never("socket")));
//! # Ok::<(), barest::Error>(())
//! ```
//!
//! ```should_panic
//! # use barest::Subject;
//! # use barest::assertions::exactly;
//! # use barest::trace::trace;
//! // Fails, and shows the calls of the C library's start as lines with a plus sign.
//! trace(&Subject::new("/bin/true"))?.assert(exactly(["execve", "exit_group"]));
//! # Ok::<(), barest::Error>(())
//! ```

mod bounds;
mod steps;
mod who;

use std::fmt;

use predicates_core::Predicate;
use predicates_core::reflection::{Case, PredicateReflection, Product};
use predicates_tree::CaseTreeExt;
use similar::{ChangeTag, TextDiff};

pub use bounds::{
    HasMemory, Limit, Proportion, bytes_at_most, faults_at_most, memory_at_most, ratio_at_least,
    ratio_at_most,
};
pub use steps::{Cpuid, InstructionsAtMost, cpuid, instructions_at_most};
pub use who::{Choice, Chosen, calls_made_by, calls_on_behalf_of};

use crate::trace::Trace;

/// These calls in this order, and no other. Restarts do not count.
pub fn exactly(names: impl IntoIterator<Item = impl Into<String>>) -> Exactly {
    Exactly {
        names: names.into_iter().map(Into::into).collect(),
    }
}

/// No call of this name.
pub fn never(name: impl Into<String>) -> Never {
    Never { name: name.into() }
}

/// So many calls or fewer. Restarts do not count.
pub fn at_most(calls: usize) -> AtMost {
    AtMost { calls }
}

/// What [`exactly()`] makes.
#[derive(Clone, Debug)]
pub struct Exactly {
    names: Vec<String>,
}

/// What [`never()`] makes.
#[derive(Clone, Debug)]
pub struct Never {
    name: String,
}

/// What [`at_most()`] makes.
#[derive(Clone, Debug)]
pub struct AtMost {
    calls: usize,
}

impl Exactly {
    /// How a trace differs, a line a call: "-" for one that is missing, "+" for one too many.
    pub fn diff(&self, trace: &Trace) -> String {
        let actual: Vec<_> = trace.names().collect();
        let actual: Vec<&str> = actual.iter().map(AsRef::as_ref).collect();
        let expected: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let lines = TextDiff::from_slices(&expected, &actual)
            .iter_all_changes()
            .map(|change| {
                let sign = match change.tag() {
                    ChangeTag::Delete => '-',
                    ChangeTag::Insert => '+',
                    ChangeTag::Equal => ' ',
                };
                format!("{sign} {}", change.value())
            })
            .collect::<Vec<_>>();
        lines.join("\n")
    }
}

impl Predicate<Trace> for Exactly {
    fn eval(&self, trace: &Trace) -> bool {
        trace.names().eq(self.names.iter().map(String::as_str))
    }

    fn find_case<'a>(&'a self, expected: bool, trace: &Trace) -> Option<Case<'a>> {
        case(self, self.eval(trace), expected, || {
            Product::new("diff", Block(self.diff(trace)))
        })
    }
}

impl Predicate<Trace> for Never {
    fn eval(&self, trace: &Trace) -> bool {
        trace.names().all(|name| name != self.name)
    }

    fn find_case<'a>(&'a self, expected: bool, trace: &Trace) -> Option<Case<'a>> {
        case(self, self.eval(trace), expected, || {
            let places = trace
                .names()
                .enumerate()
                .filter(|(_, name)| *name == self.name);
            let places: Vec<_> = places
                .map(|(place, _)| format!("call {}", place + 1))
                .collect();
            Product::new(self.name.clone(), places.join(", "))
        })
    }
}

impl Predicate<Trace> for AtMost {
    fn eval(&self, trace: &Trace) -> bool {
        trace.count() <= self.calls
    }

    fn find_case<'a>(&'a self, expected: bool, trace: &Trace) -> Option<Case<'a>> {
        case(self, self.eval(trace), expected, || {
            let names = trace.names().enumerate().map(|(place, name)| {
                let sign = if place < self.calls { ' ' } else { '+' };
                format!("{sign} {name}")
            });
            let names = names.collect::<Vec<_>>().join("\n");
            Product::new(format!("{} calls", trace.count()), Block(names))
        })
    }
}

/// A case when the result is as expected, with what shows it.
fn case<'a>(
    predicate: &'a dyn PredicateReflection,
    result: bool,
    expected: bool,
    product: impl FnOnce() -> Product,
) -> Option<Case<'a>> {
    (result == expected).then(|| Case::new(Some(predicate), result).add_product(product()))
}

/// Panics when a demand on facts is not met, and says what differs: what every `assert` does.
#[track_caller]
fn assert<T>(name: impl fmt::Display, facts: &T, demand: impl Predicate<T>) -> &T {
    if let Some(case) = demand.find_case(false, facts) {
        panic!("{name}\n{}", case.tree());
    }
    facts
}

impl PredicateReflection for Exactly {}
impl PredicateReflection for Never {}
impl PredicateReflection for AtMost {}

impl fmt::Display for Exactly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "calls are exactly {}", self.names.join(", "))
    }
}

impl fmt::Display for Never {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "never calls {}", self.name)
    }
}

impl fmt::Display for AtMost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {} calls", self.calls)
    }
}

/// Lines of their own, below what they belong to.
struct Block(String);

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{}", self.0)
    }
}

impl Trace {
    /// Panics when a demand is not met, and says what differs.
    #[track_caller]
    pub fn assert(&self, demand: impl Predicate<Trace>) -> &Self {
        let name = format_args!("{}: {}", self.subject, self.exit);
        assert(name, self, demand)
    }
}
