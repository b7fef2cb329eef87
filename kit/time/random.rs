//! Numbers that look random, and are the same for the same seed everywhere.

/// SplitMix64, by Sebastiano Vigna (<https://prng.di.unimi.it/splitmix64.c>): a counter that is
/// mixed well. Fast and even enough to shuffle and to resample; no secret may hang on it.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// The numbers of this seed.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// The next one: 64 even bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`: the high half of a product (Daniel Lemire, "Fast Random Integer
    /// Generation in an Interval"). Its bias is below `bound` in 2^64.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// Puts a list into an order, each with the same chance (Fisher and Yates).
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for end in (1..list.len()).rev() {
            list.swap(end, self.below(end + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_numbers_of_the_published_code() {
        // What splitmix64.c prints for x = 1234567.
        let mut random = Random::new(1_234_567);
        let numbers = [random.next(), random.next(), random.next()];
        assert_eq!(
            numbers,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn a_shuffle_is_a_permutation_and_puts_each_as_often_in_each_place() {
        const ROUNDS: usize = 12_000;
        let mut random = Random::new(1);
        let mut met = [[0usize; 4]; 4];
        for _ in 0..ROUNDS {
            let mut order = [0, 1, 2, 3];
            random.shuffle(&mut order);
            let mut sorted = order;
            sorted.sort();
            assert_eq!(sorted, [0, 1, 2, 3]);
            for (place, which) in order.into_iter().enumerate() {
                met[place][which] += 1;
            }
        }
        // A fourth each, within five standard deviations (of sqrt(n p (1 - p)) = 47).
        for count in met.as_flattened() {
            assert!(count.abs_diff(ROUNDS / 4) < 5 * 47, "{met:?}");
        }
    }
}
