//! The stop, and what is read there.
//!
//! It is the one at the end of execve(2) (a syscall-exit-stop of ptrace(2)): the new program is in
//! memory, the registers are set, and the kernel has not gone back to user mode yet.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use libc::pid_t;

use super::address::Address;
use super::auxv::{self, hexadecimal};
use super::header::headers;
use super::map::{Mapping, Object, Owner, Piece};
use super::registers::{is_wide, registers};
use super::stack::Stack;
use super::{Entry, Start};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::image::{Image, image};
use crate::spawn;
use crate::subject::Subject;
use crate::trace::family::{Family, News};
use crate::trace::tracee::{self, Stop, Stopped};

/// A subject at the end of its execve. Dropping it kills it: the kernel sees to that before it goes
/// back to user mode.
pub(crate) struct Started {
    family: Family,
    stopped: Stopped,
    program: PathBuf,
}

/// Starts a subject, on a thread of its own ([`spawn::alone`]), looks at it and kills it.
pub(super) fn start(subject: &Subject) -> Result<Start> {
    Started::new(subject)?.look(subject)
}

impl Started {
    /// Starts a subject, on a thread of its own ([`spawn::alone`]).
    pub fn new(subject: &Subject) -> Result<Self> {
        let prepared = spawn::prepare(subject)?;
        let program = prepared.program.clone();
        let mut family = Family::start(prepared, subject.timeout, tracee::seize)?;
        loop {
            let stopped = match family.news()? {
                News::Stopped { stopped, .. } => stopped,
                News::Ended(..) => continue,
                News::Over(exit) => return Err(killed(subject, &exit)),
            };
            let gone_on = match stopped.why {
                // To the end of its execve, where the registers are what the program will find.
                Stop::Exec => stopped.until_next_call(0),
                Stop::Call => {
                    return Ok(Started {
                        family,
                        stopped,
                        program,
                    });
                }
                Stop::Signal(signal) => stopped.until_next_event(signal),
                Stop::Group => stopped.stay_stopped(),
                Stop::Birth | Stop::Exit | Stop::Other => stopped.until_next_event(0),
            };
            gone_on.map_err(|e| Error::io("PTRACE_SYSCALL", e))?;
        }
    }

    /// Everything that it would find.
    pub fn look(&self, subject: &Subject) -> Result<Start> {
        look(subject, self.program.clone(), &self.stopped)
    }

    /// Lets its loader run, and stops it before its own first instruction, which is at `entry`
    /// (AT_ENTRY of the auxiliary vector).
    pub fn run_to(mut self, entry: Address, subject: &Subject) -> Result<Reached> {
        let first = self.family.first;
        let failed = |e| Error::io("set a breakpoint at the program's first instruction", e);
        self.stopped.stop_at(entry.0).map_err(failed)?;
        let mut stopped = self.stopped;
        loop {
            let gone_on = match stopped.why {
                Stop::Signal(signal) if signal == libc::SIGTRAP && stopped.tid == first => {
                    match stopped.signal_code() {
                        Ok(Some(tracee::TRAP_HWBKPT)) => {
                            return maps(subject, first).map(Reached::Entry);
                        }
                        Ok(_) => stopped.until_next_event(signal),
                        Err(error) => Err(error),
                    }
                }
                Stop::Exec if stopped.tid == first => return Ok(Reached::Exec),
                Stop::Signal(signal) => stopped.until_next_event(signal),
                Stop::Group => stopped.stay_stopped(),
                _ => stopped.until_next_event(0),
            };
            gone_on.map_err(|e| Error::io("PTRACE_CONT", e))?;
            stopped = loop {
                match self.family.news()? {
                    News::Stopped { stopped, .. } => break stopped,
                    News::Ended(tid, exit) if tid == first => return Ok(Reached::End(exit)),
                    News::Ended(..) => {}
                    News::Over(exit) => return Ok(Reached::End(exit)),
                }
            };
        }
    }
}

