//! The calls of a program, and on whose behalf each is made.
//!
//! The programs of the peers are small first: without names, and, in Rust, with std's functions
//! dissolved in `main`. On behalf of whom the calls of such a program are made cannot be told, where
//! its libc is in it. So each is built a second time, with all names and without optimization
//! across crates; where that one makes the very same calls, it tells for both.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::peers::{self, Availability, Built, Libc, Peer};
use crate::report::Bench;
use crate::subject::{Stream, Subject, escape};
use crate::time::Copies;
use crate::trace::Call as Entry;
use crate::who::{Made, Party, Phase, Who, who};

/// The calls of one program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Traced {
    /// All of them, execve and exit included, in their order.
    pub calls: Vec<Call>,
    /// The place of the first write among them, from 0 on. None where it never wrote.
    pub write_at: Option<usize>,
    /// By what it was told on whose behalf they are made.
    pub told_by: ToldBy,
}

/// One call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Its name, as in `openat`.
    pub name: String,
    /// The file with the code that makes it: of the program itself, `hello` or `hello_puts`. None
    /// where that could not be asked.
    pub made_by: Option<String>,
    /// On behalf of whom.
    pub on_behalf_of: Party,
    /// How far the program had come; None where that cannot be told.
    pub phase: Option<Phase>,
}

/// By what it was told on whose behalf calls are made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToldBy {
    /// No library is in it: what it calls, it calls for itself.
    Itself,
    /// A copy with the names of its functions, which makes the very same calls.
    Names,
    /// The files that the code is in, no more: why there is no such copy.
    Files(String),
}

/// All parties, in the order of a start.
pub const PARTIES: [Party; 6] = [
    Party::Kernel,
    Party::Loader,
    Party::Libc,
    Party::Runtime,
    Party::Program,
    Party::Unknown,
];

impl Traced {
    /// How many calls are made on behalf of one party.
    pub fn on_behalf_of(&self, party: Party) -> usize {
        of(&self.calls, party)
    }

    /// The calls between execve and the first write. None where it never wrote.
    pub fn before_write(&self) -> Option<&[Call]> {
        self.calls.get(1..self.write_at?)
    }

    /// How many calls there are behind the first write. None where it never wrote.
    pub fn after_write(&self) -> Option<usize> {
        Some(self.calls.get(self.write_at? + 1..)?.len())
    }

    /// How many calls there are between execve and main. None where it is not known where that is.
    pub fn before_main(&self) -> Option<usize> {
        let during = |wanted: &[Phase]| {
            let calls = self.calls.iter();
            calls
                .filter(|call| call.phase.is_some_and(|phase| wanted.contains(&phase)))
                .count()
        };
        let known = during(&[Phase::Main, Phase::Ending]) > 0;
        known.then(|| during(&[Phase::Loading, Phase::Starting]))
    }
}

/// How many of these calls are made on behalf of one party.
pub fn of(calls: &[Call], party: Party) -> usize {
    let own = calls.iter().filter(|call| call.on_behalf_of == party);
    own.count()
}

/// The peers that were built with names, and what became of each.
pub(super) struct Named {
    peers: Vec<Peer>,
    built: Vec<Result<Availability>>,
}

impl Named {
    /// Builds them beside the others, where they are not built yet.
    pub fn build(bench: &Bench) -> Self {
        let ready = bench.peers.iter().zip(&bench.built);
        let ready = ready.filter(|(peer, built)| {
            peer.libc != Libc::None && matches!(built, Ok(Availability::Ready { .. }))
        });
        let peers: Vec<Peer> = ready.map(|(peer, _)| with_names(peer)).collect();
        let built = peers::prepare_all(&peers, &bench.build().join("named"), |peer, _| {
            bench.tell(0.1, format!("built {} with names", peer.name));
        });
        Named { peers, built }
    }

