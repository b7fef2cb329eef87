//! How it is shown who makes the calls of a program: a row a call, then how they are divided.

use std::path::Path;

use super::{Page, Table, counted, number, text, trace};
use crate::subject::escape;
use crate::trace::Call;
use crate::who::{Frame, Made, Party, Phase, Until, Who};

/// How much of each stack is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stacks {
    /// The innermost functions, in the call's own row.
    #[default]
    Short,
    /// All of it, a table a call.
    Whole,
}

/// The page of these.
pub fn page(all: &[Who], stacks: Stacks) -> Page {
    let one = |who: &Who| {
        let page = Page::new().heading(who.trace.subject.to_string());
        let page = match stacks {
            Stacks::Short => page.table(calls(who)),
            Stacks::Whole => page.page(whole(who)),
        };
        trace::end(page.page(summary(who)), &who.trace)
    };
    all.iter()
        .fold(Page::new(), |page, who| page.page(one(who)))
}

/// A row for each call.
fn calls(who: &Who) -> Table {
    let threads = who.trace.threads > 1;
    let mut columns = vec![
        number("#"),
        text("call"),
        text("arguments").optional(),
        text("result").optional(),
        text("made by"),
        text("on behalf of"),
        text("functions, innermost first"),
    ];
    if threads {
        columns.insert(1, number("thread"));
    }
    let mut table = Table::new(columns);
    for (index, (call, made)) in who.calls().iter().enumerate() {
        let mut row = vec![
            (index + 1).to_string(),
            trace::name(call),
            made.arguments.join(", "),
            trace::result(call),
            made.made_by.as_deref().map_or("?".into(), short),
            party(made.on_behalf_of).into(),
            functions(made),
        ];
        if threads {
            row.insert(1, call.thread.to_string());
        }
        table.row(row);
    }
    table
}

/// So many functions of a stack are in a call's row.
const SHOWN: usize = 4;

/// The innermost functions of a stack, and whether there are more.
pub fn functions(made: &Made) -> String {
    let mut names: Vec<&str> = made
        .functions()
        .take(SHOWN)
        .map(|name| name.unwrap_or("?"))
        .collect();
    let more = made.stack.len().saturating_sub(SHOWN);
    let rest = format!("… {more} more");
    if more > 0 {
        names.push(&rest);
    }
    let end = match (made.complete, made.gaps) {
        (true, _) => "",
        (false, true) => " (gaps)",
        (false, false) => " (cut)",
    };
    names.join(" < ") + end
}

/// Each call with its whole stack.
fn whole(who: &Who) -> Page {
    let all = who.calls();
    let calls = all.iter().enumerate();
    calls.fold(Page::new(), |page, (index, (call, made))| {
        page.heading(format!("{} {}", index + 1, line(call, made)))
            .table(frames(made))
    })
}

/// A call in one line, with who made it.
pub fn line(call: &Call, made: &Made) -> String {
    format!(
        "{}({}) = {}, on behalf of: {}",
        trace::name(call),
        made.arguments.join(", "),
        trace::result(call),
        party(made.on_behalf_of),
    )
}

/// The frames of a stack, a row each.
fn frames(made: &Made) -> Table {
    let mut table = Table::new([text("file"), number("address"), text("function")]);
    let mut add = |frame: &Frame, what: &str| {
        let file = escape(frame.file.as_os_str());
        let address = format!("{:#x}", frame.address);
        table.row([file, address, format!("{what}{}", function(frame))]);
    };
    for frame in &made.stack {
        add(frame, "");
    }
    if let (Some(frame), true) = (&made.begins, made.begins.as_ref() != made.stack.first()) {
        add(frame, "the new program begins: ");
    }
    if let Some(end) = end(made) {
        table.row(["", "", end]);
    }
    table
}

/// How a stack ends that may lack something.
fn end(made: &Made) -> Option<&'static str> {
    match (made.complete, made.gaps) {
        (true, _) => None,
        (false, true) => Some("by frame pointers: functions without one are left out"),
        (false, false) => Some("cut here: no way to its caller is known"),
    }
}

