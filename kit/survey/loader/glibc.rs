//! How glibc's loader finds libraries: `_dl_map_object` and what it calls, of `elf/dl-load.c`.
//!
//! `LD_LIBRARY_PATH` and `LD_PRELOAD` are taken to be unset. Not looked in are the subdirectories
//! `tls`, `haswell` and so on, which glibc forgot with 2.37; `DT_AUXILIARY` and `DT_FILTER` are not
//! followed. A folder with `$PLATFORM` is left out for machines whose platform is not known here.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::abi::{Abi, Misfit};
use super::built_in::BuiltIn;
use super::cache::{Cache, Reader};
use super::cpu;
use super::files::{Files, Opened};
use super::folders::{Folders, Found, Memory, Search, Tried};
use super::tokens::Tokens;
use crate::image::{Image, Linkage};
use crate::subject::escape;
use crate::survey::link::Library;
use crate::survey::root::Unread;

/// The most bytes of a cache, or of a list of libraries to preload, that are read.
const LARGEST_FILE: u64 = 64 << 20;
/// `S_ISUID`.
const SET_USER_ID: u32 = libc::S_ISUID;

/// What stands before a name that is looked for in one folder.
type Prefixes = Arc<[Arc<[u8]>]>;

/// One loader of glibc.
pub struct Glibc {
    abi: Abi,
    built_in: BuiltIn,
    cache: Cache,
    /// The names that it loads before all others.
    pub preload: Vec<Vec<u8>>,
    /// The subdirectories that this CPU may use, the best first.
    hwcaps: Vec<Vec<u8>>,
    platform: Option<&'static [u8]>,
    /// By the folders that were met: their subdirectories for better CPUs, then themselves.
    prefixes: Mutex<HashMap<Vec<u8>, Prefixes>>,
    lists: Mutex<HashMap<Vec<Vec<u8>>, Arc<Folders>>>,
    defaults: Folders,
    /// What the cache and the default folders have for a name; and for one that is asked for by a
    /// file with `DF_1_NODEFLIB`.
    system: [Memory; 2],
}

/// The file that asks for a library, as far as that matters for what its tokens stand for.
pub struct Requester<'a> {
    /// Its folder.
    pub origin: &'a dyn Fn() -> Option<Vec<u8>>,
    /// It is the program itself.
    pub is_program: bool,
    /// The program is set-user-ID.
    pub secure: bool,
}

impl Glibc {
    /// The loader whose bytes these are, which programs name by `path`. None if they are not a
    /// glibc loader's. Says what of its files cannot be read.
    pub fn new(
        files: &Files,
        path: &Path,
        image: &Image,
        abi: Abi,
        bytes: &[u8],
    ) -> Option<(Self, Vec<Unread>)> {
        let built_in = BuiltIn::read(bytes, image.bits, image.endian)?;
        let mut unread = Vec::new();
        if !built_in.told {
            let why =
                "the folders it was built with cannot be told; those of ld.so(8) are searched";
            unread.push(Unread::new(path, why));
        }
        let level = cpu::level();
        // x86-64-v2 is for level 2.
        let usable = |name: &&Vec<u8>| {
            let level_of_it = name.strip_prefix(b"x86-64-v").and_then(|l| l.first());
            level_of_it.is_some_and(|digit| u32::from(digit.wrapping_sub(b'0')) <= level)
        };
        let hwcaps: Vec<Vec<u8>> = built_in.hwcaps.iter().filter(usable).cloned().collect();
        let cache = match &built_in.cache {
            Some(cache_path) => cache(files, cache_path, path, image, &hwcaps, &mut unread),
            None => Cache::default(),
        };
        let preload = preload(files, &built_in.preload, &mut unread);
        let mut glibc = Glibc {
            abi,
            cache,
            preload,
            hwcaps,
            platform: cpu::platform(&image.machine, image.bits),
            prefixes: Mutex::default(),
            lists: Mutex::default(),
            defaults: Folders::default(),
            system: Default::default(),
            built_in,
        };
        let folders = glibc.built_in.folders.iter();
        let prefixes = folders.map(|folder| glibc.prefixes(files, folder));
        glibc.defaults = Folders::new(prefixes.flat_map(|p| p.to_vec()).collect());
        Some((glibc, unread))
    }

