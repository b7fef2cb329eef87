//! What lies where in memory.

use super::canvas::{Canvas, LETTERS, SMALL};
use super::svg::Anchor;
use super::{style, words};

/// Boxes one under the other, the lowest address first, each with its address before and its name
/// and size after it. What lies between two of them is a broken line, with its size.
///
/// A box of more bytes is higher, but not in proportion: a page and a terabyte are both to be
/// seen.
#[derive(Clone, Debug)]
pub struct Blocks {
    categories: Vec<String>,
    columns: Vec<Column>,
}

/// The blocks of one memory.
#[derive(Clone, Debug)]
struct Column {
    name: String,
    blocks: Vec<Block>,
}

#[derive(Clone, Debug)]
struct Block {
    start: u64,
    bytes: u64,
    category: usize,
    name: String,
}

/// The height of the smallest box: its name and its size have a line each.
const LEAST: f64 = 34.0;
/// How much higher a box is that is twice as large, and how high one is at most.
const TWICE: f64 = 1.5;
const MOST: f64 = 64.0;
/// The height of what is between two boxes.
const GAP: f64 = 28.0;

impl Blocks {
    /// No blocks yet; the categories' names, in their order.
    pub fn new(categories: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Blocks {
            categories: categories.into_iter().map(Into::into).collect(),
            columns: Vec::new(),
        }
    }

    /// Whose memory the next blocks are in. With one memory only, none needs to be named.
    pub fn memory(mut self, name: impl Into<String>) -> Self {
        self.columns.push(Column {
            name: name.into(),
            blocks: Vec::new(),
        });
        self
    }

    /// Adds a block of so many bytes from an address on, of a category, counted from 0. Blocks
    /// may be added in any order.
    pub fn block(
        mut self,
        start: u64,
        bytes: u64,
        category: usize,
        name: impl Into<String>,
    ) -> Self {
        if self.columns.is_empty() {
            self = self.memory("");
        }
        if let Some(column) = self.columns.last_mut() {
            column.blocks.push(Block {
                start,
                bytes,
                category,
                name: name.into(),
            });
        }
        self
    }

    pub(super) fn draw(&self, canvas: &mut Canvas) {
        let blocks = || self.columns.iter().flat_map(|column| &column.blocks);
        let Some(most) = blocks().map(|block| block.category + 1).max() else {
            return canvas.nothing();
        };
        style::define(&mut canvas.svg, &canvas.id, most.max(self.categories.len()));
        canvas.fills(&self.categories);
        let addresses: Vec<String> = blocks().map(|block| address(block.start)).collect();
        let columns = canvas.columns(addresses.iter().map(String::as_str), std::iter::empty());
        let (left, right) = columns.marks;
        let wide = ((right - left) * 0.25).min(120.0);
        for column in self
            .columns
            .iter()
            .filter(|column| !column.blocks.is_empty())
        {
            if !column.name.is_empty() {
                canvas.y += LETTERS;
                let (edge, right) = canvas.inside();
                let short = words::shorten(&column.name, LETTERS, right - edge);
                canvas
                    .svg
                    .label((edge, canvas.y), Anchor::Start, "", &short, &column.name);
                canvas.y += 8.0;
            }
            let mut sorted: Vec<&Block> = column.blocks.iter().collect();
            sorted.sort_by_key(|block| (block.start, block.bytes));
            let mut end = None;
            for block in sorted {
                if let Some(end) = end
                    && end < block.start
                {
                    gap(canvas, (left, wide, right), block.start - end);
                }
                self.one(canvas, (left, wide, right), block);
                canvas.row_label(&columns, canvas.y + LETTERS * 0.64, &address(block.start));
                canvas.y += block.height();
                end = end.max(Some(block.end()));
            }
            canvas.y += 12.0;
        }
        canvas.y -= 12.0;
    }

    /// A box, and behind it its name and its size.
    fn one(&self, canvas: &mut Canvas, (left, wide, right): (f64, f64, f64), block: &Block) {
        let category = match self.categories.get(block.category) {
            Some(name) => format!(" ({name})"),
            None => String::new(),
        };
        let says = format!(
            "{} to {}, {}: {}{category}",
            address(block.start),
            address(block.end()),
            bytes(block.bytes),
            block.name
        );
        canvas.svg.rectangle(
            &format!("bar {}", style::colour(block.category)),
            &style::fill(&canvas.id, block.category),
            (left, canvas.y + 1.0),
            (wide, block.height() - 2.0),
            &says,
        );
        let text = left + wide + 8.0;
        let line = canvas.y + LETTERS;
        let short = words::shorten(&block.name, LETTERS, right - text);
        canvas
            .svg
            .label((text, line), Anchor::Start, "", &short, &block.name);
        let (size, full) = (size(block.bytes), bytes(block.bytes));
        let short = words::shorten(&size, SMALL, right - text);
        canvas.svg.label(
            (text, line + SMALL * 1.25),
            Anchor::Start,
            "soft",
            &short,
            &full,
        );
    }
}

impl Block {
    fn end(&self) -> u64 {
        self.start.saturating_add(self.bytes)
    }

    fn height(&self) -> f64 {
        let pages = (self.bytes as f64 / 4096.0).max(1.0);
        (LEAST + TWICE * pages.log2()).min(MOST)
    }
}

/// What is between two boxes: nothing.
fn gap(canvas: &mut Canvas, (left, wide, right): (f64, f64, f64), between: u64) {
    let middle = left + wide / 2.0;
    let (top, bottom) = (canvas.y + 3.0, canvas.y + GAP - 3.0);
    canvas
        .svg
        .line("reference", (middle, top), (middle, bottom));
    let text = left + wide + 8.0;
    let said = format!("nothing: {}", size(between));
    let short = words::shorten(&said, SMALL, right - text);
    canvas.svg.label(
        (text, canvas.y + GAP / 2.0 + SMALL * 0.36),
        Anchor::Start,
        "soft",
        &short,
        &format!("nothing: {}", bytes(between)),
    );
    canvas.y += GAP;
}

fn address(address: u64) -> String {
    format!("{address:#x}")
}

/// All digits.
fn bytes(bytes: u64) -> String {
    match bytes {
        1 => "1 byte".to_owned(),
        _ => format!("{} bytes", words::exact(bytes as f64)),
    }
}

/// In the largest unit that it has one of.
fn size(bytes: u64) -> String {
    let units = [
        (60, "EiB"),
        (50, "PiB"),
        (40, "TiB"),
        (30, "GiB"),
        (20, "MiB"),
        (10, "KiB"),
    ];
    match units.into_iter().find(|(bits, _)| bytes >> bits > 0) {
        Some((bits, unit)) => {
            let number = bytes as f64 / (1_u64 << bits) as f64;
            format!("{} {unit}", words::exact(number))
        }
        None => self::bytes(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_in_the_largest_unit_that_it_has_one_of() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1023, "1023 bytes"),
            (4096, "4 KiB"),
            (172_032, "168 KiB"),
            (1 << 20, "1 MiB"),
            (u64::MAX, "16 EiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }
}
