//! What this machine's CPU is to a loader.

/// The x86-64 level of this CPU, 1 to 4 (`get_isa_level` of glibc's `sysdeps/x86/get-isa-level.h`).
/// 1 where it is no x86-64.
pub fn level() -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        // Every CPU with SSE4.2 has LAHF and SAHF in 64-bit mode.
        let v2 = has!("cmpxchg16b") && has!("popcnt") && has!("sse3") && has!("ssse3");
        if !(v2 && has!("sse4.1") && has!("sse4.2")) {
            return 1;
        }
        let v3 = has!("avx") && has!("avx2") && has!("bmi1") && has!("bmi2") && has!("f16c");
        if !(v3 && has!("fma") && has!("lzcnt") && has!("movbe")) {
            return 2;
        }
        let v4 = has!("avx512f") && has!("avx512bw") && has!("avx512cd");
        if v4 && has!("avx512dq") && has!("avx512vl") {
            return 4;
        }
        3
    }
    #[cfg(not(target_arch = "x86_64"))]
    1
}

/// What `$PLATFORM` stands for in programs of that machine, on this one: `AT_PLATFORM`, and what
/// glibc puts in its place (`init_cpu_features` of `sysdeps/x86/cpu-features.c`). None where that
/// is not known.
pub fn platform(machine: &str, bits: u8) -> Option<&'static [u8]> {
    match (machine, bits) {
        ("x86_64", _) if cfg!(target_arch = "x86_64") => {
            Some(if is_haswell() { b"haswell" } else { b"x86_64" })
        }
        ("i386", 32) if cfg!(target_arch = "x86_64") => Some(b"i686"),
        ("aarch64", 64) if cfg!(target_arch = "aarch64") => Some(b"aarch64"),
        _ => None,
    }
}

/// One of Intel's with what Haswell brought.
fn is_haswell() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        // The maker's name: CPUID leaf 0 gives "GenuineIntel" in EBX, EDX and ECX.
        let leaf = std::arch::x86_64::__cpuid(0);
        let name = [leaf.ebx, leaf.edx, leaf.ecx].map(u32::to_le_bytes);
        name.as_flattened() == b"GenuineIntel" && level() >= 3
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}
