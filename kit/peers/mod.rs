//! The peers: the same programs in other runtimes, built here and checked to be what they claim.
//!
//! A comparison is only worth something when both sides are what they are called. A compiler's
//! wrapper that does not know an option may build something else without a word, and a libc is
//! another one a version later. So a data file says how each peer is built and what it claims
//! to be; [`prepare`] builds it, looks at the file and at the libc that the linker took, and
//! gives out only programs that are what they claim, with the versions that they have.
//!
//! A peer whose tools are not there is a fact, [`Availability::NotInstalled`]. A peer that does
//! not build, or is something else, is an error.

mod build;
mod check;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::image::Linkage;
use crate::subject::escaped;

/// A runtime, how its programs are built, and what it claims to be: one table of the data file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Peer {
    /// Its short name, as in `musl-static`; also the name of its folder.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// The file name of a program's source, `{program}` standing for the program.
    pub source: String,
    /// The programs it has.
    pub programs: Vec<String>,
    /// The commands that build a program, run one after the other without a shell; `{source}`,
    /// `{object}` and `{output}` stand for files.
    pub build: Vec<String>,
    /// How it claims to be linked.
    pub linkage: Linkage,
    /// Whether it claims to be position-independent. A static-PIE claims it by its name.
    #[serde(default)]
    pub pie: bool,
    /// The interpreter that a dynamic one claims, one `*` standing for any text.
    pub interpreter: Option<String>,
    /// A library that it claims to ask for.
    pub needed: Option<String>,
    /// Whose code it claims to hold.
    pub libc: Libc,
    /// What a machine must have to build it.
    pub needs: Vec<Need>,
    /// The folder of the sources: that of the data file.
    #[serde(skip)]
    pub folder: PathBuf,
}

/// A C library.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Libc {
    /// None: the program speaks to the kernel itself.
    None,
    /// The GNU C library.
    Glibc,
    /// musl.
    Musl,
    /// dietlibc.
    Dietlibc,
    /// klibc.
    Klibc,
}

/// Something that a machine must have before a peer can be built, and who has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Need {
    /// A command that must be in PATH.
    pub tool: Option<String>,
    /// A command that prints the path of a file, which must be there.
    pub file: Option<String>,
    /// The package that has it: Debian's and Ubuntu's name, or a command to run.
    pub package: String,
}

/// Whether a peer can be measured on this machine.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum Availability {
    /// Its programs are built and are what they claim.
    Ready {
        /// In the order of the data file.
        programs: Vec<Built>,
    },
    /// Something it needs is not on this machine.
    NotInstalled {
        /// The packages that have it, as in `musl-tools`.
        what: String,
    },
}

/// A program of a peer, built, and seen to be what the peer claims.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Built {
    /// The peer's [`Peer::id`].
    pub peer: String,
    /// Which program it is, as in `true`.
    pub program: String,
    /// The file.
    #[serde(serialize_with = "escaped")]
    pub path: PathBuf,
    /// The parts that it is made of.
    pub parts: Vec<Part>,
}

/// A part that a program is made of, and its version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// What it is: `glibc`, `musl`, `dietlibc`, `klibc` or `rustc`.
    pub name: String,
    /// Its version as its makers number it, as in `2.36`.
    pub version: String,
}

