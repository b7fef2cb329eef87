//! What the text found on its author's machine: Arch Linux of 2020-06-25 with 2188 packages.

/// How many files in /usr/bin may be executed.
pub const EXECUTABLES: usize = 5688;

/// Over this share of its libraries are used by fewer than 0.1 % of the executables.
pub const RARELY_USED: f64 = 0.5;

/// The mean share of the symbols of their libraries that dynamic programs use.
pub const SYMBOLS: f64 = 0.046;

/// The libraries, but for the C library, that had severe flaws in 2019 and that more than
/// [`MANY`] programs load: their files' names up to `.so`.
pub const REACH_MANY: [&str; 5] = ["libdbus-1", "libgnutls", "libcairo", "libssh2", "libcurl"];

/// From more programs on, it names a library.
pub const MANY: usize = 100;

/// The bytes of all programs that load a library with a severe flaw in 2019, in GiB.
pub const REACHED_GIB: f64 = 3.8;

/// The same without those that load the C library alone.
pub const REACHED_WITHOUT_LIBC_GIB: f64 = 1.0;
