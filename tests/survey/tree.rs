//! A system of a test's own: programs and libraries without any C library, built with gcc.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use barest::survey::Root;
use barest::survey::link::{Library, Linked, Linker};
use barest::survey::root::Inode;
use barest::survey::walk::{self, Program};

use super::common::{folder, succeed};

/// The folder of one test.
pub struct Tree {
    pub folder: PathBuf,
}

/// What a program loads, told by paths in its tree; the loader left out.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// In their order.
    pub libraries: Vec<String>,
    /// Those of them that the program itself names.
    pub direct: Vec<String>,
    /// `name, wanted by: reason`.
    pub missing: Vec<String>,
}

impl Tree {
    pub fn new(name: &str) -> Self {
        let folder = folder(&format!("survey_link_{name}"));
        Tree {
            folder: folder.canonicalize().unwrap(),
        }
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    /// Writes a file, and the folders that it is in.
    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Builds with gcc in the tree; `FOLDER` in an argument is the tree's folder.
    pub fn gcc(&self, path: &str, source: &str, args: &[&str]) -> PathBuf {
        let code = self.write(&format!("source/{}.c", path.replace('/', "_")), source);
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let folder = self.folder.to_str().unwrap();
        let args = args.iter().map(|arg| arg.replace("FOLDER", folder));
        succeed(
            Command::new("gcc")
                .current_dir(&self.folder)
                .args(["-nostdlib", "-fPIC", "-Wl,--allow-shlib-undefined"])
                .args(["-Wl,--no-as-needed", "-o"])
                .arg(&path)
                .arg(code)
                .args(args),
        );
        path
    }

    /// A library that others link to by its file's name.
    pub fn library(&self, path: &str, args: &[&str]) -> PathBuf {
        let name = path.rsplit('/').next().unwrap();
        let soname = format!("-Wl,-soname,{name}");
        let args = [&["-shared", &soname], args].concat();
        self.gcc(path, "", &args)
    }

    /// A program that runs in place, by the loader that gcc names.
    pub fn program(&self, path: &str, args: &[&str]) -> PathBuf {
        self.gcc(path, "void _start(void) { for (;;); }", args)
    }

    /// A file that looks like a glibc loader with these default folders, for this machine.
    pub fn glibc_loader(&self, path: &str, folders: [&str; 2], args: &[&str]) -> PathBuf {
        let [first, second] = folders;
        let source = format!(
            "#define KEEP __attribute__((used))\n\
             KEEP const char dirs[] = \"{first}\\0{second}\";\n\
             KEEP const unsigned long lengths[] = {{ {}, {} }};\n\
             KEEP const char cache[] = \"/etc/ld.so.cache\";\n\
             KEEP const char preload[] = \"/etc/ld.so.preload\";\n\
             KEEP const char lib[] = \"lib64\";\n\
             KEEP const char hwcaps[] = \"x86-64-v4:x86-64-v3:x86-64-v2\";\n",
            first.len(),
            second.len(),
        );
        self.gcc(path, &source, &[&["-shared"], args].concat())
    }

    /// The program at that path, in this system or in the tree as a system of its own.
    pub fn inspect(&self, root: &Root, path: &Path) -> Program {
        let programs = walk::walk(root, &[path.to_owned()], &|_| ()).unwrap();
        programs.list.into_iter().next().unwrap()
    }

    /// What a program in place loads.
    pub fn here(&self, program: &Path) -> Seen {
        let root = Root::here();
        let linker = Linker::new(&root);
        let program = self.inspect(&root, program);
        let linked = linker.link(&program);
        assert_eq!(linker.unread(), []);
        self.seen(&root, &program, &linked)
    }

    /// The same for a path of the system that the tree is. Also what could not be read.
    pub fn inside(&self, program: &str) -> (Seen, Vec<String>) {
        self.inside_as(program, false)
    }

    /// The same for a program that is set-user-ID, or as if it were.
    pub fn inside_as(&self, program: &str, secure: bool) -> (Seen, Vec<String>) {
        let root = Root::at(&self.folder).unwrap();
        let linker = Linker::new(&root);
        let mut program = self.inspect(&root, Path::new(program));
        program.secure |= secure;
        let linked = linker.link(&program);
        let unread = linker.unread().into_iter();
        let unread = unread.map(|u| format!("{}: {}", u.path.display(), u.reason));
        (self.seen(&root, &program, &linked), unread.collect())
    }

    fn seen(&self, root: &Root, program: &Program, linked: &Linked) -> Seen {
        let short = |path: &Path| {
            let path = path.strip_prefix(&self.folder).unwrap_or(path);
            path.to_string_lossy().trim_start_matches('/').to_owned()
        };
        let loader = program.image.as_ref().unwrap().interpreter.clone().unwrap();
        let loader = root.metadata(Path::new(&loader)).ok();
        let loader = loader.as_ref().map(Inode::of);
        let mut seen = Seen::default();
        for loaded in &linked.libraries {
            let path = short(&loaded.library.path);
            if Some(loaded.library.inode) == loader {
                continue;
            }
            if loaded.direct {
                seen.direct.push(path.clone());
            }
            seen.libraries.push(path);
        }
        seen.missing = linked
            .missing
            .iter()
            .map(|m| {
                let reason = m.reason.replace(self.folder.to_str().unwrap(), "");
                let name = m.name.to_string_lossy();
                let direct = if m.direct { "" } else { ", through others" };
                format!("{name}, {}{direct}: {reason}", short(&m.wanted_by))
            })
            .collect();
        seen
    }
}

/// Libraries that a program needs, in the form in which the linker takes them.
pub fn by_name(folder: &str, names: &[&str]) -> Vec<String> {
    let mut args = vec![format!("-L{folder}")];
    args.extend(names.iter().map(|name| format!("-l:{name}")));
    args
}

/// Files in the order in which they are loaded, and names that are not found.
pub type Listed = (Vec<(u64, u64)>, Vec<String>);

/// The linker says of one of our own programs what its glibc loader itself lists. The vDSO is no
/// file. The loader is the last of ours where none names it; whether it lists itself then depends
/// on its version (glibc 2.36 does not), so it is left out of both.
pub fn same_as_glibc(program: &Path) {
    let mut command = Command::new(program);
    command.env_clear().env("LD_TRACE_LOADED_OBJECTS", "1");
    let (mut asked, missing) = listed(&succeed(&mut command));
    let (mut told, loader) = told(program);
    if let Some(loader) = loader {
        asked.retain(|file| *file != loader);
        told.0.retain(|file| *file != loader);
    }
    assert_eq!(told, (asked, missing));
}

/// The lines of such a list. Each file once.
pub fn listed(text: &str) -> Listed {
    let (mut files, mut missing) = (Vec::new(), Vec::new());
    let mut met = HashSet::new();
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with("linux-vdso") || line.starts_with("linux-gate") {
            continue;
        }
        let (name, file) = line.split_once(" => ").unwrap_or((line, line));
        if file == "not found" {
            missing.push(name.to_owned());
            continue;
        }
        let file = file.rsplit_once(" (").unwrap().0;
        let meta = fs::metadata(file).unwrap();
        let file = (meta.dev(), meta.ino());
        if met.insert(file) {
            files.push(file);
        }
    }
    (files, missing)
}

/// What the linker says of a program in place; and which of the files is the loader, if no other
/// names it.
pub fn told(program: &Path) -> (Listed, Option<(u64, u64)>) {
    let root = Root::here();
    let linker = Linker::new(&root);
    let programs = walk::walk(&root, &[program.to_owned()], &|_| ()).unwrap();
    let linked = linker.link(&programs.list[0]);
    let number = |library: &Library| (library.inode.device, library.inode.number);
    let files = linked.libraries.iter().map(|l| number(&l.library));
    let missing = linked.missing.iter();
    let missing = missing.map(|m| m.name.to_str().unwrap().to_owned());
    let last = linked.libraries.last().map(|l| &l.library);
    let unnamed = last.filter(|last| {
        let all = linked.libraries.iter();
        let mut needed = all.flat_map(|l| &l.library.image.needed);
        !needed.any(|name| Some(name) == last.image.soname.as_ref())
    });
    let unnamed = unnamed.map(|last| number(last));
    ((files.collect(), missing.collect()), unnamed)
}

/// Makes a file set-user-ID.
pub fn set_user_id(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o4755)).unwrap();
}
