//! The system that is surveyed: this one, or one in a folder, as an unpacked container image is.
//!
//! Its paths are its own: an absolute link in a folder's system leads to a file in that folder,
//! as it would after chroot(2), and `..` does not lead out of it.

use std::ffi::CString;
use std::fs::{File, Metadata, ReadDir};
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::{Error, Result};
use crate::subject::escaped;

/// Where the system that is surveyed begins.
#[derive(Debug)]
pub struct Root {
    /// The folder, where it is another system than this one.
    folder: Option<(PathBuf, OwnedFd)>,
}

/// Which file a path leads to: two names of one file have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Inode {
    /// `st_dev` of stat(3type).
    pub device: u64,
    /// `st_ino`.
    pub number: u64,
}

impl Inode {
    /// Of an open file.
    pub fn of(meta: &Metadata) -> Self {
        Inode {
            device: meta.dev(),
            number: meta.ino(),
        }
    }
}

/// A file that could not be read, or is not what it seems.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Unread {
    /// The file, as the system that is surveyed names it.
    #[serde(serialize_with = "escaped")]
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}

impl Unread {
    /// That file, and why it was not read.
    pub fn new(path: impl Into<PathBuf>, reason: impl Into<String>) -> Self {
        Unread {
            path: path.into(),
            reason: reason.into(),
        }
    }
}

/// `struct open_how` of openat2(2).
#[repr(C)]
struct OpenHow {
    flags: u64,
    mode: u64,
    resolve: u64,
}

/// `RESOLVE_IN_ROOT` of linux/openat2.h: as if the folder were the root.
const RESOLVE_IN_ROOT: u64 = 0x10;

/// How often openat2(2) is asked again that answers `EAGAIN`: something was renamed while it
/// followed a `..`.
const MOST_TRIES: usize = 64;

impl Root {
    /// This system.
    pub fn here() -> Self {
        Root { folder: None }
    }

    /// The system that is in a folder.
    pub fn at(folder: &Path) -> Result<Self> {
        let open = File::options()
            .read(true)
            .custom_flags(libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC)
            .open(folder);
        let folder_fd = open.map_err(|error| Error::BadFile {
            path: folder.to_owned(),
            reason: format!("{error}; name the folder that a system is in"),
        })?;
        let root = Root {
            folder: Some((folder.to_owned(), folder_fd.into())),
        };
        root.open(Path::new("/"), libc::O_PATH)
            .map_err(|error| Error::io("openat2 (Linux 5.6)", error))?;
        Ok(root)
    }

    /// The folder, or None for this system.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_ref().map(|(path, _)| path.as_path())
    }

    /// Opens a path of this system by flags of open(2). A FIFO is not waited for.
    pub fn open(&self, path: &Path, flags: i32) -> io::Result<File> {
        let mut flags = flags | libc::O_CLOEXEC;
        // Nothing is opened by O_PATH, and openat2 refuses flags that change nothing.
        if flags & libc::O_PATH == 0 {
            flags |= libc::O_NONBLOCK | libc::O_NOCTTY;
        }
        let Some((_, folder)) = &self.folder else {
            return File::options().read(true).custom_flags(flags).open(path);
        };
        let path = CString::new(path.as_os_str().as_bytes())?;
        let how = OpenHow {
            flags: flags as u64,
            mode: 0,
            resolve: RESOLVE_IN_ROOT,
        };
        let mut error = io::ErrorKind::WouldBlock.into();
        for _ in 0..MOST_TRIES {
            // SAFETY: the path ends with a NUL and `how` is of the size that is said; both outlive
            // the call, which only reads them.
            let fd = unsafe {
                libc::syscall(
                    libc::SYS_openat2,
                    folder.as_raw_fd(),
                    path.as_ptr(),
                    &raw const how,
                    size_of::<OpenHow>(),
                )
            };
            if fd >= 0 {
                // SAFETY: the kernel has just given this descriptor to us, and to nobody else.
                return Ok(unsafe { File::from_raw_fd(fd as i32) });
            }
            error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::WouldBlock {
                break;
            }
        }
        Err(error)
    }

    /// What a path leads to, links followed. Nothing is opened for reading.
    pub fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        match self.folder {
            None => std::fs::metadata(path),
            Some(_) => self.open(path, libc::O_PATH)?.metadata(),
        }
    }

    /// What a folder holds. An entry's own metadata is asked of the folder, whatever becomes of
    /// its path meanwhile.
    pub fn read_dir(&self, path: &Path) -> io::Result<ReadDir> {
        if self.folder.is_none() {
            return std::fs::read_dir(path);
        }
        let folder = self.open(path, libc::O_DIRECTORY)?;
        std::fs::read_dir(format!("/proc/self/fd/{}", folder.as_raw_fd()))
    }

    /// The whole of a regular file, of at most so many bytes.
    pub fn read(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        use std::io::Read;
        let file = self.open(path, libc::O_RDONLY)?;
        let meta = file.metadata()?;
        if !meta.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        if meta.len() > most {
            return Err(io::Error::other(format!("larger than {most} bytes")));
        }
        let mut bytes = Vec::with_capacity(meta.len() as usize);
        file.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The path without any link in it, as this system names it.
    pub fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        let Some((_, folder)) = &self.folder else {
            return std::fs::canonicalize(path);
        };
        let link = |fd: i32| std::fs::read_link(format!("/proc/self/fd/{fd}"));
        let file = self.open(path, libc::O_PATH)?;
        let (whole, root) = (link(file.as_raw_fd())?, link(folder.as_raw_fd())?);
        let inside = whole.strip_prefix(&root).map_err(io::Error::other)?;
        let mut path = vec![b'/'];
        path.extend_from_slice(inside.as_os_str().as_bytes());
        Ok(std::ffi::OsString::from_vec(path).into())
    }
}
