//! What functions are called.
//!
//! A name is given to an address that lies within a symbol's size. A symbol without a size, as
//! assembly makes it, names its own address; and what follows up to the next symbol or the next
//! function that is known otherwise, where all labels are listed and no function could lie between
//! unnamed. Any other address has no name: a name that is near is a name that is wrong.

use std::collections::HashMap;
use std::fs::File;
use std::path::PathBuf;

use super::elf::{Elf, Source, Symbol, Symbols};

/// Where distributions keep what they split off their programs
/// (gdb's manual, "Debugging Information in Separate Files").
const DEBUG_FILES: &str = "/usr/lib/debug/.build-id";

/// An address to be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Query {
    /// The address, as the file states it.
    pub address: u64,
    /// Where its function begins, where call frame information says so.
    pub function: Option<u64>,
    /// Where the first function behind it begins, where that is known.
    pub next: Option<u64>,
}

/// A name, and what it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// As it is in the file, without a version.
    pub raw: String,
    /// For people: demangled.
    pub name: String,
    /// Where the function begins, as the file states it.
    pub address: u64,
    /// Its size in bytes; 0 for one without.
    pub size: u64,
}

/// The tables that the names of a file's functions are in: its own, else that of its debug file, and
/// what it shows to others.
pub fn tables(file: &Elf) -> Vec<Symbols> {
    let whole = file
        .symbols()
        .or_else(|| debug_file(file).and_then(|debug| debug.symbols()));
    whole.into_iter().chain(file.dynamic_symbols()).collect()
}

/// The file of debug information, if it is installed. It is found by its build id, and must have
/// the same.
fn debug_file(file: &Elf) -> Option<Elf> {
    let id = file.build_id()?;
    let digits: Vec<String> = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let (first, rest) = digits.split_first()?;
    let path = PathBuf::from(DEBUG_FILES)
        .join(first)
        .join(format!("{}.debug", rest.concat()));
    let opened = File::open(path).ok()?;
    let length = opened.metadata().ok()?.len();
    let debug = Elf::new(Source::File(opened, length))?;
    (debug.build_id()? == id).then_some(debug)
}

/// Names addresses, each table asked for what those before it do not name.
pub fn name(tables: &[Symbols], queries: impl IntoIterator<Item = Query>) -> HashMap<u64, Named> {
    let mut named = HashMap::new();
    let mut queries: Vec<Query> = queries.into_iter().collect();
    queries.sort_unstable();
    queries.dedup();
    for table in tables {
        queries.retain(|query| !named.contains_key(&query.address));
        for (query, symbol) in found(table, &queries) {
            let raw = String::from_utf8_lossy(table.name(symbol)).into_owned();
            // A linker writes the version behind it.
            let raw = match raw.split_once('@') {
                Some((name, _)) => name.to_owned(),
                None => raw,
            };
            let name = demangled(&raw);
            named.insert(
                query.address,
                Named {
                    raw,
                    name,
                    address: symbol.address,
                    size: symbol.size,
                },
            );
        }
    }
    named
}

/// The best symbol for each address that has one. The addresses ascend.
fn found<'a>(table: &'a Symbols, queries: &'a [Query]) -> Vec<(&'a Query, &'a Symbol)> {
    let mut best: Vec<Option<&Symbol>> = vec![None; queries.len()];
    for symbol in &table.list {
        let first = queries.partition_point(|query| query.address < symbol.address);
        let end = symbol.address.saturating_add(symbol.size.max(1));
        for (at, query) in queries.iter().enumerate().skip(first) {
            if query.address >= end {
                break;
            }
            if best[at].is_none_or(|other| is_better(table, symbol, other)) {
                best[at] = Some(symbol);
            }
        }
    }
    if table.whole && best.contains(&None) {
        let mut ascending: Vec<&Symbol> = table.list.iter().collect();
        ascending.sort_by_key(|symbol| symbol.address);
        for (query, best) in queries.iter().zip(&mut best) {
            if best.is_none() {
                *best = label_before(table, &ascending, query);
            }
        }
    }
    queries
        .iter()
        .zip(best)
        .filter_map(|(query, best)| Some((query, best?)))
        .filter(|(_, symbol)| !table.name(symbol).is_empty())
        .collect()
}

/// The label without a size that stands before an address, if that reaches as far.
fn label_before<'a>(
    table: &Symbols,
    ascending: &[&'a Symbol],
    query: &Query,
) -> Option<&'a Symbol> {
    let end = ascending.partition_point(|symbol| symbol.address <= query.address);
    let before = ascending.get(..end)?;
    let last = before.last()?;
    before
        .iter()
        .rev()
        .take_while(|symbol| symbol.address == last.address)
        .copied()
        .filter(|symbol| reaches(symbol, query))
        .reduce(|one, other| match is_better(table, other, one) {
            true => other,
            false => one,
        })
}

/// Whether a label without a size, the last one before an address, names it: no function begins
/// between them.
fn reaches(symbol: &Symbol, query: &Query) -> bool {
    symbol.size == 0
        && match query.function {
            Some(function) => function == symbol.address,
            // Nothing covers the address: then it is assembly from the label on, if what is covered
            // begins behind it.
            None => query.next.is_some_and(|next| next > query.address),
        }
}

