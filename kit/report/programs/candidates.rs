//! Which programs are compared: ours, and those of the peers that do the same.

use std::path::PathBuf;

use super::{OURS, Outcome, Row};
use crate::error::Result;
use crate::image::Linkage;
use crate::peers::{Availability, Built, Libc, Part, Peer};
use crate::report::Bench;
use crate::subject::escape;

/// One of our programs in one runtime, before it is measured.
pub(super) struct Candidate {
    pub runtime: String,
    linkage: Linkage,
    libc: Libc,
    parts: Vec<Part>,
    /// The file, or why there is none.
    pub file: std::result::Result<PathBuf, Outcome>,
}

impl Candidate {
    /// What was found of it.
    pub fn row(self, found: Outcome) -> Row {
        Row {
            runtime: self.runtime,
            linkage: self.linkage,
            libc: self.libc,
            parts: self.parts,
            found,
        }
    }
}

/// One of our programs in all runtimes, ours first.
pub(super) fn candidates(bench: &Bench, program: &str) -> Vec<Candidate> {
    let (peers, built) = (&bench.peers, &bench.built);
    let ours = Candidate {
        runtime: OURS.to_owned(),
        linkage: Linkage::Static,
        libc: Libc::None,
        parts: Vec::new(),
        file: Ok(bench.ours(program)),
    };
    let theirs = of_peers(peers, program).map(|(at, variant)| {
        let peer = &peers[at];
        let name = escape(peer.name.as_ref());
        let found = program_of(&built[at], variant);
        let parts = found.as_ref().map(|built| built.parts.clone());
        Candidate {
            runtime: match variant.strip_prefix(program) {
                Some("") | None => name,
                Some(how) => format!("{name} ({})", how.trim_start_matches('_')),
            },
            linkage: peer.linkage,
            libc: peer.libc,
            parts: parts.unwrap_or_default(),
            file: found.map(|built| built.path.clone()),
        }
    });
    [ours].into_iter().chain(theirs).collect()
}

/// The programs of the peers that do the same as one of ours: the peer's place in the list and
/// the program's name there.
fn of_peers<'a>(peers: &'a [Peer], program: &str) -> impl Iterator<Item = (usize, &'a str)> {
    let variant = format!("{program}_");
    peers.iter().enumerate().flat_map(move |(at, peer)| {
        let same = |name: &&String| *name == program || name.starts_with(&variant);
        peer.programs
            .iter()
            .filter(same)
            .map(move |name| (at, name.as_str()))
            .collect::<Vec<_>>()
    })
}

/// A program of a peer, or why there is none.
fn program_of<'a>(
    peer: &'a Result<Availability>,
    name: &str,
) -> std::result::Result<&'a Built, Outcome> {
    match peer {
        Err(error) => Err(Outcome::Failed(error.to_string())),
        Ok(Availability::NotInstalled { what }) => Err(Outcome::NotInstalled(what.clone())),
        Ok(Availability::Ready { programs }) => programs
            .iter()
            .find(|built| built.program == name)
            .ok_or_else(|| Outcome::Failed(format!("{name}: was not built"))),
    }
}
