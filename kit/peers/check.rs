//! Whether a program of a peer is what the peer claims, and the versions of its parts.
//!
//! The program's own file says how it is linked. A static one does not say whose code it holds;
//! but the linker named the libc that it took, and that file tells.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::build::Made;
use super::{Libc, Part, Peer, words};
use crate::error::{Error, Result};
use crate::image::{self, Linkage};
use crate::subject::escape;

/// Fails when the file is not linked as its peer claims; the error lists each difference.
pub(super) fn check(peer: &Peer, made: &Made) -> Result<()> {
    let image = image::image(&made.program)?;
    let needed: Vec<_> = image.needed.iter().map(|library| escape(library)).collect();
    let interpreter = image.interpreter.as_deref().map(escape);
    let pie = peer.pie || peer.linkage == Linkage::StaticPie;
    let mut differences = Vec::new();
    if image.linkage != peer.linkage {
        // The names that the data file has for them.
        let (claim, found) = (json!(peer.linkage), json!(image.linkage));
        differences.push(format!("is {found}, not {claim}"));
    }
    if image.pie != pie {
        differences.push(format!("is {}a PIE", if pie { "not " } else { "" }));
    }
    match (&peer.interpreter, &interpreter) {
        (None, Some(found)) => differences.push(format!("has the interpreter {found}, not none")),
        (Some(claim), None) => differences.push(format!("has no interpreter, not {claim}")),
        (Some(claim), Some(found)) if !matches(claim, found) => {
            differences.push(format!("has the interpreter {found}, not {claim}"));
        }
        _ => {}
    }
    if let Some(claim) = &peer.needed
        && !needed.contains(claim)
    {
        differences.push(format!("needs {needed:?} and not {claim}"));
    }
    if differences.is_empty() {
        return Ok(());
    }
    Err(Error::BadFile {
        path: made.program.clone(),
        reason: format!(
            "not what {} claims: it {}; mend its build command or its claim",
            peer.id,
            differences.join(", ")
        ),
    })
}

/// The version of the compiler, for a peer whose runtime comes with it.
pub(super) fn compiler(peer: &Peer) -> Result<Option<Part>> {
    let rust = peer
        .build
        .iter()
        .any(|command| command.starts_with("rustc "));
    rust.then(|| version_said("rustc", "rustc -V")).transpose()
}

/// The libc that the linker took, and its version. Fails when it is another than the claimed one.
pub(super) fn libc(peer: &Peer, made: &Made) -> Result<Option<Part>> {
    let bad = |reason: String| Error::BadFile {
        path: made.program.clone(),
        reason: format!("not what {} claims: {reason}", peer.id),
    };
    let file = match (&made.libc, peer.libc) {
        (None, Libc::None) => return Ok(None),
        (Some(file), Libc::None) => {
            return Err(bad(format!(
                "the linker took {}, not no libc",
                file.display()
            )));
        }
        (None, claim) => {
            return Err(bad(format!(
                "the linker named no libc, not {claim}; its command must pass -t to the linker"
            )));
        }
        (Some(file), _) => file,
    };
    let (found, version) =
        identify(file)?.ok_or_else(|| bad(format!("no known libc is in {}", file.display())))?;
    if found != peer.libc {
        return Err(bad(format!(
            "the linker took {found} from {}, not {}",
            file.display(),
            peer.libc
        )));
    }
    Ok(Some(Part {
        name: found.to_string(),
        version,
    }))
}

/// Which libc a library's file is, and its version.
///
/// glibc and musl carry their version as text (glibc: `csu/version.c`, printed when libc.so.6 is
/// run; musl: `src/internal/version.c`). The two others carry none: where they lie names them,
/// and their compilers' wrappers, which come with them, tell the version.
fn identify(file: &Path) -> Result<Option<(Libc, String)>> {
    let bytes = fs::read(file).map_err(|e| Error::io(format!("read {}", file.display()), e))?;
    let part_of_path = |name: &str| file.iter().any(|part| part == name);
    if let Some(version) = glibc_version(&bytes) {
        return Ok(Some((Libc::Glibc, version)));
    }
    if part_of_path("diet") {
        return Ok(Some((
            Libc::Dietlibc,
            version_said("dietlibc", "diet -v")?.version,
        )));
    }
    if part_of_path("klibc") {
        let version = version_said("klibc", "klcc -print-klibc-version")?.version;
        return Ok(Some((Libc::Klibc, version)));
    }
    Ok(musl_version(&bytes).map(|version| (Libc::Musl, version)))
}

