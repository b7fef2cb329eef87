//! On behalf of whom a call is made: by all the frames of its stack, not the innermost alone.
//!
//! Whoever is on the stack and uses the others is the one that the call is made for. They are ranked:
//! the program uses its language's runtime, that uses the C library, and this the loader. So a
//! `write` of the C library with the program's `main` further out is the program's; the same `write`
//! from `exit`, with no function of the program on the stack, is the C library's.
//!
//! - A frame in a file that is the loader, a C library or a language's runtime is theirs.
//! - A frame in any other library is the program's: it was brought along by it.
//! - A frame in the program's own file is the program's. Its first instructions (`_start` and what
//!   comes with it) are nobody's, and what compilers put there of a runtime is known by its name:
//!   `std::`, `core::` and `alloc::` of Rust, `std::` of C++, the unwinder of libgcc.
//! - In a static program the C library is in the same file. Then names decide; see
//!   [`Sureness`] for how sure that is.
//!
//! A function that ends by calling another can leave its place to it, and is not on the stack then (a
//! tail call). Where the stack is cut, somebody further out may have asked: only a call that the program is seen
//! to have asked for is anybody's then.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::archive::{Archive, Membership};
use super::process::Phase;

/// Who a call is made for.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Party {
    /// The kernel, which starts the program: the first execve, which nothing of the program has made.
    Kernel,
    /// The dynamic loader, which finds, maps and connects libraries.
    Loader,
    /// The C library.
    Libc,
    /// The runtime of the language that the program is written in.
    Runtime,
    /// The program itself, and the libraries that it brought along.
    Program,
    /// It cannot be told.
    Unknown,
}

/// By what it is known who a call is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sureness {
    /// By the files that the code is in: as sure as the map of the process.
    Files,
    /// By names and sizes of functions, each as the archive of the very C library has it.
    Archive,
    /// By names alone: mangled ones of Rust and C++; and, where the archive of the C library is not
    /// installed, by the rule that a call is the program's when its `main` is on the stack, and the
    /// C library's otherwise.
    Names,
    /// Not at all.
    Nothing,
}

/// What is known of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The program's own.
    Program,
    /// The loader.
    Loader,
    /// The loader and the C library in one, as musl's.
    LoaderAndLibc,
    /// The C library, or a part of it.
    Libc,
    /// A language's runtime.
    Runtime,
    /// Another library.
    Library,
    /// What the kernel maps into each process: the vDSO.
    Kernel,
    /// Memory that belongs to no file: code that was made while it ran.
    Memory,
}

/// What is known of the program's own file.
pub struct Own<'a> {
    /// Whether the C library is in it.
    pub is_static: bool,
    /// Whether the names of its functions are in it.
    pub has_names: bool,
    /// Whether its compiler may have put a runtime into it: Rust's.
    pub has_runtime: bool,
    /// Whether that runtime calls the program, so that the function `main` is the compiler's.
    pub has_lang_start: bool,
    /// Whether it holds a C library.
    pub has_libc: bool,
    /// The archive that is from.
    pub archive: Option<&'a Archive>,
}

/// One frame, as far as it matters here.
pub struct Frame<'a> {
    /// What its file is.
    pub kind: Kind,
    /// Its function's name in the file, and for people; none for one without.
    pub name: Option<(&'a str, &'a str)>,
    /// Its function's size.
    pub size: u64,
    /// Whether it is in the code that its file begins to run with.
    pub at_entry: bool,
}

/// What one frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Nothing: whoever called it decides.
    None,
    /// It is this one's.
    Of(Party, Sureness),
    /// It may be anybody's.
    Anybody,
}

