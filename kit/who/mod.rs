//! Who makes each system call of a program: in which file the code is that makes it, and on behalf
//! of whom.
//!
//! The thread is stopped where each call begins, and its stack is unwound there: by the call frame
//! information of the files and of the vDSO, else by frame pointers. A stack that ends where stacks
//! end is complete; any other is cut, and says so. A function is named only by a symbol that holds its
//! address, of the file itself or of its debug file where that is installed; any other is unnamed. Both
//! are answers, and so is that it cannot be told on behalf of whom a call is made.
//!
//! ```
//! use barest::Subject;
//! use barest::who::{Party, who};
//!
//! let seen = who(&Subject::new("/bin/true"))?;
//! let loading = seen.made_by("ld-linux").on_behalf_of(Party::Loader);
//! assert!(loading.len() > 5);
//! assert!(loading.names().any(|name| name == "openat"));
//! assert_eq!(seen.on_behalf_of(Party::Kernel).len(), 1);
//! # Ok::<(), barest::Error>(())
//! ```
//!
//! Only code of x86-64 with 64-bit addresses is unwound. In a program of 32 bits it is told where each
//! call is made, and nothing else.

mod archive;
pub(crate) mod cfi;
mod decode;
pub(crate) mod elf;
pub(crate) mod files;
#[doc(hidden)]
pub mod fuzz;
pub(crate) mod landmark;
pub(crate) mod memory;
mod party;
pub(crate) mod process;
mod selection;
mod summary;
pub(crate) mod symbols;
pub(crate) mod unwind;
mod witness;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Serialize, Serializer};

pub use party::{Party, Sureness};
pub use process::Phase;
pub use selection::Selection;
pub use summary::{Count, Summary};

use crate::error::Result;
use crate::spawn;
use crate::subject::{Subject, escape};
use crate::trace::{Call, Method, Trace, tracer};
use archive::Archive;
use files::Files;
use party::{Kind, Own};
use symbols::{Named, Query};
use witness::{Image, Seen, Witness};

/// Who made all system calls of one run of a subject.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Who {
    /// The calls, as [`trace`](fn@crate::trace::trace) has them, up to where it was asked.
    pub trace: Trace,
    /// For each of these: who made it.
    pub made: Vec<Made>,
    /// Up to where it was looked at.
    pub until: Until,
    /// Whether it came there. If not, it was looked at to its end.
    pub reached: bool,
    /// How many calls were made before the `main` of the first program: None where it has no such
    /// symbol, or never came there.
    pub main_at: Option<usize>,
}

/// Up to where a subject is looked at. It runs on to its end in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Until {
    /// To the end of all processes.
    #[default]
    Exit,
    /// To the first call of write, writev, pwrite64, pwritev or pwritev2 by any process, that one
    /// included.
    Write,
    /// To where `main` begins.
    Main,
}

/// Who made a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Made {
    /// Its arguments for people: paths, data, flags and small structures in words, all else as numbers.
    pub arguments: Vec<String>,
    /// The file with the code that makes it, or a name in brackets for code in no file. Of the call
    /// that starts the subject, the file with its first instruction. None when that has gone before
    /// it could be asked.
    #[serde(serialize_with = "path")]
    pub made_by: Option<Arc<Path>>,
    /// On behalf of whom.
    pub on_behalf_of: Party,
    /// By what that is known.
    pub known_by: Sureness,
    /// How far its process had come in its program; None where that cannot be told.
    pub phase: Option<Phase>,
    /// The frames of its stack, innermost first.
    pub stack: Vec<Frame>,
    /// Whether these are all: it ends where stacks end, and each step was by call frame information.
    pub complete: bool,
    /// Whether a step was by a frame pointer: functions that keep none are left out then.
    pub gaps: bool,
    /// Of an execve that succeeded: where the new program begins.
    pub begins: Option<Frame>,
}

/// A frame of a stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Frame {
    /// The file that its code is in, or a name in brackets.
    #[serde(serialize_with = "path_of_frame")]
    pub file: Arc<Path>,
    /// The instruction that it goes on with: the address as the file states it, and in memory where
    /// there is no file.
    #[serde(serialize_with = "hex")]
    pub address: u64,
    /// Its function, demangled; None for one that has no name here.
    pub function: Option<Arc<str>>,
    /// How far in that function the instruction is.
    pub offset: Option<u64>,
}

