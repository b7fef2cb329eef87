//! How the code of one file is unwound: its call frame information, as `.eh_frame` has it.
//!
//! The table `.eh_frame_hdr` finds the entry of an address. A static program without exceptions has
//! none, and one that is written in another way than the linkers do is not read: then all entries
//! are gone through once, and indexed.
//!
//! gimli reads the entries. An unwinder upon it, framehop, was tried and left: it knows three of the
//! registers, so that functions that realign their stack (GCC finds their frame by `r10`) end it; it
//! does not tell whether an address was covered, so that uncovered ones add a frame that is none; and
//! damaged entries overflow its sums.

use std::collections::HashMap;
use std::rc::Rc;

use gimli::{
    BaseAddresses, CieOrFde, EhFrame, EhFrameOffset, Encoding, EndianSlice, LittleEndian,
    UnwindContext, UnwindSection, UnwindTableRow,
};

use super::elf::{Elf, Piece};

/// The section as gimli takes it.
pub(super) type Section<'a> = EhFrame<EndianSlice<'a, LittleEndian>>;

/// The call frame information of one file.
pub struct Cfi {
    entries: Piece,
    bases: BaseAddresses,
    table: Table,
    context: UnwindContext<usize>,
    known: HashMap<u64, Option<Rc<Rule>>>,
}

/// How to get from a frame to its caller's, at one address.
pub struct Rule {
    /// Where the function begins, as the file states it.
    pub function: u64,
    /// Whether the frame is one that the kernel has made to run a signal handler.
    pub signal: bool,
    /// Where the caller's registers are.
    pub row: UnwindTableRow<usize>,
    /// How its expressions are written.
    pub encoding: Encoding,
}

/// Where the entries are.
enum Table {
    /// By `.eh_frame_hdr`: pairs of addresses, relative to the table's own address, ascending.
    Header { bytes: Vec<u8>, address: u64 },
    /// Beginning and offset of each entry, ascending.
    Index(Vec<(u64, usize)>),
}

impl Cfi {
    /// That of a file. None when it has none that can be read.
    pub fn of(file: &Elf) -> Option<Self> {
        let header = file.eh_frame_hdr();
        let target = header.as_ref().and_then(entries_by_table);
        let entries = file.eh_frame(target)?;
        let mut bases = BaseAddresses::default().set_eh_frame(entries.address);
        for (name, set) in [
            (&b".text"[..], BaseAddresses::set_text as fn(_, _) -> _),
            (b".got", BaseAddresses::set_got),
        ] {
            if let Some(address) = file.address_of(name) {
                bases = set(bases, address);
            }
        }
        Some(Cfi::new(entries, header, bases))
    }

    /// From the bytes of both sections.
    pub fn new(entries: Piece, header: Option<Piece>, bases: BaseAddresses) -> Self {
        let table = match header.and_then(table_of) {
            Some(table) => table,
            None => Table::Index(index(&section(&entries), &bases)),
        };
        Cfi {
            entries,
            bases,
            table,
            context: UnwindContext::new(),
            known: HashMap::new(),
        }
    }

    /// The rule at an address as the file states it. None when no entry covers it.
    pub fn rule(&mut self, address: u64) -> Option<Rc<Rule>> {
        if let Some(known) = self.known.get(&address) {
            return known.clone();
        }
        let rule = self.look_up(address).map(Rc::new);
        self.known.insert(address, rule.clone());
        rule
    }

    fn look_up(&mut self, address: u64) -> Option<Rule> {
        let offset = self.table.before(address, self.entries.address)?;
        let section = section(&self.entries);
        let entry = section
            .fde_from_offset(&self.bases, EhFrameOffset(offset), EhFrame::cie_from_offset)
            .ok()?;
        let (function, length) = (entry.initial_address(), entry.len());
        if address.checked_sub(function)? >= length {
            return None;
        }
        let row = entry
            .unwind_info_for_address(&section, &self.bases, &mut self.context, address)
            .ok()?
            .clone();
        Some(Rule {
            function,
            signal: entry.is_signal_trampoline(),
            row,
            encoding: entry.cie().encoding(),
        })
    }

