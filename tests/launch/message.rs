//! What the launcher says about errors.

use barest::assertions::exactly;
use barest::trace::Trace;

/// Asserts that these calls are followed by one that says why the launcher ends, and its end.
#[track_caller]
pub fn assert_tells<'a>(seen: &Trace, calls: impl IntoIterator<Item = &'a str>) {
    // A line is written whole by one call; a small engine does that by another than a large one.
    let vectors = seen.names().any(|name| name == "writev");
    let tell = if vectors { "writev" } else { "write" };
    seen.assert(exactly(calls.into_iter().chain([tell, "exit_group"])));
}

/// The call that looks whether a target is there that could not be found. The oldest of its
/// kind has the shortest instructions.
pub fn look(seen: &Trace) -> &'static str {
    let oldest = seen.names().any(|name| name == "access");
    if oldest { "access" } else { "faccessat2" }
}

/// The line for an action, or a program, that failed with this errno. Its name is for
/// programs and searches, its meaning for people.
pub fn line(what: &str, errno: &str) -> String {
    format!("launch: {what}: {errno}, {}", meaning(errno))
}

fn meaning(errno: &str) -> &'static str {
    match errno {
        "EPERM" => "not permitted",
        "ENOENT" => "not there",
        "EIO" => "I/O error",
        "ENXIO" => "no device",
        "E2BIG" => "too much, or a string of 128 KiB",
        "ENOEXEC" => "not a program",
        "EBADF" => "not open",
        "EAGAIN" => "too many processes",
        "ENOMEM" => "no memory",
        "EACCES" => "permission denied",
        "EBUSY" => "in use",
        "ENOTDIR" => "not a directory",
        "EISDIR" => "a directory",
        "EINVAL" => "invalid value",
        "EMFILE" => "too many files",
        "ENOTTY" => "no terminal",
        "ETXTBSY" => "being written, try again",
        "EFBIG" => "too large",
        "ENOSPC" => "no space",
        "EROFS" => "read-only",
        "EPIPE" => "nobody reads",
        "ENAMETOOLONG" => "name too long",
        "ENOSYS" => "not in this kernel",
        "ELOOP" => "too many links",
        _ => panic!("{errno}"),
    }
}
