//! What many times come to: how they are spread, and how two subjects compare.
//!
//! Times of a start are far from a bell curve: a floor that nothing gets under, and a long tail
//! of what else the machine did. So there are no means here, and no standard deviations.
//! Ratios are of pairs: two subjects in one round met the same machine. The interval is a
//! bootstrap (Bradley Efron): the rounds are drawn again and again from those that were
//! measured, and the median of each draw shows how far chance alone moves it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::random::Random;

/// How the times of one subject are spread, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Spread {
    /// How many times there are.
    pub n: usize,
    /// The shortest.
    pub min_ns: u64,
    /// A tenth of them is at most this.
    pub p10_ns: u64,
    /// Half of them is at most this; with an even number of them, midway between two.
    pub median_ns: u64,
    /// Nine tenths of them are at most this.
    pub p90_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl Spread {
    /// The spread of these times; zeros of none.
    pub(crate) fn of(times: &[u64]) -> Self {
        let mut sorted = times.to_vec();
        sorted.sort_unstable();
        // The nearest rank: the least of them that a share of all does not exceed.
        let rank = |tenths: usize| {
            let rank = (sorted.len() * tenths).div_ceil(10).max(1);
            sorted.get(rank - 1).copied().unwrap_or(0)
        };
        let upper = sorted.get(sorted.len() / 2).copied().unwrap_or(0);
        let lower = sorted
            .get(sorted.len().saturating_sub(1) / 2)
            .copied()
            .unwrap_or(0);
        Spread {
            n: sorted.len(),
            min_ns: sorted.first().copied().unwrap_or(0),
            p10_ns: rank(1),
            median_ns: lower.midpoint(upper),
            p90_ns: rank(9),
            max_ns: sorted.last().copied().unwrap_or(0),
        }
    }
}

/// How often the rounds are drawn again.
const DRAWS: usize = 2000;

/// How many times as long one takes as another: the median of the ratios in each round, and
/// between which bounds it lies with a confidence of 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Ratio {
    /// The median of the rounds' ratios.
    pub ratio: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
    /// Whether the interval holds 1: they may well take the same time.
    pub no_difference: bool,
}

impl Ratio {
    /// The ratio of `times` to `others`, the n-th of the one by the n-th of the other. Both have
    /// at least one.
    pub(crate) fn paired(times: &[u64], others: &[u64], random: &mut Random) -> Self {
        // No start takes no time; should a clock say so, the ratio is still a number.
        let ratio = |(time, other): (&u64, &u64)| (*time).max(1) as f64 / (*other).max(1) as f64;
        Ratio::of_rounds(times.iter().zip(others).map(ratio).collect(), random)
    }

    /// What the ratios of the rounds come to. There is at least one.
    pub(super) fn of_rounds(mut ratios: Vec<f64>, random: &mut Random) -> Self {
        let mut draw = vec![0.0; ratios.len()];
        let mut medians: Vec<f64> = (0..DRAWS)
            .map(|_| {
                for drawn in &mut draw {
                    *drawn = ratios[random.below(ratios.len())];
                }
                median(&mut draw)
            })
            .collect();
        medians.sort_unstable_by(f64::total_cmp);
        let tail = DRAWS / 40; // 2.5 % on each side
        let (low, high) = (medians[tail], medians[DRAWS - 1 - tail]);
        Ratio {
            ratio: median(&mut ratios),
            low,
            high,
            no_difference: low <= 1.0 && 1.0 <= high,
        }
    }

    /// How far from the ratio chance may have moved it: half of the interval's width, as a part
    /// of the ratio.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.ratio
    }
}

/// "1.52 [1.50, 1.54]"
impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ratio {
            ratio, low, high, ..
        } = self;
        // Three figures near 1, where they are needed; fewer of large ratios.
        let digits = if *ratio < 2.0 { 3 } else { 2 };
        write!(f, "{ratio:.digits$} [{low:.digits$}, {high:.digits$}]")
    }
}