fn path<S: Serializer>(path: &Option<Arc<Path>>, to: S) -> std::result::Result<S::Ok, S::Error> {
    let text = path.as_ref().map(|path| escape(path.as_os_str()));
    text.serialize(to)
}

fn path_of_frame<S: Serializer>(path: &Arc<Path>, to: S) -> std::result::Result<S::Ok, S::Error> {
    to.serialize_str(&escape(path.as_os_str()))
}

fn hex<S: Serializer>(number: &u64, to: S) -> std::result::Result<S::Ok, S::Error> {
    to.collect_str(&format_args!("{number:#x}"))
}

/// Runs a subject to its end, and tells who made each of its calls, its threads' and its children's.
///
/// Fails as [`trace`](fn@crate::trace::trace) does.
pub fn who(subject: &Subject) -> Result<Who> {
    who_until(subject, Until::Exit)
}

/// As [`who`], up to some place. The subject runs on to its end.
pub fn who_until(subject: &Subject, until: Until) -> Result<Who> {
    spawn::alone(|| {
        let mut witness = Witness::of(until);
        let trace = tracer::run(subject, Method::Syscalls, &mut witness)?;
        Ok(finish(trace, witness))
    })
}

/// Names what was seen.
fn finish(mut trace: Trace, mut witness: Witness) -> Who {
    let limit = witness.limit.unwrap_or(trace.calls.len());
    trace.calls.truncate(limit);
    let mut seen = std::mem::take(&mut witness.seen);
    seen.truncate(limit);
    let names = names(&seen, &mut witness.files);
    let paths: Vec<Arc<Path>> = witness
        .files
        .all()
        .iter()
        .map(|code| Arc::from(code.name.as_path()))
        .collect();
    let mut programs: Vec<Program> = witness
        .images
        .iter()
        .map(|image| Program::of(*image, &mut witness.files))
        .collect();
    trace.notes.extend(notes(&seen, &programs, &witness));
    if programs.is_empty() {
        programs.push(Program::default());
    }
    let mut namer = Namer {
        names,
        paths,
        shared: HashMap::new(),
    };
    let subject = &trace.subject;
    let first = start(subject, &trace.program);
    let made = seen.into_iter().zip(&trace.calls).enumerate();
    let made = made.map(|(at, (seen, call))| {
        let program = programs.get(seen.image).unwrap_or(&programs[0]);
        let mut made = namer.made(seen, call, program, at == 0);
        if at == 0 {
            made.arguments.clone_from(&first);
        }
        made
    });
    Who {
        made: made.collect(),
        until: witness.until,
        reached: witness.limit.is_some() || witness.until == Until::Exit,
        main_at: witness.main_at,
        trace,
    }
}

/// What a reader must know beside the calls.
fn notes(seen: &[Seen], programs: &[Program], witness: &Witness) -> Vec<String> {
    let mut notes = Vec::new();
    if seen.iter().any(|seen| seen.narrow) {
        notes.push(
            "code of 32 bits is not unwound: of its calls it is told in which file they are made, \
             and nothing else"
                .to_owned(),
        );
    }
    if programs
        .iter()
        .any(|program| program.is_static && !program.has_names)
    {
        notes.push(
            "a static program without symbols: on behalf of whom its calls are made, it cannot be \
             told; link it without -s"
                .to_owned(),
        );
    }
    for program in programs {
        if let (true, true, None) = (program.is_static, program.has_libc, &program.archive) {
            notes.push(
                "the archive of its C library is not installed, or is of another version: a call is \
                 taken for the program's when its main is on the stack, and for the C library's \
                 otherwise"
                    .to_owned(),
            );
        }
        if let Some(archive) = &program.archive {
            let path = escape(archive.path.as_os_str());
            notes.push(format!(
                "the C library's functions are known by their names and sizes in {path}"
            ));
        }
    }
    if witness.no_breakpoints {
        notes.push(
            "the processor's breakpoints cannot be set here: where main begins is not known"
                .to_owned(),
        );
    }
    match (witness.until, witness.limit) {
        (Until::Write, None) => notes.push("it never wrote, so it is shown to its end".to_owned()),
        (Until::Main, None) => notes.push(
            "it has no symbol main, or never came there, so it is shown to its end; link it \
             without -s"
                .to_owned(),
        ),
        _ => {}
    }
    notes
}

