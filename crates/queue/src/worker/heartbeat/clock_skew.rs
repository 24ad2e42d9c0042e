//! The difference between this host's clock and the database's.
//!
//! Nothing is decided by it: leases, waits and signatures use the database's clock. But log lines and certificates depend on the host's, and the
//! database's may be the wrong one, so a large difference is logged.

use crate::worker::state::Meters;
use chrono::{DateTime, TimeDelta, Utc};

/// Smaller differences are not reported.
const MIN_REPORTED: TimeDelta = TimeDelta::seconds(2);

/// How far this host's clock is ahead, as far as the answer proves it, however long the round trip took.
fn ahead(asked_at: DateTime<Utc>, answered_at: DateTime<Utc>, database_at: DateTime<Utc>) -> TimeDelta {
    (asked_at - database_at).max(TimeDelta::zero()) + (answered_at - database_at).min(TimeDelta::zero())
}

/// The difference as a sentence; none if it is small.
pub(crate) fn in_words(ahead: TimeDelta) -> Option<String> {
    let side = if ahead > TimeDelta::zero() { "ahead of" } else { "behind" };
    (ahead.abs() >= MIN_REPORTED).then(|| {
        let seconds = ahead.abs().num_seconds();
        format!(
            "this host's clock is {seconds} s {side} the database's, which requests are signed by: set whichever is wrong"
        )
    })
}

/// Notes an answer with the database's time, and logs when the difference becomes large or small.
pub(crate) fn note(meters: &Meters, asked_at: DateTime<Utc>, database_at: DateTime<Utc>) {
    let ahead = ahead(asked_at, Utc::now(), database_at);
    let before = meters.note_clock_ahead(ahead);
    match (in_words(ahead), in_words(before)) {
        (Some(words), None) => tracing::warn!(clock_ahead_ms = ahead.num_milliseconds(), "{words}"),
        (None, Some(_)) => tracing::info!("this host's clock agrees with the database's again"),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_round_trip_cannot_explain_is_reported() {
        let at = |seconds| DateTime::from_timestamp(seconds, 0).unwrap();
        for (asked, answered, database, seconds, words) in [
            (100, 100, 100, 0, None),
            // The round trip took a minute, and the database's time lies within it.
            (100, 160, 130, 0, None),
            (100, 101, 99, 1, None),
            (3_700, 3_701, 100, 3_600, Some("3600 s ahead of")),
            (100, 101, 103, -2, Some("2 s behind")),
        ] {
            let ahead = ahead(at(asked), at(answered), at(database));
            assert_eq!(ahead, TimeDelta::seconds(seconds));
            let sentence = in_words(ahead);
            assert_eq!(sentence.is_some(), words.is_some(), "{sentence:?}");
            assert!(sentence.unwrap_or_default().contains(words.unwrap_or_default()));
        }
    }
}
