//! The engine of a baked launcher that has nothing to do but to run its target: no actions, no
//! arguments of its own, no search in PATH.
//!
//! Its argv is the target's, but for the name; so it is used where the kernel left it. It is
//! written in instructions, since those that a compiler makes of the same take 190 bytes, and these
//! 109; what it does is what `bins/exec.rs` does in Rust. An architecture without such a page can
//! do with `few`.
//!
//! System calls: execve, then the target's. When that fails: access(2), for ENOENT alone, as that
//! may mean the interpreter; one writev with one line on stderr, and exit_group.

#![no_std]
#![no_main]

#[allow(dead_code, reason = "shared with the other engines")]
mod tape;

use core::arch::naked_asm;

use shims::arch::number;
use shims::call::{self, STDERR};

unsafe extern "C" {
    /// Where the tape starts; a symbol of the layout.
    static end: u8;
}

/// Where the kernel enters.
///
/// At entry (psABI 3.4.1) rsp points at `argc`; all other registers are zero (ELF_PLAT_INIT in the
/// kernel's arch/x86/include/asm/elf.h). A call changes rax, rcx and r11 only, so rdi stays the
/// path, and r10 and r8 stay zero.
#[unsafe(naked)]
#[unsafe(no_mangle)]
#[unsafe(link_section = ".text.start")]
unsafe extern "C" fn _start() -> ! {
    naked_asm!(
        "
        .globl e_machine
        e_machine = 62

        push 125                        # ebp: the exit status
        pop rbp
        pop rcx                         # argc
        mov rsi, rsp                    # argv
        mov edi, [rip + {end}]          # the path
        mov al, {no_arguments}
        jrcxz 2f
        lea rdx, [rsi + 8*rcx + 8]      # envp
        mov [rsi], rdi
        push {execve}
        pop rax
        syscall

        inc ebp                         # it is back: 126
        cmp al, -{enoent}
        jne 2f
        push {access}                   # is the file there? 0, which is NO_INTERPRETER,
        pop rax                         # or an error
        xor esi, esi                    # F_OK
        syscall
        cmp al, -{enoent}
        jne 2f
        inc ebp                         # 127

    2:  xchg ebx, eax                   # bl: the error, negated
        mov esi, offset {end} + {errors}
    3:  lodsw                           # al: an error, ah: the length of its text
        movzx ecx, ah
        cmp al, bl
        je 4f
        cmp al, {other}
        je 4f
        add esi, ecx
        jmp 3b

    4:  push rcx                        # two pieces (iovec(3type)): the text,
        push rsi
        movzx ecx, word ptr [rip + {end} + 4]
        push rcx                        # and `launch: PATH`, which ends where the path does
        sub edi, {prefix}
        push rdi
        mov rsi, rsp
        push {stderr}
        pop rdi
        push 2
        pop rdx
        push {writev}
        pop rax
        syscall

        mov edi, ebp
        mov eax, {exit_group}
        syscall
        ",
        end = sym end,
        errors = const tape::EXEC_ERRORS,
        other = const tape::OTHER as i8,
        no_arguments = const tape::NO_ARGUMENTS,
        enoent = const shims::Errno::ENOENT.0,
        prefix = const "launch: ".len(),
        stderr = const STDERR.0,
        execve = const number::EXECVE,
        access = const number::ACCESS,
        writev = const number::WRITEV,
        exit_group = const number::EXIT_GROUP,
    )
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    call::exit_group(134)
}