    /// The file that names what is loaded first.
    pub fn preload_file(&self) -> &OsStr {
        OsStr::from_bytes(&self.built_in.preload)
    }

    fn tokens<'a>(&'a self, requester: &Requester) -> Tokens<'a> {
        Tokens {
            origin: (requester.origin)(),
            lib: &self.built_in.lib,
            platform: self.platform,
            secure: requester.secure,
            trusted: requester.is_program.then_some(&self.built_in.folders),
        }
    }

    /// A needed name with its tokens replaced (`expand_dst` of `elf/dl-deps.c`).
    pub fn needed(&self, name: &[u8], requester: &Requester) -> Result<Vec<u8>, String> {
        if !super::tokens::has_any(name) {
            return Ok(name.to_vec());
        }
        if requester.secure {
            return Err("its name has a token, which set-user-ID programs may not use".into());
        }
        let name = self.tokens(requester).replace(name);
        name.ok_or_else(|| "its name has a token that stands for nothing".into())
    }

    /// The folders of a `DT_RPATH` or `DT_RUNPATH`. None where it names none.
    pub fn folders(
        &self,
        files: &Files,
        list: &[u8],
        requester: &Requester,
    ) -> Option<Arc<Folders>> {
        if list.is_empty() {
            return None;
        }
        let tokens = super::tokens::has_any(list).then(|| self.tokens(requester));
        let mut met = HashSet::new();
        let mut folders = Vec::new();
        for folder in list.split(|byte| *byte == b':') {
            let folder = match &tokens {
                Some(tokens) if !folder.is_empty() => match tokens.replace(folder) {
                    Some(folder) if !folder.is_empty() => folder,
                    _ => continue,
                },
                _ => folder.to_vec(),
            };
            let folder = with_one_slash(folder);
            if met.insert(folder.clone()) {
                folders.push(folder);
            }
        }
        if folders.is_empty() {
            return None;
        }
        let known = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&folders) {
            return Some(known.clone());
        }
        drop(known);
        let prefixes = folders.iter().map(|folder| self.prefixes(files, folder));
        let new = Arc::new(Folders::new(prefixes.flat_map(|p| p.to_vec()).collect()));
        let mut known = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        Some(known.entry(folders).or_insert(new).clone())
    }

    /// What stands before a name that is looked for in a folder: the subdirectories for better
    /// CPUs and the folder itself, those that exist. `folder` is empty, or ends with a slash.
    fn prefixes(&self, files: &Files, folder: &[u8]) -> Prefixes {
        let mut known = self.prefixes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(folder) {
            return known.clone();
        }
        let is_there = |path: &[u8]| {
            let meta = files.root.metadata(Path::new(OsStr::from_bytes(path)));
            meta.is_ok_and(|meta| meta.is_dir())
        };
        let absolute = folder.starts_with(b"/");
        let mut prefixes: Vec<Arc<[u8]>> = Vec::new();
        if !absolute || is_there(folder) {
            let subfolders = self.hwcaps.iter();
            let subfolders = subfolders.map(|name| [folder, b"glibc-hwcaps/", name, b"/"].concat());
            prefixes.extend(subfolders.filter(|path| is_there(path)).map(Arc::from));
            prefixes.push(folder.into());
        }
        known
            .entry(folder.to_vec())
            .or_insert(prefixes.into())
            .clone()
    }

    /// Looks for a name without a slash in the folders that files name, then by the cache, then in
    /// the default folders.
    pub fn search(
        &self,
        files: &Files,
        name: &[u8],
        lists: impl Iterator<Item = Arc<Folders>>,
        nodeflib: bool,
    ) -> Search {
        let open = |path: &Path| self.open(files, path);
        let mut found = Search::Absent(None);
        for list in lists {
            found = found.or_else(|| list.search(name, open));
            if !matches!(found, Search::Absent(_)) {
                return found;
            }
        }
        found.or_else(|| {
            self.system[usize::from(nodeflib)].recall(name, || {
                let cached = self.cached(files, name, nodeflib);
                if nodeflib {
                    return cached;
                }
                cached.or_else(|| self.defaults.look(name, open))
            })
        })
    }

    /// What the cache has for a name.
    fn cached(&self, files: &Files, name: &[u8], nodeflib: bool) -> Search {
        let Some(path) = self.cache.path(name) else {
            return Search::Absent(None);
        };
        let of_the_system = |path: &[u8]| {
            let folders = &self.built_in.folders;
            folders.iter().any(|folder| path.starts_with(folder))
        };
        if nodeflib && of_the_system(path) {
            return Search::Absent(None);
        }
        self.at(files, path)
    }

    /// What is at one path.
    pub fn at(&self, files: &Files, path: &[u8]) -> Search {
        let path = Path::new(OsStr::from_bytes(path));
        match self.open(files, path) {
            Tried::Found(library) => {
                let path = path.to_owned();
                Search::Found(Arc::new(Found { library, path }))
            }
            Tried::Absent | Tried::Stop => Search::Absent(None),
            Tried::PassedOver(why) => Search::Absent(Some(why.into())),
            Tried::Bad(why) => Search::Bad(why.into()),
        }
    }

    /// Looks for a library that is to be preloaded into a set-user-ID program: by its own folders
    /// and the default ones, without the cache, and only for one that is set-user-ID itself.
    pub fn search_trusted(
        &self,
        files: &Files,
        name: &[u8],
        lists: impl Iterator<Item = Arc<Folders>>,
        nodeflib: bool,
    ) -> Search {
        let open = |path: &Path| match files.open(path) {
            Ok(Opened::File(seen, _)) if seen.mode & SET_USER_ID == 0 => Tried::Absent,
            _ => self.open(files, path),
        };
        let mut found = Search::Absent(None);
        for list in lists {
            found = found.or_else(|| list.look(name, open));
        }
        found.or_else(|| match nodeflib {
            true => Search::Absent(None),
            false => self.defaults.look(name, open),
        })
    }

    /// Opens one path of a search, as `open_verify` does.
    fn open(&self, files: &Files, path: &Path) -> Tried {
        let said = |what: &str| format!("{}: {what}", escape(path.as_os_str()));
        let (seen, file) = match files.open(path) {
            Ok(Opened::File(seen, file)) => (seen, file),
            Ok(Opened::Other(what)) => return Tried::Bad(said(what)),
            Err(error) => {
                return match error.raw_os_error() {
                    Some(libc::ENOENT | libc::EACCES | libc::ENOTDIR) => Tried::Absent,
                    _ => Tried::Stop,
                };
            }
        };
        let header = match &seen.header {
            Ok(header) => header,
            Err(why) => return Tried::Bad(said(why)),
        };
        match self.abi.fits(header) {
            Ok(()) => {}
            Err(Misfit::Other(what)) => return Tried::PassedOver(said(what)),
            Err(Misfit::Bad(why)) => return Tried::Bad(said(why)),
        }
        let library = match files.library(&seen, file, path) {
            Ok(library) => library,
            Err(why) => return Tried::Bad(said(&why)),
        };
        match refused(&library) {
            None => Tried::Found(library),
            Some(why) => Tried::Bad(said(why)),
        }
    }
}

