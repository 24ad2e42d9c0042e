//! The limits of the contract, said once: the checks ask them, and the OpenAPI document shows them.

use std::ops::RangeInclusive;

/// Characters of record ids and types, job types, deduplication, serialize, rate limit and correlation keys.
pub const KEY_CHARS: RangeInclusive<usize> = 1..=255;
/// Characters of a name for people.
pub const NAME_CHARS: RangeInclusive<usize> = 1..=200;
/// Characters of a password.
pub const PASSWORD_CHARS: RangeInclusive<usize> = 8..=128;
/// Characters of an e-mail address (RFC 5321, 4.5.3.1, as RFC 3696's erratum 1690 counts them).
pub const EMAIL_CHARS: RangeInclusive<usize> = 3..=254;
/// Characters of a saved view's name …
pub const VIEW_NAME_CHARS: RangeInclusive<usize> = 1..=80;
/// … and of its query.
pub const VIEW_QUERY_CHARS: RangeInclusive<usize> = 0..=4_000;
/// From how many jobs on a saved view alerts: more are not counted (`matched::MOST`).
pub const VIEW_ALERT_AT: RangeInclusive<i32> = 1..=10_000;
/// Characters of a reason.
pub const REASON_CHARS: RangeInclusive<usize> = 0..=500;
/// Items of an array.
pub const ITEMS: RangeInclusive<usize> = 1..=1_000;
/// Characters of the address that requests are sent to.
pub const ENDPOINT_URL_CHARS: RangeInclusive<usize> = 1..=2_000;
/// Headers, and credentials, of an integration.
pub const HEADERS: RangeInclusive<usize> = 0..=50;
/// Limits that hold together.
pub const RATE_LIMITS: RangeInclusive<usize> = 1..=8;
/// Higher goes first.
pub const PRIORITY: RangeInclusive<i16> = -100..=100;
/// Attempts of a job.
pub const MAX_ATTEMPTS: RangeInclusive<i16> = 1..=100;
/// Characters of an integration's own retry schedule.
pub const RETRY_SCHEDULE_CHARS: RangeInclusive<usize> = 1..=2_000;
/// Milliseconds of an attempt.
pub const TIMEOUT_MS: RangeInclusive<i32> = 100..=3_600_000;
/// Jobs of an integration at once.
pub const MAX_CONCURRENCY: RangeInclusive<i32> = 1..=10_000;
/// Seconds over which a bundle gathers.
pub const BUNDLE_WINDOW_SECONDS: RangeInclusive<i32> = 1..=86_400;
/// Seconds of quiet that end a debounce.
pub const DEBOUNCE_SECONDS: RangeInclusive<i32> = 1..=3_600;
/// The longest a debounced change waits.
pub const DEBOUNCE_MAX_SECONDS: RangeInclusive<i32> = 1..=86_400;
/// Requests of a rate limit …
pub const REQUESTS: RangeInclusive<i32> = 1..=1_000_000;
/// … in so many seconds.
pub const PER_SECONDS: RangeInclusive<i32> = 1..=86_400;
/// The pace of a bulk action.
pub const RATE_PER_SECOND: RangeInclusive<i32> = 1..=10_000;
/// How long a bulk action is held.
pub const HOLD_SECONDS: RangeInclusive<i32> = 0..=3_600;
/// The life of a key: ten years.
pub const EXPIRES_IN_SECONDS: RangeInclusive<i64> = 1..=315_360_000;
