//! How the calls of a start are divided.

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::{Made, Party, Who};
use crate::trace::Call;

/// The calls after the first execve and before the first write, by the files that they are made by
/// and by whom they are made for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// How many there are.
    pub calls: usize,
    /// Whether it ever wrote. If not, all that was looked at is counted.
    pub wrote: bool,
    /// By file and by whom they are for, those with the most calls first.
    pub counts: Vec<Count>,
}

/// How many calls are made by a file on behalf of one party.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Count {
    /// The file with the code.
    #[serde(serialize_with = "super::path")]
    pub made_by: Option<Arc<Path>>,
    /// On behalf of whom.
    pub on_behalf_of: Party,
    /// How many.
    pub calls: usize,
}

impl Summary {
    pub(super) fn of(who: &Who) -> Self {
        let writes = |call: &Call| {
            matches!(
                call.name,
                Some("write" | "writev" | "pwrite64" | "pwritev" | "pwritev2")
            )
        };
        let first = who.trace.calls.iter().position(writes);
        let end = first.unwrap_or(who.made.len()).min(who.made.len());
        let mut counts: Vec<Count> = Vec::new();
        let between: &[Made] = who.made.get(1..end).unwrap_or_default();
        for made in between {
            let same = |count: &&mut Count| {
                count.made_by == made.made_by && count.on_behalf_of == made.on_behalf_of
            };
            match counts.iter_mut().find(same) {
                Some(count) => count.calls += 1,
                None => counts.push(Count {
                    made_by: made.made_by.clone(),
                    on_behalf_of: made.on_behalf_of,
                    calls: 1,
                }),
            }
        }
        counts.sort_by_key(|count| std::cmp::Reverse(count.calls));
        Summary {
            calls: between.len(),
            wrote: first.is_some(),
            counts,
        }
    }

    /// How many calls are made by files whose name contains a text.
    pub fn made_by(&self, file: &str) -> usize {
        let of = |count: &&Count| {
            let name = count.made_by.as_ref().and_then(|path| path.file_name());
            name.is_some_and(|name| name.to_string_lossy().contains(file))
        };
        self.counts.iter().filter(of).map(|count| count.calls).sum()
    }

    /// How many calls are made on behalf of one party.
    pub fn on_behalf_of(&self, party: Party) -> usize {
        let of = self
            .counts
            .iter()
            .filter(|count| count.on_behalf_of == party);
        of.map(|count| count.calls).sum()
    }
}
