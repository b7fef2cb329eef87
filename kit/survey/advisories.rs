//! Advisories: which packages or libraries had a flaw, from a plain list or in the format of OSV
//! (<https://ossf.github.io/osv-schema/>, version 1.7).
//!
//! A list has an advisory a line, its ID and then names; what follows a `#` is a comment:
//!
//! ```text
//! CVE-2022-0778 openssl
//! CVE-2021-3711 libcrypto.so.1.1 libssl.so.1.1   # by their SONAMEs
//! ```
//!
//! OSV is one object, several after another (JSON lines), an array of them, or an answer of
//! osv.dev's API, `{"vulns": […]}`.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// An advisory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Advisory {
    /// Its ID, as in `DSA-5103-1` or `CVE-2022-0778`.
    pub id: String,
    /// What else it is known as.
    pub aliases: Vec<String>,
    /// How bad it is, in the words of the advisory: `CVSS_V3 CVSS:3.1/AV:N/…`, `HIGH`, `medium`.
    pub severity: Option<String>,
    /// When it was withdrawn, if it was: it then counts for nothing.
    pub withdrawn: Option<String>,
    /// What it is about, each once.
    pub affected: Vec<Affected>,
}

/// What an advisory is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Affected {
    /// A package or a SONAME.
    pub name: String,
    /// Whose package it is, as OSV names it: `Debian:12`, `Alpine:v3.20`, `PyPI`. None in a
    /// list, where the name is that of a package of this system or a SONAME.
    pub ecosystem: Option<String>,
}

/// Reads a file of advisories, of either form.
///
/// Fails on a file that cannot be read, and on one that is neither, with the line that is wrong.
pub fn read(path: &Path) -> Result<Vec<Advisory>> {
    let bad = |reason: String| Error::BadFile {
        path: path.to_owned(),
        reason,
    };
    let file = std::fs::read(path).map_err(|error| bad(format!("cannot be read: {error}")))?;
    parse(&file).map_err(|Wrong { line, what }| bad(format!("line {line}: {what}")))
}

/// What is wrong with a line.
#[derive(Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong with it, and what to do.
    pub what: String,
}

/// The advisories in the bytes of a file.
///
/// ```
/// let list = b"CVE-2022-0778 openssl # a loop\n";
/// let osv = br#"{"id": "CVE-2022-0778", "affected": [
///     {"package": {"ecosystem": "Debian:11", "name": "openssl"}}]}"#;
/// for file in [&list[..], osv] {
///     let advisories = barest::survey::advisories::parse(file).unwrap();
///     assert_eq!(advisories[0].id, "CVE-2022-0778");
///     assert_eq!(advisories[0].affected[0].name, "openssl");
/// }
/// ```
pub fn parse(file: &[u8]) -> std::result::Result<Vec<Advisory>, Wrong> {
    let advisories = match file.trim_ascii_start().first() {
        Some(b'[') => of_array(file)?,
        Some(b'{') => of_objects(file)?,
        _ => return of_list(file),
    };
    Ok(advisories.into_iter().map(Osv::advisory).collect())
}

fn of_list(file: &[u8]) -> std::result::Result<Vec<Advisory>, Wrong> {
    let mut advisories = Vec::new();
    for (index, line) in file.split(|byte| *byte == b'\n').enumerate() {
        let wrong = |what: String| Wrong {
            line: index + 1,
            what,
        };
        let text = std::str::from_utf8(line)
            .map_err(|_| wrong("not text in UTF-8; write `ID NAME…`, or JSON of OSV".into()))?;
        let mut words = text.split('#').next().unwrap_or(text).split_whitespace();
        let Some(id) = words.next() else {
            continue;
        };
        let mut affected: Vec<Affected> = Vec::new();
        for name in words {
            add(&mut affected, name.to_owned(), None);
        }
        if affected.is_empty() {
            return Err(wrong(format!("`{id}` has no names; write `ID NAME…`")));
        }
        advisories.push(Advisory {
            id: id.to_owned(),
            aliases: Vec::new(),
            severity: None,
            withdrawn: None,
            affected,
        });
    }
    if advisories.is_empty() {
        return Err(Wrong {
            line: 1,
            what: "no advisory in the whole file; write `ID NAME…` a line, or JSON of OSV".into(),
        });
    }
    Ok(advisories)
}

