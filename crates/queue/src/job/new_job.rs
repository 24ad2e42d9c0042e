//! A job to be enqueued.

use crate::store::jobs::JobSpec;
use crate::store::own_lanes::LaneTarget;
use crate::{Job, QueueError};
use chrono::{DateTime, Utc};
use model::id::{AppId, IntegrationId};
use model::json::MAX_RECORD_BYTES;
use model::problem::Faults;
use std::time::Duration;
use uuid::Uuid;

/// A job to be enqueued: a payload, and options that override those of its [`Job`]. Where a `NewJob` is expected a payload alone will do.
///
/// ```
/// # use queue::{Job, NewJob};
/// # use std::time::Duration;
/// # #[derive(serde::Serialize, serde::Deserialize)] struct GenerateInvoice { order_id: u64 }
/// # impl Job for GenerateInvoice { const JOB_TYPE: &'static str = "invoice.generate"; }
/// let tonight = NewJob::new(GenerateInvoice { order_id: 7 }).delay(Duration::from_secs(6 * 3600)).priority(-10);
/// ```
#[derive(Clone, Debug)]
#[must_use = "it is enqueued by a client"]
pub struct NewJob<J> {
    payload: J,
    priority: i16,
    pub(crate) max_attempts: Option<i16>,
    timeout: Option<Duration>,
    run_at: Option<DateTime<Utc>>,
    delay: Option<Duration>,
    expires_at: Option<DateTime<Utc>>,
    expires_in: Option<Duration>,
    deduplication_id: Option<String>,
    serialize_key: Option<String>,
    correlation_id: Option<String>,
}

impl<J: Job> From<J> for NewJob<J> {
    fn from(payload: J) -> Self {
        Self::new(payload)
    }
}

impl<J: Job> NewJob<J> {
    /// A job with the options of its type.
    pub fn new(payload: J) -> Self {
        Self {
            priority: J::PRIORITY,
            max_attempts: J::MAX_ATTEMPTS,
            timeout: J::TIMEOUT,
            run_at: None,
            delay: None,
            expires_at: None,
            expires_in: None,
            deduplication_id: payload.deduplication_id(),
            serialize_key: payload.serialize_key(),
            correlation_id: None,
            payload,
        }
    }

    /// -100 to 100; higher runs first.
    pub fn priority(self, priority: i16) -> Self {
        Self { priority, ..self }
    }

    /// Most attempts, 1 to 100.
    pub fn max_attempts(self, max_attempts: i16) -> Self {
        Self { max_attempts: Some(max_attempts), ..self }
    }

    /// Time-out of an attempt, 100 ms to 1 h.
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// Runs it not before this time.
    pub fn run_at(self, at: DateTime<Utc>) -> Self {
        Self { run_at: Some(at), delay: None, ..self }
    }

    /// Runs it not before this has passed, on the database's clock.
    pub fn delay(self, delay: Duration) -> Self {
        Self { delay: Some(delay), run_at: None, ..self }
    }

    /// Cancels it (status `cancelled`, reason `expired`) if it still waits at this time, for its first attempt or a retry. That takes up to about two
    /// seconds, also in a lane where nothing is claimed, such as a paused one. A running attempt is not stopped.
    pub fn expires_at(self, at: DateTime<Utc>) -> Self {
        Self { expires_at: Some(at), expires_in: None, ..self }
    }

    /// As [`expires_at`](Self::expires_at), this long after it was enqueued, on the database's clock.
    pub fn expires_in(self, within: Duration) -> Self {
        Self { expires_in: Some(within), expires_at: None, ..self }
    }

    /// Replaces [`Job::deduplication_id`].
    pub fn deduplication_id(self, id: impl Into<String>) -> Self {
        Self { deduplication_id: Some(id.into()), ..self }
    }

    /// Replaces [`Job::serialize_key`].
    pub fn serialize_key(self, key: impl Into<String>) -> Self {
        Self { serialize_key: Some(key.into()), ..self }
    }

    /// An id that related jobs and log lines share, 1 to 255 characters; `GET /jobs?correlation_id=` finds them. Generated if not given.
    pub fn correlation_id(self, id: impl Into<String>) -> Self {
        Self { correlation_id: Some(id.into()), ..self }
    }

    /// For the single statement that accepts one job and reads the lane's settings itself. None when that is not enough: the job may fold, has a
    /// serialize key, or has a time relative to the database's clock.
    pub(crate) fn alone(
        &self,
        app_id: AppId,
        integration_id: IntegrationId,
    ) -> Option<Result<JobSpec, QueueError>> {
        let needs_more = self.deduplication_id.is_some()
            || self.serialize_key.is_some()
            || self.delay.is_some()
            || self.expires_in.is_some();
        // The statement fills in the lane's settings, and no time is computed from `now`.
        let target = LaneTarget {
            app_id,
            integration_id,
            max_attempts: None,
            timeout_ms: None,
            now: DateTime::UNIX_EPOCH,
        };
        (!needs_more).then(|| self.spec(&target))
    }

