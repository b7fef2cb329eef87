//! `survey aslr`: how far the addresses of programs move that were linked in each way.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use assert_cmd::cargo::{cargo_bin, cargo_bin_cmd};
use barest::image::Linkage;
use barest::start::{Moved, Place};
use barest::survey::aslr::{Aslr, aslr};
use barest::{Error, Subject};
use predicates::prelude::*;
use serde_json::Value;

mod common;
use common::{folder, program, succeed};

/// So many starts: enough that chance fails no test ([`moves`]).
const STARTS: usize = 40;

fn survey(subject: &Subject) -> Aslr {
    aslr(subject, STARTS, &|_| {}).unwrap_or_else(|error| panic!("{error}"))
}

fn part(seen: &Aslr, what: Place) -> &Moved {
    let part = seen.parts.iter().find(|part| part.what == what);
    part.unwrap_or_else(|| panic!("{what:?}: {seen:?}"))
}

/// A part that moves. Of 8 bits, the fewest that a machine is set to by default
/// (vm.mmap_rnd_compat_bits), 40 starts draw 9 or fewer different bases with a probability of at
/// most (256 choose 9) * (9/256)^40, less than 10^-40; of more bits, less often still.
fn moves(moved: &Moved) {
    assert!(moved.distinct >= 10, "{moved:?}");
}

fn stays(moved: &Moved) {
    assert_eq!((moved.distinct, moved.bits), (1, 0), "{moved:?}");
}

/// Compiles a text of C.
fn compile(folder: &Path, name: &str, text: &str, compiler: &str, flags: &[&str]) -> PathBuf {
    let source = folder.join(format!("{name}.c"));
    fs::write(&source, text).unwrap();
    let out = folder.join(name);
    succeed(
        Command::new(compiler)
            .arg("-o")
            .arg(&out)
            .arg(&source)
            .args(flags),
    );
    out
}

const MAIN: &str = "int main(void) { return 0; }\n";

fn linked(folder: &Path, name: &str, flags: &[&str]) -> Subject {
    Subject::new(compile(folder, name, MAIN, "gcc", flags))
}

/// Whether this machine moves anything at all: the tests say what the default does.
#[test]
fn this_machine_draws_addresses() {
    let level = fs::read_to_string("/proc/sys/kernel/randomize_va_space").unwrap();
    assert_eq!(level.trim(), "2", "sysctl kernel.randomize_va_space=2");
}

#[test]
fn a_static_program_has_one_base_and_its_stack_and_vdso_many() {
    let folder = folder("aslr-static");
    for subject in [
        linked(&folder, "static", &["-static", "-no-pie"]),
        Subject::new(program("true")),
    ] {
        let seen = survey(&subject);
        assert_eq!(seen.starts, STARTS);
        assert_eq!(seen.linkage, Some(Linkage::Static));
        assert_eq!((seen.pie, seen.together), (Some(false), None));
        assert!(seen.libraries.is_empty());
        stays(part(&seen, Place::Program));
        assert!(seen.parts.iter().all(|it| it.what != Place::Interpreter));
        for what in [
            Place::Vdso,
            Place::Heap,
            Place::StackEnd,
            Place::StackPointer,
        ] {
            moves(part(&seen, what));
        }
    }
}

#[test]
fn a_static_pie_moves_as_a_dynamic_one_does() {
    let folder = folder("aslr-static-pie");
    let seen = survey(&linked(&folder, "static-pie", &["-static-pie"]));
    assert_eq!(
        (seen.linkage, seen.pie),
        (Some(Linkage::StaticPie), Some(true))
    );
    assert!(seen.libraries.is_empty());
    let own = part(&seen, Place::Program).clone();
    moves(&own);
    let seen = survey(&linked(&folder, "dynamic", &["-pie"]));
    assert_eq!(seen.linkage, Some(Linkage::Dynamic));
    let other = part(&seen, Place::Program);
    moves(other);
    // Off by 1.5 bits is all bases in 0.35 of their range: less than 40^2 * 0.35^38, or 10^-14.
    let (own, other) = (own.bits_by_spread.unwrap(), other.bits_by_spread.unwrap());
    assert!((own - other).abs() < 1.5, "{own} {other}");
}

