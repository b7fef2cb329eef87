//! The command line of a launcher: from words to actions.

use shims::arch;
use shims::cstr;
use shims::stack::CStr;

use crate::action::{Action, Does};
use crate::names;
use crate::reasons::Reason;
use crate::room::Room;
use crate::run::{CLOSE_RANGE_CLOEXEC, DIRECT, DIRECT_ONLY, EXPLAIN};
use crate::text::{Text, find};
use crate::user::{self, ID};

/// What `--help` prints; and the list of all options, so that there is none that it does not tell.
pub const HELP: CStr = cstr!(
    "launch [ACTION]... [--] PROGRAM [ARG]...
Does the actions from left to right, then becomes PROGRAM (looked up in PATH).

Limits: N or SOFT:HARD or unlimited
 --cpu= --fsize= --data= --stack= --core= --rss= --nproc= --nofile= --memlock=
 --as= --locks= --sigpending= --msgqueue= --nice= --rtprio= --rttime=
Start: --direct=only --direct --explain --help --version
Process:
 -a,--argv0 NAME -C,--chdir DIR --chroot DIR --umask MODE --setsid --pgrp
 --ctty --nice N --cpus LIST --sched POLICY[:N] --ionice CLASS[:N] -R --nnp
 --subreaper --pdeathsig SIGNAL --alarm SECONDS
 --default-signal= --default-signal --ignore-signal= --block-signal= (LISTs)
Variables: NAME=VALUE
 --set-default N V --set N V -u,--unset N --prefix N SEP V --suffix N SEP V
 -i,--ignore-environment
Files: [N]<FILE [N]>FILE [N]>>FILE [N]<>FILE [N]>|FILE [N]>&M [N]<&M [N]>&-
 --close-from N --cloexec-from N --stdio-null --lock FILE
 --write FILE TEXT (%p: the process)
Users: -U USER[:GROUP] --reuid N --regid N --groups LIST --clear-groups
Status: 125 launch failed; 126 PROGRAM cannot run; 127 it is not there
"
);

/// A set of processors, as many as in sched(7)'s `cpu_set_t`, or of signals.
type Set = [u8; 128];

/// An option: the form of its value, and the action that it stands for.
struct Opt {
    form: Form,
    does: Does,
    /// Numbers, or one of the constants below.
    with: [u8; 3],
}

/// The form of an option's value, and so what [`VALUE`] is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
#[repr(u8)]
enum Form {
    // There is none:
    /// 0,
    Nothing,
    /// all signals that can be caught,
    Catchable,
    /// ioctl(2)'s TIOCSCTTY,
    Terminal,
    /// personality(2)'s ADDR_NO_RANDOMIZE.
    NoRandomize,
    // It is part of the word, behind the option's `=`:
    /// a soft and a hard limit, which are in the data: the limit's number,
    Limits,
    /// signals: their set, which is also in the data.
    Signals,
    // It is behind an `=`, or the next word:
    /// any text: its address,
    Text,
    /// the name of a variable: its address,
    Name,
    /// numbers of groups, which are in the data: how many,
    Groups,
    /// a user: the address of the text,
    User,
    /// a mode in octal,
    Mode,
    /// an `unsigned int`: a file descriptor, seconds,
    Unsigned,
    /// a user or a group by number; the highest one means "none" to the kernel,
    Id,
    /// from -20 to 20,
    Nice,
    /// a signal,
    Signal,
    /// processors: their set is in the data,
    Processors,
    /// a policy; its priority is in the data,
    Policy,
    /// a class and a level: `ioprio`, as of ioprio_set(2).
    IoPriority,
}

// Operands in the place of a number, which are numbers that no option needs:
/// what the value was read into,
const VALUE: u8 = 127;
/// the address of the next word,
const NEXT: u8 = 126;
/// the address of the data, which the value is or goes with.
const DATA: u8 = 125;

macro_rules! options {
    ($($form:ident $does:ident [$($with:expr),*];)*) => {
        static OPTIONS: &[Opt] = &[$(Opt {
            form: Form::$form,
            does: Does::$does,
            with: {
                let given: &[u8] = &[$($with as u8),*];
                let mut with = [0; 3];
                with.split_at_mut(given.len()).0.copy_from_slice(given);
                with
            },
        }),*];
    };
}

