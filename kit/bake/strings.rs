//! The bytes of a tape, and the addresses in it of strings that come later.

/// A tape that is being written.
pub struct Tape {
    /// The address of its first byte.
    start: u32,
    bytes: Vec<u8>,
    addresses: Vec<Address>,
}

/// An address that is to stand in a tape.
struct Address {
    /// Where.
    place: usize,
    /// Of what.
    bytes: Vec<u8>,
    /// Of which of these bytes.
    at: usize,
}

impl Tape {
    /// An empty one, that is to be at an address.
    pub fn new(start: u32) -> Self {
        Tape {
            start,
            bytes: Vec::new(),
            addresses: Vec::new(),
        }
    }

    /// Puts bytes as they are.
    pub fn put(&mut self, bytes: impl AsRef<[u8]>) {
        self.bytes.extend_from_slice(bytes.as_ref());
    }

    /// Puts a string, with its NUL.
    pub fn put_text(&mut self, text: &[u8]) {
        self.put(text);
        self.put([0]);
    }

    /// Puts the address of a string.
    pub fn put_address(&mut self, text: &[u8]) {
        self.put_address_behind(b"", text);
    }

    /// Puts the address of a string that stands behind `before`.
    pub fn put_address_behind(&mut self, before: &[u8], text: &[u8]) {
        self.addresses.push(Address {
            place: self.bytes.len(),
            bytes: [before, text, b"\0"].concat(),
            at: before.len(),
        });
        self.put([0; 4]);
    }

    /// Puts the address of bytes.
    pub fn put_address_of(&mut self, bytes: &[u8]) {
        self.addresses.push(Address {
            place: self.bytes.len(),
            bytes: bytes.to_vec(),
            at: 0,
        });
        self.put([0; 4]);
    }

    /// Puts the address of what is put next but for other such addresses: of what
    /// [`here`](Tape::here) is called at.
    pub fn put_place(&mut self) -> usize {
        self.put([0; 4]);
        self.bytes.len() - 4
    }

    /// Makes what was put at a place the address of what is put next.
    pub fn here(&mut self, place: usize) {
        let address = self.start + self.bytes.len() as u32;
        self.bytes[place..place + 4].copy_from_slice(&address.to_le_bytes());
    }

    /// All of it, with `line` as its last string. What addresses are of is looked for in all that
    /// was put, the line too, and put in front of the line only where it is not there.
    pub fn finish(mut self, line: &str) -> Vec<u8> {
        let line = [line.as_bytes(), b"\0"].concat();
        // The longest first: others may be the end of them.
        self.addresses
            .sort_by_key(|address| std::cmp::Reverse(address.bytes.len()));
        for address in &self.addresses {
            let wanted = &address.bytes;
            if self.find(wanted).is_none() && find(&line, wanted, |_| true).is_none() {
                self.bytes.extend_from_slice(wanted);
            }
        }
        // It is what follows the last line or string.
        if !matches!(self.bytes.last(), Some(b'\n' | 0)) {
            self.bytes.push(0);
        }
        self.bytes.extend_from_slice(&line);
        for address in &self.addresses {
            if let Some(found) = self.find(&address.bytes) {
                let value = self.start + (found + address.at) as u32;
                let place = address.place..address.place + 4;
                self.bytes[place].copy_from_slice(&value.to_le_bytes());
            }
        }
        self.bytes
    }

    /// Where some bytes are that no address is a part of.
    fn find(&self, wanted: &[u8]) -> Option<usize> {
        find(&self.bytes, wanted, |at| {
            let apart =
                |address: &Address| address.place + 4 <= at || at + wanted.len() <= address.place;
            self.addresses.iter().all(apart)
        })
    }
}

/// The first place of some bytes among others that may be it.
fn find(bytes: &[u8], wanted: &[u8], may: impl Fn(usize) -> bool) -> Option<usize> {
    let mut windows = bytes.windows(wanted.len()).enumerate();
    let found = windows.find(|(at, window)| *window == wanted && may(*at));
    found.map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_that_is_the_end_of_another_has_no_bytes_of_its_own() {
        let mut tape = Tape::new(0x1000);
        tape.put_address(b"tmp");
        tape.put_address(b"/tmp");
        tape.put_address(b"true");
        let bytes = tape.finish("run /bin/true");
        assert_eq!(&bytes[12..], b"/tmp\0run /bin/true\0");
        let addresses: Vec<_> = bytes[..12]
            .chunks(4)
            .map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap()))
            .collect();
        assert_eq!(addresses, [0x100d, 0x100c, 0x101a]);
    }

    #[test]
    fn bytes_are_not_found_where_an_address_is_to_be() {
        let mut tape = Tape::new(0x1000);
        tape.put([1]);
        tape.put_address_of(&[1, 0]);
        tape.put_address(b"");
        let bytes = tape.finish("line");
        assert_eq!(bytes, b"\x01\x09\x10\0\0\x0a\x10\0\0\x01\0line\0");
    }

    #[test]
    fn a_string_is_where_what_it_stands_behind_is_too() {
        let mut tape = Tape::new(0);
        tape.put_text(b"x");
        tape.put_address_behind(b"a ", b"x");
        let bytes = tape.finish("line");
        assert_eq!(bytes, b"x\0\x08\0\0\0a x\0line\0");
    }
}
