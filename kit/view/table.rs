//! A page for a terminal, or for a pipe.

use comfy_table::{
    Attribute, Cell, CellAlignment, ColumnConstraint, ContentArrangement, ContentLineStyle,
    LineStyle, TableStyle, Width,
};

use super::{Column, Page, Part, Side, Table, text};

/// What is printed to: how wide it is, and whether it shows bold letters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terminal {
    /// Its columns; without a limit, nothing is wrapped.
    pub width: Option<u16>,
    /// Whether it shows bold letters.
    pub bold: bool,
}

/// No borders: a line under the header, and space between columns.
const STYLE: TableStyle = TableStyle::new()
    .header_lines(ContentLineStyle::none())
    .header_separator(LineStyle::none().fill('-').junction('-'))
    .content_lines(ContentLineStyle::none());

/// The space between two columns: one of padding, one where a border would be.
const GAP: u16 = 2;

/// A word of more letters, a path for one, may be broken over two lines.
const LONG: usize = 24;

impl Terminal {
    /// The caller's stdout. A pipe or a file has no width and no bold letters; `NO_COLOR` with
    /// any value (<https://no-color.org>) turns bold letters off.
    pub fn stdout() -> Self {
        let table = comfy_table::Table::new();
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Terminal {
            // A terminal that was never told its size says 0.
            width: table.width().filter(|width| *width > 0),
            bold: table.is_tty() && !no_color,
        }
    }
}

/// The page as text.
pub fn render(page: &Page, terminal: Terminal) -> String {
    let mut out = String::new();
    if page.parts.is_empty() {
        return out;
    }
    for part in &page.parts {
        // A blank line before each heading and around each table.
        let after_table = out.is_empty() || out.ends_with("\n\n");
        match part {
            Part::Heading(title) => {
                if !after_table {
                    out.push('\n');
                }
                let (on, off) = if terminal.bold {
                    ("\x1b[1m", "\x1b[0m")
                } else {
                    ("", "")
                };
                out.push_str(&format!("{on}{title}{off}\n"));
            }
            Part::Table(table) => out.push_str(&format!("{}\n\n", lay_out(table, terminal))),
            Part::Data { table, .. } if table.rows.is_empty() => {}
            Part::Data { table, shown } => {
                let (first, more) = table.first(*shown);
                out.push_str(&format!("{}\n\n", lay_out(&first, terminal)));
                if let Some(line) = more {
                    out.push_str(&format!("{line}\n"));
                }
            }
            Part::Note(line) => out.push_str(&format!("{}\n", wrapped(line, terminal))),
        }
    }
    format!("{}\n", out.trim_end())
}

