//! Which addresses differ from start to start, and in how many bits.
//!
//! The kernel draws a random number of pages for each area (address space layout randomization,
//! randomize_va_space in proc_sys_kernel(5)). How many bits it draws is estimated in two ways:
//!
//! - **by the bits that differ**: those in which any two of the starts differ. Of N starts a
//!   random bit is the same in all only once in 2^(N-1). A borrow can make one bit more differ
//!   than was drawn, where the area lies below a fixed address.
//! - **by the spread**: N numbers drawn evenly out of R are (N-1)/(N+1) × R apart on average, the
//!   largest and the smallest. So R is (N+1)/(N-1) times the spread, in units of the lowest bit
//!   that differs; its binary logarithm is the number of bits.

use serde::{Deserialize, Serialize};

use super::Start;
use super::address::Address;
use super::map::{Owner, Piece};

/// How addresses moved over several starts.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Moves {
    /// How many starts there were.
    pub starts: usize,
    /// The bits that this machine draws for what mmap(2) places: vm.mmap_rnd_bits, for a 32-bit
    /// program vm.mmap_rnd_compat_bits. None where that may not be read.
    pub mmap_rnd_bits: Option<u32>,
    /// Each address.
    pub addresses: Vec<Moved>,
}

/// How one address moved.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Moved {
    /// Whose it is.
    pub what: Place,
    /// The lowest that was seen.
    pub lowest: Address,
    /// The highest.
    pub highest: Address,
    /// How many different ones.
    pub distinct: usize,
    /// The bits that differed, each as a 1.
    pub differing: Address,
    /// How many bits that are. 0 where it did not move.
    pub bits: u32,
    /// How many bits were drawn, by the spread. None where it did not move.
    pub bits_by_spread: Option<f64>,
}

/// What has an address in each start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// The first byte of the program.
    Program,
    /// The first byte of its interpreter.
    Interpreter,
    /// The first byte of the vDSO.
    Vdso,
    /// Where the heap will begin: the first brk(2).
    Heap,
    /// The end of the stack.
    StackEnd,
    /// The stack pointer.
    StackPointer,
    /// The first byte of a library. The loader puts it there, so a program that has not run has
    /// none yet.
    Library,
}

const PLACES: [Place; 6] = [
    Place::Program,
    Place::Interpreter,
    Place::Vdso,
    Place::Heap,
    Place::StackEnd,
    Place::StackPointer,
];

/// Where all that was in one start, in the order of [`PLACES`]; None of what there was not.
pub(crate) struct Seen([Option<u64>; PLACES.len()]);

impl Seen {
    /// Where it is in this start.
    pub fn of(start: &Start) -> Self {
        let first = |piece| {
            let mut mappings = start.map.iter().filter(|mapping| mapping.what == piece);
            mappings.next().map(|mapping| mapping.start.0)
        };
        Seen(PLACES.map(|place| match place {
            Place::Program => first(Piece::File(Owner::Program)),
            Place::Interpreter => first(Piece::File(Owner::Interpreter)),
            Place::Vdso => first(Piece::Vdso),
            Place::Heap => start.heap.map(|heap| heap.0),
            Place::StackEnd => Some(start.stack.end.0),
            Place::StackPointer => Some(start.stack.pointer.0),
            Place::Library => None,
        }))
    }

    /// Where that was. None of what there was not.
    pub fn at(&self, place: Place) -> Option<u64> {
        let index = PLACES.iter().position(|other| *other == place)?;
        self.0.get(index).copied().flatten()
    }
}

/// How the addresses of these starts differ, of a program of so many bits.
pub(crate) fn moves(starts: &[Seen], bits: u8) -> Moves {
    let moved = |(index, place): (usize, Place)| {
        let seen: Option<Vec<u64>> = starts.iter().map(|start| start.0[index]).collect();
        Moved::of(place, &seen?)
    };
    Moves {
        starts: starts.len(),
        mmap_rnd_bits: super::setting(match bits {
            32 => "/proc/sys/vm/mmap_rnd_compat_bits",
            _ => "/proc/sys/vm/mmap_rnd_bits",
        }),
        addresses: PLACES.into_iter().enumerate().filter_map(moved).collect(),
    }
}

impl Moved {
    /// How these addresses of one thing differ. None of none.
    pub(crate) fn of(what: Place, seen: &[u64]) -> Option<Self> {
        let (first, lowest, highest) = (seen.first()?, seen.iter().min()?, seen.iter().max()?);
        let differing = seen
            .iter()
            .fold(0, |bits, address| bits | (address ^ first));
        let mut distinct = seen.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let n = seen.len() as f64;
        let units = ((highest - lowest) >> differing.trailing_zeros().min(63)) as f64;
        Some(Moved {
            what,
            lowest: Address(*lowest),
            highest: Address(*highest),
            distinct: distinct.len(),
            differing: Address(differing),
            bits: differing.count_ones(),
            bits_by_spread: (differing != 0).then(|| (units * (n + 1.0) / (n - 1.0)).log2()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_pages_show_as_many_bits_as_were_drawn() {
        // xorshift64, so that the test is the same each time.
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let seen: Vec<u64> = (0..100)
            .map(|_| 0x5555_0000_0000 + ((random() % (1 << 20)) << 12))
            .collect();
        let moved = Moved::of(Place::Program, &seen).unwrap();
        assert_eq!(moved.differing, Address(0xffff_f000));
        assert_eq!(moved.bits, 20);
        let by_spread = moved.bits_by_spread.unwrap();
        assert!((19.8..20.2).contains(&by_spread), "{by_spread}");
    }

    #[test]
    fn what_does_not_move_has_no_bits() {
        let moved = Moved::of(Place::Vdso, &[0x40_0000; 3]).unwrap();
        assert_eq!((moved.bits, moved.distinct), (0, 1));
        assert_eq!(moved.bits_by_spread, None);
        assert_eq!(Moved::of(Place::Vdso, &[]), None);
    }
}
