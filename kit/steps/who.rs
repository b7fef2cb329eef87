//! Which functions execute the instructions, and how far the process has come.
//!
//! Each place where an instruction lies is looked up once in the map of its process, and has a
//! count of its own from then on. Names come when all is over.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::mem::offset_of;
use std::path::PathBuf;

use libc::{pid_t, user_regs_struct};

use super::functions::{ByFunction, FunctionSteps, Phases, Trap, TrapKind};
use super::{FileSteps, Image, Tally};
use crate::subject::escape;
use crate::trace::tracee::Stopped;
use crate::who::files::{Code, Files};
use crate::who::landmark;
use crate::who::memory::Memory;
use crate::who::process::{self, View};
use crate::who::symbols::{self, Named, Query};

/// What is known while the subject runs.
#[derive(Default)]
pub(super) struct Who {
    files: Files,
    /// By process id.
    processes: HashMap<pid_t, Process>,
    /// For each image, in the same order.
    ledgers: Vec<Ledger>,
}

/// One process.
#[derive(Default)]
struct Process {
    /// What is mapped where.
    map: process::Process,
    /// The places that are known, by their addresses in memory.
    known: HashMap<u64, usize>,
    /// Where `main` begins, in memory.
    main: Option<u64>,
    /// Where `main` returns to, and the stack pointer then.
    back: Option<(u64, u64)>,
    phase: Phase,
}

/// How far a process has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Before,
    Main,
    After,
}

/// The places of one image.
#[derive(Default)]
struct Ledger {
    /// Whether it is known where its `main` is.
    has_main: bool,
    places: Vec<Place>,
    by_key: HashMap<Key, usize>,
}

/// What makes a place: the file by its index in the image's list, the code by its index in the
/// list of those that are named, and the address that the code states.
type Key = (usize, Option<usize>, u64);

/// Where an instruction lies, and how often it was executed.
struct Place {
    key: Key,
    /// One for each phase.
    steps: [Tally; 3],
}

/// An instruction that is about to be executed.
#[derive(Clone, Copy)]
pub(super) struct Spot {
    place: usize,
    phase: Phase,
}

/// The names of the places, for each code by the address that it states.
type Names = Vec<HashMap<u64, Named>>;

impl Who {
    /// A process begins a program. To be called once for each image, in their order.
    pub fn executes(&mut self, pid: pid_t) {
        let mut of = Process::default();
        let mut memory = Memory::of(pid);
        let mut view = View {
            tid: pid,
            process: &mut of.map,
            files: &mut self.files,
            memory: &mut memory,
            asked: false,
        };
        let entry = process::auxv(pid).get(&libc::AT_ENTRY).copied();
        let program = entry.and_then(|entry| view.place(entry));
        of.main = program.and_then(|(file, _)| {
            let stated = landmark::main(view.files.get(file)?)?;
            view.address_of(file, stated)
        });
        self.begin(pid, of);
    }

    /// A process is made by another, and has come as far. To be called as [`Who::executes`].
    pub fn is_born(&mut self, pid: pid_t) {
        let parent = process::family(pid).and_then(|(_, parent)| self.processes.get(&parent));
        let of = parent.map(|parent| Process {
            main: parent.main,
            back: parent.back,
            phase: parent.phase,
            ..Process::default()
        });
        self.begin(pid, of.unwrap_or_default());
    }

    fn begin(&mut self, pid: pid_t, of: Process) {
        self.ledgers.push(Ledger {
            has_main: of.main.is_some(),
            ..Ledger::default()
        });
        self.processes.insert(pid, of);
    }

    /// The mappings of a process are about to be others.
    pub fn forget(&mut self, pid: pid_t) {
        if let Some(of) = self.processes.get_mut(&pid) {
            of.map.forget();
            of.known.clear();
        }
    }

    /// A thread is about to execute the instruction at an address, in that file of its image.
    pub fn at(
        &mut self,
        address: u64,
        stopped: &Stopped,
        pid: pid_t,
        image: usize,
        file: usize,
    ) -> io::Result<Option<Spot>> {
        let (Some(of), Some(ledger)) = (self.processes.get_mut(&pid), self.ledgers.get_mut(image))
        else {
            return Ok(None);
        };
        of.come_to(address, stopped)?;
        let place = match of.known.get(&address) {
            Some(&place) => place,
            None => {
                let mut memory = Memory::of(stopped.tid);
                let mut view = View {
                    tid: stopped.tid,
                    process: &mut of.map,
                    files: &mut self.files,
                    memory: &mut memory,
                    asked: false,
                };
                let key = match view.place(address) {
                    Some((code, Some(bias))) => (file, Some(code), address.wrapping_sub(bias)),
                    _ => (file, None, address),
                };
                let place = ledger.place(key);
                of.known.insert(address, place);
                place
            }
        };
        Ok(Some(Spot {
            place,
            phase: of.phase,
        }))
    }

    /// It is executed.
    pub fn count(&mut self, image: usize, spot: Spot, tally: Tally) {
        let ledger = self.ledgers.get_mut(image);
        if let Some(place) = ledger.and_then(|ledger| ledger.places.get_mut(spot.place)) {
            place.steps[spot.phase as usize].add(tally);
        }
    }

