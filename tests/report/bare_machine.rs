//! A report on a machine that has next to nothing: one core, no permission to trace, no compiler,
//! no peers.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::common::{folder, program, target};
use crate::forbid::forbid;

/// A quick report into `folder/out`, its temporary files in `folder/temporary`.
fn report(folder: &Path, sections: &[&str]) -> Command {
    program("true");
    let temporary = folder.join("temporary");
    fs::create_dir_all(&temporary).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_barest"));
    command
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["report", "--quick", "--programs"])
        .arg(target().join("bare"))
        .arg("--build")
        .arg(folder.join("build"))
        .arg("--out")
        .arg(folder.join("out"))
        .args(sections)
        .env("TMPDIR", temporary);
    command
}

/// On the first processor that this thread may run on, where nothing may be traced, and where no
/// tool is found.
fn poor(command: &mut Command, tools: &Path) {
    command.env("PATH", tools);
    // SAFETY: makes system calls only.
    unsafe {
        command.pre_exec(|| {
            let mut all: libc::cpu_set_t = std::mem::zeroed();
            let size = size_of::<libc::cpu_set_t>();
            assert_eq!(libc::sched_getaffinity(0, size, &mut all), 0);
            let first = (0..libc::CPU_SETSIZE as usize).find(|core| libc::CPU_ISSET(*core, &all));
            let mut one: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(first.unwrap_or(0), &mut one);
            assert_eq!(libc::sched_setaffinity(0, size, &one), 0);
            forbid(libc::SYS_ptrace);
            Ok(())
        })
    };
}

fn only_line(output: &Output) -> &str {
    let text = std::str::from_utf8(&output.stderr).unwrap();
    assert_eq!(
        (output.status.code(), text.lines().count()),
        (Some(2), 1),
        "{text}"
    );
    text
}

#[test]
fn on_a_machine_with_next_to_nothing_it_ends_and_names_what_is_missing() {
    let folder = folder("report_bare_machine");
    let tools = folder.join("tools");
    fs::create_dir(&tools).unwrap();
    let mut command = report(&folder, &[]);
    poor(&mut command, &tools);
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*stderr), (Some(0), ""));

    let text = fs::read_to_string(folder.join("out/report.json")).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    let report = &json["facts"][0];
    assert_eq!(report["machine"]["cores"], 1);
    let measured = |name: &str| {
        let sections = report["sections"].as_array().unwrap();
        let section = sections.iter().find(|section| section["name"] == name);
        section.unwrap()["found"]["measured"].is_object()
    };
    for name in [
        "programs",
        "start",
        "wrapper",
        "big-parent",
        "system",
        "bytes",
        "method",
    ] {
        assert!(measured(name), "{name}");
    }
    for name in ["before-main", "self-exec"] {
        assert!(!measured(name), "{name}");
    }

    let markdown = fs::read_to_string(folder.join("out/report.md")).unwrap();
    let html = fs::read_to_string(folder.join("out/index.html")).unwrap();
    for missing in [
        "may not trace: ",
        "not installed: binutils",
        "not installed: gcc, musl-tools",
    ] {
        for (page, text) in [("json", &text), ("markdown", &markdown), ("html", &html)] {
            assert!(text.contains(missing), "{page}: {missing}");
        }
    }
    // Sizes are known without any of that.
    assert!(markdown.contains("Ours has 188 bytes"), "{markdown}");
    assert_eq!(fs::read_dir(folder.join("temporary")).unwrap().count(), 0);
}

#[test]
fn a_folder_that_takes_no_files_is_one_line_before_anything_is_built_or_measured() {
    let folder = folder("report_no_out");
    fs::write(folder.join("out"), "a file").unwrap();
    let output = report(&folder, &["bytes"]).output().unwrap();
    let line = only_line(&output);
    assert!(
        line.contains("out") && line.starts_with("barest: write into "),
        "{line}"
    );
    assert!(!folder.join("build").exists());
}
