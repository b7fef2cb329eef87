//! Which addresses move, and by how many bits.

use crate::start::{Moved, Moves, Place};
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

pub(super) fn area(place: Place) -> &'static str {
    match place {
        Place::Program => "program",
        Place::Interpreter => "interpreter",
        Place::Vdso => "[vdso]",
        Place::Heap => "heap",
        Place::StackEnd => "end of the stack",
        Place::StackPointer => "stack pointer",
    }
}

/// How many, and which, as in `28: 12–39`.
fn differing(moved: &Moved) -> String {
    let mask = moved.differing.0;
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
        true => "none: it does not move".to_owned(),
        false => format!("{}: {}", moved.bits, runs.join(", ")),
    }
}

pub(super) fn by_spread(moved: &Moved) -> String {
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