/// Who a call is made for, and how sure that is.
pub fn of(frames: &[Frame], complete: bool, phase: Option<Phase>, own: &Own) -> (Party, Sureness) {
    let roles: Vec<Role> = (0..frames.len())
        .map(|at| role(frames, at, phase, own))
        .collect();
    let program = roles.iter().filter_map(|role| match role {
        Role::Of(Party::Program, sure) => Some(*sure),
        _ => None,
    });
    if let Some(sure) = program.min_by_key(|sure| *sure as u8) {
        return (Party::Program, sure);
    }
    // Before the program's first instruction, musl's file is its loader, and calls nobody.
    let loads =
        phase == Some(Phase::Loading) && frames.iter().all(|f| f.kind == Kind::LoaderAndLibc);
    if frames.is_empty() || roles.contains(&Role::Anybody) || (!complete && !loads) {
        return (Party::Unknown, Sureness::Nothing);
    }
    let decided = roles.iter().filter_map(|role| match role {
        Role::Of(party, sure) => Some((*party, *sure)),
        Role::None | Role::Anybody => None,
    });
    let highest = decided.clone().map(|(party, _)| party).max();
    let weakest = decided.map(|(_, sure)| sure).max_by_key(|sure| *sure as u8);
    match highest.zip(weakest) {
        Some(answer) => answer,
        // Its first instructions make the call themselves.
        None if own.is_static && !own.has_names => (Party::Unknown, Sureness::Nothing),
        None => (Party::Program, Sureness::Files),
    }
}

fn role(frames: &[Frame], at: usize, phase: Option<Phase>, own: &Own) -> Role {
    let Some(frame) = frames.get(at) else {
        return Role::None;
    };
    let by_file = |party| Role::Of(party, Sureness::Files);
    match frame.kind {
        Kind::Loader => by_file(Party::Loader),
        Kind::LoaderAndLibc if phase == Some(Phase::Loading) => by_file(Party::Loader),
        // Rooted in its own entry, it loads; else the program's entry has called it.
        Kind::LoaderAndLibc
            if frames
                .last()
                .is_some_and(|last| last.at_entry && last.kind == frame.kind) =>
        {
            by_file(Party::Loader)
        }
        Kind::LoaderAndLibc | Kind::Libc => by_file(Party::Libc),
        Kind::Runtime => by_file(Party::Runtime),
        Kind::Kernel => Role::None,
        Kind::Memory => by_file(Party::Program),
        // The program itself, where its loader was told to run it.
        Kind::Library if is_start(frame, at) => Role::None,
        Kind::Library => match frame.name {
            Some((raw, name)) if is_of_a_runtime(raw, name) => {
                Role::Of(Party::Runtime, Sureness::Names)
            }
            _ => by_file(Party::Program),
        },
        Kind::Program => in_program(at, frame, own),
    }
}

/// What a frame in the program's own file says.
fn in_program(at: usize, frame: &Frame, own: &Own) -> Role {
    let by_name = |party| Role::Of(party, Sureness::Names);
    if is_start(frame, at) {
        return Role::None;
    }
    let Some((raw, name)) = frame.name else {
        return match own.is_static || own.has_runtime {
            true => Role::Anybody,
            false => Role::Of(Party::Program, Sureness::Files),
        };
    };
    if is_mark(name) {
        // std calls the program by this function, and for nothing else.
        return if at > 0 {
            by_name(Party::Program)
        } else {
            Role::None
        };
    }
    let membership = own.archive.map(|archive| archive.holds(raw, frame.size));
    if own.is_static && membership == Some(Membership::Its) {
        return Role::Of(Party::Libc, Sureness::Archive);
    }
    if is_of_a_runtime(raw, name) {
        return by_name(Party::Runtime);
    }
    if is_carried_along(name) {
        return Role::None;
    }
    if name == "main" && own.has_lang_start {
        return Role::None;
    }
    if !own.is_static {
        return match STARTS.contains(&name) {
            true => Role::None,
            false if own.has_runtime => by_name(Party::Program),
            false => Role::Of(Party::Program, Sureness::Files),
        };
    }
    if is_mangled(raw) || !own.has_libc {
        return by_name(Party::Program);
    }
    match membership {
        Some(_) if STARTS.contains(&name) => Role::None,
        Some(_) => Role::Of(Party::Program, Sureness::Archive),
        None if name == "main" => by_name(Party::Program),
        None => by_name(Party::Libc),
    }
}

/// Whether a frame is of the code that a file begins to run with. What comes with a C library to call
/// main makes no calls itself.
fn is_start(frame: &Frame, at: usize) -> bool {
    frame.at_entry && at > 0
}