#[test]
fn a_dynamic_program_has_its_libraries_as_the_loader_maps_them() {
    let folder = folder("aslr-dynamic");
    for (name, flag, pie) in [("pie", "-pie", true), ("no-pie", "-no-pie", false)] {
        // libm is loaded though nothing of it is used.
        let flags = [flag, "-Wl,--no-as-needed", "-lm"];
        let subject = linked(&folder, name, &flags);
        let seen = survey(&subject);
        assert_eq!(
            (seen.linkage, seen.pie),
            (Some(Linkage::Dynamic), Some(pie))
        );
        let mut names: Vec<&OsStr> = seen
            .libraries
            .iter()
            .map(|library| library.path.file_name().unwrap())
            .collect();
        names.sort_unstable();
        assert_eq!(names, ["libc.so.6", "libm.so.6"]);
        for library in &seen.libraries {
            moves(&library.moved);
            assert_eq!(library.moved.what, Place::Library);
        }
        moves(part(&seen, Place::Interpreter));
        match pie {
            true => moves(part(&seen, Place::Program)),
            false => stays(part(&seen, Place::Program)),
        }
        // mmap(2) gives the place below what was mapped last: one base for all of them.
        assert_eq!(seen.together, Some(true));
        let library = &seen.libraries[0].moved;
        assert_eq!(library.distinct, part(&seen, Place::Interpreter).distinct);
        assert_eq!(seen.notes, [""; 0]);
    }
}

#[test]
fn a_32_bit_program_draws_fewer_bits() {
    let folder = folder("aslr-32");
    let seen = survey(&linked(&folder, "narrow", &["-m32", "-pie"]));
    assert_eq!(seen.bits, 32);
    assert_eq!(seen.linkage, Some(Linkage::Dynamic));
    for what in [Place::Program, Place::Interpreter, Place::StackEnd] {
        moves(part(&seen, what));
    }
    assert_eq!(seen.libraries.len(), 1);
    moves(&seen.libraries[0].moved);
    if let Some(drawn) = seen.mmap_rnd_bits {
        let by_spread = part(&seen, Place::Program).bits_by_spread.unwrap();
        assert!((by_spread - f64::from(drawn)).abs() < 1.5, "{by_spread}");
    }
}

#[test]
fn a_static_pie_of_musl_moves() {
    let folder = folder("aslr-musl");
    // musl-gcc -static-pie makes a dynamic program. So the linker is told what gcc would tell it,
    // and to begin with musl's own rcrt1.o, which is where Scrt1.o is.
    let said = Command::new("musl-gcc")
        .args(["-###", "-x", "c", "/dev/null"])
        .output();
    let said = String::from_utf8(said.unwrap().stderr).unwrap();
    let mut words = said.split_whitespace();
    let start = words.find(|word| word.ends_with("/Scrt1.o")).unwrap();
    let start = start.replace("Scrt1.o", "rcrt1.o");
    let linker = "-Wl,-pie,--no-dynamic-linker,-z,text";
    let flags = ["-fPIE", "-static", "-nostartfiles", linker, &start];
    let path = compile(&folder, "musl", MAIN, "musl-gcc", &flags);
    let seen = survey(&Subject::new(path));
    assert_eq!(seen.linkage, Some(Linkage::StaticPie));
    assert!(seen.libraries.is_empty());
    moves(part(&seen, Place::Program));
}

