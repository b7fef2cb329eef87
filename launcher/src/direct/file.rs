//! May a file be executed, and by whom?

use shims::arch::Status;
use shims::cstr;
use shims::errno::Errno;

use super::image::Image;
use super::{Refusal, call};

impl Image {
    /// Refuses a file unless it is a regular one, this process may execute it, and it gives no
    /// rights to whoever does. (Those that an interpreter gives count for nothing.)
    #[inline(never)]
    pub fn examine(&self) -> Result<(), Refusal> {
        let fd = self.file.get();
        let status: *mut Status = self.room.get().cast();
        // SAFETY: the room is larger than that, aligned for it, and not in use.
        Refusal::check(unsafe { call::status(fd, status) })?;
        // SAFETY: it was written there.
        let &Status { mode, size, .. } = unsafe { &*status };
        self.size.set(size);
        // S_IFMT and S_IFREG, inode(7).
        if mode & 0o170_000 != 0o100_000 {
            return Err(Refusal::NOT_REGULAR);
        }
        if !call::executable(fd) {
            return Err(Refusal::NOT_EXECUTABLE);
        }
        // An interpreter is what the program has asked for.
        if self.asks.get().is_none() {
            // S_ISUID and S_ISGID, inode(7).
            if mode & 0o6_000 != 0 {
                return Err(Refusal::SET_ID);
            }
            // capabilities(7). There is none, or the file system has no such thing: ENODATA, as in
            // the kernel's include/uapi/asm-generic/errno.h, or EOPNOTSUPP.
            let error = call::attribute(fd, cstr!("security.capability")).wrapping_neg();
            if error != 61 && error != Errno::EOPNOTSUPP.0 as usize {
                return Err(Refusal::CAPABILITIES);
            }
        }
        Ok(())
    }
}
