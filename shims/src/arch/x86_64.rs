//! x86-64.
//!
//! A system call (System V psABI for AMD64, A.2.1; syscall(2)):
//! - its number goes in rax, its arguments in rdi, rsi, rdx, r10, r8 and r9;
//! - the result comes back in rax: -4095 to -1 is an error number, negated;
//! - rcx and r11 are lost, as the instruction itself keeps the return address and the flags
//!   there; all else stays.

use core::arch::asm;
use core::mem::MaybeUninit;

/// The first instructions of a process, as text for `naked_asm!`, and what the ELF header says of
/// the machine (psABI 4.1.1: EM_X86_64).
///
/// At entry (psABI 3.4.1) rsp points at `argc` and is a multiple of 16, and rbp is zero, which
/// ends a debugger's walk up the frames. A compiled function wants rsp as a call leaves it, 8
/// short of a multiple of 16 (aligned SSE stores fault otherwise), so `{start}` is called, not
/// jumped to. It gets the old rsp as its one argument, and its result, in al, is the status;
/// the kernel looks at no more than the lowest byte. (xchg is a byte shorter than mov.)
#[doc(hidden)]
#[macro_export]
macro_rules! __start {
    () => {
        "
        .globl e_machine
        e_machine = 62
        mov rdi, rsp
        call {start}
        xchg edi, eax
        mov eax, {exit_group}
        syscall
        "
    };
}

/// The same, for a program that has told how much further down its frames are to start: the 32 bits
/// at `{base} + {offset}`, which keep rsp a multiple of 16.
#[doc(hidden)]
#[macro_export]
macro_rules! __start_below {
    () => {
        "
        .globl e_machine
        e_machine = 62
        mov rdi, rsp
        mov eax, [rip + {base} + {offset}]
        sub rsp, rax
        call {start}
        xchg edi, eax
        mov eax, {exit_group}
        syscall
        "
    };
}

/// A whole process: exit_group with `{status}`, as text for `naked_asm!`.
#[doc(hidden)]
#[macro_export]
macro_rules! __exit {
    () => {
        "
        .globl e_machine
        e_machine = 62
        mov edi, {status}
        mov eax, {exit_group}
        syscall
        "
    };
}

/// The calls' numbers, from the kernel's arch/x86/entry/syscalls/syscall_64.tbl.
pub mod number {
    #![allow(missing_docs, reason = "the names are the calls' own")]
    pub const READ: usize = 0;
    pub const WRITE: usize = 1;
    pub const CLOSE: usize = 3;
    pub const FSTAT: usize = 5;
    pub const MMAP: usize = 9;
    pub const RT_SIGACTION: usize = 13;
    pub const RT_SIGPROCMASK: usize = 14;
    pub const IOCTL: usize = 16;
    pub const PREAD64: usize = 17;
    pub const WRITEV: usize = 20;
    pub const ACCESS: usize = 21;
    pub const ALARM: usize = 37;
    pub const GETPID: usize = 39;
    pub const EXECVE: usize = 59;
    pub const FCNTL: usize = 72;
    pub const FLOCK: usize = 73;
    pub const CHDIR: usize = 80;
    pub const UMASK: usize = 95;
    pub const SETUID: usize = 105;
    pub const SETGID: usize = 106;
    pub const SETPGID: usize = 109;
    pub const GETPPID: usize = 110;
    pub const SETSID: usize = 112;
    pub const SETGROUPS: usize = 116;
    pub const SETRESUID: usize = 117;
    pub const SETRESGID: usize = 119;
    pub const PERSONALITY: usize = 135;
    pub const SETPRIORITY: usize = 141;
    pub const SCHED_SETSCHEDULER: usize = 144;
    pub const PRCTL: usize = 157;
    pub const CHROOT: usize = 161;
    pub const FGETXATTR: usize = 193;
    pub const SCHED_SETAFFINITY: usize = 203;
    pub const EXIT_GROUP: usize = 231;
    pub const IOPRIO_SET: usize = 251;
    pub const OPENAT: usize = 257;
    pub const DUP3: usize = 292;
    pub const PRLIMIT64: usize = 302;
    pub const CLOSE_RANGE: usize = 436;
    pub const FACCESSAT2: usize = 439;
}

macro_rules! syscalls {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $register:tt),*);)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        ///
        /// As for every raw call: see the module.
        #[inline(always)]
        pub unsafe fn $name(number: usize, $($arg: usize),*) -> usize {
            let result;
            // SAFETY: the registers are those of the ABI above; the caller answers for the call.
            // Memory may be read and written by it, so nothing is said to be untouched. It is not
            // said to be `nostack` either: what is kept below rsp then would rule out the
            // shortest way to load a small number, which is a push and a pop.
            unsafe {
                asm!(
                    "syscall",
                    inlateout("rax") number => result,
                    $(in($register) $arg,)*
                    lateout("rcx") _,
                    lateout("r11") _,
                    options(preserves_flags)
                );
            }
            result
        }
    )*};
}

syscalls! {
    /// A call without arguments.
    syscall0();
    /// A call of one argument.
    syscall1(a: "rdi");
    /// A call of two arguments.
    syscall2(a: "rdi", b: "rsi");
    /// A call of three arguments.
    syscall3(a: "rdi", b: "rsi", c: "rdx");
    /// A call of four arguments.
    syscall4(a: "rdi", b: "rsi", c: "rdx", d: "r10");
    /// A call of five arguments.
    syscall5(a: "rdi", b: "rsi", c: "rdx", d: "r10", e: "r8");
    /// A call of six arguments.
    syscall6(a: "rdi", b: "rsi", c: "rdx", d: "r10", e: "r8", f: "r9");
}

