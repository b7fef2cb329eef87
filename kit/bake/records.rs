//! The actions of a launcher as calls that are all known beforehand, where they are.

use std::collections::BTreeSet;

use launcher::action::Does;
use launcher::run::{CLOSE_RANGE_CLOEXEC, F_DUPFD_CLOEXEC, F_SETFD, KEPT};
use launcher::words::{SIG_BLOCK, SIGSET_SIZE};
use shims::arch::number;
use shims::call::{AT_FDCWD, STDERR};

use super::decode::{Operand, Step};
use super::tape::{DUPLICATE, KEEP, SET, TRY};

/// A record of the small engines.
pub struct Record {
    /// The call's number; 0 for what is none.
    pub number: u16,
    /// What is special about it.
    pub special: u16,
    /// One to four of them.
    pub with: Vec<Operand>,
    /// The words of its action.
    pub words: Vec<u8>,
}

/// How many variables may be added: their places are those of the auxiliary vector, which has 16
/// entries of 16 bytes at least on any kernel.
const VARIABLES: usize = 16;

/// The records of these actions. None: there is one among them that takes more than a list of
/// calls.
pub fn records(steps: &[Step]) -> Option<Vec<Record>> {
    let mut list = List::default();
    for step in steps {
        list.add(step)?;
    }
    let variables = list.records.iter().filter(|r| r.special == SET).count();
    (variables <= VARIABLES).then_some(list.records)
}

/// What becomes of open files is followed here as `launch` does it when it runs: what depends on
/// the numbers that the kernel gave then is no list of calls.
#[derive(Default)]
struct List {
    records: Vec<Record>,
    /// Whether stderr was moved, so that its number is not known.
    kept: bool,
    /// Whether there may be files open that nobody may use: opening one leaves another number.
    opened: bool,
    /// The files that actions have opened since.
    files: BTreeSet<usize>,
}

impl List {
    fn add(&mut self, step: &Step) -> Option<()> {
        match step.does {
            Does::Limit => {
                let [limit, value, _] = step.with.clone();
                let nothing = Operand::Number(0);
                self.call(
                    step,
                    number::PRLIMIT64,
                    &[nothing.clone(), limit, value, nothing],
                );
            }
            Does::Block => {
                let numbers = [SIG_BLOCK, 0, SIGSET_SIZE].map(Operand::Number);
                let [how, none, size] = numbers;
                let with = [how, step.with[0].clone(), none, size];
                self.call(step, number::RT_SIGPROCMASK, &with);
            }
            Does::Signals => {
                let (set, disposition) = (step.number(0), step.number(1));
                // struct sigaction of the kernel: handler, flags, restorer, mask.
                let act = [disposition, 0, 0, 0].map(usize::to_ne_bytes).concat();
                for signal in (1..=64).filter(|signal| set >> (signal - 1) & 1 == 1) {
                    let with = [
                        Operand::Number(signal),
                        Operand::Bytes(act.clone()),
                        Operand::Number(0),
                        Operand::Number(SIGSET_SIZE),
                    ];
                    self.call(step, number::RT_SIGACTION, &with);
                }
            }
            Does::Open => {
                let to = step.number(2);
                self.keep(step, to)?;
                let with = [
                    Operand::Number(AT_FDCWD),
                    Operand::Text(step.text(0).to_vec()),
                    Operand::Number(step.number(1)),
                    Operand::Number(0o666),
                ];
                self.call(step, number::OPENAT, &with);
                self.call(step, number::DUP3, &[0, to, 0].map(Operand::Number));
                self.special(DUPLICATE);
                self.opened = true;
                self.files.insert(to);
            }
            Does::Duplicate => {
                let (from, to) = (step.number(0), step.number(1));
                if self.opened && !self.files.contains(&from) {
                    return None;
                }
                if from == to {
                    self.call(step, number::FCNTL, &[to, F_SETFD, 0].map(Operand::Number));
                } else {
                    self.keep(step, to)?;
                    self.call(step, number::DUP3, &[from, to, 0].map(Operand::Number));
                }
                self.files.insert(to);
            }
            Does::Close => {
                let file = step.number(0);
                self.keep(step, file)?;
                self.call(step, number::CLOSE, &[Operand::Number(file)]);
                self.special(TRY);
                self.files.remove(&file);
            }
            Does::CloseFrom => {
                let (from, at_exec) = (step.number(0), step.number(1) != 0);
                if self.kept && !at_exec {
                    return None;
                }
                let flags = match at_exec || from <= STDERR.0 as usize {
                    true => CLOSE_RANGE_CLOEXEC,
                    false => 0,
                };
                let with = [from, u32::MAX as usize, flags].map(Operand::Number);
                self.call(step, number::CLOSE_RANGE, &with);
                self.files.retain(|file| *file < from);
                // Those that are marked in the place of being closed are nobody's to use.
                self.opened |= flags != 0 && !at_exec;
            }
            Does::Set => {
                let [name, new, _] = step.with.clone();
                let name = match new {
                    Operand::Number(_) => Operand::Text([step.text(0), b"="].concat()),
                    _ => name,
                };
                self.records.push(Record {
                    number: 0,
                    special: SET,
                    with: vec![name, new],
                    words: step.words.clone(),
                });
            }
            does => {
                let call = does.call()?;
                let [first, second, third] = step.with.clone();
                let with = [first, second, third, Operand::Number(0)];
                self.call(step, call, &with[..arguments(call)]);
            }
        }
        Some(())
    }

    fn call(&mut self, step: &Step, number: usize, with: &[Operand]) {
        self.records.push(Record {
            number: number as u16,
            special: 0,
            with: with.to_vec(),
            words: step.words.clone(),
        });
    }

    /// Says that the last record is special.
    fn special(&mut self, special: u16) {
        if let Some(record) = self.records.last_mut() {
            record.special |= special;
        }
    }

    /// Before the file `fd` goes: when errors are told there, they are told on a copy from here on.
    fn keep(&mut self, step: &Step, fd: usize) -> Option<()> {
        let stderr = STDERR.0 as usize;
        if self.kept {
            // Errors may be told there, or not.
            return (fd != stderr && fd < KEPT).then_some(());
        }
        if fd == stderr {
            let with = [fd, F_DUPFD_CLOEXEC, KEPT].map(Operand::Number);
            self.call(step, number::FCNTL, &with);
            self.special(TRY | KEEP);
            self.kept = true;
        }
        Some(())
    }
}

/// How many arguments a call takes, by its man page; one at least, and 4 where they may all matter.
fn arguments(call: usize) -> usize {
    match call {
        number::SETSID
        | number::CHDIR
        | number::CHROOT
        | number::UMASK
        | number::ALARM
        | number::PERSONALITY
        | number::SETUID
        | number::SETGID => 1,
        number::SETPGID | number::SETGROUPS => 2,
        number::IOCTL
        | number::SETPRIORITY
        | number::SCHED_SETAFFINITY
        | number::SCHED_SETSCHEDULER
        | number::IOPRIO_SET
        | number::SETRESUID
        | number::SETRESGID => 3,
        _ => 4,
    }
}
