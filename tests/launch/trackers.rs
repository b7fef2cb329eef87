//! What users of other launchers met and reported, each with where: the right behaviour here.
//!
//! Some of it is shown in more detail in the other files. Here each report has its test, by name.

use std::fs::{self, OpenOptions};

use barest::Subject;
use barest::assertions::never;
use barest::trace::{Exit, trace};
use predicates::prelude::PredicateBooleanExt;

use crate::capability::{Capability, capable};
use crate::case::{launch, words};
use crate::common::program;
use crate::launcher::LAUNCHERS;
use crate::message::{assert_tells, line};
use crate::place::{Root, before, chmod, executable, folder, out, state};
use crate::run::{run, run_with};
use crate::state::{State, escape};

/// containers/bubblewrap#471, KSPP/linux#176.
#[test]
fn argc_0_is_refused_with_a_message() {
    let command = LAUNCHERS[0].command(&[], &[]);
    let none: [&str; 0] = [];
    let seen = trace(&Subject::new(&command[0]).argv(none)).unwrap();
    assert_tells(&seen, ["execve"]);
    assert_eq!(seen.exit, Exit::Exited(125));
    // Linux from 5.18 on gives an empty argument instead of none.
    let run = run(&words![before(), "empty", "--", &command[0]]);
    assert!(run.stderr().starts_with("launch: "), "{}", run.stderr());
    assert_eq!(run.stderr().lines().count(), 1);
    assert_eq!(run.status.code(), Some(125));
}

/// Yelp/dumb-init#32, #81; krallin/tini#59; util-linux#311.
#[test]
fn a_failed_exec_is_never_0_and_names_its_target() {
    let folder = folder();
    let refused = folder.join("refused");
    executable(&refused, b"#!/bin/sh\n");
    chmod(&refused, 0o600);
    let refused = refused.to_str().unwrap();
    for launcher in LAUNCHERS {
        for (target, status, errno) in [
            ("/nowhere", 127, "ENOENT"),
            ("nowhere", 127, "ENOENT"),
            (refused, 126, "EACCES"),
        ] {
            let run = run(&launcher.command(&[], &words![target]));
            assert_eq!(run.status.code(), Some(status));
            assert_eq!(run.stderr(), format!("{}\n", line(target, errno)));
        }
        let run = run(&launcher.command(&words!["-C", "/nowhere"], &words!["true"]));
        assert_eq!(run.status.code(), Some(125));
    }
}

/// fish-shell#9036, systemd#3038, nixpkgs#208187.
#[test]
fn a_file_that_is_there_and_is_not_found_lacks_its_interpreter() {
    let script = folder().join("script");
    executable(&script, b"#!/nowhere/python3\n");
    let name = script.to_str().unwrap();
    for launcher in LAUNCHERS {
        let run = run(&launcher.command(&[], &words![name]));
        assert!(
            run.stderr()
                .starts_with(&format!("launch: {name}: ENOENT, ")),
            "{}",
            run.stderr()
        );
        assert!(run.stderr().contains("interpreter"), "{}", run.stderr());
        assert_eq!(run.status.code(), Some(126));
        // The call that tells is made on this path only.
        let command = launcher.command(&[], &words![state(), out()]);
        trace(&Subject::new(&command[0]).argv(command))
            .unwrap()
            .assert(never("faccessat2").and(never("access")));
    }
}

/// Perl/perl5#18402, oven-sh/bun#31717.
#[test]
fn a_text_is_not_run_by_a_shell_that_nobody_asked_for() {
    let folder = folder();
    let text = folder.join("text");
    executable(
        &text,
        format!("touch {}/was-run\n", folder.display()).as_bytes(),
    );
    let name = text.to_str().unwrap();
    for launcher in LAUNCHERS {
        let run = run(&launcher.command(&[], &words![name]));
        assert_eq!(run.stderr(), format!("{}\n", line(name, "ENOEXEC")));
        assert_eq!(run.status.code(), Some(126));
    }
    assert!(!folder.join("was-run").exists());
}

