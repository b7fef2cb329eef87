//! What `survey libraries` counts: exactly, in a system made by hand, and as the loader itself says.

use crate::common;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use assert_cmd::cargo::cargo_bin_cmd;
use barest::survey::Root;
use barest::survey::libraries::{Libraries, libraries};
use barest::survey::walk::Kind;
use common::{folder, succeed};
use serde_json::Value;

/// The loader of this system, and the name that programs for x86-64 and glibc have for it.
const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";

/// A folder that is a system: /usr/bin, two folders of libraries, and a loader.
struct System(PathBuf);

impl System {
    fn new(name: &str) -> Self {
        let system = System(folder(name));
        for inner in ["usr/bin", "libs", "other", "lib64"] {
            fs::create_dir_all(system.at(inner)).unwrap();
        }
        fs::copy(LOADER, system.at(&LOADER[1..])).unwrap();
        system
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A library in one of the folders, without a C library, that looks for its own in /libs.
    fn library(&self, path: &str, soname: Option<&str>, needed: &[&str]) {
        let soname = soname.map(|name| format!("-Wl,-soname,{name}"));
        let mut flags = vec!["-shared", "-fPIC", "-Wl,-rpath,/libs"];
        flags.extend(soname.as_deref());
        self.link(path, "int here;", &flags, needed);
    }

    /// A program in /usr/bin without a C library, that looks for its libraries in a folder.
    fn program(&self, name: &str, looks_in: &str, needed: &[&str]) {
        let looks_in = format!("-Wl,-rpath,{looks_in}");
        let loader = format!("-Wl,-dynamic-linker,{LOADER}");
        let flags = ["-pie", &looks_in, &loader, "-nostartfiles"];
        self.link(
            &format!("usr/bin/{name}"),
            "void _start(void) {}",
            &flags,
            needed,
        );
    }

    fn link(&self, path: &str, source: &str, flags: &[&str], needed: &[&str]) {
        let file = self.at("source.c");
        fs::write(&file, source).unwrap();
        let mut gcc = Command::new("gcc");
        gcc.args(["-nostdlib", "-Wl,--no-as-needed,--allow-shlib-undefined"])
            .args(flags)
            .arg("-o")
            .args([&self.at(path), &file]);
        for library in needed {
            let (folder, name) = library.rsplit_once('/').unwrap();
            gcc.arg("-L").arg(self.at(folder)).arg(format!("-l:{name}"));
        }
        succeed(&mut gcc);
        fs::remove_file(file).unwrap();
    }

    fn survey(&self) -> Libraries {
        let root = Root::at(&self.0).unwrap();
        libraries(&root, &["/usr/bin".into()], &|_| ()).unwrap()
    }
}

fn executable(path: PathBuf, content: impl AsRef<[u8]>) {
    fs::write(&path, content).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

/// Seven dynamic programs, and some that are none, in a system whose counts are known.
fn small() -> &'static System {
    static SYSTEM: OnceLock<System> = OnceLock::new();
    SYSTEM.get_or_init(|| {
        let system = System::new("libraries-small");
        system.library("libs/libbase-2.4.so.0", Some("libbase-2.4.so.0"), &[]);
        let base = "libs/libbase-2.4.so.0";
        system.library("libs/libmid.so.1", Some("libmid.so.1"), &[base]);
        system.library(
            "libs/libtop.so.1",
            Some("libtop.so.1"),
            &["libs/libmid.so.1"],
        );
        system.library("libs/libtwin.so.1", Some("libtwin.so.1"), &[]);
        system.library("other/libtwin.so.1", Some("libtwin.so.1"), &[]);
        system.library("libs/nameless.so", None, &[]);
        system.library("libs/libgone.so", Some("libgone.so"), &[]);
        system.library(
            "libs/libwants.so",
            Some("libwants.so"),
            &["libs/libgone.so"],
        );

        system.program("a", "/libs", &[base]);
        system.program("b", "/libs", &["libs/libmid.so.1"]);
        system.program("c", "/libs", &["libs/libmid.so.1", base]);
        system.program("d", "/libs", &["libs/libtop.so.1"]);
        system.program("e", "/libs", &["libs/libtwin.so.1", "libs/nameless.so"]);
        system.program("f", "/other", &["other/libtwin.so.1"]);
        system.program("lacks", "/libs", &["libs/libgone.so", "libs/libwants.so"]);
        fs::remove_file(system.at("libs/libgone.so")).unwrap();

        system.link(
            "usr/bin/static",
            "void _start(void) {}",
            &["-static", "-nostartfiles"],
            &[],
        );
        executable(system.at("usr/bin/script"), "#!/bin/sh\n");
        executable(system.at("usr/bin/another"), "#!/bin/sh\n");
        executable(
            system.at("usr/bin/cut"),
            &fs::read(system.at("usr/bin/a")).unwrap()[..200],
        );
        fs::hard_link(system.at("usr/bin/a"), system.at("usr/bin/z")).unwrap();
        symlink("b", system.at("usr/bin/y")).unwrap();
        symlink("/usr/bin", system.at("usr/bin/X11")).unwrap();
        system
    })
}

/// Name, path, users, direct users and users through others of each library.
fn rows(found: &Libraries) -> Vec<(&str, &str, usize, usize, usize)> {
    let rows = found.libraries.iter().map(|library| {
        (
            library.name.to_str().unwrap(),
            library.path.to_str().unwrap(),
            library.users,
            library.direct,
            library.through_others,
        )
    });
    rows.collect()
}

#[test]
fn each_program_is_one_user_of_each_of_its_libraries() {
    let found = small().survey();
    assert_eq!(
        rows(&found),
        [
            ("ld-linux-x86-64.so.2", LOADER, 7, 7, 0),
            ("libbase-2.4.so.0", "/libs/libbase-2.4.so.0", 4, 2, 2),
            ("libmid.so.1", "/libs/libmid.so.1", 3, 2, 1),
            ("libtop.so.1", "/libs/libtop.so.1", 1, 1, 0),
            // Two files with one name are two libraries.
            ("libtwin.so.1", "/libs/libtwin.so.1", 1, 1, 0),
            ("libtwin.so.1", "/other/libtwin.so.1", 1, 1, 0),
            ("libwants.so", "/libs/libwants.so", 1, 1, 0),
            ("nameless.so", "/libs/nameless.so", 1, 1, 0),
        ]
    );
    for library in &found.libraries {
        let file = small().at(library.path.strip_prefix("/").unwrap().to_str().unwrap());
        assert_eq!(library.bytes, fs::metadata(file).unwrap().len());
        assert_eq!((library.bits, library.machine.as_str()), (64, "x86_64"));
    }
}

#[test]
fn programs_are_counted_once_each_by_kind() {
    let found = small().survey();
    let expected = [
        (Kind::Dynamic, 7),
        (Kind::Static, 1),
        (Kind::StaticPie, 0),
        (Kind::Script, 2),
        (Kind::Library, 0),
        (Kind::Other, 1),
    ];
    assert_eq!(found.programs, BTreeMap::from(expected));
    // The hard link z, the link y, and the folder that is met again as X11.
    assert_eq!(found.other_names, 3);
    assert_eq!(found.unread.len(), 1);
    assert_eq!(found.unread[0].path, Path::new("/usr/bin/cut"));
}

#[test]
fn what_is_missing_is_named_with_all_who_want_it() {
    let found = small().survey();
    let [missing] = &found.missing[..] else {
        panic!("{:?}", found.missing);
    };
    assert_eq!(missing.name, "libgone.so");
    assert_eq!(missing.programs, [Path::new("/usr/bin/lacks")]);
    // The program itself, and a library of it.
    assert_eq!(
        missing.wanted_by,
        [Path::new("/libs/libwants.so"), Path::new("/usr/bin/lacks")]
    );
}

#[test]
fn few_users_are_counted_against_dynamic_programs_and_against_all() {
    let few = small().survey().few;
    assert_eq!(few.exactly_one, 5);
    assert_eq!(few.of_dynamic_programs.programs, 7);
    assert_eq!(few.of_all_programs.programs, 11);
    // One of so few programs is more than 1 % of them.
    assert_eq!(few.of_all_programs.than_1_in_100, 0);

    let system = System::new("libraries-few");
    system.library("libs/libone.so", Some("libone.so"), &[]);
    system.program("000", "/libs", &["libs/libone.so"]);
    system.program("001", "/libs", &[]);
    for n in 2..100 {
        let copy = system.at(&format!("usr/bin/{n:03}"));
        fs::copy(system.at("usr/bin/001"), copy).unwrap();
    }
    // One of 100 is 1 %, not fewer.
    let few = system.survey().few;
    assert_eq!(
        (few.exactly_one, few.of_dynamic_programs.programs),
        (1, 100)
    );
    assert_eq!(few.of_dynamic_programs.than_1_in_100, 0);
    assert_eq!(few.of_all_programs, few.of_dynamic_programs);
    // One of 101 is fewer, and of 1001 it is fewer than 0.1 %: of all, scripts included.
    for n in 100..1001 {
        executable(system.at(&format!("usr/bin/{n:03}")), "#!/bin/sh\n");
        if n == 100 {
            let few = system.survey().few;
            assert_eq!(few.of_dynamic_programs.than_1_in_100, 0);
            assert_eq!(
                (
                    few.of_all_programs.programs,
                    few.of_all_programs.than_1_in_100
                ),
                (101, 1)
            );
            assert_eq!(few.of_all_programs.than_1_in_1000, 0);
        }
    }
    let few = system.survey().few;
    assert_eq!(
        (
            few.of_all_programs.programs,
            few.of_dynamic_programs.programs
        ),
        (1001, 100)
    );
    assert_eq!(
        (
            few.of_all_programs.than_1_in_1000,
            few.of_dynamic_programs.than_1_in_1000
        ),
        (1, 0)
    );
    // The loader has 100 users: fewer than 10 %.
    assert_eq!(few.of_all_programs.than_1_in_100, 1);
}

/// The lines that the loader prints for a program of this test in place of running it.
fn traced(program: &Path) -> String {
    let mut command = Command::new(program);
    succeed(command.env_clear().env("LD_TRACE_LOADED_OBJECTS", "1"))
}

/// What the awk program of the seed adds for one line of ldd: the name after the last slash, cut
/// at its first dot. It takes every line with a tab and `.so`.
fn counted_by_awk(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once('\t')?;
    rest.contains(".so").then_some(())?;
    line.rsplit('/').next()?.split('.').next()
}

/// Programs and libraries with glibc, in this system. Each library looks for its own beside it.
fn with_glibc(name: &str) -> (PathBuf, Vec<PathBuf>) {
    let folder = folder(name);
    let (lib, bin) = (folder.join("lib"), folder.join("bin"));
    fs::create_dir_all(&lib).unwrap();
    fs::create_dir_all(&bin).unwrap();
    let build = |path: &Path, flags: &[&str], needed: &[&str]| {
        let source = folder.join("source.c");
        fs::write(&source, "int main(void) { return 0; }\n").unwrap();
        let mut gcc = Command::new("gcc");
        gcc.args(flags)
            .arg("-Wl,--no-as-needed")
            .arg("-o")
            .args([path, &source]);
        gcc.arg(format!("-Wl,-rpath,{}", lib.display()))
            .arg("-L")
            .arg(&lib);
        gcc.args(needed.iter().map(|name| format!("-l:{name}")));
        succeed(&mut gcc);
        fs::remove_file(source).unwrap();
    };
    let library = |name: &str, needed: &[&str]| {
        let soname = format!("-Wl,-soname,{name}");
        build(&lib.join(name), &["-shared", "-fPIC", &soname], needed);
    };
    library("libver.so.1", &[]);
    library("libver.so.2", &[]);
    library("libglue-2.0.so.0", &["libver.so.1", "libm.so.6"]);
    library("liboutside.so.0", &["libglue-2.0.so.0", "libver.so.2"]);
    library("libgone.so.3", &[]);
    let program = |name: &str, flags: &[&str], needed: &[&str]| {
        build(&bin.join(name), flags, needed);
        bin.join(name)
    };
    let programs = vec![
        program("plain", &["-pie"], &[]),
        program("fixed", &["-no-pie"], &["libver.so.1"]),
        program("both-versions", &["-pie"], &["libver.so.1", "libver.so.2"]),
        program("through-another", &["-pie"], &["liboutside.so.0"]),
        program(
            "diamond",
            &["-pie"],
            &["libver.so.1", "libglue-2.0.so.0", "libm.so.6"],
        ),
        program("lacks", &["-pie"], &["libgone.so.3"]),
    ];
    fs::remove_file(lib.join("libgone.so.3")).unwrap();
    fs::hard_link(&programs[1], bin.join("fixed-by-another-name")).unwrap();
    (bin, programs)
}

/// The seed counted by `find -type f -executable | xargs ldd | awk`. Its counts are ours, but for
/// what this test takes into account, each of which is a fault or a choice of the seed's:
///
/// - names are cut at their first dot: `libglue-2.0.so.0` is `libglue-2`;
/// - so versions are one: a program with `libver.so.1` and `libver.so.2` counts twice for `libver`;
/// - the vDSO is counted, which the kernel maps into each process and which is no file;
/// - a library that is not found is counted as if it were there (as the vDSO, it has no slash, so
///   that the tab before it is taken for a part of the name);
/// - a file with two names (hard links) is counted twice.
#[test]
fn counts_are_those_of_the_seed_but_for_its_faults() {
    let (bin, programs) = with_glibc("libraries-oracle");
    let mut seed: BTreeMap<String, usize> = BTreeMap::new();
    for file in fs::read_dir(&bin).unwrap() {
        for line in traced(&file.unwrap().path()).lines() {
            if let Some(name) = counted_by_awk(line) {
                *seed.entry(name.to_owned()).or_default() += 1;
            }
        }
    }

    let here = Root::here();
    let found = libraries(&here, &[bin], &|_| ()).unwrap();
    assert_eq!(found.programs[&Kind::Dynamic], programs.len());
    let linked_twice = libraries(&here, &[programs[1].clone()], &|_| ()).unwrap();
    let mut ours: BTreeMap<String, usize> = BTreeMap::new();
    for library in found.libraries.iter().chain(&linked_twice.libraries) {
        let name = library.name.to_str().unwrap();
        let cut = name.split('.').next().unwrap();
        *ours.entry(cut.to_owned()).or_default() += library.users;
    }
    ours.insert("\tlinux-vdso".into(), programs.len() + 1);
    ours.insert("\tlibgone".into(), 1);
    assert_eq!(ours, seed);

    // What is expected, so that nothing is equal by being empty.
    assert_eq!((seed["libc"], seed["ld-linux-x86-64"]), (7, 7));
    assert_eq!((seed["libver"], seed["libglue-2"]), (7, 2));
    let [missing] = &found.missing[..] else {
        panic!("{:?}", found.missing);
    };
    assert_eq!(
        (missing.name.as_os_str(), &missing.programs[..]),
        (OsStr::new("libgone.so.3"), &programs[5..])
    );
}

#[test]
fn direct_users_are_those_that_readelf_shows() {
    let (bin, programs) = with_glibc("libraries-readelf");
    let mut needed: BTreeMap<String, usize> = BTreeMap::new();
    for program in &programs {
        let table = succeed(Command::new("readelf").arg("-dW").arg(program));
        for line in table.lines().filter(|line| line.contains("(NEEDED)")) {
            let name = line.split(['[', ']']).nth(1).unwrap();
            *needed.entry(name.to_owned()).or_default() += 1;
        }
    }
    // Not found, and so no library with users; and an interpreter is named by its path.
    assert_eq!(needed.remove("libgone.so.3"), Some(1));
    needed.insert("ld-linux-x86-64.so.2".into(), programs.len());

    let found = libraries(&Root::here(), &[bin], &|_| ()).unwrap();
    let direct = found.libraries.iter().filter(|library| library.direct > 0);
    let direct: BTreeMap<String, usize> = direct
        .map(|library| (library.name.to_str().unwrap().to_owned(), library.direct))
        .collect();
    assert_eq!(direct, needed);
    for library in &found.libraries {
        assert_eq!(library.users, library.direct + library.through_others);
    }
}

fn barest(args: &[&str]) -> assert_cmd::Command {
    let mut command = cargo_bin_cmd!("barest");
    command.args(["survey", "libraries"]).args(args);
    command
}

/// What is printed of [`small`], which must work.
fn printed(args: &[&str]) -> String {
    let mut command = barest(args);
    let output = command
        .arg("--root")
        .arg(&small().0)
        .arg("/usr/bin")
        .output()
        .unwrap();
    assert_eq!(
        (output.status.code(), &output.stderr[..]),
        (Some(0), &b""[..])
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_page_answers_first_and_shows_all_that_is_missing_and_unread() {
    let page = printed(&[]);
    assert!(
        page.starts_with(
            "7 dynamic programs, each with 2.7 libraries on average. Half of the libraries, 8 in \
             all, have 1 user; 5 have exactly one, 2 have half of the programs or more.\n"
        ),
        "{page}"
    );
    for line in [
        "dynamic                              7",
        "in all                              11",
        "exactly 1 program                                     5     62.5",
        "fewer than 1 % of 11 programs of all kinds            0      0.0",
        "libraries not found: 1",
        "files not read: 1",
    ] {
        assert!(page.lines().any(|it| it == line), "{line}\n{page}");
    }
    let row = page
        .lines()
        .find(|line| line.contains("libbase-2.4.so.0"))
        .unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(
        cells[..7],
        ["4", "57.1", "2", "2", "libbase-2.4.so.0", "64", "x86_64"]
    );
}

#[test]
fn csv_has_a_row_for_each_library_and_nothing_else() {
    let text = printed(&["--format", "csv"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 9, "{text}");
    assert_eq!(
        lines[0],
        "users,share %,direct,through others,library,bits,machine,bytes,path"
    );
    assert!(
        lines[2].starts_with("4,57.1,2,2,libbase-2.4.so.0,64,x86_64,"),
        "{text}"
    );
    assert!(lines[2].ends_with(",/libs/libbase-2.4.so.0"), "{text}");
}

#[test]
fn json_has_all_facts_under_a_schema() {
    let facts: Value = serde_json::from_str(&printed(&["--format", "json"])).unwrap();
    assert_eq!(facts["schema"], "barest.survey-libraries/1");
    let facts = &facts["facts"][0];
    assert_eq!(facts["programs"]["dynamic"], 7);
    assert_eq!(facts["programs"]["static-pie"], 0);
    assert_eq!(facts["paths"], serde_json::json!(["/usr/bin"]));
    assert_eq!(facts["root"], small().0.to_str().unwrap());
    assert_eq!(facts["few"]["of_all_programs"]["programs"], 11);
    assert_eq!(facts["libraries"][1]["name"], "libbase-2.4.so.0");
    assert_eq!(facts["libraries"][1]["through_others"], 2);
    assert_eq!(facts["missing"][0]["wanted_by"][0], "/libs/libwants.so");
    assert_eq!(facts["unread"][0]["path"], "/usr/bin/cut");
}

#[test]
fn a_plot_has_its_axes_named() {
    let file = folder("libraries-plot").join("plot.svg");
    printed(&["--plot", file.to_str().unwrap()]);
    let svg = fs::read_to_string(file).unwrap();
    assert!(svg.starts_with("<svg "));
    for words in [
        "rank of the library",
        "programs that load it",
        "ld-linux-x86-64.so.2",
    ] {
        assert!(svg.contains(words), "{words}");
    }
}

#[test]
fn names_that_are_no_text_are_escaped_wherever_they_are_shown() {
    let system = System::new("libraries-bytes");
    let name = OsStr::from_bytes(b"cut\xff\n");
    executable(system.at("usr/bin").join(name), b"\x7fELF");
    for (format, shown) in [
        ("table", r"/usr/bin/cut\xff\x0a"),
        ("json", r"/usr/bin/cut\\xff\\x0a"),
    ] {
        barest(&["--format", format, "--root"])
            .arg(&system.0)
            .assert()
            .code(0)
            .stdout(predicates::str::contains(shown));
    }
}

#[test]
fn programs_without_libraries_are_an_answer_too() {
    let folder = folder("libraries-none");
    let printed = |folder: &Path| {
        let output = barest(&[]).arg(folder).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stdout).unwrap()
    };
    let none = printed(&folder);
    assert!(none.starts_with("There is no program here.\n"), "{none}");
    executable(folder.join("script"), "#!/bin/sh\n");
    let scripts = printed(&folder);
    let expected = "No program here is dynamic, of 1: there are no libraries to share.\n";
    assert!(scripts.starts_with(expected), "{scripts}");
}

#[test]
fn the_folders_of_path_are_surveyed_where_none_is_named() {
    let folder = folder("libraries-path");
    executable(folder.join("script"), "#!/bin/sh\n");
    let path = format!("/nowhere:{}", folder.display());
    let output = barest(&["--format", "json"])
        .env("PATH", path)
        .output()
        .unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        found["facts"][0]["paths"],
        serde_json::json!([folder.to_str().unwrap()])
    );
    assert_eq!(found["facts"][0]["programs"]["script"], 1);
    // Where there is none of them, there is nothing to survey.
    let output = barest(&[]).env("PATH", "/nowhere").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        (output.status.code(), said.lines().count()),
        (Some(2), 1),
        "{said}"
    );
}
