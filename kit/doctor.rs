//! What this machine lets the kit measure, and how well.
//!
//! Each question is answered by trying it: what a setting says is only the reason given for a
//! no. Only without the right to trace is there nothing to count; every other no makes
//! something slower, less steady or more narrow.
//!
//! ```
//! let doctor = barest::doctor()?;
//! assert!(doctor.trace.able, "{}", doctor.trace.why_not().unwrap_or_default());
//! assert!(doctor.machine.cores >= 1);
//! # Ok::<(), barest::Error>(())
//! ```

use std::arch::asm;
use std::fs;
use std::hint::black_box;
use std::io;
use std::ptr;
use std::time::{Duration, Instant};

use nix::sched::sched_getcpu;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::machine::Machine;
use crate::spawn;
use crate::steps::{cpuid_cost, fix_addresses};
use crate::trace::tracee;

/// What this machine lets the kit measure.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Doctor {
    /// The machine, and how many processors this process may run on.
    pub machine: Machine,
    /// Whether it may trace its children: `count`, `trace` and `steps` need it.
    pub trace: Ability,
    /// Whether it may keep a thread on one processor.
    pub pin: Ability,
    /// Whether it may turn address space layout randomization off for a subject.
    pub fixed_addresses: Ability,
    /// Whether a seccomp filter can hand calls to a tracer.
    pub seccomp: Ability,
    /// Whether 32-bit programs run here.
    pub ia32: Ability,
    /// Whether the processor counts instructions for this process by itself.
    pub counters: Ability,
    /// What randomization is set to: 0 off, 1 without the heap, 2 all (proc_sys_kernel(5),
    /// randomize_va_space). None where that cannot be read.
    pub randomization: Option<u8>,
    /// What one CPUID takes now.
    #[serde(rename = "cpuid_cost_ns", serialize_with = "crate::nanoseconds::one")]
    pub cpuid_cost: Duration,
    /// Whether that is so long that a hypervisor must trap it.
    pub cpuid_traps: bool,
    /// How steady the machine is now.
    pub noise: Noise,
}

/// Whether something is possible here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Ability {
    /// Whether it is.
    pub able: bool,
    /// If not, why.
    pub reason: Option<String>,
    /// If not, what to do.
    pub remedy: Option<String>,
}

/// How steady the machine is now: how long the same work of about a millisecond takes, for a
/// quarter of a second on one processor.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Noise {
    /// The time that a tenth of the tries stayed below.
    #[serde(rename = "p10_ns", serialize_with = "crate::nanoseconds::one")]
    pub p10: Duration,
    /// The time that nine tenths of the tries stayed below.
    #[serde(rename = "p90_ns", serialize_with = "crate::nanoseconds::one")]
    pub p90: Duration,
    /// p90 / p10: 1.0 on a machine that does nothing else.
    pub spread: f64,
    /// The load average of the last minute (proc_loadavg(5)). None where that cannot be read.
    pub load: Option<f64>,
    /// Whether the spread is so small that start times can be compared.
    pub quiet: Ability,
}

/// The spread from which on a machine is noisy.
const NOISY: f64 = 1.1;

/// No bare processor takes longer for a CPUID (100 to 250 cycles), and a trap takes longer on all.
const TRAPPED: Duration = Duration::from_nanos(500);

impl Ability {
    fn yes() -> Self {
        Ability {
            able: true,
            reason: None,
            remedy: None,
        }
    }

    fn no(reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Ability {
            able: false,
            reason: Some(reason.into()),
            remedy: Some(remedy.into()),
        }
    }

    fn of<T>(tried: io::Result<T>, remedy: &str) -> Self {
        match tried {
            Ok(_) => Ability::yes(),
            Err(error) => Ability::no(error.to_string(), remedy),
        }
    }

    /// If not able: the reason and the remedy, in a line.
    pub fn why_not(&self) -> Option<String> {
        let reason = self.reason.as_ref()?;
        let remedy = self.remedy.as_ref()?;
        Some(format!("{reason}; {remedy}"))
    }
}

