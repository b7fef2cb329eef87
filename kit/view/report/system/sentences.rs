//! What the facts say of each of the text's four questions.

use std::cmp::Ordering;

use super::{moving, not_started};
use crate::image::Linkage;
use crate::report::Found;
use crate::report::system::{
    Flaws, Hello, Pair, Reached, Sharing, Surveyed, Symbols, System, text,
};
use crate::survey::exposure::Update;
use crate::view::counted;
use crate::view::report::words::size;
use crate::view::survey::libraries::{answer, percent};
use crate::view::survey::sizes::multiple;
use crate::view::survey::{aslr, symbols};

/// The answers: a sentence a question, where it can be answered.
pub(super) fn says(facts: &System) -> Vec<String> {
    let mut says = Vec::new();
    match &facts.surveyed {
        Found::Measured(Surveyed {
            sharing,
            symbols,
            flaws,
            pairs,
            ..
        }) => {
            says.push(do_they_share(sharing));
            says.extend(do_they_use(sharing, symbols));
            says.extend(are_static_ones_huge(pairs, &facts.hello));
            says.extend(are_updates_large(flaws));
        }
        Found::NotMeasured(why) => {
            says.push(format!("The programs here could not be surveyed: {why}."));
            says.extend(are_static_ones_huge(&[], &facts.hello));
        }
    }
    says.extend(does_it_prevent_aslr(facts).into_iter().next());
    says
}

/// What else is known of each.
pub(super) fn more(facts: &System) -> Vec<String> {
    let mut more = Vec::new();
    if let Found::Measured(it) = &facts.surveyed {
        more.extend(how_they_share(&it.sharing));
        more.extend(beside_the_text(&it.symbols));
        more.extend(updates(&it.flaws));
    }
    more.extend(does_it_prevent_aslr(facts).into_iter().skip(1));
    more
}

/// Whether programs share libraries.
fn do_they_share(sharing: &Sharing) -> String {
    let (few, libraries) = (&sharing.few, sharing.users.len());
    let all = few.of_all_programs;
    if libraries == 0 {
        return answer(&sharing.users, few);
    }
    let text = format!(
        "On its author's machine, the text found over half of the libraries each used by fewer than \
         0.1 % of {} executables",
        text::EXECUTABLES
    );
    let rare = all.than_1_in_1000;
    let here = match rare as f64 / libraries as f64 {
        // Each of these libraries has a user.
        _ if all.programs <= 1000 => format!(
            "here that cannot be: one is not less than 0.1 % of {}",
            counted(all.programs as u64, "executable")
        ),
        share => format!(
            "that {}: {} % are, of {} executables",
            match share > text::RARELY_USED {
                true => "holds here as well",
                false => "does not hold here",
            },
            percent(rare, libraries),
            all.programs
        ),
    };
    format!("{text}; {here}.")
}

/// How many of them use a library, where there are any.
fn how_they_share(sharing: &Sharing) -> Option<String> {
    (!sharing.users.is_empty()).then(|| answer(&sharing.users, &sharing.few))
}

/// How much of their libraries they use.
fn do_they_use(sharing: &Sharing, used: &Symbols) -> Option<String> {
    let Some(spread) = &used.spread else {
        // Without dynamic programs, that has been said.
        return (!sharing.users.is_empty()).then(|| symbols::sentence(None));
    };
    Some(symbols::sentence(Some(spread)))
}

/// Whether that is as much as the text found.
fn beside_the_text(used: &Symbols) -> Option<String> {
    // To as many digits as the text has.
    let per_mille = |share: f64| (share * 1000.0).round();
    let (here, text) = (
        per_mille(used.spread.as_ref()?.mean),
        per_mille(text::SYMBOLS),
    );
    let beside = match here.total_cmp(&text) {
        Ordering::Less => "less than",
        Ordering::Equal => "as much as",
        Ordering::Greater => "more than",
    };
    Some(format!(
        "The mean of the symbols' shares is {beside} the {:.1} % that the text found.",
        text / 10.0
    ))
}

/// How large a program is that is linked statically.
fn are_static_ones_huge(pairs: &[Pair], hello: &[Hello]) -> Option<String> {
    let ways = |pair: &Pair| {
        let alone = times(pair.fixed_bytes, pair.dynamic_bytes);
        let whole = pair.with_libraries_bytes.map(|bytes| {
            let whole = times(pair.fixed_bytes, bytes);
            format!(", {} times that with its libraries", multiple(whole))
        });
        format!(
            "{} ({} times the dynamic file{})",
            size(pair.fixed_bytes),
            multiple(alone),
            whole.unwrap_or_default()
        )
    };
    let hello = hello.iter().filter_map(|it| {
        let pair = it.found.measured()?;
        Some(format!("{} of {} has {}", pair.name, it.libc, ways(pair)))
    });
    let hello: Vec<String> = hello.collect();
    let hello = (!hello.is_empty()).then(|| hello.join("; "));
    let mut multiples: Vec<f64> = pairs
        .iter()
        .filter_map(|pair| times(pair.fixed_bytes, pair.dynamic_bytes))
        .collect();
    multiples.sort_by(f64::total_cmp);
    let middle = multiples.get(multiples.len().saturating_sub(1) / 2);
    let here = middle.map(|middle| {
        format!(
            "{} that this system has in both ways {} {} times the dynamic file in the median",
            counted(multiples.len() as u64, "program"),
            if multiples.len() == 1 { "has" } else { "have" },
            multiple(Some(*middle))
        )
    });
    let all: Vec<String> = hello.into_iter().chain(here).collect();
    (!all.is_empty()).then(|| format!("Linked statically, {}.", all.join("; ")))
}

