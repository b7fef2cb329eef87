//! Every byte of two programs.

use crate::figure::{Figure, Strip};
use crate::report::bytes::{Bytes, File, Role};
use crate::view::{Page, Table, number, text};

use super::Shown;

/// Sentences, figures and tables of these facts.
pub(super) fn show(facts: &Bytes) -> Shown {
    let tables = facts.files.iter().fold(Page::new(), |page, file| {
        page.heading(format!("{}: {} bytes", file.program, file.size()))
            .table(dump(file))
    });
    Shown {
        says: facts.files.iter().map(sentence).collect(),
        more: Vec::new(),
        figures: facts.files.iter().map(drawing).collect(),
        tables: facts.faults.iter().fold(tables, |page, fault| {
            page.note(format!("not read: {fault}"))
        }),
        unfolded: true,
    }
}

/// As in `true has 188 bytes: 64 …`.
fn sentence(file: &File) -> String {
    let count = |role| {
        (0..file.size())
            .filter(|&at| file.at(at).any(|p| p.role == role))
            .count()
    };
    let several = (0..file.size())
        .filter(|&at| file.at(at).count() > 1)
        .count();
    let parts = Role::ALL
        .into_iter()
        .map(|role| (count(role), name(role)))
        .filter(|(bytes, _)| *bytes > 0)
        .map(|(bytes, name)| format!("{bytes} of {name}"));
    let parts = parts.collect::<Vec<_>>().join(", ");
    let overlap = match several {
        0 => "No byte is two things at once.".to_owned(),
        several => format!("{several} of them are more than one thing at once."),
    };
    format!(
        "{} has {} bytes: {parts}. {overlap}",
        file.program,
        file.size()
    )
}

fn name(role: Role) -> &'static str {
    match role {
        Role::ElfHeader => "the ELF header",
        Role::ProgramHeader => "program headers",
        Role::Code => "code",
        Role::Rest => "data",
    }
}

/// How many bytes stand in one line, as in a hex dump.
const LINE: usize = 16;

fn drawing(file: &File) -> Figure {
    let several = Role::ALL.len();
    let categories = Role::ALL
        .into_iter()
        .map(name)
        .chain(["more than one of these"]);
    let cell = |at: usize| {
        let pieces: Vec<_> = file.at(at).collect();
        let mut roles: Vec<_> = pieces.iter().map(|piece| piece.role).collect();
        roles.dedup();
        let role = match roles[..] {
            [role] => Role::ALL
                .iter()
                .position(|other| *other == role)
                .unwrap_or(several),
            _ => several,
        };
        let names: Vec<_> = pieces.iter().map(|piece| piece.name.as_str()).collect();
        (role, names.join(", "))
    };
    let lines = (0..file.size()).step_by(LINE);
    let strip = lines.fold(Strip::new(categories), |strip, start| {
        let end = file.size().min(start + LINE);
        strip.row(format!("{start:#04x}"), (start..end).map(cell))
    });
    Figure::new(
        format!("The bytes of {}", file.program),
        format!("{} Sixteen bytes a line.", sentence(file)),
        strip,
    )
}

fn dump(file: &File) -> Table {
    let mut table = Table::new([
        number("offset"),
        text("bytes"),
        text("part"),
        text("what"),
        text("means"),
    ]);
    for piece in &file.pieces {
        table.row([
            format!("{:#x}", piece.offset),
            file.digits(piece),
            name(piece.role).to_owned(),
            piece.name.clone(),
            piece.means.clone(),
        ]);
    }
    table
}
