//! Looks at each call when it begins: unwinds its stack and reads its arguments. Names come when all
//! is over, so that a thread is held up no longer than it takes.

use std::collections::HashMap;
use std::io;
use std::mem::offset_of;
use std::ops::Range;

use libc::{c_int, pid_t, user_regs_struct};

use super::Until;
use super::decode::{self, Arguments};
use super::files::Files;
use super::landmark;
use super::memory::Memory;
use super::process::{self, Phase, Process, View};
use super::unwind::{self, Place, Registers, Stack};
use crate::trace::Call;
use crate::trace::tracee::{Stopped, TRAP_HWBKPT};
use crate::trace::tracer::Watch;

/// What was seen of one call.
pub struct Seen {
    /// Which program its process ran, by its place in the list.
    pub image: usize,
    /// How far that had come.
    pub phase: Option<Phase>,
    /// Where in the process's memory the call is made.
    pub stack: Stack,
    /// Whether its code is of 32 bits, which is not unwound.
    pub narrow: bool,
    /// Of an execve that succeeded: where the new program begins.
    pub begins: Option<Stack>,
    /// Its arguments.
    pub arguments: Arguments,
}

/// A program that was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// Its file.
    pub program: Option<usize>,
    /// The file of the loader that the kernel started instead, where there is one.
    pub loader: Option<usize>,
}

/// What is known while the subject runs.
pub struct Witness {
    /// Up to where the subject is looked at.
    pub until: Until,
    /// Whether nothing more is looked at.
    over: bool,
    /// How many calls are in what was asked for: once that is known.
    pub limit: Option<usize>,
    /// By process id.
    processes: HashMap<pid_t, Process>,
    /// The process that a thread belongs to.
    threads: HashMap<pid_t, pid_t>,
    /// All files with code.
    pub files: Files,
    /// All programs that were executed.
    pub images: Vec<Image>,
    /// For each call.
    pub seen: Vec<Seen>,
    /// Where a process is to stop on its way.
    breakpoints: HashMap<pid_t, Breakpoints>,
    /// Whether breakpoints could not be set.
    pub no_breakpoints: bool,
    /// How many calls had been made when the first program's `main` began.
    pub main_at: Option<usize>,
}

/// Places of a program at which its first thread stops, in the processor's debug registers: its
/// memory stays as it is (Intel's manual, volume 3, "Debug Registers").
#[derive(Clone, Copy, Default)]
struct Breakpoints {
    entry: Option<u64>,
    main: Option<u64>,
    /// Where `main` returns to, and the stack pointer then.
    back: Option<(u64, u64)>,
    /// Whether it is to stop nowhere for the time being.
    paused: bool,
}

/// A call is made by `syscall` in the middle of 64-bit code: `cs` is 0x33 then (asm/segment.h,
/// `__USER_CS`), and 0x23 in 32-bit code (`__USER32_CS`).
const USER32_CS: u64 = 0x23;

impl Witness {
    /// Before a subject starts.
    pub fn of(until: Until) -> Self {
        Witness {
            until,
            over: false,
            limit: None,
            processes: HashMap::new(),
            threads: HashMap::new(),
            files: Files::default(),
            images: Vec::new(),
            seen: Vec::new(),
            breakpoints: HashMap::new(),
            no_breakpoints: false,
            main_at: None,
        }
    }

    /// The process of a thread.
    fn process_of(&mut self, tid: pid_t) -> pid_t {
        if let Some(&process) = self.threads.get(&tid) {
            return process;
        }
        let (process, parent) = process::family(tid).unwrap_or((tid, 0));
        self.threads.insert(tid, process);
        if !self.processes.contains_key(&process) {
            // A child is at first what its parent was.
            let mut born = self.processes.get(&parent).cloned().unwrap_or_default();
            born.forget();
            self.processes.insert(process, born);
        }
        process
    }

