//! The loop: one instruction of one thread after the other, until all are gone.
//!
//! The instruction that a thread is about to execute is looked at before it is let go, and
//! counted when the thread has stopped behind it. Whatever else stops the thread in between,
//! a signal for one, finds it at the same instruction, not yet executed.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::mem::offset_of;
use std::time::Duration;

use libc::{c_int, pid_t, user_regs_struct};

use super::code::{Code, Place};
use super::instruction::{Gate, Kind};
use super::who::{Spot, Who};
use super::{FileSteps, Image, Steps, Tally, Until, fix_addresses};
use crate::error::{Error, Result};
use crate::spawn;
use crate::subject::Subject;
use crate::trace::Arch;
use crate::trace::family::{Family, News};
use crate::trace::tracee::{self, Stop, Stopped};

/// Steps through one run of a subject, on a thread of its own ([`spawn::alone`]); with `who`, by
/// function.
pub(super) fn run(
    subject: &Subject,
    until: Until,
    cpuid_cost: Duration,
    who: Option<Who>,
) -> Result<Steps> {
    let prepared = spawn::prepare(subject)?;
    let program = prepared.program.clone();
    let mut notes: Vec<String> = spawn::lost_privileges(&program).into_iter().collect();
    if let Err(error) = fix_addresses() {
        notes.push(format!(
            "addresses are random (personality: {error}), so counts may vary; \
             in a container run with --security-opt seccomp=unconfined"
        ));
    }

    let mut stepper = Stepper {
        until,
        over: false,
        threads: HashMap::new(),
        processes: HashMap::new(),
        images: Vec::new(),
        who,
        threads_born: 1,
        processes_born: 0,
    };
    let mut family = Family::start(prepared, subject.timeout, tracee::seize)?;
    stepper
        .threads
        .insert(family.first, Thread::of(family.first));
    let exit = loop {
        match family.news()? {
            News::Stopped { stopped, born } => stepper
                .stopped(stopped, born)
                .map_err(|e| Error::io("ptrace, to step through it", e))?,
            News::Ended(tid, _) => stepper.ended(tid),
            News::Over(exit) => break exit,
        }
    };

    let reached = until == Until::End || stepper.over;
    if !reached {
        notes.push("it never wrote, so it was counted to its end".to_owned());
    }
    let mut images = stepper.images;
    if let Some(who) = stepper.who {
        notes.extend(who.finish(&mut images));
    }
    images.iter_mut().for_each(finish);
    let files = by_file(&images);
    Ok(Steps {
        subject: subject.clone(),
        program,
        until,
        reached,
        total: sum(&files),
        files,
        images,
        cpuid_cost,
        start: None,
        exit,
        processes: stepper.processes_born,
        threads: stepper.threads_born,
        notes,
    })
}

/// Sums up an image.
fn finish(image: &mut Image) {
    // One of which no instruction was completed was only looked at.
    image.files.retain(|file| file.steps.instructions > 0);
    sort(&mut image.files);
    image.total = sum(&image.files);
}

/// The files of all images together.
fn by_file(images: &[Image]) -> Vec<FileSteps> {
    let mut files: Vec<FileSteps> = Vec::new();
    for one in images.iter().flat_map(|image| &image.files) {
        match files.iter_mut().find(|file| file.file == one.file) {
            Some(file) => file.steps.add(one.steps),
            None => files.push(one.clone()),
        }
    }
    sort(&mut files);
    files
}

fn sort(files: &mut [FileSteps]) {
    files.sort_by_key(|file| Reverse(file.steps.instructions));
}

fn sum(files: &[FileSteps]) -> Tally {
    files.iter().fold(Tally::default(), |mut sum, file| {
        sum.add(file.steps);
        sum
    })
}

/// What is known of a subject's threads while they run.
struct Stepper {
    until: Until,
    /// Whether the first write has been made, so that nothing is counted any more.
    over: bool,
    /// By thread id: all that have been heard of and have not ended.
    threads: HashMap<pid_t, Thread>,
    /// By process id.
    processes: HashMap<pid_t, Process>,
    images: Vec<Image>,
    /// Which functions they execute, where that is asked for.
    who: Option<Who>,
    threads_born: usize,
    processes_born: usize,
}

