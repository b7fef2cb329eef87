//! apt: the sizes of downloads, from the lists in `/var/lib/apt/lists` of what can be had.
//!
//! A size is taken for the very version that is installed. Lists may be kept compressed; apt's
//! own `apt-helper cat-file` (apt-helper is part of apt) reads those.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{MOST, Package, number, text};
use crate::subject::escape;
use crate::survey::root::Root;

const LISTS: &str = "/var/lib/apt/lists";
const HELPER: &str = "/usr/lib/apt/apt-helper";

/// Gives the packages the sizes of their downloads, where the lists have them, and says what
/// could not be read.
pub(super) fn sizes(root: &Root, packages: &mut [Package]) -> Vec<String> {
    let lists = match lists(root) {
        Ok(lists) => lists,
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => return vec![format!("{LISTS}: {error}")],
    };
    let mut wanted: HashMap<(String, String), Vec<usize>> = HashMap::new();
    for (index, package) in packages.iter().enumerate() {
        let key = (package.name.clone(), package.version.clone());
        wanted.entry(key).or_default().push(index);
    }
    let mut remarks = Vec::new();
    for list in lists {
        if let Err(error) = read_list(root, &list, &wanted, packages) {
            remarks.push(format!("{}: {error}", escape(list.as_os_str())));
        }
    }
    remarks
}

/// The lists of binary packages, by their names in order.
fn lists(root: &Root) -> io::Result<Vec<PathBuf>> {
    let real = outside(root, Path::new(LISTS))?;
    let mut lists = Vec::new();
    for entry in std::fs::read_dir(real)? {
        let name = entry?.file_name();
        let text = name.to_string_lossy();
        if text.ends_with("_Packages") || text.contains("_Packages.") {
            lists.push(Path::new(LISTS).join(&name));
        }
    }
    lists.sort();
    Ok(lists)
}

/// A path of the surveyed system as this one names it.
fn outside(root: &Root, path: &Path) -> io::Result<PathBuf> {
    let real = root.real_path(path)?;
    Ok(match root.folder() {
        None => real,
        Some(folder) => folder.join(real.strip_prefix("/").unwrap_or(&real)),
    })
}

fn read_list(
    root: &Root,
    list: &Path,
    wanted: &HashMap<(String, String), Vec<usize>>,
    packages: &mut [Package],
) -> io::Result<()> {
    if !root.metadata(list)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    if list.as_os_str().as_bytes().ends_with(b"_Packages") {
        let file = root.open(list, libc::O_RDONLY)?;
        return read_stanzas(file, wanted, packages);
    }
    let mut helper = Command::new(HELPER)
        .arg("cat-file")
        .arg(outside(root, list)?)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| io::Error::other(format!("compressed, and {HELPER}: {error}")))?;
    let read = match helper.stdout.take() {
        Some(stdout) => read_stanzas(stdout, wanted, packages),
        None => Ok(()),
    };
    let status = helper.wait()?;
    read?;
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other(format!(
            "`{HELPER} cat-file` ended with {status}"
        )))
    }
}

/// The fields of a paragraph that matter here.
#[derive(Default)]
struct Offer {
    package: Vec<u8>,
    version: Vec<u8>,
    architecture: Vec<u8>,
    size: Option<u64>,
}

fn read_stanzas(
    list: impl Read,
    wanted: &HashMap<(String, String), Vec<usize>>,
    packages: &mut [Package],
) -> io::Result<()> {
    let mut list = BufReader::with_capacity(1 << 16, list.take(MOST));
    let (mut offer, mut line) = (Offer::default(), Vec::new());
    loop {
        line.clear();
        let end = list.read_until(b'\n', &mut line)? == 0;
        let text_of = line.trim_ascii_end();
        if let Some(value) = text_of.strip_prefix(b"Package: ") {
            offer.package = value.to_vec();
        } else if let Some(value) = text_of.strip_prefix(b"Version: ") {
            offer.version = value.to_vec();
        } else if let Some(value) = text_of.strip_prefix(b"Architecture: ") {
            offer.architecture = value.to_vec();
        } else if let Some(value) = text_of.strip_prefix(b"Size: ") {
            offer.size = number(value);
        } else if text_of.is_empty() {
            let offer = std::mem::take(&mut offer);
            let key = (text(&offer.package), text(&offer.version));
            for index in wanted.get(&key).into_iter().flatten() {
                let package = &mut packages[*index];
                if package.architecture == text(&offer.architecture) {
                    package.download_bytes = package.download_bytes.or(offer.size);
                }
            }
        }
        if end {
            return Ok(());
        }
    }
}