/// The number in `GNU C Library (Debian GLIBC 2.36-9) stable release version 2.36.`
fn glibc_version(bytes: &[u8]) -> Option<String> {
    let at = after(bytes, b"GNU C Library ")?;
    let line = bytes[at..].split(|byte| *byte == b'\n').next()?;
    version_in(&String::from_utf8_lossy(
        &line[after(line, b"release version ")?..],
    ))
}

/// The one text between NUL bytes, or at the head of an archive's member, that reads `1.N.N`.
/// Nothing when there are several that differ: then it is no musl, or a number of something else.
fn musl_version(bytes: &[u8]) -> Option<String> {
    let mut found: Option<&[u8]> = None;
    for text in bytes.split(|byte| *byte == 0) {
        let head = text.len() - text.iter().rev().take_while(|b| digit_or_dot(**b)).count();
        let version = &text[head..];
        let parts: Vec<_> = version.split(|byte| *byte == b'.').collect();
        if parts.len() == 3 && parts[0] == b"1" && parts.iter().all(|part| !part.is_empty()) {
            if found.is_some_and(|other| other != version) {
                return None;
            }
            found = Some(version);
        }
    }
    found.map(|version| String::from_utf8_lossy(version).into_owned())
}

/// The first version in what a command says, on stdout or stderr.
fn version_said(name: &str, command: &str) -> Result<Part> {
    let failed = |reason: String| Error::Command {
        command: command.to_owned(),
        reason,
    };
    let words = words(command)?;
    let output = Command::new(&words[0])
        .args(&words[1..])
        .output()
        .map_err(|e| failed(e.to_string()))?;
    let said = [output.stdout, output.stderr].concat();
    let version = version_in(&String::from_utf8_lossy(&said))
        .ok_or_else(|| failed("names no version; is it the tool of that name?".to_owned()))?;
    Ok(Part {
        name: name.to_owned(),
        version,
    })
}

/// The first run of digits and dots with both in it: `0.34` of `diet version 0.34~cvs2016-14`.
fn version_in(text: &str) -> Option<String> {
    text.split(|c: char| !(c.is_ascii_digit() || c == '.'))
        .map(|part| part.trim_matches('.'))
        .find(|part| part.contains('.'))
        .map(str::to_owned)
}

/// Where `bytes` go on after the first `text` in them.
fn after(bytes: &[u8], text: &[u8]) -> Option<usize> {
    bytes
        .windows(text.len())
        .position(|window| window == text)
        .map(|at| at + text.len())
}

fn digit_or_dot(byte: u8) -> bool {
    byte.is_ascii_digit() || byte == b'.'
}

/// Whether a name fits a pattern, in which one `*` stands for any text.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, tail)) => name
            .strip_prefix(head)
            .is_some_and(|rest| rest.ends_with(tail)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_tools_and_libraries_say() {
        let found = |text| version_in(text).unwrap();
        assert_eq!(
            found("diet version 0.34~cvs20160606-14\n\nusage: diet"),
            "0.34"
        );
        assert_eq!(found("rustc 1.95.0 (59807616e 2026-04-14)"), "1.95.0");
        assert_eq!(found("2.0.12\n"), "2.0.12");
        assert_eq!(version_in("no version, 64-bit."), None);
    }

    #[test]
    fn glibc_is_known_by_its_banner_and_not_by_its_packages_number() {
        let banner =
            b"\0GNU C Library (Ubuntu GLIBC 2.39-0ubuntu8.3) stable release version 2.39.\nCopy";
        assert_eq!(glibc_version(banner).unwrap(), "2.39");
        assert_eq!(glibc_version(b"GNU C Library\0and no more"), None);
    }

    #[test]
    fn musl_is_known_by_the_one_version_it_holds() {
        assert_eq!(musl_version(b"x\x001.2.3\0y").unwrap(), "1.2.3");
        assert_eq!(musl_version(b"\x7f1.2.3\0\x001.2.3\0").unwrap(), "1.2.3");
        assert_eq!(musl_version(b"\x001.2.3\0\x001.2.4\0"), None);
        assert_eq!(
            musl_version(b"\x0021.2.3\0\x001.2\0\x001..3\0v1.2.3-git\0"),
            None
        );
    }

    #[test]
    fn an_interpreter_fits_a_pattern_with_one_star() {
        assert!(matches("/lib/klibc-*.so", "/lib/klibc-XX6c.so"));
        assert!(!matches("/lib/klibc-*.so", "/lib/klibc-XX6c"));
        assert!(!matches("/lib/a*a.so", "/lib/a.so"));
        assert!(matches("/lib/ld.so", "/lib/ld.so"));
        assert!(!matches("/lib/ld.so", "/lib/ld.so.2"));
    }
}