/// How far a program came that was to reach its own first instruction.
pub(crate) enum Reached {
    /// There it is, with this memory map.
    Entry(Vec<Mapping>),
    /// It ended before.
    End(Exit),
    /// It executed another program before.
    Exec,
}

fn killed(subject: &Subject, how: &dyn std::fmt::Display) -> Error {
    Error::NotMeasured {
        subject: subject.to_string(),
        reason: format!("{how} before it could be looked at; run it again"),
    }
}

fn unreadable(subject: &Subject, error: io::Error) -> Error {
    Error::NotMeasured {
        subject: subject.to_string(),
        reason: format!("its memory may not be read: {error}; chmod +r, or run this as root"),
    }
}

/// What is mapped.
fn maps(subject: &Subject, pid: pid_t) -> Result<Vec<Mapping>> {
    let text = fs::read(format!("/proc/{pid}/maps")).map_err(|e| unreadable(subject, e))?;
    Ok(Mapping::parse(&text))
}

/// Everything that a stopped program would find.
fn look(subject: &Subject, program: PathBuf, stopped: &Stopped) -> Result<Start> {
    let pid = stopped.tid;
    let gone = || killed(subject, &"killed");
    let ptrace = |e| Error::io("read the registers", e);
    let mut notes: Vec<String> = spawn::lost_privileges(&program).into_iter().collect();
    let wide = is_wide(stopped).map_err(ptrace)?.ok_or_else(gone)?;
    let registers = registers(stopped, wide).map_err(ptrace)?.ok_or_else(gone)?;
    let [instruction, pointer] = match &registers[..] {
        [instruction, pointer, ..] => [instruction.value, pointer.value],
        _ => return Err(gone()),
    };

    let unreadable = |error| unreadable(subject, error);
    let mut map = maps(subject, pid)?;
    let memory = File::open(format!("/proc/{pid}/mem")).map_err(unreadable)?;

    // The program as it was loaded, by a link that holds whatever becomes of its path.
    let loaded = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    let mut own = match image(format!("/proc/{pid}/exe")) {
        Ok(image) => Some(image),
        Err(error) => {
            notes.push(format!("its program headers cannot be read: {error}"));
            None
        }
    };

    let on = |mapping: &&Mapping| mapping.holds(pointer);
    let end = map.iter().find(on).map_or(pointer, |mapping| mapping.end);
    let whole = end.0 - pointer.0;
    if whole > STACK {
        notes.push(format!(
            "of the stack only {STACK} of {whole} bytes were read"
        ));
    }
    let bytes = read(&memory, pointer, whole.min(STACK)).map_err(unreadable)?;
    let (mut bits, mut stack) = match wide {
        true => (64, Stack::decode(&bytes, pointer, 8)),
        false => (32, Stack::decode(&bytes, pointer, 4)),
    };
    let header = own.as_ref().map_or(bits, |image| image.bits);
    if wide && header == 32 && !stack.faults.is_empty() {
        // One of x32 runs in 64-bit mode, with words of 32 bits.
        let narrow = Stack::decode(&bytes, pointer, 4);
        if narrow.faults.is_empty() {
            (bits, stack) = (32, narrow);
        }
    }
    if header != bits {
        // The kernel goes by e_machine alone, which is the same for both.
        notes.push(format!(
            "its header says {header} bits, and the kernel started it with {bits}; \
             its program headers are not shown"
        ));
        own = None;
    }
    notes.extend(
        stack
            .faults
            .iter()
            .map(|fault| format!("the stack: {fault}")),
    );
    if fs::read(format!("/proc/{pid}/auxv")).is_ok_and(|kept| !is_of(&kept, &stack, &bytes)) {
        notes.push("the auxiliary vector is not the one that the kernel keeps".to_owned());
    }

    let loader = own.as_ref().and_then(|image| image.interpreter.clone());
    let loader = loader.and_then(|path| match interpreter(&map, instruction, &path) {
        Ok(image) => Some(image),
        Err(error) => {
            notes.push(format!(
                "the program headers of its interpreter cannot be read: {error}"
            ));
            None
        }
    });
    let aux = |kind| stack.aux(kind).unwrap_or_default().0;
    let page = Some(aux(auxv::PAGESZ)).filter(|page| page.is_power_of_two());
    let page = page.unwrap_or(4096);
    let own = own.as_ref().map(|image| Object {
        owner: Owner::Program,
        image,
        bias: aux(auxv::ENTRY).wrapping_sub(image.entry),
        first_header: 0,
    });
    let loader = loader.as_ref().map(|image| Object {
        owner: Owner::Interpreter,
        image,
        bias: aux(auxv::BASE),
        first_header: own.as_ref().map_or(0, |own| own.image.segments.len()),
    });
    let objects: Vec<_> = own.into_iter().chain(loader).collect();
    for mapping in &mut map {
        objects
            .iter()
            .for_each(|object| object.claim(mapping, page));
    }
    let entry = entry(&map, &objects, instruction, &memory, page);
    if entry.header.is_none() || entry.address_in_file != entry.header {
        notes.push("its first instruction is not where the header of a file says".to_owned());
    }
    let script = script(&program);
    if let Some(line) = &script {
        let line = crate::subject::escape(line);
        notes.push(format!(
            "a script: the kernel started the program of its line #!{line}"
        ));
    }
    if aux(SECURE) != 0 {
        notes.push(secure(aux(UID), aux(EUID), aux(GID), aux(EGID)));
    }
    Ok(Start {
        subject: subject.clone(),
        program,
        loaded,
        script,
        bits,
        randomized: randomized(pid),
        entry,
        headers: objects.iter().flat_map(|o| headers(o, page)).collect(),
        heap: heap(pid),
        map,
        stack,
        registers,
        moves: None,
        notes,
    })
}

