//! What the facts say.

use super::{prepared, short, traced};
use crate::report::before_main::calls::{PARTIES, Traced, of};
use crate::report::before_main::prepared::{Content, Entry, Prepared};
use crate::report::before_main::{BeforeMain, Runtime};
use crate::start::{Owner, Piece};
use crate::view::counted;
use crate::view::report::words::list;
use crate::view::who::party;
use crate::who::{Party, Phase};

/// How many calls there are, how many the text counted, and on whose behalf most are.
pub(super) fn says(facts: &BeforeMain) -> Vec<String> {
    let told = Told::of(facts);
    let rest = [text(&told), loaders(&told), printed(facts)];
    let rest = rest.into_iter().flatten();
    [first(&told)].into_iter().chain(rest).collect()
}

/// Those calls by party, and what the kernel prepared before them.
pub(super) fn more(facts: &BeforeMain) -> Vec<String> {
    let begun = prepared(facts).next();
    let begun = begun.map(|(name, one)| memory(name, one));
    let blind = facts.prepared.iter().filter_map(|start| {
        let (name, why) = (&start.name, start.found.why()?);
        Some(format!(
            "What the kernel prepared for {name} could not be looked at: {why}."
        ))
    });
    let known = [by_party(&Told::of(facts)), entries(facts), begun];
    known.into_iter().flatten().chain(blind).collect()
}

/// The programs that wrote, and how many calls each made before.
struct Told<'a>(Vec<(&'a Runtime, &'a Traced, usize)>);

impl<'a> Told<'a> {
    fn of(facts: &'a BeforeMain) -> Self {
        let wrote = traced(facts)
            .filter_map(|(runtime, traced)| Some((runtime, traced, traced.before_write()?.len())));
        Told(wrote.collect())
    }

    /// Which programs make so many, as in `barest and assembler make no other call`.
    fn make(&self, wanted: usize) -> String {
        let with = self.0.iter().filter(|(.., calls)| *calls == wanted);
        let names: Vec<_> = with.map(|(runtime, ..)| runtime.name.clone()).collect();
        let make = if names.len() == 1 { "makes" } else { "make" };
        format!("{} {make} {}", list(names), number(wanted))
    }
}

/// Which makes the fewest, and which the most.
fn first(told: &Told) -> String {
    let calls = || told.0.iter().map(|(.., calls)| *calls);
    let (Some(least), Some(most)) = (calls().min(), calls().max()) else {
        return "No hello could be traced here.".to_owned();
    };
    let between = "Between the execve that starts a hello and the write that prints its line,";
    let all = told.0.len();
    if all == 1 {
        return format!("{between} {}; there is no other here.", told.make(least));
    }
    if least == most {
        return format!("{between} all {all} make {}.", number(least));
    }
    format!(
        "{between} {}, the fewest of {all} programs, and {}, the most.",
        told.make(least),
        told.make(most),
    )
}

/// What the first text counted, and what is counted here.
fn text(told: &Told) -> Option<String> {
    let mut pairs: Vec<_> = told
        .0
        .iter()
        .filter_map(|(runtime, _, calls)| Some((&runtime.name, runtime.in_the_text?, *calls)))
        .collect();
    pairs.sort_by_key(|(_, there, _)| *there);
    let said = list(pairs.iter().map(|(name, there, here)| match there == here {
        true => format!("{there} for {name}, as here"),
        false => format!("{there} for {name}, here {here}"),
    }));
    let order = match pairs.is_sorted_by_key(|(.., here)| *here) {
        _ if pairs.len() < 2 => "",
        true => "; the order is the same",
        false => "; the order is another here",
    };
    (!pairs.is_empty()).then(|| format!("The first text counted on its machine {said}{order}."))
}

/// The programs that have a loader, and whether most of their calls are made on its behalf.
fn loaded<'a>(told: &Told<'a>) -> Vec<(&'a Runtime, &'a Traced, bool)> {
    let loaded = told.0.iter().filter_map(|(runtime, traced, all)| {
        let loader = of(traced.before_write()?, Party::Loader);
        (loader > 0).then_some((*runtime, *traced, loader * 2 > *all))
    });
    loaded.collect()
}

/// Whether most of the calls are made on behalf of the loader, where there is one.
fn loaders(told: &Told) -> Option<String> {
    let loaded = loaded(told);
    let mostly = loaded.iter().filter(|(.., most)| *most).count();
    Some(match (mostly, loaded.len()) {
        (_, 0) => return None,
        (0, _) => {
            "In no program with a dynamic loader are most of them made on its behalf.".to_owned()
        }
        (mostly, all) if mostly == all => "In each program with a dynamic loader most of them are \
             made on its behalf, as the text found."
            .to_owned(),
        (mostly, all) => format!(
            "In {mostly} of {all} programs with a dynamic loader most of them are made on its \
             behalf."
        ),
    })
}

