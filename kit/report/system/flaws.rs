//! What flaws in some libraries would reach.
//!
//! The text took the libraries that had severe flaws in 2019. Here those are asked about that it
//! names, and some that have had such flaws since: of each, what is loaded here.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::text::REACH_MANY;
use crate::error::Result;
use crate::subject::escape;
use crate::survey::Root;
use crate::survey::exposure::{Exposure, Reach, Update, exposure};
use crate::survey::libraries::Libraries;

/// The libraries besides those of [`REACH_MANY`], by their names up to `.so`: OpenSSL's, zlib, and
/// the C library, whose name has an architecture in it where it is Alpine's musl.
const OTHERS: [&str; 4] = ["libcrypto", "libssl", "libz", LIBC];
const LIBC: &str = "libc";
const MUSL: &[u8] = b"libc.musl-";

/// What flaws would reach.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Flaws {
    /// How many programs in ELF files there are, reached or not.
    pub programs: usize,
    /// Their bytes.
    pub bytes: u64,
    /// A flaw in each of these libraries.
    pub flaws: Vec<Flaw>,
    /// Which of those that were asked about no program loads: their names up to `.so`.
    pub absent: Vec<String>,
    /// What flaws in all of them would reach, each program once.
    pub all: Reached,
    /// The same without the C library.
    pub without_libc: Reached,
    /// Whether there are package data, so that downloads can be told.
    pub package_data: bool,
    /// What this answer cannot see, a line each.
    pub unseen: Vec<String>,
}

/// A flaw in a library.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Flaw {
    /// The library's SONAME, escaped.
    pub library: String,
    /// That name up to `.so`, as it was asked about.
    pub asked: String,
    /// Whether it is the C library.
    pub libc: bool,
    /// What it would reach.
    pub reached: Reached,
}

/// What a flaw would reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reached {
    /// How many programs name the library themselves.
    pub direct: usize,
    /// How many load it only because another library does.
    pub through_others: usize,
    /// The bytes of both.
    pub bytes: u64,
    /// What mends it today: the libraries, and the packages that own them.
    pub today: Update,
    /// What would mend it were all programs static: these, and the packages that own them.
    pub all_static: Update,
}

impl Reached {
    /// How many programs are reached.
    pub fn programs(&self) -> usize {
        self.direct + self.through_others
    }

    fn of(reach: &Reach) -> Self {
        Reached {
            direct: reach.direct,
            through_others: reach.through_others,
            bytes: reach.bytes,
            today: reach.today,
            all_static: reach.all_static,
        }
    }
}

/// What flaws in those of these libraries would reach that are asked about.
pub(super) fn flaws(
    root: &Root,
    paths: &[PathBuf],
    loaded: &Libraries,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<Flaws> {
    let (mut names, mut stems, mut absent) = (Vec::new(), Vec::new(), Vec::new());
    for asked in REACH_MANY.into_iter().chain(OTHERS) {
        let fitting = loaded.libraries.iter().map(|it| &it.name);
        let fitting: BTreeSet<&OsString> = fitting.filter(|name| is(name, asked)).collect();
        if fitting.is_empty() {
            absent.push(asked.to_owned());
        }
        for name in fitting {
            names.push(name.clone());
            stems.push(asked);
        }
    }
    let found = exposure(root, &names, &[], paths, progress)?;
    let libc = |reach: &Reach| {
        let places = reach.libraries.iter();
        let mut libraries = places.filter_map(|place| found.libraries.get(*place));
        libraries.any(|library| library.libc)
    };
    // What was loaded a moment ago and is not any more fits nothing.
    let flaws = found.names.iter().filter_map(|named| {
        let at = names.iter().position(|name| *name == named.name)?;
        Some(Flaw {
            library: escape(&named.name),
            asked: (*stems.get(at)?).to_owned(),
            libc: libc(&named.reach),
            reached: Reached::of(&named.reach),
        })
    });
    let flaws = flaws.collect();
    let Exposure {
        population,
        total,
        without_libc,
        databases,
        unseen,
        ..
    } = found;
    Ok(Flaws {
        programs: population.programs,
        bytes: population.bytes,
        flaws,
        absent,
        all: Reached::of(&total),
        without_libc: Reached::of(&without_libc),
        package_data: !databases.is_empty(),
        unseen,
    })
}

/// Whether a library of that name is the one that is asked about.
fn is(name: &OsStr, asked: &str) -> bool {
    let name = name.as_bytes();
    match name.strip_prefix(asked.as_bytes()) {
        Some(rest) => rest.starts_with(b".so") || asked == LIBC && name.starts_with(MUSL),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_asked_about_by_its_name_up_to_so() {
        for (name, asked, fits) in [
            ("libz.so.1", "libz", true),
            ("libzstd.so.1", "libz", false),
            ("libcurl-gnutls.so.4", "libcurl", false),
            ("libc.so.6", "libc", true),
            ("libc.musl-x86_64.so.1", "libc", true),
            ("libc.so", "libc", true),
            ("libcrypt.so.1", "libc", false),
        ] {
            assert_eq!(is(OsStr::new(name), asked), fits, "{name}, {asked}");
        }
    }
}
