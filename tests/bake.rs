//! `barest bake`: the launchers that it writes, and that it tells what they are made of.
//!
//! That a baked launcher does all that `launch` does is shown by tests/launch, for both.

mod common;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use barest::Subject;
use barest::assertions::exactly;
use barest::bake::{Recipe, show};
use barest::trace::{Exit, trace};
use common::{folder, our_segments, program, segments};
use launcher::reasons::Reason;
use object::{Object, ObjectSymbol};
use serde_json::Value;

/// `barest bake` with these words.
fn barest(words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Output {
    Command::new(env!("CARGO_BIN_EXE_barest"))
        .arg("bake")
        .args(words)
        .output()
        .unwrap()
}

/// Bakes these words into a file of a folder.
fn baked_in(folder: &Path, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> PathBuf {
    let file = folder.join("baked");
    let mut command = vec![OsString::from("-o"), file.clone().into()];
    command.extend(words.into_iter().map(|word| word.as_ref().to_owned()));
    let output = barest(&command);
    assert!(output.status.success(), "{command:?}: {}", stderr(&output));
    assert_eq!(output.stdout, b"");
    file
}

fn stderr(output: &Output) -> &str {
    str::from_utf8(&output.stderr).unwrap()
}

/// Asserts that it says this on stderr, in one line, and ends with 2.
#[track_caller]
fn refused(words: impl IntoIterator<Item = impl AsRef<OsStr>>, line: &str) {
    let output = barest(words);
    assert_eq!(stderr(&output), format!("barest: {line}\n"));
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(output.stdout, b"");
}

/// An executable file of this text. Another process writes it: while this one has it open, a test
/// beside it may fork, and the file would be busy (execve(2), ETXTBSY).
fn executable(path: &Path, text: &str) {
    let script = r#"printf %s "$1" > "$0" && chmod 755 "$0""#;
    let status = Command::new("sh")
        .args(["-c", script])
        .arg(path)
        .arg(text)
        .status();
    assert!(status.unwrap().success());
}

/// How large a file is but for its strings: these, and the texts of errors.
fn without_strings(file: &Path, strings: &[&str]) -> usize {
    let bytes = fs::read(file).unwrap();
    let holds = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
    let mut size = bytes.len();
    for string in strings {
        let string = format!("{string}\0");
        assert!(holds(string.as_bytes()), "{string}");
        size -= string.len();
    }
    let texts = (0..=u8::MAX).map(|number| Reason(number).text().to_bytes());
    let none: &[u8] = b"no arguments, not even argv[0]";
    let mut texts: Vec<&[u8]> = texts.chain([none]).collect();
    texts.sort();
    texts.dedup();
    for text in texts {
        let text = [b": ", text, b"\n"].concat();
        if holds(&text) {
            size -= text.len();
        }
    }
    size
}

#[test]
fn one_that_only_runs_its_target_is_320_bytes_and_its_strings() {
    let folder = folder("bake-exec");
    let file = baked_in(&folder, ["/bin/true"]);
    let line = concat!(
        "barest ",
        env!("CARGO_PKG_VERSION"),
        " baked launch: /bin/true"
    );
    let size = without_strings(&file, &[line]);
    assert!(size <= 320, "{size}");
    trace(&Subject::new(baked_in(&folder, [program("true")])))
        .unwrap()
        .assert(exactly(["execve", "execve", "exit_group"]));
}

#[test]
fn one_of_five_actions_is_800_bytes_and_its_strings() {
    let folder = folder("bake-five");
    let words = ["-C", "/", ">/dev/null", "3>&-", "--setsid", "A=1"];
    let file = baked_in(&folder, words.iter().chain(&["/bin/true"]));
    let line = format!(
        "barest {} baked launch: -C / '>/dev/null' '3>&-' --setsid A=1 /bin/true",
        env!("CARGO_PKG_VERSION")
    );
    let strings = [
        "launch: -C /",
        // Each of the two calls has its words.
        "launch: >/dev/null",
        "launch: >/dev/null",
        "launch: 3>&-",
        "launch: --setsid",
        "launch: A=1",
        "launch: /bin/true",
        &line,
    ];
    let size = without_strings(&file, &strings);
    assert!(size <= 800, "{size}");
    let target = program("true");
    let words = words.iter().map(OsStr::new).chain([target.as_os_str()]);
    trace(&Subject::new(baked_in(&folder, words)))
        .unwrap()
        .assert(exactly([
            "execve",
            "chdir",
            "openat",
            "dup3",
            "close",
            "setsid",
            "execve",
            "exit_group",
        ]));
}

/// Words of every kind, each with the target that is needed to bake it.
fn all_kinds() -> Vec<Vec<OsString>> {
    let mut kinds: Vec<Vec<OsString>> = [
        &["/bin/true"][..],
        &["true"],
        &["--", "true"],
        &["--", "A=1"],
        &["--", "--add-flag"],
        &["-u", "A", "--", "-x", "-y"],
        &["/bin/echo", "it's", "two words", "", "$x", "`", "a\nb"],
        &["-a", "name", "/bin/true"],
        &["--argv0=", "/bin/true"],
        &["--inherit-argv0", "/bin/true"],
        &["--resolve-argv0", "/bin/true"],
        &["--add-flag", "a b", "--add-flags=c 'd e'", "/bin/true", "f"],
        &["--append-flag=", "--append-flags", "x y", "/bin/true"],
        &["A=1", "B=", "--set", "C", "3", "-u", "D", "/bin/true"],
        &["-i", "--set-default", "A", "1", "/bin/true"],
        &[
            "--prefix",
            "A",
            ":",
            "1",
            "--suffix=A",
            "",
            "2",
            "/bin/true",
        ],
        &["<f", ">g", "2>>h", "3<>i", "4>|j", "/bin/true"],
        &["2>&1", "3<&0", "0<&0", "5>&-", "/bin/true"],
        &[">log", "2>&1", "2>&-", "/bin/true"],
        &["--close-from", "3", "--cloexec-from", "3", "/bin/true"],
        &[
            "--stdio-null",
            "--lock",
            "f",
            "--write",
            "f",
            "%p",
            "/bin/true",
        ],
        &["-C", "/", "--chroot", "/", "--umask", "022", "/bin/true"],
        &["--setsid", "--pgrp", "--ctty", "/bin/true"],
        &[
            "--nofile=1:2",
            "--core=unlimited",
            "--nice",
            "-5",
            "/bin/true",
        ],
        &[
            "--cpus",
            "0-3,7",
            "--sched",
            "rr:5",
            "--ionice=2:3",
            "/bin/true",
        ],
        &[
            "--nnp",
            "--subreaper",
            "-R",
            "--pdeathsig",
            "TERM",
            "/bin/true",
        ],
        &[
            "--alarm",
            "2147483647",
            "--block-signal=INT,64",
            "/bin/true",
        ],
        &["--default-signal", "--ignore-signal=PIPE", "/bin/true"],
        &["--reuid", "4294967294", "--regid", "1", "/bin/true"],
        &["--groups", "1,2,3", "--clear-groups", "/bin/true"],
        &["-U", "1:2", "/bin/true"],
        &["-U", "nobody", "/bin/true"],
        &["--direct", "--explain", "/bin/true"],
        &["--direct=only", "/bin/true"],
    ]
    .iter()
    .map(|words| words.iter().map(Into::into).collect())
    .collect();
    // Words are bytes.
    let bytes = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    kinds.push(vec![
        bytes(b"A=\xff\xfe"),
        "-C".into(),
        bytes(b"/\xc3\x28\x01"),
        bytes(b"/bin/\xf0"),
        bytes(b"\x80'\\x41\t"),
    ]);
    // More variables than the small engines have places for.
    let variables = (0..40).map(|number| format!("V{number}=").into());
    kinds.push(variables.chain(["/bin/true".into()]).collect());
    kinds
}

#[test]
fn show_prints_words_that_bake_to_the_same_file() {
    let folder = folder("bake-show");
    for words in all_kinds() {
        let file = baked_in(&folder, &words);
        let bytes = fs::read(&file).unwrap();
        let shown = barest([OsStr::new("--show"), file.as_os_str()]);
        assert!(shown.status.success(), "{words:?}: {}", stderr(&shown));
        assert_eq!(
            shown.stdout.iter().filter(|byte| **byte == b'\n').count(),
            1
        );
        // A shell reads them as they were.
        let again = folder.join("again");
        let mut script = OsString::from("exec \"$0\" bake -o \"$1\" ");
        script.push(OsStr::from_bytes(&shown.stdout));
        let status = Command::new("bash")
            .arg("-c")
            .args([
                script.as_os_str(),
                env!("CARGO_BIN_EXE_barest").as_ref(),
                again.as_os_str(),
            ])
            .output()
            .unwrap();
        assert!(status.status.success(), "{words:?}: {}", stderr(&status));
        assert!(fs::read(&again).unwrap() == bytes, "{words:?}");
        // So does the library, but for a `--` that is not needed.
        let recipe = show(&file).unwrap().recipe;
        assert_eq!(recipe, Recipe::new(&words).unwrap());
        let dashes = words.iter().position(|word| word == "--");
        if dashes.is_none() {
            assert_eq!(recipe.words(), words);
        }
    }
}

#[test]
fn show_has_a_list_for_machines() {
    let folder = folder("bake-json");
    let file = baked_in(&folder, ["A=it's", "/bin/echo", "two words", "\u{1}"]);
    let output = barest([
        OsStr::new("--format=json"),
        "--show".as_ref(),
        file.as_os_str(),
    ]);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["schema"], "barest.bake/1");
    let facts = &value["facts"][0];
    assert_eq!(facts["path"], file.to_str().unwrap());
    assert_eq!(facts["bytes"], fs::metadata(&file).unwrap().len());
    let words: Value = ["A=it's", "/bin/echo", "two words", r"\x01"]
        .into_iter()
        .collect();
    assert_eq!(facts["words"], words);
}

#[test]
fn every_file_has_a_line_that_says_what_it_is() {
    let folder = folder("bake-line");
    for words in all_kinds() {
        let file = baked_in(&folder, &words);
        let strings = Command::new("strings")
            .arg("-eS")
            .arg(&file)
            .output()
            .unwrap();
        let line = [
            concat!("barest ", env!("CARGO_PKG_VERSION"), " baked launch: "),
            &show(&file).unwrap().recipe.to_string(),
        ]
        .concat();
        let strings = String::from_utf8_lossy(&strings.stdout);
        assert!(
            strings.lines().any(|there| there.ends_with(&line)),
            "{line}\n{strings}"
        );
    }
}

#[test]
fn show_refuses_a_file_that_was_changed_anywhere() {
    let folder = folder("bake-changed");
    let words = ["-C", "/tmp", "/bin/true", "x"];
    let file = baked_in(&folder, words);
    let bytes = fs::read(&file).unwrap();
    let changed = folder.join("changed");
    let line = bytes.iter().rposition(|byte| *byte == b'\n').unwrap();
    for at in 0..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        fs::write(&changed, &bytes).unwrap();
        match show(&changed) {
            Err(error) => assert!(error.to_string().contains("baked"), "{at}: {error}"),
            // Other words, that nothing else in the file says: then it is what they bake to.
            Ok(other) => {
                assert!(at > line, "{at}");
                assert_ne!(other.recipe, show(&file).unwrap().recipe);
                let again = baked_in(&folder, other.recipe.words());
                assert!(fs::read(again).unwrap() == bytes, "{at}");
                baked_in(&folder, words);
            }
        }
    }
    for length in 0..bytes.len() {
        fs::write(&changed, &bytes[..length]).unwrap();
        show(&changed).unwrap_err();
    }
    fs::write(&changed, [&bytes[..], b"\0"].concat()).unwrap();
    show(&changed).unwrap_err();
}

