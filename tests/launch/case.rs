//! A case: words, what the launcher starts from, the calls it must make, and what its target
//! must see.
//!
//! What the target must see is all that it sees when it is run without a launcher, but for what
//! the case names. So each case also shows that nothing else is done.

use std::ffi::OsString;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use barest::assertions::exactly;
use barest::trace::{Exit, Trace, trace};
use barest::{Stream, Subject};
use nix::fcntl::OFlag;
use nix::pty::{grantpt, posix_openpt, ptsname_r, unlockpt};

use crate::capability::{Capability, capable};
use crate::common::program;
use crate::launcher::{LAUNCHERS, Launcher};
use crate::message::assert_tells;
use crate::place::{self, Root, before, identity, out, state};
use crate::run::{Run, Start};
use crate::state::{State, escape};
use crate::subjects::scratch;

/// Words as the system takes them, from any kinds of strings.
macro_rules! words {
    ($($word:expr),* $(,)?) => { [$(std::ffi::OsString::from($word)),*] };
}
pub(crate) use words;

/// The exit status of `state`, so that none can be taken for it.
const STATE_STATUS: i32 = 7;

/// See [`self`].
#[must_use = "nothing is shown before `holds` or `fails`"]
pub struct Case {
    words: Vec<OsString>,
    before: Vec<OsString>,
    environment: Vec<OsString>,
    calls: Vec<&'static str>,
    effects: Vec<Effect>,
    argv0: Option<String>,
    sees_environment: Option<Vec<String>>,
    root: Option<PathBuf>,
    terminal: Option<(OwnedFd, PathBuf)>,
    needs: Option<Needs>,
    and: Option<Look>,
}

/// Looks at what is left when the target has ended.
type Look = Box<dyn Fn(&Run)>;

/// What the target sees otherwise than without a launcher.
enum Effect {
    /// A key of [`State::rest`] has this value.
    Value(String, String),
    /// This descriptor is a file, which need not be there before the run.
    File(u32, &'static str, PathBuf),
    /// There is no such key.
    Nothing(String),
}

/// What a case cannot do without.
struct Needs {
    capability: Capability,
    /// The calls up to the one that fails without it.
    calls: usize,
    message: String,
}

/// These words, before the target's.
pub fn launch(words: impl IntoIterator<Item = impl Into<OsString>>) -> Case {
    Case {
        words: words.into_iter().map(Into::into).collect(),
        before: Vec::new(),
        environment: words!["FIRST=1", "PATH=/usr/bin:/bin", "LAST="].to_vec(),
        calls: Vec::new(),
        effects: Vec::new(),
        argv0: None,
        sees_environment: None,
        root: None,
        terminal: None,
        needs: None,
        and: None,
    }
}

impl Case {
    /// What the launcher starts from, in the words of tests/subjects/before.c.
    pub fn before(mut self, words: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.before.extend(words.into_iter().map(Into::into));
        self
    }

    /// The environment that the launcher starts with.
    pub fn environment(mut self, strings: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.environment = strings.into_iter().map(Into::into).collect();
        self
    }

    /// Its stdin is a terminal.
    pub fn on_a_terminal(mut self) -> Self {
        self.terminal = Some(terminal());
        self
    }

    /// The words go to this root, where the target is then.
    pub fn below(mut self, root: &Root) -> Self {
        self.root = Some(root.folder.clone());
        self.sees("root", identity(&root.folder))
            .sees("execfn", "/state")
            .sees("name", "state")
            .sees("cwd", "/")
    }

    /// The calls between the launcher's own execve and the target's.
    pub fn calls(mut self, names: impl IntoIterator<Item = &'static str>) -> Self {
        self.calls = names.into_iter().collect();
        self
    }

    /// The target sees this.
    pub fn sees(mut self, key: &str, value: impl Into<String>) -> Self {
        self.effects
            .push(Effect::Value(key.to_owned(), value.into()));
        self
    }

    /// The target sees this file: `access` is `read`, `write` or `read-write`, with ` append`
    /// or ` locked` behind.
    pub fn sees_file(mut self, fd: u32, access: &'static str, path: impl Into<PathBuf>) -> Self {
        self.effects.push(Effect::File(fd, access, path.into()));
        self
    }

    /// The target does not have this descriptor, which is open when nothing is done.
    pub fn sees_closed(mut self, fd: u32) -> Self {
        self.effects.push(Effect::Nothing(format!("fd {fd}")));
        self
    }

