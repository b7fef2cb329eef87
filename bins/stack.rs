//! `stack`: prints what the kernel left on the initial stack, in the order it lies there.
//!
//! System calls: execve, write, exit_group. One write for each 64 KiB of output; a write error is
//! a line on stderr by one writev, and exit 1.
//!
//! Each line is an address, what lies there, and its value; a pointer to a string is followed by
//! the string, a set of bits and an address stand in hexadecimal, other numbers in decimal.

#![no_std]
#![no_main]

use shims::auxv::{Aux, Value};
use shims::buffer::Buffer;
use shims::call::{self, STDERR, STDOUT};
use shims::stack::{CStr, Strings};
use shims::{Errno, Stack, reasons};

shims::entry!(main);

fn main(stack: Stack) -> u8 {
    let Err(error) = print(stack) else { return 0 };
    let reason = reasons![EBADF, ENOSPC, EPIPE, EIO, EAGAIN, EFBIG, EDQUOT].of(error);
    let _ = call::writev(STDERR, &[b"stack: stdout: E".into(), reason.into()]);
    1
}

fn print(stack: Stack) -> Result<(), Errno> {
    let out = &mut Out(Buffer::new(STDOUT));
    out.slot(stack.as_ptr().addr())?;
    out.text(b"argc ")?;
    out.decimal(stack.argc())?;
    out.text(b"\n")?;
    out.strings(b"argv", stack.args())?;
    out.strings(b"envp", stack.env())?;
    let mut auxv = stack.auxv();
    loop {
        out.slot(auxv.as_ptr().addr())?;
        match auxv.next() {
            Some(entry) => out.entry(entry)?,
            None => break,
        }
    }
    out.text(b"AT_NULL\n")?;
    out.0.flush()
}

/// Lines in the making.
struct Out(Buffer<{ 64 << 10 }>);

impl Out {
    fn byte(&mut self, byte: u8) -> Result<(), Errno> {
        self.0.push(byte)
    }

    fn text(&mut self, text: &[u8]) -> Result<(), Errno> {
        text.iter().try_for_each(|&byte| self.byte(byte))
    }

    /// The address of a slot, and a gap.
    fn slot(&mut self, address: usize) -> Result<(), Errno> {
        self.hex(address)?;
        self.text(b"  ")
    }

    fn hex(&mut self, number: usize) -> Result<(), Errno> {
        self.text(b"0x")?;
        self.digits(number, 16)
    }

    fn decimal(&mut self, number: usize) -> Result<(), Errno> {
        self.digits(number, 10)
    }

    fn digits(&mut self, number: usize, base: usize) -> Result<(), Errno> {
        if number >= base {
            self.digits(number / base, base)?;
        }
        self.byte(digit(number % base))
    }

    /// A string in quotes. What is no printable ASCII is written `\xNN`.
    fn quoted(&mut self, string: CStr) -> Result<(), Errno> {
        self.byte(b'"')?;
        for &byte in string.to_bytes() {
            match byte {
                b'"' | b'\\' => self.byte(b'\\')?,
                b' '..=b'~' => {}
                _ => {
                    self.text(b"\\x")?;
                    self.pair(byte)?;
                    continue;
                }
            }
            self.byte(byte)?;
        }
        self.byte(b'"')
    }

    /// Two hexadecimal digits.
    fn pair(&mut self, byte: u8) -> Result<(), Errno> {
        self.byte(digit(usize::from(byte >> 4)))?;
        self.byte(digit(usize::from(byte & 15)))
    }

    /// An address and the string that is there.
    fn pointer(&mut self, string: CStr) -> Result<(), Errno> {
        self.hex(string.as_ptr().addr())?;
        self.byte(b' ')?;
        self.quoted(string)
    }

    /// An array of strings, its NULL included.
    fn strings(&mut self, name: &[u8], mut strings: Strings) -> Result<(), Errno> {
        let mut index = 0;
        loop {
            self.slot(strings.as_ptr().addr())?;
            self.text(name)?;
            self.byte(b'[')?;
            self.decimal(index)?;
            self.text(b"] ")?;
            index += 1;
            match strings.next() {
                Some(string) => self.pointer(string)?,
                None => return self.text(b"NULL\n"),
            }
            self.byte(b'\n')?;
        }
    }

    /// An entry of the auxiliary vector.
    fn entry(&mut self, entry: Aux) -> Result<(), Errno> {
        match entry.name() {
            Some(name) => self.text(name.as_bytes())?,
            None => {
                self.text(b"AT_")?;
                self.decimal(entry.kind)?;
            }
        }
        self.byte(b' ')?;
        match entry.decode() {
            Value::Number(number) => self.decimal(number)?,
            Value::Address(value) | Value::Bits(value) => self.hex(value)?,
            Value::Text(string) => self.pointer(string)?,
            Value::Random(bytes) => {
                self.hex(entry.value)?;
                self.byte(b' ')?;
                bytes.iter().try_for_each(|&byte| self.pair(byte))?;
            }
        }
        self.byte(b'\n')
    }
}

fn digit(value: usize) -> u8 {
    b"0123456789abcdef"[value & 15]
}