/// Whose the calls are of those that the text had, and that have a loader.
fn by_party(told: &Told) -> Option<String> {
    let loaded = loaded(told);
    let in_the_text = loaded.iter().filter(|(it, ..)| it.in_the_text.is_some());
    let parts = in_the_text
        .map(|(runtime, traced, _)| format!("{} makes {}", runtime.name, parties(traced)));
    let parts = list(parts);
    (!parts.is_empty()).then(|| format!("Before the write, {parts}."))
}

/// As in `27 for the loader, 1 for libc`.
fn parties(traced: &Traced) -> String {
    let before = traced.before_write().unwrap_or_default();
    let counts = PARTIES.into_iter().filter_map(|one| match of(before, one) {
        0 => None,
        calls if one == Party::Unknown => Some(format!("{calls} that cannot be told")),
        calls if one == Party::Libc => Some(format!("{calls} for libc")),
        calls => Some(format!("{calls} for the {}", party(one))),
    });
    counts.collect::<Vec<_>>().join(", ")
}

/// Where `puts` writes the line: the surprise at the end of the text.
fn printed(facts: &BeforeMain) -> Option<String> {
    let puts = traced(facts)
        .filter(|(runtime, _)| runtime.in_the_text.is_some() && runtime.program == "hello_puts");
    // The text looked at the dynamic one: that of more calls.
    let (runtime, traced) = puts.max_by_key(|(runtime, _)| runtime.in_the_text)?;
    let write = traced.calls.get(traced.write_at?)?;
    let name = &runtime.name;
    Some(match write.phase {
        Some(Phase::Ending) => {
            format!("{name} writes its line after main has returned, as the text found: from exit.")
        }
        Some(_) => {
            format!("{name} writes its line before main has returned, not as the text found.")
        }
        None => {
            format!("Whether {name} writes its line in main or after it could not be told here.")
        }
    })
}

/// Whose the first instruction is.
fn entries(facts: &BeforeMain) -> Option<String> {
    let said = prepared(facts).map(|(name, one)| format!("that of {name} {}", entry(&one.entry)));
    let said = said.collect::<Vec<_>>().join("; ");
    (!said.is_empty()).then(|| format!("The first instruction: {said}."))
}

fn entry(entry: &Entry) -> String {
    let whose = match entry.of {
        Some(Owner::Program) => "is its own".to_owned(),
        Some(Owner::Interpreter) => {
            format!("is not its own but its loader's, {}", short(&entry.file))
        }
        None => format!("is in {}", short(&entry.file)),
    };
    let header = match (entry.address_in_file, entry.header) {
        (Some(here), Some(header)) if here == header => {
            format!("at {header}, just as that file's header states")
        }
        (Some(here), Some(header)) => format!("at {here}, where its header states {header}"),
        (None, Some(header)) => format!("elsewhere than at {header}, which its header states"),
        (_, None) => "at an address that no header states".to_owned(),
    };
    format!("{whose}, {header}")
}

/// What is there before it.
fn memory(name: &str, one: &Prepared) -> String {
    let count = |wanted: &dyn Fn(Piece) -> bool| {
        one.map.iter().filter(|region| wanted(region.what)).count() as u64
    };
    let program = count(&|what| {
        matches!(
            what,
            Piece::File(Owner::Program) | Piece::Zeros(Owner::Program)
        )
    });
    let of_loader = |what| {
        matches!(
            what,
            Piece::File(Owner::Interpreter) | Piece::Zeros(Owner::Interpreter)
        )
    };
    let loader = match count(&of_loader) {
        0 => "none from a loader's".to_owned(),
        ranges => format!("{ranges} from its loader's"),
    };
    let others = one
        .map
        .iter()
        .filter(|region| region.what == Piece::Other && region.name.starts_with('/'));
    let others = match others.count() {
        0 => "no library".to_owned(),
        ranges => format!("{} of other files", counted(ranges as u64, "range")),
    };
    let heap = match count(&|what| what == Piece::Heap) {
        0 => "no heap",
        _ => "a heap",
    };
    let auxv = one
        .stack
        .iter()
        .find(|stretch| stretch.what == Content::Auxv);
    let auxv = auxv.map_or_else(String::new, |auxv| {
        let pairs = counted(auxv.holds.len() as u64, "pair");
        format!(", {} of them an auxiliary vector of {pairs}", auxv.bytes)
    });
    format!(
        "By then the kernel has given {name} {} of memory, {program} from its file and {loader}, \
         {others} and {heap}, and a stack with {}{auxv}.",
        counted(one.map.len() as u64, "range"),
        counted(one.stack_bytes(), "byte"),
    )
}

/// As in `no other call`.
fn number(calls: usize) -> String {
    match calls {
        0 => "no other call".to_owned(),
        calls => counted(calls as u64, "call"),
    }
}
