//! Finds the file that a subject names, and says what is wrong with it.

use std::ffi::{CString, OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::ptr;

use nix::unistd::{AccessFlags, Gid, Uid, access};

use crate::error::{Error, Result};

/// The file of a program's name. With a slash it is that path; without one it is looked up in
/// the PATH of the subject's environment, an empty element of which is the current directory.
pub(super) fn find(name: &Path, environment: &[OsString]) -> Result<PathBuf> {
    if name.as_os_str().as_bytes().contains(&b'/') {
        return Ok(name.to_owned());
    }
    let path = environment
        .iter()
        .find_map(|variable| variable.as_bytes().strip_prefix(b"PATH="))
        .unwrap_or_default();
    let mut candidates = path
        .split(|&byte| byte == b':')
        .map(|directory| match directory {
            b"" => Path::new(".").join(name),
            directory => Path::new(OsStr::from_bytes(directory)).join(name),
        })
        .filter(|candidate| candidate.is_file());
    if name.as_os_str().is_empty() || path.is_empty() {
        return Err(Error::NotFound(name.to_owned()));
    }
    // As the shells do: the first that can be run, else the first that is there.
    let first = candidates
        .next()
        .ok_or_else(|| Error::NotFound(name.to_owned()))?;
    if executable(&first) {
        return Ok(first);
    }
    Ok(candidates
        .find(|candidate| executable(candidate))
        .unwrap_or(first))
}

fn executable(path: &Path) -> bool {
    access(path, AccessFlags::X_OK).is_ok()
}

/// Says what is wrong with a program, as far as its file shows it.
pub(super) fn check(path: &Path) -> Result<()> {
    let refuse = |reason: &str| {
        Err(Error::NotRunnable {
            path: path.to_owned(),
            reason: reason.to_owned(),
        })
    };
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Err(Error::NotFound(path.to_owned()));
        }
        Err(error) => return refuse(&error.to_string()),
    };
    if metadata.is_dir() {
        return refuse("a directory; name a program in it");
    }
    if !metadata.is_file() {
        return refuse(kind(&metadata));
    }
    if !executable(path) {
        return refuse(
            "no permission to execute it; chmod +x, or a file system mounted without noexec",
        );
    }
    // A program may be executable and not readable. The kernel decides then.
    let Ok(file) = File::open(path) else {
        return Ok(());
    };
    let mut head = [0; 64];
    let read = file
        .read_at(&mut head, 0)
        .map_err(|e| Error::io(format!("read {}", path.display()), e))?;
    match &head {
        [b'#', b'!', ..] => Ok(()),
        [0x7f, b'E', b'L', b'F', ..] if cut_short(&file, &head, metadata.len()) => {
            refuse("an ELF file that is cut short; copy or build it again")
        }
        [0x7f, b'E', b'L', b'F', ..] => Ok(()),
        _ if read == 0 => refuse("an empty file"),
        _ => refuse("not a program: neither an ELF file nor a script that begins with #!"),
    }
}

fn kind(metadata: &Metadata) -> &'static str {
    let file_type = metadata.file_type();
    if file_type.is_fifo() {
        "a pipe; name a program"
    } else if file_type.is_socket() {
        "a socket; name a program"
    } else {
        "a device; name a program"
    }
}

/// Where the numbers stand that tell how long an ELF file must be: elf(5), `Elf32_Ehdr`,
/// `Elf64_Ehdr`, `Elf32_Phdr`, `Elf64_Phdr`.
struct Layout {
    /// The size of an address and an offset in the file.
    word: usize,
    header: u64,
    e_phoff: usize,
    e_phentsize: usize,
    e_phnum: usize,
    p_offset: usize,
    p_filesz: usize,
}

const ELF32: Layout = Layout {
    word: 4,
    header: 52,
    e_phoff: 28,
    e_phentsize: 42,
    e_phnum: 44,
    p_offset: 4,
    p_filesz: 16,
};
const ELF64: Layout = Layout {
    word: 8,
    header: 64,
    e_phoff: 32,
    e_phentsize: 54,
    e_phnum: 56,
    p_offset: 8,
    p_filesz: 32,
};

