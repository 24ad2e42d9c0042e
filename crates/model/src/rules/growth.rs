//! When failures are more than they were: worth a look before a customer calls.

/// Fewer in an hour are no trend.
const LEAST: i64 = 20;

/// At least twenty failed attempts in the last hour, and twice as many as in the hour before.
#[must_use]
pub fn is_growing(last_hour: i64, hour_before: i64) -> bool {
    last_hour >= LEAST && last_hour / 2 >= hour_before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_and_twice_as_many_as_before() {
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