/// linux/auxvec.h.
const UID: u64 = 11;
const EUID: u64 = 12;
const GID: u64 = 13;
const EGID: u64 = 14;
const SECURE: u64 = 23;

/// What it means that AT_SECURE is set. The kernel sets it for a program that is set-user-ID also
/// where it does not get that user, being traced.
fn secure(user: u64, effective: u64, group: u64, effective_group: u64) -> String {
    let who = match (user == effective, group == effective_group) {
        (true, true) => "though its user and group are its caller's".to_owned(),
        (false, _) => format!("user {user} runs it as user {effective}"),
        (true, false) => format!("group {group} runs it as group {effective_group}"),
    };
    format!("AT_SECURE is set, {who}: set-user-ID, set-group-ID or file capabilities")
}

/// More than any stack is as yet: the kernel takes 6 MiB of arguments and environment together
/// (fs/exec.c, `bprm_stack_limits`).
const STACK: u64 = 16 << 20;

/// As many of these bytes as there are.
fn read(memory: &File, at: Address, bytes: u64) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; usize::try_from(bytes).unwrap_or(0)];
    let mut done = 0;
    while done < buffer.len() {
        match memory.read_at(&mut buffer[done..], at.0.saturating_add(done as u64)) {
            Ok(0) => break,
            Ok(more) => done += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // EIO: the rest is not in memory at all.
            Err(error) if error.raw_os_error() == Some(libc::EIO) => break,
            Err(error) => return Err(error),
        }
    }
    buffer.truncate(done);
    Ok(buffer)
}

/// Whether the vector that the kernel keeps (/proc/PID/auxv) is that of the stack. It is padded
/// with zeros, which are AT_NULLs.
fn is_of(kept: &[u8], stack: &Stack, bytes: &[u8]) -> bool {
    let Some(first) = stack.auxv.first() else {
        return kept.iter().all(|&byte| byte == 0);
    };
    let start = (first.at.0 - stack.pointer.0) as usize;
    let length = stack.auxv.len() * 2 * usize::from(stack.word);
    let own = bytes.get(start..).and_then(|rest| rest.get(..length));
    own.is_some_and(|own| kept.starts_with(own) && kept[length..].iter().all(|&byte| byte == 0))
}

