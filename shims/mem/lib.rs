//! `memcpy` and its kin: the functions that the compiler calls without being asked.
//!
//! A struct copy, a zeroed array, a comparison of slices or a search for a NUL may each become
//! such a call, so a program without a libc has to have them. They are written for size, eight
//! bytes at a time and then one by one.
//!
//! Two things could turn one of them into a call of itself. The optimizer knows such loops by
//! their shape; `no_builtins` keeps it from using what it knows in this crate, which is why this
//! is a crate of its own. And `core`'s own pointer functions may be calls of these; so memory is
//! only read and written through plain dereferences.
//!
//! A program that needs none of them has none of them: a crate with `no_builtins` is kept out of
//! link-time optimization, so the linker takes from it what is asked for.
//!
//! # Safety
//!
//! As for the C functions of these names (ISO C 7.24; bcmp(3)): the pointers must be valid for
//! the length, and for `memcpy` the two areas must not overlap.

#![no_std]
#![no_builtins]

/// Eight bytes anywhere in memory. Packed, so that no alignment is taken for granted.
#[derive(Clone, Copy)]
#[repr(C, packed)]
struct Word(u64);

const WORD: usize = size_of::<Word>();

/// memcpy(3).
///
/// # Safety
///
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, length: usize) -> *mut u8 {
    let mut at = 0;
    // SAFETY: `at` stays below `length`, for which both pointers are valid.
    unsafe {
        while length - at >= WORD {
            *to.wrapping_add(at).cast::<Word>() = *from.wrapping_add(at).cast::<Word>();
            at += WORD;
        }
        while at != length {
            *to.wrapping_add(at) = *from.wrapping_add(at);
            at += 1;
        }
    }
    to
}

/// memmove(3).
///
/// # Safety
///
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, length: usize) -> *mut u8 {
    // Upwards, `memcpy` reads each byte before it writes there or above, which is right unless
    // `to` lies inside `from`.
    if (to as usize).wrapping_sub(from as usize) >= length {
        // SAFETY: as for this function; an overlap from above is what `memcpy` here stands.
        return unsafe { memcpy(to, from, length) };
    }
    let mut left = length;
    // SAFETY: `left` stays within `length`, for which both pointers are valid.
    unsafe {
        while left >= WORD {
            left -= WORD;
            *to.wrapping_add(left).cast::<Word>() = *from.wrapping_add(left).cast::<Word>();
        }
        while left != 0 {
            left -= 1;
            *to.wrapping_add(left) = *from.wrapping_add(left);
        }
    }
    to
}

/// memset(3).
///
/// # Safety
///
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memset(to: *mut u8, byte: i32, length: usize) -> *mut u8 {
    let byte = byte as u8;
    let word = Word(u64::from(byte).wrapping_mul(0x0101_0101_0101_0101));
    let mut at = 0;
    // SAFETY: `at` stays below `length`, for which the pointer is valid.
    unsafe {
        while length - at >= WORD {
            *to.wrapping_add(at).cast::<Word>() = word;
            at += WORD;
        }
        while at != length {
            *to.wrapping_add(at) = byte;
            at += 1;
        }
    }
    to
}

/// memcmp(3): below, at or above 0 as the first byte that differs does.
///
/// # Safety
///
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, length: usize) -> i32 {
    let mut at = 0;
    while at != length {
        // SAFETY: `at` stays below `length`, for which both pointers are valid.
        let (a, b) = unsafe { (*a.wrapping_add(at), *b.wrapping_add(at)) };
        if a != b {
            return a as i32 - b as i32;
        }
        at += 1;
    }
    0
}

/// bcmp(3): 0 when they are the same.
///
/// # Safety
///
/// See the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, length: usize) -> i32 {
    // SAFETY: as for this function.
    unsafe { memcmp(a, b, length) }
}

/// strlen(3): how many bytes come before the NUL.
///
/// # Safety
///
/// `string` must point to bytes that end in NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn strlen(string: *const u8) -> usize {
    let mut at = 0;
    // SAFETY: no byte behind the NUL is read.
    while unsafe { *string.wrapping_add(at) } != 0 {
        at += 1;
    }
    at
}
