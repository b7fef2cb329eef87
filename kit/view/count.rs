//! How counts are shown: a row a call, a column a command.

use super::{Page, Table, number, subject, text};
use crate::count::{Count, Range};
use crate::exit::Exit;

/// The page of these counts, side by side.
pub fn page(counts: &[Count]) -> Page {
    let Some(first) = counts.first() else {
        return Page::new();
    };
    let commands = counts.iter().map(|count| number(count.subject.to_string()));
    let mut table = Table::new([text("call")].into_iter().chain(commands));
    let mut row = |name: &str, cell: &dyn Fn(&Count) -> String| {
        table.row([name.to_owned()].into_iter().chain(counts.iter().map(cell)));
    };
    for name in names(counts) {
        row(name, &|count| {
            let call = count.calls.iter().find(|call| call.name == name);
            call.map_or("-".into(), |call| call.count.to_string())
        });
    }
    row("total", &|count| count.total.to_string());
    // The rest are rows only where they say something.
    let any = |number: fn(&Count) -> Range, least: usize| {
        counts.iter().any(|count| number(count).max > least)
    };
    let restarted = |count: &Count| count.restarts.is_some_and(|restarts| restarts.max > 0);
    if counts.iter().any(restarted) {
        row("restarts", &|count| match count.restarts {
            Some(restarts) => restarts.to_string(),
            None => "not seen".into(),
        });
    }
    if any(|count| count.processes, 1) {
        row("processes", &|count| count.processes.to_string());
    }
    if any(|count| count.threads, 1) {
        row("threads", &|count| count.threads.to_string());
    }
    row("exit", &exits);
    if first.runs > 1 {
        row("runs", &|count| {
            let same = if count.fixed { "fixed" } else { "varied" };
            format!("{}, {same}", count.runs)
        });
    }
    let page = Page::new()
        .table(table)
        .note(subject::footer(&first.subject));
    counts.iter().fold(page, |page, count| {
        let line = |note| format!("note: {}: {note}", count.subject);
        count
            .notes
            .iter()
            .fold(page, |page, note| page.note(line(note)))
    })
}

/// The names of all calls: those of the first command in its order, then what others add.
fn names(counts: &[Count]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for call in counts.iter().flat_map(|count| &count.calls) {
        if !names.contains(&call.name.as_str()) {
            names.push(&call.name);
        }
    }
    names
}

fn exits(count: &Count) -> String {
    let words = count.exits.iter().map(|exit| match exit {
        Exit::Exited(code) => code.to_string(),
        Exit::Signaled(signal) => signal.clone(),
    });
    words.collect::<Vec<_>>().join(" or ")
}
