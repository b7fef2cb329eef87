//! The registers, as the program finds them at its first instruction.

use std::io;
use std::mem::offset_of;

use libc::user_regs_struct;
use serde::Serialize;

use super::address::Address;
use crate::trace::tracee::Stopped;

/// A register and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Register {
    /// Its name, as in `rip`; in a 32-bit program as in `eip`.
    pub name: &'static str,
    /// Its value.
    pub value: Address,
}

/// The code segment of 32-bit programs: `__USER32_CS`, arch/x86/include/asm/segment.h.
pub(super) const USER_32: u64 = 0x23;

macro_rules! places {
    ($($name:ident $narrow:literal)*) => {
        /// Each: its name, its name in a 32-bit program (none where there is no such register),
        /// and its place in `struct user` (sys/user.h).
        const PLACES: &[(&str, &str, usize)] = &[
            $((stringify!($name), $narrow, offset_of!(user_regs_struct, $name)),)*
        ];
    };
}

places! {
    rip "eip"
    rsp "esp"
    rax "eax" rbx "ebx" rcx "ecx" rdx "edx" rsi "esi" rdi "edi" rbp "ebp"
    r8 "" r9 "" r10 "" r11 "" r12 "" r13 "" r14 "" r15 ""
    eflags "eflags"
    cs "cs" ss "ss" ds "ds" es "es" fs "fs" gs "gs"
    fs_base "" gs_base ""
    orig_rax "orig_eax"
}

/// All registers of a stopped thread. None when it has been killed meanwhile.
pub(super) fn registers(stopped: &Stopped, wide: bool) -> io::Result<Option<Vec<Register>>> {
    let mut registers = Vec::new();
    for &(name, narrow, place) in PLACES {
        let name = if wide { name } else { narrow };
        let Some(value) = stopped.register(place)? else {
            return Ok(None);
        };
        if !name.is_empty() {
            let value = Address(value);
            registers.push(Register { name, value });
        }
    }
    Ok(Some(registers))
}

/// Whether a stopped thread runs in 64-bit mode. None when it has been killed meanwhile.
pub(super) fn is_wide(stopped: &Stopped) -> io::Result<Option<bool>> {
    let segment = stopped.register(offset_of!(user_regs_struct, cs))?;
    Ok(segment.map(|segment| segment != USER_32))
}