#[test]
fn show_refuses_what_is_no_baked_launcher() {
    let folder = folder("bake-none");
    let none = "no baked launcher: it has no line that says so";
    for file in ["/bin/true", "/dev/null", "/etc/passwd"] {
        refused(["--show", file], &format!("{file}: {none}"));
    }
    let launch = program("launch");
    let line = format!("{}: {none}", launch.display());
    refused([OsStr::new("--show"), launch.as_os_str()], &line);
    let missing = folder.join("missing");
    let line = format!(
        "read {}: No such file or directory (os error 2)",
        missing.display()
    );
    refused([OsStr::new("--show"), missing.as_os_str()], &line);
}

#[test]
fn show_names_the_version_of_another_s_file() {
    let folder = folder("bake-version");
    let file = baked_in(&folder, ["/bin/true"]);
    let mut bytes = fs::read(&file).unwrap();
    let version = concat!("barest ", env!("CARGO_PKG_VERSION"), " baked ");
    let at = bytes
        .windows(version.len())
        .position(|window| window == version.as_bytes());
    let at = at.unwrap() + "barest ".len();
    bytes[at] = b'9';
    fs::write(&file, bytes).unwrap();
    let other = env!("CARGO_PKG_VERSION").replacen(|_| true, "9", 1);
    refused(
        [OsStr::new("--show"), file.as_os_str()],
        &format!(
            "{}: baked by barest {other}, and this is {}; its line says of what: see `strings`",
            file.display(),
            env!("CARGO_PKG_VERSION")
        ),
    );
}