/// Why a file that fits is no library (`_dl_map_object_from_fd`).
fn refused(library: &Library) -> Option<&'static str> {
    let image = &library.image;
    if image.kind == "EXEC" || image.linkage == Linkage::StaticPie {
        return Some("a program, not a library");
    }
    if image.kind != "DYN" {
        return Some("not a library");
    }
    if !image
        .segments
        .iter()
        .any(|segment| segment.kind == "DYNAMIC")
    {
        return Some("it has no dynamic table");
    }
    None
}

/// A folder without slashes at its end but one. Empty, it stays empty: the current directory.
fn with_one_slash(mut folder: Vec<u8>) -> Vec<u8> {
    while folder.len() > 1 && folder.last() == Some(&b'/') {
        folder.pop();
    }
    if folder.last().is_some_and(|byte| *byte != b'/') {
        folder.push(b'/');
    }
    folder
}

/// Reads the cache for one loader.
fn cache(
    files: &Files,
    cache_path: &[u8],
    loader: &Path,
    image: &Image,
    hwcaps: &[Vec<u8>],
    unread: &mut Vec<Unread>,
) -> Cache {
    let cache_path = PathBuf::from(OsStr::from_bytes(cache_path));
    let bytes = match files.root.read(&cache_path, LARGEST_FILE) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Cache::default(),
        Err(error) => {
            unread.push(Unread::new(cache_path, error.to_string()));
            return Cache::default();
        }
    };
    let Some(flags) = cache_flags(image, loader) else {
        let why = format!("which entries are for {} is not known", image.machine);
        unread.push(Unread::new(cache_path, why));
        return Cache::default();
    };
    let hwcaps: Vec<&[u8]> = hwcaps.iter().map(Vec::as_slice).collect();
    let reader = Reader {
        endian: image.endian,
        flags,
        align: if image.machine == "i386" { 4 } else { 8 },
        hwcaps: &hwcaps,
        level: cpu::level(),
    };
    let cache = Cache::read(&bytes, &reader);
    let problems = cache.problems.iter();
    unread.extend(problems.map(|why| Unread::new(&cache_path, why.as_str())));
    cache
}