/// How many limits there are: the first places in HELP, in the order of
/// include/uapi/asm-generic/resource.h. They have one row.
const LIMITS: u64 = 16;

// In the order of HELP.
options! {
    Limits      Limit             [VALUE, DATA];
    // direct=only, direct, explain, help, version.
    Nothing     Direct            [DIRECT | DIRECT_ONLY];
    Nothing     Direct            [DIRECT];
    Nothing     Direct            [EXPLAIN];
    Nothing     Help              [];
    Nothing     Version           [];
    // a, C, chroot, umask, setsid, pgrp,
    Text        Argv0             [VALUE];
    Text        Chdir             [VALUE];
    Text        Chroot            [VALUE];
    Mode        Umask             [VALUE];
    Nothing     Setsid            [];
    Nothing     Setpgid           [];
    // ctty, nice, cpus, sched, ionice, R, nnp,
    Terminal    Ioctl             [0, VALUE];
    Nice        Setpriority       [0, 0, VALUE];
    Processors  SchedSetaffinity  [0, size_of::<Set>(), DATA];
    Policy      SchedSetscheduler [0, VALUE, DATA];
    IoPriority  IoprioSet         [IOPRIO_WHO_PROCESS, 0, VALUE];
    NoRandomize Personality       [VALUE];
    Nothing     Prctl             [PR_SET_NO_NEW_PRIVS, 1];
    // subreaper, pdeathsig, alarm,
    Nothing     Prctl             [PR_SET_CHILD_SUBREAPER, 1];
    Signal      ParentDeathSignal [VALUE];
    Unsigned    Alarm             [VALUE];
    // default-signal=, default-signal, ignore-signal=, block-signal=.
    Signals     Signals           [VALUE, SIG_DFL];
    Catchable   Signals           [VALUE, SIG_DFL];
    Signals     Signals           [VALUE, SIG_IGN];
    Signals     Block             [DATA];
    // set-default, set, u, prefix, suffix, i.
    Name        Default           [VALUE, VALUE, NEXT];
    Name        Assign            [VALUE, VALUE, NEXT];
    Name        Set               [VALUE];
    Name        Prefix            [VALUE, NEXT, NEXT];
    Name        Suffix            [VALUE, NEXT, NEXT];
    Nothing     Clear             [];
    // close-from, cloexec-from, stdio-null, lock, write.
    Unsigned    CloseFrom         [VALUE];
    Unsigned    CloseFrom         [VALUE, CLOSE_RANGE_CLOEXEC];
    Nothing     StdioNull         [];
    Text        Lock              [VALUE];
    Text        Write             [VALUE, NEXT];
    // U, reuid, regid, groups, clear-groups.
    User        User              [VALUE];
    Id          Setresuid         [VALUE, VALUE, VALUE];
    Id          Setresgid         [VALUE, VALUE, VALUE];
    Groups      Setgroups         [VALUE, DATA];
    Nothing     Setgroups         [];
}

// From the kernel's headers, include/uapi/: asm-generic/fcntl.h,
pub(crate) const O_RDONLY: usize = 0;
pub(crate) const O_WRONLY: usize = 1;
pub(crate) const O_RDWR: usize = 2;
pub(crate) const O_CREAT: usize = 0o100;
pub(crate) const O_TRUNC: usize = 0o1000;
pub(crate) const O_APPEND: usize = 0o2000;
pub(crate) const O_CLOEXEC: usize = 0o2000000;
// asm-generic/ioctls.h,
const TIOCSCTTY: u64 = 0x540e;
// linux/personality.h,
const ADDR_NO_RANDOMIZE: u64 = 0x40000;
// linux/prctl.h,
pub(crate) const PR_SET_PDEATHSIG: usize = 1;
const PR_SET_CHILD_SUBREAPER: usize = 36;
const PR_SET_NO_NEW_PRIVS: usize = 38;
// asm-generic/signal-defs.h and signal.h,
/// sigprocmask(2): these signals too.
pub const SIG_BLOCK: usize = 0;
const SIG_DFL: usize = 0;
const SIG_IGN: usize = 1;
const SIGKILL: u64 = 9;
const SIGSTOP: u64 = 19;
const SIGNALS: u64 = 64;
/// The size of the kernel's set of signals, in bytes.
pub const SIGSET_SIZE: usize = 8;
// linux/ioprio.h.
const IOPRIO_WHO_PROCESS: usize = 1;
const IOPRIO_CLASS_SHIFT: u64 = 13;

