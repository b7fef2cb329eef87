//! A page for a spreadsheet or a script: its tables and nothing else, as CSV (RFC 4180, with LF).
//!
//! Names come from files that anybody may have written, and a spreadsheet takes a cell that begins
//! with one of `=`, `+`, `-`, `@` for a formula and computes it. Such a first letter is therefore
//! written `\xNN`, as a byte that is no text is everywhere else in the kit; numbers and a lone `-`
//! stay as they are.

use std::borrow::Cow;

use super::{Page, Part, Table};

/// The tables of a page one after the other, an empty line between two, each with a line of
/// column names first. Where the page says which of its tables are its [data](Page::data),
/// only those, all rows.
pub fn render(page: &Page) -> String {
    let data = page.parts.iter().filter_map(|part| match part {
        Part::Data { table, .. } => Some(table),
        _ => None,
    });
    let mut tables: Vec<&Table> = data.collect();
    if tables.is_empty() {
        let all = page.parts.iter().filter_map(|part| match part {
            Part::Table(table) => Some(table),
            _ => None,
        });
        tables = all.collect();
    }
    let tables = tables.into_iter().map(lines);
    tables.collect::<Vec<_>>().join("\n")
}

fn lines(table: &Table) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let names = table.columns.iter().map(|column| column.name.as_str());
    let header = table.has_header().then(|| names.collect::<Vec<_>>());
    let rows = table.rows.iter();
    let rows = rows.map(|row| row.iter().map(String::as_str).collect());
    for row in header.into_iter().chain(rows) {
        let cells = row.into_iter().map(harmless);
        if let Err(error) = writer.write_record(cells.map(|cell| cell.into_owned())) {
            unreachable!(
                "rows of one table differ in length, or memory cannot be written: {error}"
            );
        }
    }
    match writer.into_inner().map(String::from_utf8) {
        Ok(Ok(text)) => text,
        _ => unreachable!("text that is written to memory is lost"),
    }
}

/// A cell that no spreadsheet takes for a formula.
fn harmless(cell: &str) -> Cow<'_, str> {
    let number = cell.parse::<f64>().is_ok();
    match cell.chars().next() {
        Some(first @ ('=' | '+' | '-' | '@')) if !number && cell != "-" => {
            Cow::Owned(format!("\\x{:02x}{}", u32::from(first), &cell[1..]))
        }
        _ => Cow::Borrowed(cell),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::{number, text};

    fn table(name: &str, cells: &[(&str, &str)]) -> Table {
        let mut table = Table::new([text(name), number("times")]);
        for (name, times) in cells {
            table.row([*name, *times]);
        }
        table
    }

    #[test]
    fn tables_follow_each_other_without_headings_and_notes() {
        let page = Page::new()
            .heading("true")
            .table(table("call", &[("execve", "1"), ("exit", "1")]))
            .note("fixed")
            .table(table("file", &[("a, b", "2")]));
        assert_eq!(
            render(&page),
            "call,times\nexecve,1\nexit,1\n\nfile,times\n\"a, b\",2\n"
        );
    }

    #[test]
    fn of_a_page_with_data_only_the_data_all_rows() {
        let data = table("library", &[("libc.so.6", "3"), ("libm.so.6", "1")]);
        let page = Page::new()
            .table(table("kind", &[("dynamic", "3")]))
            .data(data, Some(1));
        assert_eq!(render(&page), "library,times\nlibc.so.6,3\nlibm.so.6,1\n");
    }

    #[test]
    fn data_without_rows_has_its_column_names() {
        let page = Page::new().data(table("library", &[]), Some(1));
        assert_eq!(render(&page), "library,times\n");
    }

    #[test]
    fn quotes_line_ends_and_commas_do_not_end_a_cell() {
        let page = Page::new().table(table("file", &[("a \"b\"\nc", "1")]));
        assert_eq!(render(&page), "file,times\n\"a \"\"b\"\"\nc\",1\n");
    }

    #[test]
    fn a_name_is_no_formula_and_a_number_stays_one() {
        for (cell, written) in [
            ("=1+2", r"\x3d1+2"),
            ("@SUM(A1)", r"\x40SUM(A1)"),
            ("+cmd|' /C calc'!A0", r"\x2bcmd|' /C calc'!A0"),
            ("-2+3", r"\x2d2+3"),
            ("-", "-"),
            ("-1.5e3", "-1.5e3"),
            ("a=b", "a=b"),
            ("", ""),
        ] {
            assert_eq!(harmless(cell), written, "{cell}");
        }
    }
}
