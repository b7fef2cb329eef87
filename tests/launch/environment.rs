//! The environment: edited at no call, in the order of the words.
//!
//! A variable that is there keeps its place; one that is new goes before all others.

use std::ffi::OsString;
use std::fs;

use crate::case::{launch, words};
use crate::launcher::LAUNCHERS;
use crate::message::line;
use crate::place::out;
use crate::run::run_with;
use crate::state::{State, escape};

#[test]
fn set_replaces_in_place_or_adds() {
    let environment = ["A=1", "B=2", "C=3"];
    for (words, seen) in [
        (&["B=x"][..], &["A=1", "B=x", "C=3"][..]),
        (&["--set", "B", "x"], &["A=1", "B=x", "C=3"]),
        (&["D=4"], &["D=4", "A=1", "B=2", "C=3"]),
        (&["--set", "D", "4"], &["D=4", "A=1", "B=2", "C=3"]),
        (&["--set=D", "4"], &["D=4", "A=1", "B=2", "C=3"]),
        (&["D=4", "E=5", "D=6"], &["E=5", "D=6", "A=1", "B=2", "C=3"]),
        (&["B="], &["A=1", "B=", "C=3"]),
        (&["--set", "B", ""], &["A=1", "B=", "C=3"]),
        (&["B=a=b"], &["A=1", "B=a=b", "C=3"]),
        (&["B=1>2 '\"$\\\n"], &["A=1", "B=1>2 '\"$\\\n", "C=3"]),
        (&["--set", "B", "--setsid"], &["A=1", "B=--setsid", "C=3"]),
        (&["A=1"], &["A=1", "B=2", "C=3"]),
    ] {
        launch(words)
            .environment(environment)
            .sees_environment(seen)
            .holds();
    }
}

#[test]
fn unset_takes_away_and_is_content_with_what_is_not_there() {
    let environment = ["A=1", "AB=2", "B="];
    for (words, seen) in [
        (&["-u", "A"][..], &["AB=2", "B="][..]),
        (&["--unset", "AB"], &["A=1", "B="]),
        (&["--unset=B"], &["A=1", "AB=2"]),
        (&["-u", "X"], &["A=1", "AB=2", "B="]),
        (&["-u", "A", "-u", "B", "-u", "AB"], &[]),
    ] {
        launch(words)
            .environment(environment)
            .sees_environment(seen)
            .holds();
    }
}

#[test]
fn clear_takes_away_all() {
    for word in ["-i", "--ignore-environment"] {
        launch([word])
            .environment(["A=1", "", "no equals", "B=2"])
            .sees_environment([""; 0])
            .holds();
        launch([word, "A=9"])
            .environment(["A=1", "B=2"])
            .sees_environment(["A=9"])
            .holds();
        launch([word])
            .environment([""; 0])
            .sees_environment([""; 0])
            .holds();
    }
}

#[test]
fn a_default_is_for_a_variable_that_is_not_there() {
    let environment = ["A=1", "B="];
    for (words, seen) in [
        (["--set-default", "A", "9"], &["A=1", "B="][..]),
        (["--set-default", "B", "9"], &["A=1", "B="]),
        (["--set-default", "C", "9"], &["C=9", "A=1", "B="]),
        (["--set-default", "C", ""], &["C=", "A=1", "B="]),
    ] {
        launch(words)
            .environment(environment)
            .sees_environment(seen)
            .holds();
    }
    launch(["--set-default=C", "9"])
        .environment(environment)
        .sees_environment(["C=9", "A=1", "B="])
        .holds();
}