/// The middle one; midway between two of an even number. The order is lost. At least one.
fn median(numbers: &mut [f64]) -> f64 {
    let middle = numbers.len() / 2;
    let odd = numbers.len() % 2 == 1;
    let (below, upper, _) = numbers.select_nth_unstable_by(middle, f64::total_cmp);
    let upper = *upper;
    match odd {
        true => upper,
        false => {
            let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            f64::midpoint(lower, upper)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_by_rank() {
        let times: Vec<u64> = (1..=100).rev().collect();
        let spread = Spread::of(&times);
        assert_eq!(
            spread,
            Spread {
                n: 100,
                min_ns: 1,
                p10_ns: 10,
                median_ns: 50,
                p90_ns: 90,
                max_ns: 100
            }
        );
        let one = Spread::of(&[7]);
        assert_eq!((one.min_ns, one.p10_ns, one.median_ns), (7, 7, 7));
        assert_eq!((one.p90_ns, one.max_ns, one.n), (7, 7, 1));
        assert_eq!(Spread::of(&[1, 2, 9]).median_ns, 2);
    }

    #[test]
    fn a_median_is_the_middle_one_or_midway_between_two() {
        assert_eq!(median(&mut [3.0]), 3.0);
        assert_eq!(median(&mut [5.0, 1.0, 3.0]), 3.0);
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), 2.5);
    }

    /// Times as a machine makes them: a floor, a spread, one in ten that something else delays,
    /// and a drift that both subjects of a round share.
    fn times(random: &mut Random, drift: f64, ratio: f64) -> u64 {
        let mut unit = || random.next() as f64 / u64::MAX as f64;
        let spread = 1.0 + 0.02 * (unit() + unit());
        let delay = if unit() < 0.1 { 1.0 + unit() } else { 1.0 };
        (50_000.0 * drift * ratio * spread * delay) as u64
    }

    #[test]
    fn the_interval_holds_the_true_ratio_in_95_of_100_experiments() {
        const EXPERIMENTS: usize = 400;
        const ROUNDS: usize = 41;
        for truth in [1.0, 1.03] {
            let mut random = Random::new(42);
            let held = (0..EXPERIMENTS).filter(|_| {
                let (mut a, mut b) = (Vec::new(), Vec::new());
                for round in 0..ROUNDS {
                    let drift = 1.0 + 0.2 * (round as f64 / 10.0).sin();
                    a.push(times(&mut random, drift, 1.0));
                    b.push(times(&mut random, drift, truth));
                }
                let ratio = Ratio::paired(&b, &a, &mut random);
                assert!(ratio.low <= ratio.ratio && ratio.ratio <= ratio.high);
                ratio.low <= truth && truth <= ratio.high
            });
            let coverage = held.count() as f64 / EXPERIMENTS as f64;
            assert!(
                (0.92..=0.98).contains(&coverage),
                "{coverage} of the intervals hold {truth}"
            );
        }
    }

    #[test]
    fn pairs_cancel_what_a_whole_round_has_in_common() {
        let mut random = Random::new(7);
        let others: Vec<u64> = (0..101).map(|_| 10_000 + random.next() % 90_000).collect();
        let times: Vec<u64> = others.iter().map(|other| other * 3 / 2).collect();
        let ratio = Ratio::paired(&times, &others, &mut random);
        assert!((ratio.ratio - 1.5).abs() < 1e-4, "{ratio}");
        assert!(ratio.half_width() < 1e-4, "{ratio}");
        assert!(!ratio.no_difference);
        assert_eq!(ratio.to_string(), "1.500 [1.500, 1.500]");
    }

    #[test]
    fn one_round_or_a_clock_that_stands_still_gives_no_number_that_is_none() {
        let mut random = Random::new(1);
        for (times, others) in [(&[0][..], &[0][..]), (&[5], &[0]), (&[0, 7], &[3, 0])] {
            let ratio = Ratio::paired(times, others, &mut random);
            for number in [ratio.ratio, ratio.low, ratio.high, ratio.half_width()] {
                assert!(number.is_finite(), "{ratio:?}");
            }
        }
    }
}
