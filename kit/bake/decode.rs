//! From words to actions: by the parser that `launch` has, with all that an action refers to.

use std::ffi::{CStr, CString};
use std::ptr::NonNull;

use launcher::action::{Action, Does};
use launcher::reasons::Reason;
use launcher::room::Room;
use launcher::words::{self, Extent};

/// An action, with its words. It is an [`Action`] that owns what that refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub does: Does,
    pub with: [Operand; 3],
    /// Its words, joined by spaces.
    pub words: Vec<u8>,
}

/// An operand of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    Number(usize),
    /// The address of a string.
    Text(Vec<u8>),
    /// The address of so many bytes.
    Bytes(Vec<u8>),
}

/// What an option decodes into at most where that is no number, but for a list of groups: a set of
/// processors is 128 bytes.
const DATA: usize = 256;

/// Reads one action, or the program, from the start of a list. Gives the number of its words too,
/// or of those that say nothing.
pub fn read(words: &[CString]) -> Result<(Step, usize), (Reason, usize)> {
    let mut list = words.iter();
    let mut strings = list.by_ref().map(|word| {
        let first = NonNull::from(word.as_bytes_with_nul()).cast();
        // SAFETY: it ends in NUL, and outlives this function, which hands on no such string: what
        // an action refers to is copied below.
        unsafe { shims::stack::CStr::new(first) }
    });
    // A group is a byte or more, and a comma or the end; it decodes into 4.
    let longest = words.iter().map(|word| word.as_bytes().len()).max();
    let mut data = vec![0; DATA + 4 * longest.unwrap_or(0)];
    let end = NonNull::from(&mut data[..]).cast::<u8>();
    // SAFETY: as much is there as one option decodes into. `data` is not used before all is copied.
    let mut room = unsafe { Room::at(end.add(data.len())) };
    let mut action = Action::NOTHING;
    let answer = words::read(&mut strings, &mut room, &mut action);
    let taken = words.len() - list.len();
    answer.map_err(|why| (why, taken))?;
    let operand = |at| match action.pointer(at) {
        None => Operand::Number(action.with[at]),
        Some(Extent::Text) => {
            // SAFETY: an operand of this kind is the address of a string, of one of `words` or of
            // launch's own.
            let text = unsafe { CStr::from_ptr(action.with[at] as *const _) };
            Operand::Text(text.to_bytes().to_vec())
        }
        Some(Extent::Bytes(size)) => {
            // SAFETY: and one of this kind, of so many bytes of `data`.
            let bytes = unsafe { std::slice::from_raw_parts(action.with[at] as *const u8, size) };
            Operand::Bytes(bytes.to_vec())
        }
    };
    let step = Step {
        does: action.does,
        with: [operand(0), operand(1), operand(2)],
        words: words[..taken]
            .iter()
            .map(|word| word.as_bytes())
            .collect::<Vec<_>>()
            .join(&b' '),
    };
    Ok((step, taken))
}

impl Step {
    /// An operand that is a string; empty where it is none.
    pub fn text(&self, at: usize) -> &[u8] {
        match self.with.get(at) {
            Some(Operand::Text(text)) => text,
            _ => b"",
        }
    }

    /// An operand that is a number; 0 where it is none.
    pub fn number(&self, at: usize) -> usize {
        match self.with.get(at) {
            Some(Operand::Number(number)) => *number,
            _ => 0,
        }
    }

    /// What is left to do when it runs: what is known before is put together here.
    pub fn simplified(self) -> Vec<Step> {
        match self.does {
            Does::User => match ids(self.text(0)) {
                Some([user, group]) => vec![
                    self.call(Does::Setgroups, 0),
                    self.call(Does::Setgid, group),
                    self.call(Does::Setuid, user),
                ],
                None => vec![self],
            },
            Does::Assign => {
                let variable = [self.text(0), b"=", self.text(2)].concat();
                // One that is too long is for the launcher to refuse, when it comes to it.
                if variable.len() >= MAX_ARG_STRLEN {
                    return vec![self];
                }
                let variable = Operand::Text(variable);
                vec![Step {
                    does: Does::Set,
                    with: [variable.clone(), variable, Operand::Number(0)],
                    words: self.words,
                }]
            }
            _ => vec![self],
        }
    }

    /// A call of one argument, for the same words.
    fn call(&self, does: Does, with: u32) -> Step {
        Step {
            does,
            with: [with as usize, 0, 0].map(Operand::Number),
            words: self.words.clone(),
        }
    }
}

/// The longest string that execve(2) takes, its NUL included: 32 pages.
const MAX_ARG_STRLEN: usize = 32 << 12;

/// A user and a group, both by numbers. None: one of them is a name.
fn ids(text: &[u8]) -> Option<[u32; 2]> {
    let (user, group) = str::from_utf8(text).ok()?.split_once(':')?;
    let id = |text: &str| text.parse().ok().filter(|_| !text.starts_with('+'));
    Some([id(user)?, id(group)?])
}