/// Reads the data file: the peers, in its order.
///
/// Fails when the file cannot be read, is no TOML of that shape, or gives two peers one id.
pub fn load(path: &Path) -> Result<Vec<Peer>> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Data {
        peer: Vec<Peer>,
    }

    let text =
        fs::read_to_string(path).map_err(|e| Error::io(format!("read {}", path.display()), e))?;
    let bad = |reason: String| Error::BadFile {
        path: path.to_owned(),
        reason,
    };
    let mut data: Data = toml::from_str(&text).map_err(|e| {
        let line = e
            .span()
            .map_or(0, |span| text[..span.start].lines().count().max(1));
        bad(format!(
            "line {line}: {}; see the comments at its head",
            e.message()
        ))
    })?;
    // Commands do not run in this folder, so their files are named from the root.
    let folder = path
        .canonicalize()
        .map_err(|e| Error::io(format!("find {}", path.display()), e))?
        .parent()
        .map(Path::to_owned)
        .unwrap_or_default();
    for (at, peer) in data.peer.iter_mut().enumerate() {
        peer.folder.clone_from(&folder);
        // The id becomes a folder's name, and nothing else than one.
        if peer.id.is_empty() || peer.id.contains('/') || peer.id.starts_with('.') {
            return Err(bad(format!("peer {}: its id must be a plain name", at + 1)));
        }
    }
    let mut ids: Vec<_> = data.peer.iter().map(|peer| &peer.id).collect();
    ids.sort();
    match ids.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(bad(format!(
            "two peers have the id {}; rename one",
            pair[0]
        ))),
        None => Ok(data.peer),
    }
}

/// Builds a peer's programs into `into/ID/PROGRAM`, where they are not built yet, and checks
/// that they are what the peer claims.
///
/// A program is built again when its source, a command, the compiler's version or the libc that
/// went into it has changed. It appears under its name only when it is whole.
///
/// Fails when a command fails ([`Error::Command`]), and when a file is not what its peer claims
/// ([`Error::BadFile`]).
pub fn prepare(peer: &Peer, into: &Path) -> Result<Availability> {
    if let Some(what) = missing(&peer.needs)? {
        return Ok(Availability::NotInstalled { what });
    }
    let compiler = check::compiler(peer)?;
    let programs = peer.programs.iter().map(|program| {
        let made = build::build(peer, program, compiler.as_ref(), into)?;
        check::check(peer, &made)?;
        let libc = check::libc(peer, &made)?;
        Ok(Built {
            peer: peer.id.clone(),
            program: program.clone(),
            path: made.program,
            parts: libc.into_iter().chain(compiler.clone()).collect(),
        })
    });
    Ok(Availability::Ready {
        programs: programs.collect::<Result<_>>()?,
    })
}

/// [`prepare`]s several peers at once, as many as the machine has cores; `done` is called after
/// each, from any thread. The answers are in the order of the peers.
pub fn prepare_all(
    peers: &[Peer],
    into: &Path,
    done: impl Fn(&Peer, &Result<Availability>) + Sync,
) -> Vec<Result<Availability>> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let answers = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..cores.min(peers.len()) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(peer) = peers.get(at) else { break };
                    let answer = prepare(peer, into);
                    done(peer, &answer);
                    answers
                        .lock()
                        .unwrap_or_else(|e| e.into_inner())
                        .push((at, answer));
                }
            });
        }
    });
    let mut answers = answers.into_inner().unwrap_or_else(|e| e.into_inner());
    answers.sort_by_key(|(at, _)| *at);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// The packages that have what is not here, each once, or nothing when all is.
fn missing(needs: &[Need]) -> Result<Option<String>> {
    let mut packages: Vec<&str> = Vec::new();
    for need in needs {
        let here = match (&need.tool, &need.file) {
            (Some(tool), None) => in_path(tool),
            (None, Some(command)) => names_a_file(command)?,
            _ => {
                return Err(Error::Command {
                    command: need.package.clone(),
                    reason: "a need is either a tool or a file; name one of them".to_owned(),
                });
            }
        };
        if !here && !packages.contains(&need.package.as_str()) {
            packages.push(&need.package);
        }
    }
    Ok((!packages.is_empty()).then(|| packages.join(", ")))
}

/// Whether a command of that name is in PATH.
fn in_path(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(tool).is_file())
}