    fn unwind(
        &mut self,
        tid: pid_t,
        process: pid_t,
        registers: &user_regs_struct,
        place: Place,
        memory: &mut Memory,
    ) -> Stack {
        let Some(of) = self.processes.get_mut(&process) else {
            return Stack::default();
        };
        let mut view = View {
            tid,
            process: of,
            files: &mut self.files,
            memory,
            asked: false,
        };
        unwind::unwind(Registers::of(registers), place, &mut view)
    }

    /// A process runs a program that is not known yet: which, by what the kernel told it of where
    /// that and its loader are.
    fn identify(&mut self, tid: pid_t, process: pid_t, memory: &mut Memory) -> usize {
        let vector = process::auxv(tid);
        let Some(of) = self.processes.get_mut(&process) else {
            return 0;
        };
        let mut view = View {
            tid,
            process: of,
            files: &mut self.files,
            memory,
            asked: false,
        };
        let mut file = |address: Option<&u64>| Some(view.place(*address?)?.0);
        let program = file(vector.get(&libc::AT_ENTRY));
        let base = vector.get(&libc::AT_BASE).filter(|base| **base != 0);
        let loader = base.and_then(|base| view.loaded_at(*base));
        let image = Image { program, loader };
        let index = match self.images.iter().position(|other| *other == image) {
            Some(index) => index,
            None => {
                self.images.push(image);
                self.images.len() - 1
            }
        };
        if let Some(of) = self.processes.get_mut(&process) {
            of.image = Some(index);
        }
        index
    }

    fn image(&mut self, tid: pid_t, process: pid_t, memory: &mut Memory) -> usize {
        match self.processes.get(&process).and_then(|of| of.image) {
            Some(image) => image,
            None => self.identify(tid, process, memory),
        }
    }

    /// The places at which a process is to stop, now that it is at its first instruction.
    fn set_out(
        &mut self,
        stopped: &Stopped,
        process: pid_t,
        at: u64,
        memory: &mut Memory,
    ) -> io::Result<()> {
        let image = self.image(stopped.tid, process, memory);
        let program = self.images.get(image).and_then(|image| image.program);
        let (Some(of), Some(file)) = (self.processes.get_mut(&process), program) else {
            return Ok(());
        };
        let main = self.files.get(file).and_then(landmark::main);
        let entry = process::auxv(stopped.tid).get(&libc::AT_ENTRY).copied();
        let view = View {
            tid: stopped.tid,
            process: of,
            files: &mut self.files,
            memory,
            asked: true,
        };
        let main = main.and_then(|stated| view.address_of(file, stated));
        let breakpoints = Breakpoints {
            entry: entry.filter(|entry| *entry != at),
            main,
            back: None,
            paused: false,
        };
        let phase = match breakpoints {
            Breakpoints { entry: Some(_), .. } => Some(Phase::Loading),
            Breakpoints { main: Some(_), .. } => Some(Phase::Starting),
            Breakpoints { .. } => None,
        };
        if let Err(error) = breakpoints.set(stopped) {
            if error.raw_os_error() == Some(libc::ESRCH) {
                return Ok(());
            }
            // Without them it cannot be told how far the process has come.
            self.no_breakpoints = true;
            return Ok(());
        }
        if let Some(of) = self.processes.get_mut(&process) {
            of.phase = phase;
        }
        self.breakpoints.insert(process, breakpoints);
        Ok(())
    }

    /// A process has come to a place that it was to stop at.
    fn arrived(&mut self, stopped: &Stopped, process: pid_t) -> io::Result<bool> {
        let (Some(breakpoints), Some(registers)) =
            (self.breakpoints.get_mut(&process), stopped.registers()?)
        else {
            return Ok(false);
        };
        let phase = if breakpoints.entry == Some(registers.rip) {
            breakpoints.entry = None;
            breakpoints.main.map(|_| Phase::Starting)
        } else if breakpoints.main == Some(registers.rip) {
            breakpoints.main = None;
            let back = Memory::of(stopped.tid).word(registers.rsp);
            breakpoints.back = back.map(|back| (back, registers.rsp.wrapping_add(8)));
            Some(Phase::Main)
        } else if breakpoints
            .back
            .is_some_and(|(back, _)| back == registers.rip)
        {
            if breakpoints.back != Some((registers.rip, registers.rsp)) {
                // Somebody else goes there.
                return Ok(true);
            }
            breakpoints.back = None;
            Some(Phase::Ending)
        } else {
            return Ok(false);
        };
        // One that has been killed meanwhile has nothing more to stop at.
        let _ = breakpoints.set(stopped);
        if let Some(of) = self.processes.get_mut(&process) {
            of.phase = phase;
        }
        if phase == Some(Phase::Main) && self.main_at.is_none() {
            self.main_at = Some(self.seen.len());
            if self.until == Until::Main {
                self.finish(self.seen.len());
            }
        }
        Ok(true)
    }