/// What compilers and C libraries put into each program to start and end it.
const STARTS: [&str; 10] = [
    "_start",
    "_start_c",
    "_init",
    "_fini",
    "__libc_csu_init",
    "__libc_csu_fini",
    "frame_dummy",
    "register_tm_clones",
    "deregister_tm_clones",
    "__do_global_dtors_aux",
];

/// Whether a function is of the runtime of Rust, of C++ or of the compiler.
fn is_of_a_runtime(raw: &str, name: &str) -> bool {
    const CRATES: [&str; 8] = [
        "std",
        "core",
        "alloc",
        "panic_unwind",
        "panic_abort",
        "std_detect",
        "compiler_builtins",
        "__rustc",
    ];
    // Of those that begin with __cxa_, some are the C library's.
    const OTHERS: [&str; 14] = [
        "_Unwind_",
        "__gcc_",
        "__gxx_",
        "__cxa_allocate_",
        "__cxa_begin_",
        "__cxa_end_",
        "__cxa_guard_",
        "__cxa_throw",
        "execute_native_thread_routine",
        "__rust_",
        "__rdl_",
        "__rg_",
        "rust_eh_personality",
        "rust_begin_unwind",
    ];
    match is_mangled(raw) {
        true => CRATES.contains(&root(name)),
        false => OTHERS.iter().any(|start| raw.starts_with(start)),
    }
}

/// Whether a function is of a crate that std brings along, and that a program could use too.
fn is_carried_along(name: &str) -> bool {
    const CRATES: [&str; 7] = [
        "hashbrown",
        "gimli",
        "addr2line",
        "object",
        "miniz_oxide",
        "rustc_demangle",
        "memchr",
    ];
    CRATES.contains(&root(name))
}

fn is_mark(name: &str) -> bool {
    name.contains("::__rust_begin_short_backtrace")
}

fn is_mangled(raw: &str) -> bool {
    raw.starts_with("_Z") || raw.starts_with("_R")
}

/// The first part of a path: `std` of `std::rt::init`, and of `<std::io::Stdout as a::Write>::write`,
/// whose type is where it is defined.
fn root(name: &str) -> &str {
    let start = name.trim_start_matches(|c: char| "<&*([".contains(c));
    let start = ["mut ", "dyn ", "const "]
        .iter()
        .fold(start, |start, word| start.trim_start_matches(word));
    let end = start
        .find(|c: char| !(c.is_alphanumeric() || c == '_'))
        .unwrap_or(start.len());
    let (first, rest) = start.split_at(end);
    // A type of the language itself, or a parameter: then the trait says it.
    if !rest.starts_with("::")
        && let Some((_, of)) = rest.split_once(" as ")
    {
        return root(of);
    }
    first
}