    /// Where the first function begins that lies behind an address.
    pub fn next_function(&self, address: u64) -> Option<u64> {
        self.table.after(address)
    }

    /// The bytes that the expressions of rules lie in.
    pub(super) fn section(&self) -> Section<'_> {
        section(&self.entries)
    }
}

fn section(entries: &Piece) -> Section<'_> {
    let mut section = EhFrame::new(&entries.bytes, LittleEndian);
    section.set_address_size(8);
    section
}

/// The four bytes before the entries' address in a table: its version, and how its numbers are
/// written. All linkers write it so: the address relative to itself, a number of 32 bits without
/// sign, and pairs of 32 bits with sign relative to the table (LSB, "The .eh_frame_hdr section").
const USUAL: [u8; 4] = [1, 0x1b, 0x03, 0x3b];

/// Where a table says that the entries are.
fn entries_by_table(header: &Piece) -> Option<u64> {
    let relative = match header.bytes.get(..4)? {
        [1, 0x1b, ..] => word(&header.bytes, 4)?,
        _ => return None,
    };
    header
        .address
        .checked_add(4)?
        .checked_add_signed(relative.into())
}

/// A table as linkers write it, with as many pairs as it says, and sorted. None otherwise.
fn table_of(header: Piece) -> Option<Table> {
    if header.bytes.get(..4)? != USUAL {
        return None;
    }
    let number = word(&header.bytes, 8)? as u32 as usize;
    let length = number.checked_mul(8)?.checked_add(12)?;
    if number == 0 || header.bytes.len() < length {
        return None;
    }
    let table = Table::Header {
        bytes: header.bytes.get(12..length)?.to_vec(),
        address: header.address,
    };
    let starts: Option<Vec<_>> = (0..number).map(|at| table.start(at)).collect();
    starts?.is_sorted().then_some(table)
}

fn word(bytes: &[u8], at: usize) -> Option<i32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(i32::from_le_bytes(bytes.try_into().ok()?))
}

impl Table {
    fn len(&self) -> usize {
        match self {
            Table::Header { bytes, .. } => bytes.len() / 8,
            Table::Index(index) => index.len(),
        }
    }

    /// Where the function of an entry begins.
    fn start(&self, at: usize) -> Option<u64> {
        match self {
            Table::Header { bytes, address } => {
                address.checked_add_signed(word(bytes, at.checked_mul(8)?)?.into())
            }
            Table::Index(index) => index.get(at).map(|(start, _)| *start),
        }
    }

    /// How many entries begin at an address or before it.
    fn up_to(&self, address: u64) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.start(middle) {
                Some(start) if start <= address => low = middle + 1,
                _ => high = middle,
            }
        }
        low
    }

    /// The offset in the section of the last entry that begins at an address or before it.
    fn before(&self, address: u64, section: u64) -> Option<usize> {
        let at = self.up_to(address).checked_sub(1)?;
        match self {
            Table::Header { bytes, address } => {
                let relative = word(bytes, at.checked_mul(8)?.checked_add(4)?)?;
                let entry = address.checked_add_signed(relative.into())?;
                usize::try_from(entry.checked_sub(section)?).ok()
            }
            Table::Index(index) => index.get(at).map(|(_, offset)| *offset),
        }
    }

    fn after(&self, address: u64) -> Option<u64> {
        self.start(self.up_to(address))
    }
}

/// All entries, in the order of their functions. What follows a damaged one is left out.
fn index(section: &Section, bases: &BaseAddresses) -> Vec<(u64, usize)> {
    let mut index = Vec::new();
    let mut entries = section.entries(bases);
    while let Ok(Some(entry)) = entries.next() {
        if let CieOrFde::Fde(partial) = entry
            && let Ok(entry) = partial.parse(EhFrame::cie_from_offset)
            && entry.len() > 0
        {
            index.push((entry.initial_address(), entry.offset()));
        }
    }
    index.sort_unstable();
    index
}