    /// A call may block or ignore SIGTRAP. To stop at a breakpoint then would undo that
    /// (kernel/signal.c, `force_sig_info_to_task`): so there is none while it is blocked, as within
    /// pthread_create, and none any more once it is ignored.
    fn give_way(&mut self, stopped: &Stopped, process: pid_t, call: &Call, memory: &mut Memory) {
        const SIGTRAP: u64 = libc::SIGTRAP as u64;
        // They are those of the first thread.
        if stopped.tid != process {
            return;
        }
        let [first, second, ..] = call.args;
        let holds = memory.word(second).map(|set| set >> (SIGTRAP - 1) & 1 == 1);
        let blocked = match (call.name, first as i32, holds) {
            (Some("rt_sigaction"), libc::SIGTRAP, _) => {
                // The handler comes first in `struct sigaction` of the kernel.
                if memory.word(second) == Some(libc::SIG_IGN as u64)
                    && self.breakpoints.remove(&process).is_some()
                {
                    let _ = Breakpoints::default().set(stopped);
                    if let Some(of) = self.processes.get_mut(&process) {
                        of.phase = None;
                    }
                }
                return;
            }
            (Some("rt_sigprocmask"), libc::SIG_BLOCK, Some(true)) => true,
            (Some("rt_sigprocmask"), libc::SIG_UNBLOCK, Some(true)) => false,
            (Some("rt_sigprocmask"), libc::SIG_SETMASK, Some(holds)) => holds,
            _ => return,
        };
        if let Some(breakpoints) = self.breakpoints.get_mut(&process)
            && breakpoints.paused != blocked
        {
            breakpoints.paused = blocked;
            // One that has been killed meanwhile has nothing more to stop at.
            let _ = breakpoints.set(stopped);
        }
    }

    /// What was asked for ends after so many calls.
    fn finish(&mut self, calls: usize) {
        if self.limit.is_none() {
            self.limit = Some(calls);
            self.over = true;
        }
    }

    /// A call may change what is mapped where.
    fn remap(&mut self, call: &Call) {
        let Some(changed) = changes(call) else {
            return;
        };
        // Processes can share their memory, so all are asked.
        if self.processes.values().any(|one| one.executes_in(&changed)) {
            self.processes.values_mut().for_each(Process::forget);
        }
    }
}

/// The addresses whose mapping a call changes. What it maps anew elsewhere is found out when code is
/// executed there.
fn changes(call: &Call) -> Option<Range<u64>> {
    let [start, length, ..] = call.args;
    let end = match call.name? {
        "munmap" | "mprotect" | "pkey_mprotect" | "mremap" => start.saturating_add(length),
        // Where the kernel chooses the place, there was nothing before.
        "mmap" | "mmap2" if call.args[3] & libc::MAP_FIXED as u64 != 0 => {
            start.saturating_add(length)
        }
        // Rare enough to forget everything.
        "shmat" | "shmdt" | "remap_file_pages" | "ipc" => return Some(0..u64::MAX),
        _ => return None,
    };
    Some(start..end)
}