/// The arguments of the call that starts the subject, which was made where nothing is looked at.
fn start(subject: &Subject, program: &Path) -> Vec<String> {
    let quoted = |word: &std::ffi::OsStr| {
        let bytes = word.as_encoded_bytes();
        decode::quoted(bytes, usize::MAX, true)
    };
    let words: Vec<_> = subject.argv.iter().map(|word| quoted(word)).collect();
    vec![
        quoted(program.as_os_str()),
        format!("[{}]", words.join(", ")),
        decode::variables(subject.environment.len() as u64),
    ]
}

/// The names of all functions on all stacks, for each file by the address that was looked up.
fn names(seen: &[Seen], files: &mut Files) -> Vec<HashMap<u64, Named>> {
    let mut queries: Vec<Vec<Query>> = Vec::new();
    queries.resize_with(files.all().len(), Vec::new);
    let stacks = seen.iter().flat_map(|seen| {
        let begins = seen.begins.iter().flat_map(|stack| &stack.frames);
        seen.stack.frames.iter().chain(begins)
    });
    for frame in stacks {
        if let Some(of_file) = queries.get_mut(frame.file) {
            of_file.push(Query {
                address: frame.stated,
                function: frame.function,
                next: None,
            });
        }
    }
    files
        .all()
        .iter_mut()
        .zip(queries)
        .map(|(code, mut queries)| {
            queries.sort_unstable();
            queries.dedup();
            for query in &mut queries {
                let next = || code.cfi.as_ref()?.next_function(query.address);
                query.next = match query.function {
                    Some(_) => None,
                    None => next(),
                };
            }
            symbols::name(code.tables(), queries)
        })
        .collect()
}

/// A program that was executed.
#[derive(Default)]
struct Program {
    image: Option<Image>,
    is_static: bool,
    has_names: bool,
    has_runtime: bool,
    has_lang_start: bool,
    has_libc: bool,
    archive: Option<Archive>,
    entries: HashMap<usize, u64>,
}

impl Program {
    fn of(image: Image, files: &mut Files) -> Self {
        let mut program = Program {
            image: Some(image),
            ..Program::default()
        };
        for (index, code) in files.all().iter().enumerate() {
            if let Some(elf) = &code.elf {
                program.entries.insert(index, elf.entry);
            }
        }
        let Some(code) = image.program.and_then(|file| files.get(file)) else {
            return program;
        };
        let Some(elf) = &code.elf else {
            return program;
        };
        // A loader that was started by its own name has none itself, and is not static.
        let kind = party::kind_of(&code.name);
        program.is_static = !elf.interpreted && matches!(kind, Kind::Library);
        let comment = elf.contents_of(b".comment").unwrap_or_default();
        program.has_runtime = comment.windows(5).any(|window| window == b"rustc");
        program.has_names = code.has_all_names();
        program.has_lang_start = landmark::has_lang_start(code);
        if program.is_static {
            program.has_libc = archive::is_linked_with_one(code.tables());
            if program.has_libc {
                program.archive = archive::of(code.tables());
            }
        }
        program
    }

    fn kind(&self, file: usize, path: &Path) -> Kind {
        let by_name = party::kind_of(path);
        match (self.image, by_name) {
            (_, Kind::Loader | Kind::LoaderAndLibc) => by_name,
            (Some(image), _) if image.program == Some(file) => Kind::Program,
            // musl's, by the name that its file has.
            (Some(image), Kind::Libc) if image.loader == Some(file) => Kind::LoaderAndLibc,
            (Some(image), Kind::Library) if image.loader == Some(file) => Kind::Loader,
            _ => by_name,
        }
    }

    fn own(&self) -> Own<'_> {
        Own {
            is_static: self.is_static,
            has_names: self.has_names,
            has_runtime: self.has_runtime,
            has_lang_start: self.has_lang_start,
            has_libc: self.has_libc,
            archive: self.archive.as_ref(),
        }
    }
}

/// Puts names to what was seen.
struct Namer {
    names: Vec<HashMap<u64, Named>>,
    paths: Vec<Arc<Path>>,
    shared: HashMap<(usize, u64), Option<Arc<str>>>,
}

