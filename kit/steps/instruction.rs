//! What kind of instruction some bytes are, as far as counting cares.
//!
//! The encodings are those of the Intel 64 and IA-32 Architectures Software Developer's Manual,
//! volume 2: prefixes in 2.1.1, REX in 2.2.1, the rest at the page of each instruction.

/// The longest instruction: volume 2, 2.3.11.
pub(super) const LONGEST: usize = 15;

/// What kind of instruction it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// None of the others.
    Plain,
    /// A string instruction with a REP prefix: one that the processor may stop, and that a step
    /// does stop, after each iteration.
    Repeated,
    /// It enters the kernel for a system call.
    Call(Gate),
    /// CPUID: always trapped by a hypervisor.
    Cpuid,
    /// RDTSC or RDTSCP.
    Rdtsc,
    /// XGETBV.
    Xgetbv,
    /// It raises SIGTRAP by itself (`int3`, `int1`).
    Breakpoint,
    /// It loads the stack segment: the next instruction runs before anything can stop it
    /// (volume 2, MOV and POP).
    LoadsStackSegment,
}

/// Whose numbers a system call has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    /// x86-64's.
    X86_64,
    /// i386's.
    I386,
}

impl Kind {
    /// The kind of the instruction that begins with these bytes; `wide` in 64-bit mode.
    pub fn of(bytes: &[u8], wide: bool) -> Self {
        let mut repeats = false;
        let mut rest = bytes;
        while let [prefix, after @ ..] = rest {
            match prefix {
                0xf2 | 0xf3 => repeats = true,
                0x26 | 0x2e | 0x36 | 0x3e | 0x64 | 0x65 | 0x66 | 0x67 | 0xf0 => {}
                _ => break,
            }
            rest = after;
        }
        if wide && let [0x40..=0x4f, after @ ..] = rest {
            rest = after;
        }
        match *rest {
            // INS, OUTS; MOVS, CMPS; STOS, LODS, SCAS.
            [0x6c..=0x6f | 0xa4..=0xa7 | 0xaa..=0xaf, ..] if repeats => Kind::Repeated,
            [0x0f, 0x05, ..] if wide => Kind::Call(Gate::X86_64),
            [0x0f, 0x05 | 0x34, ..] | [0xcd, 0x80, ..] => Kind::Call(Gate::I386),
            [0x0f, 0xa2, ..] => Kind::Cpuid,
            [0x0f, 0x31, ..] | [0x0f, 0x01, 0xf9, ..] => Kind::Rdtsc,
            [0x0f, 0x01, 0xd0, ..] => Kind::Xgetbv,
            [0xcc | 0xf1, ..] => Kind::Breakpoint,
            [0x8e, operands, ..] if operands >> 3 & 7 == 2 => Kind::LoadsStackSegment,
            [0x17, ..] if !wide => Kind::LoadsStackSegment,
            _ => Kind::Plain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_string_instruction_repeats() {
        for bytes in [
            &[0xf3, 0xaa][..],               // rep stosb
            &[0xf3, 0x48, 0xab],             // rep stosq
            &[0xf2, 0xae],                   // repne scasb
            &[0x66, 0xf3, 0xa5],             // rep movsw
            &[0x67, 0xf3, 0x65, 0x48, 0xa7], // repe cmpsq with an address size and a segment
        ] {
            assert_eq!(Kind::of(bytes, true), Kind::Repeated, "{bytes:x?}");
        }
        for bytes in [
            &[0xaa][..],               // stosb
            &[0xf3, 0xc3],             // rep ret
            &[0xf3, 0x90],             // pause
            &[0xf3, 0x0f, 0x1e, 0xfa], // endbr64
            &[0xf3, 0x0f, 0x6f, 0xa4], // movdqu
            &[0xeb, 0xfe],             // jmp to itself
            &[0xf3],
            &[],
        ] {
            assert_eq!(Kind::of(bytes, true), Kind::Plain, "{bytes:x?}");
        }
    }

    #[test]
    fn a_rex_prefix_is_one_in_64_bit_mode_only() {
        assert_eq!(Kind::of(&[0x48, 0x0f, 0xa2], true), Kind::Cpuid);
        // dec %eax
        assert_eq!(Kind::of(&[0x48, 0x0f, 0xa2], false), Kind::Plain);
    }

    #[test]
    fn what_traps_and_what_calls_is_known() {
        let known = [
            (&[0x0f, 0xa2][..], Kind::Cpuid),
            (&[0x0f, 0x31], Kind::Rdtsc),
            (&[0x0f, 0x01, 0xf9], Kind::Rdtsc),
            (&[0x0f, 0x01, 0xd0], Kind::Xgetbv),
            (&[0x0f, 0x05], Kind::Call(Gate::X86_64)),
            (&[0xcd, 0x80], Kind::Call(Gate::I386)),
            (&[0xcc], Kind::Breakpoint),
            (&[0x8e, 0xd0], Kind::LoadsStackSegment),
            // mov %eax,%ds
            (&[0x8e, 0xd8], Kind::Plain),
            (&[0x0f, 0x01, 0xd1], Kind::Plain),
        ];
        for (bytes, kind) in known {
            assert_eq!(Kind::of(bytes, true), kind, "{bytes:x?}");
        }
        let sysenter = Kind::of(&[0x0f, 0x34], false);
        assert_eq!(sysenter, Kind::Call(Gate::I386));
    }
}
