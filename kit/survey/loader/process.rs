//! What one program has in its process when its loader is done: breadth first, as
//! `_dl_map_object_deps` of glibc's `elf/dl-deps.c` and `load_deps` of musl's `ldso/dynlink.c` go.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::folders::{Folders, Found, Search};
use super::glibc::{Glibc, Requester};
use super::musl::{self, Musl};
use super::{Files, Loader, Rules};
use crate::image::Image;
use crate::subject::escape;
use crate::survey::link::{Library, Linked, Loaded, Missing};
use crate::survey::root::{Inode, Unread};
use crate::survey::walk::Program;

/// What a program loads by that loader. Also says what the loader cannot preload: it goes on
/// without it.
pub fn link(
    files: &Files,
    loader: &Loader,
    program: &Program,
    image: &Image,
) -> (Linked, Vec<Unread>) {
    let mut process = Process::new(files, loader, program, image);
    process.run();
    process.linked()
}

/// The program's place among the objects.
const PROGRAM: usize = 0;
/// The loader's.
const LOADER: usize = 1;

struct Process<'a> {
    files: &'a Files<'a>,
    loader: &'a Loader,
    program: &'a Program,
    image: &'a Image,
    /// The program, its loader, and what was loaded, in that order.
    objects: Vec<Object>,
    /// The same by the order in which their needs are looked at.
    queue: Vec<usize>,
    /// Which object a name is, of the names that are not searched again.
    names: HashMap<Vec<u8>, usize>,
    inodes: HashMap<Inode, usize>,
    inherited: Vec<Inherited>,
    missing: Vec<Missing>,
    unread: Vec<Unread>,
}

/// The program, or a library that it loads.
struct Object {
    /// None for the program.
    library: Option<Arc<Library>>,
    /// As it was opened.
    path: PathBuf,
    direct: bool,
    queued: bool,
    /// Where it looks first, and then where those looked that had it loaded: a place among
    /// `inherited`.
    inherited: Option<usize>,
    /// glibc: where it looks instead of that.
    runpath: Option<Arc<Folders>>,
}

/// Folders that an object names for itself and for what it loads.
struct Inherited {
    folders: Arc<Folders>,
    /// Those of the next object with such, on the way to the program.
    then: Option<usize>,
}

impl<'a> Process<'a> {
    fn new(files: &'a Files, loader: &'a Loader, program: &'a Program, image: &'a Image) -> Self {
        let object = |library: Option<&Arc<Library>>, path: PathBuf| Object {
            direct: library.is_some(),
            library: library.cloned(),
            path,
            queued: false,
            inherited: None,
            runpath: None,
        };
        let mut process = Process {
            files,
            loader,
            program,
            image,
            objects: vec![
                object(None, program.path.clone()),
                object(Some(&loader.library), loader.path.clone().into()),
            ],
            queue: Vec::new(),
            names: HashMap::new(),
            inodes: HashMap::from([(loader.library.inode, LOADER)]),
            inherited: Vec::new(),
            missing: Vec::new(),
            unread: Vec::new(),
        };
        if let Rules::Glibc(_) = loader.rules {
            // The program's own name is empty (`_dl_new_object` in `dl_main`).
            process.name(b"", PROGRAM);
            process.name_by_soname(PROGRAM);
            process.name_by_soname(LOADER);
        }
        process.name(loader.path.as_bytes(), LOADER);
        process.set_folders(PROGRAM, None);
        process.set_folders(LOADER, None);
        process
    }

    fn run(&mut self) {
        let loader = self.loader;
        self.enqueue(PROGRAM);
        if let Rules::Glibc(glibc) = &loader.rules {
            self.preload(glibc);
        }
        let mut next = 0;
        while let Some(&requester) = self.queue.get(next) {
            next += 1;
            let library = self.objects[requester].library.clone();
            let image = library
                .as_deref()
                .map_or(self.image, |library| &library.image);
            let mut not_found = HashSet::new();
            for name in &image.needed {
                if not_found.contains(name) {
                    continue;
                }
                match self.ask(requester, name.as_bytes()) {
                    Ok(PROGRAM) => {}
                    Ok(object) => {
                        self.objects[object].direct |= requester == PROGRAM;
                        self.enqueue(object);
                    }
                    Err(reason) => {
                        not_found.insert(name);
                        let wanted_by = match &library {
                            Some(library) => &library.path,
                            None => &self.program.path,
                        };
                        self.missing.push(Missing {
                            name: name.clone(),
                            wanted_by: wanted_by.clone(),
                            direct: requester == PROGRAM,
                            reason,
                        });
                    }
                }
            }
        }
        self.enqueue(LOADER);
    }

