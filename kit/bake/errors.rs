//! The errors that a small engine can name: those that its calls give.

use std::collections::BTreeSet;

use launcher::reasons::Reason;
use shims::arch::number;
use shims::errno::Errno;

use super::tape::{NO_ARGUMENTS, NO_INTERPRETER, OTHER};

/// The table of errors for an engine that makes these calls, and an execve of this path.
pub fn table(path: &[u8], calls: impl IntoIterator<Item = usize>) -> Vec<u8> {
    let errors = calls.into_iter().flat_map(errors_of).chain(EXECVE);
    let mut errors: BTreeSet<u8> = errors.map(|error| error.0).collect();
    if path
        .split(|byte| *byte == b'/')
        .any(|name| name.len() > NAME_MAX)
    {
        errors.insert(Errno::ENAMETOOLONG.0);
    }
    let mut table = Vec::new();
    let mut put = |number: u8, text: &[u8]| {
        // Texts of launch, which are far shorter than 255 bytes.
        table.extend([number, (text.len() + 3) as u8]);
        table.extend(b": ");
        table.extend(text);
        table.push(b'\n');
    };
    let other = Reason(OTHER).text().to_bytes();
    errors.retain(|error| Reason(*error).text().to_bytes() != other);
    for error in errors {
        put(error.wrapping_neg(), Reason(error).text().to_bytes());
    }
    put(NO_INTERPRETER, Reason::NO_INTERPRETER.text().to_bytes());
    put(NO_ARGUMENTS, b"no arguments, not even argv[0]");
    put(OTHER, other);
    table
}

/// The longest name of a file, on almost any file system (the kernel's include/uapi/linux/limits.h).
const NAME_MAX: usize = 255;

/// Those of execve(2) that a launcher's user meets; but for ENAMETOOLONG, which a path shows.
const EXECVE: [Errno; 10] = [
    Errno::EPERM,
    Errno::ENOENT,
    Errno::EIO,
    Errno::E2BIG,
    Errno::ENOEXEC,
    Errno::ENOMEM,
    Errno::EACCES,
    Errno::ENOTDIR,
    Errno::ETXTBSY,
    Errno::ELOOP,
];

/// Those of another call, by its man page.
fn errors_of(call: usize) -> Vec<Errno> {
    match call {
        number::CHDIR | number::CHROOT => vec![
            Errno::EPERM,
            Errno::ENOENT,
            Errno::EACCES,
            Errno::ENOTDIR,
            Errno::ELOOP,
            Errno::ENAMETOOLONG,
        ],
        number::OPENAT => vec![
            Errno::EPERM,
            Errno::ENOENT,
            Errno::ENXIO,
            Errno::EACCES,
            Errno::ENOTDIR,
            Errno::EISDIR,
            Errno::EMFILE,
            Errno::ENOSPC,
            Errno::EROFS,
            Errno::ELOOP,
            Errno::ENAMETOOLONG,
        ],
        number::DUP3 | number::FCNTL => vec![Errno::EBADF, Errno::EMFILE],
        number::SETSID | number::SETPGID => vec![Errno::EPERM],
        number::IOCTL => vec![Errno::EPERM, Errno::EBADF, Errno::ENOTTY],
        number::CLOSE_RANGE => vec![Errno::EINVAL, Errno::EMFILE, Errno::ENOSYS],
        number::CLOSE | number::UMASK | number::ALARM | number::RT_SIGPROCMASK => vec![],
        _ => vec![
            Errno::EPERM,
            Errno::EAGAIN,
            Errno::ENOMEM,
            Errno::EACCES,
            Errno::EINVAL,
            Errno::ENOSYS,
        ],
    }
}