/// gvisor#12772, WSL#4357.
#[test]
fn the_search_goes_on_after_what_is_missing_no_directory_or_refused() {
    let (refuses, good) = (folder(), folder());
    executable(&refuses.join("tool"), b"#!/bin/sh\n");
    chmod(&refuses.join("tool"), 0o600);
    fs::hard_link(state(), good.join("tool")).unwrap();
    let file = out();
    let start = format!("/nowhere:{}:{}", file.display(), refuses.display());
    for launcher in LAUNCHERS {
        let out = out();
        let words = words![format!("PATH={start}:{}", good.display())];
        let run = run(&launcher.command(&words, &words!["tool", &out]));
        assert_eq!((run.status.code(), run.stderr()), (Some(7), ""));
        let words = words![format!("PATH={start}")];
        let run = self::run(&launcher.command(&words, &words!["tool"]));
        assert_eq!(run.stderr(), format!("{}\n", line("tool", "EACCES")));
        assert_eq!(run.status.code(), Some(126));
    }
    // An empty element is the working directory.
    for path in [
        "PATH=",
        "PATH=:/nowhere",
        "PATH=/nowhere:",
        "PATH=/nowhere::/nowhere",
    ] {
        for launcher in LAUNCHERS {
            let out = out();
            let words = words!["-C", &good, path];
            let run = run(&launcher.command(&words, &words!["tool", &out]));
            assert_eq!((run.status.code(), run.stderr()), (Some(7), ""), "{path}");
        }
    }
}

/// skarnet/execline#14.
#[test]
fn a_duplicate_of_a_descriptor_to_itself_keeps_it_open() {
    launch(["--cloexec-from", "3", "4>&4"])
        .before(["fd=3", "fd=4"])
        .calls(["close_range", "fcntl"])
        .sees_closed(3)
        .holds();
    launch(["2>&2"]).calls(["fcntl"]).holds();
}

/// oven-sh/bun#31196, h2o#1203.
#[test]
fn a_file_that_opens_where_it_is_wanted_is_not_closed_again() {
    let file = out();
    launch([format!("<{}", file.display())])
        .before(["close=0"])
        .calls(["openat", "fcntl"])
        .sees_file(0, "read", &file)
        .holds();
    launch([format!("3<{}", file.display())])
        .calls(["openat", "fcntl"])
        .sees_file(3, "read", &file)
        .holds();
}

/// haskell/process#251.
#[test]
fn closing_what_is_closed_is_no_error() {
    launch(["7>&-", "2147483647<&-"])
        .calls(["close", "close"])
        .holds();
}

/// navikt/cplt#526, zeroc-ice/ice#6064.
#[test]
fn closing_all_is_one_call_whatever_the_limit_of_open_files() {
    // The highest limit that there can be without more: that of this process.
    let mut limit = std::mem::MaybeUninit::<libc::rlimit>::uninit();
    // SAFETY: room for what the kernel writes.
    let most = unsafe {
        assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, limit.as_mut_ptr()), 0);
        limit.assume_init().rlim_max
    };
    let highest = format!("fd={}", most.min(1024) - 1);
    launch(["--close-from", "3"])
        .before([format!("nofile={most}"), "fd=3".to_owned(), highest])
        .calls(["close_range"])
        .sees_closed(3)
        .sees_closed(most.min(1024) as u32 - 1)
        .holds();
}

/// bubblewrap#700, #633; util-linux#1490; golang/go#9686.
#[test]
fn a_parent_that_has_died_before_it_was_watched_is_noticed() {
    launch(["--pdeathsig", "KILL"])
        .before(["orphan"])
        .calls(["prctl", "getppid"])
        .fails_beginning(125, "launch: --pdeathsig KILL: ");
}

/// bubblewrap#633: a change of user clears it, so it counts where it stands after that.
#[test]
fn a_parents_death_is_still_signalled_when_it_is_asked_for_after_the_user() {
    let root = Root::new();
    let denied = line(&format!("--chroot {}", root.folder.display()), "EPERM");
    let user = words!["-U", "1000:1000"];
    let watch = words!["--pdeathsig", "TERM"];
    let case = |words: Vec<std::ffi::OsString>| {
        launch(root.words().into_iter().chain(words))
            .below(&root)
            .sees("uid", "1000 1000 1000")
            .sees("gid", "1000 1000 1000")
            .sees("groups", "")
            .sees("capabilities", "no")
            .needs(Capability::SysChroot, 1, denied.clone())
    };
    case([user.clone(), watch.clone()].concat())
        .calls([
            "chroot",
            "chdir",
            "setgroups",
            "setgid",
            "setuid",
            "prctl",
            "getppid",
        ])
        .sees("pdeathsig", "15")
        .holds();
    // The order is the user's: nothing is moved.
    case([watch, user].concat())
        .calls([
            "chroot",
            "chdir",
            "prctl",
            "getppid",
            "setgroups",
            "setgid",
            "setuid",
        ])
        .sees("pdeathsig", "0")
        .holds();
}

