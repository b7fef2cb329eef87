//! How wide text is, so that it can be laid out without a font at hand.

/// The width of text in units, at a size of its letters: that of DejaVu Sans, which is among
/// the widest that a viewer may choose, rounded up by kinds of letters.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let ems: f64 = text.chars().map(em).sum();
    ems * size
}

fn em(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | 'I' | '\'' | '|' => 0.3,
        'f' | 't' | 'r' | ' ' | '.' | ',' | ':' | ';' | '!' | '(' | ')' | '[' | ']' | '/' | '-'
        | '\u{202f}' => 0.4,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.97,
        'A'..='Z' | '+' | '=' | '<' | '>' | '~' | '#' => 0.77,
        // Where scripts of wide letters begin (Hangul Jamo).
        '\u{1100}'.. => 1.0,
        _ => 0.63,
    }
}

/// Text that is at most so wide: what is too much is left out of its middle, where names that
/// begin and end alike differ least.
pub(super) fn shorten(text: &str, size: f64, most: f64) -> String {
    if width(text, size) <= most {
        return text.to_owned();
    }
    let letters: Vec<char> = text.chars().collect();
    for kept in (0..letters.len()).rev() {
        let (head, tail) = (kept.div_ceil(2), kept / 2);
        let short: String = letters[..head]
            .iter()
            .chain(&['…'])
            .chain(&letters[letters.len() - tail..])
            .collect();
        if width(&short, size) <= most {
            return short;
        }
    }
    "…".to_owned()
}

/// Text as lines of at most that width; a word that is wider has a line of its own.
pub(super) fn wrap(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(word, size) + 0.4 * size <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(shorten(word, size, most)),
        }
    }
    lines
}

/// A number in full where it is whole, its digits in threes; another to three digits.
pub(crate) fn exact(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return threes(&format!("{value:.0}"));
    }
    if value.abs() >= 1e15 || value.abs() < 1e-4 {
        return format!("{value:.2e}");
    }
    let whole = value.abs().log10().floor() as i32 + 1;
    let digits = (3 - whole).clamp(0, 6) as usize;
    threes(&format!("{value:.digits$}"))
}

/// Digits in threes, a narrow space between, from five digits on. A fraction stays as it is.
fn threes(number: &str) -> String {
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (number, None),
    };
    let digits = whole.trim_start_matches('-').len();
    let mut out = String::new();
    for (index, c) in whole.chars().enumerate() {
        let left = whole.len() - index;
        let inside = left < digits;
        if digits >= 5 && inside && left.is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(c);
    }
    match fraction {
        Some(fraction) => format!("{out}.{fraction}"),
        None => out,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_keeps_both_its_ends() {
        let short = shorten("libQt5WebEngineCore.so.5.15.2", 10.0, 120.0);
        assert!(
            short.starts_with("libQt5W") && short.ends_with(".15.2"),
            "{short}"
        );
        assert!(
            short.contains('…') && width(&short, 10.0) <= 120.0,
            "{short}"
        );
        assert_eq!(shorten("libc.so.6", 10.0, 120.0), "libc.so.6");
        assert_eq!(shorten("libc.so.6", 10.0, 0.0), "…");
        assert_eq!(shorten("", 10.0, 0.0), "");
    }

    #[test]
    fn no_line_is_wider_than_asked() {
        let lines = wrap("a few words and averyverylongone after them", 10.0, 80.0);
        assert!(lines.len() > 3, "{lines:?}");
        assert!(
            lines.iter().all(|line| width(line, 10.0) <= 80.0),
            "{lines:?}"
        );
        assert_eq!(wrap("  ", 10.0, 80.0), Vec::<String>::new());
    }

    #[test]
    fn whole_numbers_are_exact_and_others_have_three_digits() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (188.0, "188"),
            (4320.0, "4320"),
            (682696.0, "682\u{202f}696"),
            (-1234567.0, "-1\u{202f}234\u{202f}567"),
            (6.1, "6.10"),
            (81.52, "81.5"),
            (0.01234, "0.0123"),
            (12345.6, "12\u{202f}346"),
            (1e-7, "1.00e-7"),
        ] {
            assert_eq!(exact(value), text);
        }
    }
}
