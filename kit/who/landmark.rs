//! Where a program's own code begins: its `main`.
//!
//! Of a program in C that is the function of that name. In one of Rust the function of that name is
//! made by the compiler, and starts the runtime; `main` as its author wrote it is `CRATE::main`, which
//! the runtime calls.

use super::elf::{Symbol, Symbols};
use super::files::Code;
use super::symbols::demangled;

/// The function that std calls the program's `main` by. It is there where `main` itself has become
/// a part of it.
const MARK: &str = "__rust_begin_short_backtrace";

/// Where `main` begins, as the file states it. None when it has no symbol of that name.
pub fn main(code: &mut Code) -> Option<u64> {
    code.tables().iter().find_map(main_in)
}

/// Whether the runtime of Rust is in it, and starts it.
pub fn has_lang_start(code: &mut Code) -> bool {
    let holds = |table: &Symbols| {
        let mut list = table.list.iter();
        list.any(|symbol| contains(table.name(symbol), b"lang_start"))
    };
    code.tables().iter().any(holds)
}

fn main_in(table: &Symbols) -> Option<u64> {
    let functions = || table.list.iter().filter(|symbol| symbol.function);
    let named = |part: &str| {
        let part = part.as_bytes().to_owned();
        functions().filter(move |symbol| contains(table.name(symbol), &part))
    };
    if named("lang_start").next().is_some() {
        let demangled = |symbol: &&Symbol| demangled(&String::from_utf8_lossy(table.name(symbol)));
        // As both ways of mangling have it: the length of the name, and the name.
        let own = only(named("4main").filter(|symbol| is_main_of_a_crate(&demangled(symbol))));
        return own.or_else(|| only(named(MARK)));
    }
    let main = functions().find(|symbol| table.name(symbol) == b"main")?;
    Some(main.address)
}

/// Where it begins, if there is only one.
fn only<'a>(symbols: impl Iterator<Item = &'a Symbol>) -> Option<u64> {
    let mut addresses: Vec<u64> = symbols.map(|symbol| symbol.address).collect();
    addresses.sort_unstable();
    addresses.dedup();
    match addresses[..] {
        [one] => Some(one),
        _ => None,
    }
}

/// `hello::main`: the root of a crate, and `main` in it.
fn is_main_of_a_crate(name: &str) -> bool {
    name.strip_suffix("::main")
        .is_some_and(|root| !root.contains([':', '<', ' ']))
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_main_of_a_crate_is_in_its_root() {
        assert!(is_main_of_a_crate("hello::main"));
        for other in [
            "main",
            "hello::inner::main",
            "<hello::A as b>::main",
            "hello::main::closure",
        ] {
            assert!(!is_main_of_a_crate(other), "{other}");
        }
    }
}
