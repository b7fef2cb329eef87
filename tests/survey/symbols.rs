//! `survey symbols`: what libraries have on offer, and what programs use of it, as their loader
//! binds it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use barest::survey::Root;
use barest::survey::symbols::{LibraryUse, ProgramUse, Symbols, UsedBy, symbols};
use serde_json::Value;

use crate::common;
use common::{folder, succeed};

/// A folder with libraries and programs of no libc: what they have and use is what is written
/// here, and nothing else.
struct Tree {
    folder: PathBuf,
    compiler: &'static str,
    machine: &'static [&'static str],
}

impl Tree {
    fn new(name: &str) -> Self {
        Tree {
            folder: folder(name),
            compiler: "gcc",
            machine: &[],
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.path(name), text).unwrap();
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Compiles `source` into the file of that name.
    fn build(&self, name: &str, source: &str, args: &[&str]) -> PathBuf {
        let source = self.write(&format!("{name}.c"), source);
        succeed(
            Command::new(self.compiler)
                .args(self.machine)
                .args([
                    "-O1",
                    "-nostdlib",
                    "-fno-builtin",
                    "-fno-asynchronous-unwind-tables",
                ])
                .arg("-o")
                .arg(self.path(name))
                .arg(source)
                .args(args)
                .current_dir(&self.folder),
        );
        self.path(name)
    }

    /// A library of that SONAME.
    fn library(&self, name: &str, source: &str, args: &[&str]) -> PathBuf {
        let soname = format!("-Wl,-soname,{name}");
        let mut all = vec!["-shared", "-fPIC", &soname];
        all.extend(args);
        self.build(name, source, &all)
    }

    /// A library whose symbols have the versions of a script.
    fn versioned(&self, name: &str, source: &str, script: &str) -> PathBuf {
        let script = self.write(&format!("{name}.map"), script);
        self.library(name, source, &[&format!("-Wl,--version-script={script}")])
    }

    /// A program that finds its libraries in this folder.
    fn program(&self, name: &str, source: &str, args: &[&str]) -> PathBuf {
        let mut all = vec!["-Wl,-rpath,$ORIGIN", "-Wl,--no-as-needed"];
        all.extend(args);
        self.build(name, source, &all)
    }

    /// What of these programs is told.
    fn survey(&self, programs: &[&Path]) -> Symbols {
        let paths: Vec<PathBuf> = programs.iter().map(|path| path.to_path_buf()).collect();
        symbols(&Root::here(), &paths, &|_| {}).unwrap()
    }

    /// What of one program is told.
    fn one(&self, program: &Path) -> ProgramUse {
        let found = self.survey(&[program]);
        assert!(found.unread.is_empty(), "{:?}", found.unread);
        let [one] = &found.programs[..] else {
            panic!("{found:?}");
        };
        assert_eq!(one.path, program);
        one.clone()
    }
}

/// What of the library of that name is told.
fn library<'a>(found: &'a Symbols, name: &str) -> &'a LibraryUse {
    let mut libraries = found.libraries.iter();
    let named = libraries.find(|library| library.path.file_name().unwrap() == name);
    named.unwrap_or_else(|| panic!("no {name} in {found:?}"))
}

fn by(counts: [u64; 5]) -> impl Fn(&ProgramUse) {
    move |program| {
        let UsedBy {
            plt,
            got,
            copy,
            tls,
            direct,
            ..
        } = program.by;
        assert_eq!([plt, got, copy, tls, direct], counts, "{program:?}");
    }
}

