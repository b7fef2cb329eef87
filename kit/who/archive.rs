//! The functions of a C library as its archive has them: which of a static program's functions are
//! the library's.
//!
//! A name alone says little: a program can have a `malloc` of its own. So the size counts too. Where
//! most of the names that a program shares with an archive have the size that they have there, it is
//! the archive that the program was linked with; and what has another size there, is the program's.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use object::read::archive::ArchiveFile;

use super::elf::{Elf, Source, Symbol, Symbols};

/// Where archives are: of glibc by Debian's and others' folders, of musl, dietlibc and klibc.
const ARCHIVES: [&str; 9] = [
    "/usr/lib/x86_64-linux-gnu/libc.a",
    "/usr/lib64/libc.a",
    "/usr/lib/libc.a",
    "/usr/lib/x86_64-linux-musl/libc.a",
    "/usr/lib/musl/lib/libc.a",
    "/usr/local/musl/lib/libc.a",
    "/usr/lib/diet/lib-x86_64/libc.a",
    "/opt/diet/lib-x86_64/libc.a",
    "/usr/lib/klibc/lib/libc.a",
];

/// Beside an archive: what a program begins with (crt1.o and its like; dietlibc's start.o).
const BEGINNINGS: [&str; 6] = [
    "crt1.o", "Scrt1.o", "rcrt1.o", "gcrt1.o", "crt0.o", "start.o",
];

/// The archive that a program was linked with.
pub struct Archive {
    /// Its file.
    pub path: PathBuf,
    functions: Functions,
}

/// What an archive says of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Membership {
    /// One of that name and size is in it.
    Its,
    /// None of that name is in it, or only of other sizes.
    NotIts,
}

/// Names that only a C library's start has: glibc's and musl's, klibc's, dietlibc's.
const STARTS: [&str; 4] = [
    "__libc_start_main",
    "__libc_start_main_impl",
    "__libc_init",
    "__you_tried_to_link_a_dietlibc_object_against_glibc",
];

/// Whether a program holds a C library, by the names of its functions.
pub fn is_linked_with_one(tables: &[Symbols]) -> bool {
    let mut symbols = tables
        .iter()
        .flat_map(|table| table.list.iter().map(|symbol| table.name(symbol)));
    symbols.any(|name| STARTS.iter().any(|start| start.as_bytes() == name))
}

/// The archive that a program was linked with. None when it is not installed.
pub fn of(tables: &[Symbols]) -> Option<Archive> {
    let mut wanted = HashMap::<&[u8], HashSet<u64>>::new();
    for table in tables {
        for symbol in &table.list {
            let sizes = wanted.entry(table.name(symbol)).or_default();
            sizes.insert(symbol.size);
        }
    }
    let mut best: Option<(usize, Archive)> = None;
    for path in candidates() {
        let Some(functions) = functions(&path, |name| wanted.contains_key(name)) else {
            continue;
        };
        // What has no size says nothing.
        let sized = functions
            .iter()
            .filter(|(_, sizes)| sizes.iter().any(|size| *size > 0));
        let shared = sized.clone().count();
        let same = sized
            .filter(|(name, sizes)| {
                let wanted = wanted.get(name.as_bytes());
                wanted.is_some_and(|wanted| !wanted.is_disjoint(sizes))
            })
            .count();
        // A linker takes functions as they are. Of some the program has one of its own.
        if same * 10 <= shared * 8 || best.as_ref().is_some_and(|(most, _)| *most >= same) {
            continue;
        }
        best = Some((same, Archive { path, functions }));
        // None other can be as good, and to read them all takes longer than to trace the program.
        if same * 100 > shared * 98 && shared > 20 {
            break;
        }
    }
    best.map(|(_, archive)| archive)
}

impl Archive {
    /// What it says of a function.
    pub fn holds(&self, name: &str, size: u64) -> Membership {
        match self.functions.get(name) {
            // What was written in assembly can be without a size on both sides.
            Some(sizes) if sizes.contains(&size) => Membership::Its,
            _ => Membership::NotIts,
        }
    }
}

/// The archives that are installed, those of Rust's own musl included.
fn candidates() -> Vec<PathBuf> {
    let usual = ARCHIVES.into_iter().map(PathBuf::from);
    let usual: Vec<_> = usual.filter(|path| path.is_file()).collect();
    usual.into_iter().chain(of_rust()).collect()
}

/// `TOOLCHAIN/lib/rustlib/TARGET/lib/self-contained/libc.a` of each toolchain of rustup.
fn of_rust() -> Vec<PathBuf> {
    let home = std::env::var_os("RUSTUP_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".rustup")));
    let folders = |of: PathBuf| fs::read_dir(of).into_iter().flatten().flatten();
    let Some(home) = home else {
        return Vec::new();
    };
    folders(home.join("toolchains"))
        .flat_map(|toolchain| folders(toolchain.path().join("lib/rustlib")))
        .map(|target| target.path().join("lib/self-contained/libc.a"))
        .filter(|path| path.is_file())
        .collect()
}

/// By name, with all the sizes that there are.
type Functions = HashMap<String, HashSet<u64>>;

/// The functions of an archive, and of what programs with it begin with; those only that are wanted.
/// None when it is no archive.
fn functions(path: &Path, wanted: impl Fn(&[u8]) -> bool) -> Option<Functions> {
    let mut functions = functions_in(&fs::read(path).ok()?, &wanted)?;
    let folder = path.parent()?;
    for beginning in BEGINNINGS {
        if let Ok(bytes) = fs::read(folder.join(beginning)) {
            add(bytes, &wanted, &mut functions);
        }
    }
    Some(functions)
}

/// The functions of the objects in an archive; those only that are wanted.
pub(super) fn functions_in(bytes: &[u8], wanted: impl Fn(&[u8]) -> bool) -> Option<Functions> {
    let archive = ArchiveFile::parse(bytes).ok()?;
    let mut functions = Functions::new();
    for member in archive.members() {
        // What follows a damaged member cannot be found.
        let Ok(member) = member else { break };
        if let Ok(object) = member.data(bytes) {
            add(object.to_vec(), &wanted, &mut functions);
        }
    }
    Some(functions)
}

/// Adds the functions of an object file.
fn add(object: Vec<u8>, wanted: impl Fn(&[u8]) -> bool, functions: &mut Functions) {
    let symbols = Elf::new(Source::Bytes(object)).and_then(|file| file.symbols());
    let Some(table) = symbols else {
        return;
    };
    let code = |symbol: &&Symbol| symbol.function || symbol.size == 0;
    for symbol in table.list.iter().filter(code) {
        let name = table.name(symbol);
        if wanted(name) {
            let name = String::from_utf8_lossy(name).into_owned();
            functions.entry(name).or_default().insert(symbol.size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_the_librarys_by_name_and_size() {
        let functions = HashMap::from([("write".to_owned(), HashSet::from([8, 16]))]);
        let archive = Archive {
            path: PathBuf::new(),
            functions,
        };
        assert_eq!(archive.holds("write", 16), Membership::Its);
        assert_eq!(archive.holds("write", 17), Membership::NotIts);
        assert_eq!(archive.holds("main", 16), Membership::NotIts);
    }

    #[test]
    fn what_is_no_archive_has_no_functions() {
        assert!(functions(Path::new("/proc/self/exe"), |_| true).is_none());
        assert!(functions(Path::new("/nowhere"), |_| true).is_none());
    }
}