/// What is known of one thread.
struct Thread {
    /// The process id that it belongs to.
    process: pid_t,
    /// The instruction that it has been sent to execute.
    next: Option<Next>,
    /// Whether the last instruction it executed was a system call.
    called: bool,
}

/// What the threads of one process share.
struct Process {
    /// Its place in the order in which processes were seen.
    index: usize,
    /// Its program, by its place in the list of images.
    image: usize,
    code: Code,
}

/// An instruction that is being executed.
#[derive(Clone, Copy)]
struct Next {
    at: u64,
    place: Place,
    /// By its place in the list of images.
    image: usize,
    /// Where it is by function, where that is asked for.
    spot: Option<Spot>,
    /// What the call does that it makes, if it makes one.
    effect: Effect,
    /// Whether the kernel makes a call once more that a signal has cut short.
    again: bool,
    /// Whether a signal is delivered first.
    after_signal: bool,
}

/// What a system call means to the count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    None,
    /// It writes.
    Writes,
    /// It changes what is mapped where.
    Maps,
}

impl Effect {
    fn of(gate: Gate, number: u64) -> Self {
        /// arch/x86/include/uapi/asm/unistd.h, `__X32_SYSCALL_BIT`. Up to 511 its numbers are
        /// those of x86-64.
        const X32_BIT: u64 = 0x4000_0000;
        let name = match gate {
            Gate::X86_64 => Arch::X86_64.name((number & !X32_BIT) as i64),
            Gate::I386 => Arch::I386.name(i64::from(number as i32)),
        };
        match name {
            Some("write" | "writev" | "pwrite64" | "pwritev" | "pwritev2") => Effect::Writes,
            Some(
                "mmap" | "mmap2" | "munmap" | "mremap" | "mprotect" | "pkey_mprotect" | "shmat"
                | "shmdt" | "remap_file_pages" | "ipc",
            ) => Effect::Maps,
            _ => Effect::None,
        }
    }
}

/// Why a thread has stopped with SIGTRAP.
enum Trap {
    /// It is behind the instruction that it was sent to execute, or has begun a new program.
    Stepped,
    /// The frame of a signal handler is set up, and nothing executed.
    Handler,
    /// A SIGTRAP of its own, or of somebody else.
    Signal,
    /// Killed meanwhile.
    Gone,
}

const RIP: usize = offset_of!(user_regs_struct, rip);
const RAX: usize = offset_of!(user_regs_struct, rax);
const ORIG_RAX: usize = offset_of!(user_regs_struct, orig_rax);
const CS: usize = offset_of!(user_regs_struct, cs);

impl Thread {
    /// One of a process, of which nothing is known yet.
    fn of(process: pid_t) -> Self {
        Thread {
            process,
            next: None,
            called: false,
        }
    }
}

impl Stepper {
    /// Counts what a thread has done, and sends it on.
    fn stopped(&mut self, stopped: Stopped, born: Option<pid_t>) -> io::Result<()> {
        let tid = stopped.tid;
        if let Some(born) = born {
            self.begin(born, &stopped)?;
        }
        let mut signal = 0;
        match stopped.why {
            Stop::Signal(libc::SIGTRAP) => match self.trap(&stopped)? {
                Trap::Stepped | Trap::Gone => {}
                Trap::Handler => self.interrupt(tid, false),
                Trap::Signal => {
                    self.interrupt(tid, true);
                    signal = libc::SIGTRAP;
                }
            },
            Stop::Signal(received) => {
                self.interrupt(tid, true);
                signal = received;
            }
            Stop::Exec => {
                self.executed(&stopped)?;
                // To the end of its execve, where it stops before the first instruction.
                return stopped.by_one_instruction(0);
            }
            Stop::Group => return stopped.stay_stopped(),
            // Within a call, or before an instruction that is still to be executed.
            Stop::Call | Stop::Birth | Stop::Exit | Stop::Other => {}
        }
        self.send_on(stopped, signal)
    }

