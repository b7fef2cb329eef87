//! How this system links: what its programs share, how much of that they use, what a flaw in it
//! would reach, and whether static linking keeps addresses from moving.
//!
//! The text asked its author's machine with awk, a Go program and a mailbox;
//! [`survey`](crate::survey) answers for any. Kept here are plain numbers of its answers, all that
//! is shown.

mod flaws;
mod moving;
mod surveyed;
pub mod text;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Bench, Found};
use crate::baseline::Figure;
use crate::error::{Error, Result};
use crate::survey::Root;
use crate::survey::sizes::sizes;
use crate::survey::walk::{Kind, default_paths};
pub use flaws::{Flaw, Flaws, Reached};
pub use moving::{Linked, Moving, Part, Started};
pub use surveyed::{Library, Pair, Sharing, Surveyed, Symbols, surveyed};

/// What was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct System {
    /// What the files in the folders of PATH say.
    pub surveyed: Found<Surveyed>,
    /// `hello`, built in both ways, by C library.
    pub hello: Vec<Hello>,
    /// A program of each way of linking, started many times.
    pub started: Vec<Started>,
}

/// One program of this project's peers, static and dynamic, with the same C library.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hello {
    /// The C library, as in `glibc`.
    pub libc: String,
    /// How large both are.
    pub found: Found<Pair>,
}

/// What part of the time the survey of files takes, and starting programs.
const FILES: f64 = 0.6;

pub(super) fn measure(bench: &Bench) -> Result<System> {
    let root = Root::here();
    let surveyed = default_paths(&root).and_then(|paths| {
        surveyed(&root, &paths, &|part, doing| {
            bench.tell(FILES * part, doing)
        })
    });
    let hello = ["glibc", "musl"].map(|libc| Hello {
        libc: libc.to_owned(),
        found: both_ways(bench, libc).into(),
    });
    let started = Linked::ALL.into_iter().enumerate().map(|(done, linked)| {
        let of = Linked::ALL.len() as f64;
        let tell = |part: f64, doing: String| {
            let part = (done as f64 + part) / of;
            bench.tell(FILES + (1.0 - FILES) * part, doing);
        };
        moving::started(bench, linked, &tell)
    });
    let system = System {
        surveyed: surveyed.into(),
        hello: hello.into(),
        started: started.collect(),
    };
    match (&system.surveyed, system.nothing_started()) {
        (Found::NotMeasured(why), true) => Err(Error::NotMeasured {
            subject: "this system".to_owned(),
            reason: why.clone(),
        }),
        _ => Ok(system),
    }
}

/// The size of `hello` with a C library, linked statically and dynamically.
fn both_ways(bench: &Bench, libc: &str) -> Result<Pair> {
    let fault = |reason: &str| Error::NotMeasured {
        subject: format!("hello with {libc}, static and dynamic"),
        reason: reason.to_owned(),
    };
    let path = |linked: &str| -> Result<PathBuf> {
        let built = bench.peer(&format!("{libc}-{linked}"), "hello")?;
        let built = built.ok_or_else(|| fault("not among the peers"))?;
        Ok(built.path.clone())
    };
    let found = sizes(&Root::here(), &[path("static")?, path("dynamic")?], &|_| ())?;
    let pair = found.pairs.first();
    pair.map(Pair::of)
        .ok_or_else(|| fault("the files are not one static and one dynamic program"))
}

impl System {
    fn nothing_started(&self) -> bool {
        self.started.iter().all(|it| it.found.measured().is_none())
    }

    /// What is exact: programs by kind, libraries, and what flaws reach.
    pub(super) fn figures(&self) -> Vec<Figure> {
        let Some(it) = self.surveyed.measured() else {
            return Vec::new();
        };
        let count = |name: &str, number: u64| Figure::exact("this system", name, number);
        let kinds = it.sharing.programs.iter().map(|(kind, programs)| {
            let name = match kind {
                Kind::Dynamic => "dynamic programs",
                Kind::Static => "static programs",
                Kind::StaticPie => "static-PIE programs",
                Kind::Script => "scripts",
                Kind::Library => "libraries that may be executed",
                Kind::Other => "other files that may be executed",
            };
            count(name, *programs as u64)
        });
        let few = &it.sharing.few;
        let rest = [
            count("libraries", it.sharing.users.len() as u64),
            count("libraries of one program", few.exactly_one as u64),
            count("libraries not found", it.sharing.missing as u64),
            count("bytes that a flaw reaches", it.flaws.all.bytes),
            count(
                "bytes that a flaw reaches, without libc",
                it.flaws.without_libc.bytes,
            ),
        ];
        let reached = it.flaws.flaws.iter().map(|flaw| {
            let name = format!("programs that load {}", flaw.library);
            count(&name, flaw.reached.programs() as u64)
        });
        kinds.chain(rest).chain(reached).collect()
    }
}