    /// A program of a peer, or why there is none.
    fn find(&self, peer: &str, program: &str) -> std::result::Result<&Path, String> {
        let absent = || "it was not built with names".to_owned();
        let at = self.peers.iter().position(|named| named.id == peer);
        match at.and_then(|at| self.built.get(at)).ok_or_else(absent)? {
            Ok(Availability::Ready { programs }) => {
                let mut programs = programs.iter();
                let found = programs.find(|built| built.program == program);
                Ok(&found.ok_or_else(absent)?.path)
            }
            Ok(Availability::NotInstalled { what }) => Err(format!("not installed: {what}")),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// The same peer with the names of its functions left in, and each of Rust's left whole.
fn with_names(peer: &Peer) -> Peer {
    let mut named = peer.clone();
    named
        .programs
        .retain(|program| program.starts_with("hello"));
    for command in &mut named.build {
        // A command of unbalanced quotes is told by who builds it.
        let Some(words) = shlex::split(command) else {
            continue;
        };
        let mut kept: Vec<&str> = Vec::new();
        for word in &words {
            match (kept.last(), word.as_str()) {
                (_, "-s") => {}
                (Some(&"-C"), "strip=symbols" | "lto") => {
                    kept.pop();
                }
                (_, word) => kept.push(word),
            }
        }
        if let Ok(joined) = shlex::try_join(kept) {
            *command = joined;
        }
    }
    named
}

/// Traces programs where all are run under paths of one length: Rust's runtime has glibc read a
/// file that the program's path is in.
pub(super) struct Tracer<'a> {
    named: &'a Named,
    copies: Copies,
}

/// None of the programs takes that long, unless something is wrong with it.
const LIMIT: Duration = Duration::from_secs(20);

impl<'a> Tracer<'a> {
    pub fn new(named: &'a Named) -> Result<Self> {
        Ok(Tracer {
            named,
            copies: Copies::new()?,
        })
    }

    /// Our program, which has no library in it.
    pub fn ours(&mut self, path: &Path) -> Result<Traced> {
        let (file, seen) = self.trace(path)?;
        Ok(alone(traced(&seen, &file, "hello")))
    }

    /// A program of a peer.
    pub fn peer(&mut self, peer: &Peer, built: &Built) -> Result<Traced> {
        let (file, seen) = self.trace(&built.path)?;
        let mut facts = traced(&seen, &file, &built.program);
        if peer.libc == Libc::None {
            return Ok(alone(facts));
        }
        let named = self.named.find(&peer.id, &built.program);
        let named = named.and_then(|path| self.trace(path).map_err(|error| error.to_string()));
        let named = named.and_then(|(_, named)| match labels(&named).eq(labels(&seen)) {
            true => Ok(named),
            false => Err("the same with names makes other calls".to_owned()),
        });
        match named {
            Ok(named) => {
                let in_c = peer.source.ends_with(".c") && named.main_at.is_some();
                for (call, made) in facts.calls.iter_mut().zip(&named.made) {
                    call.phase = made.phase;
                    call.on_behalf_of = match in_c {
                        true => party_in_c(made),
                        false => made.on_behalf_of,
                    };
                }
                facts.told_by = ToldBy::Names;
            }
            Err(why) => facts.told_by = ToldBy::Files(why),
        }
        Ok(facts)
    }

    /// Who makes the calls of a copy of this file, and where that copy is. Its stdout is a file, as
    /// in the text: stdio then asks what it is, and writes at the end.
    fn trace(&mut self, path: &Path) -> Result<(PathBuf, Who)> {
        let copy = self.copies.copy(path)?;
        // The kernel tells files by paths without links in them.
        let file = fs::canonicalize(&copy)
            .map_err(|e| Error::io(format!("find {}", copy.display()), e))?;
        let seen = who(&Subject::new(&file).stdout(Stream::File).timeout(LIMIT))?;
        match &seen.trace.exit {
            Exit::Exited(0) => Ok((file, seen)),
            other => Err(Error::NotMeasured {
                subject: escape(path.as_os_str()),
                reason: format!("{other}; it should print a line and exit with 0"),
            }),
        }
    }
}

fn labels(seen: &Who) -> impl Iterator<Item = std::borrow::Cow<'static, str>> {
    seen.trace.calls.iter().map(Entry::label)
}

/// The calls as they were seen.
fn traced(seen: &Who, file: &Path, program: &str) -> Traced {
    let calls = seen.trace.calls.iter().zip(&seen.made);
    let made_by = |made: &Made| match made.made_by.as_deref()? {
        path if path == file => Some(program.to_owned()),
        path => Some(escape(path.as_os_str())),
    };
    let summary = seen.summary();
    Traced {
        calls: calls
            .map(|(call, made)| Call {
                name: call.label().into_owned(),
                made_by: made_by(made),
                on_behalf_of: made.on_behalf_of,
                phase: made.phase,
            })
            .collect(),
        write_at: summary.wrote.then_some(summary.calls + 1),
        told_by: ToldBy::Itself,
    }
}

/// The calls of a program that has no library in it.
fn alone(mut facts: Traced) -> Traced {
    let own = facts.calls.iter_mut().skip(1);
    own.for_each(|call| call.on_behalf_of = Party::Program);
    facts
}

/// On behalf of whom a call is made by `hello` in C that was seen to come to its `main`. More is
/// known of it than of any program: `main` is all that it adds to its libc. So what its own file
/// calls before and behind main is libc's, and in main its own.
fn party_in_c(made: &Made) -> Party {
    match (made.on_behalf_of, made.phase) {
        (Party::Program | Party::Unknown, Some(Phase::Starting | Phase::Ending)) => Party::Libc,
        (Party::Unknown, Some(Phase::Main)) => Party::Program,
        (party, _) => party,
    }
}
