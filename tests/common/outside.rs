//! A crate of somebody else, in a folder of its own, that uses shims and linker-scripts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use tempfile::TempDir;

use super::cargo;

/// A package `mine` in a temporary folder, with a `barest` beside it that is this project. Not
/// in the target folder: cargo would take what lies there for a part of this workspace.
pub struct Outside {
    folder: PathBuf,
    _root: TempDir,
}

/// Its manifest, unless a test brings its own.
pub const MANIFEST: &str = r#"
package = { name = "mine", edition = "2024" }
dependencies.shims.path = "../barest/shims"
build-dependencies.linker-scripts.path = "../barest/linker-scripts"
profile.dev.panic = "abort"
profile.release = { panic = "abort", opt-level = "z", lto = true, codegen-units = 1 }
"#;

/// Its build script, unless a test brings its own.
pub const BUILD: &str = "fn main() { linker_scripts::link() }";

impl Outside {
    pub fn new(manifest: &str, build: &str, main: &str) -> Self {
        let root = TempDir::with_prefix("barest-").unwrap();
        let barest = root.path().join("barest");
        std::os::unix::fs::symlink(env!("CARGO_MANIFEST_DIR"), barest).unwrap();
        let folder = root.path().join("mine");
        fs::create_dir_all(folder.join("src")).unwrap();
        for (file, text) in [
            ("Cargo.toml", manifest),
            ("build.rs", build),
            ("src/main.rs", main),
        ] {
            fs::write(folder.join(file), text).unwrap();
        }
        Outside {
            folder,
            _root: root,
        }
    }

    /// With the usual manifest and build script.
    pub fn with_main(main: &str) -> Self {
        Outside::new(MANIFEST, BUILD, main)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// `cargo build` with these arguments, by a linker: `lld`, `bfd` or `mold`.
    pub fn build(&self, args: &[&str], linker: &str) -> Output {
        cargo()
            .current_dir(&self.folder)
            .args(["build", "--offline", "--quiet"])
            .args(args)
            .env("RUSTFLAGS", format!("-Clink-arg=-fuse-ld={linker}"))
            .output()
            .unwrap()
    }

    /// The program, built with these arguments, which must work.
    pub fn program(&self, args: &[&str], linker: &str) -> PathBuf {
        let output = self.build(args, linker);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let profile = if args.contains(&"--release") {
            "release"
        } else {
            "debug"
        };
        self.folder.join("target").join(profile).join("mine")
    }

    /// What a build that must fail said.
    pub fn refusal(&self, args: &[&str], linker: &str) -> String {
        let output = self.build(args, linker);
        assert!(!output.status.success(), "it was built");
        String::from_utf8(output.stderr).unwrap()
    }
}