/// The interpreter: the file that the first instruction is in; where there is none, by its path.
fn interpreter(map: &[Mapping], instruction: Address, path: &OsStr) -> Result<Image> {
    let file = map
        .iter()
        .find(|mapping| mapping.holds(instruction) && mapping.inode != 0)
        .map(|mapping| image(&mapping.name));
    match file {
        Some(Ok(image)) => Ok(image),
        _ => image(Path::new(path)),
    }
}

/// Which file the first instruction is in, and where its header says.
fn entry(map: &[Mapping], objects: &[Object<'_>], at: Address, memory: &File, page: u64) -> Entry {
    let bytes = match map.iter().find(|mapping| mapping.holds(at)) {
        Some(mapping) => read(memory, at, (mapping.end.0 - at.0).min(16)).unwrap_or_default(),
        None => Vec::new(),
    };
    let mut entry = Entry {
        address: at,
        file: "[unmapped]".into(),
        of: None,
        offset: None,
        address_in_file: None,
        header: None,
        bytes: hexadecimal(&bytes),
    };
    let Some(mapping) = map.iter().find(|mapping| mapping.holds(at)) else {
        return entry;
    };
    entry.file = match mapping.name.is_empty() {
        true => "[anonymous]".into(),
        false => mapping.name.clone(),
    };
    let Piece::File(owner) = mapping.what else {
        return entry;
    };
    let offset = mapping.offset.saturating_add(at.0 - mapping.start.0);
    entry.of = Some(owner);
    entry.offset = Some(offset);
    if let Some(object) = objects.iter().find(|object| object.owner == owner) {
        entry.header = Some(Address(object.image.entry));
        // lld lets two segments share a page of the file: the one that is mapped there counts.
        let all = || {
            let segments = object.image.segments.iter().enumerate();
            segments.filter(|(_, segment)| segment.kind == "LOAD")
        };
        let mapped = all().filter(|(index, _)| {
            let index = object.first_header + index;
            mapping.headers.contains(&index)
        });
        entry.address_in_file = mapped.chain(all()).find_map(|(_, segment)| {
            // Whole pages are mapped, and the code may begin before its segment does.
            let first = segment.offset - segment.offset % page;
            let behind = segment.offset.saturating_add(segment.file_bytes);
            let address = segment
                .address
                .wrapping_add(offset)
                .wrapping_sub(segment.offset);
            (first <= offset && offset < behind).then_some(Address(address))
        });
    }
    entry
}

/// The `#!` line of a script, as far as the kernel reads it (BINPRM_BUF_SIZE, linux/binfmts.h).
fn script(program: &Path) -> Option<OsString> {
    let mut start = [0; 256];
    let read = File::open(program).ok()?.read_at(&mut start, 0).ok()?;
    let line = start.get(..read)?.strip_prefix(b"#!")?;
    let line = line.split(|&byte| byte == b'\n' || byte == 0).next()?;
    Some(OsStr::from_bytes(line.trim_ascii()).to_owned())
}

/// Whether the kernel draws addresses for this process: personality(2), and
/// randomize_va_space of proc_sys_kernel(5).
fn randomized(pid: pid_t) -> Option<bool> {
    let text = fs::read_to_string(format!("/proc/{pid}/personality")).ok()?;
    let personality = u64::from_str_radix(text.trim(), 16).ok()?;
    let machine: u32 = super::setting("/proc/sys/kernel/randomize_va_space")?;
    Some(machine != 0 && personality & libc::ADDR_NO_RANDOMIZE as u64 == 0)
}

/// `start_brk` of proc_pid_stat(5): the 47th field, of which the second is a name in brackets
/// that may hold anything.
fn heap(pid: pid_t) -> Option<Address> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let behind_name = text.iter().rposition(|&byte| byte == b')')? + 2;
    let fields = str::from_utf8(text.get(behind_name..)?).ok()?;
    // The first of these is the third of all.
    let field = fields.split_ascii_whitespace().nth(47 - 3)?;
    field.parse().ok().map(Address)
}
