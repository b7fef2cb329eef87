//! What a program asks of its interpreter: which one it is to be, and whether it is to look for
//! libraries where the program's file is (`$ORIGIN`, ld.so(8)).
//!
//! The interpreter asks the kernel for that place, by `/proc/self/exe`, which is the launcher's.

use core::ptr::NonNull;
use core::slice;

use shims::stack::CStr;

use super::elf::{self, Dynamic, Header, Segment, tag};
use super::image::{Headers, ROOM};
use super::{Refusal, call};

impl Headers<'_> {
    /// Reads the path of the interpreter into the room, behind the program headers.
    #[inline(never)]
    pub fn ask(self, segment: &Segment) -> Result<(), Refusal> {
        let behind = size_of::<Header>() + size_of_val(self.segments());
        let length = segment.file_size;
        let path = &self.image.interpreter;
        // The kernel's least. It takes the first of several paths; no linker writes another.
        if length < 2 || length > ROOM - behind || path.get().is_some() {
            return Err(Refusal::INTERPRETER);
        }
        // SAFETY: there is that much room, and nothing in use. What ends in NUL is a string.
        unsafe {
            let start = self.image.room.get().cast::<u8>().add(behind);
            let read = call::read_at(self.image.fd.get(), start, length, segment.offset);
            if read != Ok(length) || *start.add(length - 1) != 0 {
                return Err(Refusal::INTERPRETER);
            }
            path.set(Some(CStr::new(NonNull::new_unchecked(start))));
        }
        Ok(())
    }

    /// Looks for a `$` in the paths and names of the table for the interpreter, which is at an
    /// address of the file. (Names of other things than ORIGIN are rare.)
    #[inline(always)]
    pub fn search(self, address: usize) -> Result<(), Refusal> {
        let table = self.memory(address).ok_or(Refusal::HEADERS)?;
        // SAFETY: it is as long as said, and any bytes will do.
        let table: &[Dynamic] = unsafe {
            slice::from_raw_parts(table.as_ptr().cast(), table.len() / size_of::<Dynamic>())
        };
        let mut strings: &[u8] = &[];
        for entry in table {
            match entry.tag {
                tag::NULL => break,
                tag::STRINGS => strings = self.memory(entry.value).ok_or(Refusal::HEADERS)?,
                _ => {}
            }
        }
        for entry in table {
            match entry.tag {
                tag::NULL => break,
                tag::NEEDED | tag::RPATH | tag::RUNPATH => {
                    let Some(string) = strings.get(entry.value..) else {
                        return Err(Refusal::HEADERS);
                    };
                    for &byte in string {
                        match byte {
                            0 => break,
                            b'$' => return Err(Refusal::ORIGIN),
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The bytes from an address of the file to the end of those that its segment has from the
    /// file, if they are to be read.
    #[inline(never)]
    fn memory(&self, address: usize) -> Option<&[u8]> {
        for segment in self.segments() {
            let into = address.wrapping_sub(segment.address);
            if segment.kind == elf::LOAD && into < segment.file_size && segment.flags & elf::R != 0
            {
                let first = self.image.base.get().wrapping_add(address) as *const u8;
                // SAFETY: they are mapped, readable, for good; the file has them.
                return Some(unsafe { slice::from_raw_parts(first, segment.file_size - into) });
            }
        }
        None
    }
}
