//! The arguments of a launcher, read where the kernel put them.
//!
//! ```text
//! launch  word…  PROGRAM  ARG…  NULL  environment…
//! ```
//!
//! The target's argv is there as a whole. A variable that is added to the environment needs a
//! place before it: what is not read yet moves down by one, into the place of a word that was
//! read, as a variable takes a word at least.

use shims::Stack;
use shims::stack::CStr;

/// The words of a launcher, and then the program with its arguments: what is not read yet.
#[derive(Clone, Copy)]
pub struct Words {
    next: *mut Option<CStr>,
}

impl Words {
    /// All that is behind the launcher's own name; where not even that is there, none.
    ///
    /// # Safety
    ///
    /// Nobody else may look at the arguments of `stack` from here on.
    #[inline(always)]
    pub unsafe fn new(stack: Stack) -> Self {
        let name = usize::from(stack.argc() != 0);
        // SAFETY: behind the name is another string, or the NULL.
        unsafe { Words::at(stack.args().as_ptr().add(name).cast_mut()) }
    }

    /// From a word on.
    ///
    /// # Safety
    ///
    /// It must be one of an array that ends in NULL, to which nobody else has access.
    #[inline(always)]
    pub unsafe fn at(next: *mut Option<CStr>) -> Self {
        Words { next }
    }

    /// The word that was read last, and what follows it, as argv.
    ///
    /// # Safety
    ///
    /// There must be one.
    #[inline(always)]
    pub unsafe fn last(self) -> *mut Option<CStr> {
        // SAFETY: that is where it is.
        unsafe { self.next.sub(1) }
    }

    /// The words that `later` does not have any more, the last one first.
    #[inline(always)]
    pub fn before(self, later: Words) -> impl Iterator<Item = CStr> {
        let (mut next, end) = (later.next, self.next);
        core::iter::from_fn(move || {
            if next == end {
                return None;
            }
            // SAFETY: there is one more between both, and it is not the NULL.
            unsafe {
                next = next.sub(1);
                Some((*next).unwrap_unchecked())
            }
        })
    }

    /// Puts a string behind the NULL that ends the arguments, at `end` less one. Everything that
    /// is not read yet moves down.
    ///
    /// # Safety
    ///
    /// A word must have been read for each string that was put, and `end` be where the
    /// arguments end.
    #[inline(always)]
    pub unsafe fn insert(&mut self, end: *mut Option<CStr>, new: Option<CStr>) {
        let mut at = end;
        let mut next = new;
        // SAFETY: from the NULL down to a word that was read.
        unsafe {
            self.next = self.next.sub(1);
            while at != self.next {
                at = at.sub(1);
                next = core::mem::replace(&mut *at, next);
            }
        }
    }
}

impl Iterator for Words {
    type Item = CStr;

    #[inline(always)]
    fn next(&mut self) -> Option<CStr> {
        // SAFETY: it never goes past the NULL.
        unsafe {
            let word = *self.next;
            if word.is_some() {
                self.next = self.next.add(1);
            }
            word
        }
    }
}
