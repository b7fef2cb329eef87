//! Limits: one prlimit64 each, by their names in prlimit(1).

use std::mem::MaybeUninit;

use crate::capability::{Capability, capable};
use crate::case::launch;
use crate::message::line;

/// Its name, its number (asm-generic/resource.h), and limits below which a program still runs.
const LIMITS: [(&str, i32, u64, u64); 16] = [
    ("cpu", 0, 1000, 2000),
    ("fsize", 1, 1 << 30, 1 << 31),
    ("data", 2, 1 << 30, 1 << 31),
    ("stack", 3, 1 << 20, 1 << 22),
    ("core", 4, 0, 4096),
    ("rss", 5, 1 << 30, 1 << 31),
    ("nproc", 6, 10_000, 20_000),
    ("nofile", 7, 64, 128),
    ("memlock", 8, 4096, 8192),
    ("as", 9, 1 << 30, 1 << 31),
    ("locks", 10, 10, 20),
    ("sigpending", 11, 100, 200),
    ("msgqueue", 12, 1000, 2000),
    ("nice", 13, 10, 20),
    ("rtprio", 14, 1, 2),
    ("rttime", 15, 100_000, 200_000),
];

/// The hard limit now.
fn hard(resource: i32) -> u64 {
    let mut limit = MaybeUninit::<libc::rlimit>::uninit();
    // SAFETY: a number, and room for what the kernel writes.
    unsafe {
        assert_eq!(libc::getrlimit(resource as _, limit.as_mut_ptr()), 0);
        limit.assume_init().rlim_max
    }
}

#[test]
fn each_limit_is_one_call_by_its_name() {
    for (name, resource, soft, hard_limit) in LIMITS {
        // A hard limit can only be lowered by who may not do all (setrlimit(2)).
        let most = if capable(Capability::SysResource) {
            u64::MAX
        } else {
            hard(resource)
        };
        let (soft, hard_limit) = (soft.min(most), hard_limit.min(most));
        let key = format!("limit {name}");
        launch([format!("--{name}={soft}:{hard_limit}")])
            .calls(["prlimit64"])
            .sees(&key, format!("{soft}:{hard_limit}"))
            .holds();
        launch([format!("--{name}={soft}")])
            .calls(["prlimit64"])
            .sees(&key, format!("{soft}:{soft}"))
            .holds();
    }
}

#[test]
fn a_limit_can_be_unlimited() {
    for (word, soft, hard) in [
        ("--cpu=unlimited", "unlimited", "unlimited"),
        ("--cpu=100:unlimited", "100", "unlimited"),
    ] {
        let case = launch([word])
            .calls(["prlimit64"])
            .sees("limit cpu", format!("{soft}:{hard}"));
        if self::hard(0) == libc::RLIM_INFINITY {
            case.holds();
        } else {
            case.needs(Capability::SysResource, 1, line(word, "EPERM"))
                .holds();
        }
    }
}

#[test]
fn a_hard_limit_above_the_present_one_is_refused_to_who_may_not() {
    let present = hard(7);
    let above = format!("--nofile=10:{}", present + 1);
    let denied = line(&above, "EPERM");
    launch([above.as_str()])
        .calls(["prlimit64"])
        .sees("limit nofile", format!("10:{}", present + 1))
        .needs(Capability::SysResource, 1, denied)
        .holds();
}

#[test]
fn a_soft_limit_above_the_hard_one_is_what_the_kernel_says() {
    launch(["--nofile=10:5"])
        .calls(["prlimit64"])
        .fails(125, &line("--nofile=10:5", "EINVAL"));
}

#[test]
fn the_launcher_itself_can_do_with_a_small_stack() {
    let limit = "--stack=65536:65536";
    launch([limit, "--prefix", "FIRST", ":", "0"])
        .calls(["prlimit64"])
        .sees("limit stack", "65536:65536")
        .sees_environment(["FIRST=0:1", "PATH=/usr/bin:/bin", "LAST="])
        .holds();
    launch([limit, "-C", "/nowhere"])
        .calls(["prlimit64", "chdir"])
        .fails(125, &line("-C /nowhere", "ENOENT"));
}

#[test]
fn a_limit_has_64_bits() {
    // Of file locks, which nothing looks at (setrlimit(2)): a program runs with any.
    let most = u64::MAX - 1;
    let word = format!("--locks={most}");
    let case = launch([&word]).calls(["prlimit64"]);
    let case = case.sees("limit locks", format!("{most}:{most}"));
    if hard(10) == libc::RLIM_INFINITY || capable(Capability::SysResource) {
        case.holds();
    } else {
        case.fails(125, &line(&word, "EPERM"));
    }
}
