//! Rows that are deleted when they are old enough; [`queue::store::retention`] does it.

use model::retention::{Retained, Retentions};
use queue::{expired, store::retention::Expired};
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Sign-in links are kept for a day after they were used or expired, throttles for a day after they stopped throttling.
pub(crate) fn rows(kept: Retentions) -> Vec<Expired> {
    vec![
        expired!("idempotency_keys", "created_at", DAY),
        expired!("sessions", "expires_at", Duration::ZERO),
        expired!("sign_in_links", "least(expires_at, used_at)", DAY),
        expired!("sign_in_throttles", "to_timestamp(tat_us / 1000000.0)", DAY),
        expired!("audit_log", "at", kept.of(Retained::AuditLog), by id),
    ]
}
