//! How a program's file is laid out: one linker script a layout, for use from a build script.
//!
//! ```no_run
//! // no_run: prints instructions for cargo. build.rs of a program:
//! linker_scripts::link();
//! ```
//!
//! A linker script replaces all that the linker would decide: which section goes where, what
//! the headers say, what is left out. The scripts are meant to be read: each byte that they write
//! is explained there.

use std::env;
use std::path::{Path, PathBuf};

/// A way to lay out a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `bare.ld`: two headers, code, constants. For running.
    Bare,
    /// `elf.ld`: the same, as an ordinary ELF with sections, symbols and debug information. For
    /// gdb and objdump.
    Elf,
    /// `golf.ld`: 73 bytes, headers laid over each other. For the museum.
    Golf,
}

impl Layout {
    /// Where its linker script is.
    pub fn script(self) -> PathBuf {
        let name = match self {
            Layout::Bare => "bare.ld",
            Layout::Elf => "elf.ld",
            Layout::Golf => "golf.ld",
        };
        folder().join(name)
    }

    /// The layout for the profile being built, from a build script: a profile with debug
    /// information gets [`Layout::Elf`], any other [`Layout::Bare`].
    pub fn of_profile() -> Self {
        match env::var("DEBUG").as_deref() {
            Ok("false") | Err(_) => Layout::Bare,
            Ok(_) => Layout::Elf,
        }
    }
}

/// Lays out all programs of the package, by [`Layout::of_profile`]. For a build script.
pub fn link() {
    instruct("bins", &arguments(Layout::of_profile(), IMAGE));
}

/// Lays out one program of the package. For a build script.
pub fn link_bin(name: &str, layout: Layout) {
    link_bin_at(name, layout, IMAGE);
}

/// Lays out one program of the package, to be mapped at an address of its own: a multiple of a
/// page, below 2 GiB, as code addresses what it needs by numbers of 31 bits. For a build script.
/// The layout [`Layout::Golf`] has its own address in any case.
pub fn link_bin_at(name: &str, layout: Layout, image: u32) {
    instruct(&format!("bin={name}"), &arguments(layout, image));
}

/// Where programs are mapped unless they ask for another address: where those that are not
/// position-independent usually are (x86-64 psABI, figure 3.4).
pub const IMAGE: u32 = 0x40_0000;

/// Where a program is mapped that starts others in place: not where those usually are.
pub const ASIDE: u32 = 0x3ff0_0000;

/// What the C compiler that links is given for a layout and an address, for those who call it, or
/// rustc, themselves.
pub fn arguments(layout: Layout, image: u32) -> Vec<String> {
    let mut arguments = FLAGS.map(str::to_owned).to_vec();
    if image != IMAGE {
        arguments.push(format!("-Wl,--defsym=image_base={image:#x}"));
    }
    // Where the script finds those that it includes, and the script.
    arguments.push(format!("-L{}", folder().display()));
    arguments.push(format!("-T{}", layout.script().display()));
    arguments
}

/// The folder of all scripts: what is linked by one is to be linked again when it changes.
pub fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What every layout asks of the C compiler that links, and of its linker.
const FLAGS: [&str; 7] = [
    // No start files and no libraries of the C compiler; a fixed address instead of PIE.
    "-nostartfiles",
    "-nostdlib",
    "-static",
    "-no-pie",
    // None of what linkers add by themselves: no build id, no part that becomes read-only later.
    "-Wl,--build-id=none",
    "-Wl,-z,norelro",
    // Strings as they come: rust-lld would sort and merge them, GNU ld would not.
    "-Wl,-O0",
];

/// Tells cargo how to link `which`.
fn instruct(which: &str, arguments: &[String]) {
    for argument in arguments {
        println!("cargo::rustc-link-arg-{which}={argument}");
    }
    println!("cargo::rerun-if-changed={}", folder().display());
}