/// A function and how far in it the frame is, or "?".
pub fn function(frame: &Frame) -> String {
    match (&frame.function, frame.offset) {
        (Some(name), Some(offset)) => format!("{name}+{offset:#x}"),
        (Some(name), None) => name.to_string(),
        (None, _) => "?".into(),
    }
}

/// The calls before the first write, by file and by whom they are for.
fn summary(who: &Who) -> Page {
    let summary = who.summary();
    let end = match (summary.wrote, who.until) {
        (true, _) => "before the first write",
        (false, Until::Main) if who.reached => "before main",
        (false, _) => "to its end: it never wrote",
    };
    let calls = counted(summary.calls as u64, "call");
    let parties: Vec<Party> = PARTIES
        .into_iter()
        .filter(|party| summary.on_behalf_of(*party) > 0)
        .collect();
    let columns = parties.iter().map(|one| number(party(*one)));
    let columns = [text("made by")]
        .into_iter()
        .chain(columns)
        .chain([number("all")]);
    let mut table = Table::new(columns);
    let mut files: Vec<Option<&Path>> = Vec::new();
    for count in &summary.counts {
        let file = count.made_by.as_deref();
        if !files.contains(&file) {
            files.push(file);
        }
    }
    let row = |name: String, of: &dyn Fn(Option<Party>) -> usize| {
        let cells = parties.iter().map(|party| cell(of(Some(*party))));
        let all = cell(of(None));
        [name]
            .into_iter()
            .chain(cells)
            .chain([all])
            .collect::<Vec<_>>()
    };
    for file in &files {
        let name = file.map_or("?".into(), |file| escape(file.as_os_str()));
        let of = |party: Option<Party>| {
            let counts = summary.counts.iter();
            let counts = counts.filter(|count| count.made_by.as_deref() == *file);
            let counts = counts.filter(|count| party.is_none_or(|one| one == count.on_behalf_of));
            counts.map(|count| count.calls).sum()
        };
        table.row(row(name, &of));
    }
    if files.len() > 1 {
        let of = |party: Option<Party>| match party {
            Some(party) => summary.on_behalf_of(party),
            None => summary.calls,
        };
        table.row(row("all".into(), &of));
    }
    let page = Page::new().note(format!("{calls} after execve and {end}, on behalf of:"));
    let page = page.table(table);
    match phases(who) {
        Some(line) => page.note(line),
        None => page,
    }
}

/// A number of calls; nothing for none.
fn cell(calls: usize) -> String {
    match calls {
        0 => "-".into(),
        calls => calls.to_string(),
    }
}

/// How many calls are made before `main`, in it and after it, where that is known.
fn phases(who: &Who) -> Option<String> {
    who.main_at?;
    let during = |phase| who.calls().during(phase).len();
    let loading = during(Phase::Loading);
    let mut line = format!("before main: {}", loading + during(Phase::Starting));
    if loading > 0 {
        line += &format!(", {loading} of them before the program's first instruction");
    }
    if who.until == Until::Exit {
        let (main, ending) = (during(Phase::Main), during(Phase::Ending));
        line += &format!("; in main: {main}; after main: {ending}");
    }
    Some(line)
}

/// In the order of a start.
const PARTIES: [Party; 6] = [
    Party::Kernel,
    Party::Loader,
    Party::Libc,
    Party::Runtime,
    Party::Program,
    Party::Unknown,
];

/// A party as it is shown.
pub fn party(party: Party) -> &'static str {
    match party {
        Party::Kernel => "kernel",
        Party::Loader => "loader",
        Party::Libc => "libc",
        Party::Runtime => "runtime",
        Party::Program => "program",
        Party::Unknown => "cannot tell",
    }
}

/// A file's own name, or a name in brackets.
fn short(path: &Path) -> String {
    escape(path.file_name().unwrap_or(path.as_os_str()))
}

/// A call with its whole stack, as an assertion shows one that it did not expect.
pub fn with_stack(call: &Call, made: &Made) -> String {
    let mut out = line(call, made);
    for frame in &made.stack {
        let file = short(&frame.file);
        out += &format!("\n    {file} {:#x} {}", frame.address, function(frame));
    }
    if let Some(end) = end(made) {
        out += &format!("\n    {end}");
    }
    out
}