/// Tries what this machine can do. It takes less than a second.
///
/// Fails only when no thread can be started. What is not possible is a fact.
pub fn doctor() -> Result<Doctor> {
    let machine = Machine::here();
    let cpuid_cost = cpuid_cost()?;
    spawn::alone(|| {
        let pin = pin();
        let noise = noise();
        Ok(Doctor {
            machine,
            trace: trace(),
            pin,
            fixed_addresses: Ability::of(
                fix_addresses(),
                "in a container run with --security-opt seccomp=unconfined; \
                 counts of instructions can vary without",
            ),
            seccomp: seccomp(),
            ia32: ia32()?,
            counters: counters(),
            randomization: setting("kernel/randomize_va_space"),
            cpuid_cost,
            cpuid_traps: cpuid_cost > TRAPPED,
            noise,
        })
    })
}

/// A number of /proc/sys.
fn setting<T: std::str::FromStr>(name: &str) -> Option<T> {
    let text = fs::read_to_string(format!("/proc/sys/{name}")).ok()?;
    text.trim().parse().ok()
}

/// Traces a child.
fn trace() -> Ability {
    // The newest call that the kit cannot do without.
    // SAFETY: takes three numbers; there is no descriptor that high.
    let answer = unsafe { libc::syscall(libc::SYS_close_range, u32::MAX, u32::MAX, 0) };
    if answer < 0 {
        return Ability::no(
            format!("close_range: {}", io::Error::last_os_error()),
            "Linux 5.9 or later is needed, and a container that lets it through",
        );
    }
    let tried = child(|| {
        loop {
            // SAFETY: sleeps until it is killed.
            unsafe { libc::pause() };
        }
    })
    .and_then(|child| tracee::seize(child.pid));
    match (tried, setting::<u8>("kernel/yama/ptrace_scope")) {
        (Ok(()), _) => Ability::yes(),
        (Err(error), Some(scope @ 2..)) => Ability::no(
            format!("ptrace: {error}; kernel.yama.ptrace_scope is {scope}"),
            match scope {
                2 => "run as root, or sysctl -w kernel.yama.ptrace_scope=1",
                _ => "set kernel.yama.ptrace_scope to 1 and start the machine again",
            },
        ),
        (Err(error), _) => Ability::no(
            format!("ptrace: {error}"),
            "run as the same user, or in a container with --cap-add=SYS_PTRACE",
        ),
    }
}

/// Keeps this thread on its processor.
fn pin() -> Ability {
    let tried = sched_getcpu().and_then(spawn::pin_to);
    Ability::of(
        tried.map_err(io::Error::from),
        "let sched_setaffinity through; all is slower and less steady without",
    )
}

/// Asks whether a filter may say "ask the tracer" (seccomp(2), SECCOMP_RET_TRACE).
fn seccomp() -> Ability {
    let action = libc::SECCOMP_RET_TRACE;
    // SAFETY: the kernel reads one word, which is on the stack.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_GET_ACTION_AVAIL,
            0,
            &raw const action,
        )
    };
    let tried = match answer {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    };
    Ability::of(
        tried,
        "a kernel with CONFIG_SECCOMP_FILTER is needed for quick counts; others work",
    )
}

/// Has a child make a call of i386, getpid.
fn ia32() -> Result<Ability> {
    const GETPID: u32 = 20; // arch/x86/entry/syscalls/syscall_32.tbl
    let tried = child(|| {
        // SAFETY: a call without arguments. It returns its result, or the child dies of a signal.
        unsafe {
            asm!(
                "int 0x80",
                inlateout("eax") GETPID => _,
                // Kernels before 4.17 clear these.
                lateout("r8") _, lateout("r9") _, lateout("r10") _, lateout("r11") _,
            );
            libc::_exit(0)
        }
    });
    let ended = tried
        .and_then(Started::wait)
        .map_err(|e| Error::io("fork", e))?;
    Ok(match ended {
        Some(Exit::Exited(0)) => Ability::yes(),
        _ => Ability::no(
            "the kernel does not take calls of i386",
            "start it with ia32_emulation=1, and build it with CONFIG_IA32_EMULATION, \
             to run 32-bit programs; others work",
        ),
    })
}