impl Namer {
    fn made(&mut self, seen: Seen, call: &Call, program: &Program, first: bool) -> Made {
        let mut arguments = seen.arguments;
        decode::ends(call, &mut arguments, None);
        let (on_behalf_of, known_by) = match first {
            true => (Party::Kernel, Sureness::Files),
            false => self.party(&seen.stack, seen.phase, seen.narrow, program),
        };
        let begins = seen
            .begins
            .and_then(|stack| stack.frames.into_iter().next());
        let stack: Vec<Frame> = seen
            .stack
            .frames
            .iter()
            .map(|frame| self.frame(frame))
            .collect();
        Made {
            arguments: arguments.into_iter().flatten().collect(),
            made_by: stack.first().map(|frame| frame.file.clone()),
            on_behalf_of,
            known_by,
            phase: seen.phase,
            complete: seen.stack.complete && !seen.stack.gaps,
            gaps: seen.stack.gaps,
            begins: begins.map(|frame| self.frame(&frame)),
            stack,
        }
    }

    fn named(&self, frame: &unwind::Frame) -> Option<&Named> {
        self.names.get(frame.file)?.get(&frame.stated)
    }

    fn frame(&mut self, frame: &unwind::Frame) -> Frame {
        let key = (frame.file, frame.stated);
        let function = match self.shared.get(&key) {
            Some(function) => function.clone(),
            None => {
                let function = self
                    .named(frame)
                    .map(|named| Arc::from(named.name.as_str()));
                self.shared.insert(key, function.clone());
                function
            }
        };
        let address = frame.stated.wrapping_add(frame.behind);
        Frame {
            file: match self.paths.get(frame.file) {
                Some(path) => path.clone(),
                None => Arc::from(PathBuf::new()),
            },
            offset: self
                .named(frame)
                .map(|named| address.wrapping_sub(named.address)),
            address,
            function,
        }
    }

    fn party(
        &self,
        stack: &unwind::Stack,
        phase: Option<Phase>,
        narrow: bool,
        program: &Program,
    ) -> (Party, Sureness) {
        if narrow {
            return (Party::Unknown, Sureness::Nothing);
        }
        let frame = |frame: &unwind::Frame| {
            let named = self
                .names
                .get(frame.file)
                .and_then(|names| names.get(&frame.stated));
            let entry = program.entries.get(&frame.file).copied().unwrap_or(0);
            let begins = frame.function.or(named.map(|named| named.address));
            let path = self.paths.get(frame.file);
            party::Frame {
                kind: path.map_or(Kind::Memory, |path| program.kind(frame.file, path)),
                name: named.map(|named| (named.raw.as_str(), named.name.as_str())),
                size: named.map_or(0, |named| named.size),
                at_entry: entry != 0 && (begins == Some(entry) || frame.stated == entry),
            }
        };
        // Borrowed from self for as long as the frames are.
        let frames: Vec<party::Frame> = stack.frames.iter().map(frame).collect();
        party::of(
            &frames,
            stack.complete && !stack.gaps,
            phase,
            &program.own(),
        )
    }
}

impl Who {
    /// All calls, each with who made it.
    pub fn calls(&self) -> Selection<'_> {
        Selection::all(self)
    }

    /// Those that are made by code in a file whose name contains this text, as in "ld-linux".
    pub fn made_by(&self, file: &str) -> Selection<'_> {
        self.calls().made_by(file)
    }

    /// Those that are made on behalf of one party.
    pub fn on_behalf_of(&self, party: Party) -> Selection<'_> {
        self.calls().on_behalf_of(party)
    }

    /// How the calls after the first execve and before the first write are divided.
    pub fn summary(&self) -> Summary {
        Summary::of(self)
    }
}

/// Its trace, with who made each call beside it, and the summary.
impl Serialize for Who {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Row<'a> {
            #[serde(flatten)]
            call: &'a Call,
            #[serde(flatten)]
            made: &'a Made,
        }
        #[derive(Serialize)]
        struct Facts<'a> {
            subject: &'a Subject,
            program: String,
            until: Until,
            reached: bool,
            main_at: Option<usize>,
            calls: Vec<Row<'a>>,
            summary: Summary,
            exit: &'a crate::exit::Exit,
            processes: usize,
            threads: usize,
            notes: &'a [String],
        }
        let rows = self.trace.calls.iter().zip(&self.made);
        Facts {
            subject: &self.trace.subject,
            program: escape(self.trace.program.as_os_str()),
            until: self.until,
            reached: self.reached,
            main_at: self.main_at,
            calls: rows.map(|(call, made)| Row { call, made }).collect(),
            summary: self.summary(),
            exit: &self.trace.exit,
            processes: self.trace.processes,
            threads: self.trace.threads,
            notes: &self.trace.notes,
        }
        .serialize(to)
    }
}
