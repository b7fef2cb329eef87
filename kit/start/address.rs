//! An address, or another word of 64 bits that is one to its readers.

use std::fmt;

use serde::{Serialize, Serializer};

/// An address in a program's memory. Its text and its JSON are hexadecimal, as in `0x7ffe1c7f8900`:
/// numbers of 64 bits are more than JSON's readers can be trusted with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub u64);

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}
