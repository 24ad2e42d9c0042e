//! Saved views: named filters of the list of jobs.

use crate::actor::{Actor, Role};
use crate::app::is_name;
use crate::etag::{IfMatch, Revised};
use crate::id::SavedViewId;
use crate::limits;
use crate::matched::AtLeast;
use crate::patch::{Change, not_null};
use crate::problem::Faults;
use crate::text::grouped;
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

/// Views of one user, or of all keys together.
pub const MAX_PER_OWNER: i64 = 50;
/// Shared views of a deployment.
pub const MAX_SHARED: i64 = 200;
/// Pinned views of a user: each is counted every few seconds.
pub const MAX_PINNED: i64 = 12;

/// Minimum length of an alert, so that a count near the threshold does not flood the feed.
const MIN_ALERT: TimeDelta = TimeDelta::seconds(60);

/// A saved view, as one caller sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SavedView {
    /// UUIDv7.
    pub id: SavedViewId,
    /// Unique among the views of its owner, case-insensitive.
    pub name: String,
    /// The query string of `/jobs`: filters, `sort`, `columns`, `limit`. Its payload values read `[masked]` once one of them is masked for the
    /// caller.
    pub query: String,
    /// Whether all users of the console see it; otherwise only its owner.
    pub is_shared: bool,
    /// Whether the caller is its owner.
    pub is_own: bool,
    /// Its owner's name; null: it was created by an API key, or its owner was deleted.
    pub owner_name: Option<String>,
    /// Whether the caller has pinned it.
    pub is_pinned: bool,
    /// It alerts when at least so many jobs match; null: never.
    pub alert_at: Option<i32>,
    /// The last count; null: not counted yet, neither pinned nor with a threshold, counting takes too long, or `query` is masked.
    pub count: Option<ViewCount>,
    /// The last count exceeded its time limit: the view needs another filter.
    pub is_too_wide: bool,
    /// Since when the threshold is reached; null: it is not. An alert lasts at least a minute.
    pub alerting_since: Option<DateTime<Utc>>,
    /// When it was saved.
    pub created_at: DateTime<Utc>,
    /// When it was last changed.
    pub updated_at: DateTime<Utc>,
}

/// Number of matching jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ViewCount {
    /// The number counted.
    pub n: i64,
    /// There may be more: up to 10,000 are counted in each table of jobs.
    pub is_more: bool,
    /// When they were counted.
    pub at: DateTime<Utc>,
}

impl Revised for SavedView {
    fn updated_at(&self) -> DateTime<Utc> {
        self.updated_at
    }
}

impl ViewCount {
    /// For people: `1,204`, `10,000+`.
    #[must_use]
    pub const fn at_least(self) -> AtLeast {
        AtLeast { n: self.n, is_more: self.is_more }
    }
}

impl SavedView {
    /// Whether the caller may change or delete it: its owner may, and operators if it is shared.
    #[must_use]
    pub fn may_be_changed_by(&self, role: Role) -> bool {
        self.is_own || (self.is_shared && role == Role::Operator)
    }
}

/// `POST /saved-views`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewSavedView {
    /// 1 to 80 characters.
    pub name: String,
    /// The query string of `/jobs`, such as `status=failed&error=503`: up to 4,000 characters of its filters, `sort`, `columns`, `limit`.
    pub query: String,
    /// Default false. Must be true for a key, which has no private views.
    #[serde(default)]
    pub is_shared: bool,
    /// Pins it for the caller, who must be a signed-in user. Default false.
    #[serde(default)]
    pub is_pinned: bool,
    /// 1 to 10,000. Default: it never alerts.
    #[serde(default)]
    pub alert_at: Option<i32>,
}

/// `PATCH /saved-views/{id}`: an absent field is not changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SavedViewChanges {
    /// 1 to 80 characters.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, required = false))]
    pub name: Option<String>,
    /// As in `POST`. The count is reset.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, required = false))]
    pub query: Option<String>,
    /// A shared view without an owner cannot be made private.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(value_type = bool, required = false))]
    pub is_shared: Option<bool>,
    /// The caller's pin: everybody who can see a view may pin it.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(value_type = bool, required = false))]
    pub is_pinned: Option<bool>,
    /// 1 to 10,000; null: it never alerts.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i32>, required = false))]
    pub alert_at: Change<i32>,
    /// Version that is to be changed; not part of the body.
    #[serde(skip)]
    pub if_match: IfMatch,
}