/// Of two names of one place: the narrower one, a function before a label, one that others can
/// call, and then the plainest: `write` before `__write`.
fn is_better(table: &Symbols, one: &Symbol, other: &Symbol) -> bool {
    let key = |symbol: &Symbol| {
        let name = table.name(symbol);
        let name = name.split(|&byte| byte == b'@').next().unwrap_or(name);
        let underscores = name.iter().take_while(|&&byte| byte == b'_').count();
        let mangled = name.starts_with(b"_Z") || name.starts_with(b"_R");
        (
            if symbol.size == 0 {
                u64::MAX
            } else {
                symbol.size
            },
            !symbol.function,
            symbol.local,
            if mangled { 0 } else { underscores },
            name.iter().any(u8::is_ascii_uppercase) && !mangled,
            name.len(),
            name.to_vec(),
        )
    };
    key(one) < key(other)
}

/// A name for people: of Rust without the hash, of C++ with its parameters left out, of glibc
/// without the prefix that it gives to what it calls itself (include/libc-symbols.h).
pub fn demangled(raw: &str) -> String {
    /// No name that a compiler gives is longer than this, in bytes.
    const LONGEST: usize = 16 * 1024;
    if raw.len() > LONGEST {
        return raw.to_owned();
    }
    if let Ok(rust) = rustc_demangle::try_demangle(raw) {
        return format!("{rust:#}");
    }
    if raw.starts_with("_Z") {
        let options = cpp_demangle::DemangleOptions::new()
            .no_params()
            .no_return_type();
        let symbol = cpp_demangle::Symbol::new(raw.as_bytes()).ok();
        if let Some(name) = symbol.and_then(|it| it.demangle_with_options(&options).ok()) {
            return name;
        }
    }
    raw.strip_prefix("__GI_").unwrap_or(raw).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::who::elf::symbols;

    const LOCAL: u8 = 0;
    const GLOBAL: u8 = 1 << 4;
    const FUNCTION: u8 = 2;

    /// A table of symbols: name, address, size, binding and kind.
    fn table(entries: &[(&str, u64, u64, u8)]) -> Symbols {
        let mut names = vec![0];
        let mut bytes = Vec::new();
        for (name, address, size, info) in entries {
            bytes.extend((names.len() as u32).to_le_bytes());
            bytes.extend([*info, 0, 1, 0]);
            bytes.extend(address.to_le_bytes());
            bytes.extend(size.to_le_bytes());
            names.extend(name.as_bytes());
            names.push(0);
        }
        symbols(&bytes, names)
    }

    fn names(table: Symbols, queries: &[Query]) -> Vec<Option<String>> {
        let named = name(&[table], queries.iter().copied());
        let name = |query: &Query| named.get(&query.address).map(|named| named.name.clone());
        queries.iter().map(name).collect()
    }

    fn at(address: u64) -> Query {
        Query {
            address,
            function: None,
            next: None,
        }
    }

    #[test]
    fn a_name_reaches_as_far_as_its_size() {
        let table = table(&[
            ("one", 0x10, 0x10, GLOBAL | FUNCTION),
            ("two", 0x40, 8, GLOBAL | FUNCTION),
        ]);
        let seen = names(
            table,
            &[
                at(0xf),
                at(0x10),
                at(0x1f),
                at(0x20),
                at(0x3f),
                at(0x47),
                at(0x48),
            ],
        );
        let one = || Some("one".to_owned());
        assert_eq!(
            seen,
            [None, one(), one(), None, None, Some("two".to_owned()), None]
        );
    }

    #[test]
    fn a_name_without_a_size_names_its_own_address_and_assembly_behind_it() {
        let entries = [
            ("_start", 0x10, 0, GLOBAL),
            ("inner", 0x18, 0, LOCAL),
            ("next", 0x30, 0x10, LOCAL | FUNCTION),
        ];
        let gap = |address| Query {
            next: Some(0x30),
            ..at(address)
        };
        let of = |function| Query {
            function: Some(function),
            ..at(0x2a)
        };
        let label = |name: &str| Some(name.to_owned());
        let seen = names(
            table(&entries),
            &[at(0x10), at(0x11), gap(0x17), gap(0x20), of(0x24)],
        );
        assert_eq!(
            seen,
            [label("_start"), None, label("_start"), label("inner"), None]
        );
        assert_eq!(names(table(&entries), &[of(0x18)]), [label("inner")]);
        // Where local labels are left out, something unnamed can lie between.
        let stripped = [entries[0]];
        assert_eq!(
            names(table(&stripped), &[at(0x10), gap(0x17)]),
            [label("_start"), None]
        );
    }

    #[test]
    fn of_several_names_the_plainest_is_taken_without_its_version() {
        let entries = [
            ("__write", 0x10, 8, GLOBAL | FUNCTION),
            ("write@@GLIBC_2.2.5", 0x10, 8, GLOBAL | FUNCTION),
            ("a_local", 0x10, 8, LOCAL | FUNCTION),
            ("wide", 0, 0x100, GLOBAL | FUNCTION),
        ];
        assert_eq!(
            names(table(&entries), &[at(0x12)]),
            [Some("write".to_owned())]
        );
    }

    #[test]
    fn names_of_rust_and_of_cpp_are_for_people() {
        for (raw, name) in [
            (
                "_ZN3std2rt10lang_start17h0123456789abcdefE",
                "std::rt::lang_start",
            ),
            ("_RNvCs1234_5hello4main", "hello::main"),
            ("_ZNSolsEi", "std::ostream::operator<<"),
            ("_Z", "_Z"),
            ("write", "write"),
            ("__GI___close_nocancel", "__close_nocancel"),
        ] {
            assert_eq!(demangled(raw), name);
        }
    }
}
