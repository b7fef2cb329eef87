//! Doing the actions, one after the other.

use shims::arch::{self, Argument, number};
use shims::auxv::Auxv;
use shims::call::{AT_FDCWD, exit_group};
use shims::cstr;
use shims::errno::Errno;
use shims::stack::CStr;

use crate::action::{Action, Does};
use crate::direct::Refusal;
use crate::environment::Environment;
use crate::reasons::Reason;
use crate::room::Room;
use crate::text::Text;
use crate::words::{
    O_CLOEXEC, O_CREAT, O_RDWR, O_TRUNC, O_WRONLY, PR_SET_PDEATHSIG, SIG_BLOCK, SIGSET_SIZE,
};

// fcntl(2), from the kernel's include/uapi/asm-generic/fcntl.h and linux/fcntl.h.
const F_GETFD: usize = 1;
/// fcntl(2): sets the flags of a file descriptor.
pub const F_SETFD: usize = 2;
/// fcntl(2): a copy that closes at the exec.
pub const F_DUPFD_CLOEXEC: usize = 1030;
const FD_CLOEXEC: usize = 1;
// flock(2).
const LOCK_EX: usize = 2;
// setrlimit(2).
const RLIMIT_STACK: usize = 3;
// close_range(2).
/// close_range(2): at the exec.
pub const CLOSE_RANGE_CLOEXEC: usize = 4;
/// stderr(3), where errors go at first.
pub(crate) const STDERR: usize = 2;
/// Where the old stderr is kept: as shells do, above what users name.
pub const KEPT: usize = 10;
/// The longest string that execve(2) takes, its NUL included: 32 pages.
const MAX_ARG_STRLEN: usize = 32 << 12;

/// The most that execve(2) takes of all strings together: three quarters of 8 MiB, whatever the limit
/// of the stack is (fs/exec.c). Strings that are no longer needed are not given back, so that much
/// can be used up by making one variable longer again and again.
const MAX_STRINGS: usize = 6 << 20;

/// Where actions come from: who keeps the arguments and tells of failures.
pub trait Source: Sized {
    /// Puts a string before the environment, which starts at `environment`.
    fn add(&mut self, environment: *mut Option<CStr>, string: Option<CStr>);

    /// Tells where errors go why the present action, or the exec, is not done.
    fn say(launcher: &mut Launcher<Self>, why: Reason);
}

// The bits of [`Launcher::start`]:
/// `--direct`: the target is started in place;
pub const DIRECT: usize = 1;
/// `--direct=only`: or not at all;
pub const DIRECT_ONLY: usize = 2;
/// `--explain`: stderr is told why the target is not started in place.
pub const EXPLAIN: usize = 8;

/// A process that is about to become another: what its actions change that is not the kernel's.
pub struct Launcher<S> {
    /// Where the actions come from.
    pub source: S,
    /// The target's argv\[0\], if it is another one.
    pub argv0: Option<CStr>,
    /// Its environment.
    pub environment: Environment,
    /// Room for the strings that actions make.
    pub room: Room,
    /// Where errors go.
    pub errors: usize,
    /// Files that are closed for all but the launcher, and close at the exec: one bit each.
    pub spare: usize,
    /// How to start the target: the bits above.
    pub start: usize,
    /// Why it cannot be started in place, if an action has seen to that.
    pub refused: Option<Refusal>,
    /// The auxiliary vector.
    pub auxv: Auxv,
    /// The room before anything was taken from it.
    pub untouched: Room,
    /// The program to become, when that is known.
    pub(crate) program: Option<CStr>,
    /// Its argv.
    pub(crate) argv: *mut Option<CStr>,
}

impl<S: Source> Launcher<S> {
    /// Before the first action.
    #[inline(always)]
    pub fn new(source: S, environment: Environment, auxv: Auxv, room: Room) -> Self {
        Launcher {
            source,
            argv0: None,
            environment,
            room,
            errors: STDERR,
            spare: 0,
            start: 0,
            refused: None,
            auxv,
            untouched: room,
            program: None,
            argv: core::ptr::null_mut(),
        }
    }

