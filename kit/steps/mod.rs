//! How many instructions a program executes, in which file, and which of them trap.
//!
//! The program is stepped through, one instruction after the other, from the first after its
//! execve(2) to its end. What is counted is what the processor completes in user mode:
//!
//! - a string instruction with a REP prefix is one, however often it iterates;
//! - a system call is the one instruction that makes it, the last one (`exit_group`) included.
//!   A call that the kernel begins again by itself is not counted again: a signal that is ignored
//!   does not cut one short in a program that is not traced;
//! - an instruction that faults is none, until it is executed once more and does not;
//! - threads and children are stepped as well, and signal handlers.
//!
//! Everything starts from a fixed place: the subject's fixed environment, one processor, and no
//! address space layout randomization. So programs of one thread that do not look at clocks
//! or random numbers give the same count each time. With several threads, how often one
//! waits for another can vary.
//!
//! ```
//! use barest::Subject;
//! use barest::assertions::instructions_at_most;
//! use barest::steps::{Until, steps};
//!
//! let seen = steps(&Subject::new("/bin/true"), Until::End)?;
//! seen.assert(instructions_at_most(1_000_000));
//! assert_eq!(seen.images.len(), 1);
//! assert_eq!(seen.exit.to_string(), "exited with 0");
//! # Ok::<(), barest::Error>(())
//! ```
//!
//! What the program could notice: it runs slower by a factor of thousands, `pushf` shows the
//! trap flag, and SIGTRAP cannot be blocked or ignored (ptrace(2)). Code that is written through
//! one mapping and executed through another is taken for what it was when first executed.

mod addresses;
mod code;
mod cpuid;
mod functions;
mod instruction;
mod stepper;
mod who;

use std::path::PathBuf;
use std::slice;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub(crate) use addresses::fix as fix_addresses;
pub use cpuid::cpuid_cost;
pub use functions::{ByFunction, FunctionSteps, Phases, Trap, TrapKind};

use crate::error::Result;
use crate::exit::Exit;
use crate::spawn;
use crate::subject::{Subject, escaped};
use crate::time::{Plan, time};

/// All instructions of one run of a subject.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Steps {
    /// What was run.
    pub subject: Subject,
    /// The file that was run, as it was found.
    #[serde(serialize_with = "escaped")]
    pub program: PathBuf,
    /// Up to where it was counted.
    pub until: Until,
    /// Whether it came there. If not, it is counted to its end.
    pub reached: bool,
    /// All instructions.
    pub total: Tally,
    /// The same by the files that hold them, most instructions first.
    pub files: Vec<FileSteps>,
    /// The same by the programs that were executed, in the order in which they began.
    pub images: Vec<Image>,
    /// What one CPUID takes on this machine now.
    #[serde(rename = "cpuid_cost_ns", serialize_with = "crate::nanoseconds::one")]
    pub cpuid_cost: Duration,
    /// How long a start takes untraced: None until [`Steps::time_start`] has timed some.
    #[serde(rename = "start_ns", serialize_with = "crate::nanoseconds::any")]
    pub start: Option<Duration>,
    /// How the first process ended.
    pub exit: Exit,
    /// How many processes executed an instruction, the first included.
    pub processes: usize,
    /// How many threads did, in all processes together.
    pub threads: usize,
    /// What a reader must know to judge the rest.
    pub notes: Vec<String>,
}

/// Up to where instructions are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Until {
    /// To the end of all processes.
    #[default]
    End,
    /// To the first call of write, writev, pwrite64, pwritev or pwritev2 by any process, the
    /// instruction that makes it included. The subject then runs on to its end uncounted.
    FirstWrite,
}

/// Numbers of instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Tally {
    /// All of them.
    pub instructions: u64,
    /// CPUID among them, which every hypervisor traps.
    pub cpuid: u64,
    /// RDTSC and RDTSCP among them, which some hypervisors trap.
    pub rdtsc: u64,
    /// XGETBV among them, which some hypervisors trap.
    pub xgetbv: u64,
}