    /// Tells a step from a signal, and counts it.
    fn trap(&mut self, stopped: &Stopped) -> io::Result<Trap> {
        let Some(thread) = self.threads.get_mut(&stopped.tid) else {
            return Ok(Trap::Gone);
        };
        let Some(at) = stopped.register(RIP)? else {
            return Ok(Trap::Gone);
        };
        let stepped = match thread.next {
            // By far the most frequent. Nothing but the step can have moved it.
            Some(next) if next.is_plain() && next.at != at => Trap::Stepped,
            next => match stopped.signal_code()? {
                None => Trap::Gone,
                Some(libc::TRAP_TRACE) => Trap::Stepped,
                // At the end of a call.
                Some(libc::TRAP_BRKPT) if next.is_none_or(|next| next.is_call()) => Trap::Stepped,
                // kernel/signal.c, `ptrace_notify`: the signal's own number.
                Some(libc::SIGTRAP) => Trap::Handler,
                // One that an instruction raises behind itself, or that came with a call's end.
                Some(_) if next.is_some_and(|next| next.at != at) => {
                    self.count(stopped.tid);
                    return Ok(Trap::Signal);
                }
                Some(_) => Trap::Signal,
            },
        };
        let iterates = |next: Next| next.place.kind == Kind::Repeated && next.at == at;
        if matches!(stepped, Trap::Stepped) && !thread.next.is_some_and(iterates) {
            self.count(stopped.tid);
        }
        Ok(stepped)
    }

    /// The instruction that a thread was sent to execute is done.
    fn count(&mut self, tid: pid_t) {
        let Some(thread) = self.threads.get_mut(&tid) else {
            return;
        };
        let Some(next) = thread.next.take() else {
            return;
        };
        thread.called = next.is_call();
        if self.over || next.again {
            return;
        }
        let mut tally = Tally {
            instructions: 1,
            ..Tally::default()
        };
        match next.place.kind {
            Kind::Cpuid => tally.cpuid = 1,
            Kind::Rdtsc => tally.rdtsc = 1,
            Kind::Xgetbv => tally.xgetbv = 1,
            Kind::LoadsStackSegment => tally.instructions = 2,
            Kind::Plain | Kind::Repeated | Kind::Call(_) | Kind::Breakpoint => {}
        }
        self.images[next.image].files[next.place.file]
            .steps
            .add(tally);
        if let (Some(who), Some(spot)) = (&mut self.who, next.spot) {
            who.count(next.image, spot, tally);
        }
        match next.effect {
            Effect::None => {}
            Effect::Writes => self.over = self.until == Until::FirstWrite,
            Effect::Maps => {
                if let Some(process) = self.processes.get_mut(&thread.process) {
                    process.code.forget();
                }
                if let Some(who) = &mut self.who {
                    who.forget(thread.process);
                }
            }
        }
    }

