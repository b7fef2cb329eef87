//! Builds a program of a peer, where it is not built yet.
//!
//! Beside the program lies its record: what it was made of and which libc the linker took. The
//! program is made anew when the record is not what it would be now. Both are written in a
//! folder of their own first and then renamed, the record last: whatever is stopped in between,
//! a program that is there is whole, and one whose record is there is known.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::{Part, Peer, words};
use crate::error::{Error, Result};

/// A program that was built, and what the linker said of its libc.
pub(super) struct Made {
    /// The program.
    pub program: PathBuf,
    /// The libc that the linker took, if it took one.
    pub libc: Option<PathBuf>,
}

/// What a program was made of.
#[derive(Deserialize, PartialEq, Serialize)]
struct Record {
    commands: Vec<Vec<String>>,
    compiler: Option<String>,
    source: Stamp,
    libc: Option<Stamp>,
}

/// A file as it was when it was used.
#[derive(Deserialize, PartialEq, Serialize)]
struct Stamp {
    path: PathBuf,
    modified: SystemTime,
}

/// Builds `into/ID/PROGRAM`, unless it is there and made of what it would be made of now.
pub(super) fn build(
    peer: &Peer,
    program: &str,
    compiler: Option<&Part>,
    into: &Path,
) -> Result<Made> {
    let folder = into.join(&peer.id);
    fs::create_dir_all(&folder)
        .map_err(|e| Error::io(format!("create {}", folder.display()), e))?;
    let output = folder.join(program);
    let record_file = folder.join(format!("{program}.json"));
    let source = peer.folder.join(peer.source.replace("{program}", program));
    let mut record = Record {
        commands: peer
            .build
            .iter()
            .map(|command| words(command))
            .collect::<Result<_>>()?,
        compiler: compiler.map(Part::to_string),
        source: Stamp::of(&source)?,
        libc: None,
    };

    if let Some(old) = read(&record_file)
        && output.exists()
        && old.is_of_now(&record)
    {
        return Ok(Made {
            program: output,
            libc: old.libc.map(|stamp| stamp.path),
        });
    }

    let scratch = tempfile::Builder::new()
        .prefix(&format!(".{program}."))
        .tempdir_in(&folder)
        .map_err(|e| Error::io(format!("create a folder in {}", folder.display()), e))?;
    // The commands run in the scratch folder, where what they drop is swept away with it.
    let said = record
        .commands
        .iter()
        .map(|command| run(command, &source, scratch.path()))
        .collect::<Result<String>>()?;
    let libc = libc_taken(&said);
    record.libc = libc.as_deref().map(Stamp::of).transpose()?;
    let new_record = scratch.path().join("record");
    fs::write(
        &new_record,
        serde_json::to_vec(&record).map_err(|e| Error::io("record", e))?,
    )
    .and_then(|()| fs::rename(scratch.path().join("output"), &output))
    .and_then(|()| fs::rename(&new_record, &record_file))
    .map_err(|e| Error::io(format!("write {}", output.display()), e))?;
    Ok(Made {
        program: output,
        libc,
    })
}

/// Runs a command and returns what it said, on stdout and then on stderr.
fn run(command: &[String], source: &Path, scratch: &Path) -> Result<String> {
    let fill = |word: &String| {
        word.replace("{source}", &source.to_string_lossy())
            .replace("{object}", "object.o")
            .replace("{output}", "output")
    };
    let words: Vec<_> = command.iter().map(fill).collect();
    let failed = |reason: String| Error::Command {
        command: words.join(" "),
        reason,
    };
    let output = Command::new(&words[0])
        .args(&words[1..])
        .current_dir(scratch)
        .env("LC_ALL", "C")
        .output()
        .map_err(|e| failed(e.to_string()))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(failed(format!(
            "{}: {}",
            output.status,
            first_error(&stderr)
        )));
    }
    Ok(format!(
        "{}\n{stderr}\n",
        String::from_utf8_lossy(&output.stdout)
    ))
}

/// The line that says what went wrong: the first with "error" in it, or else the first.
fn first_error(said: &str) -> &str {
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.clone().next().unwrap_or("it said nothing");
    lines.find(|line| line.contains("error")).unwrap_or(first)
}

/// The libc among the files that a linker names with `-t`: a line each, `PATH` or
/// `PATH(MEMBER)`, and behind rustc's words on the first. glibc's libc.so is a script that
/// leads to the library itself, which is named after it; so the last one counts.
fn libc_taken(said: &str) -> Option<PathBuf> {
    said.lines()
        .map(|line| line.trim().trim_start_matches("warning: linker stdout: "))
        .map(|line| line.split_once('(').map_or(line, |(path, _)| path))
        .rfind(|path| {
            let name = path.rsplit('/').next();
            path.starts_with('/') && matches!(name, Some("libc.a" | "libc.so" | "libc.so.6"))
        })
        .map(PathBuf::from)
}

/// The record that an earlier build left, if it left a whole one.
fn read(path: &Path) -> Option<Record> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

impl Record {
    /// Whether a build now would be made of the same. Which libc it would take is only known
    /// after it; the one it took must not have changed.
    fn is_of_now(&self, now: &Record) -> bool {
        let libc_is_the_same = || match &self.libc {
            None => true,
            Some(old) => Stamp::of(&old.path).is_ok_and(|new| new == *old),
        };
        self.commands == now.commands
            && self.compiler == now.compiler
            && self.source == now.source
            && libc_is_the_same()
    }
}

impl Stamp {
    fn of(path: &Path) -> Result<Stamp> {
        let modified = fs::metadata(path)
            .and_then(|file| file.modified())
            .map_err(|e| Error::io(format!("read {}", path.display()), e))?;
        Ok(Stamp {
            path: path.to_owned(),
            modified,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_libc_is_found_in_what_each_linker_says() {
        let taken = |said| libc_taken(said).unwrap().to_str().unwrap().to_owned();
        assert_eq!(
            taken("/usr/lib/libc.so\n/lib/libc.so.6\n/usr/lib/libc_nonshared.a\n"),
            "/lib/libc.so.6"
        );
        assert_eq!(
            taken("crt1.o\n/musl/libc.a\nlibgcc.a\n/musl/libc.a\ncrtn.o"),
            "/musl/libc.a"
        );
        assert_eq!(
            taken("warning: linker stdout: /a/Scrt1.o\n         /a/libc.a(exit.o)\n"),
            "/a/libc.a"
        );
        assert_eq!(
            taken("warning: linker stdout: /a/libc.a(exit.o)"),
            "/a/libc.a"
        );
        assert_eq!(libc_taken("gas.o\n/usr/lib/libc.rs\n"), None);
    }

    #[test]
    fn the_line_that_says_what_went_wrong_is_picked_out() {
        assert_eq!(
            first_error("a.c: In function 'main':\na.c:1:1: error: no\nmore\n"),
            "a.c:1:1: error: no"
        );
        assert_eq!(first_error("\n  cannot find it\n"), "cannot find it");
        assert_eq!(first_error(""), "it said nothing");
    }
}
