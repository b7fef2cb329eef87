//! Each action that is no redirection, limit, user, signal or file: its calls and its effect.

use std::path::Path;

use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

use crate::capability::Capability;
use crate::case::{launch, words};
use crate::message::line;
use crate::place::{Root, folder, identity};

#[test]
fn without_an_action_the_target_is_all_that_happens() {
    launch([""; 0]).holds();
    launch(["--"]).holds();
}

#[test]
fn chdir_is_one_call() {
    let folder = folder();
    let cwd = folder.to_str().unwrap();
    let long = format!("--chdir={cwd}");
    for words in [
        &words!["-C", cwd][..],
        &words!["--chdir", cwd],
        &words![long],
    ] {
        launch(words).calls(["chdir"]).sees("cwd", cwd).holds();
    }
}

#[test]
fn chroot_is_one_call_and_leaves_the_working_directory() {
    let root = Root::new();
    let folder = root.folder.to_str().unwrap();
    let denied = line(&format!("--chroot {folder}"), "EPERM");
    let here = std::env::current_dir().unwrap();
    let cwd = format!("(unreachable){}", here.display()); // getcwd(2)
    launch(words!["--chroot", folder])
        .below(&root)
        .calls(["chroot"])
        .sees("cwd", cwd)
        .needs(Capability::SysChroot, 1, denied)
        .holds();
    let denied = line(&format!("--chroot={folder}"), "EPERM");
    launch(words![format!("--chroot={folder}"), "-C", "/"])
        .below(&root)
        .calls(["chroot", "chdir"])
        .needs(Capability::SysChroot, 1, denied)
        .holds();
}

#[test]
fn umask_is_one_call() {
    for (word, mask) in [
        ("022", "022"),
        ("077", "077"),
        ("0", "000"),
        ("0777", "777"),
        ("2", "002"),
    ] {
        launch(["--umask", word])
            .calls(["umask"])
            .sees("umask", mask)
            .holds();
    }
    launch(["--umask=027"])
        .calls(["umask"])
        .sees("umask", "027")
        .holds();
}

#[test]
fn setsid_is_one_call() {
    launch(["--setsid"])
        .calls(["setsid"])
        .sees("leads its session", "yes")
        .sees("leads its group", "yes")
        .holds();
}

#[test]
fn pgrp_is_one_call() {
    launch(["--pgrp"])
        .calls(["setpgid"])
        .sees("leads its group", "yes")
        .holds();
}

#[test]
fn ctty_is_one_call_and_makes_stdin_the_controlling_terminal() {
    launch(["--setsid", "--ctty"])
        .on_a_terminal()
        .calls(["setsid", "ioctl"])
        .sees("leads its session", "yes")
        .sees("leads its group", "yes")
        .sees("stdin is its terminal", "yes")
        .holds();
    launch(["--ctty"])
        .calls(["ioctl"])
        .fails(125, &line("--ctty", "ENOTTY"));
}

#[test]
fn nice_is_one_call_and_absolute() {
    // SAFETY: two numbers.
    let here = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    let higher = (here + 3).min(19).to_string();
    launch(["--nice", &higher])
        .calls(["setpriority"])
        .sees("nice", &higher)
        .holds();
    launch(["--nice", "-5"])
        .calls(["setpriority"])
        .sees("nice", "-5")
        .needs(Capability::SysNice, 1, line("--nice -5", "EACCES"))
        .holds();
}

/// The processors that this process may use.
fn processors() -> Vec<usize> {
    let set = sched_getaffinity(Pid::from_raw(0)).unwrap();
    (0..CpuSet::count())
        .filter(|&cpu| set.is_set(cpu).unwrap())
        .collect()
}

