//! Becoming the target: by its path, or found in PATH.

use shims::arch::{self, number};
use shims::call::AT_FDCWD;
use shims::cstr;
use shims::errno::Errno;
use shims::stack::CStr;

use crate::run::{DIRECT, Launcher, STDERR, Source};
use crate::text::Text;

impl<S: Source> Launcher<S> {
    /// Becomes `program`, which is looked up in PATH when its name has no slash.
    ///
    /// # Safety
    ///
    /// `argv` must point to an array of strings that ends in NULL, of one string at least, to
    /// which nobody else has access.
    #[inline(always)]
    pub unsafe fn exec(&mut self, program: CStr, argv: *mut Option<CStr>) -> ! {
        if self.argv0.is_some() {
            // SAFETY: there is one string.
            unsafe { *argv = self.argv0 };
        }
        self.program = Some(program);
        self.argv = argv;
        self.search()
    }

    /// Becomes the program that [`exec`](Launcher::exec) was given.
    #[inline(never)]
    pub(crate) fn search(&mut self) -> ! {
        // SAFETY: `exec` has set it.
        let program = unsafe { self.program.unwrap_unchecked() };
        let mut with = self.argv;
        let mut error;
        loop {
            error = self.each(program, with);
            if error != Errno::ENOENT || with.is_null() {
                break;
            }
            // That it is not there also tells of what is, when its interpreter is not. If no
            // error comes now, it is there.
            with = core::ptr::null_mut();
        }
        self.end(error.into(), 126 + u8::from(error == Errno::ENOENT))
    }

    /// Becomes `program` wherever it may be; or, without `argv`, looks there whether it exists,
    /// which is the error 0. An empty element of PATH is the working directory.
    #[inline(always)]
    fn each(&mut self, program: CStr, argv: *mut Option<CStr>) -> Errno {
        let mut name = Text::new(program);
        while !matches!(name.peek(), 0 | b'/') {
            name.next();
        }
        // There is no search for a name that has a slash, or is empty.
        let search = name.is_done() && !Text::new(program).is_done();
        let mut path = Text::new(cstr!(""));
        let mut end = self.room;
        if search {
            let variable = self.environment.get(cstr!("PATH"));
            path = Text::new(variable.unwrap_or(cstr!("/bin:/usr/bin")));
            // All end alike.
            end = end.put(0_u8).put_string(program).put(b'/');
        }
        // What is there and may not be run matters only when nothing else is found.
        let mut answer = Errno::ENOENT;
        loop {
            let element = path;
            while !matches!(path.peek(), b':' | 0) {
                path.next();
            }
            let element = element.until(path);
            let before = self.room;
            self.room = end.put_all(element);
            // SAFETY: a NUL was put at its end.
            let mut candidate = unsafe { self.room.string() };
            if element.is_empty() {
                candidate = program;
            }
            let error = self.attempt(candidate, argv);
            self.room = before;
            if !search {
                return error;
            }
            match error {
                Errno::ENOENT | Errno::ENOTDIR | Errno::ENAMETOOLONG => {}
                Errno::EACCES => answer = Errno::EACCES,
                error => return error,
            }
            if path.next() == 0 {
                return answer;
            }
        }
    }

    #[inline(always)]
    fn attempt(&mut self, path: CStr, argv: *mut Option<CStr>) -> Errno {
        let at = path.as_ptr().addr();
        // SAFETY: a path that ends in NUL, and arrays of strings that end in NULL. F_OK is 0.
        Errno::of(unsafe {
            if argv.is_null() {
                arch::syscall4(number::FACCESSAT2, AT_FDCWD, at, 0, 0)
            } else {
                if self.start & DIRECT != 0 {
                    return self.in_place(path);
                }
                let envp = self.environment.as_ptr().addr();
                arch::syscall3(number::EXECVE, at, argv.addr(), envp)
            }
        })
    }

    /// Closes what an execve would close.
    #[inline(always)]
    pub(crate) fn close(&self) {
        // SAFETY: numbers of files that only the launcher knows of.
        unsafe {
            if self.errors != STDERR {
                arch::syscall1(number::CLOSE, self.errors);
            }
            let mut spare = self.spare;
            while spare != 0 {
                arch::syscall1(number::CLOSE, spare.trailing_zeros() as usize);
                spare &= spare - 1;
            }
        }
    }
}
