//! Several actions at once: their calls are those of each, in the order of the words.

use std::fs;

use crate::capability::Capability;
use crate::case::{launch, words};
use crate::message::line;
use crate::place::{Root, folder};

#[test]
fn five_actions_are_their_calls_and_no_more() {
    let folder = folder();
    launch(words!["-C", &folder, ">f", "3>&-", "--setsid", "A=1"])
        .before(["fd=3"])
        .calls(["chdir", "openat", "dup3", "close", "setsid"])
        .sees("cwd", folder.to_str().unwrap())
        .sees_file(1, "write", folder.join("f"))
        .sees_closed(3)
        .sees("leads its session", "yes")
        .sees("leads its group", "yes")
        .sees_environment(["A=1", "FIRST=1", "PATH=/usr/bin:/bin", "LAST="])
        .holds();
}

#[test]
fn the_same_five_in_another_order_are_the_same_calls_in_that_order() {
    let folder = folder();
    let file = folder.join("f");
    launch(words![
        "A=1",
        "--setsid",
        "3>&-",
        format!(">{}", file.display()),
        "-C",
        &folder
    ])
    .before(["fd=3"])
    .calls(["setsid", "close", "openat", "dup3", "chdir"])
    .sees("cwd", folder.to_str().unwrap())
    .sees_file(1, "write", &file)
    .sees_closed(3)
    .sees("leads its session", "yes")
    .sees("leads its group", "yes")
    .sees_environment(["A=1", "FIRST=1", "PATH=/usr/bin:/bin", "LAST="])
    .holds();
}

#[test]
fn a_name_is_looked_up_in_the_directory_of_its_moment() {
    let (one, two) = (folder(), folder());
    launch(words!["-C", &one, ">f", "-C", &two, "5>f"])
        .calls(["chdir", "openat", "dup3", "chdir", "openat", "dup3"])
        .sees("cwd", two.to_str().unwrap())
        .sees_file(1, "write", one.join("f"))
        .sees_file(5, "write", two.join("f"))
        .holds();
}

#[test]
fn a_mask_counts_for_files_that_come_after_it() {
    let folder = folder();
    let (one, two) = (folder.join("one"), folder.join("two"));
    let (early, late) = (one.clone(), two.clone());
    launch(words![
        "--umask",
        "077",
        format!(">{}", one.display()),
        "--umask",
        "0",
        format!("5>{}", two.display()),
    ])
    .calls(["umask", "openat", "dup3", "umask", "openat", "dup3"])
    .sees("umask", "000")
    .sees_file(1, "write", &one)
    .sees_file(5, "write", &two)
    .and(move |_| {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&early), mode(&late)), (0o600, 0o666));
    })
    .holds();
}

#[test]
fn what_a_service_asks_for() {
    let folder = folder();
    let pid = folder.join("pid");
    launch(words![
        "-i",
        "PATH=/bin",
        "HOME=/",
        "--umask",
        "022",
        "-C",
        &folder,
        "<f/../in",
        "--nnp",
        "--nofile=64:64",
        "--core=0:0",
        "--ignore-signal=PIPE",
        "--write",
        &pid,
        "%p",
        "--close-from",
        "3",
        "--stdio-null",
        "-a",
        "-service",
    ])
    .before(["fd=3", "fd=9"])
    .calls(["umask", "chdir", "openat"])
    .fails(125, &line("<f/../in", "ENOENT"));

    fs::write(folder.join("in"), "").unwrap();
    launch(words![
        "-i",
        "PATH=/bin",
        "HOME=/",
        "--umask",
        "027",
        "-C",
        &folder,
        "<in",
        "--nnp",
        "--nofile=64:64",
        "--core=0:0",
        "--ignore-signal=PIPE",
        "--write",
        &pid,
        "%p",
        "--close-from",
        "3",
        "--stdio-null",
        "-a",
        "-service",
    ])
    .before(["fd=3", "fd=9"])
    .calls([
        "umask",
        "chdir",
        "openat",
        "dup3",
        "prctl",
        "prlimit64",
        "prlimit64",
        "rt_sigaction",
        "openat",
        "getpid",
        "write",
        "close",
        "close_range",
        "fcntl",
        "fcntl",
        "fcntl",
    ])
    .sees_environment(["HOME=/", "PATH=/bin"])
    .sees("umask", "027")
    .sees("cwd", folder.to_str().unwrap())
    .sees_file(0, "read", folder.join("in"))
    .sees("no_new_privs", "1")
    .sees("limit nofile", "64:64")
    .sees("limit core", "0:0")
    .sees("ignored", "13")
    .sees_closed(3)
    .sees_closed(9)
    .sees_argv0("-service")
    .and(move |run| assert_eq!(fs::read_to_string(&pid).unwrap(), format!("{}\n", run.pid)))
    .holds();
}

#[test]
fn what_a_container_asks_for() {
    let root = Root::with_users("web:x:33:34::/:/bin/sh\n", "tape:x:26:web\n");
    launch(root.words().into_iter().chain(words![
        "--cpus",
        "0-1023",
        "--block-signal=USR1",
        "--subreaper",
        "2>&1",
        "-U",
        "web",
        "--nnp",
        "--pdeathsig",
        "KILL",
        "-R",
    ]))
    .below(&root)
    .calls([
        "chroot",
        "chdir",
        "sched_setaffinity",
        "rt_sigprocmask",
        "prctl",
        "fcntl",
        "dup3",
        "openat",
        "read",
        "close",
        "openat",
        "read",
        "close",
        "setgroups",
        "setgid",
        "setuid",
        "prctl",
        "prctl",
        "getppid",
        "personality",
    ])
    .sees("blocked", "10")
    .sees("subreaper", "1")
    .sees_file(2, "write", "/dev/null")
    .sees("uid", "33 33 33")
    .sees("gid", "34 34 34")
    .sees("groups", "26")
    .sees("capabilities", "no")
    .sees("no_new_privs", "1")
    .sees("pdeathsig", "9")
    .sees("personality", "0x40000")
    .needs(
        Capability::SysChroot,
        1,
        line(&format!("--chroot {}", root.folder.display()), "EPERM"),
    )
    .holds();
}

#[test]
fn the_first_action_that_fails_is_the_last() {
    let folder = folder();
    let file = folder.join("late");
    launch(words![
        "--umask",
        "0",
        "-C",
        "/nowhere",
        format!(">{}", file.display())
    ])
    .calls(["umask", "chdir"])
    .fails(125, &line("-C /nowhere", "ENOENT"));
    assert!(!file.exists());
}

#[test]
fn many_actions_are_as_many_calls() {
    let words = ["--umask", "022"].repeat(500);
    launch(words)
        .calls(vec!["umask"; 500])
        .sees("umask", "022")
        .holds();
}
