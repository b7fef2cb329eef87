//! What the arguments of a call say, for those calls that a start makes: paths, the bytes that are
//! written and read, flags by their names, and small structures. All else is a number in hexadecimal.
//!
//! The layouts are those of x86-64 (the kernel's uapi headers). What the kernel fills in is read when
//! the call has ended, all else when it begins.

mod flags;
mod shape;

use std::fmt::Write;

use super::memory::Memory;
use crate::trace::{Arch, Call};
use shape::{Record, Shape};

/// So many characters of a text or of data are shown.
const SHOWN: usize = 40;
/// So many characters of a path: as long as a path may be (PATH_MAX in linux/limits.h).
const PATH: usize = 4096;

/// The arguments of a call as a reader needs them; those that wait for its end are None.
pub type Arguments = Vec<Option<String>>;

/// The arguments of a call that begins.
pub fn begins(call: &Call, memory: &mut Memory) -> Arguments {
    let shapes = shapes(call);
    // Permissions are only looked at when a file can be made, and then they come last.
    let unused = |shape: &Shape| match shape {
        Shape::ModeIf(flags, needed) => call.args[*flags] & needed == 0,
        _ => false,
    };
    let argument = |(at, shape): (usize, &Shape)| {
        shape
            .is_known_before()
            .then(|| text(*shape, at, call, memory))
    };
    let used = shapes.iter().take_while(|shape| !unused(shape));
    used.enumerate().map(argument).collect()
}

/// Fills in those that the kernel has told of, when a call has ended. `memory` is None for one that
/// never does.
pub fn ends(call: &Call, arguments: &mut Arguments, memory: Option<&mut Memory>) {
    let shapes = shapes(call);
    let failed = call.result.is_none_or(|result| result < 0);
    let mut memory = memory.filter(|_| !failed);
    for (at, argument) in arguments.iter_mut().enumerate() {
        if argument.is_none() {
            *argument = Some(match (&mut memory, shapes.get(at)) {
                (Some(memory), Some(shape)) => text(*shape, at, call, memory),
                _ => address(call.args[at]),
            });
        }
    }
}

/// What the arguments of a call are; all six registers of one that is not known here.
fn shapes(call: &Call) -> &'static [Shape] {
    match (call.arch, call.name) {
        (Arch::X86_64, Some(name)) => shape::of(name),
        _ => &shape::RAW,
    }
}

fn text(shape: Shape, at: usize, call: &Call, memory: &mut Memory) -> String {
    let value = call.args[at];
    let other = |index: usize| call.args.get(index).copied().unwrap_or(0);
    let result = call.result.unwrap_or(0);
    match shape {
        Shape::Hex => format!("{value:#x}"),
        Shape::Address | Shape::Left => address(value),
        Shape::Int => (value as i32).to_string(),
        Shape::Long => (value as i64).to_string(),
        Shape::Size => value.to_string(),
        Shape::Directory if value as i32 == libc::AT_FDCWD => "AT_FDCWD".into(),
        Shape::Directory => (value as i32).to_string(),
        Shape::Mode | Shape::ModeIf(..) => format!("{:#o}", value as u32),
        Shape::Path => match memory.text(value, PATH) {
            Some((path, whole)) => quoted(&path, PATH, whole),
            None => address(value),
        },
        Shape::Written(length) => data(value, other(length), memory),
        Shape::Filled => data(value, result as u64, memory),
        Shape::Flags(names) => flags::text(value, names),
        Shape::Open => flags::open(value),
        Shape::Protection => flags::or_none(value, "PROT_NONE", flags::PROTECTION),
        Shape::Mapped => flags::mapped(value),
        Shape::Access => flags::or_none(value, "F_OK", flags::ACCESS),
        Shape::Clone => flags::clone(value),
        Shape::Futex => flags::futex(value),
        Shape::One(names) => flags::one(value, names),
        Shape::Signal => flags::signal(value),
        Shape::Words => or_address(value, words(value, memory)),
        Shape::Count => or_address(value, count(value, memory)),
        Shape::Pieces(number) => or_address(value, pieces(value, other(number), memory)),
        Shape::Polled(number) => or_address(value, polled(value, other(number), memory)),
        Shape::Given(record) | Shape::Told(record) => {
            or_address(value, structure(record, value, memory))
        }
    }
}

