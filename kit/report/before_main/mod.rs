//! Who makes which call from execve to main, and what the kernel prepared before.
//!
//! The first text counted the calls of four programs and asked who makes them. So each runtime's
//! `hello` is asked here ([`calls`]); and two of them, ours and a dynamic one, are looked at where
//! they have not executed an instruction yet ([`prepared`]).

pub mod calls;
pub mod prepared;

use serde::{Deserialize, Serialize};

use super::{Bench, Found};
use crate::baseline::Figure;
use crate::error::{Error, Result};
use crate::peers::Part;
use calls::{Named, PARTIES, Traced};
use prepared::Prepared;

/// What was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BeforeMain {
    /// `hello` in each runtime, ours first.
    pub runtimes: Vec<Runtime>,
    /// What the kernel prepared for a dynamic program, and for ours.
    pub prepared: Vec<Start>,
}

/// `hello` in one runtime.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Runtime {
    /// The runtime, as in `glibc, dynamic`; and how the line is printed, where that is not by the
    /// plainest way: `glibc, dynamic (puts)`.
    pub name: String,
    /// The program: `hello`, which calls write(2), or `hello_puts`, which calls puts(3).
    pub program: String,
    /// The parts that it is made of, and their versions.
    pub parts: Vec<Part>,
    /// How many calls the first text counted between execve and the first write, on its machine;
    /// None where it had no such program.
    pub in_the_text: Option<usize>,
    /// Its calls.
    pub found: Found<Traced>,
}

/// What the kernel prepared for `hello` in one runtime.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Start {
    /// The runtime.
    pub name: String,
    /// What that is.
    pub found: Found<Prepared>,
}

/// Of an error of a program only the reason: its name stands beside it.
fn known<T>(result: Result<T>) -> Found<T> {
    match result {
        Err(Error::NotMeasured { reason, .. }) => Found::NotMeasured(reason),
        other => other.into(),
    }
}

/// What our programs are called beside those of other runtimes.
pub const OURS: &str = "barest";

/// The dynamic peer that is looked at before its first instruction.
const DYNAMIC: &str = "glibc-dynamic";

/// The peers of the first text, by their ids, what its program is called there, and how many
/// calls it counted between execve and the first write: with glibc 2.43 and rustc 1.98.0.
const TEXT: [(&str, &str, usize); 4] = [
    ("glibc-dynamic", "hello_puts", 32),
    ("glibc-static", "hello_puts", 14),
    ("rust-dynamic", "hello", 61),
    ("rust-no-main", "hello", 40),
];

pub(super) fn measure(bench: &Bench) -> Result<BeforeMain> {
    let named = Named::build(bench);
    let mut tracer = calls::Tracer::new(&named)?;
    let wanted = wanted(bench);
    let all = wanted.len() as f64;
    let mut first_error = None;
    let mut runtimes = Vec::new();
    for (at, one) in wanted.into_iter().enumerate() {
        bench.tell(0.2 + 0.6 * at as f64 / all, one.name.clone());
        let (found, parts) = match one.peer {
            None => (tracer.ours(&bench.ours("hello")), Vec::new()),
            Some(peer) => match bench.peer(&peer.id, one.program) {
                Ok(Some(built)) => (tracer.peer(peer, built), built.parts.clone()),
                Ok(None) => (Err(not_there(one.program)), Vec::new()),
                Err(error) => (Err(error), Vec::new()),
            },
        };
        if let (Err(error), None) = (&found, &first_error) {
            first_error = Some(error.to_string());
        }
        runtimes.push(Runtime {
            name: one.name,
            program: one.program.to_owned(),
            parts,
            in_the_text: one.in_the_text,
            found: known(found),
        });
    }
    bench.tell(0.9, "what the kernel prepares");
    let prepared = starts(bench);
    let traced = runtimes.iter().any(|it| it.found.measured().is_some());
    let started = prepared.iter().any(|it| it.found.measured().is_some());
    match first_error {
        Some(reason) if !traced && !started => Err(Error::NotMeasured {
            subject: "hello".to_owned(),
            reason,
        }),
        _ => Ok(BeforeMain { runtimes, prepared }),
    }
}

/// A program that is to be traced.
struct Wanted<'a> {
    name: String,
    program: &'static str,
    /// None for ours.
    peer: Option<&'a crate::peers::Peer>,
    in_the_text: Option<usize>,
}

/// Every `hello`, ours first; and behind that of a runtime, what the first text had of it.
fn wanted<'a>(bench: &'a Bench<'_>) -> Vec<Wanted<'a>> {
    let mut wanted = vec![Wanted {
        name: OURS.to_owned(),
        program: "hello",
        peer: None,
        in_the_text: None,
    }];
    for peer in &bench.peers {
        let text = TEXT.iter().find(|(id, ..)| *id == peer.id);
        for (program, how) in [("hello", ""), ("hello_puts", " (puts)")] {
            let has = peer.programs.iter().any(|name| name == program);
            let in_the_text = text.filter(|(_, name, _)| *name == program);
            if has && (program == "hello" || in_the_text.is_some()) {
                wanted.push(Wanted {
                    name: format!("{}{how}", peer.name),
                    program,
                    peer: Some(peer),
                    in_the_text: in_the_text.map(|(.., calls)| *calls),
                });
            }
        }
    }
    wanted
}

fn not_there(program: &str) -> Error {
    Error::NotMeasured {
        subject: program.to_owned(),
        reason: "the data file of the peers has no such program".to_owned(),
    }
}

/// What the kernel prepares for a dynamic program, and for ours.
fn starts(bench: &Bench) -> Vec<Start> {
    let dynamic = bench.peers.iter().find(|peer| peer.id == DYNAMIC);
    let theirs = Start {
        name: dynamic.map_or(DYNAMIC, |peer| &peer.name).to_owned(),
        found: known(match bench.peer(DYNAMIC, "hello") {
            Ok(Some(built)) => Prepared::of(&built.path),
            Ok(None) => Err(not_there("hello")),
            Err(error) => Err(error),
        }),
    };
    let ours = Start {
        name: OURS.to_owned(),
        found: known(Prepared::of(&bench.ours("hello"))),
    };
    vec![theirs, ours]
}

impl BeforeMain {
    /// How many calls are made on behalf of whom.
    pub(super) fn figures(&self) -> Vec<Figure> {
        let traced = self
            .runtimes
            .iter()
            .filter_map(|runtime| Some((&runtime.name, runtime.found.measured()?)));
        traced
            .flat_map(|(name, traced)| {
                let subject = format!("hello, {name}");
                let count =
                    |name: String, calls: usize| Figure::exact(&subject, &name, calls as u64);
                let of = |party| (party, traced.on_behalf_of(party));
                let parties = PARTIES.map(of).into_iter().filter(|(_, calls)| *calls > 0);
                let mut figures: Vec<_> = parties
                    .map(|(party, calls)| {
                        count(format!("calls, on behalf of: {}", word(party)), calls)
                    })
                    .collect();
                let before = traced.before_write();
                figures.extend(
                    before.map(|calls| count("calls before the write".into(), calls.len())),
                );
                figures
            })
            .collect()
    }
}

/// A party by one word, as a view shows it.
fn word(party: crate::who::Party) -> &'static str {
    crate::view::who::party(party)
}
