//! `survey sizes`: bytes, pages and segments, on trees that are made here, against readelf and
//! the loader.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use assert_cmd::cargo::cargo_bin_cmd;
use barest::survey::Root;
use barest::survey::sizes::{PAGE, Size, Sizes, sizes};
use barest::survey::walk::Kind;
use predicates::prelude::*;
use serde_json::Value;

use crate::common;
use common::{folder, program, succeed};

fn survey(paths: &[&Path]) -> Sizes {
    let paths: Vec<PathBuf> = paths.iter().map(|path| path.to_path_buf()).collect();
    sizes(&Root::here(), &paths, &|_| {}).unwrap_or_else(|error| panic!("{error}"))
}

/// Compiles a program of C into a folder, which is made.
fn compile(path: PathBuf, flags: &[&str]) -> PathBuf {
    let folder = path.parent().unwrap();
    fs::create_dir_all(folder).unwrap();
    let source = path.with_extension("c");
    let text = "#include <math.h>\n#include <stdio.h>\nstatic char zeros[100000];\n\
                int main(int n, char **args) { zeros[n] = 1; return printf(\"%s %f\\n\", args[0], cos(n)) < 0; }\n";
    fs::write(&source, text).unwrap();
    succeed(
        Command::new("gcc")
            .arg("-o")
            .arg(&path)
            .arg(&source)
            .args(flags)
            .arg("-lm"),
    );
    fs::remove_file(source).unwrap();
    path
}

fn of<'a>(found: &'a Sizes, path: &Path) -> &'a Size {
    let own = found.programs.iter().find(|it| it.path == path);
    own.unwrap_or_else(|| panic!("{path:?}: {found:?}"))
}

fn bytes(path: impl AsRef<Path>) -> u64 {
    fs::metadata(path).unwrap().len()
}

/// The segments by readelf: where each begins in memory, and its bytes there.
fn loads(path: &Path) -> Vec<(u64, u64)> {
    let text = succeed(Command::new("readelf").arg("-lW").arg(path));
    let hex = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).unwrap();
    text.lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|words| words.first() == Some(&"LOAD"))
        .map(|words| (hex(words[2]), hex(words[5])))
        .collect()
}

/// The libraries that the loader says it would load, by their paths.
fn loaded(path: &Path) -> Vec<PathBuf> {
    let text = succeed(Command::new(path).env("LD_TRACE_LOADED_OBJECTS", "1"));
    let path = |line: &str| {
        let mut words = line.split_whitespace();
        words.rfind(|word| word.starts_with('/')).map(PathBuf::from)
    };
    text.lines().filter_map(path).collect()
}

#[test]
fn bytes_segments_and_pages_are_those_of_readelf_and_libraries_those_of_the_loader() {
    let folder = folder("sizes-exact");
    let programs = [
        (Kind::Dynamic, compile(folder.join("pie"), &["-pie"])),
        (Kind::Dynamic, compile(folder.join("fixed"), &["-no-pie"])),
        (
            Kind::Dynamic,
            compile(folder.join("lld"), &["-fuse-ld=lld"]),
        ),
        (Kind::Dynamic, compile(folder.join("narrow"), &["-m32"])),
        (
            Kind::Dynamic,
            compile(folder.join("wide"), &["-Wl,-z,max-page-size=65536"]),
        ),
        (
            Kind::Static,
            compile(folder.join("static"), &["-static", "-no-pie"]),
        ),
        (
            Kind::StaticPie,
            compile(folder.join("static-pie"), &["-static-pie"]),
        ),
    ];
    let found = survey(&[&folder]);
    assert_eq!(found.programs.len(), programs.len());
    assert_eq!((found.others, found.unread.len()), (0, 0));
    assert_eq!(found.page, 4096);
    let mut libraries = BTreeSet::new();
    for (kind, path) in &programs {
        let size = of(&found, path);
        assert_eq!(size.kind, *kind, "{path:?}");
        assert_eq!(size.bytes, bytes(path));
        assert_eq!(size.file_pages, bytes(path).div_ceil(4096));
        let loads = loads(path);
        assert!(loads.len() > 1, "{loads:?}");
        assert_eq!(size.segments, loads.len() as u64, "{path:?}");
        // Each page once, however many segments have a part of it.
        let pages = loads.iter().flat_map(|(start, bytes)| {
            let last = start + bytes - 1;
            start / PAGE..=last / PAGE
        });
        let pages: BTreeSet<u64> = pages.collect();
        assert_eq!(size.memory_pages, pages.len() as u64, "{path:?}");
        // The zeros are in memory and not in the file.
        assert!(size.memory_pages >= 100_000 / PAGE);
        match kind {
            Kind::Dynamic => {
                let own: BTreeSet<PathBuf> = loaded(path)
                    .iter()
                    .map(|path| fs::canonicalize(path).unwrap())
                    .collect();
                // libm, libc and the loader.
                assert_eq!(own.len(), 3, "{own:?}");
                assert_eq!(size.libraries, Some(3));
                let sum: u64 = own.iter().map(bytes).sum();
                assert_eq!(size.with_libraries, Some(size.bytes + sum), "{path:?}");
                libraries.extend(own);
            }
            _ => assert_eq!((size.libraries, size.with_libraries), (None, None)),
        }
        assert!(size.missing.is_empty());
    }
    assert_eq!(found.libraries.files, libraries.len() as u64);
    assert_eq!(
        found.libraries.bytes,
        libraries.iter().map(bytes).sum::<u64>()
    );
    // The largest first.
    assert!(found.programs.is_sorted_by(|a, b| a.bytes >= b.bytes));
}

