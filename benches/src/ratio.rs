//! Figures as they are printed: ratios, with what they were made of beside them.

use std::time::Duration;

/// The sample below which `share` of all lie.
pub fn percentile(samples: &mut [Duration], share: f64) -> Duration {
    samples.sort_unstable();
    let index = (samples.len() as f64 * share) as usize;
    samples.get(index.min(samples.len().saturating_sub(1))).copied().unwrap_or_default()
}

/// Runs some work a few times and gives the shortest time.
pub fn best<E>(times: usize, mut work: impl FnMut() -> Result<Duration, E>) -> Result<Duration, E> {
    let mut best = Duration::MAX;
    for _ in 0..times {
        best = work()?.min(best);
    }
    Ok(best)
}

/// Ours as a multiple of the reference.
pub fn times(ours: Duration, reference: Duration) -> f64 {
    ours.as_secs_f64() / reference.as_secs_f64()
}
