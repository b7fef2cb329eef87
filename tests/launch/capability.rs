//! What the user who runs the tests may do.

use std::fs;

/// A capability, by its bit: capabilities(7), the kernel's include/uapi/linux/capability.h.
#[derive(Clone, Copy, Debug)]
pub enum Capability {
    SetGid = 6,
    SetUid = 7,
    SysChroot = 18,
    SysNice = 23,
    SysResource = 24,
}

/// Whether this process has it, and what it starts has it.
pub fn capable(capability: Capability) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let set = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .unwrap();
    let set = u64::from_str_radix(set.trim(), 16).unwrap();
    set >> capability as u32 & 1 == 1
}
