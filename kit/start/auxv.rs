//! The entries of the auxiliary vector: their names, what kind of value each has, and what it is
//! for.

use std::ffi::OsString;

use serde::{Serialize, Serializer};

use super::address::Address;
use crate::subject::escaped;

/// One entry of the auxiliary vector (getauxval(3)).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Aux {
    /// Where it lies.
    pub at: Address,
    /// Its number, an `AT_` of linux/auxvec.h.
    pub kind: u64,
    /// The name of that number; None for one that is not known here.
    pub name: Option<&'static str>,
    /// The word that is its value.
    pub value: Address,
    /// What that word means.
    pub decoded: Decoded,
    /// What it is for, in words. None for one that is not known here.
    pub meaning: Option<&'static str>,
}

/// What the value of an entry means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Decoded {
    /// A number.
    Number(u64),
    /// An address.
    Address(Address),
    /// A set of bits: the names of those that are set, or their numbers as in `bit 31`.
    Bits(Vec<String>),
    /// The address of a string, and that string.
    Text(#[serde(serialize_with = "escaped")] OsString),
    /// The address of sixteen bytes, and these.
    Bytes(#[serde(serialize_with = "hex")] [u8; 16]),
    /// The address of something that is not on this stack, or has no end there.
    Nothing,
}

fn hex<S: Serializer>(bytes: &[u8; 16], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&hexadecimal(bytes))
}

/// Bytes as two digits each, without anything between them.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What kind of value an entry has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Number,
    Address,
    /// By the names of its bits, from the lowest.
    Bits(&'static [&'static str]),
    Text,
    Random,
}

/// What is known of a kind of entries.
pub(super) struct Known {
    pub name: &'static str,
    pub form: Form,
    pub meaning: &'static str,
}

/// AT_NULL, which ends the vector.
pub(super) const NULL: u64 = 0;
/// Those by which an observer finds its way.
pub(super) const PAGESZ: u64 = 6;
pub(super) const BASE: u64 = 7;
pub(crate) const ENTRY: u64 = 9;

/// What is known of this kind.
pub(super) fn known(kind: u64) -> Option<Known> {
    use Form::{Address, Bits, Number, Random, Text};
    // include/uapi/linux/auxvec.h and, for 32 and above, arch/x86/include/uapi/asm/auxvec.h;
    // what they are for: getauxval(3), and create_elf_tables in fs/binfmt_elf.c.
    let (name, form, meaning) = match kind {
        1 => ("AT_IGNORE", Address, "nothing: to be skipped"),
        2 => (
            "AT_EXECFD",
            Number,
            "the descriptor of the program, where binfmt_misc passes one on",
        ),
        3 => (
            "AT_PHDR",
            Address,
            "where the program's headers are: the loader, or a static libc, reads them there",
        ),
        4 => ("AT_PHENT", Number, "the bytes of one program header"),
        5 => ("AT_PHNUM", Number, "how many program headers there are"),
        6 => ("AT_PAGESZ", Number, "the bytes of a page"),
        7 => (
            "AT_BASE",
            Address,
            "where the interpreter (the loader) was put; 0 where there is none",
        ),
        8 => ("AT_FLAGS", Bits(&[]), "flags; none is in use"),
        9 => (
            "AT_ENTRY",
            Address,
            "the program's own first instruction: the loader jumps there when it is done",
        ),
        10 => ("AT_NOTELF", Number, "whether the program is no ELF file"),
        11 => ("AT_UID", Number, "the real user"),
        12 => ("AT_EUID", Number, "the effective user"),
        13 => ("AT_GID", Number, "the real group"),
        14 => ("AT_EGID", Number, "the effective group"),
        15 => (
            "AT_PLATFORM",
            Text,
            "the machine: $PLATFORM in the paths that the loader searches",
        ),
        16 => (
            "AT_HWCAP",
            Bits(&HWCAP),
            "what the processor can do (CPUID leaf 1, EDX)",
        ),
        17 => (
            "AT_CLKTCK",
            Number,
            "clock ticks a second, as times(2) counts",
        ),
        23 => (
            "AT_SECURE",
            Number,
            "1 when it has more rights than its caller: the loader then ignores LD_PRELOAD and the like",
        ),
        24 => (
            "AT_BASE_PLATFORM",
            Text,
            "the real machine, where AT_PLATFORM is another",
        ),
        25 => (
            "AT_RANDOM",
            Random,
            "16 random bytes: glibc takes its stack and pointer guards from them",
        ),
        26 => ("AT_HWCAP2", Bits(&HWCAP2), "more of what it can do"),
        27 => (
            "AT_RSEQ_FEATURE_SIZE",
            Number,
            "how much of struct rseq the kernel fills in: rseq(2)",
        ),
        28 => ("AT_RSEQ_ALIGN", Number, "how that struct is to be aligned"),
        29 => ("AT_HWCAP3", Bits(&[]), "more of what it can do"),
        30 => ("AT_HWCAP4", Bits(&[]), "more of what it can do"),
        31 => ("AT_EXECFN", Text, "the path that execve(2) was given"),
        32 => (
            "AT_SYSINFO",
            Address,
            "how a 32-bit program makes a system call: __kernel_vsyscall in [vdso]",
        ),
        33 => (
            "AT_SYSINFO_EHDR",
            Address,
            "where [vdso] is: clock_gettime(2) and others without a system call",
        ),
        51 => (
            "AT_MINSIGSTKSZ",
            Number,
            "the bytes that the kernel needs for a signal on this processor's stack",
        ),
        _ => return None,
    };
    Some(Known {
        name,
        form,
        meaning,
    })
}

/// The bits of a word by their names; a bit without one by its number.
pub(super) fn bits(word: u64, names: &[&str]) -> Vec<String> {
    (0..u64::BITS as usize)
        .filter(|bit| word >> bit & 1 == 1)
        .map(|bit| match names.get(bit) {
            Some(name) if !name.is_empty() => (*name).to_owned(),
            _ => format!("bit {bit}"),
        })
        .collect()
}

/// arch/x86/include/asm/cpufeatures.h, word 0, as in /proc/cpuinfo.
const HWCAP: [&str; 32] = [
    "fpu", "vme", "de", "pse", "tsc", "msr", "pae", "mce", "cx8", "apic", "", "sep", "mtrr", "pge",
    "mca", "cmov", "pat", "pse36", "pn", "clflush", "", "dts", "acpi", "mmx", "fxsr", "sse",
    "sse2", "ss", "ht", "tm", "ia64", "pbe",
];

/// arch/x86/include/uapi/asm/hwcap2.h.
const HWCAP2: [&str; 2] = ["ring3mwait", "fsgsbase"];
