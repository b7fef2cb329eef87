//! The memory of a stopped thread, read in large pieces.

use std::io::IoSliceMut;

use libc::pid_t;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;

/// A page of memory. Pages are there or not as a whole.
const PAGE: u64 = 4096;
/// As much as most stacks of a start need.
const PIECE: u64 = 4 * PAGE;

/// The memory of one thread at one stop: each piece is asked for once.
pub(crate) struct Memory {
    tid: pid_t,
    pieces: Vec<(u64, Vec<u8>)>,
}

impl Memory {
    /// Of a thread that is stopped, for as long as it is.
    pub fn of(tid: pid_t) -> Self {
        Memory {
            tid,
            pieces: Vec::new(),
        }
    }

    /// Eight bytes. None where there is no memory.
    pub fn word(&mut self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)
            .then(|| u64::from_le_bytes(bytes))
    }

    /// As many bytes as fit. False when not all of them are there.
    pub fn read(&mut self, address: u64, into: &mut [u8]) -> bool {
        let mut done = 0;
        while done < into.len() {
            let Some(at) = address.checked_add(done as u64) else {
                return false;
            };
            let rest = self.from(at);
            let some = rest.len().min(into.len() - done);
            if some == 0 {
                return false;
            }
            into[done..done + some].copy_from_slice(&rest[..some]);
            done += some;
        }
        true
    }

    /// Some bytes, fewer where the memory ends.
    pub fn bytes(&mut self, address: u64, most: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while bytes.len() < most {
            let Some(at) = address.checked_add(bytes.len() as u64) else {
                break;
            };
            let rest = self.from(at);
            if rest.is_empty() {
                break;
            }
            let some = rest.len().min(most - bytes.len());
            bytes.extend_from_slice(&rest[..some]);
        }
        bytes
    }

    /// A text up to its zero byte, and whether that was found within so many bytes. None where there
    /// is no memory.
    pub fn text(&mut self, address: u64, most: usize) -> Option<(Vec<u8>, bool)> {
        let mut bytes = self.bytes(address, most);
        if bytes.is_empty() {
            return None;
        }
        match bytes.iter().position(|&byte| byte == 0) {
            Some(end) => {
                bytes.truncate(end);
                Some((bytes, true))
            }
            None => Some((bytes, false)),
        }
    }

    /// What there is from an address on, at least one byte; nothing where there is no memory.
    fn from(&mut self, address: u64) -> &[u8] {
        let held = |(start, bytes): &(u64, Vec<u8>)| {
            address
                .checked_sub(*start)
                .is_some_and(|within| within < bytes.len() as u64)
        };
        let index = match self.pieces.iter().position(held) {
            Some(index) => index,
            None => {
                let start = address & !(PAGE - 1);
                self.pieces.push((start, pages(self.tid, start)));
                self.pieces.len() - 1
            }
        };
        let (start, bytes) = &self.pieces[index];
        bytes.get((address - start) as usize..).unwrap_or_default()
    }
}

/// The pages from one on, as many as are there.
fn pages(tid: pid_t, start: u64) -> Vec<u8> {
    let mut bytes = vec![0; PIECE as usize];
    // A piece of its own for each page: one that is not there ends what is read before it, and a
    // piece is never read in part (process_vm_readv(2)).
    let places: Vec<_> = (0..PIECE / PAGE)
        .map_while(|page| start.checked_add(page * PAGE))
        .map(|base| RemoteIoVec {
            base: base as usize,
            len: PAGE as usize,
        })
        .collect();
    let read = process_vm_readv(
        Pid::from_raw(tid),
        &mut [IoSliceMut::new(&mut bytes)],
        &places,
    );
    bytes.truncate(read.unwrap_or(0));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_read_and_what_is_not_is_none() {
        let text = *b"hello\0world\0";
        let mut memory = Memory::of(std::process::id() as pid_t);
        let address = text.as_ptr() as u64;
        assert_eq!(memory.text(address, 64), Some((b"hello".to_vec(), true)));
        assert_eq!(memory.text(address, 3), Some((b"hel".to_vec(), false)));
        assert_eq!(
            memory.word(address),
            Some(u64::from_le_bytes(*b"hello\0wo"))
        );
        for nothing in [0, 8, u64::MAX, u64::MAX - 7, 1 << 63] {
            assert_eq!(memory.word(nothing), None);
            assert_eq!(memory.text(nothing, 8), None);
        }
    }
}