/// Whether an ELF file ends before its program headers or its segments do.
///
/// The kernel takes the bytes that a short header lacks for zeros (fs/exec.c, `prepare_binprm`),
/// and a program may lay its headers over each other so that their numbers do double duty:
/// only what no program can do without is missed here.
fn cut_short(file: &File, head: &[u8; 64], length: u64) -> bool {
    let layout = if head[4] == 1 { &ELF32 } else { &ELF64 };
    let number = |bytes: &[u8], at: usize, size: usize| {
        let mut number = [0; 8];
        number[..size].copy_from_slice(&bytes[at..at + size]);
        u64::from_le_bytes(number)
    };
    let headers = number(head, layout.e_phoff, layout.word);
    let size = number(head, layout.e_phentsize, 2);
    let count = number(head, layout.e_phnum, 2);
    if count == 0 {
        return length < layout.header;
    }
    let Some(end) = headers.checked_add(size * count) else {
        return true;
    };
    if end > length {
        return true;
    }
    let overlaid = headers < layout.header;
    (0..count).any(|index| {
        let mut header = [0; 64];
        let wanted = layout.p_filesz + layout.word;
        let at = headers + index * size;
        if overlaid || file.read_exact_at(&mut header[..wanted], at).is_err() {
            return false;
        }
        const PT_LOAD: u64 = 1;
        let offset = number(&header, layout.p_offset, layout.word);
        let bytes = number(&header, layout.p_filesz, layout.word);
        number(&header, 0, 4) == PT_LOAD && offset.checked_add(bytes).is_none_or(|end| end > length)
    })
}

/// What the kernel meant when execve(2) of a program that passed [`check`] failed.
pub(super) fn refused(path: &Path, error: io::Error) -> Error {
    let reason = match error.raw_os_error() {
        Some(libc::ENOENT) => {
            "its interpreter is missing: the program in its #! line, or the loader that the ELF file names"
                .to_owned()
        }
        Some(libc::ENOEXEC) => "not a program that this kernel runs: damaged, or made for another machine".to_owned(),
        Some(libc::E2BIG) => "its arguments and environment are too long; pass fewer (execve(2), \"Limits\")".to_owned(),
        Some(libc::ETXTBSY) => "open for writing elsewhere; close it there".to_owned(),
        _ => error.to_string(),
    };
    Error::NotRunnable {
        path: path.to_owned(),
        reason,
    }
}

/// What a program loses by being traced from here, in words; None when it keeps all.
///
/// execve(2): set-user-ID and set-group-ID bits and file capabilities (capabilities(7)) have no
/// effect for a traced program, unless its tracer may do everything (CAP_SYS_PTRACE).
pub(crate) fn lost_privileges(path: &Path) -> Option<String> {
    if may_trace_all() {
        return None;
    }
    let metadata = fs::metadata(path).ok()?;
    let set_user =
        metadata.mode() & libc::S_ISUID != 0 && metadata.uid() != Uid::effective().as_raw();
    let set_group_bits = libc::S_ISGID | libc::S_IXGRP;
    let set_group = metadata.mode() & set_group_bits == set_group_bits
        && metadata.gid() != Gid::effective().as_raw();
    let kind = match (set_user, set_group) {
        (true, _) => "set-user-ID",
        (_, true) => "set-group-ID",
        _ if has_capabilities(path) => "has file capabilities",
        _ => return None,
    };
    Some(format!(
        "{}: {kind}: runs without its privileges under trace",
        path.display()
    ))
}

/// Whether this thread has CAP_SYS_PTRACE: by its line in /proc, see proc(5).
fn may_trace_all() -> bool {
    const CAP_SYS_PTRACE: u32 = 19; // linux/capability.h
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok())
        .is_some_and(|set| set >> CAP_SYS_PTRACE & 1 == 1)
}

fn has_capabilities(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else {
        return false;
    };
    // SAFETY: two strings that end in NUL; with size 0 nothing is written.
    let size = unsafe {
        libc::getxattr(
            path.as_ptr(),
            c"security.capability".as_ptr(),
            ptr::null_mut(),
            0,
        )
    };
    size > 0
}
