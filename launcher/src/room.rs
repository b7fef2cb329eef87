//! Room for what a launcher makes: strings of variables, paths, lines.

use core::ptr::NonNull;

use shims::arch;
use shims::stack::CStr;

/// The part of the stack that no function reaches: from `FRAMES` below the stack pointer on.
///
/// It is written as the stack is, downwards: a string from its end to its start. So nothing has a
/// size that would have to be known before, and what costs nothing is not taken. What is taken is
/// never given back, as the process is about to become another. The kernel makes a stack longer
/// wherever it is touched, down to its limit (RLIMIT_STACK), and writes there itself only to call
/// a signal's handler, which a launcher does not have.
#[derive(Clone, Copy)]
pub struct Room {
    /// All below is free.
    free: NonNull<u8>,
}

/// What all functions of a launcher together use of the stack, and more.
const FRAMES: usize = 8 << 10;

impl Room {
    /// All of it.
    ///
    /// # Safety
    ///
    /// There must be one only, but for copies that are not used at the same time; and no handler
    /// of a signal.
    #[inline(always)]
    pub unsafe fn new() -> Self {
        let free = arch::stack_pointer().wrapping_sub(FRAMES).cast_mut();
        // SAFETY: a stack is far from address 0, and the rest is promised.
        unsafe { Room::at(NonNull::new_unchecked(free)) }
    }

    /// All of what lies below `end`.
    ///
    /// # Safety
    ///
    /// So much must lie there, and be nobody else's, as is put.
    #[inline(always)]
    pub unsafe fn at(end: NonNull<u8>) -> Self {
        Room { free: end }
    }

    /// What was put there, the last first.
    #[inline(always)]
    pub fn start(self) -> NonNull<u8> {
        self.free
    }

    /// What was put there last, as a string.
    ///
    /// # Safety
    ///
    /// A NUL must have been put before it.
    #[inline(always)]
    pub unsafe fn string(self) -> CStr {
        // SAFETY: it stays as it is for as long as the process lives.
        unsafe { CStr::new(self.free) }
    }

    /// How much was put since.
    #[inline(always)]
    pub fn since(self, before: Room) -> usize {
        before.free.addr().get() - self.free.addr().get()
    }

    /// What is left when `size` bytes are taken, which start where it ends.
    #[inline(always)]
    pub fn take(self, size: usize) -> Room {
        // SAFETY: that is further down the stack.
        let free = unsafe { self.free.sub(size) };
        Room { free }
    }

    /// Puts a value of a few bytes before the rest.
    #[inline(always)]
    pub fn put<T>(self, value: T) -> Room {
        let room = self.take(size_of::<T>());
        // SAFETY: they are nobody else's.
        unsafe { room.free.cast().write_unaligned(value) };
        room
    }

    /// Puts zeros before the rest, as many as a value has bytes.
    #[inline(always)]
    pub fn put_zeros<T>(self) -> Room {
        let room = self.take(size_of::<T>());
        // SAFETY: they are nobody else's.
        unsafe { arch::zero(room.free.as_ptr(), size_of::<T>()) };
        room
    }

    /// Puts bytes before the rest.
    #[inline(always)]
    pub fn put_all(self, bytes: &[u8]) -> Room {
        let room = self.take(bytes.len());
        // SAFETY: they are nobody else's.
        unsafe { arch::copy(bytes.as_ptr(), room.free.as_ptr(), bytes.len()) };
        room
    }

    /// Puts a string before the rest, without its NUL.
    #[inline(never)]
    pub fn put_string(self, string: CStr) -> Room {
        self.put_all(string.to_bytes())
    }

    /// Puts a number before the rest, in decimal.
    #[inline(always)]
    pub fn put_decimal(self, mut number: usize) -> Room {
        let mut room = self;
        loop {
            room = room.put(b'0' + (number % 10) as u8);
            number /= 10;
            if number == 0 {
                return room;
            }
        }
    }
}