/// ClickHouse#105247, swaywm/sway#5001.
#[test]
fn groups_go_before_the_group_and_the_group_before_the_user_and_any_failure_is_the_end() {
    launch(["-U", "1:1"])
        .before(["powerless"])
        .calls(["setgroups"])
        .fails(125, &line("-U 1:1", "EPERM"));
    if !capable(Capability::SetUid) {
        return;
    }
    for (without, calls) in [
        (Capability::SetGid, &["setgroups"][..]),
        (Capability::SetUid, &["setgroups", "setgid", "setuid"]),
    ] {
        launch(["-U", "1:1"])
            .before([format!("without={}", without as u32)])
            .calls(calls.iter().copied())
            .fails(125, &line("-U 1:1", "EPERM"));
    }
}

/// ncopa/su-exec#26.
#[test]
fn a_user_that_is_bad_is_never_root() {
    let unknown = "launch: -U no-such-user: ";
    launch(["-U", "no-such-user"])
        .calls(["openat", "read", "close"])
        .fails_beginning(125, unknown);
    // 2^32 is no 0, and -1 is no "unchanged".
    for words in [
        ["-U", "4294967296:0"],
        ["-U", "4294967295:0"],
        ["-U", "-1:0"],
        ["-U", "0x0:0"],
        ["-U", ""],
        ["-U", ":"],
        ["--reuid", "-1"],
        ["--reuid", "4294967295"],
        ["--reuid", "4294967296"],
        ["--reuid", ""],
    ] {
        let [option, value] = words;
        let run = run(&words![program("launch"), option, value, "true"]);
        assert_eq!(run.status.code(), Some(125), "{words:?}: {}", run.stderr());
    }
}

/// rust-lang/rust#25784, #39185.
#[test]
fn signals_are_left_as_they_were() {
    launch([""; 0])
        .before(["ignore=13", "ignore=1", "block=10", "block=64"])
        .holds();
    launch(["-i", "--umask", "0"])
        .before(["ignore=13", "ignore=1", "block=10", "block=64"])
        .calls(["umask"])
        .sees("umask", "000")
        .sees_environment([""; 0])
        .holds();
}

/// uutils/coreutils#8361.
#[test]
fn the_target_is_the_same_process() {
    let command =
        LAUNCHERS.map(|launcher| launcher.command(&words!["--setsid"], &words![state(), out()]));
    for command in command {
        let seen = trace(&Subject::new(&command[0]).argv(&command)).unwrap();
        let none = never("fork")
            .and(never("vfork"))
            .and(never("clone"))
            .and(never("clone3"));
        seen.assert(none);
        assert_eq!((seen.processes, seen.threads), (1, 1));
    }
    let pid = folder().join("pid");
    for launcher in LAUNCHERS {
        let shell = words!["/bin/sh", "-c", format!("echo $$ > {}", pid.display())];
        let run = run(&launcher.command(&[], &shell));
        assert_eq!(fs::read_to_string(&pid).unwrap(), format!("{}\n", run.pid));
    }
}

/// fish-shell#2784, CVE-2016-2381.
#[test]
fn a_variable_that_is_there_twice_cannot_be_seen_with_its_old_value() {
    let environment = ["A=1", "PATH=/evil", "B=2", "PATH=/also", "PATH=/and"];
    launch(["PATH=/good"])
        .environment(environment)
        .sees_environment(["A=1", "PATH=/good", "B=2"])
        .holds();
    launch(["-u", "PATH"])
        .environment(environment)
        .sees_environment(["A=1", "B=2"])
        .holds();
}

/// spack#33237.
#[test]
fn a_single_string_that_is_too_long_is_said_to_be() {
    let huge = "x".repeat(100_000);
    let old = format!("HUGE={huge}");
    for launcher in LAUNCHERS {
        let words = words!["--suffix", "HUGE", ":", &huge];
        let run = run_with(&launcher.command(&words, &words!["true"]), &words![&old]);
        let said = run.stderr();
        assert!(said.starts_with("launch: --suffix HUGE : x"), "{said}");
        assert!(said.contains("E2BIG") && said.contains("128 KiB"), "{said}");
        assert_eq!(run.status.code(), Some(125));
    }
}

