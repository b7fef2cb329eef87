//! `barest bake -o FILE [ACTION]… [--] TARGET [ARG]…`, `barest bake --show FILE`, and the command
//! line of nixpkgs' makeBinaryWrapper: `barest bake EXECUTABLE OUT_PATH [ACTION]…`.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use barest::bake::{Baked, Recipe, bake, show};
use barest::subject::escape;
use barest::view::{self, Format};
use barest::{Error, Result};

use super::Outcome;
use super::output::{Findings, complain};

/// Writes an executable that does what `launch` does with the same words: actions, then TARGET.
///
/// The caller's arguments follow ARGs. No compiler is used, and no words are parsed when it runs.
#[derive(clap::Args)]
#[command(
    override_usage = "barest bake -o FILE [ACTION]... [--] TARGET [ARG]...
       barest bake --show FILE
       barest bake EXECUTABLE OUT_PATH [ACTION]...    (as makeBinaryWrapper)",
    after_long_help = long_help()
)]
pub struct Bake {
    /// The file to write; what was there is replaced, but never the target.
    #[arg(short, long, value_name = "FILE", conflicts_with = "show")]
    output: Option<PathBuf>,
    /// Prints the words that a file was baked of, quoted as for a shell.
    #[arg(long, value_name = "FILE", conflicts_with = "words")]
    show: Option<PathBuf>,
    /// Actions, the target (a path, or a name to look up in PATH when it runs), its arguments.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required_unless_present = "show",
        value_name = "WORD"
    )]
    words: Vec<OsString>,
}

/// The actions, as `launch` lists them, and those of baking.
fn long_help() -> String {
    let help = String::from_utf8_lossy(launcher::words::HELP.to_bytes());
    // Its first two lines are the usage, and what it does.
    let actions = help.splitn(3, '\n').nth(2).unwrap_or_default();
    format!(
        "Actions, done from left to right
  --add-flag X --add-flags 'A B'        arguments before the caller's, as ARG
  --append-flag X --append-flags 'A B'  arguments behind the caller's
  --inherit-argv0                       argv[0] is the caller's
  --resolve-argv0                       argv[0] without a slash is looked up in PATH

{actions}"
    )
}

impl Bake {
    pub fn run(self, format: Format) -> Outcome {
        let mut findings = Findings::new("barest.bake/1");
        match self.show {
            Some(file) => findings.add(show(file)),
            None => match write(self.output, self.words) {
                // A file that is there says enough.
                Ok(_) if format == Format::Table => return Outcome::Done,
                baked => findings.add(baked),
            },
        }
        findings.print(format, view::bake::page)
    }
}

/// Bakes what the command line says.
fn write(output: Option<PathBuf>, words: Vec<OsString>) -> Result<Baked> {
    let (recipe, file) = match output {
        Some(file) => (Recipe::new(behind_dashes(words))?, file),
        None => as_binary_wrapper(&words)?,
    };
    let baked = bake(&recipe, file)?;
    if let Some(target) = recipe.missing() {
        complain(&format_args!(
            "note: {}: not there now; {} fails until it is",
            escape(target),
            escape(baked.path.as_os_str())
        ));
    }
    Ok(baked)
}

/// Puts back the `--` in front of all words, which clap takes away: the word behind it is the
/// target, whatever it looks like.
fn behind_dashes(mut words: Vec<OsString>) -> Vec<OsString> {
    let before = std::env::args_os().rev().nth(words.len());
    if before.is_some_and(|word| word == "--") {
        words.insert(0, "--".into());
    }
    words
}

/// What makeBinaryWrapper does with EXECUTABLE OUT_PATH and options: the executable has to be
/// there, and the folder of OUT_PATH is made. With that, words that lack `-o FILE` seldom name a
/// file to write by accident.
fn as_binary_wrapper(words: &[OsString]) -> Result<(Recipe, PathBuf)> {
    let [executable, file, options @ ..] = words else {
        return Err(no_file());
    };
    if [executable, file]
        .iter()
        .any(|word| word.as_bytes().starts_with(b"-"))
    {
        return Err(no_file());
    }
    let there =
        fs::metadata(executable).is_ok_and(|there| there.is_file() && there.mode() & 0o111 != 0);
    if !there {
        return Err(Error::BadFile {
            path: executable.into(),
            reason: "no executable file; EXECUTABLE OUT_PATH are makeBinaryWrapper's words, for others give -o FILE".into(),
        });
    }
    let file = PathBuf::from(file);
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(|error| {
            Error::io(
                format!("make the folder {}", escape(folder.as_os_str())),
                error,
            )
        })?;
    }
    Ok((Recipe::binary_wrapper(executable, options)?, file))
}

fn no_file() -> Error {
    Error::NotBaked {
        words: "bake".into(),
        reason: "no file to write; give -o FILE before all other words".into(),
    }
}
