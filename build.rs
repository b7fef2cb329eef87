//! Compiles the engines of baked launchers into the kit.
//!
//! `barest bake` writes a launcher without a compiler: it puts what is to be done behind a program
//! that is finished, an engine (bins/baked). So the engines are compiled when the kit is, and the
//! kit has them in itself. Cargo cannot do that: it has no way to build programs by one profile for
//! a package of another. This calls rustc as cargo does for bins/, by the profile `bare`.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

use linker_scripts::{ASIDE, IMAGE, Layout, arguments};

/// The libraries, each with those that it is built on.
const LIBRARIES: [(&str, &str, &[&str]); 3] = [
    ("mem", "shims/mem/lib.rs", &[]),
    ("shims", "shims/src/lib.rs", &["mem"]),
    ("launcher", "launcher/src/lib.rs", &["shims"]),
];

/// The engines: what each is called, its source, what it is configured by, and where it is mapped.
const ENGINES: [(&str, &str, Option<&str>, u32); 4] = [
    ("exec", "bins/baked/exec.rs", None, IMAGE),
    ("few", "bins/baked/few.rs", None, IMAGE),
    ("arguments", "bins/baked/few.rs", Some("arguments"), IMAGE),
    ("all", "bins/baked/all.rs", None, ASIDE),
];

fn main() {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    for part in ["shims", "launcher", "bins/baked"] {
        println!("cargo::rerun-if-changed={}", root.join(part).display());
    }
    println!("cargo::rerun-if-changed=build.rs");
    println!(
        "cargo::rerun-if-changed={}",
        linker_scripts::folder().display()
    );

    let rustc = Rustc {
        root: &root,
        out: &PathBuf::from(variable("OUT_DIR")),
    };
    for (name, source, on) in LIBRARIES {
        let mut command = rustc.command(name, source, "rlib");
        for library in on {
            command.arg("--extern").arg(library);
            // The feature of `shims` that is on by default.
            if *library == "mem" {
                command.args(["--cfg", r#"feature="mem""#]);
            }
        }
        run(command, source);
    }
    for (name, source, with, image) in ENGINES {
        let mut command = rustc.command(name, source, "bin");
        command.args(["--extern", "shims", "--extern", "launcher"]);
        command.args(["-C", "lto=fat"]);
        if let Some(with) = with {
            command.args(["--cfg", with]);
        }
        if let Some(linker) = env::var_os("RUSTC_LINKER") {
            let mut option = OsString::from("linker=");
            option.push(linker);
            command.arg("-C").arg(option);
        }
        for argument in arguments(Layout::Bare, image) {
            command.arg("-C").arg(format!("link-arg={argument}"));
        }
        run(command, source);
    }
}

/// The compiler, as for the profile `bare` of Cargo.toml.
struct Rustc<'a> {
    root: &'a Path,
    out: &'a Path,
}

impl Rustc<'_> {
    /// The command that compiles `source` as a crate of that name and type.
    fn command(&self, name: &str, source: &str, kind: &str) -> Command {
        let mut command = Command::new(variable("RUSTC"));
        command
            .args(["--crate-name", name, "--crate-type", kind])
            .args(["--edition", "2024"])
            .args(["-C", "opt-level=z"])
            .args(["-C", "panic=abort"])
            .args(["-C", "codegen-units=1"])
            .args(["-C", "strip=symbols"])
            // Where the image is mapped is known, so no table of addresses is looked up.
            .args(["-C", "relocation-model=static"])
            // cargo, as it builds bins/, says what there is to say.
            .args(["--cap-lints", "allow"])
            .arg("-L")
            .arg(self.out)
            .arg("--out-dir")
            .arg(self.out)
            .arg(self.root.join(source))
            .current_dir(self.root);
        command
    }
}

/// Runs a compiler, which prints what is wrong.
fn run(mut command: Command, source: &str) {
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => fail(&format!("{source} was not compiled: rustc: {status}")),
        Err(error) => fail(&format!("{:?}: {error}", command.get_program())),
    }
}

/// What cargo tells a build script.
fn variable(name: &str) -> OsString {
    env::var_os(name).unwrap_or_else(|| fail(&format!("{name} is not set: run cargo")))
}

fn fail(why: &str) -> ! {
    println!("cargo::error=engines of `barest bake`: {why}");
    exit(1)
}