/// The highest `int`.
const INT: u64 = i32::MAX as u64;

/// Reads one action, or the program, from a word and as many of those that follow as it takes.
/// What it decodes into where that is not a number (limits, sets, …) is put into `room`.
#[inline(always)]
pub fn read(
    words: &mut impl Iterator<Item = CStr>,
    room: &mut Room,
    action: &mut Action,
) -> Result<(), Reason> {
    let mut word = words.next().ok_or(Reason::NO_PROGRAM)?;
    let mut text = Text::new(word);
    if text.take(b'-') {
        if !(text.take(b'-') && text.is_done()) {
            return option(word, words, room, action);
        }
        word = words.next().ok_or(Reason::NO_PROGRAM)?;
    } else if let Some(rest) = redirection(text, action) {
        return if rest.is_done() {
            Ok(())
        } else {
            Err(Reason::WRONG)
        };
    }
    action.does = Does::Run;
    action.with[0] = address(word);
    while text.peek() != 0 {
        if text.next() == b'=' {
            action.does = Does::Set;
            action.with[1] = action.with[0];
            break;
        }
    }
    Ok(())
}

fn address(text: CStr) -> usize {
    text.as_ptr().addr()
}

/// A word that a shell would take for a redirection, `[N]<F` and its like. Gives what is left of
/// it that was not understood. None: it is no redirection.
#[inline(always)]
fn redirection(word: Text, action: &mut Action) -> Option<Text> {
    let mut text = word;
    while text.peek().is_ascii_digit() {
        text.next();
    }
    let operator = text.next();
    let (mut to, mut flags) = match operator {
        b'<' => (0, O_RDONLY),
        b'>' => (1, O_WRONLY | O_CREAT | O_TRUNC),
        // No variable has an empty name.
        b'=' if word.peek() == b'=' => return Some(Text::REFUSED),
        _ => return None,
    };
    if word.peek() != operator {
        let rest;
        (to, rest) = word.number(INT);
        if rest.is_refused() {
            return Some(rest);
        }
    }
    if text.take(b'&') {
        if text.take(b'-') {
            action.does = Does::Close;
            action.with[0] = to as usize;
            return Some(text);
        }
        let (from, rest) = text.number(INT);
        action.does = Does::Duplicate;
        action.with[0] = from as usize;
        action.with[1] = to as usize;
        return Some(rest);
    }
    if text.take(b'>') {
        flags = match operator {
            b'<' => O_RDWR | O_CREAT,
            _ => O_WRONLY | O_CREAT | O_APPEND,
        };
    } else if operator == b'>' {
        text.take(b'|');
    }
    if text.is_done() {
        return Some(Text::REFUSED);
    }
    action.does = Does::Open;
    action.with[0] = address(text.rest());
    action.with[1] = flags | O_CLOEXEC;
    action.with[2] = to as usize;
    Some(text.end())
}

/// An option, and what follows it.
#[inline(always)]
fn option(
    word: CStr,
    words: &mut impl Iterator<Item = CStr>,
    room: &mut Room,
    action: &mut Action,
) -> Result<(), Reason> {
    let (place, mut text) = find(HELP, Text::new(word));
    if text.is_refused() {
        return Err(Reason::UNKNOWN);
    }
    // SAFETY: there is one for each name in HELP, which a test counts.
    let option = unsafe { OPTIONS.get_unchecked(place.saturating_sub(LIMITS - 1) as usize) };
    // Its fields are read from there, and not guessed from the place, which is longer.
    let option = arch::opaque(option);
    if option.form >= Form::Text && !text.take(b'=') {
        if !text.is_done() {
            return Err(Reason::UNKNOWN);
        }
        text = Text::new(words.next().ok_or(Reason::MISSING)?);
    }
    let (value, text) = option.form.value(place, text, room);
    if !text.is_done() {
        return Err(Reason::WRONG);
    }
    action.does = option.does;
    for at in 0..3 {
        action.with[at] = match option.with[at] {
            VALUE => value as usize,
            NEXT => address(words.next().ok_or(Reason::MISSING)?),
            DATA => room.start().addr().get(),
            number => number.into(),
        };
    }
    Ok(())
}