fn structure(record: Record, at: u64, memory: &mut Memory) -> Option<String> {
    match record {
        Record::Signals => signals(at, memory),
        Record::Stat => stat(at, memory),
        Record::Limit => limit(at, memory),
        Record::Action => action(at, memory),
        Record::SignalStack => signal_stack(at, memory),
        Record::Time => time(at, memory),
        Record::Pair => pair(at, memory),
        Record::Status => status(at, memory),
        Record::CloneArgs => clone_args(at, memory),
    }
}

fn or_address(value: u64, text: Option<String>) -> String {
    text.unwrap_or_else(|| address(value))
}

/// An address, or `NULL`.
fn address(value: u64) -> String {
    match value {
        0 => "NULL".into(),
        _ => format!("{value:#x}"),
    }
}

/// Bytes in quotes, cut where more characters than so many would be shown. `whole` when nothing is
/// behind them.
pub fn quoted(bytes: &[u8], most: usize, whole: bool) -> String {
    let mut text = String::from("\"");
    let mut shown = 0;
    for &byte in bytes {
        let length = text.len();
        match byte {
            b'\n' => text.push_str("\\n"),
            b'\t' => text.push_str("\\t"),
            b'\r' => text.push_str("\\r"),
            b'"' => text.push_str("\\\""),
            b'\\' => text.push_str("\\\\"),
            0x20..0x7f => text.push(byte.into()),
            0 => text.push_str("\\0"),
            _ => {
                let _ = write!(text, "\\x{byte:02x}");
            }
        }
        // The first quote does not count.
        if text.len() - 1 > most {
            text.truncate(length);
            break;
        }
        shown += 1;
    }
    text.push('"');
    if !whole || shown < bytes.len() {
        text.push_str("...");
    }
    text
}

/// So many bytes of memory.
fn data(at: u64, length: u64, memory: &mut Memory) -> String {
    if length == 0 {
        return "\"\"".into();
    }
    let most = usize::try_from(length).unwrap_or(usize::MAX).min(SHOWN);
    let bytes = memory.bytes(at, most);
    match bytes.is_empty() {
        true => address(at),
        false => quoted(&bytes, SHOWN, bytes.len() as u64 == length),
    }
}

/// Numbers of 32 bits.
fn ints<const N: usize>(at: u64, memory: &mut Memory) -> Option<[u32; N]> {
    let bytes = whole(at, N * 4, memory)?;
    let mut numbers = [0; N];
    for (number, bytes) in numbers.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *number = u32::from_le_bytes(*bytes);
    }
    Some(numbers)
}

/// Numbers of 64 bits.
fn longs<const N: usize>(at: u64, memory: &mut Memory) -> Option<[u64; N]> {
    let bytes = whole(at, N * 8, memory)?;
    let mut numbers = [0; N];
    for (number, bytes) in numbers.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *number = u64::from_le_bytes(*bytes);
    }
    Some(numbers)
}

/// So many bytes, all of them.
fn whole(at: u64, length: usize, memory: &mut Memory) -> Option<Vec<u8>> {
    let bytes = memory.bytes(at, length);
    (at != 0 && bytes.len() == length).then_some(bytes)
}

/// The words of a vector that ends with a null pointer, as argv.
fn words(at: u64, memory: &mut Memory) -> Option<String> {
    /// So many of them are shown.
    const MOST: u64 = 8;
    let mut words = Vec::new();
    for index in 0..MOST {
        match memory.word(at.checked_add(index * 8)?)? {
            0 => return Some(format!("[{}]", words.join(", "))),
            word => {
                let (text, whole) = memory.text(word, SHOWN)?;
                words.push(quoted(&text, SHOWN, whole));
            }
        }
    }
    Some(format!("[{}, ...]", words.join(", ")))
}

/// How many there are in such a vector, as of the environment.
fn count(at: u64, memory: &mut Memory) -> Option<String> {
    /// More than the kernel takes of addresses in a quarter of the usual stack.
    const MOST: u64 = 1 << 18;
    for index in 0..MOST {
        if memory.word(at.checked_add(index * 8)?)? == 0 {
            return Some(variables(index));
        }
    }
    None
}

/// As many variables.
pub fn variables(number: u64) -> String {
    match number {
        1 => "[1 variable]".into(),
        _ => format!("[{number} variables]"),
    }
}

