//! What the target saw: the lines of tests/subjects/state.c.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// All that `state` wrote down. Strings are escaped as [`escape`] does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    pub argv: Vec<String>,
    pub environment: Vec<String>,
    /// All else, by its key.
    pub rest: BTreeMap<String, String>,
}

impl State {
    pub fn parse(text: &str) -> State {
        let mut state = State::default();
        for line in text.lines() {
            let (key, value) = line.split_once('=').unwrap();
            match key {
                "argv" => state.argv.push(value.to_owned()),
                "env" => state.environment.push(value.to_owned()),
                _ => {
                    let before = state.rest.insert(key.to_owned(), value.to_owned());
                    assert_eq!(before, None, "{key} twice");
                }
            }
        }
        state
    }

    /// How this differs from what was expected, a line each; nothing when it does not.
    pub fn differences(&self, expected: &State) -> String {
        let mut lines = Vec::new();
        if self.argv != expected.argv {
            lines.push(format!("argv {:?}, not {:?}", self.argv, expected.argv));
        }
        let (seen, wanted) = (&self.environment, &expected.environment);
        if let Some(at) =
            (0..seen.len().max(wanted.len())).find(|&at| seen.get(at) != wanted.get(at))
        {
            lines.push(format!(
                "variable {at} of {} is {:?}, not {:?} of {}",
                seen.len(),
                seen.get(at),
                wanted.get(at),
                wanted.len()
            ));
        }
        let keys = self.rest.keys().chain(expected.rest.keys());
        let mut keys: Vec<_> = keys.collect();
        keys.sort();
        keys.dedup();
        for key in keys {
            let (seen, wanted) = (self.rest.get(key), expected.rest.get(key));
            if seen != wanted {
                lines.push(format!("{key} is {seen:?}, not {wanted:?}"));
            }
        }
        lines.join("\n")
    }
}

/// A string as `state` writes it: bytes that are no printable ASCII as `\xNN`, a backslash too.
pub fn escape(text: impl AsRef<OsStr>) -> String {
    let mut escaped = String::new();
    for &byte in text.as_ref().as_bytes() {
        match byte {
            b'\\' => escaped.push_str("\\x5c"),
            b' '..=b'~' => escaped.push(byte.into()),
            _ => escaped.push_str(&format!("\\x{byte:02x}")),
        }
    }
    escaped
}