impl Form {
    /// Reads a value of this form, of the option at this place. Gives what was not read, too.
    #[inline(never)]
    fn value(self, place: u64, mut text: Text, room: &mut Room) -> (u64, Text) {
        let whole = address(text.rest()) as u64;
        match self {
            Form::Nothing => (0, text),
            Form::Catchable => (!(1 << (SIGKILL - 1) | 1 << (SIGSTOP - 1)), text),
            Form::Terminal => (TIOCSCTTY, text),
            Form::NoRandomize => (ADDR_NO_RANDOMIZE, text),
            Form::Text => (whole, text.end()),
            Form::Name => {
                let mut rest = text;
                while !matches!(rest.peek(), 0 | b'=') {
                    rest.next();
                }
                if text.is_done() {
                    rest = Text::REFUSED;
                }
                (whole, rest)
            }
            Form::Groups => {
                let mut count = 0;
                loop {
                    let (id, rest) = text.number(ID);
                    *room = room.put(id as u32);
                    count += 1;
                    text = rest;
                    if !text.take(b',') {
                        return (count, text);
                    }
                }
            }
            Form::User => (whole, user::check(text)),
            Form::Mode => text.digits(0o777, 8),
            Form::Unsigned => text.number(u32::MAX.into()),
            Form::Id => text.number(ID),
            Form::Nice => {
                let negative = text.take(b'-');
                let (nice, text) = text.number(20);
                (if negative { nice.wrapping_neg() } else { nice }, text)
            }
            Form::Signal => {
                let (bit, text) = signal(text);
                (bit + 1, text)
            }
            Form::Signals => list(text, signal, room),
            Form::Processors => list(text, processor, room),
            Form::Policy | Form::IoPriority => {
                let (names, most) = match self {
                    Form::Policy => (names::POLICIES, 99),
                    _ => (names::IO_CLASSES, 7),
                };
                let (first, mut text) = text.name(names, 7);
                let mut second = 0;
                if text.take(b':') {
                    (second, text) = text.number(most);
                }
                *room = room.put(second);
                match self {
                    Form::Policy => (first, text),
                    _ => (first << IOPRIO_CLASS_SHIFT | second, text),
                }
            }
            Form::Limits => {
                let (soft, mut text) = limit(text);
                let mut hard = soft;
                if text.take(b':') {
                    (hard, text) = limit(text);
                }
                *room = room.put([soft, hard]);
                (place, text)
            }
        }
    }
}

/// A limit of setrlimit(2).
#[inline(never)]
fn limit(text: Text) -> (u64, Text) {
    let found = find(names::UNLIMITED, text);
    if found.1.is_refused() {
        return text.number(u64::MAX);
    }
    (u64::MAX, found.1)
}

/// A signal, by its name, with or without SIG, or its number: its bit in a set.
#[inline(never)]
fn signal(text: Text) -> (u64, Text) {
    let mut name = text;
    if !(name.take(b'S') && name.take(b'I') && name.take(b'G')) {
        name = text;
    }
    let found = find(names::SIGNALS, name);
    if !found.1.is_refused() {
        return found;
    }
    let (number, rest) = text.number(SIGNALS);
    if number == 0 {
        return (0, Text::REFUSED);
    }
    (number - 1, rest)
}

/// A processor, by its number.
fn processor(text: Text) -> (u64, Text) {
    text.number(8 * size_of::<Set>() as u64 - 1)
}

