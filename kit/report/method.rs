//! How all that was measured, and on what.

use serde::{Deserialize, Serialize};

use super::Bench;
use crate::baseline::Figure;
use crate::doctor::{Ability, doctor};
use crate::error::Result;
use crate::machine::Machine;
use crate::peers::Availability;
use crate::subject::{FIXED_ENVIRONMENT, Subject};
use crate::time::{Control, Plan, time};

/// What decides how far the other sections can be believed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Method {
    /// Where it was measured.
    pub machine: Machine,
    /// What this machine lets the kit do.
    pub abilities: Vec<Able>,
    /// What one CPUID takes, in nanoseconds.
    pub cpuid_cost_ns: u64,
    /// Whether that is so long that a hypervisor must trap it.
    pub cpuid_traps: bool,
    /// How much longer the same work took in the slowest tenth of tries than in the fastest: 1.0
    /// on a machine that does nothing else.
    pub noise: f64,
    /// The load average of the last minute, where it can be read.
    pub load: Option<f64>,
    /// Our `true` against a copy of itself, several times.
    pub controls: Vec<Control>,
    /// In how many rounds each time.
    pub rounds: usize,
    /// Why there are no controls, where there are none.
    pub uncontrolled: Option<String>,
    /// The environment of every subject.
    pub environment: Vec<String>,
    /// The peers that were measured.
    pub present: Vec<String>,
    /// The peers that could not be, and why.
    pub absent: Vec<Absent>,
}

/// Something that this machine may let the kit do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Able {
    /// What.
    pub what: String,
    /// Whether it does.
    pub able: bool,
    /// If not, why, and what to do.
    pub why_not: Option<String>,
}

/// A peer that could not be measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Absent {
    /// Its name.
    pub peer: String,
    /// What is missing, or went wrong.
    pub why: String,
}

/// How often a program is compared with itself.
const CONTROLS: usize = 4;

pub(super) fn measure(bench: &Bench) -> Result<Method> {
    let doctor = doctor()?;
    let able = |what: &str, ability: &Ability| Able {
        what: what.to_owned(),
        able: ability.able,
        why_not: ability.why_not(),
    };
    let rounds = bench.depth().of(100, 400, 1000);
    let subject = Subject::new(bench.ours("true"));
    let mut controls = Vec::new();
    let mut uncontrolled = None;
    for number in 0..CONTROLS {
        bench.tell(number as f64 / CONTROLS as f64, "ours against itself");
        let plan = Plan {
            rounds,
            seed: number as u64 + 1,
            memory: false,
            ..Plan::default()
        };
        match time(std::slice::from_ref(&subject), &plan) {
            Ok(timing) => controls.push(timing.control),
            Err(error) => uncontrolled = Some(error.to_string()),
        }
    }
    let (mut present, mut absent) = (Vec::new(), Vec::new());
    for (peer, built) in bench.peers.iter().zip(&bench.built) {
        let why = match built {
            Ok(Availability::Ready { .. }) => {
                present.push(peer.name.clone());
                continue;
            }
            Ok(Availability::NotInstalled { what }) => format!("not installed: {what} (make deps)"),
            Err(error) => error.to_string(),
        };
        absent.push(Absent {
            peer: peer.name.clone(),
            why,
        });
    }
    Ok(Method {
        abilities: vec![
            able("trace its children", &doctor.trace),
            able("keep a thread on one processor", &doctor.pin),
            able("fix addresses", &doctor.fixed_addresses),
            able("filter calls by seccomp", &doctor.seccomp),
            able("run 32-bit programs", &doctor.ia32),
            able("count instructions in hardware", &doctor.counters),
            able("compare times: it is quiet", &doctor.noise.quiet),
        ],
        machine: doctor.machine,
        cpuid_cost_ns: doctor.cpuid_cost.as_nanos() as u64,
        cpuid_traps: doctor.cpuid_traps,
        noise: doctor.noise.spread,
        load: doctor.noise.load,
        controls,
        rounds,
        uncontrolled,
        environment: FIXED_ENVIRONMENT.map(str::to_owned).to_vec(),
        present,
        absent,
    })
}

impl Method {
    /// None: what the machine is like at the moment is nothing to compare.
    pub(super) fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }
}
