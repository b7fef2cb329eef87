//! A page as GitHub shows it.

use super::{Page, Part, Side, Table};

/// The page as Markdown; headings are of the third level.
pub fn render(page: &Page) -> String {
    let parts = page.parts.iter().map(|part| match part {
        Part::Heading(title) => format!("### {}\n", escaped(title)),
        Part::Table(table) => lines(table),
        Part::Data { table, .. } if table.rows.is_empty() => String::new(),
        Part::Data { table, shown } => {
            let (first, more) = table.first(*shown);
            let more = more.map(|line| format!("\n{}\n", escaped(&line)));
            lines(&first) + &more.unwrap_or_default()
        }
        Part::Note(text) => format!("{}\n", escaped(text)),
    });
    parts.collect::<Vec<_>>().join("\n")
}

fn lines(table: &Table) -> String {
    let row = |cells: &mut dyn Iterator<Item = String>| {
        format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
    };
    let mut out = row(&mut table.columns.iter().map(|column| escaped(&column.name)));
    out += &row(&mut table.columns.iter().map(|column| match column.side {
        Side::Left => "---".into(),
        Side::Right => "---:".into(),
    }));
    for cells in &table.rows {
        out += &row(&mut cells.iter().map(|cell| escaped(cell)));
    }
    out
}

/// Text that would otherwise end a cell or be taken for markup. An underscore within a word
/// is none.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let after = rest.peek().copied().unwrap_or(' ');
        let markup = match c {
            '\\' | '|' | '*' | '`' | '<' | '[' | ']' | '&' | '~' => true,
            '_' => !(before.is_alphanumeric() && after.is_alphanumeric()),
            _ => false,
        };
        if markup {
            out.push('\\');
        }
        out.push(c);
        before = c;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::{number, text};

    #[test]
    fn a_bar_in_a_cell_does_not_end_it() {
        let mut table = Table::new([text("command"), number("calls")]);
        table.row(["a | b", "2"]);
        assert_eq!(
            render(&Page::new().heading("x_y _z_").table(table).note("fixed")),
            "### x_y \\_z\\_\n\n| command | calls |\n| --- | ---: |\n| a \\| b | 2 |\n\nfixed\n"
        );
    }

    #[test]
    fn of_data_the_first_rows_are_shown_and_how_many_more_there_are() {
        let mut table = Table::new([text("library"), number("users")]);
        table.row(["libc.so.6", "2"]);
        table.row(["libm.so.6", "1"]);
        let first = "| library | users |\n| --- | ---: |\n| libc.so.6 | 2 |\n";
        assert_eq!(
            render(&Page::new().data(table.clone(), Some(1))),
            format!("{first}\nand 1 more; --all shows them\n")
        );
        assert_eq!(
            render(&Page::new().data(table, None)),
            format!("{first}| libm.so.6 | 1 |\n")
        );
    }
}
