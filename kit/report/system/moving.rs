//! How far the addresses of programs move, by how they are linked.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::image::Linkage;
use crate::report::{Bench, Found};
use crate::start::{Moved, Place};
use crate::subject::{Subject, escape};
use crate::survey::aslr::{Aslr, aslr};

/// How the program is linked that is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Linked {
    /// Static, at a fixed address.
    Static,
    /// Static, at any address.
    StaticPie,
    /// With libraries.
    Dynamic,
}

impl Linked {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Linked; 3] = [Linked::Static, Linked::StaticPie, Linked::Dynamic];

    /// The peers that are linked so, the first one that is here is started; ours is static.
    fn peers(self) -> &'static [&'static str] {
        match self {
            Linked::Static => &[],
            Linked::StaticPie => &["glibc-static-pie", "rust-musl"],
            Linked::Dynamic => &["glibc-dynamic", "musl-dynamic"],
        }
    }
}

/// A program that was started many times.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Started {
    /// How it is to be linked.
    pub linked: Linked,
    /// How it moved, or why none was started.
    pub found: Found<Moving>,
}

/// How the addresses of one program moved.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Moving {
    /// What it is, as in `true of glibc`.
    pub program: String,
    /// How its file is linked. None where that cannot be told.
    pub linkage: Option<Linkage>,
    /// Whether it runs at any address.
    pub pie: Option<bool>,
    /// Whether the kernel drew addresses for it. None where the machine does not tell.
    pub randomized: Option<bool>,
    /// How often it was started.
    pub starts: usize,
    /// Its parts: those that the kernel places, and the libraries after their loader.
    pub parts: Vec<Part>,
    /// Whether the loader and the libraries kept their distances in all starts: then they moved as
    /// one, and the libraries are not among the parts.
    pub together: bool,
    /// How many libraries it loads.
    pub libraries: usize,
    /// What a reader must know to judge this.
    pub notes: Vec<String>,
}

/// How one part of it moved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Which.
    pub what: Place,
    /// Of a library, the name of its file, escaped.
    pub library: Option<String>,
    /// How many different bases it had.
    pub distinct: usize,
    /// In how many bits these differ.
    pub bits: u32,
    /// How many bits were drawn, by the spread. None where it did not move.
    pub bits_by_spread: Option<f64>,
}

/// Starts a program that is linked so.
pub(super) fn started(
    bench: &Bench,
    linked: Linked,
    tell: &(dyn Fn(f64, String) + Sync),
) -> Started {
    let found = || {
        let (name, subject) = program(bench, linked)?;
        let starts = bench.depth().of(40, 100, 1000);
        let seen = aslr(&subject, starts, &|done| {
            if done % 10 == 0 {
                tell(
                    done as f64 / starts as f64,
                    format!("{name}, start {done} of {starts}"),
                );
            }
        })?;
        Ok(moving(name, &seen))
    };
    Started {
        linked,
        found: found().into(),
    }
}

/// A program that is linked so, and what it is called. Fails when none is here.
fn program(bench: &Bench, linked: Linked) -> Result<(String, Subject)> {
    if linked == Linked::Static {
        return Ok((
            "true of barest".to_owned(),
            Subject::new(bench.ours("true")),
        ));
    }
    let mut reasons = Vec::new();
    for id in linked.peers() {
        let peer = bench.peers.iter().find(|peer| peer.id == *id);
        match (peer, bench.peer(id, "true")) {
            (Some(peer), Ok(Some(built))) => {
                let runtime = peer.name.split(',').next().unwrap_or(&peer.name);
                return Ok((format!("true of {runtime}"), Subject::new(&built.path)));
            }
            (_, Err(error)) => reasons.push(error.to_string()),
            (_, Ok(_)) => reasons.push(format!("{id}: not among the peers")),
        }
    }
    Err(Error::NotMeasured {
        subject: match linked {
            Linked::Static => "a static program",
            Linked::StaticPie => "a static-PIE",
            Linked::Dynamic => "a dynamic program",
        }
        .to_owned(),
        reason: reasons.join("; "),
    })
}

fn moving(program: String, seen: &Aslr) -> Moving {
    let part = |moved: &Moved, library| Part {
        what: moved.what,
        library,
        distinct: moved.distinct,
        bits: moved.bits,
        bits_by_spread: moved.bits_by_spread,
    };
    let together = seen.together == Some(true);
    let mut parts = Vec::new();
    for moved in &seen.parts {
        parts.push(part(moved, None));
        if moved.what == Place::Interpreter && !together {
            parts.extend(seen.libraries.iter().map(|library| {
                let name = library.path.file_name().unwrap_or_default();
                part(&library.moved, Some(escape(name)))
            }));
        }
    }
    Moving {
        program,
        linkage: seen.linkage,
        pie: seen.pie,
        randomized: seen.randomized,
        starts: seen.starts,
        parts,
        together,
        libraries: seen.libraries.len(),
        notes: seen.notes.clone(),
    }
}
