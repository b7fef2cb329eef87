//! The programs of this directory: C sources, compiled by the tests that run them.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use barest::Subject;
use barest::subject::FIXED_ENVIRONMENT;
use barest::trace::{Trace, trace};

/// A path that no other test uses, in a directory of this process; the next process
/// to come here removes it.
pub fn scratch(name: &str) -> PathBuf {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let directory = DIRECTORY.get_or_init(|| {
        let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("subjects");
        let own = all.join(std::process::id().to_string());
        fs::create_dir_all(&own).unwrap();
        for other in fs::read_dir(&all).unwrap() {
            let other = other.unwrap();
            if !Path::new("/proc").join(other.file_name()).exists() {
                // Another test may do the same at the same time.
                let _ = fs::remove_dir_all(other.path());
            }
        }
        own
    });
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    directory.join(format!("{name}-{number}"))
}

/// Compiles one of the programs in tests/subjects.
pub fn compile(name: &str, flags: &[&str]) -> PathBuf {
    let program = scratch(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/subjects/{name}.c"));
    let status = Command::new("gcc")
        .args(["-O1", "-Wall", "-Wextra", "-pthread", "-o"])
        .arg(&program)
        .arg(&source)
        .args(flags)
        .status()
        .expect("gcc is needed: apt-get install gcc libc6-dev");
    assert!(status.success(), "{} does not compile", source.display());
    program
}

pub fn subject(name: &str) -> Subject {
    Subject::new(compile(name, &[]))
}

/// A subject of those that write into the file named by OUT.
pub fn writing(name: &str) -> (Subject, PathBuf) {
    let out = scratch("out");
    let mut variable = OsString::from("OUT=");
    variable.push(&out);
    let environment = FIXED_ENVIRONMENT
        .map(OsString::from)
        .into_iter()
        .chain([variable]);
    (subject(name).environment(environment), out)
}

pub fn run(subject: &Subject) -> Trace {
    trace(subject).unwrap_or_else(|error| panic!("{error}"))
}

/// A subject under a program that runs others, as the kit would run it.
#[allow(dead_code, reason = "not every test does")]
pub fn untraced(runner: &mut Command, subject: &Subject) -> ExitStatus {
    let variables = subject.environment.iter().map(|variable| {
        let text = variable.to_str().unwrap();
        text.split_once('=').unwrap()
    });
    runner
        .args(&subject.argv[1..])
        .env_clear()
        .envs(variables)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // Whoever runs the tests may have signals ignored, and the subject does less about those.
    // SAFETY: system calls only.
    unsafe {
        runner.pre_exec(|| {
            for signal in 1..=libc::SIGRTMAX() {
                libc::signal(signal, libc::SIG_DFL);
            }
            Ok(())
        });
    }
    runner
        .status()
        .expect("strace is needed: apt-get install strace")
}
