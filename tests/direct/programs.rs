//! Programs as people have them, started in place.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::build::hello;
use crate::outcome::{Outcome, Way, say};

/// A program, and what it is to do. It must do the same each time.
struct Program {
    /// What it may be called; the first that is there is taken.
    names: &'static [&'static str],
    args: &'static [&'static str],
}

const fn program(names: &'static [&'static str], args: &'static [&'static str]) -> Program {
    Program { names, args }
}

/// Those that no machine with the tests' dependencies lacks.
const CORE: [Program; 14] = [
    program(&["ls"], &["-l", "/usr"]),
    program(&["cat"], &["/etc/passwd"]),
    program(&["sort"], &["/etc/passwd"]),
    program(
        &["bash"],
        &["-c", "for i in a b; do echo $i | cat; done; exit 3"],
    ),
    program(
        &["sh"],
        &["-c", "for i in a b; do echo $i | cat; done; exit 4"],
    ),
    program(&["sed"], &["-n", "s/root/ROOT/p", "/etc/passwd"]),
    program(&["awk"], &["BEGIN { print 1 / 3; exit 5 }"]),
    program(&["grep"], &["-c", "root", "/etc/passwd"]),
    program(&["find"], &["/etc", "-maxdepth", "1", "-name", "p*"]),
    program(&["tar"], &["-cf", "-", "/etc/passwd"]),
    program(&["env"], &[]),
    program(&["gcc"], &["-O2", "-S", "-o", "-", "HELLO.c"]),
    program(&["as"], &["--version"]),
    program(
        &["gdb"],
        &[
            "-nx",
            "-batch",
            "-ex",
            "print 6 * 7",
            "-ex",
            "info line main",
            "HELLO",
        ],
    ),
];

/// Those that not every machine has: interpreters, runtimes, large ones, some written in Go.
const OTHERS: [Program; 34] = [
    program(&["git"], &["-C", "REPOSITORY", "status", "--help"]),
    program(&["git"], &["hash-object", "/etc/passwd"]),
    program(&["dash"], &["-c", "echo hi; exit 3"]),
    program(&["zsh"], &["-fc", "echo hi; exit 3"]),
    program(&["busybox"], &["sh", "-c", "echo hi; exit 3"]),
    program(
        &["python3"],
        &[
            "-c",
            "import ssl, json, sys; print(ssl.OPENSSL_VERSION, sys.argv); sys.exit(3)",
            "a",
        ],
    ),
    program(
        &["python3"],
        &[
            "-c",
            "import ctypes, subprocess, threading; print(subprocess.run(['echo', 'hi']).returncode)",
        ],
    ),
    program(
        &["perl"],
        &["-MPOSIX", "-e", "print floor(2.5), \"\\n\"; exit 3"],
    ),
    program(&["ruby"], &["-e", "puts 1 + 1; exit 3"]),
    program(&["lua", "lua5.4", "lua5.3"], &["-e", "print(1 + 1)"]),
    program(&["tclsh"], &["/dev/null"]),
    program(
        &["node"],
        &[
            "-e",
            "console.log(1 + 1, process.argv.length); process.exit(3)",
        ],
    ),
    program(&["guile"], &["-c", "(display 2)"]),
    program(&["php"], &["-r", "echo 1 + 1;"]),
    program(
        &["docker", "gh", "kubectl", "go", "gofmt", "gosu"],
        &["--help"],
    ),
    program(&["rustc"], &["--version"]),
    program(&["clang"], &["--version"]),
    program(&["ld.bfd"], &["--version"]),
    program(&["ld.lld"], &["--version"]),
    program(&["mold"], &["--version"]),
    program(&["objdump"], &["-d", "HELLO"]),
    program(&["strace"], &["-qq", "-e", "trace=none", "HELLO"]),
    program(&["make"], &["--version"]),
    program(&["cmake"], &["--version"]),
    program(&["openssl"], &["dgst", "-sha256", "/etc/passwd"]),
    program(&["curl"], &["-s", "file:///etc/passwd"]),
    program(&["ssh"], &["-V"]),
    program(&["sqlite3"], &[":memory:", "select 1 + 1"]),
    program(&["jq"], &["-n", "1 + 1"]),
    program(&["vim"], &["--version"]),
    program(&["gzip"], &["-nc", "/etc/passwd"]),
    program(&["xz"], &["-c", "/etc/passwd"]),
    program(&["zstd"], &["-qc", "/etc/passwd"]),
    program(&["ldconfig"], &["-p"]),
];

/// Where a program is, in the PATH of who runs the tests; not a script, which would be its
/// interpreter's case.
fn find(names: &[&str]) -> Result<PathBuf, String> {
    let mut script = None;
    for name in names {
        for folder in env::split_paths(&env::var_os("PATH").unwrap()) {
            let path = folder.join(name);
            let Ok(file) = fs::read(&path) else { continue };
            if file.starts_with(b"\x7fELF") {
                return Ok(path);
            }
            script.get_or_insert(path);
        }
    }
    Err(match script {
        Some(path) => format!("{} is a script", path.display()),
        None => "not installed".to_owned(),
    })
}

/// Runs a program by execve, and twenty times in place. False: it is not here.
fn does_the_same(program: &Program) -> bool {
    let path = match find(program.names) {
        Ok(path) => path,
        Err(why) => {
            say(&format!("not tested: {}: {why}", program.names[0]));
            return false;
        }
    };
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/direct/hello.c");
    let args: Vec<_> = program
        .args
        .iter()
        .map(|&arg| match arg {
            "HELLO" => hello().to_str().unwrap(),
            "HELLO.c" => source,
            "REPOSITORY" => env!("CARGO_MANIFEST_DIR"),
            arg => arg,
        })
        .collect();
    let outcome = |way: Way| {
        let mut command = way.command(&path);
        // What a package in a home directory needs to find its parts.
        for name in ["PATH", "HOME"] {
            if let Some(value) = env::var_os(name) {
                command.env(name, value);
            }
        }
        Outcome::of(command.args(&args))
    };
    let alone = outcome(Way::Alone);
    for _ in 0..20 {
        assert_eq!(outcome(Way::Only), alone, "{} {args:?}", path.display());
    }
    true
}

#[test]
fn programs_that_every_machine_has_do_the_same_in_twenty_runs() {
    for program in &CORE {
        assert!(does_the_same(program), "{} is missing", program.names[0]);
    }
}

#[test]
fn programs_that_this_machine_has_do_the_same_in_twenty_runs() {
    let tested = OTHERS
        .iter()
        .filter(|program| does_the_same(program))
        .count();
    say(&format!(
        "{tested} of {} programs were tested",
        OTHERS.len()
    ));
}

/// python3 is often a script that finds one of several.
#[test]
fn the_python_behind_a_script_does_the_same() {
    let Ok(output) = Command::new("python3")
        .args(["-c", "import sys; print(sys.executable)"])
        .output()
    else {
        return say("not tested: python3: not installed");
    };
    let path = String::from_utf8(output.stdout).unwrap();
    let path = Path::new(path.trim());
    assert!(output.status.success() && path.is_file(), "{path:?}");
    let script = "import ssl, sys, sysconfig; print(ssl.OPENSSL_VERSION, sys.prefix); sys.exit(3)";
    let outcome = |way: Way| Outcome::of(way.command(path).args(["-c", script]));
    let alone = outcome(Way::Alone);
    assert_eq!(alone.status.code(), Some(3), "{alone:?}");
    for _ in 0..20 {
        assert_eq!(outcome(Way::Only), alone);
    }
}
