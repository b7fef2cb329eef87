//! What one CPUID costs here and now.

use std::arch::x86_64::__cpuid;
use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::spawn;

/// How many CPUID instructions are timed together, so that the clock's own time is small.
const BATCH: u32 = 32;
/// How many batches there are, of which the median counts.
const BATCHES: usize = 21;

/// The time that one CPUID takes on this machine now: the median of 21 batches of 32, less an
/// empty loop, in one thread on one processor. On the bare machine it is tens of nanoseconds; a
/// hypervisor traps each one (Intel SDM volume 3, 26.1.2), which costs microseconds.
///
/// Fails only when no thread can be started.
pub fn cpuid_cost() -> Result<Duration> {
    spawn::alone(|| {
        spawn::pin();
        let cpuid = median(|| {
            // Leaf 0: the highest leaf, and the vendor's name.
            black_box(__cpuid(black_box(0)));
        });
        let nothing = median(|| {
            black_box(black_box(0));
        });
        Ok(cpuid.saturating_sub(nothing) / BATCH)
    })
}

/// The median time of a batch.
fn median(once: impl Fn()) -> Duration {
    let mut times: Vec<_> = (0..BATCHES)
        .map(|_| {
            let start = Instant::now();
            (0..BATCH).for_each(|_| once());
            start.elapsed()
        })
        .collect();
    times.sort();
    times[BATCHES / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpuid_takes_more_than_a_few_cycles_and_less_than_a_millisecond() {
        let cost = cpuid_cost().unwrap();
        assert!(cost > Duration::from_nanos(5), "{cost:?}");
        assert!(cost < Duration::from_millis(1), "{cost:?}");
    }
}
