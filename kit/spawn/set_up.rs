//! What a subject's process does before its execve, ready to be done by system calls only.

use std::ffi::CString;
use std::os::fd::RawFd;
use std::path::Path;

use super::{Failure, Step, c_string};
use crate::error::Result;
use crate::subject::SetUp;

/// With these flags [`SetUp::File`] opens, with this mode it makes: as the `>` of a shell.
pub(super) const FILE_FLAGS: i32 = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC;
pub(super) const FILE_MODE: libc::mode_t = 0o666;

/// A [`SetUp`] whose paths are as a system call takes them.
pub(super) enum Ready {
    Directory(CString),
    File { path: CString, descriptor: RawFd },
    Duplicate { of: RawFd, to: RawFd },
    Close(RawFd),
    Session,
}

impl Ready {
    /// Fails on a path that holds a NUL byte.
    pub fn new(set_up: &SetUp, program: &Path) -> Result<Self> {
        let ready = |path: &Path| c_string(path.as_os_str().to_owned(), program);
        Ok(match set_up {
            SetUp::Directory(path) => Ready::Directory(ready(path)?),
            SetUp::File { path, descriptor } => Ready::File {
                path: ready(path)?,
                descriptor: *descriptor,
            },
            SetUp::Duplicate { of, to } => Ready::Duplicate { of: *of, to: *to },
            SetUp::Close(descriptor) => Ready::Close(*descriptor),
            SetUp::Session => Ready::Session,
        })
    }

    /// The highest descriptor that it names; 0 if it names none.
    pub fn highest(&self) -> RawFd {
        match self {
            Ready::File { descriptor, .. } | Ready::Close(descriptor) => *descriptor,
            Ready::Duplicate { of, to } => *of.max(to),
            Ready::Directory(_) | Ready::Session => 0,
        }
    }

    /// Does it.
    ///
    /// # Safety
    ///
    /// To be called in a child of this process only: descriptors are opened and closed over
    /// whoever holds them.
    pub unsafe fn run(&self) -> std::result::Result<(), Failure> {
        // SAFETY: system calls on descriptors that are the child's own; paths end in NUL.
        let (step, result) = unsafe {
            match self {
                Ready::Directory(path) => (Step::SetUpDirectory, libc::chdir(path.as_ptr())),
                Ready::File { path, descriptor } => {
                    let flags = FILE_FLAGS | libc::O_CLOEXEC;
                    let opened = libc::open(path.as_ptr(), flags, FILE_MODE);
                    let placed = match opened {
                        -1 => -1,
                        // It landed there, and only has to stay open.
                        opened if opened == *descriptor => libc::fcntl(opened, libc::F_SETFD, 0),
                        opened => libc::dup2(opened, *descriptor),
                    };
                    (Step::SetUpFile, placed)
                }
                Ready::Duplicate { of, to } => (Step::SetUpDuplicate, libc::dup2(*of, *to)),
                Ready::Close(descriptor) => {
                    // It need not have been open.
                    libc::close(*descriptor);
                    return Ok(());
                }
                Ready::Session => (Step::SetUpSession, libc::setsid()),
            }
        };
        match result {
            -1 => Err(Failure::at(step)),
            _ => Ok(()),
        }
    }
}

/// What failed, of the number of a step that is a set-up; None for another.
pub(super) fn what(step: i32) -> Option<&'static str> {
    const NAMES: [(Step, &str); 4] = [
        (Step::SetUpDirectory, "change to the subject's directory"),
        (Step::SetUpFile, "open a file for the subject"),
        (
            Step::SetUpDuplicate,
            "duplicate a descriptor for the subject",
        ),
        (Step::SetUpSession, "make a session for the subject"),
    ];
    let found = NAMES.iter().find(|(named, _)| *named as i32 == step);
    found.map(|(_, what)| *what)
}
