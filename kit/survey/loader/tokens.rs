//! `$ORIGIN`, `$LIB` and `$PLATFORM` in what a file asks its loader for, as glibc replaces them
//! (`_dl_dst_substitute` of `elf/dl-load.c`).

/// What the tokens of one file stand for.
#[derive(Debug, Default)]
pub struct Tokens<'a> {
    /// `$ORIGIN`: the folder of that file. None if it cannot be told.
    pub origin: Option<Vec<u8>>,
    /// `$LIB`.
    pub lib: &'a [u8],
    /// `$PLATFORM`. None if it cannot be told.
    pub platform: Option<&'a [u8]>,
    /// The program is set-user-ID: `$ORIGIN` may only begin a path.
    pub secure: bool,
    /// And only lead into one of these folders, if the file is that program itself.
    pub trusted: Option<&'a [Vec<u8>]>,
}

/// Whether there is a token in a text.
pub fn has_any(text: &[u8]) -> bool {
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| *byte == b'$') {
        rest = &rest[at + 1..];
        if NAMES.iter().any(|name| length(rest, name).is_some()) {
            return true;
        }
    }
    false
}

const NAMES: [&[u8]; 3] = [b"ORIGIN", b"PLATFORM", b"LIB"];

impl Tokens<'_> {
    /// The text with its tokens replaced. None if one of them has no value, or is not allowed:
    /// the loader leaves such a path out.
    pub fn replace(&self, text: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::with_capacity(text.len());
        let mut check = false;
        let mut rest = text;
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            let token = (byte == b'$')
                .then(|| NAMES.iter().find_map(|n| Some((*n, length(after, n)?))))
                .flatten();
            let Some((name, length)) = token else {
                out.push(byte);
                continue;
            };
            rest = &after[length..];
            match name {
                b"ORIGIN" => {
                    let first = out.is_empty() && after.len() + 1 == text.len();
                    if self.secure && !(first && matches!(rest.first(), None | Some(b'/'))) {
                        return None;
                    }
                    check = self.secure && self.trusted.is_some();
                    out.extend_from_slice(self.origin.as_deref()?);
                }
                b"PLATFORM" => out.extend_from_slice(self.platform?),
                _ => out.extend_from_slice(self.lib),
            }
        }
        if !check {
            return Some(out);
        }
        let folder = normal(&out);
        let mut trusted = self.trusted.unwrap_or_default().iter();
        trusted
            .any(|trusted| folder.starts_with(trusted))
            .then_some(out)
    }
}

/// How many bytes after a `$` are the token of that name, in braces or not.
fn length(after: &[u8], name: &[u8]) -> Option<usize> {
    let braces = after.first() == Some(&b'{');
    let at = usize::from(braces);
    let end = after.get(at..)?.strip_prefix(name)?.first();
    match (braces, end) {
        (true, Some(b'}')) => Some(name.len() + 2),
        (true, _) => None,
        (false, Some(b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_')) => None,
        (false, _) => Some(name.len()),
    }
}

/// A path without `//`, `.` and `..`, and with a `/` at its end.
fn normal(path: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::with_capacity(path.len() + 1);
    out.push(b'/');
    for part in path.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                out.pop();
                let end = out.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
                out.truncate(end);
                out.push(b'/');
            }
            part => {
                out.extend_from_slice(part);
                out.push(b'/');
            }
        }
    }
    out
}
