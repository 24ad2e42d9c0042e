//! Limits of the API, used by the checks and shown in the OpenAPI document.

use std::ops::RangeInclusive;

/// Characters of record ids and types, job types, deduplication, serialize, rate limit and correlation keys.
pub const KEY_CHARS: RangeInclusive<usize> = 1..=255;
/// Characters of a name for people.
pub const NAME_CHARS: RangeInclusive<usize> = 1..=200;
/// Characters of a password.
pub const PASSWORD_CHARS: RangeInclusive<usize> = 8..=128;
/// Characters of an e-mail address (RFC 5321, 4.5.3.1, as RFC 3696's erratum 1690 counts them).
pub const EMAIL_CHARS: RangeInclusive<usize> = 3..=254;
/// Characters of a saved view's name.
pub const VIEW_NAME_CHARS: RangeInclusive<usize> = 1..=80;
/// Characters of a saved view's query.
pub const VIEW_QUERY_CHARS: RangeInclusive<usize> = 0..=4_000;
/// Number of jobs from which a saved view alerts; more are not counted (`matched::MAX_COUNTED`).
pub const VIEW_ALERT_AT: RangeInclusive<i32> = 1..=10_000;
/// Characters of a reason.
pub const REASON_CHARS: RangeInclusive<usize> = 0..=500;
/// Items of an array.
pub const ITEMS: RangeInclusive<usize> = 1..=1_000;
/// Characters of an integration's endpoint URL.
pub const ENDPOINT_URL_CHARS: RangeInclusive<usize> = 1..=2_000;
/// Headers, and credentials, of an integration.
pub const HEADERS: RangeInclusive<usize> = 0..=50;
/// Number of limits that an integration can combine.
pub const RATE_LIMITS: RangeInclusive<usize> = 1..=8;
/// Priority of a job; higher comes first.
pub const PRIORITY: RangeInclusive<i16> = -100..=100;
/// Attempts of a job.
pub const MAX_ATTEMPTS: RangeInclusive<i16> = 1..=100;
/// Characters of an integration's own retry schedule.
pub const RETRY_SCHEDULE_CHARS: RangeInclusive<usize> = 1..=2_000;
/// Time limit of an attempt, in milliseconds.
pub const TIMEOUT_MS: RangeInclusive<i32> = 100..=3_600_000;
/// Jobs of an integration at once.
pub const MAX_CONCURRENCY: RangeInclusive<i32> = 1..=10_000;
/// Length of a bundle's window.
pub const BUNDLE_WINDOW_SECONDS: RangeInclusive<i32> = 1..=86_400;
/// Seconds without a change after which a debounced record is sent.
pub const DEBOUNCE_SECONDS: RangeInclusive<i32> = 1..=3_600;
/// Maximum wait of a debounced change.
pub const DEBOUNCE_MAX_SECONDS: RangeInclusive<i32> = 1..=86_400;
/// Requests of a rate limit.
pub const REQUESTS: RangeInclusive<i32> = 1..=1_000_000;
/// Window of a rate limit.
pub const PER_SECONDS: RangeInclusive<i32> = 1..=86_400;
/// Jobs per second of a bulk operation.
pub const RATE_PER_SECOND: RangeInclusive<i32> = 1..=10_000;
/// Time in which a bulk operation can be withdrawn.
pub const HOLD_SECONDS: RangeInclusive<i32> = 0..=3_600;
/// Lifetime of a key: up to ten years.
pub const EXPIRES_IN_SECONDS: RangeInclusive<i64> = 1..=315_360_000;
