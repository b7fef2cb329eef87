//! A machine on which nothing may be traced. Alone in its file: it looks for children of its
//! whole process that were left over.

#[path = "common/forbid.rs"]
mod forbid;

use std::thread;

use barest::trace::trace;
use barest::{Error, Subject};

#[test]
fn no_permission_to_trace_is_one_line_and_leaves_nothing() {
    let result = thread::spawn(|| {
        forbid::forbid(libc::SYS_ptrace);
        trace(&Subject::new("/bin/true"))
    });
    let error = result.join().unwrap().unwrap_err();
    assert!(matches!(error, Error::MayNotTrace(_)), "{error:?}");
    let text = error.to_string();
    assert!(
        text.starts_with("may not trace: ") && text.lines().count() == 1,
        "{text}"
    );

    // SAFETY: waits for any child, and there is none.
    let child = unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG | libc::__WALL) };
    let errno = std::io::Error::last_os_error().raw_os_error();
    assert_eq!((child, errno), (-1, Some(libc::ECHILD)));
}
