//! Compares the functions of shims/mem with plain loops: every size from 0 to 300, several
//! alignments, and all overlaps of up to 40 bytes. Prints how many comparisons held.

use mem::{bcmp, memcmp, memcpy, memmove, memset, strlen};

/// Bytes that differ from their neighbours, with some above 127.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 7 + i / 256 * 3 + 1) as u8).collect()
}

/// What surrounds an area, to see that nothing else is touched.
const EDGE: usize = 48;

fn main() {
    let mut held = 0;
    let mut check = |same: bool, what: &str| {
        assert!(same, "{what}");
        held += 1;
    };
    for size in 0..=300 {
        for at in 0..9 {
            let whole = pattern(size + 2 * EDGE);
            let from = pattern(size + 16).split_off(at % 8);

            let mut got = whole.clone();
            let to = &mut got[EDGE + at..];
            let result = unsafe { memcpy(to.as_mut_ptr(), from.as_ptr(), size) };
            check(result == to.as_mut_ptr(), "memcpy gives its first argument");
            let mut wanted = whole.clone();
            for i in 0..size {
                wanted[EDGE + at + i] = from[i];
            }
            check(got == wanted, &format!("memcpy of {size} at {at}"));

            for byte in [0, 0x5a, 0xff, 0x1a5, -1] {
                let mut got = whole.clone();
                let to = &mut got[EDGE + at..];
                let result = unsafe { memset(to.as_mut_ptr(), byte, size) };
                check(result == to.as_mut_ptr(), "memset gives its first argument");
                let mut wanted = whole.clone();
                for i in 0..size {
                    wanted[EDGE + at + i] = byte as u8;
                }
                check(got == wanted, &format!("memset of {size} at {at} to {byte}"));
            }

            let mut text: Vec<u8> = pattern(size).into_iter().map(|byte| byte | 1).collect();
            text.extend([0, 1, 0]);
            check(unsafe { strlen(text.as_ptr()) } == size, &format!("strlen of {size}"));
        }
        for distance in -40..=40_isize {
            let mut got = pattern(size + 2 * EDGE);
            let to = EDGE.wrapping_add_signed(distance);
            let base = got.as_mut_ptr();
            let result = unsafe { memmove(base.add(to), base.add(EDGE), size) };
            check(result == unsafe { base.add(to) }, "memmove gives its first argument");
            let whole = pattern(size + 2 * EDGE);
            let mut wanted = whole.clone();
            for i in 0..size {
                wanted[to + i] = whole[EDGE + i];
            }
            check(got == wanted, &format!("memmove of {size} by {distance}"));
        }
        // The first difference decides, as unsigned bytes; what follows does not.
        let a = pattern(size);
        check(unsafe { memcmp(a.as_ptr(), a.as_ptr(), size) } == 0, "memcmp of the same");
        check(unsafe { bcmp(a.as_ptr(), a.as_ptr(), size) } == 0, "bcmp of the same");
        for at in 0..size {
            for change in [1, 0x80, 0xff] {
                let mut b = a.clone();
                b[at] = b[at].wrapping_add(change);
                for byte in &mut b[at + 1..] {
                    *byte = !*byte;
                }
                let wanted = a.cmp(&b) as i32;
                let got = unsafe { memcmp(a.as_ptr(), b.as_ptr(), size) };
                check(got.signum() == wanted, &format!("memcmp of {size}, different at {at}"));
                check(unsafe { bcmp(a.as_ptr(), b.as_ptr(), size) } != 0, "bcmp");
            }
        }
    }
    println!("{held} comparisons");
}
