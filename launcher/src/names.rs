//! Names that are numbers to the kernel: lists as [`find`](crate::text::find) reads them.

use shims::cstr;
use shims::stack::CStr;

/// The signals (signal(7)), from 1 on, in the order of the kernel's numbers.
pub const SIGNALS: CStr = cstr!(
    " HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS"
);

/// The policies of sched_setscheduler(2), by their names in chrt(1); 4 is
/// reserved, as of include/uapi/linux/sched.h.
pub const POLICIES: CStr = cstr!(" other fifo rr batch iso idle");

/// The classes of ioprio_set(2), by their names in ionice(1).
pub const IO_CLASSES: CStr = cstr!(" none realtime best-effort idle");

/// A limit that is none: RLIM_INFINITY of setrlimit(2), less one.
pub const UNLIMITED: CStr = cstr!(" unlimited");
