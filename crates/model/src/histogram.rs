//! Histograms of durations with fixed buckets, and percentiles estimated from them.
//!
//! The bounds never change, so that histograms of different processes, times and integrations can be added. They are spaced evenly on a
//! logarithmic scale, 24 per power of ten, from a millisecond to an hour: an estimate is in the same bucket as the true value, and therefore at
//! most 10.1 % off. Durations below a millisecond count as up to one, those above an hour as an hour.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The bounds of one power of ten, in thousandths: 1000 × 10^(k/24).
const MANTISSAS: [u64; 24] = [
    1000, 1101, 1212, 1334, 1468, 1616, 1778, 1957, 2154, 2371, 2610, 2873, 3162, 3481, 3831, 4217, 4642,
    5109, 5623, 6190, 6813, 7499, 8254, 9085,
];
/// An hour.
const MAX_US: u64 = 3_600_000_000;
/// Number of upper bounds.
const BOUNDS: usize = 159;
/// A bucket for each upper bound, and one for longer durations.
pub const BUCKETS: usize = BOUNDS + 1;

/// The inclusive upper bound of a bucket in microseconds. The last one has none.
#[must_use]
pub fn upper_bound_us(bucket: usize) -> Option<u64> {
    match bucket {
        0..158 => Some(MANTISSAS[bucket % 24] * 10_u64.pow(u32::try_from(bucket / 24).unwrap_or(0))),
        158 => Some(MAX_US),
        _ => None,
    }
}

