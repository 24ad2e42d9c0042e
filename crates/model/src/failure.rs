//! Failure groups: jobs that wait for a retry and dead letters, grouped by the cause of their last failure.

use crate::id::{AppId, IntegrationId};
use crate::problem::Faults;
use crate::rules::cause::{self, CauseWords};
use crate::rules::verdict::ErrorKind;
use crate::unknown_name::UnknownName;
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use std::{fmt, ops::RangeInclusive, str::FromStr};
use strum::{EnumString, IntoStaticStr, VariantArray};

/// A cause, for all integrations: 16 hexadecimal digits, the prefix of the fingerprints of all its dead letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CauseId(pub u64);

impl CauseId {
    /// The first characters of a fingerprint, which are its cause.
    pub const DIGITS: usize = 16;

    /// Whether a fingerprint consists of a cause only, for all integrations.
    #[must_use]
    pub const fn is_cause_only(fingerprint: &str) -> bool {
        fingerprint.len() == Self::DIGITS
    }
}

impl fmt::Display for CauseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:0digits$x}", self.0, digits = Self::DIGITS)
    }
}

/// Not 16 hexadecimal digits in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be 16 hexadecimal digits")]
pub struct BadCauseId;

impl FromStr for CauseId {
    type Err = BadCauseId;
    fn from_str(text: &str) -> Result<Self, BadCauseId> {
        let is_id = Self::is_cause_only(text) && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if !is_id {
            return Err(BadCauseId);
        }
        u64::from_str_radix(text, 16).map(Self).map_err(|_| BadCauseId)
    }
}

impl TryFrom<String> for CauseId {
    type Error = BadCauseId;
    fn try_from(text: String) -> Result<Self, BadCauseId> {
        text.parse()
    }
}

impl Serialize for CauseId {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CauseId {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

/// State of a failure group.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "snake_case", parse_err_ty = UnknownName, parse_err_fn = UnknownName::of)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum FailureState {
    /// Has jobs that wait for a retry or are dead letters, and is neither snoozed nor fixed.
    Open,
    /// Snoozed until a time.
    Snoozed,
    /// Marked as fixed, and did not fail since.
    Fixed,
    /// Has no waiting jobs and no dead letters any more.
    Over,
}

impl FailureState {
    /// All, in the order a filter offers them.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// As it is written on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// What people set on a group; its state follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureMarks {
    /// Snoozed until then.
    pub snoozed_until: Option<DateTime<Utc>>,
    /// When it was marked as fixed.
    pub fixed_at: Option<DateTime<Utc>>,
}

impl FailureMarks {
    /// The state of a group with `jobs` jobs that last failed at `last_at`, at any integration.
    #[must_use]
    pub fn state(self, jobs: i64, last_at: DateTime<Utc>, now: DateTime<Utc>) -> FailureState {
        match self {
            Self { fixed_at: Some(fixed_at), .. } if fixed_at >= last_at => FailureState::Fixed,
            _ if jobs <= 0 => FailureState::Over,
            Self { snoozed_until: Some(until), .. } if until > now => FailureState::Snoozed,
            _ => FailureState::Open,
        }
    }
}

/// Filter of a list of groups. With an app or an integration, a group's numbers are only theirs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct FailureFilter {
    /// Groups in this state; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<FailureState>,
    /// Failures of one app.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_id: Option<AppId>,
    /// Failures of one integration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub integration_id: Option<IntegrationId>,
}

/// Failed attempts over time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FailureTrend {
    /// Seconds of each step.
    pub step_seconds: i32,
    /// The beginning of the first step.
    pub from: DateTime<Utc>,
    /// Failed attempts by step, oldest first; the last step is incomplete.
    pub failed: Vec<i64>,
}

/// Open groups are counted up to this.
pub const MAX_COUNTED_GROUPS: i64 = 1_000;

/// Summary of the failure groups.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FailureSummary {
    /// Open groups, as `GET /failures?state=open` lists them; at most 1,000 are counted. Null when the summary is not of all apps: they are not
    /// counted by app.
    pub open: Option<i64>,
    /// Open groups that fail at least twice as often as in the hour before, those with most failures first; at most three.
    pub growing: Vec<GrowingFailure>,
}

