//! Failures by cause: what waits to be tried again and what was given up, however often, is one line with one remedy.

use crate::{
    id::{AppId, IntegrationId},
    problem::Faults,
    rules::{
        cause::{self, CauseWords},
        verdict::ErrorKind,
    },
};
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use std::{fmt, ops::RangeInclusive, str::FromStr};

/// A cause, whichever integration fails by it: what the fingerprints of all its dead letters begin with. 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CauseId(pub u64);

impl CauseId {
    /// How it is written: so many characters of a fingerprint are its cause.
    pub const DIGITS: usize = 16;

    /// Whether a fingerprint that is asked for is a cause alone, wherever it is, and not one integration's.
    #[must_use]
    pub const fn is_all_of(fingerprint: &str) -> bool {
        fingerprint.len() == Self::DIGITS
    }
}

impl fmt::Display for CauseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:0digits$x}", self.0, digits = Self::DIGITS)
    }
}

/// No 16 hexadecimal digits in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be 16 hexadecimal digits")]
pub struct NoCause;

impl FromStr for CauseId {
    type Err = NoCause;
    fn from_str(text: &str) -> Result<Self, NoCause> {
        let is_id = Self::is_all_of(text) && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if !is_id {
            return Err(NoCause);
        }
        u64::from_str_radix(text, 16).map(Self).map_err(|_| NoCause)
    }
}

impl TryFrom<String> for CauseId {
    type Error = NoCause;
    fn try_from(text: String) -> Result<Self, NoCause> {
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

/// How a group stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum FailureState {
    /// Something waits to be tried again or was given up, and nobody said anything else.
    Open,
    /// Put aside until a time.
    Snoozed,
    /// Somebody said that it is mended, and it did not fail since.
    Fixed,
    /// Nothing of it waits and nothing is given up any more.
    Over,
}

impl FailureState {
    /// All, in the order a filter offers them.
    pub const ALL: [Self; 4] = [Self::Open, Self::Snoozed, Self::Fixed, Self::Over];

    /// As it is written on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Snoozed => "snoozed",
            Self::Fixed => "fixed",
            Self::Over => "over",
        }
    }
}

/// What a group's state follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureMarks {
    /// Put aside until then.
    pub snoozed_until: Option<DateTime<Utc>>,
    /// When somebody said that it is mended.
    pub fixed_at: Option<DateTime<Utc>>,
}

impl FailureMarks {
    /// The state of a group with so many jobs that failed last at that time, at any integration.
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

impl FromStr for FailureState {
    type Err = crate::integration::UnknownName;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|state| state.as_str() == text).ok_or(crate::integration::UnknownName)
    }
}

/// What a list of groups is narrowed to. With an app or an integration, a group's numbers are theirs alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct FailureFilter {
    /// Groups in this state; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<FailureState>,
    /// What fails of one app.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_id: Option<AppId>,
    /// What fails of one integration.
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
    /// Failed attempts of each step, the oldest first; the last step is not over.
    pub failed: Vec<i64>,
}

/// Open groups are counted up to this.
pub const MOST_OPEN: i64 = 1_000;

/// Failures by cause at a glance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FailurePulse {
    /// Open groups, as `GET /failures?state=open` lists them; at most 1,000 are counted. Null where less than all apps is told: nobody counts
    /// those of one.
    pub open: Option<i64>,
    /// Open groups that fail at least twice as often as the hour before, those that fail most first; three at most.
    pub growing: Vec<GrowingFailure>,
}

/// A group that fails more and more often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GrowingFailure {
    /// The group.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "9f86d081884c7d65"))]
    pub fingerprint: CauseId,
    /// What it means, in plain words.
    pub cause: String,
    /// What the external system answered with; null when no answer came.
    pub response_status: Option<i16>,
    /// Integrations that failed by it in the last hour; at most 1,000 are counted.
    pub integrations: i64,
    /// The integration's name, where it is only one.
    pub integration: Option<String>,
    /// Failed attempts of the last 60 minutes: estimated, because they are kept in steps of 15.
    pub last_hour: i64,
    /// Of the 60 minutes before, estimated too.
    pub hour_before: i64,
}

/// Failures of one cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FailureGroup {
    /// The cause: what the fingerprints of its dead letters begin with.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "9f86d081884c7d65"))]
    pub fingerprint: CauseId,
    /// How it stands.
    pub state: FailureState,
    /// The newest error, as it came.
    pub error: String,
    /// Of the newest failed attempt.
    pub error_kind: ErrorKind,
    /// What the external system answered with; none when no answer came.
    pub response_status: Option<i16>,
    /// Jobs whose last attempt failed by it and that will be tried again, or are just being.
    pub to_be_retried: i64,
    /// Jobs that were given up by it.
    pub dead_letters: i64,
    /// Attempts that failed by it, ever.
    pub failed_attempts: i64,
    /// Integrations that have jobs of it; at most 1,000 are counted.
    pub integrations: i64,
    /// Apps of these.
    pub apps: i64,
    /// The first failure.
    pub first_at: DateTime<Utc>,
    /// The newest.
    pub last_at: DateTime<Utc>,
    /// The last twelve hours.
    pub trend: FailureTrend,
    /// Put aside until then.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub snoozed_until: Option<DateTime<Utc>>,
    /// When somebody said that it is mended. An earlier time than `last_at`: it came back.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fixed_at: Option<DateTime<Utc>>,
}

