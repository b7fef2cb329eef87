//! Counts and sums: from libraries to the programs that load them, and to who owns both.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use super::system::{Known, System};
use super::{Library, Member, Owner, Program, Reach, Update};

/// Measures how far sets of libraries reach, and keeps a table of all that is named.
pub(super) struct Measure<'a> {
    system: &'a System<'a>,
    /// Those that are asked about, in the order of their paths: places in the system's list.
    libraries: Vec<usize>,
    /// Those that load one, in the order of their paths: places in the system's list.
    programs: Vec<usize>,
    /// Where in `libraries` and in `programs` each is.
    library_places: HashMap<usize, usize>,
    program_places: HashMap<usize, usize>,
    /// Who owns each of the programs: places in the list of packages.
    owners: Vec<Option<usize>>,
}

impl<'a> Measure<'a> {
    /// For questions about these libraries.
    pub fn new(system: &'a System<'a>, libraries: impl Iterator<Item = usize>) -> Self {
        let libraries: BTreeSet<usize> = libraries.collect();
        let users = |library: &usize| &system.libraries[*library].users;
        let programs = libraries
            .iter()
            .flat_map(users)
            .map(|(program, _)| *program);
        let programs: BTreeSet<usize> = programs.collect();
        let mut libraries: Vec<usize> = libraries.into_iter().collect();
        libraries.sort_by_key(|library| &system.libraries[*library].path);
        // The walk gives programs in the order of their paths.
        let programs: Vec<usize> = programs.into_iter().collect();
        let files: Vec<&Path> = programs
            .iter()
            .map(|program| system.programs[*program].path.as_path())
            .collect();
        let places = |list: &[usize]| {
            let places = list.iter().enumerate();
            places.map(|(place, index)| (*index, place)).collect()
        };
        Measure {
            owners: system.packages.owners(&system.folders, &files),
            library_places: places(&libraries),
            program_places: places(&programs),
            system,
            libraries,
            programs,
        }
    }

    /// How far all of them reach together that are such.
    pub fn everything(&self, such: impl Fn(&Known) -> bool) -> Reach {
        let libraries = self.libraries.iter().copied();
        let libraries = libraries.filter(|library| such(&self.system.libraries[*library]));
        self.reach(&libraries.collect::<Vec<_>>())
    }

    /// How far some of them reach together.
    pub fn reach(&self, libraries: &[usize]) -> Reach {
        let mut programs: BTreeMap<usize, bool> = BTreeMap::new();
        let mut today = Sum::default();
        for index in libraries {
            let library = &self.system.libraries[*index];
            today.add(library.bytes, library.owner);
            for (program, direct) in &library.users {
                *programs.entry(self.program_places[program]).or_default() |= direct;
            }
        }
        let mut all_static = Sum::default();
        for place in programs.keys() {
            let program = &self.system.programs[self.programs[*place]];
            all_static.add(program.bytes, self.owners[*place]);
        }
        let direct = programs.values().filter(|direct| **direct).count();
        let all = self.system.population.programs;
        let mut libraries: Vec<usize> = libraries.iter().map(|l| self.library_places[l]).collect();
        libraries.sort();
        Reach {
            libraries,
            direct,
            through_others: programs.len() - direct,
            bytes: all_static.bytes,
            share: if all == 0 {
                0.0
            } else {
                programs.len() as f64 / all as f64
            },
            today: today.update(self.system),
            all_static: all_static.update(self.system),
            programs: programs
                .into_iter()
                .map(|(program, direct)| Member { program, direct })
                .collect(),
        }
    }

    /// The tables that places in a [`Reach`] are of, and their owners.
    pub fn tables(self) -> (Vec<Library>, Vec<Program>, Vec<Owner>) {
        let system = self.system;
        let libraries = || self.libraries.iter().map(|index| &system.libraries[*index]);
        let programs = || self.programs.iter().map(|index| &system.programs[*index]);
        let library_owners = libraries().filter_map(|library| library.owner);
        let owners: BTreeSet<usize> = library_owners
            .chain(self.owners.iter().copied().flatten())
            .collect();
        let mut owners: Vec<usize> = owners.into_iter().collect();
        let key = |index: &usize| {
            let package = &system.packages.list[*index];
            (&package.name, &package.architecture, package.manager)
        };
        owners.sort_by(|a, b| key(a).cmp(&key(b)));
        let places: HashMap<usize, usize> = owners
            .iter()
            .enumerate()
            .map(|(place, index)| (*index, place))
            .collect();
        let place = |owner: Option<usize>| owner.and_then(|owner| places.get(&owner).copied());
        let mut packages: Vec<Owner> = owners
            .iter()
            .map(|index| Owner {
                package: system.packages.list[*index].clone(),
                programs: 0,
                program_bytes: 0,
                libraries: 0,
            })
            .collect();
        let library_table = libraries().map(|library| {
            let direct = library.users.iter().filter(|(_, direct)| *direct).count();
            let package = place(library.owner);
            if let Some(package) = package {
                packages[package].libraries += 1;
            }
            Library {
                path: library.path.clone(),
                soname: library.soname.clone(),
                bytes: library.bytes,
                package,
                libc: library.libc,
                direct,
                through_others: library.users.len() - direct,
            }
        });
        let library_table = library_table.collect();
        let program_table = programs().zip(&self.owners).map(|(program, owner)| {
            let package = place(*owner);
            if let Some(package) = package {
                packages[package].programs += 1;
                packages[package].program_bytes += program.bytes;
            }
            Program {
                path: program.path.clone(),
                bytes: program.bytes,
                package,
            }
        });
        let program_table = program_table.collect();
        (library_table, program_table, packages)
    }
}

/// Files, and who owns them.
#[derive(Default)]
struct Sum {
    files: usize,
    bytes: u64,
    unowned: usize,
    packages: BTreeSet<usize>,
}

impl Sum {
    fn add(&mut self, bytes: u64, owner: Option<usize>) {
        self.files += 1;
        self.bytes += bytes;
        match owner {
            Some(owner) => {
                self.packages.insert(owner);
            }
            None => self.unowned += 1,
        }
    }

    fn update(&self, system: &System) -> Update {
        let packages = || {
            self.packages
                .iter()
                .map(|index| &system.packages.list[*index])
        };
        let installed = || packages().map(|package| package.installed_bytes);
        let download = || packages().map(|package| package.download_bytes);
        // The sizes are what data say that anybody may have written.
        let sum = |sizes: &mut dyn Iterator<Item = u64>| sizes.fold(0, u64::saturating_add);
        Update {
            files: self.files,
            bytes: self.bytes,
            packages: self.packages.len(),
            unowned: self.unowned,
            installed_bytes: sum(&mut installed().flatten()),
            installed_unknown: installed().filter(Option::is_none).count(),
            download_bytes: sum(&mut download().flatten()),
            download_unknown: download().filter(Option::is_none).count(),
        }
    }
}
