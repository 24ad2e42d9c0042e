//! When failures of a group increase, so that somebody should look before an app complains.

/// Fewer failures in an hour are no trend.
const MIN_FAILURES: i64 = 20;

/// At least twenty failed attempts in the last hour, and twice as many as in the hour before.
#[must_use]
pub fn is_growing(last_hour: i64, hour_before: i64) -> bool {
    last_hour >= MIN_FAILURES && last_hour / 2 >= hour_before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growing_means_many_failures_and_twice_as_many_as_before() {
        for (last_hour, hour_before, grows) in [
            (420, 12, true),
            (20, 0, true),
            (19, 0, false),
            (40, 20, true),
            (39, 20, false),
            (10_000, 9_000, false),
            (i64::MAX, i64::MAX, false),
        ] {
            assert_eq!(is_growing(last_hour, hour_before), grows, "{last_hour} after {hour_before}");
        }
    }
}
