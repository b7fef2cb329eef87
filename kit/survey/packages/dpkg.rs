//! dpkg: `/var/lib/dpkg/status` (deb822(5), deb-control(5)), `info/*.list` and `diversions`.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::{Found, MOST, Manager, Package, apt, number, text};
use crate::subject::escape;
use crate::survey::root::Root;

const FOLDER: &str = "/var/lib/dpkg";

/// The packages that have files on this system, and what of the data could not be read.
pub(super) fn read(root: &Root) -> Option<Found> {
    let path = Path::new(FOLDER).join("status");
    let mut found = Found {
        path: path.clone(),
        packages: Vec::new(),
        remarks: Vec::new(),
    };
    let status = match root.read(&path, MOST) {
        Ok(status) => status,
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        Err(error) => {
            found.remarks.push(format!("{}: {error}", path.display()));
            return Some(found);
        }
    };
    let mut listed: Vec<Stanza> = stanzas(&status).collect();
    listed.retain(Stanza::has_files);
    let diversions = match diversions(root) {
        Ok(diversions) => diversions,
        Err(remark) => {
            found.remarks.push(remark);
            Diversions::default()
        }
    };
    let lists: Vec<_> = listed
        .par_iter()
        .map(|stanza| stanza.files(root, &diversions))
        .collect();
    for (stanza, files) in listed.iter().zip(lists) {
        let files = files.unwrap_or_else(|remark| {
            found.remarks.push(remark);
            Vec::new()
        });
        found.packages.push(stanza.package(files));
    }
    found.remarks.extend(apt::sizes(root, &mut found.packages));
    Some(found)
}

/// The fields of one package that matter here.
#[derive(Default)]
struct Stanza<'a> {
    package: &'a [u8],
    status: &'a [u8],
    source: &'a [u8],
    version: &'a [u8],
    architecture: &'a [u8],
    multi_arch: &'a [u8],
    installed_size: &'a [u8],
}

/// The paragraphs of a file of fields: an empty line stands between two. Further lines of a
/// field, which begin with a space, belong to none of those that matter here.
fn stanzas(file: &[u8]) -> impl Iterator<Item = Stanza<'_>> {
    let mut lines = file.split(|byte| *byte == b'\n').peekable();
    std::iter::from_fn(move || {
        lines.peek()?;
        let mut stanza = Stanza::default();
        for line in lines
            .by_ref()
            .take_while(|line| !line.trim_ascii().is_empty())
        {
            let Some(colon) = line.iter().position(|byte| *byte == b':') else {
                continue;
            };
            let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
            match name {
                b"Package" => stanza.package = value,
                b"Status" => stanza.status = value,
                b"Source" => stanza.source = value,
                b"Version" => stanza.version = value,
                b"Architecture" => stanza.architecture = value,
                b"Multi-Arch" => stanza.multi_arch = value,
                b"Installed-Size" => stanza.installed_size = value,
                _ => {}
            }
        }
        Some(stanza)
    })
}

impl Stanza<'_> {
    /// The last word of a status says what there is of the package (dpkg(1), "Package states").
    fn has_files(&self) -> bool {
        let state = self.status.split(|byte| *byte == b' ').next_back();
        !self.package.is_empty()
            && !matches!(state, None | Some(b"" | b"not-installed" | b"config-files"))
    }

    /// Its files, where diversions have put them, a line each.
    fn files(&self, root: &Root, diversions: &Diversions) -> Result<Vec<u8>, String> {
        let (name, architecture) = (text(self.package), text(self.architecture));
        // A package of which several architectures can be installed says so by its list's name.
        let list = if self.multi_arch == b"same" {
            format!("{FOLDER}/info/{name}:{architecture}.list")
        } else {
            format!("{FOLDER}/info/{name}.list")
        };
        let files = root
            .read(Path::new(&list), MOST)
            .map_err(|error| format!("{list}: {error}"))?;
        Ok(diversions.apply(self.package, files))
    }

    fn package(&self, files: Vec<u8>) -> Package {
        // `Source: NAME (VERSION)` where the versions differ; no such field where the names agree.
        let source = self.source.split(|byte| *byte == b' ').next();
        let source = source.filter(|name| !name.is_empty());
        Package {
            name: text(self.package),
            version: text(self.version),
            architecture: text(self.architecture),
            source: text(source.unwrap_or(self.package)),
            manager: Manager::Dpkg,
            installed_bytes: number(self.installed_size).and_then(|kib| kib.checked_mul(1024)),
            download_bytes: None,
            files,
        }
    }
}

/// Files that packages bring, and that dpkg-divert(1) has put elsewhere: by the path that a
/// package names, where it is, and the one package whose file stays (`:` for none).
#[derive(Default)]
struct Diversions(HashMap<Vec<u8>, (Vec<u8>, Vec<u8>)>);

fn diversions(root: &Root) -> Result<Diversions, String> {
    let path = PathBuf::from(FOLDER).join("diversions");
    let name = escape(path.as_os_str());
    let file = match root.read(&path, MOST) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Diversions::default()),
        Err(error) => return Err(format!("{name}: {error}")),
    };
    let whole = file.strip_suffix(b"\n").unwrap_or(&file);
    let lines: Vec<&[u8]> = whole.split(|byte| *byte == b'\n').collect();
    let (diverted, rest) = lines.as_chunks::<3>();
    if rest.iter().any(|line| !line.is_empty()) {
        return Err(format!(
            "{name}: its lines are no groups of three; not used"
        ));
    }
    let diverted = diverted.iter().map(|[from, to, by]| {
        let (to, by) = (to.to_vec(), by.to_vec());
        (from.to_vec(), (to, by))
    });
    Ok(Diversions(diverted.collect()))
}

impl Diversions {
    /// A package's list with those of its files that are diverted where they are.
    fn apply(&self, package: &[u8], files: Vec<u8>) -> Vec<u8> {
        let elsewhere = |line: &[u8]| {
            let (to, by) = self.0.get(line)?;
            (by != package).then(|| to.clone())
        };
        if self.0.is_empty()
            || !files
                .split(|byte| *byte == b'\n')
                .any(|line| elsewhere(line).is_some())
        {
            return files;
        }
        let lines = files.split(|byte| *byte == b'\n');
        let lines = lines.map(|line| elsewhere(line).unwrap_or_else(|| line.to_vec()));
        lines.collect::<Vec<_>>().join(&b'\n')
    }
}
