//! How musl's loader finds libraries: `load_library` of `ldso/dynlink.c`.
//!
//! `LD_LIBRARY_PATH` and `LD_PRELOAD` are taken to be unset. One rule is left out: a file with
//! `__libc_start_main` and `stdin`, asked for by a path, is another libc, and musl takes itself
//! for it.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::abi::Abi;
use super::files::{Files, Opened};
use super::folders::{Folders, Found, Search, Tried};
use crate::subject::escape;
use crate::survey::root::Unread;

/// Where it looks when it has no file of its own that says where.
const DEFAULT: &[u8] = b"/lib:/usr/local/lib:/usr/lib";
/// Longer paths do not fit its buffer, `2*NAME_MAX+2`, and are passed over.
const LONGEST: usize = 512;
/// The most bytes of a path file that are read.
const LARGEST_FILE: u64 = 1 << 20;
/// `lib` and one of these begins the names that the loader itself answers to.
const RESERVED: [&[u8]; 7] = [
    b"c.",
    b"pthread.",
    b"rt.",
    b"m.",
    b"dl.",
    b"util.",
    b"xnet.",
];

/// One loader of musl.
pub struct Musl {
    abi: Abi,
    system: Folders,
    lists: Mutex<HashMap<Vec<u8>, Arc<Folders>>>,
}

impl Musl {
    /// The loader that programs name by this path. Says if its path file cannot be read.
    pub fn new(files: &Files, path: &[u8], abi: Abi) -> (Self, Option<Unread>) {
        let file = path_file(path);
        let (list, unread) = match files.root.read(&file, LARGEST_FILE) {
            Ok(list) => (list, None),
            Err(error) if error.kind() == ErrorKind::NotFound => (DEFAULT.to_vec(), None),
            // It searches nothing then.
            Err(error) => (Vec::new(), Some(Unread::new(file, error.to_string()))),
        };
        let list = list.split(|byte| *byte == 0).next().unwrap_or_default();
        let musl = Musl {
            abi,
            system: Folders::new(prefixes(list)),
            lists: Mutex::default(),
        };
        (musl, unread)
    }

    /// The folders that a file names (`DT_RUNPATH`, otherwise `DT_RPATH`). `origin` gives its own
    /// folder, if `$ORIGIN` may stand for it.
    pub fn folders(
        &self,
        list: &[u8],
        origin: impl FnOnce() -> Option<Vec<u8>>,
    ) -> Option<Arc<Folders>> {
        let list = expanded(list, origin)?;
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lists.entry(list);
        Some(
            known
                .or_insert_with_key(|list| Arc::new(Folders::new(prefixes(list))))
                .clone(),
        )
    }

    /// Looks for a name without a slash, in the folders of the file that asks and of those that
    /// had it loaded, then in the system's.
    pub fn search(
        &self,
        files: &Files,
        name: &[u8],
        lists: impl Iterator<Item = Arc<Folders>>,
    ) -> Search {
        // NAME_MAX of linux/limits.h.
        if name.len() > 255 {
            return Search::Bad("its name is longer than 255 bytes".into());
        }
        let open = |path: &Path| self.open(files, path);
        for list in lists {
            match list.search(name, open) {
                Search::Absent(_) => {}
                found => return found,
            }
        }
        self.system.search(name, open)
    }

    /// What is at one path.
    pub fn at(&self, files: &Files, path: &[u8]) -> Search {
        let path = Path::new(OsStr::from_bytes(path));
        match self.open(files, path) {
            Tried::Found(library) => {
                let path = path.to_owned();
                Search::Found(Arc::new(Found { library, path }))
            }
            Tried::Bad(why) => Search::Bad(why.into()),
            Tried::Absent | Tried::PassedOver(_) | Tried::Stop => Search::Absent(None),
        }
    }

    /// Opens one path of a search. The first file that opens is it, whatever it is.
    fn open(&self, files: &Files, path: &Path) -> Tried {
        let said = |what: &dyn std::fmt::Display| format!("{}: {what}", escape(path.as_os_str()));
        if path.as_os_str().len() >= LONGEST {
            return Tried::Absent;
        }
        let (seen, file) = match files.open(path) {
            Ok(Opened::File(seen, file)) => (seen, file),
            Ok(Opened::Other(what)) => return Tried::Bad(said(&what)),
            Err(error) => {
                return match error.raw_os_error() {
                    Some(libc::ENOENT | libc::ENOTDIR | libc::EACCES | libc::ENAMETOOLONG) => {
                        Tried::Absent
                    }
                    _ => Tried::Bad(said(&error)),
                };
            }
        };
        let read = seen.header.clone().and_then(|header| {
            self.abi.fits(&header)?;
            let library = files.library(&seen, file, path)?;
            match library.image.segments.iter().any(|s| s.kind == "DYNAMIC") {
                true => Ok(library),
                false => Err("it has no dynamic table".into()),
            }
        });
        match read {
            Ok(library) => Tried::Found(library),
            Err(why) => Tried::Bad(said(&why)),
        }
    }
}

/// Whether a name is one of those that the loader, which is libc itself, answers to.
pub fn is_reserved(name: &[u8]) -> bool {
    let rest = name.strip_prefix(b"lib");
    rest.is_some_and(|rest| RESERVED.iter().any(|reserved| rest.starts_with(reserved)))
}

/// `/etc/ld-musl-ARCH.path`, below what stands before the last two parts of the loader's path.
fn path_file(loader: &[u8]) -> PathBuf {
    let name = loader.rsplit(|byte| *byte == b'/').next();
    let name = name.unwrap_or_default();
    let arch = name.strip_prefix(b"ld-musl-").unwrap_or(name);
    let arch = arch.strip_suffix(b".so.1").unwrap_or(arch);
    let slashes = loader.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let mut slashes = slashes.map(|(at, _)| at).rev();
    let prefix = match (loader.first(), slashes.nth(1)) {
        (Some(b'/'), Some(at)) => &loader[..at],
        _ => b"",
    };
    let path = [prefix, b"/etc/ld-musl-", arch, b".path"].concat();
    PathBuf::from(OsStr::from_bytes(&path))
}

/// A list's folders, each with a slash after it. Elements that are empty do not count.
pub fn prefixes(list: &[u8]) -> Vec<Arc<[u8]>> {
    list.split(|byte| matches!(byte, b':' | b'\n'))
        .filter(|folder| !folder.is_empty())
        .map(|folder| [folder, b"/"].concat().into())
        .collect()
}

/// A list with `$ORIGIN` replaced. None if it has another `$`, or no origin: the whole list is
/// left out then.
pub fn expanded(list: &[u8], origin: impl FnOnce() -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    let mut parts = list.split(|byte| *byte == b'$');
    let mut out = parts.next().unwrap_or_default().to_vec();
    let mut origin = Some(origin);
    let mut folder = None;
    for part in parts {
        let after = [&b"ORIGIN"[..], b"{ORIGIN}"]
            .iter()
            .find_map(|token| part.strip_prefix(*token))?;
        if let Some(origin) = origin.take() {
            folder = origin();
        }
        out.extend_from_slice(folder.as_deref()?);
        out.extend_from_slice(after);
    }
    Some(out)
}