/// Opens a counter of this thread's own instructions.
fn counters() -> Ability {
    // struct perf_event_attr in its first version (linux/perf_event.h, PERF_ATTR_SIZE_VER0).
    const BYTES: u64 = 64;
    const HARDWARE: u64 = 0; // PERF_TYPE_HARDWARE
    const INSTRUCTIONS: u64 = 1; // PERF_COUNT_HW_INSTRUCTIONS
    const EXCLUDE_KERNEL_AND_HYPERVISOR: u64 = 1 << 5 | 1 << 6;
    const CLOSE_ON_EXEC: u64 = 1 << 3; // PERF_FLAG_FD_CLOEXEC
    let mut attributes = [0u64; 8];
    attributes[0] = HARDWARE | BYTES << 32;
    attributes[1] = INSTRUCTIONS;
    attributes[5] = EXCLUDE_KERNEL_AND_HYPERVISOR;
    // SAFETY: the kernel reads as many bytes as the structure says that it has.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            attributes.as_ptr(),
            0,  // this thread
            -1, // on any processor
            -1, // in no group
            CLOSE_ON_EXEC,
        )
    };
    if fd >= 0 {
        // SAFETY: a descriptor that nobody else knows.
        unsafe { libc::close(fd as libc::c_int) };
        return Ability::yes();
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            let paranoid = match setting::<i32>("kernel/perf_event_paranoid") {
                Some(level) => format!("; kernel.perf_event_paranoid is {level}"),
                None => String::new(),
            };
            Ability::no(
                format!("perf_event_open: {error}{paranoid}"),
                "sysctl -w kernel.perf_event_paranoid=2, or CAP_PERFMON; steps counts without",
            )
        }
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => Ability::no(
            "no counter in this processor, or the virtual machine passes none on",
            "a machine with a PMU is needed for perf; steps counts without",
        ),
        _ => Ability::no(
            format!("perf_event_open: {error}"),
            "a kernel with CONFIG_PERF_EVENTS is needed for perf; steps counts without",
        ),
    }
}

/// Does the same work again and again.
fn noise() -> Noise {
    const FOR: Duration = Duration::from_millis(250);
    let start = Instant::now();
    let mut times = Vec::new();
    while start.elapsed() < FOR || times.len() < 10 {
        let one = Instant::now();
        let work = (0..200_000u64).fold(1u64, |x, _| black_box(x.wrapping_mul(5)));
        black_box(work);
        times.push(one.elapsed());
    }
    times.sort();
    let (p10, p90) = (times[times.len() / 10], times[times.len() * 9 / 10]);
    let spread = p90.as_secs_f64() / p10.as_secs_f64().max(f64::MIN_POSITIVE);
    let load = fs::read_to_string("/proc/loadavg").ok();
    let load = load.and_then(|text| text.split(' ').next()?.parse().ok());
    let quiet = match spread < NOISY {
        true => Ability::yes(),
        false => Ability::no(
            format!("the same work takes up to {spread:.2} times as long"),
            "end what else runs, or measure more rounds",
        ),
    };
    Noise {
        p10,
        p90,
        spread,
        load,
        quiet,
    }
}

/// A child of this thread. Dropping it ends it.
struct Started {
    pid: libc::pid_t,
}

/// Starts a child that does one thing, and must not return from it. To be called where every
/// signal is blocked.
fn child(does: impl FnOnce()) -> io::Result<Started> {
    // SAFETY: the child makes system calls only.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: numbers.
        0 => unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            does();
            libc::_exit(127)
        },
        pid => Ok(Started { pid }),
    }
}

impl Started {
    /// Waits for its end.
    fn wait(self) -> io::Result<Option<Exit>> {
        let mut status = 0;
        // SAFETY: it is a child of this thread that nobody has reaped; the kernel writes one int.
        let reaped = unsafe { libc::waitpid(self.pid, &mut status, libc::__WALL) };
        std::mem::forget(self);
        match reaped {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(Exit::from_status(status)),
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // SAFETY: it is a child of this thread that nobody has reaped.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, ptr::null_mut(), libc::__WALL);
        }
    }
}
