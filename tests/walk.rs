//! docs/from-execve-to-exit.md: its commands are run, and show what the page says.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

mod common;
use common::{folder, program};

/// A command of the page, and the lines that it is to show.
struct Example {
    command: String,
    shown: Vec<String>,
}

/// The blocks of a language in the page.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    let blocks = page.split(&fence).skip(1);
    blocks
        .map(|rest| rest.split("```").next().unwrap())
        .collect()
}

fn examples(page: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    for line in blocks(page, "console")
        .iter()
        .flat_map(|block| block.lines())
    {
        match line.strip_prefix("$ ") {
            Some(command) => examples.push(Example {
                command: command.to_owned(),
                shown: Vec::new(),
            }),
            None => examples.last_mut().unwrap().shown.push(line.to_owned()),
        }
    }
    examples
}

/// What stays the same on another machine: words, with one mark for every number or address but
/// the number of a row; nothing for a line under a header.
fn words(line: &str) -> String {
    let number = |word: &str| {
        let digits = word.trim_matches(|c: char| !c.is_alphanumeric());
        let digits = digits
            .split(['-', '–'])
            .all(|part| match part.strip_prefix("0x") {
                Some(hex) => hex.chars().all(|c| c.is_ascii_hexdigit()),
                None => part.chars().all(|c| c.is_ascii_digit() || c == '.'),
            });
        digits && word.contains(|c: char| c.is_ascii_digit())
    };
    let line = line.trim_matches('-');
    let row = |index, word: &str| index == 0 && word.chars().all(|c| c.is_ascii_digit());
    let words = line.split_whitespace().enumerate();
    let words = words.map(|(index, word)| match number(word) && !row(index, word) {
        true => "#",
        false => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The first shown line that is not in an output, or not in its order. `...` stands for any part of
/// a line, and alone for any lines.
fn missing<'a>(shown: &'a [String], output: &str) -> Option<&'a str> {
    let mut lines = output.lines().map(words);
    let mut skip = false;
    for line in shown {
        if line == "..." {
            skip = true;
            continue;
        }
        let is = |seen: &String| shows(line, seen);
        let found = match skip {
            true => lines.any(|seen| is(&seen)),
            false => lines.next().is_some_and(|seen| is(&seen)),
        };
        if !found {
            return Some(line);
        }
        skip = false;
    }
    None
}

/// Whether a line of an output is the one that is shown.
fn shows(shown: &str, seen: &str) -> bool {
    let parts: Vec<String> = shown.split("...").map(words).collect();
    let [first, rest @ ..] = &parts[..] else {
        return false;
    };
    let Some(mut seen) = seen.strip_prefix(first.as_str()) else {
        return false;
    };
    let Some((last, middle)) = rest.split_last() else {
        return seen.is_empty();
    };
    for part in middle {
        match seen.split_once(part.as_str()) {
            Some((_, behind)) => seen = behind,
            None => return false,
        }
    }
    seen.ends_with(last.as_str())
}

/// Whether this machine has the libc of the page, whose calls are counted there.
fn has_libc_of_the_page() -> bool {
    // Others than glibc have no such version, or no ldd.
    let output = Command::new("ldd").arg("--version").output();
    output.is_ok_and(|output| {
        let text = String::from_utf8_lossy(&output.stdout);
        let mut lines = text.lines();
        lines
            .next()
            .is_some_and(|line| line.contains("Debian") && line.ends_with(" 2.36"))
    })
}

#[test]
fn every_command_of_the_page_shows_what_the_page_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/from-execve-to-exit.md")).unwrap();
    let folder = folder("walk");
    fs::create_dir(folder.join("target")).unwrap();
    symlink(
        program("hello").parent().unwrap(),
        folder.join("target/bare"),
    )
    .unwrap();
    fs::write(folder.join("target/hello.c"), blocks(&page, "c")[0]).unwrap();
    let kit = Path::new(env!("CARGO_BIN_EXE_barest")).parent().unwrap();
    let path = format!("{}:{}", kit.display(), std::env::var("PATH").unwrap());

    let examples = examples(&page);
    assert!(examples.len() > 10, "{}", examples.len());
    let mut compared = 0;
    for example in examples {
        let output = Command::new("sh")
            .args(["-c", &example.command])
            .current_dir(&folder)
            .env("PATH", &path)
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {stderr}", example.command);
        // Elsewhere a dynamic program makes other calls, and other instructions.
        if example.command.contains("target/hello") && !has_libc_of_the_page() {
            continue;
        }
        let text = String::from_utf8(output.stdout).unwrap();
        if let Some(line) = missing(&example.shown, &text) {
            panic!("$ {}\nwithout: {line}\n{text}", example.command);
        }
        compared += example.shown.len();
    }
    assert!(compared > 20, "{compared}");
}

#[test]
fn a_line_that_is_not_there_is_missed() {
    let shown = |lines: &[&str]| {
        lines
            .iter()
            .map(|line| line.to_string())
            .collect::<Vec<_>>()
    };
    let output = "a  0x10 b\n----\nc 1.5 d e\nf\n";
    assert_eq!(
        missing(&shown(&["a 0x2f b", "---", "c 2 ...", "f"]), output),
        None
    );
    assert_eq!(missing(&shown(&["...", "f"]), output), None);
    assert_eq!(missing(&shown(&["a ... b", "", "c ... e"]), output), None);
    assert_eq!(missing(&shown(&["a ... c"]), output), Some("a ... c"));
    assert_eq!(missing(&shown(&["f"]), output), Some("f"));
    assert_eq!(
        missing(&shown(&["...", "f", "a 1 b"]), output),
        Some("a 1 b")
    );
    assert_eq!(missing(&shown(&["...", "g ..."]), output), Some("g ..."));
}