fn times(bytes: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| bytes as f64 / of as f64)
}

/// Whether a flaw in libraries has large updates.
fn are_updates_large(flaws: &Flaws) -> Option<String> {
    if flaws.flaws.is_empty() {
        return (flaws.programs > 0).then(|| {
            format!(
                "None of the libraries whose flaws are asked about is loaded by any of {}.",
                counted(flaws.programs as u64, "program")
            )
        });
    }
    let names = |libc: bool| {
        let some = flaws.flaws.iter().filter(|flaw| flaw.libc == libc);
        some.map(|flaw| flaw.library.as_str()).collect::<Vec<_>>()
    };
    let reach = |reached: &Reached| {
        format!(
            "{} of {} ({}, {} % of the bytes of all)",
            reached.programs(),
            counted(flaws.programs as u64, "program"),
            size(reached.bytes),
            percent(reached.bytes as usize, flaws.bytes as usize)
        )
    };
    let (libc, others) = (names(true).join(", "), names(false));
    let any = if others.len() > 1 { "any of " } else { "" };
    let others = others.join(", ");
    Some(match (libc.is_empty(), others.is_empty()) {
        (false, false) => format!(
            "A flaw in {any}{others} would reach {}; with {libc} as well it is {}.",
            reach(&flaws.without_libc),
            reach(&flaws.all)
        ),
        (true, _) => format!("A flaw in {any}{others} would reach {}.", reach(&flaws.all)),
        (_, true) => format!("A flaw in {libc} would reach {}.", reach(&flaws.all)),
    })
}

/// The same in the text; what would have to be downloaded; and what reaches many programs.
fn updates(flaws: &Flaws) -> Vec<String> {
    if flaws.flaws.is_empty() {
        return Vec::new();
    }
    let text = format!(
        "The programs that flaws of 2019 reached in the text had {:.1} GiB without libc and {:.1} GiB \
         with it.",
        text::REACHED_WITHOUT_LIBC_GIB,
        text::REACHED_GIB
    );
    [text]
        .into_iter()
        .chain(downloads(flaws))
        .chain([many(flaws)])
        .collect()
}

/// What would have to be downloaded; nothing without package data.
fn downloads(flaws: &Flaws) -> Option<String> {
    let (all, without) = (&flaws.all, &flaws.without_libc);
    if !flaws.package_data || all.all_static.packages == 0 {
        return None;
    }
    Some(format!(
        "Were all programs static, {} without libc and {} with it would have to be downloaded, in \
         place of {} and {} of the libraries' own packages.",
        download(&without.all_static),
        download(&all.all_static),
        download(&without.today),
        download(&all.today)
    ))
}

/// Which of the libraries that reach many programs in the text do so here.
fn many(flaws: &Flaws) -> String {
    let named = || text::REACH_MANY.into_iter();
    let here: Vec<String> = flaws
        .flaws
        .iter()
        .filter(|flaw| named().any(|name| name == flaw.asked))
        .filter(|flaw| flaw.reached.programs() > text::MANY)
        .map(|flaw| format!("{} ({})", flaw.library, flaw.reached.programs()))
        .collect();
    let these = format!(
        "the {} libraries that reached over {} programs there",
        text::REACH_MANY.len(),
        text::MANY
    );
    match here.is_empty() {
        true => format!("None of {these} does so here."),
        false => format!("Of {these}, these do so here: {}.", here.join(", ")),
    }
}

/// As in `137 MiB`, or `at least 137 MiB` where some sizes are not known.
fn download(update: &Update) -> String {
    match update.download_unknown {
        0 => size(update.download_bytes),
        unknown if unknown == update.packages => "an unknown size".to_owned(),
        _ => format!("at least {}", size(update.download_bytes)),
    }
}

/// Whether static linking keeps addresses from moving.
fn does_it_prevent_aslr(facts: &System) -> Vec<String> {
    let moving = moving(facts);
    let missing: Vec<&str> = not_started(facts).map(|(_, why)| why).collect();
    if moving.is_empty() {
        return vec![format!(
            "Whether static linking prevents ASLR could not be measured: {}.",
            missing.first().unwrap_or(&"no program was started")
        )];
    }
    let mut lines = aslr::answer(&moving);
    let pie = moving
        .iter()
        .find(|it| it.linkage == Some(Linkage::StaticPie) && it.randomized != Some(false));
    if let Some(pie) = pie {
        lines.push(match pie.bases() {
            0 | 1 => "The text's answer, that it does not prevent it, is not seen here.".to_owned(),
            _ => {
                "That static linking does not prevent ASLR is the text's answer as well.".to_owned()
            }
        });
    }
    if !missing.is_empty() {
        lines.push(format!("Not started: {}.", missing.join("; ")));
    }
    lines
}
