//! Starts a subject by the C library's posix_spawn(3), where a parent does not itself what the
//! child is to do, but hands over a list of it.

use std::ffi::c_int;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, RawFd};

use super::set_up::{FILE_FLAGS, FILE_MODE, Ready};
use super::{Failure, Prepared, Step};
use crate::error::{Error, Result};

/// A prepared subject, and the list that posix_spawn(3) takes.
pub(crate) struct PosixSpawn<'a> {
    prepared: &'a Prepared,
    // Boxed, so that they stay where they were initialized.
    actions: Box<libc::posix_spawn_file_actions_t>,
    attributes: Box<libc::posix_spawnattr_t>,
}

impl<'a> PosixSpawn<'a> {
    /// The list that comes to the same as [`Prepared::exec_cleanly`], with one difference: a
    /// session is made before all else, wherever it stands.
    pub fn new(prepared: &'a Prepared) -> Result<Self> {
        let mut spawn = PosixSpawn {
            prepared,
            actions: initialized(|actions| {
                // SAFETY: initializes what is not yet.
                unsafe { libc::posix_spawn_file_actions_init(actions) }
            })?,
            attributes: initialized(|attributes| {
                // SAFETY: initializes what is not yet.
                unsafe { libc::posix_spawnattr_init(attributes) }
            })?,
        };
        for (stream, to) in prepared.streams.iter().zip(0..) {
            match stream {
                Some(stream) => spawn.duplicate(stream.as_raw_fd(), to)?,
                None => spawn.close(to)?,
            }
        }
        let mut flags = libc::POSIX_SPAWN_SETSIGMASK as i16;
        for ready in &prepared.set_up {
            match ready {
                Ready::Session => flags |= libc::POSIX_SPAWN_SETSID,
                Ready::Duplicate { of, to } => spawn.duplicate(*of, *to)?,
                Ready::Close(descriptor) => spawn.close(*descriptor)?,
                // SAFETY: an initialized list, to which a copy of the path is added.
                Ready::Directory(path) => check(unsafe {
                    let actions: *mut _ = &mut *spawn.actions;
                    libc::posix_spawn_file_actions_addchdir_np(actions, path.as_ptr())
                })?,
                // SAFETY: as above.
                Ready::File { path, descriptor } => check(unsafe {
                    libc::posix_spawn_file_actions_addopen(
                        &mut *spawn.actions,
                        *descriptor,
                        path.as_ptr(),
                        FILE_FLAGS,
                        FILE_MODE,
                    )
                })?,
            }
        }
        // SAFETY: initialized attributes; a set of signals is plain numbers, which sigemptyset
        // fills.
        unsafe {
            let mut none = std::mem::zeroed();
            libc::sigemptyset(&mut none);
            check(libc::posix_spawnattr_setsigmask(
                &mut *spawn.attributes,
                &none,
            ))?;
            check(libc::posix_spawnattr_setflags(
                &mut *spawn.attributes,
                flags,
            ))?;
        }
        Ok(spawn)
    }

    fn duplicate(&mut self, of: RawFd, to: RawFd) -> Result<()> {
        // SAFETY: an initialized list and two numbers.
        check(unsafe { libc::posix_spawn_file_actions_adddup2(&mut *self.actions, of, to) })
    }

    fn close(&mut self, descriptor: RawFd) -> Result<()> {
        // SAFETY: an initialized list and a number.
        check(unsafe { libc::posix_spawn_file_actions_addclose(&mut *self.actions, descriptor) })
    }

    /// Starts it; the process id. Allocates nothing by malloc(3), so it may follow a fork.
    pub fn start(&self) -> std::result::Result<libc::pid_t, Failure> {
        let mut pid = 0;
        // SAFETY: the path ends in NUL, the lists in a null pointer, and `self` holds them all.
        let errno = unsafe {
            libc::posix_spawn(
                &mut pid,
                self.prepared.path.as_ptr(),
                &*self.actions,
                &*self.attributes,
                self.prepared.argv.pointers.as_ptr().cast(),
                self.prepared.environment.pointers.as_ptr().cast(),
            )
        };
        match errno {
            0 => Ok(pid),
            errno => Err(Failure {
                step: Step::Exec as i32,
                errno,
            }),
        }
    }
}

impl Drop for PosixSpawn<'_> {
    fn drop(&mut self) {
        // SAFETY: both were initialized, and nobody uses them any more.
        unsafe {
            libc::posix_spawn_file_actions_destroy(&mut *self.actions);
            libc::posix_spawnattr_destroy(&mut *self.attributes);
        }
    }
}

fn initialized<T>(init: impl FnOnce(*mut T) -> c_int) -> Result<Box<T>> {
    let mut new = Box::new(MaybeUninit::uninit());
    check(init(new.as_mut_ptr()))?;
    // SAFETY: it has just been initialized.
    Ok(unsafe { new.assume_init() })
}

/// These functions return an errno and do not set it.
fn check(errno: c_int) -> Result<()> {
    match errno {
        0 => Ok(()),
        errno => Err(Error::io(
            "prepare a posix_spawn",
            io::Error::from_raw_os_error(errno),
        )),
    }
}