/// `struct stat` (asm/stat.h): the mode at 24, the size at 48.
fn stat(at: u64, memory: &mut Memory) -> Option<String> {
    let [mode] = ints(at.checked_add(24)?, memory)?;
    let [size] = longs(at.checked_add(48)?, memory)?;
    let kind = flags::one(u64::from(mode & libc::S_IFMT), flags::KINDS);
    Some(format!(
        "{{st_mode={kind}|{:#o}, st_size={size}, ...}}",
        mode & 0o7777
    ))
}

/// `struct rlimit64` (linux/resource.h).
fn limit(at: u64, memory: &mut Memory) -> Option<String> {
    let number = |limit| match limit {
        u64::MAX => "RLIM64_INFINITY".to_owned(),
        // As such limits are counted in.
        limit if limit % 1024 == 0 && limit >= 1 << 20 => format!("{}*1024", limit / 1024),
        limit => limit.to_string(),
    };
    let [soft, hard] = longs(at, memory)?;
    Some(format!(
        "{{rlim_cur={}, rlim_max={}}}",
        number(soft),
        number(hard)
    ))
}

/// `struct sigaction` of the kernel (asm/signal.h): handler, flags, restorer, mask.
fn action(at: u64, memory: &mut Memory) -> Option<String> {
    let [handler, flags, _, mask] = longs(at, memory)?;
    let handler = match handler as usize {
        libc::SIG_DFL => "SIG_DFL".to_owned(),
        libc::SIG_IGN => "SIG_IGN".to_owned(),
        _ => format!("{handler:#x}"),
    };
    let flags = flags::text(flags, flags::ACTION);
    let mask = flags::signals(mask);
    Some(format!(
        "{{sa_handler={handler}, sa_mask={mask}, sa_flags={flags}}}"
    ))
}

fn signals(at: u64, memory: &mut Memory) -> Option<String> {
    longs(at, memory).map(|[mask]| flags::signals(mask))
}

/// `stack_t` (asm/signal.h).
fn signal_stack(at: u64, memory: &mut Memory) -> Option<String> {
    let [sp, flags, size] = longs(at, memory)?;
    let flags = flags::or_none(flags & 0xffff_ffff, "0", flags::SIGNAL_STACK);
    let sp = address(sp);
    Some(format!("{{ss_sp={sp}, ss_flags={flags}, ss_size={size}}}"))
}

/// `struct timespec` (linux/time.h).
fn time(at: u64, memory: &mut Memory) -> Option<String> {
    let [seconds, nanoseconds] = longs(at, memory)?;
    let (seconds, nanoseconds) = (seconds as i64, nanoseconds as i64);
    Some(format!("{{tv_sec={seconds}, tv_nsec={nanoseconds}}}"))
}

/// An array of `struct iovec` (linux/uio.h), which are written.
fn pieces(at: u64, number: u64, memory: &mut Memory) -> Option<String> {
    /// So many of them are shown.
    const MOST: u64 = 4;
    let mut shown = Vec::new();
    for index in 0..number.min(MOST) {
        let [base, length] = longs(at.checked_add(index * 16)?, memory)?;
        shown.push(data(base, length, memory));
    }
    if number > MOST {
        shown.push("...".into());
    }
    Some(format!("[{}]", shown.join(", ")))
}

/// An array of `struct pollfd` (asm-generic/poll.h): the descriptor, and what is asked of it.
fn polled(at: u64, number: u64, memory: &mut Memory) -> Option<String> {
    /// So many of them are shown.
    const MOST: u64 = 4;
    let mut shown = Vec::new();
    for index in 0..number.min(MOST) {
        let [fd, events] = ints(at.checked_add(index * 8)?, memory)?;
        let events = flags::or_none(u64::from(events & 0xffff), "0", flags::POLL);
        shown.push(format!("{{fd={}, events={events}}}", fd as i32));
    }
    if number > MOST {
        shown.push("...".into());
    }
    Some(format!("[{}]", shown.join(", ")))
}

/// Two descriptors, as of a pipe.
fn pair(at: u64, memory: &mut Memory) -> Option<String> {
    ints(at, memory).map(|[one, other]| format!("[{}, {}]", one as i32, other as i32))
}

/// How a child ended: wait(2).
fn status(at: u64, memory: &mut Memory) -> Option<String> {
    let [status] = ints(at, memory)?;
    let status = status as i32;
    Some(if libc::WIFEXITED(status) {
        format!("[exited with {}]", libc::WEXITSTATUS(status))
    } else if libc::WIFSIGNALED(status) {
        format!(
            "[killed by {}]",
            flags::signal(libc::WTERMSIG(status) as u64)
        )
    } else {
        format!("[{status:#x}]")
    })
}