#[test]
fn every_kind_is_one_segment_that_is_not_written_and_a_stack_that_is_not_executed() {
    let folder = folder("bake-segments");
    for words in all_kinds() {
        let file = baked_in(&folder, &words);
        let image = barest::image(&file).unwrap();
        assert_eq!(segments(&image), our_segments(), "{words:?}");
        assert!(image.write_xor_execute);
        assert_eq!(image.segments[0].file_bytes, image.bytes);
        assert_eq!(image.segments[0].memory_bytes, image.bytes);
    }
}

/// What a file prints, run by this name with these arguments.
fn prints(file: &Path, argv0: &str, arguments: &[&str]) -> String {
    let output = Command::new(file)
        .arg0(argv0)
        .args(arguments)
        .env("PATH", "/usr/bin:/bin")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// A target that prints its argv: `sh`, by the name of its script.
const PRINT: [&str; 3] = ["/bin/sh", "-c", r#"printf '<%s>' "$0" "$@""#];

#[test]
fn the_caller_s_arguments_come_between_those_that_are_added() {
    let folder = folder("bake-arguments");
    let words = [
        "--add-flag",
        "/bin/sh",
        "--append-flag",
        "y z",
        "--append-flags",
        "'' w",
    ];
    // Each engine that puts arguments together: with and without a search in PATH.
    for env in ["/usr/bin/env", "env"] {
        let file = baked_in(&folder, words.iter().chain(&[env, "-c", PRINT[2], "zero"]));
        assert_eq!(
            prints(&file, "x", &["1", "", "3 4"]),
            "<zero><1><><3 4><y z><><w>"
        );
        assert_eq!(prints(&file, "x", &[]), "<zero><y z><><w>");
    }
    let file = baked_in(&folder, PRINT.iter().chain(&["zero"]));
    assert_eq!(prints(&file, "x", &["a"]), "<zero><a>");
}

#[test]
fn any_number_of_arguments_can_be_added_around_any_number() {
    let folder = folder("bake-many");
    let numbers = |range: std::ops::Range<usize>| range.map(|number| number.to_string());
    // By both engines that put arguments together; with variables, which need places too.
    for more in [&[][..], &["A=1", "B=2", "C=3"], &["--stdio-null", "A=1"]] {
        for before in 0..6 {
            for after in 0..4 {
                let mut words: Vec<String> = more.iter().map(|word| word.to_string()).collect();
                for number in numbers(0..after) {
                    words.extend(["--append-flag".to_owned(), format!("after {number}")]);
                }
                words.extend(["--add-flag".to_owned(), "%s,".to_owned()]);
                words.push("/usr/bin/printf".to_owned());
                words.extend(numbers(0..before));
                let file = baked_in(&folder, &words);
                for caller in 0..4 {
                    let caller: Vec<String> = numbers(100..100 + caller).collect();
                    let caller: Vec<&str> = caller.iter().map(String::as_str).collect();
                    let mut expected: Vec<String> = numbers(0..before).collect();
                    expected.extend(caller.iter().map(|word| word.to_string()));
                    expected.extend(numbers(0..after).map(|number| format!("after {number}")));
                    let expected = format!("{},", expected.join(","));
                    assert_eq!(
                        prints(&file, "x", &caller),
                        expected,
                        "{words:?} {caller:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn argv0_is_the_target_a_text_or_the_caller_s() {
    let folder = folder("bake-argv0");
    let script = "tr '\\0' '\\n' < /proc/$$/cmdline | head -n 1";
    let print = ["-c", script];
    for (words, expected) in [
        (&["/bin/sh"][..], "/bin/sh"),
        (&["sh"], "sh"),
        (&["-a", "name", "/bin/sh"], "name"),
        (&["-a", "name", "sh"], "name"),
        (&["--inherit-argv0", "/bin/sh"], "caller"),
        (&["--inherit-argv0", "sh"], "caller"),
        (&["--argv0", "name", "--inherit-argv0", "/bin/sh"], "caller"),
        (&["--inherit-argv0", "--argv0", "name", "/bin/sh"], "name"),
    ] {
        let file = baked_in(&folder, words.iter().chain(&print));
        assert_eq!(
            prints(&file, "caller", &[]),
            format!("{expected}\n"),
            "{words:?}"
        );
    }
}

#[test]
fn resolve_argv0_looks_a_name_up_in_path_and_leaves_a_path_alone() {
    let folder = folder("bake-resolve");
    let bin = folder.join("bin");
    fs::create_dir(&bin).unwrap();
    fs::write(bin.join("plain"), "").unwrap();
    symlink("/bin/true", bin.join("tool")).unwrap();
    let script = "tr '\\0' '\\n' < /proc/$$/cmdline | head -n 1";
    let words = [
        "--inherit-argv0",
        "--resolve-argv0",
        "/bin/sh",
        "-c",
        script,
    ];
    let file = baked_in(&folder, words);
    let run = |argv0: &str, path: Option<&str>| {
        let mut command = Command::new(&file);
        command.arg0(argv0).env_clear();
        if let Some(path) = path {
            command.env("PATH", path);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        String::from_utf8(output.stdout)
            .unwrap()
            .trim_end()
            .to_owned()
    };
    let path = format!("/nowhere::{}:/bin", bin.display());
    assert_eq!(run("tool", Some(&path)), format!("{}/tool", bin.display()));
    // What cannot be executed is not it.
    assert_eq!(run("plain", Some(&path)), "plain");
    assert_eq!(run("nothing", Some(&path)), "nothing");
    assert_eq!(run("./tool", Some(&path)), "./tool");
    let found = trace(
        &Subject::new(&file)
            .argv(["tool"])
            .environment([format!("PATH={path}")]),
    )
    .unwrap();
    let mut calls = found.calls.iter().map(|call| call.label());
    assert_eq!(
        calls.by_ref().take(4).collect::<Vec<_>>(),
        ["execve", "faccessat2", "faccessat2", "execve"]
    );
}

#[test]
fn direct_starts_the_target_without_a_second_execve() {
    let folder = folder("bake-direct");
    let execs = |file: &Path| {
        let seen = trace(&Subject::new(file)).unwrap();
        assert_eq!(seen.exit, Exit::Exited(0));
        seen.names().filter(|name| *name == "execve").count()
    };
    assert_eq!(
        execs(&baked_in(
            &folder,
            [OsStr::new("--direct"), program("true").as_os_str()]
        )),
        1
    );
    assert_eq!(
        execs(&baked_in(&folder, ["--direct=only", "/bin/true", "x"])),
        1
    );
    let words = [
        "--direct=only",
        "-C",
        "/",
        "SET=1",
        "--append-flag",
        "z",
        "/bin/sh",
        "-c",
    ];
    let script = r#"echo "$PWD $SET $HOME $0 $*""#;
    let file = baked_in(&folder, words.iter().chain(&[script, "zero"]));
    let output = Command::new(&file)
        .arg("caller")
        .env("HOME", "/h")
        .output()
        .unwrap();
    assert_eq!(stderr(&output), "");
    assert_eq!(output.stdout, b"/ 1 /h zero caller z\n");
    // What it cannot start so, it runs; or not, when that is asked for.
    let script = folder.join("script");
    executable(&script, "#!/bin/sh\n");
    let script = script.to_str().unwrap();
    assert_eq!(execs(&baked_in(&folder, ["--direct", script])), 2);
    let output = Command::new(baked_in(&folder, ["--direct=only", script]))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(126));
    let said = Command::new(program("launch"))
        .args(["--direct=only", script])
        .output()
        .unwrap();
    assert_eq!(stderr(&output), stderr(&said));
}

#[test]
fn a_bare_name_is_looked_up_when_it_runs() {
    let folder = folder("bake-path");
    let file = baked_in(&folder, ["true"]);
    let seen = trace(&Subject::new(&file).environment(["PATH=/1:/2:/3:/4:/5:/6:/bin"])).unwrap();
    let execs = seen
        .calls
        .iter()
        .take_while(|call| call.label() == "execve");
    // Its own, six misses, and the target's.
    assert_eq!(execs.count(), 1 + 6 + 1);
}

#[test]
fn what_cannot_be_run_is_said_as_launch_says_it() {
    let folder = folder("bake-fails");
    let script = folder.join("script");
    executable(&script, "#!/nowhere/interpreter\n");
    let text = folder.join("text");
    executable(&text, "text\n");
    let (script, text) = (script.to_str().unwrap(), text.to_str().unwrap());
    for (target, status) in [
        ("/nowhere/target", 127),
        ("/etc/passwd", 126),
        ("/etc/passwd/x", 126),
        ("/etc", 126),
        (script, 126),
        (text, 126),
    ] {
        let said = Command::new(program("launch"))
            .arg(target)
            .output()
            .unwrap();
        assert_eq!(said.status.code(), Some(status), "{target}");
        // By each engine.
        for words in [
            &[target][..],
            &["A=1", target],
            &[target, "x"],
            &["--stdio-null", target, "x"],
        ] {
            let output = Command::new(baked_in(&folder, words)).output().unwrap();
            assert_eq!(stderr(&output), stderr(&said), "{words:?}");
            assert_eq!(output.status.code(), Some(status), "{words:?}");
        }
    }
}

#[test]
fn an_action_that_fails_is_said_as_launch_says_it() {
    let folder = folder("bake-action");
    for words in [
        &["-C", "/nowhere"][..],
        &["-C", "/etc/passwd"],
        &["</nowhere"],
        &[">/"],
        &["5>&7"],
        &["--ctty"],
        &["2>/dev/null", "-C", "/nowhere"],
        &["2>&-", "-C", "/nowhere"],
        &["3>&2", "2>/dev/null", ">/"],
        &["--close-from", "0", "-C", "/nowhere"],
    ] {
        let words = || words.iter().chain(&["/bin/true"]);
        let said = Command::new(program("launch"))
            .args(words())
            .output()
            .unwrap();
        assert_eq!(said.status.code(), Some(125), "{said:?}");
        for more in [&[][..], &["--add-flag", "x"], &["--stdio-null"]] {
            let file = baked_in(&folder, more.iter().chain(words()));
            let output = Command::new(&file).output().unwrap();
            assert_eq!(stderr(&output), stderr(&said), "{more:?}");
            assert_eq!(output.status.code(), Some(125), "{more:?}");
        }
    }
}

#[test]
fn variables_are_set_as_launch_sets_them() {
    let folder = folder("bake-variables");
    let many: Vec<String> = (0..40)
        .map(|number| format!("V{number}={number}"))
        .collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for words in [
        &["A=2"][..],
        &["A=2", "B=3", "A=4"],
        &["-u", "A", "A=5"],
        &["-u", "NONE", "N=1", "-u", "N"],
        &["-u", "A", "-u", "B", "-u", "C", "-u", "EMPTY"],
        &["NO=1"],
        &many,
        &["-i", "X=1", "Y=2"],
        &["--prefix", "A", ":", "0", "--suffix", "NEW", ":", "1"],
    ] {
        let run = |file: &Path, words: &[&str]| {
            let mut command = Command::new(file);
            command.args(words).env_clear();
            command.envs([("A", "1"), ("EMPTY", ""), ("C", "=")]);
            let output = command.output().unwrap();
            assert!(output.status.success(), "{}", stderr(&output));
            output.stdout
        };
        let target = ["/usr/bin/env"];
        let words: Vec<&str> = words.iter().chain(&target).copied().collect();
        let expected = run(&program("launch"), &words);
        for more in [&[][..], &["--add-flag", "--"], &["--stdio-null"]] {
            let file = baked_in(&folder, more.iter().chain(&words));
            assert_eq!(
                run(&file, &[]).as_bstr(),
                expected.as_bstr(),
                "{more:?} {words:?}"
            );
        }
    }
}

/// Bytes that print as text where a test fails.
trait AsText {
    fn as_bstr(&self) -> std::borrow::Cow<'_, str>;
}

impl AsText for Vec<u8> {
    fn as_bstr(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(self)
    }
}

#[test]
fn the_command_line_of_make_binary_wrapper_is_taken() {
    let folder = folder("bake-wrapper");
    let out = folder.join("made/bin/tool");
    let words = [
        "/bin/sh",
        out.to_str().unwrap(),
        "--argv0",
        "ignored",
        "--inherit-argv0",
        "--set",
        "SET",
        "1 2",
        "--set-default",
        "HOME",
        "/default",
        "--unset",
        "GONE",
        "--chdir",
        "/",
        "--add-flag",
        "-c",
        "--add-flag",
        r#"echo "$SET|$HOME|$GONE|$PREFIX|$SUFFIX|$PWD|$0|$*""#,
        "--add-flags",
        "zero 'one two'",
        "--append-flag",
        "last flag",
        "--append-flags",
        "x y",
        "--prefix",
        "PREFIX",
        ":",
        "/a",
        "--suffix",
        "SUFFIX",
        ":",
        "/b",
    ];
    let output = barest(words);
    assert!(output.status.success(), "{}", stderr(&output));
    let run = Command::new(&out)
        .arg("caller's")
        .env_clear()
        .envs([("HOME", "/mine"), ("GONE", "x"), ("PREFIX", "/p")])
        .output()
        .unwrap();
    assert_eq!(
        str::from_utf8(&run.stdout).unwrap(),
        "1 2|/mine||/a:/p|/b|/|zero|one two caller's last flag x y\n",
        "{}",
        stderr(&run)
    );
    // The same words in the other order.
    let recipe = show(&out).unwrap().recipe;
    assert_eq!(recipe.words()[..2], ["--argv0", "ignored"]);
    assert_eq!(recipe.words().last().unwrap(), "/bin/sh");
}

#[test]
fn make_binary_wrapper_s_empty_argv0_is_none_and_its_executable_is_a_path() {
    let folder = folder("bake-wrapper-argv0");
    symlink("/bin/true", folder.join("true")).unwrap();
    let bake = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_barest"))
            .args(["bake", "true", "out"])
            .args(words)
            .current_dir(&folder)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        show(folder.join("out")).unwrap().recipe.to_string()
    };
    assert_eq!(bake(&[]), "./true");
    assert_eq!(bake(&["--argv0", ""]), "--argv0 ./true ./true");
    assert_eq!(
        bake(&["--inherit-argv0", "--argv0", ""]),
        "--inherit-argv0 --argv0 ./true ./true"
    );
}

#[test]
fn words_that_name_no_file_to_write_write_none() {
    let folder = folder("bake-no-file");
    let no_file = "bake: no file to write; give -o FILE before all other words";
    refused(["/bin/true"], no_file);
    refused(["-C", "/", "/bin/true"], no_file);
    refused(["/bin/true", "-x"], no_file);
    let out = folder.join("out");
    let out = out.to_str().unwrap();
    refused(
        ["A=1", out],
        "A=1: no executable file; EXECUTABLE OUT_PATH are makeBinaryWrapper's words, \
         for others give -o FILE",
    );
    refused(
        ["/bin/true", out, "x"],
        "x: not an action; arguments for the executable are given by --add-flag",
    );
    assert!(!Path::new(out).exists());
}

#[test]
fn words_that_say_nothing_are_refused_in_one_line() {
    let folder = folder("bake-usage");
    let out = folder.join("out");
    let refused = |words: &[&str], line: &str| {
        let words = words.iter().map(OsStr::new);
        let first = [OsStr::new("-o"), out.as_os_str()];
        refused(first.into_iter().chain(words), line);
        assert!(!out.exists());
    };
    for (words, named, why) in [
        (&["--none", "x"][..], "--none", Reason::UNKNOWN),
        (&["--umask", "9", "x"], "--umask 9", Reason::WRONG),
        (&["-C"], "-C", Reason::MISSING),
        (&["-C", "/"], "bake", Reason::NO_PROGRAM),
        (&["--add-flag"], "--add-flag", Reason::MISSING),
        (
            &["--resolve-argv0=1", "x"],
            "--resolve-argv0=1",
            Reason::WRONG,
        ),
    ] {
        let why = String::from_utf8_lossy(why.text().to_bytes());
        let why = why.replace("launch --help", "barest bake --help");
        refused(words, &format!("{named}: {why}"));
    }
    refused(
        &["--add-flags", "'a", "x"],
        "--add-flags 'a: unbalanced quotes; quote the flags as for a shell",
    );
    refused(
        &["-C", "/", "--version", "x"],
        "--version: nothing that a launcher could do each time",
    );
    let long = format!("/{}", "x".repeat(4095));
    refused(
        &[&long],
        &format!("{long}: too long; a path has at most 4095 bytes"),
    );
}

#[test]
fn help_lists_every_action_and_what_is_for_baking_alone() {
    let output = barest(["--help"]);
    let text = str::from_utf8(&output.stdout).unwrap();
    let launch = String::from_utf8_lossy(launcher::words::HELP.to_bytes());
    let options = launch
        .split_whitespace()
        .filter(|word| word.starts_with('-'));
    let ours = [
        "--add-flag",
        "--add-flags",
        "--append-flag",
        "--append-flags",
        "--inherit-argv0",
        "--resolve-argv0",
        "--show",
        "-o",
    ];
    for option in options.chain(ours) {
        assert!(text.contains(option), "{option}\n{text}");
    }
}

#[test]
fn a_launcher_never_replaces_its_own_target() {
    let folder = folder("bake-own");
    let target = folder.join("target");
    fs::write(&target, "#!/bin/sh\necho target\n").unwrap();
    let link = folder.join("link");
    symlink(&target, &link).unwrap();
    let hard = folder.join("hard");
    fs::hard_link(&target, &hard).unwrap();
    let own = "it is the launcher's own target; bake to another place";
    for (file, words) in [
        (&target, &target),
        (&link, &target),
        (&target, &link),
        (&hard, &target),
    ] {
        refused(
            [OsStr::new("-o"), file.as_os_str(), words.as_os_str()],
            &format!("{}: {own}", file.display()),
        );
    }
    // By another way to the same place, where there is nothing yet.
    let new = folder.join("new");
    let same = folder.join("../bake-own/new");
    refused(
        [OsStr::new("-o"), new.as_os_str(), same.as_os_str()],
        &format!("{}: {own}", new.display()),
    );
    assert!(!new.exists());
    assert_eq!(
        fs::read_to_string(&target).unwrap(),
        "#!/bin/sh\necho target\n"
    );
}

#[test]
fn a_launcher_is_not_put_where_path_would_find_it_for_its_target() {
    let folder = folder("bake-loop");
    let file = folder.join("true");
    let bake = |path: &str| {
        Command::new(env!("CARGO_BIN_EXE_barest"))
            .args(["bake", "-o"])
            .args([file.as_os_str(), "true".as_ref()])
            .env("PATH", path)
            .output()
            .unwrap()
    };
    let output = bake(&format!("{}:/bin", folder.display()));
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        stderr(&output),
        format!(
            "barest: {}: it is what PATH has for the target's name; name the target by its path\n",
            file.display()
        )
    );
    assert!(!file.exists());
    // Behind the target it is not found.
    let output = bake(&format!("/bin:{}", folder.display()));
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn what_is_no_file_is_not_replaced() {
    let folder = folder("bake-no-regular");
    for place in [folder.to_str().unwrap(), "/dev/null"] {
        refused(
            ["-o", place, "/bin/true"],
            &format!(
                "{place}: there is something that is no file; name one, to be made or replaced"
            ),
        );
    }
}

#[test]
fn a_file_is_replaced_at_once_and_has_the_mode_of_a_program() {
    let folder = folder("bake-atomic");
    let file = folder.join("baked");
    fs::write(&file, "old").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let old = fs::File::open(&file).unwrap();
    for (umask, mode) in [("022", 0o755), ("077", 0o700), ("027", 0o750)] {
        let status = Command::new("sh")
            .args(["-c", r#"umask "$1" && exec "$0" bake -o "$2" /bin/true"#])
            .args([env!("CARGO_BIN_EXE_barest"), umask])
            .arg(&file)
            .status()
            .unwrap();
        assert!(status.success());
        assert_eq!(
            fs::metadata(&file).unwrap().mode() & 0o7777,
            mode,
            "{umask}"
        );
    }
    // Who had the old file open has it still.
    assert_eq!(std::io::read_to_string(old).unwrap(), "old");
    let names: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["baked"]);
}

#[test]
fn nothing_is_left_where_it_cannot_be_written() {
    let folder = folder("bake-denied");
    let missing = folder.join("none/baked");
    let output = barest([OsStr::new("-o"), missing.as_os_str(), "/bin/true".as_ref()]);
    assert_eq!(output.status.code(), Some(2));
    let line = stderr(&output);
    assert!(
        line.starts_with(&format!("barest: write {}: ", missing.display())),
        "{line}"
    );
    assert_eq!(line.lines().count(), 1);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn a_target_that_is_not_there_yet_is_said_and_baked() {
    let folder = folder("bake-missing");
    let file = folder.join("baked");
    let output = barest([
        OsStr::new("-o"),
        file.as_os_str(),
        "/nowhere/target".as_ref(),
    ]);
    assert!(output.status.success());
    assert_eq!(
        stderr(&output),
        format!(
            "barest: note: /nowhere/target: not there now; {} fails until it is\n",
            file.display()
        )
    );
    show(&file).unwrap();
}

#[test]
fn baking_takes_the_command_and_nothing_else() {
    let folder = folder("bake-alone");
    let command = folder.join("barest");
    let copied = Command::new("cp")
        .args([env!("CARGO_BIN_EXE_barest").as_ref(), command.as_os_str()])
        .status();
    assert!(copied.unwrap().success());
    let file = folder.join("baked");
    let subject =
        Subject::new(&command).argv(["barest", "bake", "-o", file.to_str().unwrap(), "/bin/true"]);
    let seen = trace(&subject).unwrap();
    // One process, that runs no other.
    let execs = seen
        .calls
        .iter()
        .filter(|call| call.label().starts_with("exec"));
    assert_eq!(execs.count(), 1);
    assert!(Command::new(&file).status().unwrap().success());
}

#[test]
fn the_command_has_the_libc_s_memcpy() {
    let bytes = fs::read(env!("CARGO_BIN_EXE_barest")).unwrap();
    let elf = object::File::parse(&*bytes).unwrap();
    let names = ["memcpy", "memmove", "memset", "memcmp", "bcmp", "strlen"];
    let own: Vec<_> = elf
        .symbols()
        .filter(|symbol| symbol.is_definition())
        .filter_map(|symbol| symbol.name().ok())
        .filter(|name| names.contains(name))
        .collect();
    assert!(own.is_empty(), "{own:?}");
    let imported = elf
        .dynamic_symbols()
        .any(|symbol| symbol.name() == Ok("memcpy"));
    assert!(imported);
}