/// A text in lines that the terminal has room for, broken between words; a word that is too long
/// has a line of its own.
fn wrapped(text: &str, terminal: Terminal) -> String {
    let Some(width) = terminal.width.map(usize::from) else {
        return text.to_owned();
    };
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let length = |text: &str| text.chars().count();
        match lines.last_mut() {
            Some(line) if length(line) + 1 + length(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

fn lay_out(table: &Table, terminal: Terminal) -> String {
    let (table, left_out) = fitting(table, terminal);
    if !fits(&table, terminal, least) && table.has_header() {
        return columns(&upright(&table), terminal).trim_fmt();
    }
    let mut text = columns(&table, terminal).trim_fmt();
    if !left_out.is_empty() {
        text += &format!("\n\nFor a wider terminal: {}.", left_out.join(", "));
    }
    text
}

/// Whether a terminal is wide enough for all columns of such a width.
fn fits(table: &Table, terminal: Terminal, width: fn(&Table, usize) -> u16) -> bool {
    let needed = (0..table.columns.len())
        .map(|index| width(table, index).saturating_add(GAP))
        .fold(0, u16::saturating_add);
    // There is no gap after the last column.
    terminal
        .width
        .is_none_or(|width| needed <= width.saturating_add(GAP))
}

/// The table without as many of its optional columns as it takes for no cell to be wrapped, and
/// the names of those.
fn fitting(table: &Table, terminal: Terminal) -> (Table, Vec<String>) {
    let (mut table, mut left_out) = (table.clone(), Vec::new());
    while !fits(&table, terminal, whole)
        && let Some(last) = table.columns.iter().rposition(|column| column.optional)
    {
        let (fewer, name) = table.without(last);
        table = fewer;
        left_out.insert(0, name);
    }
    (table, left_out)
}

/// How wide a column is when nothing in it is wrapped.
fn whole(table: &Table, index: usize) -> u16 {
    let cells = table.rows.iter().map(|row| row[index].chars().count());
    let name = table.columns[index].name.chars().count();
    cells.chain([name]).max().unwrap_or(0).min(u16::MAX.into()) as u16
}

/// How narrow a column may get: its longest word or number is not broken, unless it is a word
/// that is too long. Its name does not count.
fn least(table: &Table, index: usize) -> u16 {
    let words = table
        .rows
        .iter()
        .flat_map(|row| row[index].split_whitespace());
    let longest = words.map(|word| word.chars().count()).max().unwrap_or(0);
    longest.min(LONG) as u16
}

/// The table where the terminal is too narrow for its columns: a line for each cell, the
/// column's name before it.
fn upright(table: &Table) -> Table {
    let mut lines = Table::new([text(""), text("")]);
    for (index, row) in table.rows.iter().enumerate() {
        if index > 0 {
            lines.row(["", ""]);
        }
        for (column, cell) in table.columns.iter().zip(row) {
            lines.row([&column.name, cell]);
        }
    }
    lines
}

fn columns(table: &Table, terminal: Terminal) -> comfy_table::Table {
    let mut out = comfy_table::Table::new();
    out.force_no_tty().load_style(STYLE);
    if let Some(width) = terminal.width.filter(|_| !fits(table, terminal, whole)) {
        out.set_width(width)
            .set_content_arrangement(ContentArrangement::Dynamic);
    }
    if terminal.bold {
        out.enforce_styling();
    }
    if table.has_header() {
        out.set_header(table.columns.iter().map(|column| {
            let cell = cell(column, &column.name);
            if terminal.bold {
                cell.add_attribute(Attribute::Bold)
            } else {
                cell
            }
        }));
    }
    for row in &table.rows {
        out.add_row(
            table
                .columns
                .iter()
                .zip(row)
                .map(|(column, text)| cell(column, text)),
        );
    }
    let last = table.columns.len().saturating_sub(1);
    for index in 0..=last {
        if let Some(laid_out) = out.column_mut(index) {
            let padding = if index < last { GAP - 1 } else { 0 };
            laid_out.set_padding((0, padding));
            // A column's width is that of its content and its padding.
            let least = least(table, index).saturating_add(padding);
            laid_out.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
        }
    }
    out
}

fn cell(column: &Column, text: &str) -> Cell {
    Cell::new(text).set_alignment(match column.side {
        Side::Left => CellAlignment::Left,
        Side::Right => CellAlignment::Right,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::number;

    fn page() -> Page {
        let mut table = Table::new([text("call"), number("times")]);
        table.row(["execve", "1"]);
        table.row(["exit_group", "1200"]);
        Page::new().heading("true").table(table).note("fixed")
    }

    #[test]
    fn a_pipe_gets_plain_lines_and_numbers_to_the_right() {
        assert_eq!(
            render(&page(), Terminal::default()),
            "true\n\
             call        times\n\
             -----------------\n\
             execve          1\n\
             exit_group   1200\n\
             \n\
             fixed\n"
        );
    }

    #[test]
    fn a_terminal_gets_a_bold_heading_and_header() {
        let text = render(
            &page(),
            Terminal {
                width: Some(80),
                bold: true,
            },
        );
        assert!(
            text.starts_with("\x1b[1mtrue\x1b[0m\n\x1b[1mcall"),
            "{text:?}"
        );
        assert!(text.contains("exit_group   1200\n"), "{text:?}");
    }

    #[test]
    fn of_data_the_first_rows_are_shown_and_how_many_more_there_are() {
        let mut table = Table::new([text("library"), number("users")]);
        for (name, users) in [("libc.so.6", "3"), ("libm.so.6", "2"), ("libz.so.1", "1")] {
            table.row([name, users]);
        }
        let shown = |rows| {
            let page = Page::new().data(table.clone(), rows).note("fixed");
            render(&page, Terminal::default())
        };
        assert_eq!(
            shown(Some(1)),
            "library    users\n\
             ----------------\n\
             libc.so.6      3\n\
             \n\
             and 2 more; --all shows them\n\
             fixed\n"
        );
        for all in [None, Some(3), Some(4)] {
            let text = shown(all);
            assert!(text.contains("libz.so.1      1\n"), "{text}");
            assert!(!text.contains("more"), "{text}");
        }
        let empty = Page::new().data(Table::new([text("library")]), None);
        assert_eq!(render(&empty.note("none"), Terminal::default()), "none\n");
    }

    #[test]
    fn a_note_is_broken_between_words_where_the_terminal_ends_and_never_in_a_pipe() {
        let note = "µs are what it takes, /a/path/that/is/too/long for a line";
        let page = Page::new().note(note);
        let terminal = |width| Terminal { width, bold: false };
        assert_eq!(
            render(&page, terminal(Some(20))),
            "µs are what it\ntakes,\n/a/path/that/is/too/long\nfor a line\n"
        );
        assert_eq!(render(&page, terminal(None)), format!("{note}\n"));
        assert_eq!(render(&page, terminal(Some(57))), format!("{note}\n"));
    }

    #[test]
    fn a_narrow_terminal_has_optional_columns_left_out_the_last_first_and_named() {
        let mut table = Table::new([
            text("program"),
            number("bytes").optional(),
            number("calls"),
            text("made of").optional(),
        ]);
        table.row(["true", "188", "2", "nothing at all"]);
        let at = |width| {
            let terminal = Terminal {
                width: Some(width),
                bold: false,
            };
            render(&Page::new().table(table.clone()), terminal)
        };
        // Wide enough for all, to the column.
        assert!(
            at(37).contains("true       188      2  nothing at all\n"),
            "{}",
            at(37)
        );
        assert!(
            at(40).contains("true       188      2  nothing at all\n"),
            "{}",
            at(40)
        );
        let text = at(30);
        assert!(text.contains("true       188      2\n"), "{text}");
        assert!(text.ends_with("For a wider terminal: made of.\n"), "{text}");
        let text = at(15);
        assert!(text.contains("true         2\n"), "{text}");
        assert!(
            text.ends_with("For a wider terminal: bytes, made of.\n"),
            "{text}"
        );
        // A pipe gets all.
        let text = render(&Page::new().table(table.clone()), Terminal::default());
        assert!(text.contains("nothing at all"), "{text}");
    }

    #[test]
    fn neither_a_number_nor_a_short_word_is_broken_however_narrow_the_terminal() {
        let mut table = Table::new([text("kind"), number("offset"), number("address")]);
        table.row(["GNU_STACK", "0x123456789", "0x7fffffffffff"]);
        table.row(["some words that can be wrapped", "0x1", "0x2"]);
        for width in 25..=80 {
            let terminal = Terminal {
                width: Some(width),
                bold: false,
            };
            let text = render(&Page::new().table(table.clone()), terminal);
            for word in ["GNU_STACK", "0x123456789", "0x7fffffffffff"] {
                assert!(text.contains(word), "{width}: {text}");
            }
            for line in text.lines() {
                assert!(line.len() <= width.into(), "{width}: {line}");
            }
        }
    }
}
