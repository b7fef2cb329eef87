//! Takes permissions away, as containers do.

/// Has a system call fail with EPERM on this thread, and in what it starts, from here on, as the
/// filters of containers do. It makes system calls only.
pub fn forbid(call: libc::c_long) {
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
            ..statement(equal, call as u32)
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
