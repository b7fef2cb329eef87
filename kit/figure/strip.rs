//! What happens in which order.

use super::canvas::{Canvas, LETTERS};
use super::style;
use super::svg::Anchor;

/// A row of cells for each subject, one for each thing that happens, in order and coloured by
/// its category.
#[derive(Clone, Debug)]
pub struct Strip {
    categories: Vec<String>,
    rows: Vec<Row>,
}

#[derive(Clone, Debug)]
struct Row {
    label: String,
    cells: Vec<(usize, String)>,
}

/// How wide and high a cell is, the space after it included.
const CELL: (f64, f64) = (11.0, 20.0);

impl Strip {
    /// No rows yet; the categories' names, in their order.
    pub fn new(categories: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Strip {
            categories: categories.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row: the category of each cell, and what it is called.
    pub fn row<S: Into<String>>(
        mut self,
        label: impl Into<String>,
        cells: impl IntoIterator<Item = (usize, S)>,
    ) -> Self {
        let cells = cells
            .into_iter()
            .map(|(category, says)| (category, says.into()));
        self.rows.push(Row {
            label: label.into(),
            cells: cells.collect(),
        });
        self
    }

    pub(super) fn draw(&self, canvas: &mut Canvas) {
        if self.rows.is_empty() {
            return canvas.nothing();
        }
        let cells = self.rows.iter().flat_map(|row| &row.cells);
        let used = cells.map(|(category, _)| category + 1).max().unwrap_or(0);
        style::define(&mut canvas.svg, &canvas.id, used.max(self.categories.len()));
        canvas.fills(&self.categories);
        let labels = self.rows.iter().map(|row| row.label.as_str());
        let counts = self.rows.iter().map(|row| row.cells.len().to_string());
        let columns = canvas.columns(labels, counts);
        let (from, to) = columns.marks;
        let (wide, high) = CELL;
        let in_line = (((to - from) / wide) as usize).max(1);
        for row in &self.rows {
            let middle = canvas.y + high / 2.0;
            canvas.row_label(&columns, middle, &row.label);
            for (line, cells) in row.cells.chunks(in_line).enumerate() {
                let y = canvas.y + high * line as f64;
                for (index, (category, says)) in cells.iter().enumerate() {
                    let number = line * in_line + index + 1;
                    let says = match self.categories.get(*category) {
                        Some(name) => format!("{number}. {says} ({name})"),
                        None => format!("{number}. {says}"),
                    };
                    canvas.svg.rectangle(
                        &format!("bar {}", style::colour(*category)),
                        &style::fill(&canvas.id, *category),
                        (from + wide * index as f64 + 0.5, y + 2.5),
                        (wide - 2.0, high - 5.0),
                        &says,
                    );
                }
            }
            let lines = row.cells.len().div_ceil(in_line).max(1) as f64;
            let text = row.cells.len().to_string();
            let last = canvas.y + high * (lines - 1.0) + high / 2.0 + LETTERS * 0.36;
            let in_last = row.cells.chunks(in_line).last().map_or(0, <[_]>::len);
            let at = (from + wide * in_last as f64 + 6.0, last);
            canvas.svg.label(at, Anchor::Start, "", &text, "");
            canvas.y += high * lines + 6.0;
        }
    }
}