/// Those of them that are asked for, as `state` shows them.
fn asked_for(ask: impl Fn(usize) -> bool) -> String {
    let cpus = processors().into_iter().filter(|&cpu| ask(cpu));
    cpus.map(|cpu| cpu.to_string())
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn cpus_is_one_call_and_takes_numbers_ranges_and_strides() {
    let cpus = processors();
    let (first, last) = (cpus[0], cpus[cpus.len() - 1]);
    for (word, seen) in [
        (format!("{first}"), asked_for(|cpu| cpu == first)),
        (format!("{first}-{last}"), asked_for(|_| true)),
        (
            format!("{first},{last}"),
            asked_for(|cpu| cpu == first || cpu == last),
        ),
        (
            format!("{first}-{last}:2"),
            asked_for(|cpu| (cpu - first).is_multiple_of(2)),
        ),
        (
            format!("{first},{}-{}", last + 1, last + 3),
            asked_for(|cpu| cpu == first),
        ),
        ("0-1023".to_owned(), asked_for(|_| true)),
    ] {
        launch(["--cpus", &word])
            .calls(["sched_setaffinity"])
            .sees("cpus", seen)
            .holds();
    }
}

#[test]
fn sched_is_one_call() {
    for (word, seen) in [
        ("other", "other 0"),
        ("batch", "batch 0"),
        ("idle", "idle 0"),
        ("batch:0", "batch 0"),
    ] {
        launch(["--sched", word])
            .calls(["sched_setscheduler"])
            .sees("sched", seen)
            .holds();
    }
    for (word, seen) in [("fifo:10", "fifo 10"), ("rr:1", "rr 1")] {
        launch(["--sched", word])
            .calls(["sched_setscheduler"])
            .sees("sched", seen)
            .needs(
                Capability::SysNice,
                1,
                line(&format!("--sched {word}"), "EPERM"),
            )
            .holds();
    }
}

#[test]
fn ionice_is_one_call_and_takes_classes_by_number_or_name() {
    for (word, seen) in [
        ("2:7", "2:7"),
        ("best-effort:3", "2:3"),
        ("idle:0", "3:0"),
        ("3:0", "3:0"),
        ("none:0", "0:0"),
    ] {
        launch(["--ionice", word])
            .calls(["ioprio_set"])
            .sees("ionice", seen)
            .holds();
    }
    launch(["--ionice", "realtime:4"])
        .calls(["ioprio_set"])
        .sees("ionice", "1:4")
        .needs(Capability::SysNice, 1, line("--ionice realtime:4", "EPERM"))
        .holds();
}

#[test]
fn nnp_is_one_call() {
    launch(["--nnp"])
        .calls(["prctl"])
        .sees("no_new_privs", "1")
        .holds();
}

#[test]
fn subreaper_is_one_call_and_ends_with_the_launcher_as_prctl_says() {
    // "The setting is not inherited by children created by fork(2) and clone(2). It is preserved
    // across execve(2)": PR_SET_CHILD_SUBREAPER(2const).
    launch(["--subreaper"])
        .calls(["prctl"])
        .sees("subreaper", "1")
        .holds();
}

#[test]
fn no_address_randomization_is_one_call() {
    // ADDR_NO_RANDOMIZE, personality(2).
    launch(["-R"])
        .calls(["personality"])
        .sees("personality", "0x40000")
        .holds();
}

#[test]
fn pdeathsig_is_two_calls() {
    for word in ["TERM", "SIGTERM", "15"] {
        launch(["--pdeathsig", word])
            .calls(["prctl", "getppid"])
            .sees("pdeathsig", "15")
            .holds();
    }
    launch(["--pdeathsig=KILL"])
        .calls(["prctl", "getppid"])
        .sees("pdeathsig", "9")
        .holds();
}

#[test]
fn alarm_is_one_call_and_goes_on_in_the_target() {
    launch(["--alarm", "1000"])
        .calls(["alarm"])
        .sees("alarm", "1000")
        .holds();
    launch(["--alarm=0"]).calls(["alarm"]).holds();
}

#[test]
fn stdio_null_looks_at_each_of_three_and_opens_what_is_closed() {
    const LOOK: &str = "fcntl";
    const OPEN: &str = "openat";
    launch(["--stdio-null"]).calls([LOOK, LOOK, LOOK]).holds();
    for (closed, calls) in [
        (&[0][..], &[LOOK, OPEN, LOOK, LOOK][..]),
        (&[1], &[LOOK, LOOK, OPEN, LOOK]),
        (&[2], &[LOOK, LOOK, LOOK, OPEN]),
        (&[0, 2], &[LOOK, OPEN, LOOK, LOOK, OPEN]),
        (&[0, 1, 2], &[LOOK, OPEN, LOOK, OPEN, LOOK, OPEN]),
    ] {
        let mut case = launch(["--stdio-null"])
            .before(closed.iter().map(|fd| format!("close={fd}")))
            .calls(calls.iter().copied());
        for &fd in closed {
            case = case.sees_file(fd, "read-write", "/dev/null");
        }
        case.holds();
    }
}

#[test]
fn stdio_null_opens_what_would_close_at_the_exec() {
    // For the target that is as closed as any. Stderr is kept before it goes, as always.
    launch(["--cloexec-from", "1", "--stdio-null", "2>&-"])
        .calls([
            "close_range",
            "fcntl",
            "fcntl",
            "close",
            "openat",
            "fcntl",
            "fcntl",
            "close",
            "openat",
            "close",
        ])
        .sees_file(1, "read-write", "/dev/null")
        .sees_closed(2)
        .holds();
    launch(["--close-from", "1", "--stdio-null", "5<&1"])
        .calls([
            "close_range",
            "fcntl",
            "fcntl",
            "close",
            "openat",
            "fcntl",
            "fcntl",
            "close",
            "openat",
            "dup3",
        ])
        .sees_file(1, "read-write", "/dev/null")
        .sees_file(2, "read-write", "/dev/null")
        .sees_file(5, "read-write", "/dev/null")
        .holds();
}

#[test]
fn a_value_may_follow_an_equals_sign() {
    let (uid, gid) = (nix::unistd::getuid(), nix::unistd::getgid());
    let first = processors()[0].to_string();
    for (word, call, key, value) in [
        (
            format!("--cpus={first}"),
            "sched_setaffinity",
            "cpus",
            first.as_str(),
        ),
        (
            "--sched=batch".to_owned(),
            "sched_setscheduler",
            "sched",
            "batch 0",
        ),
        ("--ionice=2:6".to_owned(), "ioprio_set", "ionice", "2:6"),
        (format!("--reuid={uid}"), "setresuid", "pdeathsig", "0"),
        (format!("--regid={gid}"), "setresgid", "pdeathsig", "0"),
    ] {
        launch([word]).calls([call]).sees(key, value).holds();
    }
    let file = folder().join("file");
    launch(words![format!("--write={}", file.display()), "1"])
        .calls(["openat", "write", "close"])
        .holds();
    launch(["--prefix=FIRST", ":", "0", "--suffix=FIRST", ":", "2"])
        .sees_environment(["FIRST=0:1:2", "PATH=/usr/bin:/bin", "LAST="])
        .holds();
}

#[test]
fn arguments_of_the_target_pass_whatever_they_are() {
    use crate::launcher::LAUNCHERS;
    use crate::place::{out, state};
    // Nine of nearly 128 KiB, the most that Linux takes for one (MAX_ARG_STRLEN).
    let long = "x".repeat((128 << 10) - 16);
    let many: Vec<_> = (0..10_000).map(|number| number.to_string()).collect();
    for arguments in [vec![long; 9], many, vec![String::new(); 3]] {
        for launcher in LAUNCHERS {
            let out = out();
            let words = words!["A=1", "--umask", "0", "B=2"];
            let mut command = launcher.command(&words, &words![state(), "first"]);
            let mut argv = words![state(), "first"].to_vec();
            argv.extend(arguments.iter().map(Into::into));
            argv.push(out.clone().into());
            command.extend_from_slice(&argv[2..]);
            let run = crate::run::run(&command);
            assert_eq!((run.status.code(), run.stderr()), (Some(7), ""));
            let seen = crate::state::State::parse(&std::fs::read_to_string(out).unwrap());
            assert!(
                seen.argv
                    .iter()
                    .eq(argv.iter().map(|word| word.to_str().unwrap()))
            );
            assert_eq!(seen.environment, ["B=2", "A=1"]);
        }
    }
}

#[test]
fn argv0_costs_no_call() {
    for words in [
        &["-a", "other name"][..],
        &["--argv0", "other name"],
        &["--argv0=other name"],
    ] {
        launch(words).sees_argv0("other name").holds();
    }
    launch(["-a", ""]).sees_argv0("").holds();
    launch(["-a", "-first", "-a", "last"])
        .sees_argv0("last")
        .holds();
}

#[test]
fn a_value_may_look_like_an_action() {
    let folder = folder();
    let name = folder.join("--setsid");
    std::fs::create_dir(&name).unwrap();
    launch(words!["-C", &folder, "-C", "--setsid"])
        .calls(["chdir", "chdir"])
        .sees("cwd", name.to_str().unwrap())
        .holds();
}

#[test]
fn the_root_is_seen_as_it_was_otherwise() {
    // So that the cases above cannot all be blind to it.
    assert_ne!(identity(Path::new("/")), identity(&Root::new().folder));
}
