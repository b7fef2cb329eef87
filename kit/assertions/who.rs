//! What a test can demand of who makes the calls of a program.
//!
//! ```
//! use barest::Subject;
//! use barest::assertions::{calls_made_by, calls_on_behalf_of};
//! use barest::who::{Party, who};
//! use predicates::prelude::*;
//!
//! let seen = who(&Subject::new("/bin/true"))?;
//! seen.assert(
//!     calls_on_behalf_of(Party::Loader)
//!         .at_most(60)
//!         .and(calls_made_by("libcrypto").none()),
//! );
//! # Ok::<(), barest::Error>(())
//! ```
//!
//! ```should_panic
//! # use barest::Subject;
//! # use barest::assertions::calls_on_behalf_of;
//! # use barest::who::{Party, who};
//! // Fails, and shows each call of the loader with its stack.
//! who(&Subject::new("/bin/true"))?.assert(calls_on_behalf_of(Party::Loader).none());
//! # Ok::<(), barest::Error>(())
//! ```

use std::fmt;

use predicates_core::Predicate;
use predicates_core::reflection::{Case, PredicateReflection, Product};
use similar::{ChangeTag, TextDiff};

use super::{Block, assert, case};
use crate::view::who::{party, with_stack};
use crate::who::{Party, Selection, Who};

/// Calls that are made by code in a file whose name contains a text, as in "ld-linux".
pub fn calls_made_by(file: impl Into<String>) -> Choice {
    Choice::default().made_by(file)
}

/// Calls that are made on behalf of one party.
pub fn calls_on_behalf_of(party: Party) -> Choice {
    Choice::default().on_behalf_of(party)
}

/// Which calls a demand is about. It becomes a demand by saying what they have to be.
#[derive(Clone, Debug, Default)]
#[must_use = "it demands nothing yet"]
pub struct Choice {
    file: Option<String>,
    party: Option<Party>,
}

impl Choice {
    /// Only those that are made by code in a file whose name contains a text.
    pub fn made_by(mut self, file: impl Into<String>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// Only those that are made on behalf of one party.
    pub fn on_behalf_of(mut self, party: Party) -> Self {
        self.party = Some(party);
        self
    }

    /// There is none.
    pub fn none(self) -> Chosen {
        self.exactly(0)
    }

    /// There are exactly so many.
    pub fn exactly(self, calls: usize) -> Chosen {
        Chosen {
            choice: self,
            wanted: Wanted::Exactly(calls),
        }
    }

    /// There are so many or fewer.
    pub fn at_most(self, calls: usize) -> Chosen {
        Chosen {
            choice: self,
            wanted: Wanted::AtMost(calls),
        }
    }

    /// They are these, in this order.
    pub fn are(self, names: impl IntoIterator<Item = impl Into<String>>) -> Chosen {
        Chosen {
            choice: self,
            wanted: Wanted::Names(names.into_iter().map(Into::into).collect()),
        }
    }

    fn of<'a>(&self, who: &'a Who) -> Selection<'a> {
        let mut chosen = who.calls();
        if let Some(file) = &self.file {
            chosen = chosen.made_by(file);
        }
        if let Some(party) = self.party {
            chosen = chosen.on_behalf_of(party);
        }
        chosen
    }
}

/// What [`Choice`] makes: a demand on some calls.
#[derive(Clone, Debug)]
pub struct Chosen {
    choice: Choice,
    wanted: Wanted,
}

#[derive(Clone, Debug)]
enum Wanted {
    Exactly(usize),
    AtMost(usize),
    Names(Vec<String>),
}

impl Chosen {
    /// How the calls differ, a line a call: "-" for one that is missing, "+" for one too many, with
    /// its stack below.
    pub fn diff(&self, who: &Who) -> String {
        let chosen = self.choice.of(who);
        let names: Vec<_> = chosen.names().collect();
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        let mut actual = chosen.iter();
        let mut line = |tag, name: &str| match tag {
            ChangeTag::Delete => format!("- {name}"),
            ChangeTag::Equal => {
                actual.next();
                format!("  {name}")
            }
            ChangeTag::Insert => match actual.next() {
                Some((call, made)) => format!("+ {}", with_stack(call, made)),
                None => format!("+ {name}"),
            },
        };
        let lines: Vec<String> = match &self.wanted {
            Wanted::Names(wanted) => {
                let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
                let diff = TextDiff::from_slices(&wanted, &names);
                let changes = diff.iter_all_changes();
                changes
                    .map(|change| line(change.tag(), change.value()))
                    .collect()
            }
            Wanted::Exactly(most) | Wanted::AtMost(most) => {
                let tag = |at| {
                    if at < *most {
                        ChangeTag::Equal
                    } else {
                        ChangeTag::Insert
                    }
                };
                let all = names.iter().enumerate();
                all.map(|(at, name)| line(tag(at), name)).collect()
            }
        };
        lines.join("\n")
    }
}

impl Predicate<Who> for Chosen {
    fn eval(&self, who: &Who) -> bool {
        let chosen = self.choice.of(who);
        match &self.wanted {
            Wanted::Exactly(calls) => chosen.len() == *calls,
            Wanted::AtMost(calls) => chosen.len() <= *calls,
            Wanted::Names(names) => chosen.names().eq(names.iter().map(String::as_str)),
        }
    }

    fn find_case<'a>(&'a self, expected: bool, who: &Who) -> Option<Case<'a>> {
        case(self, self.eval(who), expected, || {
            let calls = self.choice.of(who).len();
            Product::new(format!("{calls} calls"), Block(self.diff(who)))
        })
    }
}

impl PredicateReflection for Chosen {}

impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("calls")?;
        if let Some(file) = &self.choice.file {
            write!(f, " made by {file}")?;
        }
        if let Some(one) = self.choice.party {
            write!(f, " on behalf of {}", party(one))?;
        }
        match &self.wanted {
            Wanted::Exactly(calls) => write!(f, ": exactly {calls}"),
            Wanted::AtMost(calls) => write!(f, ": at most {calls}"),
            Wanted::Names(names) => write!(f, " are {}", names.join(", ")),
        }
    }
}

impl Who {
    /// Panics when a demand is not met, and says what differs.
    #[track_caller]
    pub fn assert(&self, demand: impl Predicate<Who>) -> &Self {
        let name = format_args!("{}: {}", self.trace.subject, self.trace.exit);
        assert(name, self, demand)
    }
}
