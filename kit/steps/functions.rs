//! The instructions of a program by the functions that hold them, and by how far it had come.

use std::cmp::Reverse;
use std::path::PathBuf;

use serde::{Serialize, Serializer};

use super::Tally;
use crate::subject::escaped;

/// The instructions of one image by function. The sums are those of the image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ByFunction {
    /// All of them before, in and after `main`. None where the program has no symbol of that name,
    /// so that it cannot be told.
    pub phases: Option<Phases>,
    /// All functions, most instructions first.
    pub functions: Vec<FunctionSteps>,
    /// Each instruction that was executed and traps, most often executed first.
    pub traps: Vec<Trap>,
}

/// Numbers of instructions, by how far the process had come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Phases {
    /// Before the first instruction of `main`: the loader, the C library's and the runtime's start.
    pub before_main: u64,
    /// In `main`, or in something that it has called.
    pub main: u64,
    /// After `main` has returned.
    pub after_main: u64,
}

/// The instructions that lie in one function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FunctionSteps {
    /// Its file, as [`FileSteps::file`](super::FileSteps::file).
    #[serde(serialize_with = "escaped")]
    pub file: PathBuf,
    /// Its name, demangled. None for all that has no name in that file, together.
    pub function: Option<String>,
    /// Where it begins, as the file states it. None without a name.
    #[serde(serialize_with = "hex_or_null")]
    pub address: Option<u64>,
    /// The instructions in it, without those of what it calls.
    #[serde(flatten)]
    pub steps: Tally,
    /// The same by how far the process had come; None where that cannot be told.
    pub phases: Option<Phases>,
}

/// An instruction that traps, at its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Trap {
    /// Which it is.
    pub kind: TrapKind,
    /// The file that it lies in.
    #[serde(serialize_with = "escaped")]
    pub file: PathBuf,
    /// Its address as the file states it; in memory where there is no file.
    #[serde(serialize_with = "hex")]
    pub address: u64,
    /// The function that executes it, demangled; None for one without a name.
    pub function: Option<String>,
    /// How far in that function it is.
    pub offset: Option<u64>,
    /// How often it was executed.
    pub times: u64,
}

/// Which instruction traps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TrapKind {
    /// CPUID.
    Cpuid,
    /// RDTSC or RDTSCP.
    Rdtsc,
    /// XGETBV.
    Xgetbv,
}

impl ByFunction {
    /// The functions that execute an instruction that traps, those with most of them first.
    pub fn trapping(&self) -> Vec<&FunctionSteps> {
        let mut trapping: Vec<_> = self
            .functions
            .iter()
            .filter(|function| function.steps.traps() > 0)
            .collect();
        trapping.sort_by_key(|function| Reverse(function.steps.traps()));
        trapping
    }

    /// The same by file, most instructions first: each with all that lies in it.
    pub fn files(&self) -> Vec<FunctionSteps> {
        let mut files: Vec<FunctionSteps> = Vec::new();
        for function in &self.functions {
            match files.iter_mut().find(|file| file.file == function.file) {
                Some(file) => {
                    file.steps.add(function.steps);
                    if let (Some(sum), Some(more)) = (&mut file.phases, function.phases) {
                        sum.add(more);
                    }
                }
                None => files.push(FunctionSteps {
                    function: None,
                    address: None,
                    ..function.clone()
                }),
            }
        }
        files.sort_by_key(|file| Reverse(file.steps.instructions));
        files
    }
}

impl Phases {
    pub(crate) fn add(&mut self, other: Phases) {
        self.before_main += other.before_main;
        self.main += other.main;
        self.after_main += other.after_main;
    }
}

fn hex<S: Serializer>(number: &u64, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&format_args!("{number:#x}"))
}

fn hex_or_null<S: Serializer>(number: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) => hex(number, to),
        None => to.serialize_none(),
    }
}