/// `struct clone_args` (linux/sched.h): flags, pidfd, child_tid, parent_tid, exit_signal.
fn clone_args(at: u64, memory: &mut Memory) -> Option<String> {
    let [flags, _, _, _, signal] = longs(at, memory)?;
    let flags = flags::text(flags, flags::CLONE);
    let signal = flags::signal(signal);
    Some(format!("{{flags={flags}, exit_signal={signal}, ...}}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(number: i64, args: [u64; 6], result: Option<i64>) -> Call {
        Call {
            thread: 0,
            arch: Arch::X86_64,
            number,
            name: Arch::X86_64.name(number),
            args,
            result,
            restart: false,
        }
    }

    /// The arguments of a call of this very process.
    fn decoded(number: i64, args: [u64; 6], result: Option<i64>) -> Vec<String> {
        let mut memory = Memory::of(std::process::id() as libc::pid_t);
        let call = call(number, args, result);
        let mut arguments = begins(&call, &mut memory);
        ends(&call, &mut arguments, Some(&mut memory));
        arguments.into_iter().map(Option::unwrap).collect()
    }

    #[test]
    fn paths_and_flags_are_in_words() {
        let path = c"/etc/ld.so.cache".as_ptr() as u64;
        let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as u64;
        let cwd = libc::AT_FDCWD as u64;
        assert_eq!(
            decoded(libc::SYS_openat, [cwd, path, flags, 0, 0, 0], Some(3)).join(" "),
            r#"AT_FDCWD "/etc/ld.so.cache" O_RDONLY|O_CLOEXEC"#
        );
        assert_eq!(
            decoded(
                libc::SYS_mmap,
                [0, 8192, 3, 0x22, u64::MAX, 0],
                Some(0x7000)
            )
            .join(" "),
            "NULL 8192 PROT_READ|PROT_WRITE MAP_PRIVATE|MAP_ANONYMOUS -1 0x0"
        );
        assert_eq!(
            decoded(libc::SYS_access, [path, 0, 0, 0, 0, 0], Some(0))[1],
            "F_OK"
        );
        assert_eq!(
            decoded(libc::SYS_arch_prctl, [0x1002, 16, 0, 0, 0, 0], Some(0))[0],
            "ARCH_SET_FS"
        );
    }

    #[test]
    fn what_the_kernel_fills_in_is_read_only_when_it_has() {
        let bytes = *b"\x7fELF\"\n";
        let at = bytes.as_ptr() as u64;
        let args = [3, at, 832, 0, 0, 0];
        assert_eq!(
            decoded(libc::SYS_read, args, Some(6))[1],
            r#""\x7fELF\"\n""#
        );
        assert_eq!(
            decoded(libc::SYS_read, args, Some(-4))[1],
            format!("{at:#x}")
        );
        assert_eq!(decoded(libc::SYS_read, args, None)[1], format!("{at:#x}"));
        assert_eq!(decoded(libc::SYS_read, args, Some(0))[1], "\"\"");
    }

    #[test]
    fn long_data_is_cut_and_addresses_without_memory_stay_addresses() {
        let long = [b'a'; 100];
        let args = [1, long.as_ptr() as u64, 100, 0, 0, 0];
        let cut = format!("\"{}\"...", "a".repeat(SHOWN));
        assert_eq!(decoded(libc::SYS_write, args, Some(100))[1], cut);
        assert_eq!(
            decoded(libc::SYS_write, [1, 8, 5, 0, 0, 0], Some(-14))[1],
            "0x8"
        );
        assert_eq!(
            decoded(libc::SYS_execve, [8, 8, u64::MAX, 0, 0, 0], Some(-14)).join(" "),
            "0x8 0x8 0xffffffffffffffff"
        );
        assert_eq!(
            decoded(libc::SYS_write, [1, u64::MAX, u64::MAX, 0, 0, 0], Some(-14))[1],
            "0xffffffffffffffff"
        );
    }

    #[test]
    fn a_call_that_is_not_known_shows_its_registers() {
        assert_eq!(
            decoded(999, [1, 2, 3, 4, 5, 6], Some(-38)).join(" "),
            "0x1 0x2 0x3 0x4 0x5 0x6"
        );
    }
}