    /// Validates the job and completes it with the lane's settings.
    pub(crate) fn spec(&self, target: &LaneTarget) -> Result<JobSpec, QueueError> {
        let mut faults = Faults::default();
        let payload = serde_json::to_value(&self.payload).map_or_else(
            |error| {
                faults.add("/payload", format!("cannot be written as JSON: {error}"));
                None
            },
            Some,
        );
        let bytes = payload.as_ref().map_or(0, |payload| payload.to_string().len());
        if bytes > MAX_RECORD_BYTES {
            faults.add("/payload", format!("is {bytes} bytes of JSON; limit: payload 1 MB"));
        }
        let timeout_ms = self.timeout.map(|timeout| i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX));
        let later = |wait: Option<Duration>| {
            wait.map(|wait| {
                let wait = chrono::Duration::from_std(wait).unwrap_or(chrono::Duration::MAX);
                target.now.checked_add_signed(wait).unwrap_or(DateTime::<Utc>::MAX_UTC)
            })
        };
        // Prefixed with the type, because jobs of two types must never fold.
        let deduplication_id = self.deduplication_id.as_ref().map(|id| format!("{}:{id}", J::JOB_TYPE));
        let mut new = model::job::NewJob {
            integration_id: Some(target.integration_id),
            app_id: Some(target.app_id),
            job_type: J::JOB_TYPE.to_owned(),
            payload,
            deduplication_id,
            serialize_key: self.serialize_key.clone(),
            priority: self.priority,
            run_at: self.run_at.or_else(|| later(self.delay)),
            expires_at: self.expires_at.or_else(|| later(self.expires_in)),
            max_attempts: self.max_attempts,
            timeout_ms,
            correlation_id: self.correlation_id.clone(),
            batch_id: None,
            trace: None,
        };
        if let Err(found) = new.check() {
            faults.nest("", found);
        }
        faults.into_result()?;
        Ok(JobSpec {
            app_id: target.app_id,
            integration_id: target.integration_id,
            job_type: new.job_type,
            payload: new.payload.take(),
            record: None,
            deduplication_id: new.deduplication_id,
            serialize_key: new.serialize_key,
            correlation_id: new.correlation_id.unwrap_or_else(|| Uuid::now_v7().to_string()),
            trace: None,
            batch_id: None,
            priority: new.priority,
            run_at: new.run_at,
            gathers_until: None,
            expires_at: new.expires_at,
            max_attempts: new.max_attempts.or(target.max_attempts).unwrap_or(DEFAULT_MAX_ATTEMPTS),
            timeout_ms: new.timeout_ms.or(target.timeout_ms),
            is_full: false,
        })
    }
}

/// When neither the job nor its lane has a number.
const DEFAULT_MAX_ATTEMPTS: i16 = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize)]
    struct Print(String);
    impl Job for Print {
        const JOB_TYPE: &'static str = "print";
        const PRIORITY: i16 = 7;
        const TIMEOUT: Option<Duration> = Some(Duration::from_secs(2));
        fn deduplication_id(&self) -> Option<String> {
            Some(self.0.clone())
        }
    }

    fn target() -> LaneTarget {
        let (app_id, integration_id) = (AppId::generate(), IntegrationId::generate());
        LaneTarget {
            app_id,
            integration_id,
            max_attempts: Some(4),
            timeout_ms: Some(9_000),
            now: DateTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn the_job_overrules_its_type_which_overrules_the_lane() {
        let spec = NewJob::new(Print("a".into())).spec(&target()).unwrap();
        assert_eq!((spec.priority, spec.max_attempts, spec.timeout_ms), (7, 4, Some(2_000)));
        assert_eq!(spec.deduplication_id.as_deref(), Some("print:a"));
        let minute = Duration::from_secs(60);
        let new = NewJob::from(Print("a".into())).priority(-3).max_attempts(2).timeout(minute).delay(minute);
        let spec = new.deduplication_id("b").expires_in(2 * minute).spec(&target()).unwrap();
        assert_eq!((spec.priority, spec.max_attempts, spec.timeout_ms), (-3, 2, Some(60_000)));
        assert_eq!(spec.deduplication_id.as_deref(), Some("print:b"));
        let at = |seconds| DateTime::from_timestamp(seconds, 0);
        assert_eq!((spec.run_at, spec.expires_at), (at(60), at(120)));
    }

    #[test]
    fn every_fault_is_named() {
        let new =
            NewJob::new(Print("a\0".into())).priority(101).max_attempts(0).timeout(Duration::from_millis(1));
        let QueueError::Invalid(faults) = new.serialize_key("").spec(&target()).unwrap_err() else {
            panic!("not a fault of the input")
        };
        let mut at: Vec<&str> = faults.0.iter().map(|fault| fault.pointer.as_str()).collect();
        at.sort_unstable();
        assert_eq!(
            at,
            ["/deduplication_id", "/max_attempts", "/payload", "/priority", "/serialize_key", "/timeout_ms"]
        );
    }
}
