//! Who `-U USER[:GROUP]` means.
//!
//! Names are looked up in `/etc/passwd` and `/etc/group` as they lie there (passwd(5), group(5)),
//! without NSS: each file that is needed is read whole. What is doubtful is an error: a name
//! without an entry, an entry without a proper id. Nothing falls back to 0, which is root.

use shims::arch::number;
use shims::cstr;
use shims::errno::Errno;
use shims::stack::CStr;

use crate::reasons::Reason;
use crate::run::{Launcher, Source};
use crate::text::Text;
use crate::words::O_CLOEXEC;

/// The highest number of a user or a group. One more means "none" to the kernel.
pub const ID: u64 = u32::MAX as u64 - 1;

/// How long a file may be.
const LONGEST: usize = 1 << 20;

/// Whether this is `USER`, a name; or `USER:GROUP`, each of them a name or an id. What consists of
/// digits is an id, even where there is an entry of that name. Gives what is behind it.
#[inline(always)]
pub fn check(user: Text) -> Text {
    let (id, mut rest) = part(user);
    if rest.take(b':') {
        return part(rest).1;
    }
    if id { Text::REFUSED } else { rest }
}

/// Whether a part is an id, and what follows it.
#[inline(never)]
fn part(part: Text) -> (bool, Text) {
    let mut rest = part;
    let mut id = true;
    // No name has a control character.
    while rest.peek() >= b' ' && rest.peek() != b':' {
        id &= rest.next().is_ascii_digit();
    }
    if id {
        // Nothing is no number either.
        rest = part.number(ID).1;
    }
    (id, rest)
}

impl Text {
    /// What is behind the next such byte, if there is one before the line's end.
    #[inline(never)]
    fn behind(mut self, byte: u8) -> Text {
        while !matches!(self.peek(), 0 | b'\n') {
            if self.next() == byte {
                return self;
            }
        }
        Text::REFUSED
    }

    /// What is behind a name, which ends where it does or before a colon, if this starts with it.
    #[inline(never)]
    fn behind_name(mut self, mut name: Text) -> Text {
        while !matches!(name.peek(), 0 | b':') {
            if !self.take(name.next()) {
                return Text::REFUSED;
            }
        }
        self
    }

    /// An id and a colon, and what is behind them.
    #[inline(never)]
    fn id(self) -> (usize, Text) {
        let (id, mut rest) = self.number(ID);
        if !rest.take(b':') {
            rest = Text::REFUSED;
        }
        (id as usize, rest)
    }

    /// The next line.
    #[inline(always)]
    fn line(mut self) -> Text {
        while !matches!(self.next(), 0 | b'\n') {}
        self
    }
}

impl<S: Source> Launcher<S> {
    /// Becomes a user: with the gid of its entry, and the groups that list it; or with another
    /// group, and no more. The word has been [checked](check).
    #[inline(always)]
    pub fn become_user(&mut self, word: CStr) {
        let user = Text::new(word);
        let (mut uid, mut group) = user.id();
        let mut gid = 0;
        if group.is_refused() {
            group = user.behind(b':');
            let mut entry = self.entry(cstr!("/etc/passwd"), user);
            (uid, entry) = self.id(entry);
            (gid, _) = self.id(entry);
        }
        let mut count = 0;
        if group.is_refused() {
            let mut line = self.file(cstr!("/etc/group"));
            while !line.is_done() {
                let (id, mut member) = line.behind(b':').behind(b':').id();
                while !member.is_refused() {
                    if matches!(member.behind_name(user).peek(), b',' | b'\n' | 0) {
                        self.room = self.room.put(id as u32);
                        count += 1;
                        break;
                    }
                    member = member.behind(b',');
                }
                line = line.line();
            }
        } else {
            let (id, rest) = group.number(ID);
            gid = id as usize;
            if !rest.is_done() {
                let entry = self.entry(cstr!("/etc/group"), group);
                (gid, _) = self.id(entry);
            }
        }
        let groups = self.room.start().addr().get();
        // SAFETY: so many groups were put there; the rest are numbers.
        unsafe {
            self.call(number::SETGROUPS, [count, groups]);
            self.call(number::SETGID, [gid]);
            self.call(number::SETUID, [uid]);
        }
    }

    /// What is behind name and password in the entry of this name in a file.
    #[inline(never)]
    fn entry(&mut self, path: CStr, name: Text) -> Text {
        let mut line = self.file(path);
        while !line.is_done() {
            let rest = line.behind_name(name);
            if rest.peek() == b':' {
                return rest.behind(b':').behind(b':');
            }
            line = line.line();
        }
        self.fail(Reason::NO_USER)
    }

    /// An id in an entry, and what is behind it.
    #[inline(never)]
    fn id(&mut self, entry: Text) -> (usize, Text) {
        let (id, rest) = entry.id();
        if rest.is_refused() {
            self.fail(Reason::NO_ID);
        }
        (id, rest)
    }

    /// All of a file, as far as it is text.
    #[inline(never)]
    fn file(&mut self, path: CStr) -> Text {
        let fd = self.open(path.as_ptr().addr(), O_CLOEXEC);
        self.room = self.room.take(LONGEST);
        let start = self.room.start();
        // SAFETY: so many bytes are nobody else's, and one more is for the NUL.
        unsafe {
            let length = self.call(number::READ, [fd, start.addr().get(), LONGEST]);
            if length == LONGEST {
                self.fail(Errno::EFBIG.into());
            }
            start.add(length).write(0);
            self.call(number::CLOSE, [fd]);
            Text::new(CStr::new(start))
        }
    }
}
