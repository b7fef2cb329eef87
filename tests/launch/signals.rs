//! Dispositions and the mask.

use crate::case::launch;
use crate::message::line;

/// SIGPIPE is 13, SIGHUP 1, SIGUSR1 10, SIGRTMIN 34 of 1 to 64: signal(7).
#[test]
fn default_signal_is_one_call_a_signal() {
    let ignored = ["ignore=13", "ignore=1"];
    for word in ["PIPE", "SIGPIPE", "13"] {
        launch([format!("--default-signal={word}")])
            .before(ignored)
            .calls(["rt_sigaction"])
            .sees("ignored", "1")
            .holds();
    }
    launch(["--default-signal=PIPE,HUP"])
        .before(ignored)
        .calls(["rt_sigaction", "rt_sigaction"])
        .sees("ignored", "")
        .holds();
}

#[test]
fn default_signal_alone_is_all_but_the_two_that_have_no_other() {
    launch(["--default-signal"])
        .before(
            (1..=64)
                .filter(|&signal| ![9, 19, 32, 33].contains(&signal))
                .map(|signal| format!("ignore={signal}")),
        )
        .calls([(); 62].map(|()| "rt_sigaction"))
        .sees("ignored", "")
        .holds();
}

#[test]
fn ignore_signal_is_one_call_a_signal() {
    launch(["--ignore-signal=PIPE"])
        .calls(["rt_sigaction"])
        .sees("ignored", "13")
        .holds();
    launch(["--ignore-signal=INT,64,SIGQUIT"])
        .calls(["rt_sigaction"; 3])
        .sees("ignored", "2 3 64")
        .holds();
}

#[test]
fn every_signal_that_has_a_name_is_known_by_it() {
    // signal(7), "Standard signals", on x86-64.
    let names = "HUP INT QUIT ILL TRAP ABRT BUS FPE - USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT - TSTP TTIN \
                 TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS";
    let names: Vec<_> = (1..)
        .zip(names.split(' '))
        .filter(|&(_, name)| name != "-")
        .collect();
    let list: Vec<_> = names.iter().map(|&(_, name)| name).collect();
    let numbers: Vec<_> = names.iter().map(|(number, _)| number.to_string()).collect();
    launch([format!("--block-signal={}", list.join(","))])
        .calls(["rt_sigprocmask"])
        .sees("blocked", numbers.join(" "))
        .holds();
}

#[test]
fn block_signal_is_one_call_for_all_and_adds_to_the_mask() {
    launch(["--block-signal=USR1"])
        .calls(["rt_sigprocmask"])
        .sees("blocked", "10")
        .holds();
    launch(["--block-signal=HUP,64,SIGTERM"])
        .before(["block=10"])
        .calls(["rt_sigprocmask"])
        .sees("blocked", "1 10 15 64")
        .holds();
}

#[test]
fn what_the_kernel_refuses_for_a_signal_is_named() {
    launch(["--ignore-signal=KILL"])
        .calls(["rt_sigaction"])
        .fails(125, &line("--ignore-signal=KILL", "EINVAL"));
}