    fn linked(self) -> (Linked, Vec<Unread>) {
        let mut objects: Vec<_> = self.objects.into_iter().map(Some).collect();
        let libraries = self.queue.into_iter().filter_map(|object| {
            let object = objects.get_mut(object)?.take()?;
            Some(Loaded {
                library: object.library?,
                direct: object.direct,
            })
        });
        let linked = Linked {
            libraries: libraries.collect(),
            missing: self.missing,
        };
        (linked, self.unread)
    }

    fn enqueue(&mut self, object: usize) {
        if !self.objects[object].queued {
            self.objects[object].queued = true;
            self.queue.push(object);
        }
    }

    /// From now on this name is that object, if it is not another one already.
    fn name(&mut self, name: &[u8], object: usize) {
        if !self.names.contains_key(name) {
            self.names.insert(name.to_vec(), object);
        }
    }

    fn name_by_soname(&mut self, object: usize) {
        let library = self.objects[object].library.clone();
        let image = library
            .as_deref()
            .map_or(self.image, |library| &library.image);
        if let Some(soname) = &image.soname {
            self.name(soname.as_bytes(), object);
        }
    }

    /// The object that a name leads to, loaded if it was not. Or why there is none.
    fn ask(&mut self, requester: usize, name: &[u8]) -> Result<usize, String> {
        match &self.loader.rules {
            Rules::Glibc(glibc) => self.ask_glibc(glibc, requester, name),
            Rules::Musl(musl) => self.ask_musl(musl, requester, name),
            Rules::Unknown => Err(format!(
                "not looked for: the rules of the loader {} are not known",
                escape(&self.loader.path)
            )),
        }
    }

    fn ask_glibc(&mut self, glibc: &Glibc, requester: usize, name: &[u8]) -> Result<usize, String> {
        let origin = || self.origin(requester);
        let name = glibc.needed(name, &self.requester(requester, &origin))?;
        self.ask_glibc_for(glibc, requester, &name, false)
    }

    /// The same for a name without tokens; `trusted` if it must be a set-user-ID file.
    fn ask_glibc_for(
        &mut self,
        glibc: &Glibc,
        requester: usize,
        name: &[u8],
        trusted: bool,
    ) -> Result<usize, String> {
        if let Some(&known) = self.names.get(name) {
            return Ok(known);
        }
        let nodeflib = self.image_of(requester).nodeflib;
        let found = loadable(if name.contains(&b'/') {
            glibc.at(self.files, name)
        } else if trusted {
            glibc.search_trusted(self.files, name, self.lists(requester), nodeflib)
        } else {
            glibc.search(self.files, name, self.lists(requester), nodeflib)
        })?;
        if let Some(&known) = self.inodes.get(&found.library.inode) {
            self.name(name, known);
            return Ok(known);
        }
        let object = self.load(&found, requester);
        self.name(name, object);
        self.name(found.path.as_os_str().as_bytes(), object);
        self.name_by_soname(object);
        Ok(object)
    }

    fn ask_musl(&mut self, musl: &Musl, requester: usize, name: &[u8]) -> Result<usize, String> {
        if name.is_empty() {
            return Err("its name is empty".into());
        }
        if musl::is_reserved(name) {
            return Ok(LOADER);
        }
        if let Some(&known) = self.names.get(name) {
            return Ok(known);
        }
        let by_path = name.contains(&b'/');
        let found = if by_path {
            musl.at(self.files, name)
        } else {
            musl.search(self.files, name, self.lists(requester))
        };
        let found = loadable(found)?;
        let known = self.inodes.get(&found.library.inode).copied();
        let object = known.unwrap_or_else(|| self.load(&found, requester));
        if !by_path {
            // It is known by what it is called in the folder where it was first found.
            let path = self.objects[object].path.clone();
            let name = path.file_name().unwrap_or_default();
            self.name(name.as_bytes(), object);
        }
        Ok(object)
    }

    /// A new object, loaded by another.
    fn load(&mut self, found: &Found, by: usize) -> usize {
        let object = self.objects.len();
        self.objects.push(Object {
            library: Some(found.library.clone()),
            path: found.path.clone(),
            direct: false,
            queued: false,
            inherited: None,
            runpath: None,
        });
        self.inodes.insert(found.library.inode, object);
        self.set_folders(object, self.objects[by].inherited);
        object
    }

