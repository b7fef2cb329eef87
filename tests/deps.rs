//! The set-up installs just what is missing, and where it may not, says what to run.
//!
//! It runs with a PATH of stand-ins that write down how they were called: nothing of this
//! machine is looked at or changed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// What the set-up looks for by name.
const TOOLS: [&str; 10] = [
    "as", "gcc", "musl-gcc", "diet", "klcc", "strace", "gdb", "objdump", "ld.lld", "mold",
];

const INSTALL: &str = "apt-get install -y -qq --no-install-recommends --no-remove";

/// A machine of stand-ins.
struct Machine {
    path: TempDir,
}

impl Machine {
    /// One with Debian's package manager and every tool but those `without`; nobody is root.
    fn without(without: &[&str]) -> Self {
        let machine = Machine {
            path: tempfile::tempdir().unwrap(),
        };
        for tool in TOOLS.iter().filter(|tool| !without.contains(tool)) {
            machine.has(tool, "exit 0");
        }
        if !without.contains(&"gcc") {
            machine.has("gcc", "echo /usr/lib/gcc/32/libgcc.a");
        }
        machine.has("id", "echo 1000");
        machine.has("env", "shift; \"$@\"");
        machine.has("apt-get", "exit 0");
        if !without.contains(&"debug") {
            let names = machine.path.path().join("debug/12");
            fs::create_dir_all(&names).unwrap();
            fs::write(names.join("34.debug"), "").unwrap();
        }
        machine
    }