#[test]
fn the_smallest_program_is_one_page_and_one_segment() {
    let found = survey(&[&program("true")]);
    let [size] = &found.programs[..] else {
        panic!("{found:?}")
    };
    assert_eq!(size.kind, Kind::Static);
    assert_eq!(size.bytes, bytes(program("true")));
    assert_eq!(
        (size.segments, size.memory_pages, size.file_pages),
        (1, 1, 1)
    );
}

#[test]
fn kinds_have_their_quartiles_and_totals() {
    let folder = folder("sizes-kinds");
    let first = compile(folder.join("a"), &["-static", "-no-pie"]);
    let mut all = vec![bytes(&first)];
    // The same program with so many more bytes behind it: the kernel does not mind.
    for (name, more) in [("b", 1000), ("c", 5000), ("d", 70_000)] {
        let mut text = fs::read(&first).unwrap();
        text.resize(text.len() + more, 0);
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        all.push(bytes(&path));
    }
    let found = survey(&[&folder]);
    let [kind] = &found.kinds[..] else {
        panic!("{:?}", found.kinds)
    };
    assert_eq!((kind.kind, kind.programs), (Kind::Static, 4));
    let spread = kind.bytes;
    assert_eq!(spread.total, all.iter().sum::<u64>());
    let between = |low: usize, quarters: u64| all[low] + (all[low + 1] - all[low]) * quarters / 4;
    assert_eq!([spread.least, spread.most], [all[0], all[3]]);
    assert_eq!(
        [spread.first_quartile, spread.median, spread.third_quartile],
        [between(0, 3), between(1, 2), between(2, 1)]
    );
    // Of one and the same program.
    assert_eq!(kind.segments.least, kind.segments.most);
    assert_eq!(kind.memory_pages.total, 4 * kind.memory_pages.median);
    assert_eq!(kind.with_libraries, None);
}

#[test]
fn pairs_are_found_by_their_names() {
    let folder = folder("sizes-pairs");
    let make = |path: &str, flags: &[&str]| compile(folder.join(path), flags);
    let dynamic = [
        "bin/bash",
        "bin/sh",
        "bin/busybox",
        "dyn/true",
        "other/bash",
        "bin/lone",
    ];
    let dynamic = dynamic.map(|path| make(path, &["-pie"]));
    let ways = [
        ("bin/bash-static", "bash", 0, "-static"),
        ("bin/busybox.static", "busybox", 2, "-static-pie"),
        ("other/static-sh", "sh", 1, "-static"),
        ("static/true", "true", 3, "-static"),
    ];
    let fixed = ways.map(|(path, _, _, flag)| make(path, &[flag]));
    // Static, and nothing else of that name.
    make("bin/alone-static", &["-static"]);
    let found = survey(&[&folder]);
    assert_eq!(found.pairs.len(), ways.len(), "{:?}", found.pairs);
    for (pair, ((_, name, index, _), path)) in found.pairs.iter().zip(ways.iter().zip(&fixed)) {
        assert_eq!(pair.name, *name);
        assert_eq!(&pair.fixed, of(&found, path));
        assert_eq!(&pair.dynamic, of(&found, &dynamic[*index]), "{name}");
        let own = bytes(path) as f64;
        assert_eq!(pair.to_dynamic, own / bytes(&dynamic[*index]) as f64);
        let whole = pair.dynamic.with_libraries.unwrap();
        assert!(whole > pair.dynamic.bytes);
        assert_eq!(pair.to_dynamic_with_libraries, Some(own / whole as f64));
    }
    // By two folders that are named, as well.
    let found = survey(&[&folder.join("dyn"), &folder.join("static")]);
    assert_eq!(found.pairs.len(), 1);
    // Neither does one of them make a pair.
    assert!(survey(&[&folder.join("dyn")]).pairs.is_empty());
}