    /// Sets where an object looks, when those that had it loaded look there.
    fn set_folders(&mut self, object: usize, then: Option<usize>) {
        let library = self.objects[object].library.clone();
        let image = library
            .as_deref()
            .map_or(self.image, |library| &library.image);
        let (rpath, runpath) = (image.rpath.as_deref(), image.runpath.as_deref());
        let origin = || self.origin(object);
        let (own, runpath) = match &self.loader.rules {
            Rules::Glibc(glibc) => {
                let requester = self.requester(object, &origin);
                let folders = |list: &OsStr| glibc.folders(self.files, list.as_bytes(), &requester);
                match runpath {
                    Some(runpath) => (None, folders(runpath)),
                    None => (rpath.and_then(folders), None),
                }
            }
            Rules::Musl(musl) => {
                let allowed = || {
                    let barred = self.program.secure && object == PROGRAM;
                    let origin = (!barred).then(origin).flatten()?;
                    (!self.program.secure || origin.starts_with(b"/")).then_some(origin)
                };
                let list = runpath.or(rpath);
                (list.and_then(|l| musl.folders(l.as_bytes(), allowed)), None)
            }
            Rules::Unknown => (None, None),
        };
        let inherited = match own {
            // The same once more would find the same.
            Some(own) if !then.is_some_and(|at| Arc::ptr_eq(&self.inherited[at].folders, &own)) => {
                self.inherited.push(Inherited { folders: own, then });
                Some(self.inherited.len() - 1)
            }
            _ => then,
        };
        self.objects[object].inherited = inherited;
        self.objects[object].runpath = runpath;
    }

    /// The folders that are searched for what an object asks for, in their order.
    fn lists(&self, requester: usize) -> impl Iterator<Item = Arc<Folders>> {
        let object = &self.objects[requester];
        let has_runpath = self.image_of(requester).runpath.is_some();
        let glibc = matches!(self.loader.rules, Rules::Glibc(_));
        let mut next = object.inherited.filter(|_| !(glibc && has_runpath));
        let inherited = std::iter::from_fn(move || {
            let list = self.inherited.get(next?)?;
            next = list.then;
            Some(list.folders.clone())
        });
        inherited.chain(object.runpath.clone())
    }

    fn image_of(&self, object: usize) -> &Image {
        let library = self.objects[object].library.as_deref();
        library.map_or(self.image, |library| &library.image)
    }

    fn requester<'r>(
        &self,
        object: usize,
        origin: &'r dyn Fn() -> Option<Vec<u8>>,
    ) -> Requester<'r> {
        Requester {
            origin,
            is_program: object == PROGRAM,
            secure: self.program.secure,
        }
    }

    /// The folder of an object: that of the program's file without links, as the kernel names it;
    /// a library's by the path that it was opened by.
    fn origin(&self, object: usize) -> Option<Vec<u8>> {
        let path = &self.objects[object].path;
        let path = match object {
            PROGRAM => self.files.root.real_path(path).ok()?,
            _ if path.is_absolute() => path.clone(),
            _ => match self.files.root.folder() {
                Some(_) => Path::new("/").join(path),
                None => std::env::current_dir().ok()?.join(path),
            },
        };
        let path = path.into_os_string().into_vec();
        match path.iter().rposition(|byte| *byte == b'/')? {
            0 => Some(b"/".to_vec()),
            end => Some(path[..end].to_vec()),
        }
    }

    /// Loads what the loader loads before all others (`do_preload` of glibc's `elf/rtld.c`).
    fn preload(&mut self, glibc: &Glibc) {
        for name in &glibc.preload {
            let loaded = self.ask_glibc_for(glibc, PROGRAM, name, self.program.secure);
            match loaded {
                Ok(PROGRAM) => {}
                Ok(object) => self.enqueue(object),
                Err(reason) => {
                    let name = escape(OsStr::from_bytes(name));
                    let loader = escape(&self.loader.path);
                    let why = format!("{name} is not preloaded by {loader}: {reason}");
                    self.unread.push(Unread::new(glibc.preload_file(), why));
                }
            }
        }
    }
}

fn loadable(search: Search) -> Result<Arc<Found>, String> {
    match search {
        Search::Found(found) => Ok(found),
        Search::Absent(None) => Err("not found".into()),
        Search::Absent(Some(passed_over)) => Err(format!("not found; passed over: {passed_over}")),
        Search::Bad(why) => Err(why.to_string()),
    }
}