/// Functions `f1` to `f4`, data `d1` and `d2`, a thread's data `t1` and `t2`.
const EIGHT: &str = "
    int f1(void) { return 1; } int f2(void) { return 2; }
    int f3(void) { return 3; } int f4(void) { return 4; }
    int d1 = 1, d2 = 2;
    __thread int t1 = 1, t2 = 2;
    static int inner(void) { return 5; }
    int hidden __attribute__((visibility(\"hidden\"))) = 6;
    int protected __attribute__((visibility(\"protected\"))) = 7;
    int (*of_inner)(void) = inner;
";

#[test]
fn each_kind_of_relocation_is_a_use_and_counts_as_its_kind() {
    let tree = Tree::new("symbols_kinds");
    tree.library("libeight.so", EIGHT, &[]);
    let source = "
        extern int f1(void), f2(void), d1; extern __thread int t1;
        int (*table[])(void) = { f2, f2, f2 };
        void _start(void) { d1 = f1() + t1 + table[1](); }
    ";
    let program = |name, args: &[&str]| {
        let mut all = vec!["libeight.so"];
        all.extend(args);
        tree.one(&tree.program(name, source, &all))
    };
    //                                    plt got copy tls direct
    let fixed = program("fixed", &["-fno-pie", "-no-pie"]);
    by([1, 0, 1, 1, 1])(&fixed);
    assert_eq!((fixed.used, fixed.own, fixed.unresolved), (4, 0, 0));
    let pie = program("pie", &["-fPIE", "-pie"]);
    by([1, 0, 1, 1, 1])(&pie);
    let now = program("now", &["-fPIE", "-pie", "-Wl,-z,now"]);
    by([1, 0, 1, 1, 1])(&now);
    let without_plt = program("without_plt", &["-fPIC", "-pie", "-fno-plt"]);
    by([0, 2, 0, 1, 1])(&without_plt);
    let descriptors = program(
        "descriptors",
        &["-fPIC", "-pie", "-mtls-dialect=gnu2", "-Wl,--no-relax"],
    );
    assert_eq!(descriptors.by.tls, 1, "{descriptors:?}");
    for one in [&fixed, &pie, &now, &without_plt, &descriptors] {
        assert_eq!(one.used, 4, "{one:?}");
        assert_eq!((one.weak_undefined, one.unresolved), (0, 0), "{one:?}");
        let share = one.used as f64 / one.exported as f64;
        assert_eq!(one.share, Some(share), "{one:?}");
    }
    // libeight.so and the loader.
    assert_eq!(fixed.libraries, 2);
}

#[test]
fn the_address_that_a_program_has_for_a_function_is_no_definition() {
    let tree = Tree::new("symbols_stub");
    tree.library("libeight.so", EIGHT, &[]);
    // In code at a fixed address the address of f2 is that of the program's own stub, which is
    // also what its symbol f2 has as value; it is undefined all the same, and called by the PLT.
    let source = "
        extern int f2(void);
        void _start(void) { int (*volatile address)(void) = f2; address(); }
    ";
    let program = tree.program("program", source, &["libeight.so", "-fno-pie", "-no-pie"]);
    let symbols = succeed(
        Command::new("readelf")
            .args(["--dyn-syms", "-W"])
            .arg(&program),
    );
    let f2 = symbols.lines().find(|line| line.ends_with(" f2")).unwrap();
    assert!(
        f2.contains(" UND ") && !f2.contains(": 0000000000000000 "),
        "{f2}"
    );
    let found = tree.one(&program);
    by([1, 0, 0, 0, 0])(&found);
    assert_eq!((found.used, found.own, found.unresolved), (1, 0, 0));
}

#[test]
fn what_is_on_offer_is_what_others_can_bind_to() {
    let tree = Tree::new("symbols_offer");
    tree.library("libeight.so", EIGHT, &[]);
    let program = tree.program("program", "void _start(void) {}", &["libeight.so"]);
    let found = tree.survey(&[&program]);
    // Four functions, two and two data, `protected` and `of_inner`; `inner` and `hidden` are none.
    let eight = library(&found, "libeight.so");
    assert_eq!(eight.exported, 10);
    assert_eq!((eight.programs, eight.used_by_any), (1, 0));
    assert_eq!(eight.mean_share, Some(0.0));
    let all: u64 = found.libraries.iter().map(|library| library.exported).sum();
    assert_eq!(found.programs[0].exported, all);
    assert!(all > 10, "the loader has some: {found:?}");
}

#[test]
fn a_library_with_the_older_hash_table_alone_has_the_same_on_offer() {
    let tree = Tree::new("symbols_hash");
    let users = "extern int f1(void), f4(void); void _start(void) { f1(); f4(); }";
    for style in ["sysv", "gnu", "both"] {
        let style = format!("-Wl,--hash-style={style}");
        tree.library("libeight.so", EIGHT, &[&style]);
        let program = tree.program("program", users, &["libeight.so", &style]);
        let found = tree.survey(&[&program]);
        assert_eq!(found.programs[0].used, 2, "{style}: {found:?}");
        assert_eq!(library(&found, "libeight.so").exported, 10, "{style}");
        assert_eq!(library(&found, "libeight.so").used_by_any, 2, "{style}");
    }
}

#[test]
fn section_headers_are_not_looked_at() {
    let tree = Tree::new("symbols_sections");
    let eight = tree.library("libeight.so", EIGHT, &[]);
    let source = "extern int f1(void); void _start(void) { f1(); }";
    let program = tree.program("program", source, &["libeight.so"]);
    let before = tree.survey(&[&program]);
    for file in [&eight, &program] {
        let mut bytes = fs::read(file).unwrap();
        // e_shoff; e_shnum and e_shstrndx.
        bytes[40..48].fill(0);
        bytes[60..64].fill(0);
        fs::write(file, bytes).unwrap();
    }
    let after = tree.survey(&[&program]);
    assert_eq!(before.programs, after.programs);
    assert_eq!(before.libraries, after.libraries);
    assert_eq!(after.programs[0].used, 1);
}

/// Two versions of `f`, of which the older one is hidden, and a `g` of the newer version alone.
const TWO_VERSIONS: &str = "
    int f_1(void) { return 1; } int f_2(void) { return 2; } int g(void) { return 3; }
    __asm__(\".symver f_1,f@V1\"); __asm__(\".symver f_2,f@@V2\");
";
const TWO_SCRIPT: &str = "V1 { global: f; local: *; }; V2 { global: f; g; } V1;";

#[test]
fn each_version_is_a_symbol_and_the_hidden_one_is_used_by_an_old_program() {
    let tree = Tree::new("symbols_versions");
    let source = "extern int f(void); void _start(void) { f(); }";
    tree.versioned(
        "libtwo.so",
        "int f(void) { return 1; }",
        "V1 { global: f; local: *; };",
    );
    let old = tree.program("old", source, &["libtwo.so"]);
    tree.versioned("libtwo.so", TWO_VERSIONS, TWO_SCRIPT);
    let new = tree.program("new", source, &["libtwo.so"]);

    let found = tree.survey(&[&old]);
    // f@V1, f@@V2 and g@@V2; not the names V1 and V2, which ld writes as absolute symbols.
    assert_eq!(library(&found, "libtwo.so").exported, 3);
    assert_eq!(library(&found, "libtwo.so").used_by_any, 1);
    let found = tree.survey(&[&old, &new]);
    assert_eq!(found.programs[0].used, 1);
    assert_eq!(found.programs[1].used, 1);
    // Each another one.
    let two = library(&found, "libtwo.so");
    assert_eq!((two.programs, two.used_by_any), (2, 2));
    assert_eq!(two.mean_share, Some(1.0 / 3.0));
    assert_eq!(
        found.programs.iter().map(|one| one.unresolved).sum::<u64>(),
        0
    );
}

#[test]
fn a_name_without_a_version_is_the_oldest_or_the_only_one_that_is_not_hidden() {
    let tree = Tree::new("symbols_unversioned");
    let source = |name| format!("extern int {name}(void); void _start(void) {{ {name}(); }}");
    let simple = "int f(void) { return 1; } int g(void) { return 2; } int h(void) { return 3; }";
    tree.library("libtwo.so", simple, &[]);
    let f = tree.program("f", &source("f"), &["libtwo.so"]);
    let g = tree.program("g", &source("g"), &["libtwo.so"]);
    let h = tree.program("h", &source("h"), &["libtwo.so"]);
    // The first version that a file defines has index 2 and is the oldest. f has it, g has the
    // third, hidden, and the fourth; h has two and both are hidden.
    tree.versioned(
        "libtwo.so",
        "int f_1(void) { return 1; } int f_2(void) { return 2; }
         int g_2(void) { return 1; } int g_3(void) { return 2; }
         int h_2(void) { return 1; } int h_3(void) { return 2; }
         __asm__(\".symver f_1,f@V1\"); __asm__(\".symver f_2,f@@V2\");
         __asm__(\".symver g_2,g@V2\"); __asm__(\".symver g_3,g@@V3\");
         __asm__(\".symver h_2,h@V2\"); __asm__(\".symver h_3,h@V3\");",
        "V1 { global: f; local: *; }; V2 { global: f; g; h; } V1; V3 { global: g; h; } V2;",
    );
    let f_new = tree.program("f_new", &source("f"), &["libtwo.so"]);
    let g_new = tree.program("g_new", &source("g"), &["libtwo.so"]);
    let used_by = |programs: &[&Path]| {
        let found = tree.survey(programs);
        assert!(found.programs.iter().all(|one| one.used == 1), "{found:?}");
        library(&found, "libtwo.so").used_by_any
    };
    // f@V1, where a program that is linked now has f@@V2.
    assert_eq!(used_by(&[&f, &f_new]), 2);
    // g@@V3, as one that is linked now.
    assert_eq!(used_by(&[&g, &g_new]), 1);
    let h = tree.one(&h);
    assert_eq!((h.used, h.unresolved), (0, 1));
    let found = tree.survey(&[&f]);
    assert_eq!(library(&found, "libtwo.so").exported, 6);
}

#[test]
fn a_version_may_move_to_another_library_or_one_without_versions_but_not_change() {
    let tree = Tree::new("symbols_lost_versions");
    let source = "extern int f(void); void _start(void) { f(); }";
    let plain = "int f(void) { return 1; }";
    tree.versioned("libtwo.so", plain, "V1 { global: f; local: *; };");
    let program = tree.program("program", source, &["libtwo.so"]);
    tree.library("libtwo.so", plain, &[]);
    let found = tree.one(&program);
    assert_eq!((found.used, found.unresolved), (1, 0));
    tree.versioned("libtwo.so", plain, "V9 { global: f; local: *; };");
    let found = tree.one(&program);
    assert_eq!((found.used, found.unresolved), (0, 1));
    // In which library it was does not matter: another one that has it now will do.
    let other = "int other(void) { return 1; }";
    tree.versioned("libthree.so", plain, "V1 { global: f; local: *; };");
    tree.versioned("libtwo.so", other, "V1 { global: other; local: *; };");
    let moved = tree.program("moved", source, &["libthree.so", "libtwo.so"]);
    tree.versioned("libtwo.so", plain, "V1 { global: f; local: *; };");
    tree.versioned("libthree.so", other, "V1 { global: other; local: *; };");
    let found = tree.survey(&[&moved]);
    assert_eq!(found.programs[0].used, 1);
    assert_eq!(library(&found, "libtwo.so").used_by_any, 1);
}

#[test]
fn the_first_library_in_the_order_of_loading_is_the_one_that_is_used() {
    let tree = Tree::new("symbols_order");
    tree.library(
        "libdeep.so",
        "int f(void) { return 1; } int deep(void) { return 1; }",
        &[],
    );
    tree.library(
        "libone.so",
        "int one(void) { return 1; }",
        &["-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN", "libdeep.so"],
    );
    tree.library(
        "libtwo.so",
        "int f(void) { return 2; } int two(void) { return 2; }",
        &[],
    );
    let source = "extern int f(void); void _start(void) { f(); }";
    let used = |libraries: &[&str]| {
        let program = tree.program("program", source, libraries);
        let found = tree.survey(&[&program]);
        assert_eq!(found.programs[0].used, 1, "{found:?}");
        let used = |name| library(&found, name).used_by_any;
        (used("libdeep.so"), used("libtwo.so"))
    };
    // Breadth first: what the program names comes before what its libraries name.
    assert_eq!(
        used(&["libone.so", "libtwo.so", "-Wl,-rpath-link,."]),
        (0, 1)
    );
    assert_eq!(used(&["libdeep.so", "libtwo.so"]), (1, 0));
    assert_eq!(used(&["libtwo.so", "libdeep.so"]), (0, 1));
    // What a library has on offer that another one has as well is on offer twice.
    let program = tree.program("program", source, &["libdeep.so", "libtwo.so"]);
    let found = tree.survey(&[&program]);
    let sum: u64 = found.libraries.iter().map(|library| library.exported).sum();
    assert_eq!(found.programs[0].exported, sum);
    assert_eq!(library(&found, "libdeep.so").exported, 2);
}

#[test]
fn what_a_program_defines_itself_is_no_use_of_a_library() {
    let tree = Tree::new("symbols_own");
    tree.library(
        "libtwo.so",
        "int f(void) { return 2; } int g(void) { return f(); }",
        &[],
    );
    // The program's f is the one that the library calls, too; the program calls it directly.
    let source = "int f(void) { return 1; } extern int g(void); void _start(void) { f(); g(); }";
    let found = tree.one(&tree.program("program", source, &["libtwo.so"]));
    by([1, 0, 0, 0, 0])(&found);
    assert_eq!(found.used, 1);
}

#[test]
fn undefined_names_are_told_apart_by_whether_something_must_define_them() {
    let tree = Tree::new("symbols_undefined");
    tree.library(
        "libtwo.so",
        "int f(void) { return 2; } int lost(void) { return 1; }",
        &[],
    );
    let source = "
        extern int f(void), lost(void), maybe(void) __attribute__((weak));
        extern int maybe_data __attribute__((weak));
        void _start(void) { f(); lost(); if (maybe) maybe(); if (&maybe_data) f(); }
    ";
    let program = tree.program("program", source, &["libtwo.so", "-fPIC", "-pie"]);
    tree.library("libtwo.so", "int f(void) { return 2; }", &[]);
    let found = tree.one(&program);
    assert_eq!(
        (found.used, found.weak_undefined, found.unresolved),
        (1, 2, 1)
    );
}

#[test]
fn two_relocations_of_one_symbol_are_one_use() {
    let tree = Tree::new("symbols_twice");
    tree.library("libeight.so", EIGHT, &[]);
    let source = "
        extern int f1(void); int (*table[])(void) = { f1, f1, f1 };
        void _start(void) { f1(); table[0](); }
    ";
    let found = tree.one(&tree.program("program", source, &["libeight.so", "-fPIE", "-pie"]));
    // Called, and in the table.
    assert_eq!(found.used, 1);
    assert_eq!(found.by.direct, 1);
    assert_eq!(found.by.plt + found.by.got, 1);
}

#[test]
fn programs_of_32_bits_are_read_too() {
    let mut tree = Tree::new("symbols_32");
    tree.machine = &["-m32"];
    tree.library("libeight.so", EIGHT, &[]);
    let source = "
        extern int f1(void), f2(void), d1; extern __thread int t1;
        int (*table[])(void) = { f2, f2, f2 };
        void _start(void) { d1 = f1() + t1 + table[1](); }
    ";
    let fixed = tree.program("fixed", source, &["libeight.so", "-fno-pie", "-no-pie"]);
    let found = tree.survey(&[&fixed]);
    by([1, 0, 1, 1, 1])(&found.programs[0]);
    assert_eq!(library(&found, "libeight.so").exported, 10);
    tree.versioned("libtwo.so", TWO_VERSIONS, TWO_SCRIPT);
    let two = "extern int f(void), g(void); void _start(void) { f(); g(); }";
    let found = tree.survey(&[&tree.program("two", two, &["libtwo.so"])]);
    assert_eq!(library(&found, "libtwo.so").exported, 3);
    assert_eq!(found.programs[0].used, 2);
}

#[test]
fn musl_binds_without_versions_and_to_nothing_that_is_hidden() {
    let mut tree = Tree::new("symbols_musl");
    tree.compiler = "musl-gcc";
    tree.versioned("libtwo.so", TWO_VERSIONS, TWO_SCRIPT);
    let source = |name| format!("extern int {name}(void); void _start(void) {{ {name}(); }}");
    let f = tree.program("f", &source("f"), &["libtwo.so"]);
    assert_eq!(tree.one(&f).used, 1);
    // Whatever version the program asks for.
    tree.versioned(
        "libtwo.so",
        "int f(void) { return 1; }",
        "OTHER { global: f; local: *; };",
    );
    assert_eq!(tree.one(&f).used, 1);
    tree.versioned(
        "libtwo.so",
        "int f_1(void) { return 1; } __asm__(\".symver f_1,f@V2\");",
        "V2 { global: f; local: *; };",
    );
    let found = tree.one(&f);
    assert_eq!((found.used, found.unresolved), (0, 1));
    // glibc's loader binds the same program to it.
    tree.compiler = "gcc";
    tree.versioned("libtwo.so", TWO_VERSIONS, TWO_SCRIPT);
    let f = tree.program("f", &source("f"), &["libtwo.so"]);
    tree.versioned(
        "libtwo.so",
        "int f_1(void) { return 1; } __asm__(\".symver f_1,f@V2\");",
        "V2 { global: f; local: *; };",
    );
    assert_eq!(tree.one(&f).used, 1);
}

#[test]
fn a_program_that_lacks_a_library_is_named_and_counts_nowhere() {
    let tree = Tree::new("symbols_missing");
    tree.library("libeight.so", EIGHT, &[]);
    tree.library("libmore.so", "int more;", &[]);
    let source = "extern int f1(void); void _start(void) { f1(); }";
    let whole = tree.program("whole", source, &["libeight.so"]);
    let lacks = tree.program("lacks", source, &["libeight.so", "libmore.so"]);
    fs::remove_file(tree.path("libmore.so")).unwrap();
    let found = tree.survey(&[&lacks, &whole]);
    let [one] = &found.programs[..] else {
        panic!("{found:?}");
    };
    assert_eq!(one.path, whole);
    assert_eq!(library(&found, "libeight.so").programs, 1);
    let [unread] = &found.unread[..] else {
        panic!("{found:?}");
    };
    assert_eq!(unread.path, lacks);
    assert!(
        unread.reason.starts_with("libmore.so: not found"),
        "{unread:?}"
    );
    assert_eq!(found.shares.unwrap().programs, 1);
}

/// Where in a file the value of an entry of the dynamic table is; both are of 64 bits.
fn dynamic_value(bytes: &[u8], tag: u64) -> usize {
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let count = u16::from_le_bytes(bytes[56..58].try_into().unwrap());
    let headers = (0..count as usize).map(|n| 64 + 56 * n);
    let dynamic = headers
        .into_iter()
        .find(|at| bytes[*at..at + 4] == [2, 0, 0, 0])
        .unwrap();
    let (offset, size) = (word(dynamic + 8) as usize, word(dynamic + 32) as usize);
    let mut entries = (offset..offset + size).step_by(16);
    entries.find(|at| word(*at) == tag).unwrap() + 8
}

const DT_HASH: u64 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_RELA: u64 = 7;
const DT_RELASZ: u64 = 8;
const DT_STRSZ: u64 = 10;
const DT_JMPREL: u64 = 23;
const DT_PLTRELSZ: u64 = 2;
const DT_GNU_HASH: u64 = 0x6fff_fef5;
const DT_VERSYM: u64 = 0x6fff_fff0;
const DT_VERDEF: u64 = 0x6fff_fffc;
const DT_VERNEED: u64 = 0x6fff_fffe;

#[test]
fn a_damaged_table_is_named_and_takes_its_programs_with_it() {
    let tree = Tree::new("symbols_damaged");
    let library_path = tree.versioned("libtwo.so", TWO_VERSIONS, TWO_SCRIPT);
    let source = "extern int f(void); int (*p)(void) = f; void _start(void) { f(); }";
    let program_path = tree.program("program", source, &["libtwo.so", "-fPIE", "-pie"]);
    let whole = [
        fs::read(&library_path).unwrap(),
        fs::read(&program_path).unwrap(),
    ];
    assert_eq!(tree.one(&program_path).used, 1);
    let broken = |of: usize, tag: u64, value: u64| {
        let path = [&library_path, &program_path][of];
        let mut bytes = whole[of].clone();
        let at = dynamic_value(&bytes, tag);
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        fs::write(path, bytes).unwrap();
        let found = tree.survey(&[&program_path]);
        fs::write(path, &whole[of]).unwrap();
        found
    };
    let huge = u64::MAX / 2;
    for (of, tag, what) in [
        (0, DT_GNU_HASH, "its hash table lies in no segment"),
        (0, DT_SYMTAB, "its symbol table lies in no segment"),
        (
            0,
            DT_VERSYM,
            "its table of symbols' versions lies in no segment",
        ),
        (0, DT_VERDEF, "its table of versions lies in no segment"),
        (
            1,
            DT_VERNEED,
            "its table of needed versions lies in no segment",
        ),
        (1, DT_SYMTAB, "its symbol table lies in no segment"),
    ] {
        let found = broken(of, tag, huge);
        assert_eq!(found.programs, [], "{tag:#x}: {found:?}");
        let reasons: Vec<_> = found.unread.iter().map(|it| it.reason.as_str()).collect();
        assert_eq!(reasons.len(), 2 - of, "{tag:#x}: {found:?}");
        for reason in reasons {
            let reason = reason
                .strip_prefix(&format!("its library {}: ", library_path.display()))
                .unwrap_or(reason);
            assert_eq!(
                reason,
                format!("damaged: {what}; get the whole file"),
                "{tag:#x}"
            );
        }
        assert!(found.shares.is_none());
    }
    // Whatever else stands there: either the image is damaged or its symbols are.
    for (of, tag) in [
        (0, DT_STRTAB),
        (0, DT_STRSZ),
        (1, DT_STRTAB),
        (1, DT_STRSZ),
        (1, DT_RELA),
        (1, DT_RELASZ),
        (1, DT_JMPREL),
        (1, DT_PLTRELSZ),
    ] {
        let found = broken(of, tag, huge);
        assert_eq!(found.programs, [], "{tag:#x}: {found:?}");
        assert!(!found.unread.is_empty(), "{tag:#x}");
    }
    assert_eq!(tree.one(&program_path).used, 1);
}

#[test]
fn a_table_that_leads_in_a_circle_ends() {
    let tree = Tree::new("symbols_circle");
    let path = tree.library("libeight.so", EIGHT, &["-Wl,--hash-style=sysv"]);
    let source = "extern int f1(void); void _start(void) { f1(); }";
    let program = tree.program("program", source, &["libeight.so"]);
    let mut bytes = fs::read(&path).unwrap();
    let at = dynamic_value(&bytes, DT_HASH);
    let at = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let (buckets, symbols) = (word(&bytes, at), word(&bytes, at + 4));
    // Each symbol is followed by itself.
    for symbol in 0..symbols {
        let at = at + 8 + 4 * (buckets + symbol) as usize;
        bytes[at..at + 4].copy_from_slice(&symbol.to_le_bytes());
    }
    fs::write(&path, bytes).unwrap();
    let found = tree.survey(&[&program]);
    assert_eq!(found.programs, []);
    assert!(
        found
            .unread
            .iter()
            .any(|it| it.path == path && it.reason.contains("circle")),
        "{found:?}"
    );
}

#[test]
fn quartiles_are_those_of_the_programs() {
    let tree = Tree::new("symbols_quartiles");
    tree.library("libeight.so", EIGHT, &[]);
    let programs: Vec<PathBuf> = (1..=4)
        .map(|n| {
            let calls: String = (1..=n).map(|n| format!("f{n}();")).collect();
            let source = format!(
                "extern int f1(void), f2(void), f3(void), f4(void); void _start(void) {{ {calls} }}"
            );
            tree.program(&format!("program{n}"), &source, &["libeight.so"])
        })
        .collect();
    let paths: Vec<&Path> = programs.iter().map(PathBuf::as_path).collect();
    let found = tree.survey(&paths);
    let used: Vec<u64> = found.programs.iter().map(|one| one.used).collect();
    assert_eq!(used, [1, 2, 3, 4]);
    let all = found.programs[0].exported as f64;
    let shares = found.shares.unwrap();
    assert_eq!(shares.programs, 4);
    assert_eq!((shares.min, shares.max), (1.0 / all, 4.0 / all));
    assert_eq!(
        [shares.lower_quartile, shares.median, shares.upper_quartile],
        [1.0 / all, 2.0 / all, 3.0 / all]
    );
    assert!((shares.mean - 2.5 / all).abs() < 1e-12);
    let eight = library(&found, "libeight.so");
    assert_eq!((eight.programs, eight.used_by_any), (4, 4));
    assert_eq!(eight.mean_share, Some(10.0 / 40.0));
}

/// Programs of a libc that can be run, in several ways of linking.
fn runnable(tree: &Tree) -> Vec<PathBuf> {
    tree.versioned("libtwo.so", TWO_VERSIONS, TWO_SCRIPT);
    tree.library("libeight.so", EIGHT, &[]);
    let source = "
        #include <errno.h>
        #include <math.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        extern int f(void), g(void), f1(void), d1; extern __thread int t1;
        int (*table[])(void) = { f, f1 };
        int main(int argc, char **argv) {
            char copy[64];
            memcpy(copy, argv[0], strlen(argv[0]) < 64 ? strlen(argv[0]) : 64);
            errno = 0;
            if (argc > 7) fprintf(stderr, \"%f %s\", pow(argc, argc) + sin(argc), copy);
            return f() + g() + f1() + d1 + t1 + table[argc == 9]() == 0;
        }
    ";
    let source = tree.write("runnable.c", source);
    [
        ("lazy", &["-fPIE", "-pie", "-Wl,-z,lazy"][..]),
        ("now", &["-fPIE", "-pie", "-Wl,-z,now"]),
        ("fixed", &["-fno-pie", "-no-pie"]),
        ("without_plt", &["-fPIC", "-pie", "-fno-plt"]),
        ("sysv", &["-fPIE", "-pie", "-Wl,--hash-style=sysv"]),
        ("own", &["-fPIE", "-pie", "-rdynamic"]),
    ]
    .into_iter()
    .map(|(name, args)| {
        succeed(
            Command::new("gcc")
                .args(["-O1", "-fno-builtin", "-Wl,-rpath,$ORIGIN", "-o"])
                .arg(tree.path(name))
                .arg(&source)
                .args(["libtwo.so", "libeight.so", "-lm"])
                .args(args)
                .current_dir(&tree.folder),
        );
        tree.path(name)
    })
    .collect()
}

#[test]
fn the_loader_itself_binds_the_same_symbols_to_the_same_libraries() {
    let tree = Tree::new("symbols_bindings");
    for program in runnable(&tree) {
        let output = Command::new(&program)
            .env_clear()
            .envs([("LD_DEBUG", "bindings"), ("LD_BIND_NOW", "1")])
            .output()
            .unwrap();
        // `PID:	binding file ./a [0] to /lib/libc.so.6 [0]: normal symbol `puts' [GLIBC_2.2.5]`
        let from = format!("binding file {} [0] to ", program.display());
        let mut bound: BTreeMap<PathBuf, BTreeSet<&str>> = BTreeMap::new();
        let text = String::from_utf8(output.stderr).unwrap();
        for line in text.lines() {
            let Some((_, line)) = line.split_once(&from) else {
                continue;
            };
            let (to, symbol) = line.split_once(" [0]: normal symbol ").unwrap();
            // The loader's own, which it looks up as if the program had asked for them
            // (__rtld_malloc_init_real in elf/dl-minimal.c); this program names none of them.
            let own = ["calloc", "free", "malloc", "realloc"];
            if own
                .iter()
                .any(|own| symbol.starts_with(&format!("`{own}'")))
            {
                continue;
            }
            let to = fs::canonicalize(to).unwrap();
            if to != program {
                bound.entry(to).or_default().insert(symbol);
            }
        }
        let found = tree.survey(&[&program]);
        assert!(found.unread.is_empty(), "{found:?}");
        let used: BTreeMap<_, _> = found
            .libraries
            .iter()
            .filter(|library| library.used_by_any > 0)
            .map(|library| (library.path.clone(), library.used_by_any as usize))
            .collect();
        let bound: BTreeMap<_, _> = bound.into_iter().map(|(to, set)| (to, set.len())).collect();
        assert!(bound.len() >= 4, "{text}");
        assert_eq!(used, bound, "{}", program.display());
        assert_eq!(
            found.programs[0].used as usize,
            bound.values().sum::<usize>()
        );
    }
}

/// The names that binutils prints in a column of their own.
fn names(command: &mut Command, name: impl Fn(&[&str]) -> Option<String>) -> BTreeSet<String> {
    let text = succeed(command.env("LC_ALL", "C"));
    let lines = text.lines();
    let words = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
    words.filter_map(|words| name(&words)).collect()
}

#[test]
fn what_the_seed_counts_differs_by_what_is_written_here() {
    let tree = Tree::new("symbols_seed");
    for program in runnable(&tree) {
        // nsyms.go takes the names of `objdump -T` of each library that ldd names, and those of
        // `objdump -R` of the program: the last word of each line, versions left out, into sets.
        // This is the same from `readelf`, of our own program and by the loader.
        let loaded = succeed(Command::new(&program).env("LD_TRACE_LOADED_OBJECTS", "1"));
        let libraries = loaded.lines().filter_map(|line| {
            line.split_whitespace()
                .find(|word| word.starts_with('/'))
                .map(PathBuf::from)
        });
        let libraries: Vec<PathBuf> = libraries
            .map(|path| fs::canonicalize(path).unwrap())
            .collect();
        assert!(libraries.len() >= 5, "{loaded}");
        let without_version = |name: &str| name.split('@').next().unwrap().to_owned();
        let mut on_offer = BTreeSet::new();
        let mut defined = 0;
        for library in &libraries {
            let rows = |wanted: fn(&[&str]) -> bool| {
                let mut command = Command::new("readelf");
                command.args(["--dyn-syms", "-W"]).arg(library);
                names(&mut command, |words| {
                    let numbered = words.first()?.strip_suffix(':')?.parse::<u32>().is_ok();
                    (numbered && words.len() >= 8 && words[4] != "LOCAL" && wanted(words))
                        .then(|| words[7].to_owned())
                })
            };
            // It counts undefined symbols as on offer, and one name in two libraries once.
            on_offer.extend(rows(|_| true).iter().map(|name| without_version(name)));
            // What is on offer to us: defined, and not the name of a version (`ABS`, of size 0).
            defined += rows(|words| words[6] != "UND" && words[6] != "ABS").len() as u64;
        }
        let mut command = Command::new("readelf");
        command.args(["-r", "-W"]).arg(&program);
        let named = names(&mut command, |words| {
            let relocation = words.len() >= 5 && words[2].starts_with("R_X86_64_");
            (relocation && words[2] != "R_X86_64_RELATIVE").then(|| without_version(words[4]))
        });

        let found = tree.survey(&[&program]);
        let one = &found.programs[0];
        // readelf has no other word for what is on offer, so this is equal.
        assert_eq!(one.exported, defined, "{}", program.display());
        assert_ne!(one.exported, on_offer.len() as u64);
        // It counts each name of a relocation as used, though nothing defines some of them
        // (`__gmon_start__`, `_ITM_…`).
        assert_eq!(
            one.used + one.weak_undefined + one.own,
            named.len() as u64,
            "{}: {named:?}",
            program.display()
        );
        assert!(one.weak_undefined >= 1, "{one:?}");
        assert!(named.contains("__gmon_start__"));
        // On these programs both shares are less than 1, and no result is dropped.
        assert!(named.len() < on_offer.len());
    }
}

#[test]
fn facts_have_a_schema_and_every_program_has_a_row_of_csv() {
    let tree = Tree::new("symbols_cli");
    tree.library("libeight.so", EIGHT, &[]);
    let source = "extern int f1(void); void _start(void) { f1(); }";
    let program = tree.program("program", source, &["libeight.so"]);
    tree.program("other", source, &["libeight.so"]);
    tree.program(
        "lost",
        "void _start(void) {}",
        &["libeight.so", "-Wl,-z,now"],
    );
    let barest = |args: &[&str]| {
        let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_barest"));
        command.args(["survey", "symbols"]).args(args).assert()
    };
    let path = program.to_str().unwrap();
    let folder = tree.folder.to_str().unwrap();
    let output = barest(&["--format", "json", path])
        .success()
        .get_output()
        .clone();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["schema"], "barest.survey-symbols/1");
    let text = json.to_string();
    assert!(
        text.contains("\"used\":1") && text.contains("\"weak_undefined\":0"),
        "{text}"
    );

    let output = barest(&["--format", "csv", folder])
        .success()
        .get_output()
        .clone();
    let csv = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert!(
        lines[0].starts_with("program,share %,used,on offer,libraries,PLT,"),
        "{csv}"
    );
    assert_eq!(lines.len(), 4, "{csv}");
    assert!(
        lines[3].starts_with(&format!("{folder}/lost,0.00,0,")),
        "{csv}"
    );

    let plot = tree.path("plot.svg");
    let output = barest(&["--plot", plot.to_str().unwrap(), folder])
        .success()
        .get_output()
        .clone();
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(
        table.starts_with("On average, 3 dynamic programs use "),
        "{table}"
    );
    assert!(table.contains("libeight.so"), "{table}");
    assert!(fs::read_to_string(plot).unwrap().starts_with("<svg"));

    let output = barest(&["/none/such"]).code(2).get_output().clone();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.contains("/none/such"), "{error}");
}

/// Writes numbers of one size and byte order.
struct Bytes {
    bytes: Vec<u8>,
    wide: bool,
    big: bool,
}

impl Bytes {
    fn number(&mut self, number: u64, bytes: usize) -> &mut Self {
        match self.big {
            true => self.bytes.extend(&number.to_be_bytes()[8 - bytes..]),
            false => self.bytes.extend(&number.to_le_bytes()[..bytes]),
        }
        self
    }

    /// As long as an address.
    fn word(&mut self, number: u64) -> &mut Self {
        self.number(number, if self.wide { 8 } else { 4 })
    }
}

/// A symbol of [`elf`]: its name, whether it is defined, and its entry of `DT_VERSYM`.
type Named = (&'static str, bool, u64);

/// An ELF file of one segment, which has what a loader reads and nothing else: symbols (all in
/// its `DT_HASH`), their versions, of which it defines `V2`, and relocations: a symbol's index and a
/// type.
fn elf(
    (wide, big, machine): (bool, bool, u64),
    interpreter: Option<&str>,
    needed: Option<&str>,
    symbols: &[Named],
    relocations: &[(u64, u64)],
) -> Vec<u8> {
    let part = || Bytes {
        bytes: Vec::new(),
        wide,
        big,
    };
    let mut names = vec![0];
    let mut name = |text: &str| {
        let at = names.len() as u64;
        names.extend(text.bytes().chain([0]));
        at
    };
    let count = symbols.len() as u64 + 1;
    let mut table = part();
    table.bytes.resize(if wide { 24 } else { 16 }, 0);
    let mut versions = part();
    versions.number(0, 2);
    for (text, defined, version) in symbols {
        let (section, value) = if *defined { (1, 0x40) } else { (0, 0) };
        // STB_GLOBAL, STT_FUNC.
        let info = 0x12;
        table.number(name(text), 4);
        if wide {
            table
                .number(info, 1)
                .number(0, 1)
                .number(section, 2)
                .number(value, 8)
                .number(4, 8);
        } else {
            table
                .number(value, 4)
                .number(4, 4)
                .number(info, 1)
                .number(0, 1)
                .number(section, 2);
        }
        versions.number(*version, 2);
    }
    // One definition, of V2, with index 2; its hash is that of the name by the System V ABI.
    let mut definitions = part();
    definitions
        .number(1, 2)
        .number(0, 2)
        .number(2, 2)
        .number(1, 2);
    definitions
        .number(0x592, 4)
        .number(20, 4)
        .number(0, 4)
        .number(name("V2"), 4)
        .number(0, 4);
    let mut hash = part();
    let bytes = if wide && machine == 22 { 8 } else { 4 };
    hash.number(1, bytes)
        .number(count, bytes)
        .number(1, bytes)
        .number(0, bytes);
    for symbol in 1..count {
        hash.number((symbol + 1) % count, bytes);
    }
    let mut rela = part();
    for (symbol, kind) in relocations {
        let info = if wide {
            symbol << 32 | kind
        } else {
            symbol << 8 | kind
        };
        rela.word(0x48).word(info).word(0);
    }
    let needed = needed.map(name);
    let interpreter: Vec<u8> = interpreter
        .into_iter()
        .flat_map(|path| path.bytes().chain([0]))
        .collect();

    let header: u64 = if wide { 64 + 3 * 56 } else { 52 + 3 * 32 };
    let parts = [
        &interpreter,
        &names,
        &table.bytes,
        &versions.bytes,
        &definitions.bytes,
        &hash.bytes,
        &rela.bytes,
    ];
    let mut at = header.next_multiple_of(8);
    let places = parts.map(|part| {
        let place = at;
        at += part.len().next_multiple_of(8) as u64;
        place
    });
    let mut dynamic = part();
    for (tag, value) in needed.into_iter().map(|at| (1, at)).chain([
        (DT_HASH, places[5]),
        (DT_STRTAB, places[1]),
        (DT_SYMTAB, places[2]),
        (DT_STRSZ, names.len() as u64),
        (DT_VERSYM, places[3]),
        (DT_VERDEF, places[4]),
        (DT_RELA, places[6]),
        (DT_RELASZ, rela.bytes.len() as u64),
        (0, 0),
    ]) {
        dynamic.word(tag).word(value);
    }
    let mut file = part();
    let class = if wide { 2 } else { 1 };
    let order = if big { 2 } else { 1 };
    file.bytes.extend([0x7f, b'E', b'L', b'F', class, order, 1]);
    file.bytes.resize(16, 0);
    file.number(3, 2).number(machine, 2).number(1, 4).word(0x40);
    file.word(if wide { 64 } else { 52 }).word(0).number(0, 4);
    let (own, each) = if wide { (64, 56) } else { (52, 32) };
    file.number(own, 2)
        .number(each, 2)
        .number(3, 2)
        .number(0, 2)
        .number(0, 2)
        .number(0, 2);
    let whole = at + dynamic.bytes.len() as u64;
    let interpreter_kind = if interpreter.is_empty() { 0 } else { 3 };
    for (kind, offset, bytes) in [
        (1, 0, whole),
        (interpreter_kind, places[0], interpreter.len() as u64),
        (2, at, dynamic.bytes.len() as u64),
    ] {
        file.number(kind, 4);
        if wide {
            file.number(5, 4);
        }
        file.word(offset)
            .word(offset)
            .word(offset)
            .word(bytes)
            .word(bytes);
        if !wide {
            file.number(5, 4);
        }
        file.word(8);
    }
    file.bytes.resize(file.bytes.len().next_multiple_of(8), 0);
    for part in parts {
        file.bytes.extend(part);
        file.bytes.resize(file.bytes.len().next_multiple_of(8), 0);
    }
    file.bytes.extend(dynamic.bytes);
    file.bytes
}

#[test]
fn both_sizes_of_address_and_both_byte_orders_are_read() {
    use std::os::unix::fs::PermissionsExt;
    // s390x, PowerPC, AArch64, ARM: the types of `JMP_SLOT` and `GLOB_DAT`, and of an address.
    for (name, machine, plt, got, direct) in [
        ("s390x", (true, true, 22), 11, 10, 22),
        ("powerpc", (false, true, 20), 21, 20, 1),
        ("aarch64", (true, false, 183), 1026, 1025, 257),
        ("arm", (false, false, 40), 22, 21, 2),
    ] {
        let root = folder(&format!("symbols_{name}"));
        fs::create_dir_all(root.join("lib")).unwrap();
        let loader = format!("/lib/ld-musl-{name}.so.1");
        let write = |path: &str, bytes: Vec<u8>| {
            let path = root.join(path.trim_start_matches('/'));
            fs::write(&path, bytes).unwrap();
            fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
        };
        let of_libc = [("puts", true, 1), ("exit", true, 1), ("stat", true, 1)];
        write(&loader, elf(machine, None, None, &of_libc, &[]));
        let of_lib = [
            ("f", true, 2),
            ("old", true, 0x8002),
            ("mine", true, 2),
            ("other", false, 1),
        ];
        write("lib/libx.so", elf(machine, None, None, &of_lib, &[]));
        let symbols = [
            ("puts", false, 1),
            ("f", false, 1),
            ("old", false, 1),
            ("mine", true, 1),
            ("stat64", false, 1),
        ];
        let relocations = [
            (1, plt),
            (2, got),
            (2, direct),
            (3, plt),
            (4, got),
            (5, plt),
            (0, direct),
        ];
        write(
            "program",
            elf(
                machine,
                Some(&loader),
                Some("libx.so"),
                &symbols,
                &relocations,
            ),
        );
        let found = barest::survey::symbols::symbols(
            &Root::at(&root).unwrap(),
            &["/program".into()],
            &|_| {},
        );
        let found = found.unwrap();
        assert_eq!(found.unread, [], "{name}");
        let one = &found.programs[0];
        // `puts`; `f`, in two ways; `stat`, which `stat64` is to musl.
        by([2, 1, 0, 0, 1])(one);
        assert_eq!((one.used, one.exported, one.libraries), (3, 6, 2), "{name}");
        assert_eq!((one.own, one.weak_undefined), (1, 0), "{name}");
        // `old` is hidden, and musl does not take it.
        assert_eq!(one.unresolved, 1, "{name}");
        assert_eq!(library(&found, "libx.so").used_by_any, 1, "{name}");
    }
}
