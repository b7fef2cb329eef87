//! A machine on which nothing may be traced. Alone in its file: it looks for children of its
//! whole process that were left over.

use std::thread;

use barest::trace::trace;
use barest::{Error, Subject};

/// Has ptrace(2) fail with EPERM on this thread from here on, as the filters of containers do.
fn forbid_ptrace() {
    let statement = |code: u32, k: u32| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf: 0,
        k,
    };
    let (load, give) = (
        libc::BPF_LD | libc::BPF_W | libc::BPF_ABS,
        libc::BPF_RET | libc::BPF_K,
    );
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let mut filter = [
        // The number of the call is the first word of struct seccomp_data.
        statement(load, 0),
        libc::sock_filter {
            jf: 1,
            ..statement(equal, libc::SYS_ptrace as u32)
        },
        statement(give, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        statement(give, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: the kernel copies the filter, which is as long as it says.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program),
            0
        );
    }
}

#[test]
fn no_permission_to_trace_is_one_line_and_leaves_nothing() {
    let result = thread::spawn(|| {
        forbid_ptrace();
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
