//! x86-64.
//!
//! A system call (System V psABI for AMD64, A.2.1; syscall(2)):
//! - its number goes in rax, its arguments in rdi, rsi, rdx, r10, r8 and r9;
//! - the result comes back in rax: -4095 to -1 is an error number, negated;
//! - rcx and r11 are lost, as the instruction itself keeps the return address and the flags
//!   there; all else stays.

use core::arch::asm;

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
    pub const WRITE: usize = 1;
    pub const WRITEV: usize = 20;
    pub const EXECVE: usize = 59;
    pub const EXIT_GROUP: usize = 231;
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