impl Tally {
    /// Which part of a start its CPUID instructions explain, 0.5 for half of it, when one takes
    /// so long, and a start so long. None for a start that takes no time.
    pub fn cpuid_share(self, cost: Duration, start: Duration) -> Option<f64> {
        let cpuid = self.cpuid as f64 * cost.as_secs_f64();
        (!start.is_zero()).then(|| cpuid / start.as_secs_f64())
    }

    /// Those that trap, all kinds together.
    pub fn traps(self) -> u64 {
        self.cpuid + self.rdtsc + self.xgetbv
    }

    pub(crate) fn add(&mut self, other: Tally) {
        self.instructions += other.instructions;
        self.cpuid += other.cpuid;
        self.rdtsc += other.rdtsc;
        self.xgetbv += other.xgetbv;
    }
}

/// The instructions that lie in one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FileSteps {
    /// The file's path as in /proc/PID/maps; `[vdso]`, `[stack]` and others of proc(5), or
    /// `[anonymous]`, for memory that belongs to no file.
    #[serde(serialize_with = "escaped")]
    pub file: PathBuf,
    /// The instructions in it.
    #[serde(flatten)]
    pub steps: Tally,
}

/// The instructions of one program in one process: from its execve, or from the fork that made
/// the process, up to the next execve, that call included, or to the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Image {
    /// Which process: 0 for the first, then in the order in which they were seen.
    pub process: usize,
    /// The file that the kernel loaded: of a script, its interpreter.
    #[serde(serialize_with = "escaped")]
    pub program: PathBuf,
    /// All its instructions.
    #[serde(flatten)]
    pub total: Tally,
    /// The same by file, most instructions first.
    pub files: Vec<FileSteps>,
    /// The same by function; None but of [`steps_by_function()`].
    pub by_function: Option<ByFunction>,
}

impl Steps {
    /// The time that its CPUID instructions take on this machine: their number times the cost of
    /// one.
    pub fn cpuid_time(&self) -> Duration {
        let times = u32::try_from(self.total.cpuid).unwrap_or(u32::MAX);
        self.cpuid_cost.saturating_mul(times)
    }

    /// Runs the subject some 20 times more, untraced, and keeps the median of its times as
    /// [`Steps::start`]. Fails as [`time`] does.
    pub fn time_start(&mut self) -> Result<()> {
        let plan = Plan {
            rounds: 20,
            warmup: 2,
            max_time: Duration::from_secs(1),
            ..Plan::default()
        };
        let timing = time(slice::from_ref(&self.subject), &plan)?;
        let median = timing.subjects.first().map(|timed| timed.time.median_ns);
        self.start = median.map(Duration::from_nanos);
        Ok(())
    }

    /// Which part of a start its CPUID instructions explain, 0.5 for half of it. None while no
    /// start has been timed.
    pub fn cpuid_share(&self) -> Option<f64> {
        self.total.cpuid_share(self.cpuid_cost, self.start?)
    }
}

/// Runs a subject to its end, and counts its instructions up to the end or to the first write.
///
/// It takes about 20 µs an instruction on a virtual machine. Several threads may count at once,
/// as [`trace`](fn@crate::trace::trace) says.
///
/// Fails when the subject cannot be run, may not be traced, or is not done by its timeout, and
/// leaves nothing of it running then. A subject that fails or dies by a signal is no error. Where
/// randomization cannot be turned off, a note says so.
pub fn steps(subject: &Subject, until: Until) -> Result<Steps> {
    let cpuid_cost = cpuid_cost()?;
    spawn::alone(|| stepper::run(subject, until, cpuid_cost, None))
}

/// As [`steps()`], and tells for each image in which functions its instructions lie, how many are
/// executed before, in and after `main`, and where those are that trap: [`Image::by_function`].
///
/// A function has the name that the file's symbols give to its addresses, or those of its debug
/// file where that is installed; and none where they do not.
pub fn steps_by_function(subject: &Subject, until: Until) -> Result<Steps> {
    let cpuid_cost = cpuid_cost()?;
    spawn::alone(|| stepper::run(subject, until, cpuid_cost, Some(who::Who::default())))
}
