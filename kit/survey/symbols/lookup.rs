//! Which definition a program's reference is bound to: as its loader does it.
//!
//! The program and its libraries are asked in the order in which they were loaded, and the first
//! that has a definition that does is taken. glibc (`do_lookup_x` and `check_match` in
//! elf/dl-lookup.c) looks at versions; musl (`find_sym2` in ldso/dynlink.c) has none, and takes no
//! symbol whose version is hidden. In which library a version was when the program was linked does
//! not matter, as with glibc from 2.30: `dlopen@GLIBC_2.2.5` of libdl.so.2 is in libc.so.6 today.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::mapped::name_at;
use super::references::{Reference, Ways};
use super::table::{Entry, Table, hash};
use super::versions::Version;

/// How a program's loader binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loader {
    /// By versions.
    Glibc,
    /// Without versions.
    Musl,
}

impl Loader {
    /// By the name that musl's has on every machine (`ld-musl-x86_64.so.1`).
    pub(super) fn of(interpreter: &Path) -> Self {
        match interpreter.file_name() {
            Some(name) if name.as_bytes().starts_with(b"ld-musl-") => Loader::Musl,
            _ => Loader::Glibc,
        }
    }
}

/// What a lookup comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// The program's own definition.
    Own,
    /// The n-th library of the scope, and the place of the symbol in its table.
    To(usize, usize),
    /// Nothing defines it.
    Nowhere,
}

/// A program and what it may bind to.
pub(super) struct Scope<'a> {
    /// Its loader.
    pub(super) loader: Loader,
    /// What the program defines itself.
    pub(super) own: &'a Table,
    /// Its libraries, in the order in which they were loaded.
    pub(super) libraries: &'a [&'a Table],
    /// Which of them is musl: libc and the loader in one.
    pub(super) musl: Option<usize>,
}

