//! What a user expects of a ratio, as in `B/A >= 1.03`.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use super::statistics::Ratio;

/// An expectation of how many times as long one subject takes as another.
///
/// It fails only when the measurement speaks against it: `>=` and `>` when the whole interval lies
/// below the limit, `<=` and `<` when it lies above. (`>` and `<` also fail when the interval
/// ends on the limit.) An interval that holds the limit is no proof of anything.
///
/// ```
/// use barest::time::Expectation;
///
/// let expected: Expectation = "B/A >= 1.03".parse().unwrap();
/// assert_eq!(expected.to_string(), "B/A >= 1.03");
/// assert!("B/A = 1".parse::<Expectation>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expectation {
    /// The subject above the line, by its place; 0 is A.
    pub of: usize,
    /// The subject below the line.
    pub to: usize,
    /// On which side of the limit the ratio is expected.
    pub side: Side,
    /// The limit.
    pub limit: f64,
}

/// How a ratio is expected to compare with a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// `>=`
    AtLeast,
    /// `>`
    MoreThan,
    /// `<=`
    AtMost,
    /// `<`
    LessThan,
}

impl Expectation {
    /// Whether a measured ratio does not speak against it.
    pub fn holds(&self, ratio: &Ratio) -> bool {
        match self.side {
            Side::AtLeast => ratio.high >= self.limit,
            Side::MoreThan => ratio.high > self.limit,
            Side::AtMost => ratio.low <= self.limit,
            Side::LessThan => ratio.low < self.limit,
        }
    }
}

impl FromStr for Expectation {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let parse = || {
            let sign = text.find(['<', '>'])?;
            let (ratio, rest) = text.split_at(sign);
            let (of, to) = ratio.split_once('/')?;
            let (side, limit) = [
                (">=", Side::AtLeast),
                ("<=", Side::AtMost),
                (">", Side::MoreThan),
                ("<", Side::LessThan),
            ]
            .into_iter()
            .find_map(|(sign, side)| Some((side, rest.strip_prefix(sign)?)))?;
            let limit: f64 = limit.trim().parse().ok()?;
            Some(Expectation {
                of: place(of.trim())?,
                to: place(to.trim())?,
                side,
                limit: Some(limit).filter(|limit| limit.is_finite() && *limit > 0.0)?,
            })
        };
        parse().ok_or_else(|| {
            "it is not of the form 'B/A >= 1.03': two letters, one of >= > <= <, a number above 0"
                .to_owned()
        })
    }
}

/// As it was written.
impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.side {
            Side::AtLeast => ">=",
            Side::MoreThan => ">",
            Side::AtMost => "<=",
            Side::LessThan => "<",
        };
        let (of, to) = (letter(self.of), letter(self.to));
        write!(f, "{of}/{to} {sign} {}", self.limit)
    }
}

impl Serialize for Expectation {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// The letter of the subject in that place: A to Z, then AA, AB and so on.
pub fn letter(place: usize) -> String {
    let last = char::from(b'A' + (place % 26) as u8).to_string();
    match place / 26 {
        0 => last,
        more => letter(more - 1) + &last,
    }
}

/// The place of a [`letter`].
fn place(letter: &str) -> Option<usize> {
    // More letters than this name more subjects than anybody has.
    if !(1..=4).contains(&letter.len()) || !letter.bytes().all(|b| b.is_ascii_uppercase()) {
        return None;
    }
    let number = letter
        .bytes()
        .fold(0, |number, b| number * 26 + usize::from(b - b'A') + 1);
    Some(number - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(low: f64, high: f64) -> Ratio {
        Ratio {
            ratio: f64::midpoint(low, high),
            low,
            high,
            no_difference: low <= 1.0 && 1.0 <= high,
        }
    }

    #[test]
    fn letters_and_places_are_the_same_both_ways() {
        for (number, name) in [(0, "A"), (25, "Z"), (26, "AA"), (51, "AZ"), (52, "BA")] {
            assert_eq!(letter(number), name);
            assert_eq!(place(name), Some(number));
        }
        for bad in ["", "a", "A1", "AAAAA", "Ä"] {
            assert_eq!(place(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_expectation_is_read_with_and_without_spaces() {
        let expected = Expectation {
            of: 2,
            to: 0,
            side: Side::LessThan,
            limit: 1.5,
        };
        for text in ["C/A < 1.5", "C/A<1.5", " C / A  <  1.50 "] {
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
        for text in [
            "",
            "B",
            "B/A",
            "B/A >=",
            "B/A >= x",
            "B/A == 1",
            "B/A >= NaN",
            "B/A >= inf",
            "B/A >= 0",
            "B >= 1",
            "/A >= 1",
            "B/A >= 1 2",
            "B/A >> 1",
        ] {
            assert!(text.parse::<Expectation>().is_err(), "{text}");
        }
    }

    #[test]
    fn only_an_interval_on_the_wrong_side_speaks_against_it() {
        let holds = |text: &str, low, high| {
            let expected: Expectation = text.parse().unwrap();
            expected.holds(&ratio(low, high))
        };
        assert!(holds("B/A >= 1.03", 1.04, 1.06));
        assert!(holds("B/A >= 1.03", 1.01, 1.04));
        assert!(!holds("B/A >= 1.03", 1.00, 1.02));
        assert!(holds("B/A <= 1.03", 1.00, 1.02));
        assert!(holds("B/A <= 1.03", 1.02, 1.06));
        assert!(!holds("B/A <= 1.03", 1.04, 1.06));
        // On the limit.
        assert!(holds("B/A >= 1.5", 1.0, 1.5) && !holds("B/A > 1.5", 1.0, 1.5));
        assert!(holds("B/A <= 1.5", 1.5, 2.0) && !holds("B/A < 1.5", 1.5, 2.0));
    }
}