    /// Puts names to what was counted, and adds it to the images. Their files must be in the order
    /// in which they were found. Tells what a reader must know.
    pub fn finish(mut self, images: &mut [Image]) -> Vec<String> {
        let names = self.names();
        let mut notes = Vec::new();
        for (ledger, image) in self.ledgers.iter().zip(images) {
            if !ledger.has_main {
                let note = format!(
                    "no main found in {}: it has none, or is linked with -s; so before and after \
                     it are not told apart",
                    escape(image.program.as_ref())
                );
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
            image.by_function = Some(ledger.by_function(&image.files, &names));
        }
        notes
    }

    /// The names of all places.
    fn names(&mut self) -> Names {
        let codes = self.files.all();
        let mut addresses: Vec<Vec<u64>> = Vec::new();
        addresses.resize_with(codes.len(), Vec::new);
        for place in self.ledgers.iter().flat_map(|ledger| &ledger.places) {
            let (_, code, stated) = place.key;
            if let Some(of_code) = code.and_then(|code| addresses.get_mut(code)) {
                of_code.push(stated);
            }
        }
        codes.iter_mut().zip(addresses).map(named).collect()
    }
}

/// The names of addresses in a file. Where functions begin is asked only where that can give one a
/// name: it takes the longest.
fn named((code, addresses): (&mut Code, Vec<u64>)) -> HashMap<u64, Named> {
    let query = |address| Query {
        address,
        function: None,
        next: None,
    };
    let mut named = symbols::name(code.tables(), addresses.iter().copied().map(query));
    if code.has_all_names() {
        let rest = addresses
            .iter()
            .filter(|address| !named.contains_key(address));
        let mut rest: Vec<Query> = rest.copied().map(query).collect();
        for query in &mut rest {
            let cfi = code.cfi.as_mut();
            let rule = cfi.and_then(|cfi| cfi.rule(query.address));
            query.function = rule.map(|rule| rule.function);
            if query.function.is_none() {
                let cfi = code.cfi.as_ref();
                query.next = cfi.and_then(|cfi| cfi.next_function(query.address));
            }
        }
        named.extend(symbols::name(code.tables(), rest));
    }
    named
}

impl Process {
    /// Looks whether it begins or leaves `main`.
    fn come_to(&mut self, address: u64, stopped: &Stopped) -> io::Result<()> {
        const RSP: usize = offset_of!(user_regs_struct, rsp);
        match self.phase {
            Phase::Before if self.main == Some(address) => {
                self.phase = Phase::Main;
                // The return address lies on top of the stack where a function begins.
                if let Some(stack) = stopped.register(RSP)? {
                    let back = stopped.word(stack);
                    self.back = back.map(|back| (back, stack.wrapping_add(8)));
                }
            }
            Phase::Main => {
                // Somebody else may go there as well.
                if let Some((back, stack)) = self.back
                    && back == address
                    && stopped.register(RSP)? == Some(stack)
                {
                    self.phase = Phase::After;
                }
            }
            Phase::Before | Phase::After => {}
        }
        Ok(())
    }
}

impl Ledger {
    fn place(&mut self, key: Key) -> usize {
        *self.by_key.entry(key).or_insert_with(|| {
            self.places.push(Place {
                key,
                steps: [Tally::default(); 3],
            });
            self.places.len() - 1
        })
    }

    fn by_function(&self, files: &[FileSteps], names: &Names) -> ByFunction {
        let mut functions = BTreeMap::new();
        let mut traps = Vec::new();
        let mut all = Phases::default();
        for place in &self.places {
            let (file, code, stated) = place.key;
            let Some(file) = files.get(file).map(|file| &file.file) else {
                continue;
            };
            let (steps, phases) = place.sums();
            // It was about to be executed, and was not.
            if steps.instructions == 0 {
                continue;
            }
            let name = code.and_then(|code| names.get(code)?.get(&stated));
            let key = (file, name.map(|named| (named.address, &named.name)));
            let (of, by_phase): &mut (Tally, Phases) = functions.entry(key).or_default();
            of.add(steps);
            by_phase.add(phases);
            all.add(phases);
            traps.extend(self::traps(steps).map(|(kind, times)| Trap {
                kind,
                file: file.clone(),
                address: stated,
                function: name.map(|named| named.name.clone()),
                offset: name.map(|named| stated.wrapping_sub(named.address)),
                times,
            }));
        }
        let known = |phases| self.has_main.then_some(phases);
        let function = |((file, name), (steps, phases)): (Group, (Tally, Phases))| FunctionSteps {
            file: file.clone(),
            function: name.map(|(_, name)| name.clone()),
            address: name.map(|(address, _)| address),
            steps,
            phases: known(phases),
        };
        let mut functions: Vec<_> = functions.into_iter().map(function).collect();
        // Stable: what has as many stays in the order of the files and addresses.
        functions.sort_by_key(|function| Reverse(function.steps.instructions));
        traps.sort_by(|one: &Trap, other| {
            let key = |trap: &Trap| (Reverse(trap.times), trap.kind, trap.address);
            key(one).cmp(&key(other)).then(one.file.cmp(&other.file))
        });
        ByFunction {
            phases: known(all),
            functions,
            traps,
        }
    }
}

/// A function: its file, and where it begins and its name where it has one.
type Group<'a> = (&'a PathBuf, Option<(u64, &'a String)>);

impl Place {
    fn sums(&self) -> (Tally, Phases) {
        let [before, main, after] = self.steps;
        let mut sum = before;
        sum.add(main);
        sum.add(after);
        let phases = Phases {
            before_main: before.instructions,
            main: main.instructions,
            after_main: after.instructions,
        };
        (sum, phases)
    }
}

/// What traps among the instructions of one place.
fn traps(steps: Tally) -> impl Iterator<Item = (TrapKind, u64)> {
    [
        (TrapKind::Cpuid, steps.cpuid),
        (TrapKind::Rdtsc, steps.rdtsc),
        (TrapKind::Xgetbv, steps.xgetbv),
    ]
    .into_iter()
    .filter(|(_, times)| *times > 0)
}
