//! Words that several sections say in one way.

use crate::time::Ratio;
use crate::view::counted;

/// As in `a, b and c`; `a; b, c; and d` where one has commas of its own, as the names of runtimes.
pub(super) fn list(words: impl IntoIterator<Item = impl Into<String>>) -> String {
    let words: Vec<String> = words.into_iter().map(Into::into).collect();
    let commas = words.iter().any(|word| word.contains(','));
    match (words.split_last(), commas) {
        (None, _) => String::new(),
        (Some((only, [])), _) => only.clone(),
        (Some((last, others)), false) => format!("{} and {last}", others.join(", ")),
        (Some((last, others)), true) => format!("{}; and {last}", others.join("; ")),
    }
}

/// As in `1.15 [1.13, 1.16]`, or `1 [0.999, 1.003]` where there is no difference.
pub(super) fn times(ratio: &Ratio) -> String {
    match ratio.no_difference {
        true => format!("1 [{:.3}, {:.3}]", ratio.low, ratio.high),
        false => ratio.to_string(),
    }
}

/// That a control does not hold: what was the same, and how it compared with its copy.
pub(super) fn noisy(what: &str, ratio: &Ratio) -> String {
    format!(
        "The machine was noisy: {what} against a copy of itself took {ratio} times as long, which \
         should be 1 within 1 %."
    )
}

/// Bytes, as in `9120 bytes`, `667 KiB`, `3.8 GiB`.
pub(super) fn size(bytes: u64) -> String {
    let of = |unit: u64| bytes as f64 / unit as f64;
    let (kib, mib, gib) = (of(1 << 10), of(1 << 20), of(1 << 30));
    match bytes {
        0..10_000 => counted(bytes, "byte"),
        _ if mib < 1.0 => format!("{kib:.0} KiB"),
        _ if mib < 10.0 => format!("{mib:.1} MiB"),
        _ if gib < 1.0 => format!("{mib:.0} MiB"),
        _ => format!("{gib:.1} GiB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_commas_are_told_apart() {
        for (words, text) in [
            (&[][..], ""),
            (&["a"], "a"),
            (&["a", "b"], "a and b"),
            (&["a", "b, c"], "a; and b, c"),
            (&["a", "b", "c"], "a, b and c"),
            (&["a", "b, c", "d"], "a; b, c; and d"),
        ] {
            assert_eq!(list(words.iter().copied()), text);
        }
    }

    #[test]
    fn sizes_have_the_unit_that_suits_them() {
        for (bytes, text) in [
            (1, "1 byte"),
            (9_999, "9999 bytes"),
            (10_000, "10 KiB"),
            ((3 << 20) / 2, "1.5 MiB"),
            (137 << 20, "137 MiB"),
            (1 << 30, "1.0 GiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }
}
