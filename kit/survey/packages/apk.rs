//! apk: `/lib/apk/db/installed`, which holds packages and their files in one (apk-tools:
//! `apk_pkg_write_info` in src/package.c, `apk_db_write_fdb` in src/database.c).

use std::io::ErrorKind;
use std::path::Path;

use super::{Found, MOST, Manager, Package, number, text};
use crate::survey::root::Root;

/// Where apk keeps it; the second since apk-tools 3 on a system with a merged /usr.
const PLACES: [&str; 2] = ["/lib/apk/db/installed", "/usr/lib/apk/db/installed"];

pub(super) fn read(root: &Root) -> Option<Found> {
    for path in PLACES.map(Path::new) {
        let mut found = Found {
            path: path.to_owned(),
            packages: Vec::new(),
            remarks: Vec::new(),
        };
        match root.read(path, MOST) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => found.remarks.push(format!("{}: {error}", path.display())),
            Ok(file) => found.packages = packages(&file),
        }
        return Some(found);
    }
    None
}

/// A line is a letter, a colon and a value; an empty line ends a package. The files `R:` are in
/// the folder `F:` before them, which has no slash at its start.
fn packages(file: &[u8]) -> Vec<Package> {
    let mut packages = Vec::new();
    let mut package: Option<Package> = None;
    let mut folder: &[u8] = b"";
    for line in file.split(|byte| *byte == b'\n').chain([&b""[..]]) {
        let [letter, b':', value @ ..] = line else {
            if line.is_empty() {
                packages.extend(package.take());
            }
            continue;
        };
        if *letter == b'P' {
            folder = b"";
            let name = text(value);
            packages.extend(package.replace(Package {
                source: name.clone(),
                name,
                version: String::new(),
                architecture: String::new(),
                manager: Manager::Apk,
                installed_bytes: None,
                download_bytes: None,
                files: Vec::new(),
            }));
        }
        let Some(package) = &mut package else {
            continue;
        };
        match letter {
            b'V' => package.version = text(value),
            b'A' => package.architecture = text(value),
            b'o' => package.source = text(value),
            b'S' => package.download_bytes = number(value),
            b'I' => package.installed_bytes = number(value),
            b'F' => folder = value,
            b'R' => {
                for part in [b"/", folder, b"/", value, b"\n"] {
                    package.files.extend_from_slice(part);
                }
            }
            _ => {}
        }
    }
    packages
}