/// Whether the command can be run and prints the path of something that is there. gcc answers
/// for a file that it does not know with the bare name, which is none.
fn names_a_file(command: &str) -> Result<bool> {
    let words = words(command)?;
    let Ok(output) = Command::new(&words[0]).args(&words[1..]).output() else {
        return Ok(false);
    };
    let answer = String::from_utf8_lossy(&output.stdout);
    let path = Path::new(answer.trim_end());
    Ok(output.status.success() && path.is_absolute() && path.exists())
}

/// The words of a command, at least one.
fn words(command: &str) -> Result<Vec<String>> {
    shlex::split(command)
        .filter(|words| !words.is_empty())
        .ok_or_else(|| Error::Words(command.to_owned()))
}

impl fmt::Display for Availability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Availability::Ready { programs } => {
                let parts = programs.first().map_or(&[][..], |built| &built.parts);
                match parts {
                    [] => f.write_str("ready"),
                    parts => {
                        let parts: Vec<_> = parts.iter().map(Part::to_string).collect();
                        f.write_str(&parts.join(", "))
                    }
                }
            }
            Availability::NotInstalled { what } => write!(f, "not installed: {what} (make deps)"),
        }
    }
}

/// As in `glibc 2.36`.
impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.version)
    }
}

/// Its name, as in the data file.
impl fmt::Display for Libc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Libc::None => "none",
            Libc::Glibc => "glibc",
            Libc::Musl => "musl",
            Libc::Dietlibc => "dietlibc",
            Libc::Klibc => "klibc",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load_text(text: &str) -> Result<Vec<Peer>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("peers.toml");
        fs::write(&path, text).unwrap();
        load(&path)
    }

    const GAS: &str = r#"
[[peer]]
id = "gas"
name = "assembler"
source = "{program}.s"
programs = ["true"]
build = ["as {source} -o {object}", "ld {object} -o {output}"]
linkage = "static"
libc = "none"
needs = [{ tool = "as", package = "binutils" }]
"#;

    #[test]
    fn a_peer_is_read_with_all_that_it_claims() {
        let peers = load_text(GAS).unwrap();
        assert_eq!(peers.len(), 1);
        assert_eq!(peers[0].id, "gas");
        assert_eq!(peers[0].linkage, Linkage::Static);
        assert_eq!(peers[0].libc, Libc::None);
        assert!(!peers[0].pie);
    }

    #[test]
    fn a_bad_data_file_is_named_with_the_line() {
        let error = load_text(&GAS.replace("libc =", "lib ="))
            .unwrap_err()
            .to_string();
        assert!(error.contains("peers.toml: line "), "{error}");
        assert!(error.contains("unknown field `lib`"), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }

    #[test]
    fn two_peers_of_one_id_and_ids_that_leave_the_folder_are_refused() {
        let error = load_text(&format!("{GAS}{GAS}")).unwrap_err().to_string();
        assert!(
            error.ends_with("two peers have the id gas; rename one"),
            "{error}"
        );
        let error = load_text(&GAS.replace("\"gas\"", "\"../gas\""))
            .unwrap_err()
            .to_string();
        assert!(error.ends_with("its id must be a plain name"), "{error}");
    }

    #[test]
    fn what_is_missing_is_named_by_its_packages_each_once() {
        let tool = |name: &str, package: &str| Need {
            tool: Some(name.to_owned()),
            file: None,
            package: package.to_owned(),
        };
        let file = |command: &str, package: &str| Need {
            tool: None,
            file: Some(command.to_owned()),
            package: package.to_owned(),
        };
        let needs = [
            tool("sh", "dash"),
            tool("no-such-tool", "first"),
            tool("nor-this-one", "first"),
            file("echo /no/such/file", "second"),
            file("echo libc.a", "third"),
            file("no-such-command", "fourth"),
            file("echo /", "fifth"),
        ];
        let what = missing(&needs).unwrap().unwrap();
        assert_eq!(what, "first, second, third, fourth");
        assert_eq!(
            Availability::NotInstalled { what }.to_string(),
            "not installed: first, second, third, fourth (make deps)"
        );
    }
}
