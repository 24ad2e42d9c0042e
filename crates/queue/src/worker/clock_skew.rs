//! How far this host's time of day is from the database's.
//!
//! Nothing is decided by it: leases, waits and signatures go by the database's clock. But log lines and certificates are judged by this one, and
//! it may be the database's that is wrong; so it is told.

use crate::worker::shared::Shared;
use chrono::{DateTime, TimeDelta, Utc};

/// From here on it is worth a word.
const WORTH_A_WORD: TimeDelta = TimeDelta::seconds(2);

/// How far this host's clock is ahead: what an answer proves, however long it was on its way.
fn ahead(asked_at: DateTime<Utc>, answered_at: DateTime<Utc>, database_at: DateTime<Utc>) -> TimeDelta {
    (asked_at - database_at).max(TimeDelta::zero()) + (answered_at - database_at).min(TimeDelta::zero())
}

/// The same in words; none while nobody need know.
pub(super) fn in_words(ahead: TimeDelta) -> Option<String> {
    let side = if ahead > TimeDelta::zero() { "ahead of" } else { "behind" };
    (ahead.abs() >= WORTH_A_WORD).then(|| {
        let seconds = ahead.abs().num_seconds();
        format!(
            "this host's clock is {seconds} s {side} the database's, which requests are signed by: set whichever is wrong"
        )
    })
}

/// Takes note of an answer with the database's time, and says so when that is news.
pub(super) fn note(shared: &Shared, asked_at: DateTime<Utc>, database_at: DateTime<Utc>) {
    let ahead = ahead(asked_at, Utc::now(), database_at);
    let before = shared.meters.note_clock_ahead(ahead);
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
    fn only_what_the_round_trip_cannot_explain_is_told() {
        let at = |seconds| DateTime::from_timestamp(seconds, 0).unwrap();
        for (asked, answered, database, seconds, words) in [
            (100, 100, 100, 0, None),
            // It took a minute, and the database's word fell into it.
            (100, 160, 130, 0, None),
            (100, 101, 99, 1, None),
            (3_700, 3_701, 100, 3_600, Some("3600 s ahead of")),
            (100, 101, 103, -2, Some("2 s behind")),
        ] {
            let ahead = ahead(at(asked), at(answered), at(database));
            assert_eq!(ahead, TimeDelta::seconds(seconds));
            let told = in_words(ahead);
            assert_eq!(told.is_some(), words.is_some(), "{told:?}");
            assert!(told.unwrap_or_default().contains(words.unwrap_or_default()));
        }
    }
}
