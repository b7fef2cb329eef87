//! rpm: what `rpm -qa` says of a database that is there. Its three formats are rpm's own affair,
//! so its own tool reads them; where that is not installed, there is a remark.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Found, Manager, Package, number, text};
use crate::survey::root::Root;

/// Where distributions have it (`%_dbpath` of rpm's macros): the first is rpm's own default; Fedora and
/// SUSE have the second, rpm-ostree the third.
const FOLDERS: [&str; 3] = ["/var/lib/rpm", "/usr/lib/sysimage/rpm", "/usr/share/rpm"];

/// The database's file, by its format: sqlite, ndb, Berkeley DB.
const FILES: [&str; 3] = ["rpmdb.sqlite", "Packages.db", "Packages"];

/// What is asked (rpm-queryformat(7)): a line for a package, then one for each of its files.
/// `(none)` stands where a package lacks something.
const FORMAT: &str = "P\\t%{NAME}\\t%|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}\\t%{ARCH}\\t\
                      %{SOURCERPM}\\t%{LONGSIZE}\\t%{LONGSIGSIZE}\\n[F\\t%{FILENAMES}\\n]";

pub(super) fn read(root: &Root) -> Option<Found> {
    let folder = FOLDERS.map(Path::new).into_iter().find(|folder| {
        let files = FILES.map(|file| folder.join(file));
        files.iter().any(|file| root.metadata(file).is_ok())
    })?;
    let (packages, remarks) = match ask(root, folder) {
        Ok(packages) => (packages, Vec::new()),
        Err(remark) => (Vec::new(), vec![remark]),
    };
    Some(Found {
        path: folder.to_owned(),
        packages,
        remarks,
    })
}

/// The packages, or why there are none.
fn ask(root: &Root, folder: &Path) -> Result<Vec<Package>, String> {
    let output = Command::new("rpm")
        .arg("--dbpath")
        .arg(outside(root, folder)?)
        .args(["-qa", "--queryformat", FORMAT])
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                "there, but rpm, which alone can read it, is not in PATH; install rpm".to_owned()
            }
            _ => format!("rpm: {error}"),
        })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().next().unwrap_or("nothing");
        return Err(format!(
            "`rpm -qa` ended with {}, and said: {said}",
            output.status
        ));
    }
    packages(&output.stdout)
}

/// The folder as rpm is to open it: from outside of the surveyed system.
fn outside(root: &Root, folder: &Path) -> Result<PathBuf, String> {
    let real = root.real_path(folder).map_err(|error| error.to_string())?;
    let Some(top) = root.folder() else {
        return Ok(real);
    };
    let top = std::path::absolute(top).map_err(|error| error.to_string())?;
    Ok(top.join(real.strip_prefix("/").unwrap_or(&real)))
}

fn packages(answer: &[u8]) -> Result<Vec<Package>, String> {
    let mut packages: Vec<Package> = Vec::new();
    for line in answer
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let unknown = || {
            format!(
                "`rpm -qa` printed a line that was not asked for: {}",
                text(line)
            )
        };
        match (line.strip_prefix(b"F\t"), packages.last_mut()) {
            (Some(file), Some(package)) => {
                package.files.extend_from_slice(file);
                package.files.push(b'\n');
            }
            _ => packages.push(package(line).ok_or_else(unknown)?),
        }
    }
    Ok(packages)
}

fn package(line: &[u8]) -> Option<Package> {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b'\t').collect();
    let [
        b"P",
        name,
        version,
        architecture,
        source,
        installed,
        download,
    ] = fields[..]
    else {
        return None;
    };
    Some(Package {
        name: text(name),
        version: text(version),
        architecture: text(architecture),
        source: source_name(source).unwrap_or_else(|| text(name)),
        manager: Manager::Rpm,
        installed_bytes: number(installed),
        download_bytes: number(download),
        files: Vec::new(),
    })
}

/// The name in `NAME-VERSION-RELEASE.src.rpm`; a version and a release have no `-` in them.
fn source_name(file: &[u8]) -> Option<String> {
    let file = file.strip_suffix(b".rpm")?;
    let mut parts = OsStr::from_bytes(file)
        .as_bytes()
        .rsplitn(3, |byte| *byte == b'-');
    parts.nth(2).map(text)
}
