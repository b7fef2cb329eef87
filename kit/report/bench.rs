//! What all sections measure with: our programs, the peers, and whom to tell how far it is.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use super::{Depth, Name, Plan};
use crate::error::{Error, Result};
use crate::peers::{self, Availability, Built, Peer};

/// How far a report has come.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Progress {
    /// What part of it is done, from 0 to 1, by how long sections usually take.
    pub done: f64,
    /// About how long is left, by the same.
    pub left: Duration,
    /// What is being done, as in `programs: hello, musl, static`.
    pub doing: String,
}

/// What all sections measure with.
pub struct Bench<'a> {
    plan: &'a Plan,
    /// The peers of the data file, in its order.
    pub peers: Vec<Peer>,
    /// What became of each when it was built.
    pub built: Vec<Result<Availability>>,
    progress: &'a (dyn Fn(Progress) + Sync),
    /// How many seconds of work are done, and which section is next.
    at: Mutex<(f64, Option<Name>)>,
}

/// About how many seconds it takes to build all peers.
const BUILDING: f64 = 10.0;

impl<'a> Bench<'a> {
    pub(super) fn new(plan: &'a Plan, progress: &'a (dyn Fn(Progress) + Sync)) -> Result<Self> {
        if !plan.peers.exists() {
            return Err(Error::BadFile {
                path: plan.peers.clone(),
                reason: "no such file; report in a checkout of barest, or name it with --peers"
                    .to_owned(),
            });
        }
        let peers = peers::load(&plan.peers)?;
        let path = plan.programs.join("true");
        if !path.is_file() {
            let reason = "no such program; make programs builds ours".to_owned();
            return Err(Error::BadFile { path, reason });
        }
        let mut bench = Bench {
            plan,
            built: Vec::new(),
            progress,
            at: Mutex::new((0.0, None)),
            peers,
        };
        let each = BUILDING / bench.peers.len().max(1) as f64;
        bench.built = peers::prepare_all(&bench.peers, &plan.build, |peer, _| {
            bench.add(each, format!("built {}", peer.name));
        });
        Ok(bench)
    }

    /// How thoroughly to measure.
    pub fn depth(&self) -> Depth {
        self.plan.depth
    }

    /// One of our programs.
    pub fn ours(&self, name: &str) -> PathBuf {
        self.plan.programs.join(name)
    }

    /// The folder that the peers are built into: a section's own programs can be built beside.
    pub fn build(&self) -> &std::path::Path {
        &self.plan.build
    }

    /// A program of a peer, by the peer's id. None where the peer has none of that name.
    ///
    /// Fails when it is not there: not installed, or not built.
    pub fn peer(&self, id: &str, program: &str) -> Result<Option<&Built>> {
        let Some(at) = self.peers.iter().position(|peer| peer.id == id) else {
            return Ok(None);
        };
        let absent = |reason: String| Error::NotMeasured {
            subject: self.peers[at].name.clone(),
            reason,
        };
        match &self.built[at] {
            Ok(Availability::Ready { programs }) => {
                Ok(programs.iter().find(|built| built.program == program))
            }
            Ok(Availability::NotInstalled { what }) => {
                Err(absent(format!("not installed: {what} (make deps)")))
            }
            Err(error) => Err(absent(error.to_string())),
        }
    }

    /// Tells what part of the section is done, and what is being done now.
    pub fn tell(&self, part: f64, doing: impl Into<String>) {
        let (before, name) = *self.at.lock().unwrap_or_else(|e| e.into_inner());
        let Some(name) = name else { return };
        let within = name.seconds(self.plan.depth) * part.clamp(0.0, 1.0);
        self.say(
            before + within,
            format!("{}: {}", name.word(), doing.into()),
        );
    }

    pub(super) fn begin(&self, name: Name) {
        self.at.lock().unwrap_or_else(|e| e.into_inner()).1 = Some(name);
        self.tell(0.0, "begins");
    }

    pub(super) fn end(&self, name: Name) {
        self.add(
            name.seconds(self.plan.depth),
            format!("{}: done", name.word()),
        );
    }

    fn add(&self, seconds: f64, doing: String) {
        let done = {
            let mut at = self.at.lock().unwrap_or_else(|e| e.into_inner());
            at.0 += seconds;
            at.0
        };
        self.say(done, doing);
    }

    fn say(&self, done: f64, doing: String) {
        let sections = self.plan.sections.iter();
        let of = BUILDING
            + sections
                .map(|name| name.seconds(self.plan.depth))
                .sum::<f64>();
        (self.progress)(Progress {
            done: (done / of).clamp(0.0, 1.0),
            left: Duration::from_secs_f64((of - done).max(0.0)),
            doing,
        });
    }
}
