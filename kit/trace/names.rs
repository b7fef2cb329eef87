//! The names of system calls, by the architecture of each call.
//!
//! One process can make calls of several: a 64-bit program that executes `int 0x80` makes a call
//! of i386, with i386's numbers. The kernel says which it was at each stop.

use std::fmt;

use serde::Serialize;

/// Whose table of numbers a call is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum Arch {
    /// x86-64.
    #[serde(rename = "x86_64")]
    X86_64,
    /// x32: 64-bit registers and 32-bit pointers, in the numbers of x86-64 up to 511.
    #[serde(rename = "x32")]
    X32,
    /// i386.
    #[serde(rename = "i386")]
    I386,
    /// Another, by its AUDIT_ARCH number (linux/audit.h). Its calls have no names here.
    #[serde(rename = "other")]
    Other(u32),
}

/// linux/audit.h: EM_X86_64 (62), 64 bits, little endian.
const AUDIT_ARCH_X86_64: u32 = 62 | 0x8000_0000 | 0x4000_0000;
/// linux/audit.h: EM_386 (3), little endian.
const AUDIT_ARCH_I386: u32 = 3 | 0x4000_0000;
/// arch/x86/include/uapi/asm/unistd.h, `__X32_SYSCALL_BIT`.
const X32_BIT: u64 = 0x4000_0000;
/// The first number that means another call in x32 than in x86-64
/// (arch/x86/entry/syscalls/syscall_64.tbl).
const X32_OWN: i64 = 512;

impl Arch {
    /// The architecture of a call and its number there, from what PTRACE_GET_SYSCALL_INFO says.
    /// The kernel's number is an int, so a program's -1 comes as -1.
    pub(super) fn of(audit_arch: u32, number: u64) -> (Self, i64) {
        match audit_arch {
            AUDIT_ARCH_X86_64 if number & X32_BIT != 0 && number >> 31 == 0 => {
                (Arch::X32, (number ^ X32_BIT) as i64)
            }
            AUDIT_ARCH_X86_64 => (Arch::X86_64, number as i64),
            AUDIT_ARCH_I386 => (Arch::I386, i64::from(number as i32)),
            other => (Arch::Other(other), number as i64),
        }
    }

    /// The architecture that the kit itself is built for.
    pub(super) const OWN: Arch = Arch::X86_64;

    /// The name of a call by its number, as in the kernel's tables (arch/x86/entry/syscalls).
    /// None when there is no such call, or one newer than these tables.
    pub fn name(self, number: i64) -> Option<&'static str> {
        let id = usize::try_from(number).ok()?;
        let name = match self {
            Arch::X86_64 => syscalls::x86_64::Sysno::new(id)?.name(),
            Arch::X32 if number < X32_OWN => syscalls::x86_64::Sysno::new(id)?.name(),
            Arch::I386 => syscalls::x86::Sysno::new(id)?.name(),
            Arch::X32 | Arch::Other(_) => return None,
        };
        // `break` of i386 is spelled as Rust has to spell it.
        Some(name.strip_prefix("r#").unwrap_or(name))
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Arch::X86_64 => f.write_str("x86_64"),
            Arch::X32 => f.write_str("x32"),
            Arch::I386 => f.write_str("i386"),
            Arch::Other(number) => write!(f, "{number:#x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_has_a_name_in_each_architecture() {
        assert_eq!(Arch::X86_64.name(20), Some("writev"));
        assert_eq!(Arch::X32.name(20), Some("writev"));
        assert_eq!(Arch::I386.name(20), Some("getpid"));
        assert_eq!(Arch::Other(0xc000_00b7).name(20), None);
        assert_eq!(Arch::I386.name(17), Some("break"));
    }

    #[test]
    fn a_number_that_is_no_call_has_no_name() {
        for number in [-1, 511, 999, i64::MAX, i64::MIN] {
            assert_eq!(Arch::X86_64.name(number), None);
            assert_eq!(Arch::I386.name(number), None);
        }
        assert_eq!(Arch::X32.name(513), None);
    }

    #[test]
    fn the_x32_bit_is_taken_off_and_minus_one_is_not_x32() {
        assert_eq!(Arch::of(0xc000_003e, 0x4000_0027), (Arch::X32, 39));
        assert_eq!(Arch::of(0xc000_003e, u64::MAX), (Arch::X86_64, -1));
        assert_eq!(Arch::of(0x4000_0003, 0xffff_ffff), (Arch::I386, -1));
        assert_eq!(Arch::of(0xc000_00b7, 64), (Arch::Other(0xc000_00b7), 64));
    }
}