#[test]
fn a_prefix_and_a_suffix_are_parted_from_a_value_and_from_nothing_else() {
    let environment = ["P=a:b", "EMPTY="];
    for (words, seen) in [
        (["--prefix", "P", ":", "x"], &["P=x:a:b", "EMPTY="][..]),
        (["--suffix", "P", ":", "x"], &["P=a:b:x", "EMPTY="]),
        (["--prefix", "EMPTY", ":", "x"], &["P=a:b", "EMPTY=x"]),
        (["--suffix", "EMPTY", ":", "x"], &["P=a:b", "EMPTY=x"]),
        (["--prefix", "NEW", ":", "x"], &["NEW=x", "P=a:b", "EMPTY="]),
        (["--suffix", "NEW", ":", "x"], &["NEW=x", "P=a:b", "EMPTY="]),
        (["--prefix", "P", "", "x"], &["P=xa:b", "EMPTY="]),
        (
            ["--suffix", "P", " -- ", "x y"],
            &["P=a:b -- x y", "EMPTY="],
        ),
        (["--prefix", "P", ":", ""], &["P=:a:b", "EMPTY="]),
        (["--suffix", "NEW", ":", ""], &["NEW=", "P=a:b", "EMPTY="]),
    ] {
        launch(words)
            .environment(environment)
            .sees_environment(seen)
            .holds();
    }
}

#[test]
fn edits_are_done_from_left_to_right() {
    for (words, seen) in [
        (&["A=1", "-u", "A"][..], &["Z=0"][..]),
        (&["-u", "A", "A=1"], &["A=1", "Z=0"]),
        (&["A=1", "-i"], &[]),
        (&["-i", "A=1", "B=2"], &["B=2", "A=1"]),
        (
            &["A=1", "--prefix", "A", ":", "2", "--suffix", "A", ":", "3"],
            &["A=2:1:3", "Z=0"],
        ),
        (&["--set-default", "A", "1", "A=2"], &["A=2", "Z=0"]),
        (&["A=2", "--set-default", "A", "1"], &["A=2", "Z=0"]),
        (&["Z=1", "-u", "Z", "Z=2"], &["Z=2"]),
        (&["Z=1", "Z=2", "Z=3", "--suffix", "Z", "", "4"], &["Z=34"]),
    ] {
        launch(words)
            .environment(["Z=0"])
            .sees_environment(seen)
            .holds();
    }
}

#[test]
fn strings_that_are_no_variables_are_left_alone() {
    let environment = ["A", "", "=", "=x", "A=1", "AB", "A =2"];
    for (words, seen) in [
        (&["A=9"][..], &["A", "", "=", "=x", "A=9", "AB", "A =2"][..]),
        (&["-u", "A"], &["A", "", "=", "=x", "AB", "A =2"]),
        (
            &["AB=9"],
            &["AB=9", "A", "", "=", "=x", "A=1", "AB", "A =2"],
        ),
        (&["-u", "AB"], &environment),
        (
            &["--prefix", "A", ":", "x"],
            &["A", "", "=", "=x", "A=x:1", "AB", "A =2"],
        ),
        (
            &["--set-default", "AB", "x"],
            &["AB=x", "A", "", "=", "=x", "A=1", "AB", "A =2"],
        ),
        (&["-u", "A "], &["A", "", "=", "=x", "A=1", "AB"]),
    ] {
        launch(words)
            .environment(environment)
            .sees_environment(seen)
            .holds();
    }
}

#[test]
fn duplicates_are_one_after_an_edit_and_stay_without() {
    let environment = ["A=1", "B=2", "A=3", "B=4", "A=5"];
    for (words, seen) in [
        (&[][..], &environment[..]),
        (&["A=9"], &["A=9", "B=2", "B=4"]),
        (&["-u", "A"], &["B=2", "B=4"]),
        (&["--set-default", "A", "9"], &environment),
        (&["--prefix", "A", ":", "9"], &["A=9:1", "B=2", "B=4"]),
        (&["--suffix", "A", ":", "9"], &["A=1:9", "B=2", "B=4"]),
        (&["B=9", "A=8"], &["A=8", "B=9"]),
    ] {
        launch(words)
            .environment(environment)
            .sees_environment(seen)
            .holds();
    }
}