impl FailureGroup {
    /// Jobs of it: what a retry of the group is about.
    #[must_use]
    pub fn jobs(&self) -> i64 {
        self.to_be_retried + self.dead_letters
    }

    /// Whether it failed again after somebody had said that it is mended.
    #[must_use]
    pub fn came_back(&self) -> bool {
        self.fixed_at.is_some_and(|at| at < self.last_at)
    }

    /// What it is and what helps.
    #[must_use]
    pub fn words(&self) -> CauseWords {
        cause::of(self.error_kind, self.response_status, &self.error)
    }
}

/// What one integration has of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AffectedIntegration {
    /// Which.
    pub integration_id: IntegrationId,
    /// Its name.
    pub name: String,
    /// Whose it is.
    pub app_id: AppId,
    /// The app's name.
    pub app_name: String,
    /// The fingerprint of its dead letters of this cause.
    pub fingerprint: String,
    /// As of the group.
    pub to_be_retried: i64,
    /// As of the group.
    pub dead_letters: i64,
    /// The first failure.
    pub first_at: DateTime<Utc>,
    /// The newest.
    pub last_at: DateTime<Utc>,
    /// What its customer was told.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub note: Option<FailureNote>,
}

/// What a customer was told about a failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FailureNote {
    /// In plain words.
    pub text: String,
    /// Since when.
    pub at: DateTime<Utc>,
}

/// One group and who is affected.
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
    /// The integrations that have jobs of it, those with most first; at most 100 (`integrations` says how many there are).
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

/// How far ahead a group can be put aside.
const LONGEST_SNOOZE: TimeDelta = TimeDelta::days(90);

impl SnoozeFailure {
    /// # Errors
    /// When the time is none to wait for.
    pub fn check(&self, now: DateTime<Utc>) -> Result<(), Faults> {
        let mut faults = Faults::default();
        let is_ahead = self.until > now && self.until - now <= LONGEST_SNOOZE;
        faults.require(is_ahead, "/until", "must be in the future, at most 90 days ahead");
        faults.into_result()
    }
}

/// `POST /failures/{fingerprint}/tell`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TellFailure {
    /// 1 to 500 characters in plain words; null takes back what was told.
    pub note: Option<String>,
    /// Only to the customers of this app.
    #[serde(default)]
    pub app_id: Option<AppId>,
    /// Only to those of this integration.
    #[serde(default)]
    pub integration_id: Option<IntegrationId>,
}

/// Characters of a note.
pub const NOTE_CHARS: RangeInclusive<usize> = 1..=500;

impl TellFailure {
    /// # Errors
    /// When the note is none.
    pub fn check(&self) -> Result<(), Faults> {
        let mut faults = Faults::default();
        let is_note = self.note.as_ref().is_none_or(|note| NOTE_CHARS.contains(&note.trim().chars().count()));
        faults.require(is_note, "/note", "must be 1 to 500 characters");
        faults.into_result()
    }
}

/// `POST /failures/{fingerprint}/retry`: everything of the group, or what an app or an integration has of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RetryFailure {
    /// Only what this app has of it.
    pub app_id: Option<AppId>,
    /// Only what this integration has of it.
    pub integration_id: Option<IntegrationId>,
    /// Only count and show.
    pub dry_run: bool,
    /// 1 to 10,000; absent: as fast as it goes.
    pub rate_per_second: Option<i32>,
    /// How long more than 100 are held before the first is touched, 0 to 3,600; default 30.
    pub hold_seconds: Option<i32>,
    /// For the audit log, up to 500 characters.
    pub reason: Option<String>,
}

/// How many were told something, or nothing any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FailureTold {
    /// Integrations whose customers see the note, or saw it.
    pub integrations: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_sixteen_digits_and_nothing_else() {
        assert_eq!("00000000000000ff".parse(), Ok(CauseId(255)));
        for text in ["", "ff", "00000000000000FF", "00000000000000fg", "00000000000000ff-0"] {
            assert_eq!(text.parse::<CauseId>(), Err(NoCause), "{text}");
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
    fn snoozing_and_telling_have_their_bounds() {
        let now = DateTime::UNIX_EPOCH;
        for (seconds, holds) in [(0, false), (1, true), (90 * 86_400, true), (90 * 86_400 + 1, false)] {
            let snooze = SnoozeFailure { until: now + TimeDelta::seconds(seconds) };
            assert_eq!(snooze.check(now).is_ok(), holds, "{seconds}");
        }
        for (note, holds) in [(None, true), (Some(" "), false), (Some("a"), true)] {
            let tell = TellFailure { note: note.map(str::to_owned), app_id: None, integration_id: None };
            assert_eq!(tell.check().is_ok(), holds, "{note:?}");
        }
    }
}
