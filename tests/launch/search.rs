//! The search of PATH for a target without a slash in its name.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use barest::Subject;
use barest::assertions::exactly;
use barest::trace::{Trace, trace};

use crate::case::words;
use crate::common::program;
use crate::launcher::LAUNCHERS;
use crate::message::{assert_tells, line, look};
use crate::place::{chmod, executable, folder, out, state};
use crate::run::run_with;
use crate::state::State;

/// A folder that has `true` and `state` as `tool` and `look`.
fn tools() -> PathBuf {
    let folder = folder();
    fs::hard_link(program("true"), folder.join("tool")).unwrap();
    fs::hard_link(state(), folder.join("look")).unwrap();
    folder
}

fn path(folders: &[&Path]) -> OsString {
    let folders: Vec<_> = folders
        .iter()
        .map(|folder| folder.to_str().unwrap())
        .collect();
    format!("PATH={}", folders.join(":")).into()
}

/// Asserts how many calls of execve a search for `tool` fails with before one works.
#[track_caller]
fn misses(words: &[OsString], environment: &[OsString], count: usize) -> Vec<Trace> {
    let seen = LAUNCHERS.map(|launcher| {
        let argv = launcher.command(words, &words!["tool"]);
        let seen = trace(&Subject::new(&argv[0]).argv(argv).environment(environment)).unwrap();
        let others = words.iter().any(|word| word == "-C").then_some("chdir");
        let calls = ["execve"].into_iter().chain(others);
        seen.assert(exactly(
            calls.chain(vec!["execve"; count + 1]).chain(["exit_group"]),
        ));
        seen
    });
    seen.into()
}

/// How the kernel was told to find the target, and what it was called: AT_EXECFN and argv[0].
#[track_caller]
fn found(words: &[OsString], environment: &[OsString]) -> [String; 2] {
    let found = LAUNCHERS.map(|launcher| {
        let out = out();
        let command = launcher.command(words, &words!["look", &out]);
        let run = run_with(&command, environment);
        assert_eq!((run.status.code(), run.stderr()), (Some(7), ""));
        let state = State::parse(&fs::read_to_string(out).unwrap());
        [state.rest["execfn"].clone(), state.argv[0].clone()]
    });
    assert!(found.iter().all(|one| *one == found[0]), "{found:?}");
    found.into_iter().next().unwrap()
}

/// Asserts that the target `tool` is not run, after so many calls of execve: status and message.
/// That it is nowhere is only said when it was looked for once more, as it may be there and lack
/// its interpreter.
#[track_caller]
fn missed(words: &[OsString], environment: &[OsString], count: usize, status: i32, message: &str) {
    let looks = if status == 127 { count } else { 0 };
    for launcher in LAUNCHERS {
        let argv = launcher.command(words, &words!["tool"]);
        let seen = trace(&Subject::new(&argv[0]).argv(&argv).environment(environment)).unwrap();
        let calls = vec!["execve"; count + 1]
            .into_iter()
            .chain(vec![look(&seen); looks]);
        assert_tells(&seen, calls);
        let run = run_with(&argv, environment);
        assert_eq!(run.stderr(), format!("{message}\n"));
        assert_eq!(run.status.code(), Some(status));
    }
}

#[test]
fn a_name_found_seventh_costs_six_failed_execves() {
    let empty: Vec<_> = (0..6).map(|_| folder()).collect();
    let tools = tools();
    let mut all: Vec<&Path> = empty.iter().map(PathBuf::as_path).collect();
    all.push(&tools);
    let environment = [path(&all)];
    for seen in misses(&[], &environment, 6) {
        let results: Vec<_> = seen.calls[1..8].iter().map(|call| call.result).collect();
        let missing = Some(-i64::from(libc::ENOENT));
        assert_eq!(results, [[missing; 6].as_slice(), &[Some(0)]].concat());
    }
    let look = tools.join("look");
    assert_eq!(found(&[], &environment), [look.to_str().unwrap(), "look"]);
}

#[test]
fn a_name_found_first_costs_none() {
    misses(&[], &[path(&[&tools()])], 0);
}

#[test]
fn the_path_is_that_of_the_environment_as_the_words_leave_it() {
    let (empty, tools) = (folder(), tools());
    misses(
        &[path(&[&empty, &tools])],
        &[path(&[&empty, &empty, &empty])],
        1,
    );
    misses(
        &words!["--prefix", "PATH", ":", &tools],
        &[path(&[&empty])],
        0,
    );
    misses(
        &words!["--suffix", "PATH", ":", &tools],
        &[path(&[&empty])],
        1,
    );
    misses(&words!["--set-default", "PATH", &tools], &[], 0);
    misses(&words!["-i", path(&[&tools])], &[path(&[&empty])], 0);
}

