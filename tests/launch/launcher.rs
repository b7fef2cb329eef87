//! The programs that do what words say.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::common::program;
use crate::subjects::scratch;

/// A program that does a list of actions, then runs a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launcher {
    /// `launch`, which reads the actions from its arguments.
    Launch,
    /// What `barest bake` makes of the same words.
    Baked,
}

/// All that there are. Each case holds for each of them.
pub const LAUNCHERS: [Launcher; 2] = [Launcher::Launch, Launcher::Baked];

impl Launcher {
    /// The command that does these words and then runs this target with its arguments: argv, its
    /// first the file to run. Words that this launcher refuses at once are a fault of the test.
    pub fn command(self, words: &[OsString], target: &[OsString]) -> Vec<OsString> {
        let rest = words.iter().chain(target).cloned();
        match self {
            Launcher::Launch => [program("launch").into()].into_iter().chain(rest).collect(),
            Launcher::Baked => {
                let file = scratch("baked");
                let output = bake(&file, rest);
                assert!(
                    output.status.success(),
                    "bake {words:?}: {}",
                    String::from_utf8_lossy(&output.stderr)
                );
                vec![file.into()]
            }
        }
    }
}

/// `barest bake -o FILE WORDS`.
pub fn bake(file: &Path, words: impl IntoIterator<Item = OsString>) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_barest"))
        .args(["bake", "-o"])
        .arg(file)
        .args(words)
        .output()
        .unwrap()
}
