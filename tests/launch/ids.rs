//! Users and groups. The target is below a chroot: with a passwd and group of its own, and where
//! any user can reach it.

use crate::capability::{Capability, capable};
use crate::case::{Case, launch, words};
use crate::launcher::LAUNCHERS;
use crate::message::line;
use crate::place::Root;
use crate::run::run;
use crate::state::State;

const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\n\
    serv:x:7:7::/:/bin/sh\n\
    \n\
    broken\n\
    service:x:1000:1001:A Service,,,:/srv:/bin/sh\n\
    word:x:one:1001::/:/bin/sh\n\
    empty:x::1001::/:/bin/sh\n\
    nogroup:x:5::::\n\
    large:x:4294967296:4294967296::/:/bin/sh\n\
    last:x:2000:2001::/:/bin/sh";
const GROUP: &str = "root:x:0:\n\
    service:x:1001:\n\
    audio:x:29:other,service\n\
    video:x:44:service,other\n\
    like:x:50:services,xservice,serv\n\
    \n\
    broken\n\
    between:x:61:a,service,b\n\
    bad:x:no:other\n\
    alone:x:60:service";

/// What is to be seen of a user and group that are no root's.
fn becomes(words: [&str; 2], calls: &[&'static str], uid: u32, gid: u32, groups: &str) {
    let root = Root::with_users(PASSWD, GROUP);
    let all: Vec<_> = root
        .words()
        .into_iter()
        .chain(words.map(Into::into))
        .collect();
    let denied = line(&format!("--chroot {}", root.folder.display()), "EPERM");
    launch(all)
        .below(&root)
        .calls(["chroot", "chdir"].iter().chain(calls).copied())
        .sees("uid", format!("{uid} {uid} {uid}"))
        .sees("gid", format!("{gid} {gid} {gid}"))
        .sees("groups", groups)
        .sees("capabilities", "no")
        .needs(Capability::SysChroot, 1, denied)
        .holds();
}

const SET: [&str; 3] = ["setgroups", "setgid", "setuid"];
const READ: [&str; 3] = ["openat", "read", "close"];

#[test]
fn a_user_and_group_by_numbers_are_three_calls() {
    becomes(["-U", "1000:1001"], &SET, 1000, 1001, "");
    becomes(
        ["-U", "4294967294:4294967294"],
        &SET,
        u32::MAX - 1,
        u32::MAX - 1,
        "",
    );
}

#[test]
fn a_user_by_name_has_its_group_and_the_groups_that_list_it() {
    let calls = [READ, READ, SET].concat();
    becomes(["-U", "service"], &calls, 1000, 1001, "29 44 60 61");
    becomes(["-U", "last"], &calls, 2000, 2001, "");
}

#[test]
fn a_group_that_is_named_too_is_the_only_one() {
    let calls = [READ, READ, SET].concat();
    becomes(["-U", "service:audio"], &calls, 1000, 29, "");
    let calls = [READ, SET].concat();
    becomes(["-U", "service:5"], &calls, 1000, 5, "");
    becomes(["-U", "3:alone"], &calls, 3, 60, "");
}

#[test]
fn root_by_name_is_root_when_it_is_asked_for() {
    let root = Root::with_users(PASSWD, GROUP);
    let denied = line(&format!("--chroot {}", root.folder.display()), "EPERM");
    launch(root.words().into_iter().chain(words!["-U", "root"]))
        .below(&root)
        .calls([&["chroot", "chdir"][..], &READ, &READ, &SET].concat())
        .sees("uid", "0 0 0")
        .sees("gid", "0 0 0")
        .sees("groups", "")
        .needs(Capability::SysChroot, 1, denied)
        .holds();
}

#[test]
fn a_file_of_users_may_be_long() {
    let mut passwd = String::new();
    let mut group = String::new();
    for number in 0..4000 {
        passwd.push_str(&format!(
            "user{number}:x:{}:{}:A name of some length:/home:/bin/sh\n",
            1000 + number,
            5000 + number
        ));
        let members = if number % 1000 == 7 {
            "user1,user3999,user2"
        } else {
            "user1"
        };
        group.push_str(&format!("group{number}:x:{}:{members}\n", 5000 + number));
    }
    // One line that is longer than any buffer.
    group.push_str(&format!(
        "many:x:4:{}user3999\n",
        "somebody,".repeat(20_000)
    ));
    let root = Root::with_users(&passwd, &group);
    if !capable(Capability::SysChroot) {
        let denied = line(&format!("--chroot {}", root.folder.display()), "EPERM");
        return launch(root.words()).calls(["chroot"]).fails(125, &denied);
    }
    for launcher in LAUNCHERS {
        let words: Vec<_> = root
            .words()
            .into_iter()
            .chain(words!["-U", "user3999"])
            .collect();
        let run = run(&launcher.command(&words, &words!["/state", "/out"]));
        assert_eq!((run.status.code(), run.stderr()), (Some(7), ""));
        let state = std::fs::read_to_string(root.folder.join("out")).unwrap();
        let state = State::parse(&state);
        assert_eq!(state.rest["uid"], "4999 4999 4999");
        assert_eq!(state.rest["gid"], "8999 8999 8999");
        assert_eq!(state.rest["groups"], "4 5007 6007 7007 8007");
    }
}

/// With a passwd and group of its own: the case fails after these calls, and those of the chroot.
fn refused(word: &str, calls: &[&'static str]) {
    let root = Root::with_users(PASSWD, GROUP);
    let all = root.words().into_iter().chain(words!["-U", word]);
    let case = launch(all).below(&root);
    if capable(Capability::SysChroot) {
        case.calls(["chroot", "chdir"].iter().chain(calls).copied())
            .fails_beginning(125, &format!("launch: -U {word}: "));
    } else {
        let denied = line(&format!("--chroot {}", root.folder.display()), "EPERM");
        case.calls(["chroot"]).fails(125, &denied);
    }
}

#[test]
fn a_user_that_is_not_known_is_nobody_and_not_root() {
    for user in ["nobody", "servic", "servicee", "SERVICE", "x"] {
        refused(user, &READ);
    }
    refused("service:nothere", &[READ, READ].concat());
    refused("1:nothere", &READ);
}

#[test]
fn a_user_whose_line_has_no_numbers_is_refused() {
    for user in ["broken", "word", "empty", "nogroup", "large"] {
        refused(user, &READ);
    }
    refused("1:bad", &READ);
}

#[test]
fn without_a_passwd_the_error_says_so() {
    let root = Root::new();
    let all = root.words().into_iter().chain(words!["-U", "service"]);
    if capable(Capability::SysChroot) {
        launch(all)
            .below(&root)
            .calls(["chroot", "chdir", "openat"])
            .fails(125, &line("-U service", "ENOENT"));
    } else {
        let denied = line(&format!("--chroot {}", root.folder.display()), "EPERM");
        launch(all).calls(["chroot"]).fails(125, &denied);
    }
}

#[test]
fn each_step_of_a_user_that_is_refused_is_the_end() {
    launch(["-U", "1000:1001"])
        .before(["powerless"])
        .calls(["setgroups"])
        .fails(125, &line("-U 1000:1001", "EPERM"));
    let root = Root::with_users(PASSWD, GROUP);
    let words = root.words().into_iter().chain(words!["-U", "1000:1001"]);
    let case = launch(words).below(&root);
    if !capable(Capability::SysChroot) {
        let denied = line(&format!("--chroot {}", root.folder.display()), "EPERM");
        return case.calls(["chroot"]).fails(125, &denied);
    }
    let denied = line("-U 1000:1001", "EPERM");
    let without_setuid = [format!("without={}", Capability::SetUid as u32)];
    case.before(without_setuid)
        .calls(["chroot", "chdir", "setgroups", "setgid", "setuid"])
        .fails(125, &denied);
}

fn separate(words: [&str; 2], call: &'static str, see: impl Fn(Case) -> Case) {
    let root = Root::new();
    let denied = line(&format!("--chroot {}", root.folder.display()), "EPERM");
    let all: Vec<_> = root
        .words()
        .into_iter()
        .chain(words.map(Into::into))
        .collect();
    see(launch(all).below(&root).calls(["chroot", "chdir", call]))
        .needs(Capability::SysChroot, 1, denied)
        .holds();
}

#[test]
fn ids_are_one_call_each() {
    separate(["--reuid", "1000"], "setresuid", |case| {
        case.sees("uid", "1000 1000 1000")
            .sees("capabilities", "no")
    });
    separate(["--regid", "1001"], "setresgid", |case| {
        case.sees("gid", "1001 1001 1001")
    });
    separate(["--groups", "3,1,2"], "setgroups", |case| {
        case.sees("groups", "1 2 3")
    });
    separate(["--groups", "4294967294"], "setgroups", |case| {
        case.sees("groups", "4294967294")
    });
}

#[test]
fn clear_groups_is_one_call() {
    let root = Root::new();
    let denied = line(&format!("--chroot {}", root.folder.display()), "EPERM");
    launch(
        root.words()
            .into_iter()
            .chain(words!["--groups=1,2", "--clear-groups"]),
    )
    .below(&root)
    .calls(["chroot", "chdir", "setgroups", "setgroups"])
    .sees("groups", "")
    .needs(Capability::SysChroot, 1, denied)
    .holds();
}

#[test]
fn ids_without_the_capability_are_the_end() {
    for (words, call, what) in [
        (["--reuid", "1000"], "setresuid", "--reuid 1000"),
        (["--regid", "1000"], "setresgid", "--regid 1000"),
        (["--groups", "1,2"], "setgroups", "--groups 1,2"),
    ] {
        launch(words)
            .before(["powerless"])
            .calls([call])
            .fails(125, &line(what, "EPERM"));
    }
    launch(["--clear-groups"])
        .before(["powerless"])
        .calls(["setgroups"])
        .fails(125, &line("--clear-groups", "EPERM"));
}

#[test]
fn a_mix_of_ids_is_done_in_its_order() {
    let root = Root::new();
    let denied = line(&format!("--chroot {}", root.folder.display()), "EPERM");
    launch(
        root.words()
            .into_iter()
            .chain(words!["--groups", "5", "--regid", "6", "--reuid", "7"]),
    )
    .below(&root)
    .calls(["chroot", "chdir", "setgroups", "setresgid", "setresuid"])
    .sees("uid", "7 7 7")
    .sees("gid", "6 6 6")
    .sees("groups", "5")
    .sees("capabilities", "no")
    .needs(Capability::SysChroot, 1, denied)
    .holds();
    // Too late for the group, when the user has changed.
    let late = root
        .words()
        .into_iter()
        .chain(words!["--reuid", "7", "--regid", "6"]);
    let late = launch(late).below(&root);
    if capable(Capability::SysChroot) {
        late.calls(["chroot", "chdir", "setresuid", "setresgid"])
            .fails(125, &line("--regid 6", "EPERM"));
    } else {
        late.calls(["chroot"]).fails(
            125,
            &line(&format!("--chroot {}", root.folder.display()), "EPERM"),
        );
    }
}