impl Breakpoints {
    /// Puts them into the processor's registers: the addresses into the first two, and which of these
    /// are in use into the eighth.
    fn set(&self, stopped: &Stopped) -> io::Result<()> {
        const REGISTERS: usize = offset_of!(libc::user, u_debugreg);
        let set = |register: usize, value| stopped.set_register(REGISTERS + register * 8, value);
        let first = self.entry.or(self.back.map(|(back, _)| back));
        // What is in use may not be changed.
        set(7, 0)?;
        if self.paused {
            return Ok(());
        }
        let mut used = 0;
        for (register, address) in [first, self.main].into_iter().enumerate() {
            if let Some(address) = address {
                set(register, address)?;
                used |= 1 << (2 * register);
            }
        }
        set(7, used)
    }
}

impl Watch for Witness {
    fn begins(&mut self, stopped: &Stopped, call: &Call) -> io::Result<()> {
        let tid = stopped.tid;
        let process = self.process_of(tid);
        let mut memory = Memory::of(tid);
        let mut seen = Seen {
            image: 0,
            phase: None,
            stack: Stack::default(),
            narrow: false,
            begins: None,
            arguments: Vec::new(),
        };
        if self.over {
            self.seen.push(seen);
            return Ok(());
        }
        if let Some(registers) = stopped.registers()? {
            seen.image = self.image(tid, process, &mut memory);
            seen.phase = self.processes.get(&process).and_then(|of| of.phase);
            seen.narrow = registers.cs == USER32_CS;
            seen.stack = self.unwind(tid, process, &registers, Place::Call, &mut memory);
            if seen.narrow {
                // What follows the first frame was found as if it were of 64 bits.
                seen.stack.frames.truncate(1);
                seen.stack.complete = false;
            }
        }
        self.remap(call);
        self.give_way(stopped, process, call, &mut memory);
        seen.arguments = decode::begins(call, &mut memory);
        self.seen.push(seen);
        let writes = matches!(
            call.name,
            Some("write" | "writev" | "pwrite64" | "pwritev" | "pwritev2")
        );
        if writes && self.until == Until::Write {
            self.finish(self.seen.len());
        }
        Ok(())
    }

    fn ends(&mut self, stopped: &Stopped, at: usize, call: &Call) -> io::Result<()> {
        if self.limit.is_none_or(|limit| at < limit) {
            // Another thread may have asked what is mapped between both ends.
            self.remap(call);
            if let Some(seen) = self.seen.get_mut(at) {
                let mut memory = Memory::of(stopped.tid);
                decode::ends(call, &mut seen.arguments, Some(&mut memory));
            }
        }
        Ok(())
    }

    fn executed(&mut self, stopped: &Stopped, at: usize, _call: &Call) -> io::Result<()> {
        let tid = stopped.tid;
        // It may have another id than when it made the call.
        self.threads.insert(tid, tid);
        self.processes.insert(tid, Process::default());
        self.breakpoints.remove(&tid);
        let Some(registers) = stopped.registers()? else {
            return Ok(());
        };
        let mut memory = Memory::of(tid);
        let stack = self.unwind(tid, tid, &registers, Place::Start, &mut memory);
        let image = self.identify(tid, tid, &mut memory);
        if !self.over {
            self.set_out(stopped, tid, registers.rip, &mut memory)?;
        }
        match self.seen.get_mut(at) {
            Some(seen) => seen.begins = Some(stack),
            None => self.seen.push(Seen {
                image,
                phase: None,
                begins: Some(stack.clone()),
                stack,
                narrow: false,
                arguments: Vec::new(),
            }),
        }
        Ok(())
    }

    fn takes(&mut self, stopped: &Stopped, signal: c_int) -> io::Result<bool> {
        if signal != libc::SIGTRAP || self.breakpoints.is_empty() {
            return Ok(false);
        }
        if stopped.signal_code()? != Some(TRAP_HWBKPT) {
            return Ok(false);
        }
        let process = self.process_of(stopped.tid);
        self.arrived(stopped, process)
    }

    fn ended(&mut self, tid: pid_t) {
        if let Some(process) = self.threads.remove(&tid)
            && !self.threads.values().any(|other| *other == process)
        {
            self.processes.remove(&process);
            self.breakpoints.remove(&process);
        }
    }
}
