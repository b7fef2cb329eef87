//! `golf`: exits with 0, in 73 bytes. A museum piece.
//!
//! System calls: execve, exit. All that is not in these two pieces of code is in its linker
//! script, which explains every byte, and why not to build programs this way.

#![no_std]
#![no_main]

use core::arch::naked_asm;

/// At offset 71, where the ELF magic's own code jumps to: a jump of two bytes, to `exit`.
#[unsafe(naked)]
#[unsafe(no_mangle)]
#[unsafe(link_section = ".text.start")]
extern "C" fn _start() -> ! {
    naked_asm!(".byte 0xeb, {exit} - . - 1", exit = sym exit)
}

/// At offset 4, in the ELF header's identification: exit(2) with 0. Register rax is zero when a
/// process starts, so its lowest byte is enough.
#[unsafe(naked)]
#[unsafe(link_section = ".text.exit")]
extern "C" fn exit() -> ! {
    naked_asm!("xor edi, edi", "mov al, 60", "syscall")
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