/// The bucket of a duration.
#[must_use]
pub fn bucket_of(duration: Duration) -> usize {
    let us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    let (mut low, mut high) = (0, BOUNDS);
    while low < high {
        let middle = low.midpoint(high);
        if upper_bound_us(middle).is_some_and(|bound| bound < us) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Counts per bucket, without trailing zeros.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Histogram {
    counts: Vec<i64>,
}

impl Histogram {
    /// From stored counts. Further buckets, which a newer version may have, are added to the last one; negative counts are zero.
    #[must_use]
    pub fn from_counts(counts: Vec<i64>) -> Self {
        let mut histogram = Self::default();
        histogram.merge(&Self { counts });
        histogram
    }

    /// The counts, to be stored.
    #[must_use]
    pub fn counts(&self) -> &[i64] {
        &self.counts
    }

    /// Adds a duration.
    pub fn add(&mut self, duration: Duration) {
        self.add_to(bucket_of(duration), 1);
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Self) {
        for (bucket, n) in other.counts.iter().enumerate() {
            self.add_to(bucket.min(BUCKETS - 1), (*n).max(0));
        }
    }

    fn add_to(&mut self, bucket: usize, n: i64) {
        if n == 0 {
            return;
        }
        if self.counts.len() <= bucket {
            self.counts.resize(bucket + 1, 0);
        }
        if let Some(count) = self.counts.get_mut(bucket) {
            *count = count.saturating_add(n);
        }
    }

    /// Number of durations.
    #[must_use]
    pub fn total(&self) -> i64 {
        self.counts.iter().fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// Whether it has no durations.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.total() == 0
    }

    /// Estimates the duration that this share (0 to 1) does not exceed, interpolated on the logarithmic scale inside its bucket. `None` if empty.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let total = self.total();
        if total == 0 {
            return None;
        }
        let rank = (share.clamp(0.0, 1.0) * total as f64).max(1.0);
        let mut before = 0.0;
        for (bucket, n) in self.counts.iter().enumerate() {
            let n = *n as f64;
            if n > 0.0 && before + n >= rank {
                return Some(interpolate(bucket, (rank - before) / n));
            }
            before += n;
        }
        Some(Duration::from_micros(MAX_US))
    }

    /// The three percentiles that pages show. `None` if empty.
    #[must_use]
    pub fn percentiles(&self) -> Option<Percentiles> {
        let ms = |share| {
            let duration = self.quantile(share)?;
            // Rounded, but at least one: nothing takes no time.
            i64::try_from((duration.as_micros() + 500) / 1_000).ok().map(|ms| ms.max(1))
        };
        Some(Percentiles { count: self.total(), p50_ms: ms(0.5)?, p95_ms: ms(0.95)?, p99_ms: ms(0.99)? })
    }

    /// Number of durations up to this bucket's upper bound: a cumulative count, as in Prometheus.
    #[must_use]
    pub fn up_to(&self, bucket: usize) -> i64 {
        self.counts.iter().take(bucket + 1).fold(0, |sum, n| sum.saturating_add(*n))
    }
}

/// The duration at a share of a bucket.
fn interpolate(bucket: usize, share: f64) -> Duration {
    let Some(upper) = upper_bound_us(bucket) else { return Duration::from_micros(MAX_US) };
    let Some(lower) = bucket.checked_sub(1).and_then(upper_bound_us) else {
        return Duration::from_micros((upper as f64 * share).round() as u64);
    };
    let (lower, upper) = (lower as f64, upper as f64);
    Duration::from_micros((lower * (upper / lower).powf(share)).round() as u64)
}

/// Percentiles estimated from a histogram: each at most 10.1 % off before it is rounded to milliseconds, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Percentiles {
    /// Number of measurements.
    pub count: i64,
    /// Half took at most this many milliseconds.
    pub p50_ms: i64,
    /// 95 of 100 took at most this many milliseconds.
    pub p95_ms: i64,
    /// 99 of 100 took at most this many milliseconds.
    pub p99_ms: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_rise_by_a_tenth_from_a_millisecond_to_an_hour() {
        let bounds: Vec<u64> = (0..BUCKETS).map_while(upper_bound_us).collect();
        assert_eq!(bounds.len(), BOUNDS);
        assert_eq!((bounds[0], bounds[24], bounds[BOUNDS - 1]), (1_000, 10_000, MAX_US));
        for pair in bounds.windows(2) {
            let ratio = pair[1] as f64 / pair[0] as f64;
            assert!(ratio > 1.0 && ratio < 1.1025, "{pair:?}");
        }
    }

    #[test]
    fn each_duration_has_its_bucket() {
        for (us, bucket) in [
            (0, 0),
            (1_000, 0),
            (1_001, 1),
            (1_101, 1),
            (10_000, 24),
            (10_001, 25),
            (MAX_US, 158),
            (MAX_US + 1, 159),
            (u64::MAX, 159),
        ] {
            assert_eq!(bucket_of(Duration::from_micros(us)), bucket, "{us}");
        }
    }

    #[test]
    fn estimates_are_at_most_a_tenth_off() {
        // Uniform, steep, bimodal, constant.
        let distributions: [Vec<u64>; 4] = [
            (1..=5_000).map(|n| n * 1_000).collect(),
            (1..=2_000_u64).map(|n| n * n * 3 + 1_000).collect(),
            (1..=1_000_u64).flat_map(|n| [20_000 + n, 9_000_000 + n * 7]).collect(),
            vec![123_456; 77],
        ];
        for mut durations in distributions {
            durations.sort_unstable();
            let mut histogram = Histogram::default();
            durations.iter().for_each(|us| histogram.add(Duration::from_micros(*us)));
            assert_eq!(histogram.total(), durations.len() as i64);
            for share in [0.01, 0.3, 0.5, 0.9, 0.95, 0.99, 1.0] {
                let rank = ((share * durations.len() as f64).ceil() as usize).max(1) - 1;
                let (truth, estimate) =
                    (durations[rank] as f64, histogram.quantile(share).expect("some").as_micros() as f64);
                assert!((estimate / truth - 1.0).abs() < 0.102, "{share}: {estimate} for {truth}");
            }
        }
    }

    #[test]
    fn adding_histograms_adds_their_durations() {
        let of = |durations: &[u64]| {
            let mut histogram = Histogram::default();
            durations.iter().for_each(|ms| histogram.add(Duration::from_millis(*ms)));
            histogram
        };
        let mut sum = of(&[1, 70]);
        sum.merge(&of(&[5, 70_000, 99_999_999]));
        assert_eq!(sum, of(&[5, 99_999_999, 1, 70_000, 70]));
        assert_eq!(Histogram::from_counts(sum.counts().to_vec()), sum);
        assert_eq!((sum.up_to(0), sum.up_to(BUCKETS)), (1, 5));
    }

    #[test]
    fn an_empty_histogram_has_no_percentiles_and_the_least_duration_is_a_millisecond() {
        assert_eq!(Histogram::default().percentiles(), None);
        assert_eq!(Histogram::from_counts(vec![0, 0]).percentiles(), None);
        let mut quick = Histogram::default();
        quick.add(Duration::ZERO);
        assert_eq!(quick.percentiles(), Some(Percentiles { count: 1, p50_ms: 1, p95_ms: 1, p99_ms: 1 }));
        let mut endless = Histogram::default();
        endless.add(Duration::MAX);
        assert_eq!(endless.percentiles().map(|p| p.p99_ms), Some(3_600_000));
    }

    #[test]
    fn counts_of_another_version_are_clamped_to_the_known_buckets() {
        let counts = vec![-5; 1].into_iter().chain(vec![1; BUCKETS + 3]).collect();
        let histogram = Histogram::from_counts(counts);
        assert_eq!((histogram.counts().len(), histogram.total()), (BUCKETS, BUCKETS as i64 + 3));
    }
}