/// A group whose failures increase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GrowingFailure {
    /// The group.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "9f86d081884c7d65"))]
    pub fingerprint: CauseId,
    /// The cause in plain words.
    pub cause: String,
    /// HTTP status of the answer; null when none came.
    pub response_status: Option<i16>,
    /// Integrations with such failures in the last hour; at most 1,000 are counted.
    pub integrations: i64,
    /// The integration's name, if it is only one.
    pub integration: Option<String>,
    /// Failed attempts of the last 60 minutes; estimated, because they are counted in steps of 15 minutes.
    pub last_hour: i64,
    /// Failed attempts of the 60 minutes before, estimated too.
    pub hour_before: i64,
}

/// Failures of one cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FailureGroup {
    /// The cause: the prefix of its dead letters' fingerprints.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "9f86d081884c7d65"))]
    pub fingerprint: CauseId,
    /// State of the group.
    pub state: FailureState,
    /// The newest error, not normalised.
    pub error: String,
    /// Kind of the newest error.
    pub error_kind: ErrorKind,
    /// HTTP status of the newest answer; null when none came.
    pub response_status: Option<i16>,
    /// Jobs whose last attempt failed with this cause and that will be retried, or are being retried now.
    pub to_be_retried: i64,
    /// Jobs that became dead letters with this cause.
    pub dead_letters: i64,
    /// All attempts that ever failed with this cause.
    pub failed_attempts: i64,
    /// Integrations that have jobs in the group; at most 1,000 are counted.
    pub integrations: i64,
    /// Apps of these integrations.
    pub apps: i64,
    /// The first failure.
    pub first_at: DateTime<Utc>,
    /// The newest failure.
    pub last_at: DateTime<Utc>,
    /// The last twelve hours.
    pub trend: FailureTrend,
    /// Snoozed until then.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub snoozed_until: Option<DateTime<Utc>>,
    /// When it was marked as fixed. Earlier than `last_at`: it failed again since.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fixed_at: Option<DateTime<Utc>>,
}

impl FailureGroup {
    /// Jobs of the group, which a retry requeues.
    #[must_use]
    pub fn jobs(&self) -> i64 {
        self.to_be_retried + self.dead_letters
    }

    /// Whether it failed again after it was marked as fixed.
    #[must_use]
    pub fn came_back(&self) -> bool {
        self.fixed_at.is_some_and(|at| at < self.last_at)
    }

    /// The cause and its remedy in plain words.
    #[must_use]
    pub fn words(&self) -> CauseWords {
        cause::of(self.error_kind, self.response_status, &self.error)
    }
}

/// The other jobs with a job's cause, in its reader's scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SameCause {
    /// The group.
    pub fingerprint: CauseId,
    /// Jobs of the group without this one.
    pub others: i64,
    /// The group's first failure.
    pub first_at: DateTime<Utc>,
}

/// One integration's part of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AffectedIntegration {
    /// The integration.
    pub integration_id: IntegrationId,
    /// Its name.
    pub name: String,
    /// Its app.
    pub app_id: AppId,
    /// The app's name.
    pub app_name: String,
    /// The fingerprint of its dead letters of this cause.
    pub fingerprint: String,
    /// As in the group.
    pub to_be_retried: i64,
    /// As in the group.
    pub dead_letters: i64,
    /// The first failure.
    pub first_at: DateTime<Utc>,
    /// The newest failure.
    pub last_at: DateTime<Utc>,
    /// The note published for it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub note: Option<FailureNote>,
}

/// A note about a failure, published for the affected app.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FailureNote {
    /// Up to 500 characters.
    pub text: String,
    /// When it was published.
    pub at: DateTime<Utc>,
}

/// A group with the affected integrations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FailureDetail {
    /// The group.
    #[serde(flatten)]
    pub group: FailureGroup,
    /// The cause in plain words.
    pub cause: String,
    /// What helps.
    pub remedy: String,
    /// Integrations with jobs in the group, those with most jobs first; at most 100 (`integrations` is their number).
    pub affected: Vec<AffectedIntegration>,
}

/// `POST /failures/{fingerprint}/snooze`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SnoozeFailure {
    /// In the future, at most 90 days ahead.
    pub until: DateTime<Utc>,
}

/// A change of a group's marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureStep {
    /// Snoozed until then.
    Snooze(DateTime<Utc>),
    /// Fixed: the next failure opens it again.
    Fix,
    /// Neither snoozed nor fixed.
    Reopen,
}