#[test]
fn initializers_of_libraries_run_and_main_does_not() {
    let folder = folder("aslr-initializers");
    let writes = |name: &str| {
        format!(
            "#include <fcntl.h>\n#include <unistd.h>\n\
             static void say(void) {{ close(open(\"{}/{name}\", O_CREAT | O_WRONLY, 0600)); }}\n",
            folder.display()
        )
    };
    let library = writes("library")
        + "__attribute__((constructor)) static void begin(void) { say(); }\nint one(void) { return 1; }\n";
    let library = compile(&folder, "libone.so", &library, "gcc", &["-shared", "-fPIC"]);
    let text = writes("program")
        + "int one(void);\n__attribute__((constructor)) static void begin(void) { say(); }\n\
           int main(void) { say(); return one(); }\n";
    let rpath = format!("-Wl,-rpath,{}", folder.display());
    let flags = [library.to_str().unwrap(), &rpath];
    let path = compile(&folder, "prog", &text, "gcc", &flags);
    let seen = survey(&Subject::new(&path));
    assert!(folder.join("library").exists(), "the loader has not run");
    assert!(!folder.join("program").exists(), "the program has run");
    assert!(seen.libraries.iter().any(|it| it.path == library));
    assert_eq!(left(&path), 0);
    // It would have.
    let _ = Command::new(&path).status().unwrap();
    assert!(folder.join("program").exists());
}

/// How many processes run this program.
fn left(path: &Path) -> usize {
    let processes = fs::read_dir("/proc").unwrap();
    let exe = |entry: fs::DirEntry| fs::read_link(entry.path().join("exe")).ok();
    processes
        .filter_map(|entry| exe(entry.unwrap()))
        .filter(|exe| exe == path)
        .count()
}

/// A program whose library never lets the loader come to an end, and a file that tells when it is
/// there.
fn endless(folder: &Path) -> (PathBuf, PathBuf) {
    let mark = folder.join("there");
    let text = format!(
        "#include <fcntl.h>\n#include <unistd.h>\n\
         __attribute__((constructor)) static void begin(void) {{\n\
         fork();\nclose(open(\"{}\", O_CREAT | O_WRONLY, 0600));\nfor (;;) pause();\n}}\n\
         int one(void) {{ return 1; }}\n",
        mark.display()
    );
    let library = compile(folder, "libone.so", &text, "gcc", &["-shared", "-fPIC"]);
    let text = "int one(void);\nint main(void) { return one(); }\n";
    let rpath = format!("-Wl,-rpath,{}", folder.display());
    let path = compile(
        folder,
        "endless",
        text,
        "gcc",
        &[library.to_str().unwrap(), &rpath],
    );
    (path, mark)
}

#[test]
fn a_loader_that_does_not_come_to_an_end_is_killed_when_its_time_is_up() {
    let (path, mark) = endless(&folder("aslr-endless"));
    let subject = Subject::new(&path).timeout(Duration::from_millis(300));
    let failed = aslr(&subject, STARTS, &|_| {});
    assert!(matches!(failed, Err(Error::TimedOut { .. })), "{failed:?}");
    assert!(mark.exists());
    assert_eq!(left(&path), 0);
}

