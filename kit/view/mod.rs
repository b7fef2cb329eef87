//! How facts are printed: for people as tables, for machines as JSON, for readers of a page as
//! Markdown, for spreadsheets as CSV.
//!
//! A view measures nothing. It turns facts into a [`Page`] once; the terminal, the Markdown and
//! the CSV writer all take that page, and JSON takes the facts themselves.

pub mod bake;
pub mod baseline;
pub mod count;
pub mod csv;
pub mod doctor;
pub mod image;
pub mod json;
pub mod markdown;
pub mod report;
pub mod start;
pub mod steps;
pub mod subject;
pub mod survey;
pub mod table;
pub mod time;
pub mod trace;
pub mod who;

pub use table::Terminal;

/// What facts are printed as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Tables that fit the terminal.
    #[default]
    Table,
    /// One JSON object, its schema named in it.
    Json,
    /// Tables as GitHub shows them.
    Markdown,
    /// Rows for a spreadsheet or a script, without headings and notes.
    Csv,
}

/// What is printed, from top to bottom.
#[derive(Clone, Debug, Default)]
pub struct Page {
    parts: Vec<Part>,
}

/// One part of a page.
#[derive(Clone, Debug)]
enum Part {
    Heading(String),
    Table(Table),
    /// All that there is to know, row by row, and how many rows are enough for a reader.
    Data {
        table: Table,
        shown: Option<usize>,
    },
    Note(String),
}

impl Page {
    /// An empty page.
    pub fn new() -> Self {
        Page::default()
    }

    /// Adds what the next parts are about.
    pub fn heading(mut self, text: impl Into<String>) -> Self {
        self.parts.push(Part::Heading(text.into()));
        self
    }

    /// Adds a table; one without rows is left out.
    pub fn table(mut self, table: Table) -> Self {
        if !table.rows.is_empty() {
            self.parts.push(Part::Table(table));
        }
        self
    }

    /// Adds the table that holds what the page is about, of which a reader is shown the first
    /// rows (all of them without a number) and told how many more `--all` shows. CSV has all
    /// rows of such tables, and no other table of the page.
    pub fn data(mut self, table: Table, shown: Option<usize>) -> Self {
        self.parts.push(Part::Data { table, shown });
        self
    }

    /// Adds a line of text.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.parts.push(Part::Note(text.into()));
        self
    }

    /// Adds all parts of another page.
    pub fn page(mut self, other: Page) -> Self {
        self.parts.extend(other.parts);
        self
    }
}

/// Rows under named columns. Every row has as many cells as there are columns.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

/// A column's name, and the side that its cells keep to.
#[derive(Clone, Debug)]
pub struct Column {
    name: String,
    side: Side,
    optional: bool,
}

impl Column {
    /// May be left out where a terminal is too narrow for all: the last ones go first.
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// A column of text.
pub fn text(name: impl Into<String>) -> Column {
    Column {
        name: name.into(),
        side: Side::Left,
        optional: false,
    }
}

/// A column of numbers: kept to the right, and never broken over two lines.
pub fn number(name: impl Into<String>) -> Column {
    Column {
        name: name.into(),
        side: Side::Right,
        optional: false,
    }
}

impl Table {
    /// A table without rows.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Table {
            columns: columns.into_iter().collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row. Cells that it lacks are empty, and those beyond the last column are dropped.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        let mut row: Vec<String> = cells.into_iter().map(Into::into).collect();
        row.resize(self.columns.len(), String::new());
        self.rows.push(row);
    }

    /// What a reader is shown of data: the first rows, and a line on those that are left out.
    fn first(&self, shown: Option<usize>) -> (Self, Option<String>) {
        let rows = shown.unwrap_or(usize::MAX).min(self.rows.len());
        let table = Table {
            columns: self.columns.clone(),
            rows: self.rows[..rows].to_vec(),
        };
        let more = self.rows.len() - rows;
        let line = (more > 0).then(|| format!("and {more} more; --all shows them"));
        (table, line)
    }

    /// The table without one of its columns, and that column's name.
    fn without(mut self, index: usize) -> (Self, String) {
        for row in &mut self.rows {
            row.remove(index);
        }
        let column = self.columns.remove(index);
        (self, column.name)
    }

    /// Whether its columns have names; if none has, no header is printed.
    fn has_header(&self) -> bool {
        self.columns.iter().any(|column| !column.name.is_empty())
    }
}

/// Several words as one cell: `none` where there is not one.
pub fn list(words: &[impl AsRef<std::ffi::OsStr>]) -> String {
    if words.is_empty() {
        return "none".into();
    }
    let words = words
        .iter()
        .map(|word| crate::subject::escape(word.as_ref()));
    words.collect::<Vec<_>>().join(", ")
}

/// `yes` or `no`.
pub fn yes_no(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}

/// `1 byte`, `2 bytes`: a number and what it counts, a plain plural by `s`.
pub fn counted(number: impl Into<u64>, of: &str) -> String {
    match number.into() {
        1 => format!("1 {of}"),
        n => format!("{n} {of}s"),
    }
}