/// A set as taskset(1) has them: `1,2`, `0-3`, and `0-31:2` for every second. It is in the room,
/// and its first 64 bits are given too.
#[inline(never)]
fn list(mut text: Text, one: fn(Text) -> (u64, Text), room: &mut Room) -> (u64, Text) {
    *room = room.put_zeros::<Set>();
    let set = room.start();
    loop {
        let (mut at, mut last, mut step);
        (at, text) = one(text);
        (last, step) = (at, 1);
        if text.take(b'-') {
            (last, text) = one(text);
            if text.take(b':') {
                (step, text) = processor(text);
            }
            if at > last || step == 0 {
                return (0, Text::REFUSED);
            }
        }
        while at <= last {
            // SAFETY: the set has as many bits, and it is nobody else's.
            unsafe { arch::set_bit(set.as_ptr(), at as usize) };
            at += step;
        }
        if !text.take(b',') {
            // SAFETY: there it is.
            return (unsafe { set.cast().read_unaligned() }, text);
        }
    }
}

/// What an operand of an action is the address of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// A string that ends in NUL.
    Text,
    /// So many bytes.
    Bytes(usize),
}

impl Action {
    /// What an operand is the address of, if it is one.
    pub fn pointer(&self, at: usize) -> Option<Extent> {
        let [first, second, _] = self.with;
        match (self.does, at) {
            (Does::Setgroups, 1) if first > 0 => Some(Extent::Bytes(4 * first)),
            // struct rlimit: two words.
            (Does::Limit, 1) => Some(Extent::Bytes(16)),
            (Does::Block, 0) => Some(Extent::Bytes(SIGSET_SIZE)),
            // struct sched_param: one int.
            (Does::SchedSetscheduler, 2) => Some(Extent::Bytes(4)),
            (Does::SchedSetaffinity, 2) => Some(Extent::Bytes(second)),
            (Does::Set, 1) if second == 0 => None,
            (Does::Assign | Does::Default | Does::Prefix | Does::Suffix, _)
            | (Does::Set | Does::Write, 0 | 1) => Some(Extent::Text),
            (
                Does::Chdir
                | Does::Chroot
                | Does::Open
                | Does::Argv0
                | Does::User
                | Does::Lock
                | Does::Run,
                0,
            ) => Some(Extent::Text),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All names in HELP that a space or a comma comes before, with what is before them.
    fn names() -> Vec<(char, &'static str)> {
        let help = str::from_utf8(HELP.to_bytes()).unwrap();
        let starts = help.match_indices('-').map(|(at, _)| at);
        let before = |at: usize| help[..at].chars().next_back().unwrap();
        let starts = starts.filter(|&at| matches!(before(at), ' ' | ','));
        starts
            .map(|at| {
                let name = help[at..].split([' ', ',', '\n']).next().unwrap();
                (before(at), name)
            })
            .collect()
    }

    fn string(text: &str) -> CStr {
        let text = Box::leak(format!("{text}\0").into_boxed_str());
        // SAFETY: it ends in NUL and is never freed.
        unsafe { CStr::new(core::ptr::NonNull::from(text.as_bytes()).cast()) }
    }

    #[test]
    fn each_place_in_help_has_a_row() {
        let places = names().iter().filter(|(before, _)| *before == ' ').count();
        assert_eq!(places, OPTIONS.len() + LIMITS as usize - 1);
    }

    #[test]
    fn each_name_in_help_is_found_at_its_place() {
        let mut place = 0_u64.wrapping_sub(1);
        for (before, name) in names() {
            if before == ' ' {
                place = place.wrapping_add(1);
            }
            let (found, rest) = find(HELP, Text::new(string(name)));
            assert_eq!((found, rest.is_done()), (place, true), "{name}");
        }
    }

    #[test]
    fn the_limits_come_first_by_their_numbers() {
        // include/uapi/asm-generic/resource.h.
        let limits = [
            "cpu",
            "fsize",
            "data",
            "stack",
            "core",
            "rss",
            "nproc",
            "nofile",
            "memlock",
            "as",
            "locks",
            "sigpending",
            "msgqueue",
            "nice",
            "rtprio",
            "rttime",
        ];
        let first = names().into_iter().map(|(_, name)| name);
        assert!(
            first
                .zip(limits)
                .all(|(name, limit)| name == format!("--{limit}="))
        );
    }
}