#[test]
fn nothing_is_left_of_a_survey_that_is_killed() {
    for (name, signal) in [("int", libc::SIGINT), ("kill", libc::SIGKILL)] {
        let (path, mark) = endless(&folder(&format!("aslr-signal-{name}")));
        let mut kit = Command::new(cargo_bin!("barest"))
            .args(["survey", "aslr", "--"])
            .arg(&path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while !mark.exists() {
            assert!(kit.try_wait().unwrap().is_none());
            std::thread::sleep(Duration::from_millis(5));
        }
        // SAFETY: two numbers; the child has not been reaped.
        assert_eq!(unsafe { libc::kill(kit.id() as i32, signal) }, 0);
        kit.wait().unwrap();
        // They are killed by the kernel as their tracer ends, a moment later.
        let mut tries = 0..1000;
        while left(&path) > 0 && tries.next().is_some() {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(left(&path), 0, "{name}");
    }
}

#[test]
fn without_randomization_nothing_moves_and_that_is_said() {
    let folder = folder("aslr-off");
    let path = compile(&folder, "pie", MAIN, "gcc", &["-pie"]);
    let run = |format: &str| {
        let mut command = Command::new("setarch");
        command
            .arg("-R")
            .arg(cargo_bin!("barest"))
            .args(["survey", "aslr", "--repeat", "5", "--format", format, "--"])
            .arg(&path);
        succeed(&mut command)
    };
    let json: Value = serde_json::from_str(&run("json")).unwrap();
    let facts = &json["facts"][0];
    assert_eq!(facts["randomized"], false);
    let parts = facts["parts"].as_array().unwrap().iter();
    let all: Vec<&Value> = parts
        .chain(facts["libraries"].as_array().unwrap())
        .collect();
    // Program, loader, vDSO, heap, both ends of the stack, libc.
    assert_eq!(all.len(), 7);
    for moved in all {
        assert_eq!((&moved["distinct"], &moved["bits"]), (&1.into(), &0.into()));
    }
    let text = run("table");
    assert!(text.contains("not random here"), "{text}");
}

#[test]
fn a_program_that_lacks_a_library_is_an_error_that_names_it() {
    let folder = folder("aslr-lacks");
    let library = compile(
        &folder,
        "libgone.so",
        "int one(void) { return 1; }\n",
        "gcc",
        &["-shared", "-fPIC"],
    );
    let text = "int one(void);\nint main(void) { return one(); }\n";
    let path = compile(
        &folder,
        "lacks",
        text,
        "gcc",
        &[&format!("-L{}", folder.display()), "-l:libgone.so"],
    );
    fs::remove_file(library).unwrap();
    let failed = aslr(&Subject::new(&path), STARTS, &|_| {}).unwrap_err();
    let text = failed.to_string();
    assert!(
        text.contains("exited with 127 before its own first instruction")
            && text.contains("libgone.so"),
        "{text}"
    );
    assert!(!text.contains('\n'), "{text}");
    cargo_bin_cmd!("barest")
        .args(["survey", "aslr", "--"])
        .arg(&path)
        .assert()
        .code(2)
        .stdout("")
        .stderr(predicate::str::contains("libgone.so"));
}

#[test]
fn a_library_that_executes_another_program_is_an_error() {
    let folder = folder("aslr-exec");
    let text = "#include <unistd.h>\n\
                __attribute__((constructor)) static void begin(void) { execl(\"/bin/true\", \"true\", (char *)0); }\n\
                int one(void) { return 1; }\n";
    let library = compile(&folder, "libone.so", text, "gcc", &["-shared", "-fPIC"]);
    let rpath = format!("-Wl,-rpath,{}", folder.display());
    let path = compile(
        &folder,
        "again",
        "int one(void);\nint main(void) { return one(); }\n",
        "gcc",
        &[library.to_str().unwrap(), &rpath],
    );
    let failed = aslr(&Subject::new(path), STARTS, &|_| {}).unwrap_err();
    let text = failed.to_string();
    assert!(text.contains("executes another program"), "{text}");
}

#[test]
fn of_a_script_it_is_the_interpreter_and_that_is_said() {
    let path = folder("aslr-script").join("script");
    fs::write(&path, "#!/bin/sh -e\nexit 3\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let seen = survey(&Subject::new(&path));
    assert_eq!(seen.program, path);
    assert_eq!(seen.loaded, fs::canonicalize("/bin/sh").unwrap());
    let [note] = &seen.notes[..] else {
        panic!("{:?}", seen.notes)
    };
    assert!(note.contains("#!/bin/sh -e"), "{note}");
}

#[test]
fn a_program_with_more_rights_than_its_caller_is_noted() {
    // Of root's own there are none to gain: then it is AT_SECURE alone that tells.
    let path = folder("aslr-setuid").join("true");
    fs::copy("/bin/true", &path).unwrap();
    // SAFETY: asks for a number.
    let root = unsafe { libc::geteuid() == 0 };
    if root {
        std::os::unix::fs::chown(&path, Some(65534), Some(65534)).unwrap();
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o4755)).unwrap();
    let seen = survey(&Subject::new(&path));
    assert_eq!(
        seen.notes.iter().any(|note| note.contains("set-user-ID")),
        root,
        "{:?}",
        seen.notes
    );
}

#[test]
fn the_command_shows_a_row_for_each_part_and_answers() {
    let folder = folder("aslr-command");
    let text = |name: &str, flags: &[&str]| {
        let path = compile(&folder, name, MAIN, "gcc", flags);
        path.into_os_string().into_string().unwrap()
    };
    let programs = [
        text("pie", &["-pie"]),
        text("fixed", &["-no-pie"]),
        text("static", &["-static", "-no-pie"]),
        text("static-pie", &["-static-pie"]),
    ];
    let output = cargo_bin_cmd!("barest")
        .args(["survey", "aslr", "--repeat", "50", "--format", "csv"])
        .args(&programs)
        .assert()
        .success();
    let csv = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let own: Vec<[&str; 3]> = rows
        .iter()
        .filter(|row| row[2] == "program")
        .map(|row| [row[1], row[3], row[4]])
        .collect();
    let [pie, fixed, of_static, static_pie] = &own[..] else {
        panic!("{csv}");
    };
    assert_eq!([pie[0], pie[2]], ["dynamic PIE", "50"]);
    assert_eq!(of_static, &["static fixed", "1", "50"]);
    assert_eq!(fixed, &["dynamic fixed", "1", "50"]);
    assert_eq!([static_pie[0], static_pie[2]], ["static-PIE", "50"]);
    assert_ne!(pie[1], "1");
    assert_ne!(static_pie[1], "1");

    let output = cargo_bin_cmd!("barest")
        .args(["survey", "aslr", "--repeat", "50"])
        .args(&programs)
        .assert()
        .success();
    let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    for words in [
        "Static linking does not prevent ASLR",
        "It is PIE that lets a program move",
        "loader and its library, together",
        "was started 50 times",
        "kernel.randomize_va_space is 2",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn help_says_that_the_subjects_are_run() {
    for help in ["-h", "--help"] {
        cargo_bin_cmd!("barest")
            .args(["survey", "aslr", help])
            .assert()
            .success()
            .stdout(predicate::str::contains("it runs its subjects"));
    }
}

#[test]
fn json_has_a_schema_and_a_figure_is_drawn() {
    let folder = folder("aslr-json");
    let plot = folder.join("aslr.svg");
    let output = cargo_bin_cmd!("barest")
        .args([
            "survey", "aslr", "--repeat", "3", "--format", "json", "--plot",
        ])
        .arg(&plot)
        .args(["/no/such/program", "/bin/true"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("/no/such/program: not found"));
    let json: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    assert_eq!(json["schema"], "barest.survey-aslr/1");
    let facts = &json["facts"][0];
    assert_eq!((&facts["starts"], &facts["bits"]), (&3.into(), &64.into()));
    assert_eq!(facts["linkage"], "dynamic");
    let parts = facts["parts"].as_array().unwrap();
    assert_eq!(parts[0]["what"], "program");
    let lowest = parts[0]["lowest"].as_str().unwrap();
    assert!(lowest.starts_with("0x"), "{lowest}");
    let library = &facts["libraries"][0];
    assert_eq!(library["what"], "library");
    assert!(library["path"].as_str().unwrap().starts_with('/'));
    assert!(fs::read_to_string(plot).unwrap().starts_with("<svg"));
}

#[test]
fn a_wrong_number_of_starts_is_refused() {
    for repeat in ["0", "1", "many"] {
        cargo_bin_cmd!("barest")
            .args(["survey", "aslr", "--repeat", repeat, "/bin/true"])
            .assert()
            .code(2)
            .stdout("");
    }
    cargo_bin_cmd!("barest")
        .args(["survey", "aslr"])
        .assert()
        .code(2);
}
