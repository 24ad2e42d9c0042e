//! Dead letters: jobs that will not be tried again by themselves.

use crate::attempt::Attempt;
use crate::id::{AppId, DeadLetterId, IntegrationId, JobId, OperationId};
use crate::page::{DEFAULT_LIMIT, Page, PageError, PageRequest};
use crate::rules::verdict::ErrorKind;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

/// A job that will not be tried again by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeadLetter {
    /// UUIDv7 of the dead letter.
    pub id: DeadLetterId,
    /// The job, which keeps its id when it is requeued.
    pub job_id: JobId,
    /// Its app.
    pub app_id: AppId,
    /// Its integration.
    pub integration_id: IntegrationId,
    /// Type of the job.
    pub job_type: String,
    /// What was last sent, or the payload that the job was created with.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub payload: Option<Value>,
    /// Record type, of a record's job.
    pub record_type: Option<String>,
    /// Record id, of a record's job.
    pub record_id: Option<String>,
    /// Correlation id of the change that created the job.
    pub correlation_id: String,
    /// Correlation ids of all changes folded into the job, oldest first: the last 20, and always `correlation_id`.
    pub correlation_ids: Vec<String>,
    /// Number of ids before those.
    pub earlier_correlations: i32,
    /// All attempts, oldest first.
    pub attempts: Vec<Attempt>,
    /// Kind of the final error.
    pub error_kind: ErrorKind,
    /// The final error as a sentence.
    pub error_message: String,
    /// Groups dead letters of one cause: integration and normalised error.
    pub fingerprint: String,
    /// When the job was dead-lettered.
    pub failed_at: DateTime<Utc>,
    /// When the job was accepted.
    pub created_at: DateTime<Utc>,
}

impl DeadLetter {
    /// How it is called in the console: its record, or the type of its job.
    #[must_use]
    pub fn about(&self) -> String {
        match (&self.record_type, &self.record_id) {
            (Some(kind), Some(id)) => format!("{kind} {id}"),
            _ => self.job_type.clone(),
        }
    }
}

/// A purged dead letter, until it is deleted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BinnedLetter {
    /// The dead letter.
    pub letter: DeadLetter,
    /// When it was purged.
    pub binned_at: DateTime<Utc>,
    /// When it is deleted for good: 24 hours later.
    pub deleted_at: DateTime<Utc>,
    /// The bulk action that purged it; null: it was purged alone.
    pub operation_id: Option<OperationId>,
}

/// Request for a page of the bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BinPageRequest {
    /// 1 to 500.
    pub limit: i64,
    /// The last letter of the page before: when it was purged, to the microsecond, and its id. It may have been restored meanwhile.
    pub after: Option<(DateTime<Utc>, DeadLetterId)>,
}

impl Default for BinPageRequest {
    fn default() -> Self {
        Self { limit: DEFAULT_LIMIT, after: None }
    }
}

impl BinPageRequest {
    /// Reads `limit` and `cursor` as the API and the console's URLs write them.
    ///
    /// # Errors
    /// A sentence naming the parameter and what is accepted.
    pub fn parse(limit: Option<i64>, cursor: Option<&str>) -> Result<Self, PageError> {
        let PageRequest { limit, .. } = PageRequest::parse(limit, None)?;
        let after = cursor.map(|cursor| after_in_bin(cursor).ok_or(PageError::Cursor)).transpose()?;
        Ok(Self { limit, after })
    }
}

/// Opaque to callers: `b1`, 16 hex digits of microseconds and 32 of the letter's id.
fn after_in_bin(cursor: &str) -> Option<(DateTime<Utc>, DeadLetterId)> {
    let key = cursor.strip_prefix("b1").filter(|key| key.len() == 48 && key.is_ascii())?;
    let (at, id) = key.split_at(16);
    let at = DateTime::from_timestamp_micros(i64::from_str_radix(at, 16).ok()?)?;
    Some((at, DeadLetterId(Uuid::try_parse(id).ok()?)))
}

impl Page<BinnedLetter> {
    /// A page of the bin, from letters that were read with one more than `limit`.
    #[must_use]
    pub fn of_bin(mut letters: Vec<BinnedLetter>, limit: i64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(0);
        let has_more = letters.len() > limit;
        letters.truncate(limit);
        let next_cursor = letters
            .last()
            .filter(|_| has_more)
            .map(|last| format!("b1{:016x}{}", last.binned_at.timestamp_micros(), last.letter.id.0.simple()));
        Self { items: letters, next_cursor }
    }
}

/// Dead letters of one cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeadLetterGroup {
    /// Of integration and normalised error.
    pub fingerprint: String,
    /// A sample of the error.
    pub error: String,
    /// Their integration.
    pub integration_id: IntegrationId,
    /// Number of dead letters.
    pub count: i64,
    /// Not all matching dead letters were read: there may be more.
    pub is_least: bool,
    /// The oldest.
    pub first_at: DateTime<Utc>,
    /// The newest.
    pub last_at: DateTime<Utc>,
}