#[test]
fn more_variables_can_be_added_than_there_were() {
    let added: Vec<String> = (0..100)
        .map(|number| format!("V{number}=value {number}"))
        .collect();
    let seen: Vec<_> = added.iter().rev().cloned().collect();
    launch(&added)
        .environment([""; 0])
        .sees_environment(&seen)
        .holds();
    launch(["-i".to_owned()].iter().chain(&added))
        .sees_environment(&seen)
        .holds();
    let long = added.iter().flat_map(|word| {
        let (name, value) = word.split_once('=').unwrap();
        ["--set", name, value]
    });
    launch(long.collect::<Vec<_>>())
        .environment([""; 0])
        .sees_environment(seen)
        .holds();
}

#[test]
fn ten_thousand_variables_are_as_few_calls_as_none() {
    let all: Vec<String> = (0..10_000)
        .map(|number| format!("V{number}=value {number}"))
        .collect();
    launch([""; 0]).environment(&all).holds();
    let mut seen = all.clone();
    seen[9999] = "V9999=x".to_owned();
    seen.remove(5000);
    seen[0] = "V0=value 0:y".to_owned();
    seen.insert(0, "NEW=1".to_owned());
    launch([
        "V9999=x", "-u", "V5000", "--suffix", "V0", ":", "y", "NEW=1",
    ])
    .environment(&all)
    .sees_environment(seen)
    .holds();
    launch(["-i", "A=1"])
        .environment(all)
        .sees_environment(["A=1"])
        .holds();
}

/// The longest string that execve takes, its NUL not counted: MAX_ARG_STRLEN less one.
const LONGEST: usize = (32 << 12) - 1;

#[test]
fn the_longest_variable_that_there_can_be_passes() {
    let huge = format!("HUGE={}", "x".repeat(LONGEST - 5));
    let environment = [huge.as_str(), "A=1"];
    launch([""; 0]).environment(environment).holds();
    launch(["A=2"])
        .environment(environment)
        .sees_environment([&huge, "A=2"])
        .holds();
    launch(["-u", "HUGE"])
        .environment(environment)
        .sees_environment(["A=1"])
        .holds();
    launch([&huge])
        .environment([""; 0])
        .sees_environment([&huge])
        .holds();
    let value = &huge[5..];
    launch(["--set", "HUGE", value])
        .environment([""; 0])
        .sees_environment([&huge])
        .holds();
}

#[test]
fn a_prefix_or_suffix_makes_a_variable_of_any_length_that_there_can_be() {
    let old = format!("P={}", "o".repeat(100_000));
    let room = LONGEST - old.len() - 1;
    let most = "n".repeat(room);
    launch(["--prefix", "P", ":", &most])
        .environment([&old])
        .sees_environment([format!("P={most}:{}", &old[2..])])
        .holds();
    launch(["--suffix", "P", ":", &most])
        .environment([&old])
        .sees_environment([format!("{old}:{most}")])
        .holds();
    // Several at once.
    let words = ["--suffix", "P", ":", "1234567"].repeat(20);
    let seen = format!("{old}{}", ":1234567".repeat(20));
    launch(words)
        .environment([&old])
        .sees_environment([seen])
        .holds();
}

#[test]
fn a_variable_of_128_kib_is_refused_by_name() {
    let old = format!("HUGE={}", "o".repeat(LONGEST - 5));
    for words in [
        &["--prefix", "HUGE", ":", "x"][..],
        &["--suffix", "HUGE", "", "x"],
        &["--suffix", "HUGE", ":", ""],
    ] {
        launch(words)
            .environment([&old])
            .fails_beginning(125, &format!("launch: {}: E2BIG, ", words.join(" ")));
    }
    let value = "v".repeat(LONGEST);
    launch(["--set", "NAME", &value])
        .environment([""; 0])
        .fails_beginning(125, "launch: --set NAME v");
}

#[test]
fn all_together_too_long_for_the_kernel_is_126() {
    // A quarter of the stack's limit is the most for arguments and environment: execve(2).
    let stack = format!("--stack={}:{}", 1 << 20, 1 << 20);
    let all: Vec<_> = (0..4)
        .map(|name| format!("V{name}={}", "x".repeat(100_000)))
        .collect();
    for launcher in LAUNCHERS {
        let command = launcher.command(&words![&stack], &words!["/bin/true"]);
        let environment: Vec<_> = all.iter().map(OsString::from).collect();
        let run = run_with(&command, &environment);
        assert_eq!(run.stderr(), format!("{}\n", line("/bin/true", "E2BIG")));
        assert_eq!(run.status.code(), Some(126));
    }
}

