//! Words, read byte by byte.

use core::ptr::NonNull;

use shims::cstr;
use shims::stack::CStr;

/// The rest of a string: one pointer, that goes on as it is read.
///
/// What is not as it should be is looked at once, at the end: the rest becomes
/// [`Text::REFUSED`], of which nothing can be read any more.
#[derive(Clone, Copy)]
pub struct Text {
    at: NonNull<u8>,
}

/// The byte that stands for what is refused. There is nothing that it is part of, so it is never
/// read, and the end never reached.
const REFUSED: u8 = 1;

impl Text {
    /// The rest of a text in which something was not as it should be.
    pub const REFUSED: Text = Text::new(cstr!("\x01"));

    /// A whole string.
    #[inline(always)]
    pub const fn new(string: CStr) -> Self {
        Text { at: string.first() }
    }

    /// The next byte; 0 at the end.
    #[inline(always)]
    pub fn peek(self) -> u8 {
        // SAFETY: within the string, or at its NUL.
        unsafe { *self.at.as_ptr() }
    }

    /// Goes on to what is behind the next byte.
    ///
    /// # Safety
    ///
    /// There must be one.
    #[inline(always)]
    unsafe fn advance(&mut self) {
        // SAFETY: this was not the NUL, so there is more.
        self.at = unsafe { self.at.add(1) };
    }

    /// The next byte, and goes on to what is behind it, which at the end is the end.
    #[inline(always)]
    #[allow(
        clippy::should_implement_trait,
        reason = "no iterator: there is always a next one"
    )]
    pub fn next(&mut self) -> u8 {
        let byte = self.peek();
        if byte != 0 {
            // SAFETY: not at the end.
            unsafe { self.advance() };
        }
        byte
    }

    /// Takes `byte`, which is not 0, if it is the next one.
    #[inline(always)]
    pub fn take(&mut self, byte: u8) -> bool {
        let there = byte != 0 && self.peek() == byte;
        if there {
            // SAFETY: not at the end.
            unsafe { self.advance() };
        }
        there
    }

    /// What is left, as a string.
    #[inline(always)]
    pub const fn rest(self) -> CStr {
        // SAFETY: the rest of a string is one.
        unsafe { CStr::new(self.at) }
    }

    /// What comes before `end`, which is further on in the same string.
    #[inline(always)]
    pub fn until(self, end: Text) -> &'static [u8] {
        // SAFETY: so many bytes are there.
        unsafe {
            core::slice::from_raw_parts(self.at.as_ptr(), end.at.offset_from_unsigned(self.at))
        }
    }

    /// The end of what can be read.
    #[inline(always)]
    pub fn end(self) -> Text {
        // SAFETY: there it is.
        let at = unsafe { self.at.add(self.rest().len()) };
        Text { at }
    }

    /// Whether all of it was read, and was as it should be.
    #[inline(always)]
    pub fn is_done(self) -> bool {
        self.peek() == 0
    }

    /// Whether something was not as it should be.
    #[inline(always)]
    pub fn is_refused(self) -> bool {
        self.peek() == REFUSED
    }

    /// A number of at most `most`, and what follows it.
    #[inline(never)]
    pub fn number(self, most: u64) -> (u64, Text) {
        self.digits(most, 10)
    }

    /// A number of at most `most` in a base up to 10, and what follows it.
    #[inline(never)]
    pub fn digits(self, most: u64, base: u64) -> (u64, Text) {
        let mut text = self;
        let mut value = 0_u64;
        loop {
            let digit = u64::from(text.peek().wrapping_sub(b'0'));
            if digit >= base {
                break;
            }
            // SAFETY: that was a digit.
            unsafe { text.advance() };
            match value
                .checked_mul(base)
                .and_then(|value| value.checked_add(digit))
            {
                Some(sum) if sum <= most => value = sum,
                _ => return (0, Text::REFUSED),
            }
        }
        if text.at == self.at {
            text = Text::REFUSED;
        }
        (value, text)
    }

    /// One of `names`: its place among them; or a number of at most `most`. And what follows it.
    #[inline(always)]
    pub fn name(self, names: CStr, most: u64) -> (u64, Text) {
        let found = find(names, self);
        if found.1.is_refused() {
            return self.number(most);
        }
        found
    }
}

/// Finds the name that a text starts with in a list, which is a text too: names follow a space
/// there, and end before a space, a comma or the line's end. Gives its place among those that start
/// with a minus as the text does, or as the text does not; and what follows it in the text.
///
/// Names that follow a comma are others for the one before it, and have its place. One name can be
/// the start of another, if it stands behind it in the list.
#[inline(never)]
pub fn find(list: CStr, text: Text) -> (u64, Text) {
    let mut list = Text::new(list);
    let mut place = 0_u64.wrapping_sub(1);
    loop {
        match list.next() {
            0 => return (place, Text::REFUSED),
            b' ' if (list.peek() == b'-') == (text.peek() == b'-') => place = place.wrapping_add(1),
            b',' => {}
            _ => continue,
        }
        let mut rest = text;
        while list.peek() != 0 && list.peek() == rest.peek() {
            list.next();
            rest.next();
        }
        if rest.at != text.at && list.peek() <= b',' {
            return (place, rest);
        }
    }
}
