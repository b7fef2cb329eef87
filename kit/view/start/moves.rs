//! Which addresses move, and by how many bits.

use crate::start::{Address, Moved, Moves, Place};
use crate::view::{Table, counted, number, text};

pub(super) fn moved(moves: &Moves) -> Table {
    let mut table = Table::new([
        text("what moves"),
        number("lowest"),
        number("highest"),
        number("distinct"),
        text("bits that differed"),
        number("bits by spread"),
    ]);
    for moved in &moves.addresses {
        table.row([
            area(moved.what).to_owned(),
            moved.lowest.to_string(),
            moved.highest.to_string(),
            format!("{} of {}", moved.distinct, moves.starts),
            differing(moved),
            by_spread(moved),
        ]);
    }
    table
}

pub(in crate::view) fn area(place: Place) -> &'static str {
    match place {
        Place::Program => "program",
        Place::Interpreter => "interpreter",
        Place::Vdso => "[vdso]",
        Place::Heap => "heap",
        Place::StackEnd => "end of the stack",
        Place::StackPointer => "stack pointer",
        Place::Library => "library",
    }
}

/// How many, and which, as in `28: 12–39`.
fn differing(moved: &Moved) -> String {
    match moved.bits {
        0 => "none: it does not move".to_owned(),
        bits => format!("{bits}: {}", runs(moved.differing)),
    }
}

/// Which bits are set, as in `4–12, 39`; `-` where none is.
pub(in crate::view) fn runs(bits: Address) -> String {
    let mask = bits.0;
    let mut runs = Vec::new();
    let mut bit = 0;
    while bit < u64::BITS {
        let ones = (mask >> bit).trailing_ones();
        if ones > 0 {
            runs.push(match bit + ones - 1 {
                last if last == bit => format!("{bit}"),
                last => format!("{bit}–{last}"),
            });
        }
        bit += ones.max(1);
    }
    match runs.is_empty() {
        true => "-".to_owned(),
        false => runs.join(", "),
    }
}

pub(in crate::view) fn by_spread(moved: &Moved) -> String {
    match moved.bits_by_spread {
        Some(bits) => format!("{bits:.1}"),
        None => "-".to_owned(),
    }
}

/// How bits are estimated.
pub(super) fn method(moves: &Moves) -> String {
    let set = match moves.mmap_rnd_bits {
        Some(bits) => format!("; this machine draws {bits} for mmap (vm.mmap_rnd_bits)"),
        None => String::new(),
    };
    format!(
        "bits that differed: in any two of {}; a borrow can add one or two. By spread: from the \
         distance between the lowest and the highest, in units of the lowest bit that differed{set}",
        counted(moves.starts as u64, "start")
    )
}
