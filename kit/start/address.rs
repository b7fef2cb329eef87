//! An address, or another word of 64 bits that is one to its readers.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

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

/// As it was serialized.
impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let number = text.strip_prefix("0x");
        match number.and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
            Some(address) => Ok(Address(address)),
            None => Err(de::Error::custom("an address is not hexadecimal")),
        }
    }
}