/// nixpkgs#15631.
#[test]
fn the_name_that_the_target_was_given_is_kept() {
    let folder = folder();
    fs::hard_link(state(), folder.join("tool")).unwrap();
    let path = format!("PATH={}", folder.display());
    for launcher in LAUNCHERS {
        for (words, argv0) in [
            (&words![&path][..], "tool"),
            (&words![&path, "-a", "x y"], "x y"),
        ] {
            let out = out();
            let run = run(&launcher.command(words, &words!["tool", &out]));
            assert_eq!((run.status.code(), run.stderr()), (Some(7), ""));
            let seen = State::parse(&fs::read_to_string(out).unwrap());
            assert_eq!(seen.argv[0], argv0);
        }
    }
}

/// nixpkgs#541658.
#[test]
fn a_prefix_reads_no_further_than_its_variable() {
    let environment = ["PATH=", "NEXT=1", "P", "PATHS=2", "PA=3"];
    launch(["--prefix", "PATH", ":", "/x"])
        .environment(environment)
        .sees_environment(["PATH=/x", "NEXT=1", "P", "PATHS=2", "PA=3"])
        .holds();
    launch(["--prefix", "PATHS", ":", "/x"])
        .environment(environment)
        .sees_environment(["PATH=", "NEXT=1", "P", "PATHS=/x:2", "PA=3"])
        .holds();
    launch(["--prefix", "P", ":", "/x"])
        .environment(environment)
        .sees_environment(["P=/x", "PATH=", "NEXT=1", "P", "PATHS=2", "PA=3"])
        .holds();
}

/// nixpkgs#397604.
#[test]
fn no_byte_of_a_word_means_anything_to_a_shell() {
    let value = "V=a b\t\"c\" 'd' $e `f` \\g *\n;&|<>()#~\u{7f}\u{e9}";
    launch([value])
        .environment(["V="])
        .sees_environment([value])
        .holds();
    for launcher in LAUNCHERS {
        let out = out();
        let argument = &value[2..];
        let run = run(&launcher.command(&[], &words![state(), argument, "", &out]));
        assert_eq!(run.status.code(), Some(7), "{}", run.stderr());
        let seen = State::parse(&fs::read_to_string(&out).unwrap());
        let all = [
            state().to_str().unwrap(),
            argument,
            "",
            out.to_str().unwrap(),
        ];
        assert_eq!(seen.argv, all.map(escape));
    }
}

/// g-pape/runit#43.
#[test]
fn streams_that_are_closed_can_be_null_instead() {
    launch(["--stdio-null"])
        .before(["close=0", "close=2"])
        .calls(["fcntl", "openat", "fcntl", "fcntl", "openat"])
        .sees_file(0, "read-write", "/dev/null")
        .sees_file(2, "read-write", "/dev/null")
        .holds();
    launch(["<&-", "--stdio-null"])
        .calls(["close", "fcntl", "openat", "fcntl", "fcntl"])
        .sees_file(0, "read-write", "/dev/null")
        .holds();
}

/// g-pape/runit#41.
#[test]
fn the_text_of_an_error_survives_a_closed_stderr() {
    launch(["2>&-", "-C", "/nowhere"])
        .calls(["fcntl", "close", "chdir"])
        .fails(125, &line("-C /nowhere", "ENOENT"));
}

/// util-linux#518.
#[test]
fn a_session_that_cannot_be_had_is_a_failure_and_no_fork() {
    launch(["--setsid"])
        .before(["group"])
        .calls(["setsid"])
        .fails(125, &line("--setsid", "EPERM"));
}

/// golang/go#22315.
#[test]
fn a_target_that_is_being_written_is_named_so_and_runs_when_that_is_over() {
    let script = folder().join("script");
    executable(&script, b"#!/bin/sh\nexit 5\n");
    let name = script.to_str().unwrap();
    for launcher in LAUNCHERS {
        let writer = OpenOptions::new().write(true).open(&script).unwrap();
        let busy = run(&launcher.command(&[], &words![name]));
        assert_eq!(busy.stderr(), format!("{}\n", line(name, "ETXTBSY")));
        assert_eq!(busy.status.code(), Some(126));
        drop(writer);
        // A child of a test beside this one may hold it open for the moment between its fork and
        // its exec.
        let again = (0..100)
            .map(|_| run(&launcher.command(&[], &words![name])))
            .find(|run| {
                std::thread::sleep(std::time::Duration::from_millis(5));
                run.status.code() != Some(126)
            });
        assert_eq!(again.unwrap().status.code(), Some(5));
    }
}
