//! What the fuzz targets of tests/fuzz_who.rs call: each reader of bytes that are others', as it is
//! called for a program. Whatever the bytes are, they end, soon, without a panic.

use std::collections::HashMap;

use super::cfi::Cfi;
use super::elf::{Elf, Piece, Source};
use super::memory::Memory;
use super::symbols::{self, Query};
use super::unwind::{self, Code, Place, Registers, Stack};
use super::{archive, decode, process};
use crate::trace::{Arch, Call};

/// Reads bytes as an ELF file: all that is asked of one. Gives how many names it has.
pub fn elf(bytes: &[u8], addresses: &[u64]) -> usize {
    let Some(file) = Elf::new(Source::Bytes(bytes.to_vec())) else {
        return 0;
    };
    for &address in addresses {
        file.bias(address, address);
        file.bias(0, address);
    }
    file.build_id();
    file.contents_of(b".comment");
    if let Some(mut cfi) = Cfi::of(&file) {
        for &address in addresses {
            cfi.rule(address);
            cfi.next_function(address);
        }
    }
    let tables: Vec<_> = file
        .symbols()
        .into_iter()
        .chain(file.dynamic_symbols())
        .collect();
    let queries = addresses.iter().flat_map(|&address| {
        [None, Some(address), Some(address.wrapping_sub(1))].map(|function| Query {
            address,
            function,
            next: addresses.first().copied(),
        })
    });
    let named = symbols::name(&tables, queries);
    named.values().map(|named| named.name.len().min(1)).sum()
}

/// Unwinds through code that call frame information of these bytes is for, from registers and over
/// a stack of these words. Gives how many frames there are.
pub fn eh_frame(
    entries: (u64, &[u8]),
    header: Option<(u64, &[u8])>,
    registers: [u64; 17],
    stack: (u64, &[u64]),
) -> usize {
    let piece = |(address, bytes): (u64, &[u8])| Piece {
        address,
        bytes: bytes.to_vec(),
    };
    let bases = gimli::BaseAddresses::default().set_eh_frame(entries.0);
    let mut process = Made {
        cfi: Cfi::new(piece(entries), header.map(piece), bases),
        stack,
    };
    let seen: Stack = unwind::unwind(Registers::from(registers), Place::Call, &mut process);
    assert!(seen.frames.len() <= unwind::DEEPEST);
    seen.frames.len()
}

/// A process whose memory is a stack, and whose code is everywhere.
struct Made<'a> {
    cfi: Cfi,
    stack: (u64, &'a [u64]),
}

impl unwind::Process for Made<'_> {
    fn code(&mut self, _address: u64) -> Option<Code<'_>> {
        Some(Code {
            file: 0,
            bias: 0,
            entry: 1,
            bare_entry: true,
            cfi: Some(&mut self.cfi),
        })
    }

    fn word(&mut self, address: u64) -> Option<u64> {
        let at = address.checked_sub(self.stack.0)? / 8;
        self.stack.1.get(usize::try_from(at).ok()?).copied()
    }

    fn function(&mut self, address: u64) -> Option<u64> {
        Some(address & !0xf)
    }

    fn bytes(&mut self, _address: u64, into: &mut [u8]) -> bool {
        into.fill(0xe8);
        true
    }
}

/// Reads bytes as an auxiliary vector.
pub fn auxv(bytes: &[u8]) -> HashMap<u64, u64> {
    process::parse_auxv(bytes)
}

/// Reads bytes as an archive. Gives how many functions it has.
pub fn archive(bytes: &[u8]) -> usize {
    archive::functions_in(bytes, |_| true).map_or(0, |functions| functions.len())
}

/// Shows the arguments of a call of this process.
pub fn arguments(number: i64, args: [u64; 6], result: Option<i64>) -> Vec<String> {
    let call = Call {
        thread: 0,
        arch: Arch::X86_64,
        number,
        name: Arch::X86_64.name(number),
        args,
        result,
        restart: false,
    };
    let mut memory = Memory::of(std::process::id() as libc::pid_t);
    let mut arguments = decode::begins(&call, &mut memory);
    decode::ends(&call, &mut arguments, Some(&mut memory));
    arguments.into_iter().flatten().collect()
}

/// Shows a name for people.
pub fn name(raw: &str) -> String {
    symbols::demangled(raw)
}
