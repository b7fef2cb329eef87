//! A subject's standard streams, and who reads what it writes to them.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::pty::{grantpt, posix_openpt, ptsname_r, unlockpt};
use nix::unistd::pipe2;

use crate::error::{Error, Result};
use crate::subject::Stream;

/// The child's end of stdin, stdout and stderr; None for one that is closed.
/// None of them is one of the descriptors 0 to 2, so that a child can dup2 them in any order.
pub(super) type Streams = [Option<Arc<OwnedFd>>; 3];

/// The `/dev/null` that subjects have in common: one for each of stdin, stdout and stderr, so
/// that what a subject does to one of them (fcntl(2), F_SETFL) does not show in another.
#[derive(Default)]
pub(crate) struct Nulls([Option<Arc<OwnedFd>>; 3]);

/// Opens what three streams are connected to, and starts to read what has to be read.
pub(super) fn open(streams: [Stream; 3], nulls: &mut Nulls) -> Result<(Streams, Drain)> {
    let mut ours = Vec::new();
    let [stdin, stdout, stderr] = streams;
    let [null_in, null_out, null_err] = &mut nulls.0;
    let streams = [
        open_one(stdin, io::stdin().as_fd(), true, &mut ours, null_in)?,
        open_one(stdout, io::stdout().as_fd(), false, &mut ours, null_out)?,
        open_one(stderr, io::stderr().as_fd(), false, &mut ours, null_err)?,
    ];
    Ok((streams, Drain::start(ours)?))
}

fn open_one(
    stream: Stream,
    callers: BorrowedFd<'_>,
    is_stdin: bool,
    ours: &mut Vec<File>,
    null: &mut Option<Arc<OwnedFd>>,
) -> Result<Option<Arc<OwnedFd>>> {
    let fd = match stream {
        Stream::Null => {
            if let Some(null) = null {
                return Ok(Some(Arc::clone(null)));
            }
            let file = OpenOptions::new().read(true).write(true).open("/dev/null");
            let file = file.map_err(|e| Error::io("open /dev/null", e))?;
            let opened = Arc::new(above(file.into(), STANDARD)?);
            return Ok(Some(Arc::clone(null.insert(opened))));
        }
        Stream::Pipe => {
            let (read, write) = pipe2(OFlag::O_CLOEXEC).map_err(|e| Error::io("pipe", e))?;
            // As stdin the other end is closed at once: nothing to read.
            if is_stdin {
                read
            } else {
                ours.push(read.into());
                write
            }
        }
        Stream::File => tempfile::tempfile()
            .map_err(|e| Error::io("open a temporary file", e))?
            .into(),
        Stream::Tty => {
            let failed = |e| Error::io("open a terminal", e);
            let (terminal, mut other_side) = terminal().map_err(failed)?;
            // As stdin its user types the end of file: ^D, the VEOF of termios(3).
            if is_stdin {
                other_side.write_all(b"\x04").map_err(failed)?;
            }
            ours.push(other_side);
            terminal
        }
        Stream::Inherit => match fcntl(callers, FcntlArg::F_DUPFD_CLOEXEC(3)) {
            // SAFETY: a new descriptor that nobody else knows.
            Ok(fd) => unsafe { OwnedFd::from_raw_fd(fd) },
            Err(Errno::EBADF) => return Ok(None),
            Err(e) => return Err(Error::io("duplicate a standard stream", e)),
        },
        Stream::Closed => return Ok(None),
    };
    above(fd, STANDARD).map(|fd| Some(Arc::new(fd)))
}

/// The last of the standard streams.
pub(super) const STANDARD: RawFd = 2;

/// The same file under a descriptor above `last`. A caller that has closed a standard stream
/// gets its number again for the next file that it opens.
pub(super) fn above(fd: OwnedFd, last: RawFd) -> Result<OwnedFd> {
    if fd.as_raw_fd() > last {
        return Ok(fd);
    }
    let above = fcntl(&fd, FcntlArg::F_DUPFD_CLOEXEC(last.saturating_add(1)))
        .map_err(|e| Error::io("fcntl", e))?;
    // SAFETY: a new descriptor that nobody else knows.
    Ok(unsafe { OwnedFd::from_raw_fd(above) })
}

/// A new terminal, and the side of it that a terminal program would hold. Both are closed on
/// exec from the start, which openpty(3) leaves undone.
fn terminal() -> io::Result<(OwnedFd, File)> {
    let other_side = posix_openpt(OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC)?;
    grantpt(&other_side)?;
    unlockpt(&other_side)?;
    let terminal = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NOCTTY)
        .open(ptsname_r(&other_side)?)?;
    Ok((terminal.into(), OwnedFd::from(other_side).into()))
}

/// A thread that reads pipes and terminals to their ends and forgets what it read.
/// Dropping this stops it, also when somebody still holds one of them open.
pub(super) struct Drain {
    /// None once it is told to stop; and when there is nothing to read.
    running: Option<(OwnedFd, JoinHandle<()>)>,
}

impl Drain {
    fn start(files: Vec<File>) -> Result<Self> {
        if files.is_empty() {
            return Ok(Drain { running: None });
        }
        let (stopped, stop) = pipe2(OFlag::O_CLOEXEC).map_err(|e| Error::io("pipe", e))?;
        let thread = thread::Builder::new()
            .name("drain".to_owned())
            .spawn(move || drain(files, &stopped))
            .map_err(|e| Error::io("start a thread", e))?;
        Ok(Drain {
            running: Some((stop, thread)),
        })
    }
}

impl Drop for Drain {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            drop(stop);
            let _ = thread.join();
        }
    }
}

fn drain(mut files: Vec<File>, stopped: &OwnedFd) {
    let mut buffer = vec![0; 1 << 16];
    while !files.is_empty() {
        let mut wanted: Vec<_> = [stopped.as_fd()]
            .into_iter()
            .chain(files.iter().map(AsFd::as_fd))
            .map(|fd| PollFd::new(fd, PollFlags::POLLIN))
            .collect();
        match poll(&mut wanted, PollTimeout::NONE) {
            Ok(_) => {}
            Err(Errno::EINTR) => continue,
            Err(_) => return,
        }
        let ready: Vec<bool> = wanted.iter().map(|fd| fd.any().unwrap_or(true)).collect();
        if ready[0] {
            return;
        }
        let mut ready = ready[1..].iter();
        files.retain_mut(|file| match ready.next() {
            // A terminal whose last user has closed it answers with EIO (pty(7)).
            Some(true) => !matches!(file.read(&mut buffer), Ok(0) | Err(_)),
            _ => true,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_have_one_dev_null_in_common_for_each_stream_and_no_file() {
        let mut nulls = Nulls::default();
        let mut descriptors = |stream| {
            let (streams, _drain) = open([stream; 3], &mut nulls).unwrap();
            streams.map(|stream| stream.unwrap().as_raw_fd())
        };
        let first = descriptors(Stream::Null);
        assert_eq!(descriptors(Stream::Null), first);
        let [stdin, stdout, stderr] = first;
        assert!(stdin != stdout && stdout != stderr && stdin != stderr);
        let files = descriptors(Stream::File);
        assert!(files.iter().all(|file| !first.contains(file)));
    }
}
