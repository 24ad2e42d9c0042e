//! The seed decides every random choice of a round.

use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

/// The seeds of a test: the one of `HEADGATE_FAULT_SEED`, or a random one per round.
pub(crate) fn rounds() -> Vec<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    if let Some(seed) = number("HEADGATE_FAULT_SEED") {
        return vec![seed];
    }
    (0..number("HEADGATE_FAULT_ROUNDS").unwrap_or(1))
        .map(|_| rand::rng().random_range(0..1_000_000))
        .collect()
}

/// Prints how to repeat the round.
pub(crate) fn seeded(test: &str, seed: u64) -> StdRng {
    println!("{test}: HEADGATE_FAULT_SEED={seed} repeats it");
    StdRng::seed_from_u64(seed)
}