impl NewSavedView {
    /// Checks all but the query.
    ///
    /// # Errors
    /// Every fault, by field.
    pub fn check(&self, actor: &Actor) -> Result<(), Faults> {
        let mut faults = Faults::default();
        check(&mut faults, Some(&self.name), self.alert_at);
        let is_user = actor.user_id().is_some();
        faults.require(is_user || self.is_shared, "/is_shared", "must be true: a key has no private views");
        faults.require(is_user || !self.is_pinned, "/is_pinned", "must be false: only users have pins");
        faults.into_result()
    }
}

impl SavedViewChanges {
    /// Checks all but the query.
    ///
    /// # Errors
    /// Every fault, by field.
    pub fn check(&self, actor: &Actor) -> Result<(), Faults> {
        let mut faults = Faults::default();
        check(&mut faults, self.name.as_deref(), self.alert_at.set().copied());
        let is_user = actor.user_id().is_some();
        faults.require(
            is_user || self.is_pinned.is_none(),
            "/is_pinned",
            "must be absent: only users have pins",
        );
        faults.into_result()
    }

    /// Whether only the caller's pin changes, and not the view itself.
    #[must_use]
    pub fn is_pin_alone(&self) -> bool {
        *self == Self { is_pinned: self.is_pinned, if_match: self.if_match.clone(), ..Self::default() }
    }
}

fn check(faults: &mut Faults, name: Option<&str>, alert_at: Option<i32>) {
    let max = *limits::VIEW_NAME_CHARS.end();
    faults.require(
        name.is_none_or(|name| is_name(name) && name.chars().count() <= max),
        "/name",
        "must be 1 to 80 characters without control characters, those of text direction among them",
    );
    faults.require_within(alert_at, &limits::VIEW_ALERT_AT, "/alert_at");
}

/// What a count means for an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlertChange {
    /// It begins.
    Begins,
    /// It ends.
    Ends,
    /// Nothing changes.
    Unchanged,
}

/// Whether `n` jobs begin or end the alert of a view with the threshold `alert_at`.
#[must_use]
pub fn alert_change(
    since: Option<DateTime<Utc>>,
    n: i64,
    alert_at: Option<i32>,
    now: DateTime<Utc>,
) -> AlertChange {
    let is_reached = alert_at.is_some_and(|at| n >= i64::from(at));
    match since {
        None if is_reached => AlertChange::Begins,
        Some(since) if !is_reached && now - since >= MIN_ALERT => AlertChange::Ends,
        _ => AlertChange::Unchanged,
    }
}

/// Why it alerts: `137 jobs match, alert at 100`.
#[must_use]
pub fn reason(count: AtLeast, alert_at: i32) -> String {
    let jobs = if count.n == 1 && !count.is_more {
        "1 job matches".to_owned()
    } else {
        format!("{count} jobs match")
    };
    format!("{jobs}, {}", reason_without_count(alert_at))
}

/// The same for readers who may not know the number: `alert at 100`.
#[must_use]
pub fn reason_without_count(alert_at: i32) -> String {
    format!("alert at {}", grouped(alert_at.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alert_begins_at_the_threshold_and_lasts_at_least_a_minute() {
        let now = DateTime::UNIX_EPOCH + TimeDelta::days(1);
        let ago = |seconds| Some(now - TimeDelta::seconds(seconds));
        for (since, n, alert_at, change) in [
            (None, 99, Some(100), AlertChange::Unchanged),
            (None, 100, Some(100), AlertChange::Begins),
            (None, 20_002, Some(10_000), AlertChange::Begins),
            (None, 5, None, AlertChange::Unchanged),
            (ago(5), 120, Some(100), AlertChange::Unchanged),
            (ago(5), 99, Some(100), AlertChange::Unchanged),
            (ago(60), 99, Some(100), AlertChange::Ends),
            (ago(60), 100, Some(100), AlertChange::Unchanged),
        ] {
            assert_eq!(alert_change(since, n, alert_at, now), change, "{since:?} {n} {alert_at:?}");
        }
    }

    #[test]
    fn the_reason_has_the_same_number_as_the_list() {
        let of = |n, is_more| reason(AtLeast { n, is_more }, 1_000);
        assert_eq!(of(1_204, false), "1,204 jobs match, alert at 1,000");
        assert_eq!(of(20_002, true), "10,000+ jobs match, alert at 1,000");
    }

    #[test]
    fn a_pin_does_not_change_the_view() {
        let pin = SavedViewChanges { is_pinned: Some(true), ..SavedViewChanges::default() };
        assert!(pin.is_pin_alone());
        assert!(!SavedViewChanges { alert_at: Change::Clear, ..pin }.is_pin_alone());
    }
}