/// What a register holds: an argument, or, for a call that does not take so many, anything.
pub type Argument = MaybeUninit<usize>;

/// A call of up to four arguments. The fifth, for those that look at it, is 0.
///
/// # Safety
///
/// As for every raw call: see the module. The arguments that it takes must be there.
#[inline(always)]
pub unsafe fn syscall_of(number: usize, [a, b, c, d]: [Argument; 4]) -> usize {
    let result;
    // SAFETY: as above.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") a,
            in("rsi") b,
            in("rdx") c,
            in("r10") d,
            in("r8") 0_usize,
            lateout("rcx") _,
            lateout("r11") _,
            options(preserves_flags)
        );
    }
    result
}

/// A call that does not come back.
///
/// # Safety
///
/// `number` must be a call that never returns: exit or exit_group.
#[inline(always)]
pub unsafe fn syscall_noreturn(number: usize, a: usize) -> ! {
    // SAFETY: the caller promises that the call does not return.
    unsafe { asm!("syscall", in("rax") number, in("rdi") a, options(noreturn, nostack)) }
}

/// The stack pointer, as it is somewhere in the function that asks.
#[inline(always)]
pub fn stack_pointer() -> *const u8 {
    let pointer;
    // SAFETY: it only reads a register.
    unsafe { asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags)) };
    pointer
}

/// The same reference, of which the compiler does not know any more what it refers to: so it does
/// not make a table that is asked once into longer code that needs no table. No instructions.
#[inline(always)]
#[allow(clippy::pointers_in_nomem_asm_block, reason = "nothing is read there")]
pub fn opaque<T>(reference: &T) -> &T {
    let mut pointer: *const T = reference;
    // SAFETY: it is not changed.
    unsafe {
        asm!("/* {0} */", inout(reg) pointer, options(pure, nomem, nostack, preserves_flags));
        &*pointer
    }
}

/// The machine's number in an ELF header: EM_X86_64 (psABI 4.1.1).
pub const MACHINE: u16 = 62;

/// The size of a page, which memory is mapped in (psABI 3.3.1).
pub const PAGE: usize = 4096;

/// What fstat(2) writes: `struct stat` in the kernel's arch/x86/include/uapi/asm/stat.h.
#[repr(C)]
pub struct Status {
    _before: [u64; 3],
    /// Its kind and permissions (inode(7)).
    pub mode: u32,
    _owner: [u32; 3],
    _device: u64,
    /// Its length in bytes.
    pub size: usize,
    _rest: [u64; 11],
}

const _: () = assert!(size_of::<Status>() == 144);

/// Zeros memory.
///
/// # Safety
///
/// `length` bytes from `at` on must be the caller's to write.
#[inline(always)]
pub unsafe fn zero(at: *mut u8, length: usize) {
    // SAFETY: upwards, as the direction flag is clear between functions (psABI 3.2.1).
    unsafe {
        asm!(
            "rep stosb",
            inout("rdi") at => _,
            inout("rcx") length => _,
            in("al") 0_u8,
            options(nostack, preserves_flags)
        );
    }
}

/// Sets a bit of a set that lies in memory, the lowest of the first byte being 0.
///
/// # Safety
///
/// The eight bytes at a multiple of 8 from `set` on that have the bit must be the caller's to
/// write.
#[inline(always)]
pub unsafe fn set_bit(set: *mut u8, bit: usize) {
    // SAFETY: the caller answers for the memory.
    unsafe { asm!("bts [{}], {}", in(reg) set, in(reg) bit, options(nostack)) }
}

/// Copies memory.
///
/// # Safety
///
/// `length` bytes from `from` on must be there, and as many from `to` on the caller's to write;
/// both must have none in common.
#[inline(always)]
pub unsafe fn copy(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: as for `zero`.
    unsafe {
        asm!(
            "rep movsb",
            inout("rsi") from => _,
            inout("rdi") to => _,
            inout("rcx") length => _,
            options(nostack, preserves_flags)
        );
    }
}

/// Starts a program that is in memory: `stack` becomes the stack pointer, and the processor goes
/// on at `entry`.
///
/// All is as after an execve: no flag is set and every register is zero (ELF_PLAT_INIT in the
/// kernel's arch/x86/include/asm/elf.h). Of these the psABI (3.4.1) names rbp, and rdx, which a
/// libc calls at exit when it is not zero. Vector registers keep what they hold.
///
/// # Safety
///
/// The program must be one that takes over the process: nothing of the caller runs again. `stack`
/// must be a multiple of 16, and point at what the program expects there; the 16 bytes below it
/// are written.
#[inline(always)]
pub unsafe fn enter(stack: *const usize, entry: usize) -> ! {
    // The entry waits below the stack for `ret`, as every register is to be clear by then. That
    // sets flags, so they are loaded last: 2 is the one that is always set.
    // SAFETY: the caller answers for the program and the stack.
    unsafe {
        asm!(
            "
            mov rsp, {stack}
            push {entry}
            xor eax, eax
            xor ebx, ebx
            xor ecx, ecx
            xor edx, edx
            xor esi, esi
            xor edi, edi
            xor ebp, ebp
            xor r8d, r8d
            xor r9d, r9d
            xor r10d, r10d
            xor r11d, r11d
            xor r12d, r12d
            xor r13d, r13d
            xor r14d, r14d
            xor r15d, r15d
            push 2
            popfq
            ret
            ",
            stack = in(reg) stack,
            entry = in(reg) entry,
            options(noreturn)
        )
    }
}
