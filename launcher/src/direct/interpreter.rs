//! What a program asks of its interpreter: which one it is to be, and whether it is to look for
//! libraries where the program's file is (`$ORIGIN`, ld.so(8)).
//!
//! The interpreter asks the kernel for that place, by `/proc/self/exe`, which is the launcher's.

use core::ptr::NonNull;
use core::slice;

use shims::stack::CStr;

use super::elf::{self, Dynamic, Segment, tag};
use super::image::{Image, ROOM};
use super::{Refusal, call};

impl Image {
    /// Reads the path of the interpreter into the room, behind the program headers.
    #[inline(never)]
    pub fn ask(&self, segment: &Segment) -> Result<(), Refusal> {
        let start: *mut u8 = self.end.get().cast_mut().cast();
        let left = self.room.get().addr() + ROOM - start.addr();
        let length = segment.file_size;
        // The kernel's least. It takes the first of several paths; no linker writes another.
        if length < 2 || length > left || self.asks.get().is_some() {
            return Err(Refusal::INTERPRETER);
        }
        // SAFETY: there is that much room, and nothing in use. What ends in NUL is a string.
        unsafe {
            let read = call::read_at(self.file.get(), start, length, segment.offset);
            if read != length || *start.add(length - 1) != 0 {
                return Err(Refusal::INTERPRETER);
            }
            self.asks
                .set(Some(CStr::new(NonNull::new_unchecked(start))));
        }
        Ok(())
    }

    /// Looks for a `$` in the paths and names of the table for the interpreter, which is at an
    /// address of the file. (Names of other things than ORIGIN are rare.)
    #[inline(always)]
    pub fn look_for_origin(&self, table: usize) -> Result<(), Refusal> {
        let table: &[Dynamic] = {
            let bytes = self.memory(table).ok_or(Refusal::HEADERS)?;
            // SAFETY: it is as long as said, and any bytes will do.
            unsafe {
                slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / size_of::<Dynamic>())
            }
        };
        // Where the strings are is only known when the table has been read.
        let mut strings = 0;
        let mut known = false;
        loop {
            for entry in table {
                let tag = entry.tag;
                if tag == tag::NULL {
                    break;
                }
                if tag == tag::STRINGS {
                    strings = entry.value;
                }
                if known && matches!(tag, tag::NEEDED | tag::RPATH | tag::RUNPATH) {
                    let string = self.memory(strings.wrapping_add(entry.value));
                    for &byte in string.ok_or(Refusal::HEADERS)? {
                        match byte {
                            0 => break,
                            b'$' => return Err(Refusal::ORIGIN),
                            _ => {}
                        }
                    }
                }
            }
            if known {
                return Ok(());
            }
            known = true;
        }
    }

    /// The bytes from an address of the file to the end of those that its segment has from the
    /// file, if they are to be read.
    #[inline(never)]
    fn memory(&self, address: usize) -> Option<&[u8]> {
        for segment in self.segments() {
            let into = address.wrapping_sub(segment.address);
            if segment.kind == elf::LOAD && into < segment.file_size && segment.flags & elf::R != 0
            {
                let first = self.base.get().wrapping_add(address) as *const u8;
                // SAFETY: they are mapped, readable, for good; the file has them.
                return Some(unsafe { slice::from_raw_parts(first, segment.file_size - into) });
            }
        }
        None
    }
}
