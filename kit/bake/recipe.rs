//! What is to be baked: words, as they were given and as they decode.

use std::ffi::{CString, OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use launcher::action::Does;
use launcher::reasons::Reason;
use serde::{Serialize, Serializer};

use super::decode::{self, Step};
use super::line;
use crate::error::{Error, Result};
use crate::subject::{all_escaped, escape};

/// A launcher to bake: its actions, its target, and the arguments that the target gets.
///
/// Two are the same when they were made of the same words, whether or not the target stood behind
/// a `--` that it does not need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// The words that it is made of, without a `--` that is not needed.
    words: Vec<OsString>,
    /// What is done first.
    pub(super) steps: Vec<Step>,
    /// What is run then.
    pub(super) target: Target,
}

/// What is run, and by which arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Target {
    /// Its path, or a name to look up in PATH.
    pub program: CString,
    pub argv0: Argv0,
    /// Whether an argv\[0\] without a slash is looked up in PATH.
    pub resolve: bool,
    /// Arguments before the caller's.
    pub before: Vec<CString>,
    /// Arguments behind the caller's.
    pub after: Vec<CString>,
}

/// What the target gets as argv\[0\].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Argv0 {
    /// The program, as it was given.
    #[default]
    Program,
    /// Another text.
    Text(CString),
    /// The caller's.
    Inherit,
}

impl Recipe {
    /// From the words of `launch`: actions, the target, arguments for it. These words are for baking
    /// alone:
    ///
    /// | words | |
    /// |---|---|
    /// | `--add-flag X` | an argument before the caller's |
    /// | `--add-flags 'A B'` | several, split and unquoted as by a shell |
    /// | `--append-flag X`, `--append-flags 'A B'` | arguments behind the caller's |
    /// | `--inherit-argv0` | argv\[0\] is the caller's; the last of this and `--argv0` counts |
    /// | `--resolve-argv0` | argv\[0\], if it has no slash, is looked up in PATH |
    ///
    /// Words that say nothing are [`Error::NotBaked`].
    pub fn new(words: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Self> {
        let words = c_strings(words)?;
        let mut reader = Reader::default();
        let rest = reader.actions(&words)?;
        let Some((program, arguments)) = rest.split_first() else {
            return Err(usage(&[], Reason::NO_PROGRAM));
        };
        reader.finish(program, arguments)
    }

    /// From a command line of nixpkgs' makeBinaryWrapper, without its OUT_PATH: the executable, and
    /// then its options, or any other actions.
    ///
    /// As there, the executable is not looked up in PATH, and an empty `--argv0` is none.
    pub fn binary_wrapper(
        executable: impl Into<OsString>,
        options: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Result<Self> {
        let mut executable = executable.into();
        if !executable.as_bytes().contains(&b'/') {
            executable = [OsStr::new("./"), &executable].into_iter().collect();
        }
        let executable = c_strings([executable])?.remove(0);
        let words = c_strings(options)?;
        let mut reader = Reader {
            executable: Some(executable.clone()),
            ..Reader::default()
        };
        if let Some(word) = reader.actions(&words)?.first() {
            return Err(Error::NotBaked {
                words: escape(OsStr::from_bytes(word.as_bytes())),
                reason: "not an action; arguments for the executable are given by --add-flag"
                    .into(),
            });
        }
        reader.finish(&executable, &[])
    }

    /// The words that make it: those that [`Recipe::new`] takes, for `barest bake`, or for
    /// `launch` where none of them is for baking alone.
    pub fn words(&self) -> &[OsString] {
        &self.words
    }

    /// The target, if it is named by a path, and there is nothing at that path now. That is no
    /// fault: it may be there when the launcher runs, which may be on another machine, or in
    /// another root.
    pub fn missing(&self) -> Option<&OsStr> {
        let program = self.program();
        let there = !program.as_bytes().contains(&b'/') || Path::new(program).exists();
        (!there).then_some(program)
    }

    /// The target's path, or a name to look up in PATH.
    pub fn program(&self) -> &OsStr {
        OsStr::from_bytes(self.target.program.as_bytes())
    }
}

/// As the list of its words.
impl Serialize for Recipe {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        all_escaped(&self.words, to)
    }
}

/// The words as one line, quoted as for a shell.
impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&line::quote(self.words.iter().map(OsString::as_os_str)))
    }
}

/// A word that is for baking alone.
#[derive(Clone, Copy)]
enum BakeWord {
    AddFlag,
    AddFlags,
    AppendFlag,
    AppendFlags,
    InheritArgv0,
    ResolveArgv0,
}

impl BakeWord {
    /// Which one a word is, and the value behind its `=`.
    fn of(word: &CString) -> Option<(Self, Option<&[u8]>)> {
        let word = word.as_bytes();
        let (name, value) = match word.iter().position(|byte| *byte == b'=') {
            Some(at) => (&word[..at], Some(&word[at + 1..])),
            None => (word, None),
        };
        let option = match name {
            b"--add-flag" => BakeWord::AddFlag,
            b"--add-flags" => BakeWord::AddFlags,
            b"--append-flag" => BakeWord::AppendFlag,
            b"--append-flags" => BakeWord::AppendFlags,
            b"--inherit-argv0" => BakeWord::InheritArgv0,
            b"--resolve-argv0" => BakeWord::ResolveArgv0,
            _ => return None,
        };
        Some((option, value))
    }
}