impl Scope<'_> {
    /// What a reference is bound to, once for each of its ways that is treated in its own way:
    /// those ways, and the definition.
    pub(super) fn bind(&self, reference: &Reference) -> Vec<(Ways, Bound)> {
        if reference.local {
            return vec![(reference.ways, Bound::Own)];
        }
        // ELF_RTYPE_CLASS_COPY: the program itself is passed over. ELF_RTYPE_CLASS_PLT: the
        // address that the program has for another's function is no definition.
        [Ways::COPY, Ways::PLT | Ways::TLS, Ways::GOT | Ways::DIRECT]
            .into_iter()
            .map(|class| reference.ways.and(class))
            .filter(|ways| ways.any())
            .map(|ways| (ways, self.look_up(reference, ways)))
            .collect()
    }

    /// Whether that symbol of that library is on offer.
    pub(super) fn exports(&self, library: usize, place: usize) -> bool {
        let table = self.libraries.get(library);
        let entry = table.and_then(|table| table.entries.get(place));
        entry.is_some_and(|entry| entry.exported)
    }

    fn look_up(&self, reference: &Reference, ways: Ways) -> Bound {
        let Some(name) = name_at(&self.own.names, reference.name) else {
            return Bound::Nowhere;
        };
        let version = self.own.version(reference.version);
        let address_does = ways.and(Ways::GOT | Ways::DIRECT).any();
        let find = |table: &Table, version| {
            self.in_table(table, name, reference.hash, version, address_does)
        };
        if !ways.and(Ways::COPY).any() && find(self.own, version).is_some() {
            return Bound::Own;
        }
        let mut libraries = self.libraries.iter().enumerate();
        let bound = libraries.find_map(|(index, table)| Some((index, find(table, version)?)));
        if let Some((index, place)) = bound {
            return Bound::To(index, place);
        }
        self.large_file_name(name)
    }

    /// The place of the definition that a table has for a name, if it has one that does.
    fn in_table(
        &self,
        table: &Table,
        name: &[u8],
        hash: u32,
        version: Option<&Version>,
        address_does: bool,
    ) -> Option<usize> {
        let does = |entry: &Entry| address_does || !entry.address_only;
        let mut named = table.named(name, hash);
        if self.loader == Loader::Musl {
            // The first that is not hidden is the only one that is looked at.
            let first = named.find(|(_, entry)| !entry.version.is_hidden());
            let first = first.filter(|(_, entry)| does(entry) && !entry.glibc_only);
            return first.map(|(place, _)| place);
        }
        let mut newer = None;
        let mut newer_count = 0;
        for (place, entry) in named.filter(|(_, entry)| does(entry)) {
            match self.version_does(table, entry, version) {
                Does::Yes => return Some(place),
                Does::No => {}
                Does::IfAlone => {
                    newer = newer.or(Some(place));
                    newer_count += 1;
                }
            }
        }
        newer.filter(|_| newer_count == 1)
    }

    /// Whether a definition does for a reference, by their versions: `check_match`.
    fn version_does(&self, table: &Table, entry: &Entry, wanted: Option<&Version>) -> Does {
        if !table.versioned {
            return Does::Yes;
        }
        let hidden = entry.version.is_hidden();
        let Some(wanted) = wanted else {
            // The oldest version is the one that was meant before there were others: the first
            // that a file defines has index 2, after the base version.
            return match (entry.version.index().0, hidden) {
                (..=OLDEST, _) => Does::Yes,
                (_, false) => Does::IfAlone,
                (_, true) => Does::No,
            };
        };
        match table.version(entry.version) {
            Some(version) if self.same(table, version, wanted) => Does::Yes,
            None if !hidden && !wanted.hidden => Does::Yes,
            _ => Does::No,
        }
    }

    fn same(&self, table: &Table, version: &Version, wanted: &Version) -> bool {
        version.hash == wanted.hash
            && name_at(&table.names, version.name) == name_at(&self.own.names, wanted.name)
    }

    /// What musl from 1.2.4 has for a name that ends in `64`: the same function without that
    /// end, if it is one of those that once had both names (`get_lfs64` in ldso/dynlink.c). Its
    /// own library alone is asked, which is the loader itself.
    fn large_file_name(&self, name: &[u8]) -> Bound {
        let plain = match name {
            b"readdir64_r" => b"readdir_r",
            _ => match name.strip_suffix(b"64") {
                Some(plain) if LARGE_FILE.contains(&plain) => plain,
                _ => return Bound::Nowhere,
            },
        };
        let bound = self.musl.and_then(|musl| {
            let table = self.libraries.get(musl)?;
            let place = self.in_table(table, plain, hash(plain), None, false)?;
            Some(Bound::To(musl, place))
        });
        bound.unwrap_or(Bound::Nowhere)
    }
}

/// The index of the oldest version of a file.
const OLDEST: u16 = 2;

/// Whether a definition does for a reference.
enum Does {
    Yes,
    No,
    /// If it is the only such one of the file.
    IfAlone,
}

/// The functions of musl that had a second name with `64` at its end. Its list has
/// `posix_fallocate` as well, but it looks at no name of more than 16 letters.
const LARGE_FILE: &[&[u8]] = &[
    b"__fxstat",
    b"__fxstatat",
    b"__lxstat",
    b"__xstat",
    b"aio_cancel",
    b"aio_error",
    b"aio_fsync",
    b"aio_read",
    b"aio_return",
    b"aio_suspend",
    b"aio_write",
    b"alphasort",
    b"creat",
    b"fallocate",
    b"fgetpos",
    b"fopen",
    b"freopen",
    b"fseeko",
    b"fsetpos",
    b"fstat",
    b"fstatat",
    b"fstatfs",
    b"fstatvfs",
    b"ftello",
    b"ftruncate",
    b"ftw",
    b"getdents",
    b"getrlimit",
    b"glob",
    b"globfree",
    b"lio_listio",
    b"lockf",
    b"lseek",
    b"lstat",
    b"mkostemp",
    b"mkostemps",
    b"mkstemp",
    b"mkstemps",
    b"mmap",
    b"nftw",
    b"open",
    b"openat",
    b"posix_fadvise",
    b"pread",
    b"preadv",
    b"prlimit",
    b"pwrite",
    b"pwritev",
    b"readdir",
    b"scandir",
    b"sendfile",
    b"setrlimit",
    b"stat",
    b"statfs",
    b"statvfs",
    b"tmpfile",
    b"truncate",
    b"versionsort",
];