    /// A stand-in that writes down its call and then runs `script`.
    fn has(&self, tool: &str, script: &str) -> &Self {
        let path = self.path.path().join(tool);
        let log = self.path.path().join("calls.log");
        let quiet = ["id", "env", "gcc"].contains(&tool);
        let note = format!("echo \"{tool} $*\" >>'{}'", log.display());
        let note = if quiet { String::new() } else { note };
        fs::write(&path, format!("#!/bin/sh\n{note}\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    fn lacks(&self, tool: &str) -> &Self {
        fs::remove_file(self.path.path().join(tool)).unwrap();
        self
    }

    /// Sets up, and gives what was said and which stand-ins were called, a line each.
    fn set_up(&self) -> (String, Vec<String>) {
        self.set_up_for(&[])
    }

    /// The same with arguments.
    fn set_up_for(&self, args: &[&str]) -> (String, Vec<String>) {
        let output = Command::new("/bin/sh")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/deps.sh"))
            .args(args)
            .env("PATH", self.path.path())
            .env("DEBUG_FILES", self.path.path().join("debug"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        let said = String::from_utf8(output.stdout).unwrap();
        let calls = fs::read_to_string(self.path.path().join("calls.log")).unwrap_or_default();
        (said, calls.lines().map(str::to_owned).collect())
    }
}

#[test]
fn nothing_is_installed_where_nothing_is_missing() {
    let (said, calls) = Machine::without(&[]).set_up();
    assert_eq!(said, "deps: nothing is missing\n");
    assert!(calls.is_empty(), "{calls:?}");
}

#[test]
fn root_installs_what_is_missing_and_only_that() {
    let machine = Machine::without(&["musl-gcc", "strace"]);
    machine.has("id", "echo 0");
    let (said, calls) = machine.set_up();
    assert_eq!(said, "deps: installing musl-tools strace\n");
    assert_eq!(calls, [format!("{INSTALL} musl-tools strace")]);
}

#[test]
fn two_tools_of_one_package_are_one_package() {
    let machine = Machine::without(&["as", "objdump"]);
    machine.has("id", "echo 0");
    let (said, _) = machine.set_up();
    assert_eq!(said, "deps: installing binutils\n");
}

#[test]
fn files_that_gcc_does_not_find_are_missing_too() {
    let machine = Machine::without(&[]);
    machine.has("gcc", r#"for last; do :; done; echo "${last#*=}""#);
    machine.has("id", "echo 0");
    let (said, _) = machine.set_up();
    assert_eq!(said, "deps: installing libc6-dev gcc-multilib\n");
}

#[test]
fn a_machine_without_a_compiler_is_no_trouble() {
    let machine = Machine::without(&["gcc"]);
    machine.has("id", "echo 0");
    let (said, _) = machine.set_up();
    assert_eq!(said, "deps: installing gcc libc6-dev gcc-multilib\n");
}

#[test]
fn who_is_not_root_installs_by_sudo_which_must_not_ask_without_a_terminal() {
    let machine = Machine::without(&["diet"]);
    machine.has("true", "exit 0");
    machine.has("sudo", "shift; \"$@\"");
    let (said, calls) = machine.set_up();
    assert_eq!(said, "deps: installing dietlibc-dev\n");
    assert_eq!(
        calls,
        [
            "sudo -n true".to_owned(),
            format!("sudo -n env DEBIAN_FRONTEND=noninteractive {INSTALL} dietlibc-dev"),
            format!("{INSTALL} dietlibc-dev"),
        ]
    );
}

#[test]
fn who_may_not_install_is_told_the_one_command() {
    let machine = Machine::without(&["klcc", "mold"]);
    let one =
        "deps: to install what is missing, run as root: apt-get install -y libklibc-dev mold\n";
    let (said, calls) = machine.set_up();
    assert_eq!(said, one);
    assert!(calls.is_empty(), "{calls:?}");

    machine.has("sudo", "exit 1");
    let (said, calls) = machine.set_up();
    assert_eq!(said, one);
    assert_eq!(calls, ["sudo -n true"]);
}

#[test]
fn the_lists_are_fetched_when_they_are_missing() {
    let machine = Machine::without(&["gdb"]);
    machine.has("id", "echo 0");
    let lists = machine.path.path().join("lists");
    let script = format!(
        "[ $1 = update ] && exec >'{0}'\n[ -e '{0}' ] || {{ echo E: unable to locate >&2; exit 100; }}",
        lists.display()
    );
    machine.has("apt-get", &script);
    let (said, calls) = machine.set_up();
    assert_eq!(
        said,
        "deps: installing gdb\ndeps: fetching the lists of packages\n"
    );
    let install = format!("{INSTALL} gdb");
    assert_eq!(
        calls,
        [install.as_str(), "apt-get update -qq", install.as_str()]
    );
}

#[test]
fn one_package_that_cannot_be_had_does_not_keep_the_others_away() {
    let machine = Machine::without(&["diet", "klcc", "strace"]);
    machine.has("id", "echo 0");
    machine.has("apt-get", "case $* in *dietlibc-dev*) exit 100 ;; esac");
    let (said, calls) = machine.set_up();
    assert_eq!(
        said.lines().last().unwrap(),
        "deps: could not install dietlibc-dev; what needs it is left out"
    );
    let last: Vec<_> = calls[calls.len() - 3..]
        .iter()
        .map(|call| &call[INSTALL.len()..])
        .collect();
    assert_eq!(last, [" dietlibc-dev", " libklibc-dev", " strace"]);
}

#[test]
fn other_package_managers_are_named_with_their_own_names() {
    let machine = Machine::without(&["musl-gcc", "klcc"]);
    machine.lacks("apt-get").has("id", "echo 0");
    for (manager, command) in [
        ("dnf", "dnf install -y musl-gcc"),
        ("pacman", "pacman -S --needed musl"),
    ] {
        machine.has(manager, "exit 0");
        let (said, calls) = machine.set_up();
        assert_eq!(
            said,
            format!("deps: to install what is missing, run as root: {command}\n")
        );
        assert!(calls.is_empty(), "{calls:?}");
        machine.lacks(manager);
    }
}

#[test]
fn the_names_of_libcs_functions_are_a_package_where_there_are_none() {
    let machine = Machine::without(&["debug"]);
    machine.has("id", "echo 0");
    let (said, _) = machine.set_up();
    assert_eq!(said, "deps: installing libc6-dbg\n");
}

#[test]
fn launchers_to_compare_with_are_installed_for_the_bench_alone() {
    let machine = Machine::without(&[]);
    machine.has("id", "echo 0");
    let (said, _) = machine.set_up();
    assert_eq!(said, "deps: nothing is missing\n");
    let (said, _) = machine.set_up_for(&["bench"]);
    assert_eq!(said, "deps: installing execline s6 busybox-static gosu\n");

    machine.lacks("apt-get").has("apk", "exit 0");
    let (said, _) = machine.set_up_for(&["bench"]);
    assert_eq!(
        said,
        "deps: to install what is missing, run as root: \
         apk add execline s6 busybox-static su-exec\n"
    );
}

#[test]
fn a_browser_is_installed_for_the_tests_alone() {
    let machine = Machine::without(&[]);
    machine.has("id", "echo 0");
    assert_eq!(machine.set_up().0, "deps: nothing is missing\n");
    let (said, calls) = machine.set_up_for(&["test"]);
    assert_eq!(said, "deps: installing chromium tidy\n");
    assert_eq!(calls, [format!("{INSTALL} chromium tidy")]);

    machine.has("chromium", "exit 0").has("tidy", "exit 0");
    let (said, _) = machine.set_up_for(&["test"]);
    assert_eq!(said, "deps: nothing is missing\n");
}

#[test]
fn an_unknown_system_is_told_what_to_install() {
    let machine = Machine::without(&["musl-gcc", "lld", "ld.lld"]);
    machine.lacks("apt-get");
    let (said, _) = machine.set_up();
    assert_eq!(
        said,
        "deps: install these with your package manager (by Debian's names): musl-tools lld\n"
    );
}

#[test]
fn rusts_musl_target_is_added_where_rustup_has_it_not() {
    let machine = Machine::without(&[]);
    machine.has(
        "rustup",
        "[ $2 = list ] && echo x86_64-unknown-linux-gnu; exit 0",
    );
    let (said, calls) = machine.set_up();
    assert!(
        said.ends_with("deps: adding Rust's target x86_64-unknown-linux-musl\n"),
        "{said}"
    );
    assert_eq!(
        calls,
        [
            "rustup target list --installed",
            "rustup target add x86_64-unknown-linux-musl"
        ]
    );

    machine.has("rustup", "[ $2 = list ]");
    let (said, _) = machine.set_up();
    assert!(
        said.ends_with("deps: could not add x86_64-unknown-linux-musl; its peer is left out\n"),
        "{said}"
    );

    machine.has("rustup", "echo x86_64-unknown-linux-musl");
    let (said, _) = machine.set_up();
    assert_eq!(said, "deps: nothing is missing\n");
}

#[test]
fn make_help_lists_every_target_with_a_line_each() {
    let root = env!("CARGO_MANIFEST_DIR");
    let output = Command::new("make")
        .args(["--no-print-directory", "-C", root, "help"])
        .env_remove("MAKEFLAGS")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let help = String::from_utf8(output.stdout).unwrap();
    let makefile = fs::read_to_string(Path::new(root).join("Makefile")).unwrap();
    let targets: Vec<_> = makefile
        .lines()
        .find_map(|line| line.strip_prefix(".PHONY: "))
        .unwrap()
        .split(' ')
        .collect();
    assert!(targets.contains(&"all") && targets.contains(&"test"));
    let listed: Vec<_> = help
        .lines()
        .map(|line| line.split_whitespace().nth(1).unwrap())
        .collect();
    assert_eq!(listed, targets);
    for line in help.lines() {
        assert!(line.split_whitespace().count() > 3, "says nothing: {line}");
    }
}

#[test]
fn continuous_integration_makes_the_tests() {
    let machine = Machine::without(&[]);
    machine.has("make", "echo in \"$PWD\"");
    let output = Command::new("/bin/bash")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/run"))
        .env(
            "PATH",
            format!("{}:/usr/bin:/bin", machine.path.path().display()),
        )
        .current_dir("/")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        format!("in {}\n", env!("CARGO_MANIFEST_DIR"))
    );
    let calls = fs::read_to_string(machine.path.path().join("calls.log")).unwrap();
    assert_eq!(calls, "make test\n");
}