/// What is read of a list of words.
#[derive(Default)]
struct Reader {
    /// That of makeBinaryWrapper.
    executable: Option<CString>,
    words: Vec<CString>,
    steps: Vec<Step>,
    target: Target,
}

impl Reader {
    /// Reads actions. Gives what follows them: the program and its arguments.
    fn actions<'a>(&mut self, words: &'a [CString]) -> Result<&'a [CString]> {
        let mut rest = words;
        while !rest.is_empty() {
            let mut taken = self.for_baking(rest)?;
            let mut given = rest[..taken].to_vec();
            if taken == 0 {
                let step;
                (step, taken) =
                    decode::read(rest).map_err(|(why, taken)| usage(&rest[..taken], why))?;
                given = rest[..taken].to_vec();
                match step.does {
                    // The program is the last of those that were taken, behind a `--` or not.
                    Does::Run => return Ok(&rest[taken - 1..]),
                    Does::Help | Does::Version => {
                        return Err(Error::NotBaked {
                            words: escape(OsStr::from_bytes(&step.words)),
                            reason: "nothing that a launcher could do each time".into(),
                        });
                    }
                    Does::Argv0 => {
                        // A text of an action has no NUL.
                        let mut text = CString::new(step.text(0)).unwrap_or_default();
                        if let (true, Some(executable)) = (text.is_empty(), &self.executable) {
                            text = executable.clone();
                            given = vec![c"--argv0".to_owned(), text.clone()];
                        }
                        self.target.argv0 = Argv0::Text(text);
                    }
                    _ => self.steps.extend(step.simplified()),
                }
            }
            self.words.extend(given);
            rest = &rest[taken..];
        }
        Ok(rest)
    }

    /// Reads a word that is for baking alone, with its value. Gives how many words that were; 0:
    /// it is another.
    fn for_baking(&mut self, words: &[CString]) -> Result<usize> {
        let Some((option, attached)) = BakeWord::of(&words[0]) else {
            return Ok(0);
        };
        if let BakeWord::InheritArgv0 | BakeWord::ResolveArgv0 = option {
            if attached.is_some() {
                return Err(usage(&words[..1], Reason::WRONG));
            }
            match option {
                BakeWord::InheritArgv0 => self.target.argv0 = Argv0::Inherit,
                _ => self.target.resolve = true,
            }
            return Ok(1);
        }
        let next = words.get(1).map(|word| word.as_bytes());
        let Some(value) = attached.or(next) else {
            return Err(usage(&words[..1], Reason::MISSING));
        };
        let taken = if attached.is_some() { 1 } else { 2 };
        let split = || {
            shlex::bytes::split(value).ok_or_else(|| Error::NotBaked {
                words: shown(&words[..taken]),
                reason: "unbalanced quotes; quote the flags as for a shell".into(),
            })
        };
        let values = match option {
            BakeWord::AddFlags | BakeWord::AppendFlags => split()?,
            _ => vec![value.to_vec()],
        };
        let values = c_strings(values.into_iter().map(OsString::from_vec))?;
        match option {
            BakeWord::AddFlag | BakeWord::AddFlags => self.target.before.extend(values),
            _ => self.target.after.extend(values),
        }
        Ok(taken)
    }

    fn finish(mut self, program: &CString, arguments: &[CString]) -> Result<Recipe> {
        let word = std::slice::from_ref(program);
        let plain = BakeWord::of(program).is_none()
            && decode::read(word).is_ok_and(|(step, _)| step.does == Does::Run);
        if !plain {
            self.words.push(c"--".to_owned());
        }
        self.words.push(program.clone());
        self.words.extend_from_slice(arguments);
        self.target.program = program.clone();
        if self.target.argv0 == Argv0::Text(program.clone()) {
            self.target.argv0 = Argv0::Program;
        }
        self.target.before.extend_from_slice(arguments);
        let words = self.words.into_iter();
        Ok(Recipe {
            words: words
                .map(|word| OsString::from_vec(word.into_bytes()))
                .collect(),
            steps: self.steps,
            target: self.target,
        })
    }
}

/// Words as the kernel takes them: without NUL.
fn c_strings(words: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Vec<CString>> {
    let c_string = |word: OsString| {
        CString::new(word.into_vec()).map_err(|error| Error::NotBaked {
            words: escape(&OsString::from_vec(error.into_vec())),
            reason: "no word can have a NUL in it".into(),
        })
    };
    words
        .into_iter()
        .map(|word| c_string(word.into()))
        .collect()
}

/// Words that say nothing, in the words of `launch`.
fn usage(words: &[CString], why: Reason) -> Error {
    let text = String::from_utf8_lossy(why.text().to_bytes());
    Error::NotBaked {
        words: match words {
            [] => "bake".into(),
            words => shown(words),
        },
        reason: text.replace("launch --help", "barest bake --help"),
    }
}

fn shown(words: &[CString]) -> String {
    let words = words.iter();
    let words = words.map(|word| escape(OsStr::from_bytes(word.as_bytes())));
    words.collect::<Vec<_>>().join(" ")
}
