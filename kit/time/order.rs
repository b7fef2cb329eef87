//! In which order the targets of a round are started.

use super::random::Random;

/// Each once, in any order.
pub(super) fn shuffled(all: &[usize], random: &mut Random) -> Vec<usize> {
    let mut round = all.to_vec();
    random.shuffle(&mut round);
    round
}

/// Each once after each other one, and once after itself, if `start` was before the first of them;
/// the last is `start`. `all` has `start` in it.
///
/// This is an Eulerian circuit: every target is joined with every one by an arrow, and the walk
/// goes along each arrow once. It is found as Carl Hierholzer did: walk along arrows that are left
/// until there is none, go back to where there are some, and put the detour in.
pub(super) fn walk(all: &[usize], start: usize, random: &mut Random) -> Vec<usize> {
    let places = all.iter().copied().max().map_or(0, |most| most + 1);
    let mut left = vec![Vec::new(); places];
    for &from in all {
        left[from] = shuffled(all, random);
    }
    let (mut going, mut circuit) = (vec![start], Vec::new());
    while let Some(&at) = going.last() {
        match left[at].pop() {
            Some(next) => going.push(next),
            None => circuit.extend(going.pop()),
        }
    }
    // It was put together from its end. The start was there already.
    circuit.pop();
    circuit.reverse();
    circuit
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn in_a_walk_each_follows_each_and_itself_exactly_once() {
        let mut random = Random::new(3);
        let mut met = BTreeSet::new();
        for _ in 0..50 {
            let walk = walk(&[0, 1, 2, 4], 4, &mut random);
            assert_eq!(walk.last(), Some(&4));
            let before = [4].into_iter().chain(walk.iter().copied());
            let mut pairs: Vec<_> = before.zip(walk.iter().copied()).collect();
            pairs.sort_unstable();
            let expected: Vec<_> = [0, 1, 2, 4]
                .into_iter()
                .flat_map(|before| [0, 1, 2, 4].map(|after| (before, after)))
                .collect();
            assert_eq!(pairs, expected);
            met.insert(walk);
        }
        assert!(met.len() > 40, "{} different walks of 50", met.len());
    }
}
