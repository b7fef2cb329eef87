//! A program of one's own takes ten lines: those of the README, built in a folder elsewhere.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use assert_cmd::assert::OutputAssertExt;
use barest::Subject;
use barest::assertions::exactly;
use barest::trace::trace;
use common::outside::Outside;
use common::{cargo, succeed};
use tempfile::TempDir;

/// The files of the README's example: each a code block headed by its name.
fn readme() -> [String; 3] {
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    ["Cargo.toml", "build.rs", "src/main.rs"].map(|file| {
        let (_, rest) = text.split_once(&format!("`{file}`:\n\n```")).unwrap();
        let (_, block) = rest.split_once('\n').unwrap();
        block.split_once("```").unwrap().0.to_owned()
    })
}

#[test]
fn the_readme_s_program_is_ten_lines_and_makes_its_three_calls() {
    let [manifest, build, main] = readme();
    let lines = [&manifest, &build, &main]
        .map(|text| text.lines().count())
        .iter()
        .sum::<usize>();
    assert!(lines <= 10, "{lines} lines");
    let outside = Outside::new(&manifest, &build, &main);
    let mine = outside.program(&["--release"], "lld");
    Command::new(&mine).assert().success().stdout("mine\n");
    trace(&Subject::new(&mine))
        .unwrap()
        .assert(exactly(["execve", "write", "exit_group"]));
    let image = barest::image(&mine).unwrap();
    assert!(image.bytes < 300, "{} bytes", image.bytes);
    assert!(image.write_xor_execute);
}

#[test]
fn the_readme_s_program_works_in_the_dev_profile_and_by_gnu_ld_too() {
    let [manifest, build, main] = readme();
    let mine = Outside::new(&manifest, &build, &main);
    for linker in ["lld", "bfd"] {
        for args in [&["--release"][..], &[]] {
            Command::new(mine.program(args, linker))
                .assert()
                .success()
                .stdout("mine\n");
        }
    }
}

#[test]
fn a_git_dependency_works_as_a_path_does() {
    // A repository of this project as it is in the working tree.
    let root = env!("CARGO_MANIFEST_DIR");
    let repository = TempDir::with_prefix("barest-").unwrap();
    let repository = repository.path();
    let list = succeed(Command::new("git").current_dir(root).args([
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
    ]));
    let files = list.lines().map(|file| (file, Path::new(root).join(file)));
    // One that was deleted and not yet committed is listed too.
    for (file, from) in files.filter(|(_, from)| from.exists()) {
        let to = repository.join(file);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
    }
    let git = |args: &[&str]| {
        succeed(
            Command::new("git")
                .current_dir(repository)
                .args(["-c", "user.name=test", "-c", "user.email=test@localhost"])
                .args(args),
        )
    };
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "as it is"]);

    let [manifest, build, main] = readme();
    let url = format!("file://{}", repository.display());
    let manifest = manifest
        .replace(".path = \"../barest/shims\"", &format!(".git = \"{url}\""))
        .replace(
            ".path = \"../barest/linker-scripts\"",
            &format!(".git = \"{url}\""),
        );
    assert_eq!(manifest.matches(&url).count(), 2);
    let mine = Outside::new(&manifest, &build, &main);
    // Not --offline: cargo clones the repository, from this machine.
    succeed(
        cargo()
            .current_dir(mine.folder())
            .env("CARGO_HOME", mine.folder().join("cargo_home"))
            .args(["build", "--quiet", "--release"]),
    );
    Command::new(mine.folder().join("target/release/mine"))
        .assert()
        .success()
        .stdout("mine\n");
}