/// What a file is, by its name. The program's own and the loader are known by other means.
pub fn kind_of(path: &Path) -> Kind {
    let text = path.to_string_lossy();
    if text.starts_with('[') {
        return match &*text {
            "[vdso]" | "[vsyscall]" | "[uprobes]" => Kind::Kernel,
            _ => Kind::Memory,
        };
    }
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    // The name up to `.so`, and what follows it.
    let (name, behind) = match file.split_once(".so") {
        Some((name, behind)) => (name, behind),
        None => return Kind::Library,
    };
    if !(behind.is_empty() || behind.starts_with('.')) {
        return Kind::Library;
    }
    // Of glibc before 2.34, as in libc-2.31.
    let plain = name.split_once("-2.").map_or(name, |(plain, _)| plain);
    match plain {
        "libc" | "libm" | "libpthread" | "libdl" | "librt" | "libresolv" | "libutil" | "libanl"
        | "libnsl" | "libmvec" | "libBrokenLocale" | "libthread_db" => Kind::Libc,
        "ld" | "ld64" => Kind::Loader,
        "libgcc_s" | "libstdc++" | "libc++" | "libc++abi" | "libunwind" | "libgo"
        | "libgfortran" | "libgomp" | "libquadmath" | "libobjc" | "libgnat" => Kind::Runtime,
        _ if plain.starts_with("ld-musl-") || plain.starts_with("libc.musl-") => {
            Kind::LoaderAndLibc
        }
        _ if plain.starts_with("ld-linux") => Kind::Loader,
        _ if plain.starts_with("libnss_") || plain.starts_with("klibc-") => Kind::Libc,
        _ if plain.starts_with("libstd-") => Kind::Runtime,
        _ => Kind::Library,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DYNAMIC: Own = Own {
        is_static: false,
        has_names: true,
        has_runtime: false,
        has_lang_start: false,
        has_libc: false,
        archive: None,
    };

    fn frame<'a>(kind: Kind, name: &'a str) -> Frame<'a> {
        Frame {
            kind,
            name: (!name.is_empty()).then_some((name, name)),
            size: 0,
            at_entry: name == "_start",
        }
    }

    /// A function of Rust, by its name for people.
    fn rust(name: &str) -> Frame<'_> {
        Frame {
            kind: Kind::Program,
            name: Some(("_ZN", name)),
            size: 0,
            at_entry: false,
        }
    }

    #[test]
    fn the_one_that_uses_the_others_is_whom_a_call_is_for() {
        let write = || frame(Kind::Libc, "write");
        let start = || {
            [
                frame(Kind::Libc, "__libc_start_main"),
                frame(Kind::Program, "_start"),
            ]
        };
        let from_main: Vec<_> = [write(), frame(Kind::Program, "main")]
            .into_iter()
            .chain(start())
            .collect();
        let from_exit: Vec<_> = [write(), frame(Kind::Libc, "exit")]
            .into_iter()
            .chain(start())
            .collect();
        let loading = [frame(Kind::Loader, "open"), frame(Kind::Loader, "_start")];
        let early = [
            frame(Kind::Libc, "__libc_early_init"),
            frame(Kind::Loader, "_start"),
        ];
        let party = |frames: &[Frame]| of(frames, true, None, &DYNAMIC);
        assert_eq!(party(&from_main), (Party::Program, Sureness::Files));
        assert_eq!(party(&from_exit), (Party::Libc, Sureness::Files));
        assert_eq!(party(&loading), (Party::Loader, Sureness::Files));
        assert_eq!(party(&early), (Party::Libc, Sureness::Files));
    }

    #[test]
    fn a_stack_that_is_cut_can_only_be_the_programs() {
        let cut = |frames: &[Frame]| of(frames, false, None, &DYNAMIC).0;
        assert_eq!(cut(&[frame(Kind::Libc, "write")]), Party::Unknown);
        assert_eq!(
            cut(&[frame(Kind::Libc, "write"), frame(Kind::Program, "main")]),
            Party::Program
        );
        assert_eq!(cut(&[]), Party::Unknown);
    }

    #[test]
    fn musls_file_is_the_loader_until_the_program_begins() {
        let frames = [frame(Kind::LoaderAndLibc, "")];
        let party = |phase| of(&frames, false, phase, &DYNAMIC).0;
        assert_eq!(party(Some(Phase::Loading)), Party::Loader);
        assert_eq!(party(Some(Phase::Starting)), Party::Unknown);
        assert_eq!(party(None), Party::Unknown);
        let frames = [
            frame(Kind::LoaderAndLibc, "write"),
            frame(Kind::Program, "_start"),
        ];
        assert_eq!(
            of(&frames, true, Some(Phase::Main), &DYNAMIC).0,
            Party::Libc
        );
    }

    #[test]
    fn rusts_runtime_is_known_by_its_paths() {
        let own = Own {
            has_runtime: true,
            has_lang_start: true,
            ..DYNAMIC
        };
        let main = || {
            [
                rust("std::rt::lang_start"),
                frame(Kind::Program, "main"),
                frame(Kind::Program, "_start"),
            ]
        };
        let init: Vec<_> = [frame(Kind::Libc, "poll"), rust("std::sys::pal::unix::init")]
            .into_iter()
            .chain(main())
            .collect();
        let written: Vec<_> = [
            frame(Kind::Libc, "write"),
            rust("<std::io::Stdout as std::io::Write>::write"),
            rust("hello::main"),
        ]
        .into_iter()
        .chain(main())
        .collect();
        let inlined: Vec<_> = [
            frame(Kind::Libc, "write"),
            rust("std::io::stdio::_print"),
            rust("std::sys::backtrace::__rust_begin_short_backtrace"),
        ]
        .into_iter()
        .chain(main())
        .collect();
        let unnamed: Vec<_> = [frame(Kind::Libc, "write"), frame(Kind::Program, "")]
            .into_iter()
            .chain(main())
            .collect();
        let party = |frames: &[Frame]| of(frames, true, None, &own).0;
        assert_eq!(party(&init), Party::Runtime);
        assert_eq!(party(&written), Party::Program);
        assert_eq!(party(&inlined), Party::Program);
        assert_eq!(party(&unnamed), Party::Unknown);
    }

    #[test]
    fn a_static_program_without_names_tells_nothing() {
        let own = Own {
            is_static: true,
            has_names: false,
            ..DYNAMIC
        };
        for frames in [
            &[frame(Kind::Program, "")][..],
            &[frame(Kind::Program, ""), frame(Kind::Program, "")],
        ] {
            assert_eq!(
                of(frames, true, None, &own),
                (Party::Unknown, Sureness::Nothing)
            );
        }
        let entry = Frame {
            at_entry: true,
            ..frame(Kind::Program, "")
        };
        assert_eq!(of(&[entry], true, None, &own).0, Party::Unknown);
    }

    #[test]
    fn a_static_program_without_a_c_library_is_all_its_own() {
        let own = Own {
            is_static: true,
            ..DYNAMIC
        };
        assert_eq!(
            of(&[frame(Kind::Program, "_start")], true, None, &own).0,
            Party::Program
        );
        assert_eq!(
            of(
                &[frame(Kind::Program, "put"), frame(Kind::Program, "_start")],
                true,
                None,
                &own
            )
            .0,
            Party::Program
        );
    }

    #[test]
    fn without_the_archive_a_call_is_the_programs_when_main_is_on_the_stack() {
        let own = Own {
            is_static: true,
            has_libc: true,
            ..DYNAMIC
        };
        let write = || frame(Kind::Program, "write");
        let start = || frame(Kind::Program, "_start");
        let party = |frames: &[Frame]| of(frames, true, None, &own);
        assert_eq!(
            party(&[write(), frame(Kind::Program, "main"), start()]),
            (Party::Program, Sureness::Names)
        );
        assert_eq!(
            party(&[write(), frame(Kind::Program, "exit"), start()]),
            (Party::Libc, Sureness::Names)
        );
    }

    #[test]
    fn files_are_known_by_their_names() {
        for (file, kind) in [
            ("/usr/lib/x86_64-linux-gnu/libc.so.6", Kind::Libc),
            ("/lib/libc-2.31.so", Kind::Libc),
            ("/lib/ld-2.31.so", Kind::Loader),
            ("/lib64/ld-linux-x86-64.so.2", Kind::Loader),
            ("/lib/ld-musl-x86_64.so.1", Kind::LoaderAndLibc),
            ("/lib/klibc-abc.so", Kind::Libc),
            ("/lib/libgcc_s.so.1", Kind::Runtime),
            ("/usr/lib/libselinux.so.1", Kind::Library),
            ("/usr/bin/libc", Kind::Library),
            ("[vdso]", Kind::Kernel),
            ("[anonymous]", Kind::Memory),
        ] {
            assert_eq!(kind_of(Path::new(file)), kind, "{file}");
        }
    }

    #[test]
    fn a_function_belongs_to_the_crate_of_its_type() {
        for (name, crate_name) in [
            ("std::rt::init", "std"),
            ("<std::io::Stdout as hello::Write>::write", "std"),
            ("<&std::io::Stdout as std::io::Write>::write", "std"),
            ("<hello::A as core::fmt::Display>::fmt", "hello"),
            ("<i32 as core::fmt::Display>::fmt", "core"),
            ("<dyn hello::A as core::any::Any>::type_id", "hello"),
            ("main", "main"),
            ("", ""),
        ] {
            assert_eq!(root(name), crate_name, "{name}");
        }
    }
}
