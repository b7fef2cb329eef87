//! Other launchers, as tests/peers/launchers.toml tells how they are called.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use barest::subject::FIXED_ENVIRONMENT;
use barest::{Error, Result, Subject};
use nix::unistd::Uid;
use serde::Deserialize;

use crate::common;
use crate::place::Place;
use crate::way::Way;

/// A launcher: one table of the data file, whose head says what its fields are.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Launcher {
    name: String,
    tools: BTreeMap<String, String>,
    folder: Option<PathBuf>,
    exec: Option<String>,
    job: Option<String>,
    script: Option<Script>,
    compile: Option<String>,
    source: Option<PathBuf>,
    #[serde(default)]
    root: bool,
}

/// The text of a script for each of the two.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    exec: String,
    job: String,
}

/// What `{NAME}` stands for, by NAME.
type Names = BTreeMap<String, String>;

/// All of them that can be run here, and a line for each that cannot.
pub fn others(place: &Place) -> Result<(Vec<Way>, Vec<String>)> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Data {
        launcher: Vec<Launcher>,
    }

    let path = common::root().join("tests/peers/launchers.toml");
    let text =
        fs::read_to_string(&path).map_err(|e| Error::io(format!("read {}", path.display()), e))?;
    let data: Data = toml::from_str(&text).map_err(|e| Error::BadFile {
        path,
        reason: e.to_string().lines().collect::<Vec<_>>().join(" "),
    })?;
    let (mut ways, mut missing) = (Vec::new(), Vec::new());
    for (at, launcher) in data.launcher.iter().enumerate() {
        match launcher.names(place) {
            Ok(_) if launcher.root && !Uid::effective().is_root() => {
                missing.push(format!(
                    "{}: not measured: only root can run it",
                    launcher.name
                ));
            }
            Ok(names) => ways.push(launcher.way(&names, place, at)?),
            Err(packages) => {
                missing.push(format!("{}: not installed: {packages}", launcher.name));
            }
        }
    }
    Ok((ways, missing))
}

impl Launcher {
    /// What the names stand for; or the packages of the tools that are not here, each once.
    fn names(&self, place: &Place) -> std::result::Result<Names, String> {
        let paths = [("target", &place.target), ("directory", &place.directory)];
        let mut names: Names = paths
            .map(|(name, path)| (name.to_owned(), path.display().to_string()))
            .into();
        let mut packages: Vec<&str> = Vec::new();
        for (tool, package) in &self.tools {
            match self.find(tool) {
                Some(path) => {
                    names.insert(tool.clone(), path.display().to_string());
                }
                None if packages.contains(&package.as_str()) => {}
                None => packages.push(package),
            }
        }
        match packages.is_empty() {
            true => Ok(names),
            false => Err(packages.join(", ")),
        }
    }

    /// The file of a tool.
    fn find(&self, tool: &str) -> Option<PathBuf> {
        let path = FIXED_ENVIRONMENT
            .iter()
            .find_map(|variable| variable.strip_prefix("PATH="))
            .unwrap_or_default();
        let folders = self.folder.iter().cloned().chain(env::split_paths(path));
        folders
            .map(|folder| folder.join(tool))
            .find(|file| file.is_file())
    }

    /// As a way to the target; what has to be made for it is made. `at` is its number.
    fn way(&self, names: &Names, place: &Place, at: usize) -> Result<Way> {
        let made = |what: &str| place.file(&format!("{at}-{what}"));
        let (exec, job) = if let Some(script) = &self.script {
            let write = |text: &str, to: PathBuf| {
                place.write(&to, fill(text, names).as_bytes())?;
                Ok(Some(Subject::new(to)))
            };
            (
                write(&script.exec, made("exec"))?,
                write(&script.job, made("job"))?,
            )
        } else if let Some(command) = &self.compile {
            let compile = |options: &[&str], to: PathBuf| {
                self.compile(command, options, names, &to)?;
                Ok(Some(Subject::new(to)))
            };
            (
                compile(&[], made("exec"))?,
                compile(&["-DJOB"], made("job"))?,
            )
        } else {
            let subject = |words: &Option<String>| {
                let words = words.as_ref().map(|words| split(words, names));
                words.transpose().map(|words| words.map(subject))
            };
            (subject(&self.exec)?, subject(&self.job)?)
        };
        Ok(Way::new(&self.name, exec, job))
    }

    fn compile(&self, command: &str, options: &[&str], names: &Names, to: &Path) -> Result<()> {
        let mut words = split(command, names)?;
        for name in ["target", "directory"] {
            words.push(format!("-D{}=\"{}\"", name.to_uppercase(), names[name]));
        }
        words.extend(options.iter().map(|option| (*option).to_owned()));
        let source = self.source.as_deref().unwrap_or(Path::new(""));
        common::compile(&words, &common::root().join("tests/peers").join(source), to)
    }
}

fn subject(words: Vec<String>) -> Subject {
    Subject::new(&words[0]).args(&words[1..])
}

/// The words of a command, at least one, their names filled in.
fn split(words: &str, names: &Names) -> Result<Vec<String>> {
    let bad = || Error::Words(words.to_owned());
    let words = shlex::split(words).filter(|words| !words.is_empty());
    let words = words.ok_or_else(bad)?;
    Ok(words.iter().map(|word| fill(word, names)).collect())
}

fn fill(text: &str, names: &Names) -> String {
    names.iter().fold(text.to_owned(), |text, (name, value)| {
        text.replace(&format!("{{{name}}}"), value)
    })
}
