//! Folders of as many programs as are asked for, each a file of its own, as they stand in a system.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use barest::{Error, Result};
use tempfile::TempDir;

use crate::common;

/// A folder of its own, which is gone at the end.
pub struct Trees {
    folder: TempDir,
    program: Vec<u8>,
}

/// In each folder of a tree.
const IN_A_FOLDER: u32 = 1_000;

impl Trees {
    /// Builds the program and its libraries.
    pub fn new() -> Result<Self> {
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR"))
            .map_err(|e| Error::io("make a folder for trees", e))?;
        let program = build(folder.path())?;
        Ok(Trees { folder, program })
    }

    /// So many programs.
    pub fn of(&self, programs: u32) -> Result<PathBuf> {
        let tree = self.folder.path().join(programs.to_string());
        let failed = |e| Error::io(format!("write into {}", tree.display()), e);
        for number in 0..programs {
            let folder = tree.join((number / IN_A_FOLDER).to_string());
            if number % IN_A_FOLDER == 0 {
                fs::create_dir_all(&folder).map_err(failed)?;
            }
            write_executable(&folder.join(number.to_string()), &self.program).map_err(failed)?;
        }
        Ok(tree)
    }
}

fn write_executable(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut file = fs::File::options()
        .write(true)
        .create_new(true)
        .mode(0o755)
        .open(path)?;
    file.write_all(bytes)
}

/// A program with five libraries of its own, which need libc, as its bytes.
fn build(folder: &Path) -> Result<Vec<u8>> {
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|e| Error::io(format!("write {}", path.display()), e))?;
        Ok::<_, Error>(path)
    };
    let mut calls = String::new();
    let mut links = Vec::new();
    for number in 0..5 {
        let functions = (0..200).map(|of| format!("int f{number}_{of}(void) {{ return {of}; }}\n"));
        let source = write(&format!("l{number}.c"), functions.collect())?;
        let library = folder.join(format!("libl{number}.so"));
        common::compile(&["gcc", "-shared", "-fPIC", "-s"], &source, &library)?;
        calls += &format!("+ f{number}_0() + f{number}_7()");
        links.push(format!("-ll{number}"));
    }
    let declared: String = (0..5)
        .map(|number| format!("int f{number}_0(void), f{number}_7(void);\n"))
        .collect();
    let source = write(
        "program.c",
        format!("{declared}int main(void) {{ return 0 {calls}; }}\n"),
    )?;
    let program = folder.join("program");
    let mut gcc = Command::new("gcc");
    gcc.args(["-s", "-Wl,-z,noseparate-code"])
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .arg(format!("-L{}", folder.display()))
        .arg(format!("-Wl,-rpath,{}", folder.display()))
        .args(links);
    let ended = gcc.status().map_err(|e| Error::io("run gcc", e))?;
    if !ended.success() {
        return Err(Error::Command {
            command: format!("{gcc:?}"),
            reason: format!("{ended}; make deps"),
        });
    }
    fs::read(&program).map_err(|e| Error::io(format!("read {}", program.display()), e))
}