#[test]
fn what_is_no_program_is_counted_and_what_cannot_be_read_is_named() {
    let folder = folder("sizes-others");
    let program = compile(folder.join("program"), &[]);
    symlink(&program, folder.join("link")).unwrap();
    fs::hard_link(&program, folder.join("same")).unwrap();
    let executable = |name: &str, text: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    executable("script", b"#!/bin/sh\n");
    let damaged = executable("damaged", &fs::read(&program).unwrap()[..1000]);
    let found = survey(&[&folder]);
    // The program once, by whichever of its names.
    assert_eq!(found.programs.len(), 1, "{found:?}");
    assert_eq!(found.others, 2);
    let [unread] = &found.unread[..] else {
        panic!("{:?}", found.unread)
    };
    assert_eq!(unread.path, damaged);
}

#[test]
fn a_program_that_lacks_a_library_has_no_sum_with_libraries() {
    let folder = folder("sizes-lacks");
    let source = folder.join("one.c");
    fs::write(&source, "int one(void) { return 1; }\n").unwrap();
    let library = folder.join("libgone.so");
    let mut gcc = Command::new("gcc");
    succeed(
        gcc.args(["-shared", "-fPIC", "-o"])
            .arg(&library)
            .arg(&source),
    );
    let flags = ["-Wl,--no-as-needed", library.to_str().unwrap()];
    let path = compile(folder.join("bin/lacks"), &flags);
    fs::remove_file(library).unwrap();
    let found = survey(&[&folder.join("bin")]);
    let size = of(&found, &path);
    assert_eq!(size.with_libraries, None);
    let [missing] = &size.missing[..] else {
        panic!("{size:?}")
    };
    assert!(
        missing.to_str().unwrap().ends_with("libgone.so"),
        "{missing:?}"
    );
    assert_eq!(found.kinds[0].with_libraries, None);
}

#[test]
fn an_empty_folder_has_no_program_and_one_that_is_not_there_is_an_error() {
    let folder = folder("sizes-empty");
    let found = survey(&[&folder]);
    assert!(found.programs.is_empty() && found.kinds.is_empty() && found.pairs.is_empty());
    assert_eq!(
        (found.others, found.libraries.files, found.libraries.bytes),
        (0, 0, 0)
    );
    cargo_bin_cmd!("barest")
        .args(["survey", "sizes"])
        .arg(&folder)
        .assert()
        .success()
        .stdout(predicate::str::starts_with("No program: of 0 files"));
    cargo_bin_cmd!("barest")
        .args(["survey", "sizes"])
        .arg(folder.join("nowhere"))
        .assert()
        .code(2)
        .stdout("")
        .stderr(
            predicate::str::contains("nowhere")
                .and(predicate::function(|text: &str| text.lines().count() == 1)),
        );
}

#[test]
fn the_command_has_a_table_a_row_for_each_program_in_csv_json_and_a_figure() {
    let folder = folder("sizes-command");
    let dynamic = compile(folder.join("dyn/hello"), &["-pie"]);
    let fixed = compile(folder.join("static/hello"), &["-static", "-no-pie"]);
    let run = |args: &[&str]| {
        let mut command = cargo_bin_cmd!("barest");
        let output = command
            .args(["survey", "sizes"])
            .arg(folder.join("dyn"))
            .arg(folder.join("static"))
            .args(args)
            .assert()
            .success();
        String::from_utf8(output.get_output().stdout.clone()).unwrap()
    };
    let csv = run(&["--format", "csv"]);
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 3, "{csv}");
    assert_eq!(rows[0][..3], ["program", "kind", "bytes"]);
    for (path, kind, row) in [
        (&fixed, "static", &rows[1]),
        (&dynamic, "dynamic", &rows[2]),
    ] {
        let wanted = [path.to_str().unwrap(), kind, &bytes(path).to_string()];
        assert_eq!(row[..3], wanted);
    }

    let text = run(&[]);
    let times = bytes(&fixed) as f64 / bytes(&dynamic) as f64;
    for words in [
        "bytes with libraries",
        "pages in memory",
        &format!("a program's file is {times:.1} times the dynamic one"),
        "(median of 1 pair)",
        "Pages are of 4096 bytes.",
        "2 programs; 0 files beside them may be executed",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }

    let plot = folder.join("sizes.svg");
    let json: Value = serde_json::from_str(&run(&[
        "--format",
        "json",
        "--plot",
        plot.to_str().unwrap(),
    ]))
    .unwrap();
    assert_eq!(json["schema"], "barest.survey-sizes/1");
    let facts = &json["facts"][0];
    assert_eq!(facts["page"], 4096);
    assert_eq!(facts["programs"][0]["kind"], "static");
    assert_eq!(facts["programs"][0]["bytes"], bytes(&fixed));
    assert_eq!(facts["kinds"][0]["kind"], "dynamic");
    assert_eq!(facts["pairs"][0]["static"]["path"], fixed.to_str().unwrap());
    assert!(fs::read_to_string(plot).unwrap().starts_with("<svg"));
}