/// Position of a group in the list, which has the largest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupCursor {
    /// Number of dead letters when the page was read.
    pub count: i64,
    /// Their integration.
    pub integration_id: IntegrationId,
    /// The group.
    pub fingerprint: String,
}

/// Request for a page of groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupPageRequest {
    /// 1 to 500.
    pub limit: i64,
    /// The last group of the page before.
    pub after: Option<GroupCursor>,
}

impl Default for GroupPageRequest {
    fn default() -> Self {
        Self { limit: DEFAULT_LIMIT, after: None }
    }
}

impl GroupPageRequest {
    /// Reads `limit` and `cursor` as the API writes them.
    ///
    /// # Errors
    /// A sentence naming the parameter and what is accepted.
    pub fn parse(limit: Option<i64>, cursor: Option<&str>) -> Result<Self, PageError> {
        let PageRequest { limit, .. } = PageRequest::parse(limit, None)?;
        let after = cursor.map(|cursor| after_group(cursor).ok_or(PageError::Cursor)).transpose()?;
        Ok(Self { limit, after })
    }
}

/// Opaque to callers: `g1`, 16 hex digits of the count, 32 of the integration's id, and the fingerprint.
fn after_group(cursor: &str) -> Option<GroupCursor> {
    let key = cursor.strip_prefix("g1").filter(|key| key.len() > 48 && key.is_ascii())?;
    let (count, key) = key.split_at(16);
    let (integration_id, fingerprint) = key.split_at(32);
    Some(GroupCursor {
        count: i64::from_str_radix(count, 16).ok()?,
        integration_id: IntegrationId(Uuid::try_parse(integration_id).ok()?),
        fingerprint: fingerprint.to_owned(),
    })
}

impl Page<DeadLetterGroup> {
    /// A page of groups that were read with one more than `limit`.
    #[must_use]
    pub fn of_groups(mut groups: Vec<DeadLetterGroup>, limit: i64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(0);
        let has_more = groups.len() > limit;
        groups.truncate(limit);
        let next_cursor = groups.last().filter(|_| has_more).map(|last| {
            format!("g1{:016x}{}{}", last.count, last.integration_id.0.simple(), last.fingerprint)
        });
        Self { items: groups, next_cursor }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_of_the_bin_reads_back_and_anything_else_is_refused() {
        let id = DeadLetterId(Uuid::now_v7());
        let at = DateTime::from_timestamp_micros(1_795_000_000_123_456).unwrap();
        let cursor = format!("b1{:016x}{}", at.timestamp_micros(), id.0.simple());
        let page = BinPageRequest::parse(Some(2), Some(&cursor)).unwrap();
        assert_eq!((page.limit, page.after), (2, Some((at, id))));
        let of_lists = format!("c1{}", id.0.simple());
        for cursor in ["", "b1", "x", of_lists.as_str(), &cursor[..49], &cursor.replace("b1", "b1ff")] {
            assert_eq!(BinPageRequest::parse(None, Some(cursor)), Err(PageError::Cursor), "{cursor}");
        }
        assert_eq!(BinPageRequest::parse(Some(0), None), Err(PageError::Limit));
    }

    #[test]
    fn a_cursor_of_the_groups_reads_back_and_anything_else_is_refused() {
        let group = |count| DeadLetterGroup {
            fingerprint: "00000000000000ff-2f0c8a9d41b7".to_owned(),
            error: String::new(),
            integration_id: IntegrationId(Uuid::now_v7()),
            count,
            is_least: false,
            first_at: DateTime::UNIX_EPOCH,
            last_at: DateTime::UNIX_EPOCH,
        };
        let groups = [group(300), group(2)];
        let page = Page::of_groups(groups.to_vec(), 1);
        let cursor = page.next_cursor.unwrap();
        let after = GroupPageRequest::parse(Some(1), Some(&cursor)).unwrap().after.unwrap();
        assert_eq!(
            (after.count, after.integration_id, &after.fingerprint),
            (300, groups[0].integration_id, &groups[0].fingerprint)
        );
        assert_eq!(Page::of_groups(groups.to_vec(), 2).next_cursor, None);
        for cursor in
            ["", "g1", "x", &cursor[..50], &cursor.replace("g1", "c1"), &cursor.replace("g10", "g1z")]
        {
            assert_eq!(GroupPageRequest::parse(None, Some(cursor)), Err(PageError::Cursor), "{cursor}");
        }
        assert_eq!(GroupPageRequest::parse(Some(501), None), Err(PageError::Limit));
    }
}