    /// Does an action.
    ///
    /// # Safety
    ///
    /// Its operands must be what [`Does`] says.
    #[inline(always)]
    pub unsafe fn act(&mut self, action: &Action) {
        let [first, second, third] = action.with;
        // SAFETY: the operands are what the action says; each call is given what it wants.
        unsafe {
            match action.does {
                Does::Limit => {
                    if first == RLIMIT_STACK {
                        self.refused = Some(Refusal::STACK_LIMIT);
                    }
                    self.call(number::PRLIMIT64, [0, first, second, 0]);
                }
                Does::Block => {
                    self.call(number::RT_SIGPROCMASK, [SIG_BLOCK, first, 0, SIGSET_SIZE]);
                }
                Does::Open => {
                    self.replace(third);
                    let fd = self.open(first, second);
                    self.duplicate(fd, third);
                    if fd != third {
                        self.spare |= bit(fd);
                    }
                }
                Does::Duplicate => {
                    if bit(first) & self.spare != 0 {
                        self.fail(Errno::EBADF.into());
                    }
                    if first != second {
                        self.replace(second);
                    }
                    self.duplicate(first, second);
                }
                Does::Close => {
                    self.replace(first);
                    // Whether it was open or not.
                    arch::syscall1(number::CLOSE, first);
                }
                Does::CloseFrom => self.close_from(first, second),
                Does::Set => self.set(action.text(0), action.optional(1)),
                Does::Assign | Does::Default | Does::Prefix | Does::Suffix => self.join(action),
                Does::Clear => self.environment.clear(),
                Does::Argv0 => self.argv0 = action.optional(0),
                Does::Signals => {
                    // struct sigaction: handler, flags, restorer, mask.
                    let act = self.room.put([second, 0, 0, 0]).start().addr().get();
                    let mut set = first;
                    let mut signal = 1;
                    while set != 0 {
                        if set & 1 == 1 {
                            self.call(number::RT_SIGACTION, [signal, act, 0, SIGSET_SIZE]);
                        }
                        set >>= 1;
                        signal += 1;
                    }
                }
                Does::ParentDeathSignal => {
                    self.call(number::PRCTL, [PR_SET_PDEATHSIG, first]);
                    // An orphan is a child of the first process.
                    if arch::syscall0(number::GETPPID) == 1 {
                        self.fail(Reason::NO_PARENT);
                    }
                }
                Does::User => {
                    self.refused = Some(Refusal::USER);
                    self.become_user(action.text(0));
                }
                Does::Lock => {
                    let fd = self.open(first, O_RDWR | O_CREAT);
                    self.call(number::FLOCK, [fd, LOCK_EX]);
                }
                Does::Write => self.write(first, Text::new(action.text(1))),
                Does::StdioNull => {
                    for fd in 0..3 {
                        let flags = arch::syscall2(number::FCNTL, fd, F_GETFD);
                        if flags == 0 {
                            continue;
                        }
                        // It would close at the exec.
                        if flags == FD_CLOEXEC {
                            self.replace(fd);
                            arch::syscall1(number::CLOSE, fd);
                        }
                        // It gets the lowest number that is free, and those below are not.
                        self.spare &= !bit(fd);
                        self.open(cstr!("/dev/null").as_ptr().addr(), O_RDWR);
                    }
                }
                Does::Direct => self.start |= first,
                does => {
                    match does {
                        Does::Setresuid | Does::Setresgid => self.refused = Some(Refusal::USER),
                        Does::Personality => self.refused = Some(Refusal::RANDOMIZATION),
                        _ => {}
                    }
                    self.call(does as usize, [first, second, third, 0]);
                }
            }
        }
    }

    /// Closes all files from `first` on, or with CLOSE_RANGE_CLOEXEC marks them.
    #[inline(always)]
    fn close_from(&mut self, first: usize, mut how: usize) {
        if how == 0 {
            let all = bit(first).wrapping_neg();
            // Where errors are told stays open until the exec.
            if self.errors >= first {
                self.spare |= all;
                how = CLOSE_RANGE_CLOEXEC;
            } else {
                self.spare &= !all;
            }
        }
        if how != 0 {
            self.refused = Some(Refusal::FILES);
        }
        // SAFETY: numbers.
        unsafe { self.call(number::CLOSE_RANGE, [first, u32::MAX as usize, how]) };
    }

    /// Gives an open file another number too, under which it stays open at the exec.
    #[inline(never)]
    fn duplicate(&mut self, from: usize, to: usize) {
        // dup3(2) does not take two equal ones.
        let (number, second) = match from == to {
            true => (number::FCNTL, F_SETFD),
            false => (number::DUP3, to),
        };
        // SAFETY: numbers.
        unsafe { self.call(number, [from, second, 0]) };
    }

    /// Before another file, or none, is at `fd`: if errors are told there, a copy is kept for them, which
    /// closes at the exec. Where that cannot be had, stderr was closed, or there is no number
    /// left for it; then the action goes on, and an error has no place to be told.
    #[inline(never)]
    fn replace(&mut self, fd: usize) {
        if fd == self.errors {
            // SAFETY: numbers.
            let kept = unsafe { arch::syscall3(number::FCNTL, fd, F_DUPFD_CLOEXEC, KEPT) };
            if kept as isize > 0 {
                self.errors = kept;
            }
        }
        self.spare &= !bit(fd);
    }

    /// Puts a variable in the place of the one of its name, or takes that away.
    #[inline(never)]
    fn set(&mut self, name: CStr, new: Option<CStr>) {
        let source = &mut self.source;
        self.environment
            .set(name, new, |first, new| source.add(first, new));
    }