impl FailureStep {
    /// # Errors
    /// Snoozed until a time that is not within the next 90 days.
    pub fn check(self, now: DateTime<Utc>) -> Result<(), Faults> {
        match self {
            Self::Snooze(until) => SnoozeFailure { until }.check(now),
            Self::Fix | Self::Reopen => Ok(()),
        }
    }
}

const MAX_SNOOZE: TimeDelta = TimeDelta::days(90);

impl SnoozeFailure {
    /// # Errors
    /// When the time is not within the next 90 days.
    pub fn check(&self, now: DateTime<Utc>) -> Result<(), Faults> {
        let mut faults = Faults::default();
        let is_ahead = self.until > now && self.until - now <= MAX_SNOOZE;
        faults.require(is_ahead, "/until", "must be in the future, at most 90 days ahead");
        faults.into_result()
    }
}

/// `POST /failures/{fingerprint}/tell`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SetFailureNote {
    /// 1 to 500 characters in plain words; null removes the note.
    pub note: Option<String>,
    /// Only for this app.
    #[serde(default)]
    pub app_id: Option<AppId>,
    /// Only for this integration.
    #[serde(default)]
    pub integration_id: Option<IntegrationId>,
}

/// Characters of a note.
pub const NOTE_CHARS: RangeInclusive<usize> = 1..=500;

impl SetFailureNote {
    /// # Errors
    /// When the note is empty or too long.
    pub fn check(&self) -> Result<(), Faults> {
        let mut faults = Faults::default();
        let is_note = self.note.as_ref().is_none_or(|note| NOTE_CHARS.contains(&note.trim().chars().count()));
        faults.require(is_note, "/note", "must be 1 to 500 characters");
        faults.into_result()
    }
}

/// `POST /failures/{fingerprint}/retry`: all jobs of the group, or those of an app or an integration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RetryFailure {
    /// Only jobs of this app.
    pub app_id: Option<AppId>,
    /// Only jobs of this integration.
    pub integration_id: Option<IntegrationId>,
    /// Only count and show.
    pub dry_run: bool,
    /// 1 to 10,000; absent: no limit.
    pub rate_per_second: Option<i32>,
    /// Seconds before a retry of more than 100 jobs begins, in which it can be withdrawn: 0 to 3,600; default 30.
    pub hold_seconds: Option<i32>,
    /// For the audit log, up to 500 characters.
    pub reason: Option<String>,
}

/// Where a note was published or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FailureNoteResult {
    /// Number of integrations that show the note now, or no longer do.
    pub integrations: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_id_has_sixteen_hexadecimal_digits() {
        assert_eq!("00000000000000ff".parse(), Ok(CauseId(255)));
        for text in ["", "ff", "00000000000000FF", "00000000000000fg", "00000000000000ff-0"] {
            assert_eq!(text.parse::<CauseId>(), Err(BadCauseId), "{text}");
        }
    }

    #[test]
    fn a_fixed_group_that_fails_again_is_open() {
        use FailureState::{Fixed, Open, Over, Snoozed};
        let at = |seconds: i64| DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds);
        // snoozed until, fixed at, jobs; it failed last at 10, it is 20
        for (until, fixed, jobs, state) in [
            (None, None, 1, Open),
            (None, None, 0, Over),
            (Some(30), None, 1, Snoozed),
            (Some(20), None, 1, Open),
            (Some(30), None, 0, Over),
            (None, Some(10), 1, Fixed),
            (None, Some(15), 0, Fixed),
            (None, Some(9), 1, Open),
            (Some(30), Some(9), 1, Snoozed),
        ] {
            let marks = FailureMarks { snoozed_until: until.map(at), fixed_at: fixed.map(at) };
            assert_eq!(marks.state(jobs, at(10), at(20)), state, "{until:?} {fixed:?} {jobs}");
        }
    }

    #[test]
    fn snoozes_and_notes_are_checked() {
        let now = DateTime::UNIX_EPOCH;
        for (seconds, holds) in [(0, false), (1, true), (90 * 86_400, true), (90 * 86_400 + 1, false)] {
            let snooze = SnoozeFailure { until: now + TimeDelta::seconds(seconds) };
            assert_eq!(snooze.check(now).is_ok(), holds, "{seconds}");
        }
        for (note, holds) in [(None, true), (Some(" "), false), (Some("a"), true)] {
            let new = SetFailureNote { note: note.map(str::to_owned), app_id: None, integration_id: None };
            assert_eq!(new.check().is_ok(), holds, "{note:?}");
        }
    }
}