/// The `flags` of the cache's entries that a loader takes (`_dl_cache_check_flags` of
/// `sysdeps/*/dl-cache.h`, `FLAG_*` of `sysdeps/generic/ldconfig.h`), its own first. The floating
/// point of ARM and RISC-V is told by the loader's name.
fn cache_flags(image: &Image, loader: &Path) -> Option<&'static [u32]> {
    let name = loader.file_name().unwrap_or_default().as_bytes();
    let named = |text: &[u8]| name.windows(text.len()).any(|window| window == text);
    Some(match (image.machine.as_str(), image.bits) {
        ("x86_64", 64) => &[0x303],
        ("x86_64", 32) => &[0x803],
        ("i386", 32) => &[3, 1],
        ("aarch64", 64) => &[0xa03],
        ("arm", 32) if named(b"armhf") => &[0x903, 3],
        ("arm", 32) => &[0xb03, 3],
        ("s390", 64) => &[0x403],
        ("s390", 32) | ("ppc", 32) | ("sparc", 32) => &[3, 1],
        ("ppc64", 64) => &[0x503],
        ("sparcv9", 64) => &[0x103],
        ("riscv", 64) if named(b"lp64d") => &[0x1003],
        ("riscv", 64) => &[0xf03],
        ("loongarch", 64) if named(b"lp64d") => &[0x1203],
        ("loongarch", 64) => &[0x1103],
        _ => return None,
    })
}

/// The names in the file of libraries to preload: between spaces, tabs, lines and colons, without
/// comments (`dl_main` of `elf/rtld.c`).
fn preload(files: &Files, path: &[u8], unread: &mut Vec<Unread>) -> Vec<Vec<u8>> {
    let path = PathBuf::from(OsStr::from_bytes(path));
    match files.root.read(&path, LARGEST_FILE) {
        Ok(bytes) => preload_names(&bytes),
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => {
            unread.push(Unread::new(path, error.to_string()));
            Vec::new()
        }
    }
}

/// The names in the bytes of such a file.
pub fn preload_names(bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes
        .split(|byte| *byte == b'\n')
        .map(|line| line.split(|byte| *byte == b'#').next().unwrap_or_default())
        .flat_map(|line| line.split(|byte| matches!(byte, b' ' | b'\t' | b':')))
        .filter(|name| !name.is_empty())
        .map(<[u8]>::to_vec)
        .collect()
}
