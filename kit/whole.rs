//! Files that are written whole or not at all.
//!
//! ```
//! let folder = tempfile::tempdir().unwrap();
//! let file = folder.path().join("facts.json");
//! barest::whole::write(&file, 0o666, b"{}\n")?;
//! assert_eq!(std::fs::read(&file)?, b"{}\n");
//! # Ok::<(), std::io::Error>(())
//! ```

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Writes a file of these bytes: a new one beside it takes its name once it is complete, so that
/// whoever looks sees the old file or the new one. `mode` is that of open(2): the umask is taken
/// away from it. A symbolic link keeps leading to the file.
///
/// The file is closed for writing before it has its name: a program can be executed at once.
pub fn write(file: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let mut new = tempfile::Builder::new()
        .prefix(".barest-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder(&real))?;
    new.write_all(bytes)?;
    let new = new.into_temp_path();
    new.persist(&real).map_err(|error| error.error)
}

/// The folder that a path is in.
pub fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}
