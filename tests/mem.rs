//! `memcpy` and its kin: right by a plain model, at every opt-level, and never a call of itself.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use assert_cmd::assert::OutputAssertExt;
use barest::Subject;
use common::outside::{BUILD, MANIFEST, Outside};
use common::{folder, succeed};
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget};

const LEVELS: [&str; 6] = ["0", "1", "2", "3", "s", "z"];

const FUNCTIONS: [&str; 6] = ["memcpy", "memmove", "memset", "memcmp", "bcmp", "strlen"];

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/shims/mem/lib.rs");

fn rustc() -> Command {
    Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

#[test]
fn each_function_agrees_with_a_plain_model_at_every_opt_level() {
    let folder = folder("mem_model");
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/subjects/mem_model.rs");
    for level in LEVELS {
        let library = folder.join(format!("libmem_{level}.rlib"));
        compile(level, &library, &["--crate-type", "rlib"]);
        let program = folder.join(format!("model_{level}"));
        succeed(
            rustc()
                .args(["--edition", "2024", "-C", "opt-level=2", model, "--extern"])
                .arg(format!("mem={}", library.display()))
                .arg("-o")
                .arg(&program),
        );
        Command::new(program)
            .assert()
            .success()
            .stdout("355481 comparisons\n");
    }
}

/// The functions' own code, as an object file.
fn object_file(level: &str) -> PathBuf {
    let file = folder(&format!("mem_object_{level}")).join("mem.o");
    let options = [
        "--crate-type",
        "lib",
        "--emit",
        "obj",
        "-Cpanic=abort",
        "-Ccodegen-units=1",
    ];
    compile(level, &file, &options);
    file
}

/// Compiles the crate of these functions, as cargo does.
fn compile(level: &str, output: &Path, options: &[&str]) {
    succeed(
        rustc()
            .args(["--edition", "2024", "--crate-name", "mem", SOURCE])
            .arg(format!("-Copt-level={level}"))
            .args(options)
            .arg("-o")
            .arg(output),
    );
}

#[test]
fn none_of_them_calls_itself_or_one_that_calls_it_at_any_opt_level() {
    for level in LEVELS {
        let bytes = fs::read(object_file(level)).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        for name in FUNCTIONS {
            let function = file.symbol_by_name(name).unwrap();
            let section = file
                .section_by_index(function.section_index().unwrap())
                .unwrap();
            let body = function.address()..function.address() + function.size();
            assert!(!body.is_empty(), "{level}: {name}");
            for (at, relocation) in section.relocations() {
                let RelocationTarget::Symbol(index) = relocation.target() else {
                    continue;
                };
                let called = file.symbol_by_index(index).unwrap().name().unwrap();
                // These two are said to call these two; nothing else calls one of the family.
                let allowed = matches!((name, called), ("memmove", "memcpy") | ("bcmp", "memcmp"));
                assert!(
                    !body.contains(&at) || allowed || !FUNCTIONS.contains(&called),
                    "{level}: {name} calls {called}"
                );
            }
        }
    }
}

#[test]
fn what_the_compiler_makes_calls_of_just_links_and_works_in_any_program() {
    let main = r#"#![no_std]
#![no_main]
use core::hint::black_box;
use shims::{Stack, call};

shims::entry!(main);

#[derive(Clone, Copy, PartialEq)]
struct Large([u64; 100]);

/// Sixteen bytes that the compiler stores by an instruction that faults where they are not
/// aligned to sixteen.
#[repr(align(16))]
struct Aligned([f32; 4]);

fn main(stack: Stack) -> u8 {
    let zeroed = black_box(Large([0; 100]));
    let mut copy = black_box(zeroed);
    copy.0[stack.argc()] = 1;
    let moved = black_box(copy);
    let same = black_box(moved == copy && moved != zeroed);
    let text = b"some text\0";
    let length = black_box(text).iter().position(|&byte| byte == 0).unwrap_or(0);
    let name = stack.args().next().map_or(0, |name| name.to_bytes().len());
    let aligned = black_box(Aligned([1.0, 2.0, 3.0, 4.0]));
    let address = (&raw const aligned).addr();
    let sum: f32 = aligned.0.iter().sum();
    let right = same && length == 9 && name > 0 && address % 16 == 0 && sum == 10.0;
    if right { call::write_all(call::STDOUT, b"right\n").is_err().into() } else { 1 }
}
"#;
    let outside = Outside::new(MANIFEST, BUILD, main);
    for level in LEVELS {
        let level = if level.parse::<u8>().is_ok() {
            level.to_owned()
        } else {
            format!("\"{level}\"")
        };
        for lto in ["true", "false"] {
            let manifest = MANIFEST
                .replace("opt-level = \"z\"", &format!("opt-level = {level}"))
                .replace("lto = true", &format!("lto = {lto}"));
            fs::write(outside.folder().join("Cargo.toml"), manifest).unwrap();
            let mine = outside.program(&["--release"], "lld");
            Command::new(&mine).assert().success().stdout("right\n");
        }
    }
    let mine = outside.program(&[], "lld");
    Command::new(&mine).assert().success().stdout("right\n");
    let seen = barest::trace::trace(&Subject::new(mine)).unwrap();
    seen.assert(barest::assertions::exactly([
        "execve",
        "write",
        "exit_group",
    ]));
}
