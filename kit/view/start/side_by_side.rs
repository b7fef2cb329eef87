//! Several programs: their outlines, and their auxiliary vectors.

use super::map::short;
use super::moves::{area, by_spread};
use super::stack::{aux_name, decoded};
use super::{interpreter, random};
use crate::start::{Owner, Piece, Place, Start};
use crate::subject::escape;
use crate::view::{Table, counted, text};

/// Several programs: a column each.
pub(super) fn side_by_side(starts: &[Start]) -> Table {
    let programs = starts.iter().map(|start| text(start.subject.to_string()));
    let mut table = Table::new([text("")].into_iter().chain(programs));
    let mut row = |name: &str, cell: &dyn Fn(&Start) -> String| {
        table.row([name.to_owned()].into_iter().chain(starts.iter().map(cell)));
    };
    row("first instruction in", &|start| short(&start.entry.file));
    row("at offset", &|start| match start.entry.offset {
        Some(offset) => format!("{offset:#x}"),
        None => "-".to_owned(),
    });
    row("interpreter", &|start| match interpreter(start) {
        Some(path) => escape(path),
        None => "none".to_owned(),
    });
    row("bits", &|start| start.bits.to_string());
    row("addresses", &|start| random(start).to_owned());
    let mapped = |pieces: fn(Piece) -> bool| {
        move |start: &Start| {
            let own: Vec<_> = start.map.iter().filter(|m| pieces(m.what)).collect();
            let bytes: u64 = own.iter().map(|m| m.end.0.saturating_sub(m.start.0)).sum();
            match own.len() as u64 {
                0 => "-".to_owned(),
                lines => format!("{}, {} KiB", counted(lines, "mapping"), bytes >> 10),
            }
        }
    };
    row(
        "memory of the program",
        &mapped(|piece| {
            matches!(
                piece,
                Piece::File(Owner::Program) | Piece::Zeros(Owner::Program)
            )
        }),
    );
    row(
        "memory of the interpreter",
        &mapped(|piece| {
            matches!(
                piece,
                Piece::File(Owner::Interpreter) | Piece::Zeros(Owner::Interpreter)
            )
        }),
    );
    row(
        "memory of [vdso] and [vvar]",
        &mapped(|piece| matches!(piece, Piece::Vdso | Piece::Vvar)),
    );
    row(
        "memory of the stack",
        &mapped(|piece| piece == Piece::Stack),
    );
    row("bytes on the stack", &|start| {
        start
            .stack
            .end
            .0
            .saturating_sub(start.stack.pointer.0)
            .to_string()
    });
    row("argc", &|start| start.stack.argc.to_string());
    row("variables", &|start| start.stack.envp.len().to_string());
    let mut kinds: Vec<u64> = Vec::new();
    for entry in starts.iter().flat_map(|start| &start.stack.auxv) {
        if !kinds.contains(&entry.kind) {
            kinds.push(entry.kind);
        }
    }
    for kind in kinds {
        let find = |start: &Start| start.stack.auxv.iter().find(|e| e.kind == kind).cloned();
        let name = starts.iter().find_map(find).map(|entry| aux_name(&entry));
        row(&name.unwrap_or_default(), &|start| match find(start) {
            Some(entry) => decoded(start, &entry),
            None => "-".to_owned(),
        });
    }
    let all = starts.iter().filter_map(|start| start.moves.as_ref());
    let mut places: Vec<Place> = Vec::new();
    for moved in all.flat_map(|moves| &moves.addresses) {
        if !places.contains(&moved.what) {
            places.push(moved.what);
        }
    }
    for place in places {
        row(&format!("moves: {}", area(place)), &|start| {
            let moves = start.moves.iter().flat_map(|moves| &moves.addresses);
            match moves.into_iter().find(|moved| moved.what == place) {
                Some(moved) if moved.bits == 0 => "no".to_owned(),
                Some(moved) => format!(
                    "{}, {} by spread",
                    counted(moved.bits, "bit"),
                    by_spread(moved)
                ),
                None => "-".to_owned(),
            }
        });
    }
    table
}
