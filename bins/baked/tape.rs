//! What an engine finds behind itself in the file: the tape. This file is a part of each engine,
//! and of the kit, which writes tapes.
//!
//! All numbers are little-endian and stand where they fall, at no alignment. Addresses take 32
//! bits, as the image lies below 2 GiB. First comes the head:
//!
//! ```text
//! exec       few        arguments, all
//! path    4  records 4  list    4       an address
//! length  2             room    4       of `launch: PATH`, which ends where the path does;
//!                                       how much lower on the stack the target's argv starts
//! errors  -  errors  -  errors  -       but for `all`, which has its own
//! ```
//!
//! - The *errors* are, for each, its number, negated, in a byte; the length of its text in a byte;
//!   its text, from `: ` to the newline. The last one is [`OTHER`].
//! - The *list* is the target's argv: addresses of strings; then 0, where the caller's arguments
//!   come; again strings, and 0. [`INHERIT`] stands for the caller's argv\[0\]. Behind it are the
//!   records.
//! - A *record* of `few` and `arguments` is a call of the kernel. 2 bytes: its number in the lowest
//!   9 bits, one less than the number of operands in the next two, what is special about it above.
//!   4 bytes for each operand, extended by its sign. `launch: WORDS` and NUL, for the line that says
//!   that it failed.
//! - A *record* of `all` is an action: its three operands, of 8 bytes; the address of its words; in a
//!   byte what it does. The last one is `Does::Run`, of the program and whether argv\[0\] is looked
//!   up in PATH.

/// Where the errors of `exec` start.
pub const EXEC_ERRORS: usize = 6;
/// Where the errors of `few` start.
pub const FEW_ERRORS: usize = 4;
/// Where the room is told in `arguments` and `all`.
pub const ROOM: usize = 4;
/// Where the errors of `arguments` start.
pub const ARGUMENTS_ERRORS: usize = 8;

/// Stands for all errors that are not listed. No call that is made here gives errno(3) 128.
pub const OTHER: u8 = 0x80;
/// In the place of an error: the caller gave no arguments, not even argv\[0\].
pub const NO_ARGUMENTS: u8 = 1;
/// In the place of an error: the target is there, and its interpreter is not.
pub const NO_INTERPRETER: u8 = 0;

/// In the place of a string's address: the caller's argv\[0\].
pub const INHERIT: u32 = 1;

/// Where a call's number ends, and the number of its operands, less one, starts.
pub const COUNT: u16 = 9;
/// The first operand is the result of the call before, an open file; if the second one is the same
/// file, the call is fcntl(fd, F_SETFD, 0).
pub const DUPLICATE: u16 = 1 << 11;
/// Not a call: puts the variable *1* (`NAME=VALUE`; or 0, for nothing) in the place of the one that
/// starts as *0* does, up to its `=`.
pub const SET: u16 = 1 << 12;
/// Its errors are none.
pub const TRY: u16 = 1 << 13;
/// The last one: execve of the path *0*. Without a list, *1* is argv\[0\].
pub const RUN: u16 = 1 << 14;
/// Its result, if it has one, is the open file that errors are told on from here on.
pub const KEEP: u16 = 1 << 15;