/// What the words do to an environment, said in another way.
fn model(environment: &[&str], words: &[&str]) -> Vec<String> {
    let mut all: Vec<String> = environment
        .iter()
        .map(|&string| string.to_owned())
        .collect();
    fn value<'a>(string: &'a str, name: &str) -> Option<&'a str> {
        string.strip_prefix(name)?.strip_prefix('=')
    }
    fn set(all: &mut Vec<String>, name: &str, new: &str) {
        let place = all.iter().position(|string| value(string, name).is_some());
        let before = all.len();
        all.retain(|string| value(string, name).is_none());
        match place {
            Some(place) => all.insert(place, format!("{name}={new}")),
            None => all.insert(0, format!("{name}={new}")),
        }
        assert!(all.len() <= before + 1);
    }
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        let mut next = || words.next().unwrap();
        match word {
            "-i" => all.clear(),
            "-u" => {
                let name = next();
                all.retain(|string| value(string, name).is_none());
            }
            "--set-default" | "--prefix" | "--suffix" => {
                let name = next();
                let old = all
                    .iter()
                    .find_map(|string| value(string, name))
                    .map(str::to_owned);
                let new = match (word, old) {
                    ("--set-default", Some(_)) => {
                        next();
                        continue;
                    }
                    ("--set-default", None) => next().to_owned(),
                    (_, old) => {
                        let (separator, new) = (next(), next());
                        match old.as_deref() {
                            None | Some("") => new.to_owned(),
                            Some(old) if word == "--prefix" => format!("{new}{separator}{old}"),
                            Some(old) => format!("{old}{separator}{new}"),
                        }
                    }
                };
                set(&mut all, name, &new);
            }
            _ => {
                let (name, new) = word.split_once('=').unwrap();
                set(&mut all, name, new);
            }
        }
    }
    all
}

/// Numbers that look random, the same in each run: Marsaglia's xorshift64.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % most as u64) as usize
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

#[test]
fn any_edits_of_any_environment_are_what_the_model_says() {
    let mut random = Random(0x5eed);
    let strings = [
        "A=1", "A=", "AB=2", "B=x:y", "A", "", "=", "B=", "C= =", "AB",
    ];
    let names = ["A", "AB", "B", "C"];
    for _ in 0..100 {
        let environment: Vec<_> = (0..random.below(8)).map(|_| random.one(&strings)).collect();
        let mut words = Vec::new();
        for _ in 0..random.below(12) {
            let name = random.one(&names);
            match random.below(16) {
                0 => words.push("-i"),
                1..=3 => words.extend(["-u", name]),
                4..=5 => words.extend(["--set-default", name, random.one(&["", "d"])]),
                6..=8 => words.extend([
                    "--prefix",
                    name,
                    random.one(&["", ":"]),
                    random.one(&["", "p"]),
                ]),
                9..=11 => words.extend([
                    "--suffix",
                    name,
                    random.one(&["", ":"]),
                    random.one(&["", "s"]),
                ]),
                _ => words.push(random.one(&["A=7", "AB=8", "B=", "C=9"])),
            }
        }
        let expected: Vec<_> = model(&environment, &words).iter().map(escape).collect();
        for launcher in LAUNCHERS {
            let out = out();
            let all: Vec<OsString> = words.iter().map(Into::into).collect();
            let target = [crate::place::state().into(), out.clone().into()];
            let start: Vec<OsString> = environment.iter().map(Into::into).collect();
            let run = run_with(&launcher.command(&all, &target), &start);
            assert_eq!(
                (run.status.code(), run.stderr()),
                (Some(7), ""),
                "{words:?}"
            );
            let seen = State::parse(&fs::read_to_string(out).unwrap());
            assert_eq!(seen.environment, expected, "{environment:?} {words:?}");
        }
    }
}