    /// The target sees this environment, in this order.
    pub fn sees_environment(
        mut self,
        strings: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Self {
        self.sees_environment = Some(
            strings
                .into_iter()
                .map(|string| escape(Into::<OsString>::into(string)))
                .collect(),
        );
        self
    }

    /// The target sees itself called so.
    pub fn sees_argv0(mut self, name: &str) -> Self {
        self.argv0 = Some(escape(name));
        self
    }

    /// Without this capability the action fails at the last of so many calls, with this message.
    /// That is tried too, whoever runs the tests; and alone by a user who does not have it.
    pub fn needs(
        mut self,
        capability: Capability,
        calls: usize,
        message: impl Into<String>,
    ) -> Self {
        self.needs = Some(Needs {
            capability,
            calls,
            message: message.into(),
        });
        self
    }

    /// Looks at what is left when the target has ended.
    pub fn and(mut self, look: impl Fn(&Run) + 'static) -> Self {
        self.and = Some(Box::new(look));
        self
    }

    /// Asserts the calls and what the target sees.
    #[track_caller]
    pub fn holds(mut self) {
        if let Some(needs) = self.needs.take() {
            let calls = &self.calls[..needs.calls];
            for launcher in LAUNCHERS {
                self.assert_failure(launcher, &words!["powerless"], calls, 125, &needs.message);
            }
            if !capable(needs.capability) {
                return;
            }
        }
        for launcher in LAUNCHERS {
            self.assert_calls(launcher);
            self.assert_effects(launcher);
        }
    }

    /// Asserts that it does these calls, says this, ends with this status, and runs no target.
    #[track_caller]
    pub fn fails(self, status: i32, message: &str) {
        for launcher in LAUNCHERS {
            self.assert_failure(launcher, &[], &self.calls, status, message);
        }
    }

    /// As [`Case::fails`], for a message that begins so and goes on.
    #[track_caller]
    pub fn fails_beginning(self, status: i32, message: &str) {
        for launcher in LAUNCHERS {
            let said = self.failure(launcher, &[], &self.calls, status);
            assert!(
                said.starts_with(message),
                "{launcher:?} {:?}\n{said}",
                self.words
            );
            assert_eq!(said.lines().count(), 1, "{said}");
            assert!(said.ends_with('\n'), "{said}");
        }
    }

    #[track_caller]
    fn assert_calls(&self, launcher: Launcher) {
        let target = match &self.root {
            Some(_) => "/true".into(),
            None => program("true").into(),
        };
        let seen = self.trace(launcher.command(&self.words, &[target]), &[]);
        let calls = ["execve"].iter().chain(&self.calls);
        seen.assert(exactly(calls.chain(&["execve", "exit_group"]).copied()));
        assert_eq!(seen.exit, Exit::Exited(0), "{launcher:?} {:?}", self.words);
    }

    #[track_caller]
    fn assert_effects(&self, launcher: Launcher) {
        let (target, out) = self.target();
        let stderr = scratch("stderr");
        let plain_out = place::out();
        let mut expected = {
            let direct = vec![state().into(), plain_out.clone().into()];
            let plain = self.run(direct, &[], &stderr);
            assert_eq!(plain.status.code(), Some(STATE_STATUS), "{plain:?}");
            State::parse(&fs::read_to_string(plain_out).unwrap())
        };
        let run = self.run(launcher.command(&self.words, &target), &[], &stderr);
        let context = format!(
            "{launcher:?} {:?}\n{}",
            self.words,
            String::from_utf8_lossy(&run.stderr)
        );
        assert_eq!(run.status.code(), Some(STATE_STATUS), "{context}");
        assert_eq!(run.stderr(), "", "{context}");

        for effect in &self.effects {
            let (key, value) = match effect {
                Effect::Value(key, value) => (key.clone(), value.clone()),
                Effect::File(fd, access, path) => {
                    let (access, more) = access.split_at(access.find(' ').unwrap_or(access.len()));
                    (
                        format!("fd {fd}"),
                        format!("{access} {}{more}", identity(path)),
                    )
                }
                Effect::Nothing(key) => {
                    let before = expected.rest.remove(key);
                    assert!(
                        before.is_some(),
                        "{context}{key} is not open from the start"
                    );
                    continue;
                }
            };
            expected.rest.insert(key, value);
        }
        expected.argv = target.iter().map(escape).collect();
        if let Some(argv0) = &self.argv0 {
            expected.argv[0].clone_from(argv0);
        }
        if let Some(environment) = &self.sees_environment {
            expected.environment.clone_from(environment);
        }
        let seen = State::parse(&fs::read_to_string(out).unwrap());
        let differences = seen.differences(&expected);
        assert!(differences.is_empty(), "{context}{differences}");
        if let Some(look) = &self.and {
            look(&run);
        }
    }

    #[track_caller]
    fn assert_failure(
        &self,
        launcher: Launcher,
        before: &[OsString],
        calls: &[&'static str],
        status: i32,
        message: &str,
    ) {
        let said = self.failure(launcher, before, calls, status);
        assert_eq!(
            said,
            format!("{message}\n"),
            "{launcher:?} {:?}",
            self.words
        );
    }

    /// What it said when it failed after these calls.
    #[track_caller]
    fn failure(
        &self,
        launcher: Launcher,
        before: &[OsString],
        calls: &[&'static str],
        status: i32,
    ) -> String {
        let (target, out) = self.target();
        let seen = self.trace(launcher.command(&self.words, &target), before);
        assert_tells(&seen, ["execve"].iter().chain(calls).copied());
        assert_eq!(
            seen.exit,
            Exit::Exited(status),
            "{launcher:?} {:?}",
            self.words
        );

        let run = self.run(
            launcher.command(&self.words, &target),
            before,
            &scratch("stderr"),
        );
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        let context = format!("{launcher:?} {:?}\n{said}", self.words);
        assert_eq!(run.status.code(), Some(status), "{context}");
        assert_eq!(fs::read(out).unwrap(), b"", "{context}: the target was run");
        said
    }

    /// The target that writes down what it sees, and the file that it writes into.
    fn target(&self) -> (Vec<OsString>, PathBuf) {
        match &self.root {
            Some(root) => {
                let out = root.join("out");
                fs::write(&out, "").unwrap();
                (words!["/state", "/out"].to_vec(), out)
            }
            None => {
                let out = out();
                (vec![state().into(), out.clone().into()], out)
            }
        }
    }

    /// A command, with what leaves the mess that it starts from, where there is one.
    fn prepared(&self, command: Vec<OsString>, more: &[OsString]) -> Vec<OsString> {
        if self.before.is_empty() && more.is_empty() {
            return command;
        }
        let words = self.before.iter().chain(more).cloned();
        [before().into()]
            .into_iter()
            .chain(words)
            .chain(words!["--"])
            .chain(command)
            .collect()
    }

    fn run(&self, command: Vec<OsString>, more: &[OsString], stderr: &Path) -> Run {
        Start {
            argv: &self.prepared(command, more),
            environment: &self.environment,
            stdin: self.terminal.as_ref().map(|(_, path)| path.as_path()),
            stdout: None,
            stderr,
        }
        .run()
    }

    /// The calls from the launcher's own execve on.
    fn trace(&self, command: Vec<OsString>, more: &[OsString]) -> Trace {
        let plain = self.before.is_empty() && more.is_empty();
        let argv = self.prepared(command, more);
        let stdin = match self.terminal {
            Some(_) => Stream::Tty,
            None => Stream::Null,
        };
        let subject = Subject::new(&argv[0])
            .argv(argv)
            .environment(&self.environment)
            .stdin(stdin)
            .timeout(Duration::from_secs(20));
        let mut seen = trace(&subject).unwrap_or_else(|error| panic!("{error}"));
        if !plain {
            // The first execve that works is that of `before`, the second the launcher's, which
            // may be in another process by then.
            let mut started = (0..seen.calls.len()).filter(|&at| {
                seen.calls[at].label() == "execve" && seen.calls[at].result == Some(0)
            });
            let at = started
                .nth(1)
                .unwrap_or_else(|| panic!("{subject}: {}", seen.exit));
            let thread = seen.calls[at].thread;
            seen.calls.drain(..at);
            seen.calls.retain(|call| call.thread == thread);
        }
        seen
    }
}

/// A new terminal: the side of it that its user holds, and the path of the other.
fn terminal() -> (OwnedFd, PathBuf) {
    let user = posix_openpt(OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC).unwrap();
    grantpt(&user).unwrap();
    unlockpt(&user).unwrap();
    let path = ptsname_r(&user).unwrap();
    (user.into(), path.into())
}
