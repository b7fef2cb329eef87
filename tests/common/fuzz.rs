//! Tries with random inputs, for a second or for as many as `FUZZ_SECONDS` says.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::time::{Duration, Instant, SystemTime};

/// xorshift64: the same numbers for the same seed.
pub struct Random(u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Below a limit that is not 0.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub fn one_of(&mut self, numbers: &[u64]) -> u64 {
        numbers[self.below(numbers.len())]
    }

    /// A number that is at the edge of something, or any.
    pub fn number(&mut self) -> u64 {
        const EDGES: [u64; 12] = [
            0,
            1,
            8,
            0x7f,
            0x80,
            0xffff,
            0x7fff_ffff,
            0xffff_ffff,
            i64::MAX as u64,
            1 << 63,
            u64::MAX - 7,
            u64::MAX,
        ];
        match self.below(4) {
            0 => self.next(),
            1 => self.next() % 0x20_0000,
            _ => self.one_of(&EDGES),
        }
    }

    /// Changes some bytes.
    pub fn change(&mut self, bytes: &mut Vec<u8>, within: usize) {
        for _ in 0..=self.below(8) {
            if bytes.is_empty() {
                return;
            }
            let place = self.below(bytes.len().min(within.max(1)));
            match self.below(7) {
                0 => bytes[place] = self.next() as u8,
                1 => bytes[place] ^= 1 << self.below(8),
                2 if self.below(8) == 0 => bytes.truncate(place),
                3 => {
                    let end = (place + self.below(64)).min(bytes.len());
                    bytes[place..end].fill(self.next() as u8);
                }
                4 if self.below(8) == 0 => {
                    let end = (place + self.below(32)).min(bytes.len());
                    bytes.drain(place..end);
                }
                _ => {
                    let word = self.number().to_le_bytes();
                    let place = place / 4 * 4;
                    let length = (1 + self.below(8)).min(bytes.len() - place);
                    bytes[place..place + length].copy_from_slice(&word[..length]);
                }
            }
        }
    }
}

/// Tries inputs made from random numbers for as long as it is given. What fails shows its seed.
pub fn fuzz(target: &str, mut attempt: impl FnMut(&mut Random)) {
    let number = |name| std::env::var(name).ok().map(|text| text.parse().unwrap());
    let seconds = number("FUZZ_SECONDS").unwrap_or(1);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let first = number("FUZZ_SEED").unwrap_or(now.unwrap().as_nanos() as u64 | 1);
    let started = Instant::now();
    let mut tries = 0;
    let mut seed = first;
    while tries == 0 || started.elapsed() < Duration::from_secs(seconds) {
        let report = Report { target, seed };
        let began = Instant::now();
        attempt(&mut Random(seed));
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "{target}: it took too long"
        );
        std::mem::forget(report);
        // Of the next numbers none begins like another.
        seed = Random(seed ^ 0x9e37_79b9_7f4a_7c15).next() | 1;
        tries += 1;
    }
    println!("{target}: {tries} tries in {seconds} s, first seed {first}");
}

/// Names the seed, when it is dropped in a panic.
struct Report<'a> {
    target: &'a str,
    seed: u64,
}

impl Drop for Report<'_> {
    fn drop(&mut self) {
        eprintln!("{}: FUZZ_SEED={}", self.target, self.seed);
    }
}
