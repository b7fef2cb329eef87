//! Marks, written as SVG.

use std::fmt::Write;

/// SVG elements, one after the other.
#[derive(Debug, Default)]
pub(super) struct Svg {
    text: String,
}

/// Where a text's position is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Svg {
    /// What was written.
    pub(super) fn finish(self) -> String {
        self.text
    }

    /// Opens an element, a group for one; [`close`](Self::close) ends it.
    pub(super) fn open(&mut self, element: &str, attributes: &[(&str, &str)]) {
        self.begin(element, attributes);
        self.text.push('>');
    }

    /// Ends the element that was opened last.
    pub(super) fn close(&mut self, element: &str) {
        self.text += &format!("</{element}>\n");
    }

    /// A mark, and what a reader is told who points at it.
    pub(super) fn mark(&mut self, element: &str, attributes: &[(&str, &str)], says: &str) {
        self.begin(element, attributes);
        if says.is_empty() {
            self.text += "/>\n";
        } else {
            self.text += &format!("><title>{}</title></{element}>\n", escape(says));
        }
    }

    /// An element that holds nothing but text.
    pub(super) fn words(&mut self, element: &str, attributes: &[(&str, &str)], words: &str) {
        self.begin(element, attributes);
        self.text += &format!(">{}</{element}>\n", escape(words));
    }

    /// A line of text. `full` is what a reader is told who points at it, if that is more.
    pub(super) fn label(
        &mut self,
        (x, y): (f64, f64),
        anchor: Anchor,
        class: &str,
        words: &str,
        full: &str,
    ) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (x, y) = (number(x), number(y));
        self.begin(
            "text",
            &[
                ("class", class),
                ("x", &x),
                ("y", &y),
                ("text-anchor", anchor),
            ],
        );
        self.text.push('>');
        self.text += &escape(words);
        if !full.is_empty() && full != words {
            self.text += &format!("<title>{}</title>", escape(full));
        }
        self.text += "</text>\n";
    }

    /// A straight line.
    pub(super) fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        self.mark(
            "path",
            &[
                ("class", class),
                (
                    "d",
                    &format!(
                        "M{} {}L{} {}",
                        number(x1),
                        number(y1),
                        number(x2),
                        number(y2)
                    ),
                ),
            ],
            "",
        );
    }

    /// A rectangle, and what it says.
    pub(super) fn rectangle(
        &mut self,
        class: &str,
        fill: &str,
        (x, y): (f64, f64),
        (width, height): (f64, f64),
        says: &str,
    ) {
        let (x, y, width, height) = (number(x), number(y), number(width), number(height));
        let mut attributes = vec![
            ("class", class),
            ("x", x.as_str()),
            ("y", y.as_str()),
            ("width", width.as_str()),
            ("height", height.as_str()),
        ];
        if !fill.is_empty() {
            attributes.push(("fill", fill));
        }
        self.mark("rect", &attributes, says);
    }

    /// Elements that were written before.
    pub(super) fn raw(&mut self, elements: &str) {
        self.text.push('\n');
        self.text += elements;
    }

    fn begin(&mut self, element: &str, attributes: &[(&str, &str)]) {
        let _ = write!(self.text, "<{element}");
        for (name, value) in attributes {
            let _ = write!(self.text, " {name}=\"{}\"", escape(value));
        }
    }
}

/// A coordinate, to the hundredth of a unit.
pub(super) fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0" } else { text }.to_owned()
}

/// Text as it stands in XML, inside an element or a quoted attribute. Characters that XML 1.0
/// cannot hold (its production `Char`) become U+FFFD.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => out.push(char::REPLACEMENT_CHARACTER),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_end_the_element_or_the_attribute_that_it_is_in() {
        assert_eq!(
            escape("<a href=\"x\">&'b'\u{0}\u{1b}\u{ffff}\n\u{e9}"),
            "&lt;a href=&quot;x&quot;&gt;&amp;&#39;b&#39;\u{fffd}\u{fffd}\u{fffd} \u{e9}"
        );
    }

    #[test]
    fn a_coordinate_has_no_more_digits_than_it_needs() {
        for (value, text) in [
            (0.0, "0"),
            (-0.001, "0"),
            (10.0, "10"),
            (1.5, "1.5"),
            (2.346, "2.35"),
            (-3.2, "-3.2"),
        ] {
            assert_eq!(number(value), text);
        }
    }
}