#[test]
fn without_a_path_it_is_bin_and_usr_bin() {
    for (words, environment) in [
        (&words![][..], &words!["A=1"][..]),
        (&words!["-u", "PATH"], &words!["PATH=/nowhere"]),
        (&words!["-i"], &words!["PATH=/nowhere"]),
    ] {
        missed(words, environment, 2, 127, &line("tool", "ENOENT"));
        for launcher in LAUNCHERS {
            let run = run_with(
                &launcher.command(words, &words!["sh", "-c", "exit 3"]),
                environment,
            );
            assert_eq!((run.status.code(), run.stderr()), (Some(3), ""));
        }
    }
}

#[test]
fn an_empty_element_is_the_working_directory() {
    let (empty, tools) = (folder(), tools());
    let empty = empty.display();
    for (path, count) in [
        (format!("PATH=:{empty}"), 0),
        (format!("PATH={empty}:"), 1),
        (format!("PATH={empty}::{empty}"), 1),
        (format!("PATH={empty}:."), 1),
    ] {
        misses(&words!["-C", &tools], &[path.into()], count);
    }
}

#[test]
fn elements_that_are_no_directories_are_passed_over() {
    let tools = tools();
    let file = out();
    misses(&[], &[path(&[&file, &tools])], 1);
    let long = format!("PATH={}:{}", "x".repeat(300), tools.display());
    misses(&[], &[long.into()], 1);
}

#[test]
fn an_element_longer_than_any_path_is_no_end_of_the_search() {
    let tools = tools();
    for length in [4090, 4095, 4096, 5000, 100_000] {
        let path = format!("PATH=/{}:{}", "x".repeat(length), tools.display());
        for launcher in LAUNCHERS {
            let run = run_with(
                &launcher.command(&[], &words!["tool"]),
                &[path.clone().into()],
            );
            assert_eq!((run.status.code(), run.stderr()), (Some(0), ""), "{length}");
        }
    }
}

#[test]
fn what_may_not_be_run_is_passed_over_and_remembered() {
    let (refuses, empty, tools) = (folder(), folder(), tools());
    executable(&refuses.join("tool"), b"#!/bin/sh\n");
    chmod(&refuses.join("tool"), 0o644);
    misses(&[], &[path(&[&refuses, &tools])], 1);
    missed(
        &[],
        &[path(&[&refuses, &empty])],
        2,
        126,
        &line("tool", "EACCES"),
    );
    missed(
        &[],
        &[path(&[&empty, &refuses])],
        2,
        126,
        &line("tool", "EACCES"),
    );
    missed(
        &[],
        &[path(&[&empty, &empty])],
        2,
        127,
        &line("tool", "ENOENT"),
    );
}

#[test]
fn a_script_in_the_path_without_its_interpreter_is_not_said_to_be_missing() {
    let (script, empty, tools) = (folder(), folder(), tools());
    executable(&script.join("tool"), b"#!/nowhere/interpreter\n");
    misses(&[], &[path(&[&script, &tools])], 1);
    for launcher in LAUNCHERS {
        let run = run_with(
            &launcher.command(&[], &words!["tool"]),
            &[path(&[&script, &empty])],
        );
        assert!(run.stderr().contains("interpreter"), "{}", run.stderr());
        assert_eq!(run.status.code(), Some(126));
    }
}

#[test]
fn a_name_with_a_slash_is_not_searched_for() {
    let tools = tools();
    let below = tools.join("below");
    fs::create_dir(&below).unwrap();
    fs::hard_link(program("true"), below.join("tool")).unwrap();
    for launcher in LAUNCHERS {
        let run = run_with(
            &launcher.command(&[], &words!["below/tool"]),
            &[path(&[&tools])],
        );
        assert_eq!(run.stderr(), format!("{}\n", line("below/tool", "ENOENT")));
        assert_eq!(run.status.code(), Some(127));
        let run = run_with(
            &launcher.command(&words!["-C", &tools], &words!["./tool"]),
            &[],
        );
        assert_eq!((run.status.code(), run.stderr()), (Some(0), ""));
    }
}

#[test]
fn the_name_of_a_target_may_look_like_an_action_after_two_dashes() {
    let tools = tools();
    for name in ["--setsid", "A=1", "-i", "--", ">f", "2>&1"] {
        fs::hard_link(program("true"), tools.join(name)).unwrap();
        for launcher in LAUNCHERS {
            let run = run_with(
                &launcher.command(&words!["--"], &words![name]),
                &[path(&[&tools])],
            );
            assert_eq!((run.status.code(), run.stderr()), (Some(0), ""), "{name}");
        }
    }
}
