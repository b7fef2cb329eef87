//! Words as a line that a shell would split into the same words.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The words, quoted where a shell needs it: by `'…'`, or by `$'…'` (bash(1), "QUOTING") where there
/// is something in them that does not print.
pub fn quote<'a>(words: impl IntoIterator<Item = &'a OsStr>) -> String {
    let mut line = String::new();
    for word in words {
        if !line.is_empty() {
            line.push(' ');
        }
        push(&mut line, word.as_bytes());
    }
    line
}

fn push(line: &mut String, word: &[u8]) {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(byte);
    let printed = str::from_utf8(word)
        .ok()
        .filter(|text| !text.contains(char::is_control));
    match printed {
        Some(text) if !text.is_empty() && word.iter().all(plain) => line.push_str(text),
        Some(text) => {
            line.push('\'');
            line.push_str(&text.replace('\'', r"'\''"));
            line.push('\'');
        }
        None => {
            line.push_str("$'");
            for &byte in word {
                match byte {
                    b'\\' | b'\'' => line.extend(['\\', byte.into()]),
                    b' '..=b'~' => line.push(byte.into()),
                    // A String takes all that is written to it.
                    _ => drop(write!(line, "\\x{byte:02x}")),
                }
            }
            line.push('\'');
        }
    }
}

/// The words of a line as [`quote`] makes it. None: it is no such line.
pub fn split(line: &str) -> Option<Vec<OsString>> {
    let mut words = Vec::new();
    let mut rest = line.as_bytes();
    while !rest.is_empty() {
        if !words.is_empty() {
            rest = rest.strip_prefix(b" ")?;
        }
        let word;
        (word, rest) = first(rest)?;
        words.push(OsString::from_vec(word));
    }
    Some(words)
}

/// The word that the text starts with, and what follows it.
fn first(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut word = Vec::new();
    if let Some(mut rest) = text.strip_prefix(b"$'") {
        loop {
            (word, rest) = match rest {
                [b'\'', rest @ ..] => return Some((word, rest)),
                [b'\\', b'x', high, low, rest @ ..] => {
                    let digits = [*high, *low];
                    let byte = u8::from_str_radix(str::from_utf8(&digits).ok()?, 16).ok()?;
                    ([word, vec![byte]].concat(), rest)
                }
                [b'\\', byte, rest @ ..] | [byte, rest @ ..] => {
                    ([word, vec![*byte]].concat(), rest)
                }
                [] => return None,
            };
        }
    }
    if text.first() != Some(&b'\'') {
        let end = text.iter().position(|byte| *byte == b' ');
        let (word, rest) = text.split_at(end.unwrap_or(text.len()));
        return Some((word.to_vec(), rest));
    }
    let mut rest = text;
    // 'it'\''s' is two pieces and a quote.
    while let Some(piece) = rest.strip_prefix(b"'") {
        let end = piece.iter().position(|byte| *byte == b'\'')?;
        word.extend(&piece[..end]);
        rest = &piece[end + 1..];
        match rest.strip_prefix(br"\'") {
            Some(more) => {
                word.push(b'\'');
                rest = more;
            }
            None => break,
        }
    }
    Some((word, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(list: &[&[u8]]) -> Vec<OsString> {
        list.iter()
            .map(|word| OsStr::from_bytes(word).to_owned())
            .collect()
    }

    const HARD: [&[u8]; 10] = [
        b"plain",
        b"",
        b"two words",
        b"it's",
        b"''",
        b"'",
        b"\xff\xfe 'quoted' \\",
        b"a\nb\tc\x7f",
        "ünïcode".as_bytes(),
        br"$'\x41'",
    ];

    #[test]
    fn any_words_come_back_from_their_line() {
        let words = words(&HARD);
        let line = quote(words.iter().map(OsString::as_os_str));
        assert!(!line.contains(char::is_control), "{line}");
        assert_eq!(split(&line), Some(words));
    }

    #[test]
    fn bash_splits_a_line_into_the_same_words() {
        let list = words(&HARD);
        let line = quote(list.iter().map(OsString::as_os_str));
        let output = std::process::Command::new("bash")
            .arg("-c")
            .arg(format!("printf '%s\\0' {line}"))
            .output()
            .unwrap();
        let split: Vec<_> = output
            .stdout
            .strip_suffix(b"\0")
            .unwrap()
            .split(|b| *b == 0)
            .collect();
        assert_eq!(split, HARD);
    }

    #[test]
    fn what_is_no_line_is_refused() {
        for line in ["'a", "$'a", "'a'b", r"$'\xg0'"] {
            assert_eq!(split(line), None, "{line}");
        }
    }
}