    /// The instruction that a thread was sent to execute is not executed: something comes first.
    /// `in_kernel` when it may still be at the end of a call, before the kernel has decided
    /// whether to begin that again.
    fn interrupt(&mut self, tid: pid_t, in_kernel: bool) {
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.next = None;
            thread.called &= in_kernel;
        }
    }

    /// Sends a thread on by one instruction; without counting, to its next event.
    fn send_on(&mut self, stopped: Stopped, signal: c_int) -> io::Result<()> {
        if self.over || self.images.is_empty() {
            return stopped.until_next_event(signal);
        }
        if let Some(thread) = self.threads.get(&stopped.tid) {
            let next = match thread.next {
                None => self.look(&stopped, thread.process, thread.called)?,
                next => next,
            };
            if let Some(thread) = self.threads.get_mut(&stopped.tid) {
                thread.next = next.map(|next| Next {
                    after_signal: signal != 0,
                    ..next
                });
            }
        }
        stopped.by_one_instruction(signal)
    }

    /// The instruction that a stopped thread executes next. None when it has been killed.
    fn look(
        &mut self,
        stopped: &Stopped,
        process: pid_t,
        called: bool,
    ) -> io::Result<Option<Next>> {
        /// The length of the instructions that make a call.
        const CALL: u64 = 2;
        let Some(mut at) = stopped.register(RIP)? else {
            return Ok(None);
        };
        let again = called && begins_again(stopped)?;
        if again {
            at = at.wrapping_sub(CALL);
        }
        let pid = process;
        let Some(process) = self.processes.get_mut(&pid) else {
            return Ok(None);
        };
        let files = &mut self.images[process.image].files;
        let place = process.code.at(at, stopped, files);
        let spot = match &mut self.who {
            Some(who) => who.at(at, stopped, pid, process.image, place.file)?,
            None => None,
        };
        let effect = match place.kind {
            Kind::Call(gate) => match stopped.register(RAX)? {
                Some(number) => Effect::of(gate, number),
                None => return Ok(None),
            },
            _ => Effect::None,
        };
        Ok(Some(Next {
            at,
            place,
            image: process.image,
            spot,
            effect,
            again,
            after_signal: false,
        }))
    }

    /// A new thread: another one, `stopped`, tells of it, or it is that one itself.
    fn begin(&mut self, tid: pid_t, stopped: &Stopped) -> io::Result<()> {
        // One that has come and gone before its parent could tell has nothing to count.
        let Some(process) = process_of(tid) else {
            return Ok(());
        };
        if tid == process || !self.processes.contains_key(&process) {
            self.process(process, self.processes_born, stopped)?;
            if let Some(who) = &mut self.who {
                who.is_born(process);
            }
            self.processes_born += 1;
        }
        self.threads.insert(tid, Thread::of(process));
        self.threads_born += 1;
        Ok(())
    }

    /// A process begins a program: a new one, or that of the process that has made it.
    fn process(&mut self, pid: pid_t, index: usize, stopped: &Stopped) -> io::Result<()> {
        const USER_32: u64 = 0x23; // __USER32_CS, arch/x86/include/asm/segment.h
        let wide = stopped.register(CS)? != Some(USER_32);
        let process = Process {
            index,
            image: self.images.len(),
            code: Code::of(wide),
        };
        self.images.push(Image {
            process: index,
            program: fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default(),
            total: Tally::default(),
            files: Vec::new(),
            by_function: None,
        });
        self.processes.insert(pid, process);
        Ok(())
    }

    /// A new program. The thread that executed it goes by its leader's id from here on; whatever
    /// the leader was before is gone, and the ends of all others are still reported.
    fn executed(&mut self, stopped: &Stopped) -> io::Result<()> {
        let pid = stopped.tid;
        // One that has been killed meanwhile has nothing more to tell than its end.
        let before = stopped.message().unwrap_or(pid);
        self.count(before);
        if let Some(mut thread) = self.threads.remove(&before) {
            thread.called = false;
            thread.process = pid;
            self.threads.insert(pid, thread);
        }
        let index = match self.processes.get(&pid) {
            Some(process) => process.index,
            // The start of the subject.
            None => {
                self.processes_born += 1;
                0
            }
        };
        self.process(pid, index, stopped)?;
        if let Some(who) = &mut self.who {
            who.executes(pid);
        }
        Ok(())
    }

    /// A thread is gone. The call that it was in, exit_group(2) or one that it was killed in, was
    /// its last instruction. Of any other it is not known that it was executed, and a signal
    /// that it was sent on with has killed it before that.
    fn ended(&mut self, tid: pid_t) {
        let in_call = |next: Next| next.is_call() && !next.after_signal;
        if let Some(thread) = self.threads.get(&tid)
            && thread.next.is_some_and(in_call)
        {
            self.count(tid);
        }
        self.threads.remove(&tid);
    }
}

impl Next {
    fn is_call(&self) -> bool {
        matches!(self.place.kind, Kind::Call(_))
    }

    /// Whether nothing else than its execution can move its thread.
    fn is_plain(&self) -> bool {
        !self.is_call() && self.place.kind != Kind::Breakpoint && !self.after_signal
    }
}

/// Whether the kernel is about to have a thread make its last call again: a signal has cut it
/// short, and no handler will run (restart of signal(7); ERESTARTSYS and others of
/// linux/errno.h).
fn begins_again(stopped: &Stopped) -> io::Result<bool> {
    let (Some(result), Some(call)) = (stopped.register(RAX)?, stopped.register(ORIG_RAX)?) else {
        return Ok(false);
    };
    Ok(matches!(result as i64, -512 | -513 | -514 | -516) && call as i64 >= 0)
}

/// The process of a thread: by its line in /proc, see proc_pid_status(5). None when it is gone.
fn process_of(tid: pid_t) -> Option<pid_t> {
    let status = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
    line.trim().parse().ok()
}