    /// Makes a variable of parts.
    ///
    /// # Safety
    ///
    /// As for [`act`](Launcher::act).
    #[inline(always)]
    unsafe fn join(&mut self, action: &Action) {
        // SAFETY: the operands are strings.
        let (name, separator, mut new) =
            unsafe { (action.text(0), action.text(1), action.text(2)) };
        let old = self.environment.get(name);
        let mut room = self.room.put(0_u8);
        if let Some(mut old) = old {
            if action.does == Does::Default {
                return;
            }
            if !Text::new(old).is_done() && action.does != Does::Assign {
                if action.does == Does::Suffix {
                    (old, new) = (new, old);
                }
                room = room.put_string(old).put_string(separator);
            }
        }
        self.room = room.put_string(new).put(b'=').put_string(name);
        // SAFETY: the first that was put is a NUL.
        let variable = unsafe { self.room.string() };
        let used = self
            .environment
            .as_ptr()
            .addr()
            .wrapping_sub(self.room.start().addr().get());
        if variable.len() >= MAX_ARG_STRLEN || used > MAX_STRINGS {
            self.fail(Errno::E2BIG.into());
        }
        self.set(variable, Some(variable));
    }

    /// Writes a line to a file: `%p` in it is this process, `%%` is `%`.
    ///
    /// # Safety
    ///
    /// `path` must be the address of a string.
    #[inline(always)]
    unsafe fn write(&mut self, path: usize, mut text: Text) {
        let fd = self.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
        // A process has a number of 10 digits at most, in the place of 2 bytes.
        self.room = self.room.take(5 * text.rest().len() + 1);
        let line = self.room.start();
        let mut to = line;
        let mut process = None;
        // SAFETY: there is room for all of it.
        unsafe {
            loop {
                let byte = text.next();
                if byte == 0 {
                    break;
                }
                if byte == b'%' && text.take(b'p') {
                    let mut digits = Text::new(*process.get_or_insert_with(|| {
                        // SAFETY: getpid takes nothing, and does not fail.
                        let process = arch::syscall0(number::GETPID);
                        self.room = self.room.put(0_u8).put_decimal(process);
                        self.room.string()
                    }));
                    while !digits.is_done() {
                        to.write(digits.next());
                        to = to.add(1);
                    }
                    continue;
                }
                if byte == b'%' {
                    text.take(b'%');
                }
                to.write(byte);
                to = to.add(1);
            }
            to.write(b'\n');
            to = to.add(1);
            let length = to.offset_from_unsigned(line);
            self.call(number::WRITE, [fd, line.addr().get(), length]);
            self.call(number::CLOSE, [fd]);
        }
    }

    /// openat(2), from the working directory; `path` is the address of a string.
    #[inline(never)]
    pub fn open(&mut self, path: usize, flags: usize) -> usize {
        // SAFETY: those who call this have such an address from an action.
        unsafe { self.call(number::OPENAT, [AT_FDCWD, path, flags, 0o666]) }
    }

    /// Makes a call, which must succeed.
    ///
    /// # Safety
    ///
    /// The call must have these arguments. What it reads must be as it wants it, and what it
    /// writes nobody else's.
    #[inline(always)]
    pub unsafe fn call<const COUNT: usize>(
        &mut self,
        number: usize,
        with: [usize; COUNT],
    ) -> usize {
        let argument = |at| match with.get(at) {
            Some(with) => Argument::new(*with),
            None => Argument::uninit(),
        };
        let [a, b, c, d] = [argument(0), argument(1), argument(2), argument(3)];
        // SAFETY: as promised.
        unsafe { call(a, b, c, d, number, self) }
    }

    /// Ends, as an action failed.
    #[inline(never)]
    pub fn fail(&mut self, why: Reason) -> ! {
        self.end(why, 125)
    }

    /// Says why, and ends.
    #[inline(never)]
    pub fn end(&mut self, why: Reason, status: u8) -> ! {
        S::say(self, why);
        exit_group(status)
    }
}

/// Makes a call, or tells of its error. Each argument is where the kernel looks for it, so that
/// nothing is moved; the fifth is 0, as some operations of prctl(2) want it.
///
/// # Safety
///
/// As for [`Launcher::call`].
#[inline(never)]
unsafe extern "C" fn call<S: Source>(
    a: Argument,
    b: Argument,
    c: Argument,
    d: Argument,
    number: usize,
    launcher: &mut Launcher<S>,
) -> usize {
    // SAFETY: as promised.
    match Errno::check(unsafe { arch::syscall_of(number, [a, b, c, d]) }) {
        Ok(result) => result,
        Err(error) => launcher.fail(error.into()),
    }
}

/// The bit of an open file in [`Launcher::spare`].
#[inline(never)]
fn bit(fd: usize) -> usize {
    if fd < usize::BITS as usize {
        1 << fd
    } else {
        0
    }
}
