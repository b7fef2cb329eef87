//! Some of the calls of a subject, chosen by who made them.

use std::borrow::Cow;

use super::{Made, Party, Phase, Who};
use crate::trace::Call;

/// Some calls, in their order.
///
/// ```
/// use barest::Subject;
/// use barest::who::{Party, Phase, who};
///
/// let seen = who(&Subject::new("/bin/true"))?;
/// for (call, made) in seen.calls().on_behalf_of(Party::Libc).iter() {
///     println!("{} {:?}", call.label(), made.stack.first());
/// }
/// assert!(seen.calls().named("mmap").made_by("ld-linux").len() > 1);
/// # Ok::<(), barest::Error>(())
/// ```
#[derive(Clone)]
pub struct Selection<'a> {
    who: &'a Who,
    chosen: Vec<usize>,
}

impl<'a> Selection<'a> {
    pub(super) fn all(who: &'a Who) -> Self {
        Selection {
            who,
            chosen: (0..who.made.len()).collect(),
        }
    }

    /// Those of them for which it holds.
    pub fn filter(mut self, holds: impl Fn(&Call, &Made) -> bool) -> Self {
        let (calls, made) = (&self.who.trace.calls, &self.who.made);
        self.chosen
            .retain(|&at| match (calls.get(at), made.get(at)) {
                (Some(call), Some(made)) => holds(call, made),
                _ => false,
            });
        self
    }

    /// Those that are made by code in a file whose name contains this text, as in "ld-linux".
    pub fn made_by(self, file: &str) -> Self {
        self.filter(|_, made| made.is_by(file))
    }

    /// Those that are made on behalf of one party.
    pub fn on_behalf_of(self, party: Party) -> Self {
        self.filter(|_, made| made.on_behalf_of == party)
    }

    /// Those of a name, as in "openat".
    pub fn named(self, name: &str) -> Self {
        self.filter(|call, _| call.label() == name)
    }

    /// Those that are made while their process is so far.
    pub fn during(self, phase: Phase) -> Self {
        self.filter(|_, made| made.phase == Some(phase))
    }

    /// Those with a function of this name on their stack, as in "main".
    pub fn through(self, function: &str) -> Self {
        self.filter(|_, made| made.functions().any(|name| name == Some(function)))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.chosen.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.chosen.is_empty()
    }

    /// Each of them, with who made it.
    pub fn iter(&self) -> impl Iterator<Item = (&'a Call, &'a Made)> {
        let who = self.who;
        self.places()
            .filter_map(|at| Some((who.trace.calls.get(at)?, who.made.get(at)?)))
    }

    /// Their places among all calls, the first of which is 0.
    pub fn places(&self) -> impl Iterator<Item = usize> {
        self.chosen.iter().copied()
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = Cow<'static, str>> {
        self.iter().map(|(call, _)| call.label())
    }
}

impl Made {
    /// Whether the name of the file that holds the code contains a text.
    pub fn is_by(&self, file: &str) -> bool {
        let name = self.made_by.as_ref().map(|path| path.to_string_lossy());
        name.is_some_and(|name| name.rsplit('/').next().unwrap_or(&name).contains(file))
    }

    /// The functions on its stack, innermost first; None for one that has no name.
    pub fn functions(&self) -> impl Iterator<Item = Option<&str>> {
        self.stack.iter().map(|frame| frame.function.as_deref())
    }
}