/// A record of OSV: the fields that matter here.
#[derive(Deserialize)]
struct Osv {
    id: String,
    #[serde(default)]
    aliases: Option<Vec<String>>,
    withdrawn: Option<String>,
    #[serde(default)]
    severity: Option<Vec<Severity>>,
    #[serde(default)]
    affected: Option<Vec<OsvAffected>>,
    #[serde(default)]
    database_specific: serde_json::Value,
}

#[derive(Deserialize)]
struct Severity {
    r#type: String,
    score: String,
}

#[derive(Deserialize)]
struct OsvAffected {
    package: Option<OsvPackage>,
    #[serde(default)]
    severity: Option<Vec<Severity>>,
    #[serde(default)]
    ecosystem_specific: serde_json::Value,
    #[serde(default)]
    database_specific: serde_json::Value,
}

#[derive(Deserialize)]
struct OsvPackage {
    ecosystem: String,
    name: String,
}

/// An answer of osv.dev.
#[derive(Deserialize)]
struct Answer {
    vulns: Vec<Osv>,
}

/// Tells an [`Answer`] from an [`Osv`].
#[derive(Deserialize)]
struct Either {
    vulns: Option<serde::de::IgnoredAny>,
}

fn of_array(file: &[u8]) -> std::result::Result<Vec<Osv>, Wrong> {
    serde_json::from_slice(file).map_err(|error| wrong(&error, 0))
}

fn of_objects(file: &[u8]) -> std::result::Result<Vec<Osv>, Wrong> {
    let mut records = Vec::new();
    let mut objects = serde_json::Deserializer::from_slice(file).into_iter::<Either>();
    let mut start = 0;
    while let Some(object) = objects.next() {
        let either = object.map_err(|error| wrong(&error, 0))?;
        let end = objects.byte_offset();
        let object = &file[start..end];
        let before = file[..start].iter().filter(|byte| **byte == b'\n').count();
        if either.vulns.is_some() {
            let answer: Answer =
                serde_json::from_slice(object).map_err(|error| wrong(&error, before))?;
            records.extend(answer.vulns);
        } else {
            records.push(serde_json::from_slice(object).map_err(|error| wrong(&error, before))?);
        }
        start = end;
    }
    Ok(records)
}

/// What serde says, and where, after so many lines.
fn wrong(error: &serde_json::Error, before: usize) -> Wrong {
    let text = error.to_string();
    // Its text ends with the place, which counts from where reading began.
    let what = text
        .rsplit_once(" at line ")
        .map_or(&*text, |(what, _)| what);
    Wrong {
        line: before + error.line().max(1),
        what: format!("not as OSV has it: {what}; see https://ossf.github.io/osv-schema/"),
    }
}

impl Osv {
    fn advisory(self) -> Advisory {
        let records = self.affected.unwrap_or_default();
        let mut affected = Vec::new();
        let mut severity = graded(self.severity.as_deref());
        for record in records {
            severity = severity
                .or_else(|| graded(record.severity.as_deref()))
                .or_else(|| named(&record.ecosystem_specific))
                .or_else(|| named(&record.database_specific));
            if let Some(OsvPackage { ecosystem, name }) = record.package {
                add(&mut affected, name, Some(ecosystem));
            }
        }
        Advisory {
            id: self.id,
            aliases: self.aliases.unwrap_or_default(),
            severity: severity.or_else(|| named(&self.database_specific)),
            withdrawn: self.withdrawn,
            affected,
        }
    }
}

/// Adds a name, unless it is there. Releases of one distribution are one: `Debian:11` and `:12`.
fn add(affected: &mut Vec<Affected>, name: String, ecosystem: Option<String>) {
    let base = |ecosystem: &Option<String>| {
        let ecosystem = ecosystem.as_deref()?;
        Some(ecosystem.split(':').next().unwrap_or(ecosystem).to_owned())
    };
    let same = |known: &Affected| known.name == name && base(&known.ecosystem) == base(&ecosystem);
    if !affected.iter().any(same) {
        affected.push(Affected { name, ecosystem });
    }
}

/// The first score, with its kind.
fn graded(scores: Option<&[Severity]>) -> Option<String> {
    let Severity { r#type, score } = scores?.first()?;
    Some(format!("{type} {score}"))
}

/// A word for it: GitHub and Ubuntu have `severity`, Debian has `urgency`.
fn named(specific: &serde_json::Value) -> Option<String> {
    let word = ["severity", "urgency"]
        .iter()
        .find_map(|field| specific.get(field)?.as_str());
    word.map(str::to_owned)
}
