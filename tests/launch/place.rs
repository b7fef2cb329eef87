//! Files and folders that the cases are about.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::common::program;
use crate::subjects::{compile, scratch};

/// The target that writes down what it sees.
pub fn state() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| compile("state", &["-static"]))
}

/// The parent that leaves a mess.
pub fn before() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| compile("before", &["-static"]))
}

/// A new folder that everybody may enter.
pub fn folder() -> PathBuf {
    let folder = scratch("folder");
    fs::create_dir(&folder).unwrap();
    chmod(&folder, 0o755);
    folder
}

/// A new, empty file that everybody may write.
pub fn out() -> PathBuf {
    let file = scratch("out");
    fs::write(&file, "").unwrap();
    chmod(&file, 0o666);
    file
}

pub fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A file to be executed. Another process writes it: while this one has it open, a test beside it
/// may fork, and the file would be busy (execve(2), ETXTBSY).
pub fn executable(path: &Path, bytes: &[u8]) {
    let mut tee = Command::new("tee")
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    tee.stdin.take().unwrap().write_all(bytes).unwrap();
    assert!(tee.wait().unwrap().success());
    chmod(path, 0o755);
}

/// A file as `state` names it: the numbers of its device and inode.
pub fn identity(path: &Path) -> String {
    let metadata = fs::metadata(path).unwrap();
    format!("{}:{}", metadata.dev(), metadata.ino())
}

/// A folder to chroot into, in which there are the targets and a file to write into: `/state`,
/// `/true` and `/out`.
pub struct Root {
    pub folder: PathBuf,
}

impl Root {
    pub fn new() -> Self {
        let folder = folder();
        // Links and no copies: who writes a program may find it busy.
        fs::hard_link(state(), folder.join("state")).unwrap();
        fs::hard_link(program("true"), folder.join("true")).unwrap();
        fs::write(folder.join("out"), "").unwrap();
        chmod(&folder.join("out"), 0o666);
        Root { folder }
    }

    /// With these lines in `/etc/passwd` and `/etc/group`.
    pub fn with_users(passwd: &str, group: &str) -> Self {
        let root = Root::new();
        let etc = root.folder.join("etc");
        fs::create_dir(&etc).unwrap();
        fs::write(etc.join("passwd"), passwd).unwrap();
        fs::write(etc.join("group"), group).unwrap();
        root
    }

    /// The words that go there.
    pub fn words(&self) -> [OsString; 4] {
        [
            "--chroot".into(),
            self.folder.clone().into(),
            "-C".into(),
            "/".into(),
        ]
    }
}
