//! Saved views: a name for what the list of jobs is narrowed to.

use crate::{
    actor::{Actor, Role},
    app::is_name,
    etag::{IfMatch, Revised},
    id::SavedViewId,
    limits,
    matched::AtLeast,
    patch::{Change, not_null},
    problem::Faults,
    text::grouped,
};
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

/// Views a person, or all keys together, may have.
pub const MOST_OF_ONE: i64 = 50;
/// Shared ones of a deployment.
pub const MOST_SHARED: i64 = 200;
/// Pins of a person: each is counted every few seconds.
pub const MOST_PINNED: i64 = 12;

/// An alert lasts so long at least, that a count on the threshold's edge does not fill the feed.
const LEAST_ALERT: TimeDelta = TimeDelta::seconds(60);

/// A saved view, as one reader sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SavedView {
    /// UUIDv7.
    pub id: SavedViewId,
    /// Unique among its owner's, upper and lower case alike.
    pub name: String,
    /// The query string of `/jobs`: filters, `sort`, `columns`, `limit`.
    pub query: String,
    /// Everybody of the console sees it; otherwise its owner alone.
    pub is_shared: bool,
    /// Its owner asks.
    pub is_own: bool,
    /// Its owner's name; null: an API key made it, or its owner is gone.
    pub owner_name: Option<String>,
    /// Whoever asks has it pinned.
    pub is_pinned: bool,
    /// It alerts when so many jobs match, or more; null: never.
    pub alert_at: Option<i32>,
    /// What was counted last; null: nothing yet, nobody pinned it and it has no threshold, or counting takes too long.
    pub count: Option<ViewCount>,
    /// The last try to count took longer than it may: the view needs another filter.
    pub is_too_wide: bool,
    /// The threshold is reached since then; null: it is not. Lasts a minute at least.
    pub alerting_since: Option<DateTime<Utc>>,
    /// When it was saved.
    pub created_at: DateTime<Utc>,
    /// When it was last changed.
    pub updated_at: DateTime<Utc>,
}

/// How many jobs matched, when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ViewCount {
    /// At least so many.
    pub n: i64,
    /// There may be more: of each place that jobs lie in 10,000 are counted.
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
    /// Whether somebody may change or delete it: its owner may, and of shared ones operators.
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
    /// Default false. A key has no private views: true is the only choice then.
    #[serde(default)]
    pub is_shared: bool,
    /// Pins it for whoever asks: a signed-in person. Default false.
    #[serde(default)]
    pub is_pinned: bool,
    /// 1 to 10,000. Default: it never alerts.
    #[serde(default)]
    pub alert_at: Option<i32>,
}

/// `PATCH /saved-views/{id}`: absent leaves a field.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SavedViewChanges {
    /// 1 to 80 characters.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, required = false))]
    pub name: Option<String>,
    /// As in `POST`. What was counted is forgotten.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, required = false))]
    pub query: Option<String>,
    /// A shared view that nobody owns cannot be made private.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(value_type = bool, required = false))]
    pub is_shared: Option<bool>,
    /// Of whoever asks: who sees a view may pin it.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(value_type = bool, required = false))]
    pub is_pinned: Option<bool>,
    /// 1 to 10,000; null: it never alerts.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i32>, required = false))]
    pub alert_at: Change<i32>,
    /// Which version it is made of; no part of the body.
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
        let is_person = actor.user_id().is_some();
        faults.require(is_person || self.is_shared, "/is_shared", "must be true: a key has no private views");
        faults.require(
            is_person || !self.is_pinned,
            "/is_pinned",
            "must be false: only people who sign in have pins",
        );
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
        let is_person = actor.user_id().is_some();
        faults.require(
            is_person || self.is_pinned.is_none(),
            "/is_pinned",
            "must be absent: only people who sign in have pins",
        );
        faults.into_result()
    }

    /// Whether nothing of the view itself changes: a pin is its reader's.
    #[must_use]
    pub fn is_pin_alone(&self) -> bool {
        *self == Self { is_pinned: self.is_pinned, if_match: self.if_match.clone(), ..Self::default() }
    }
}

fn check(faults: &mut Faults, name: Option<&str>, alert_at: Option<i32>) {
    let most = *limits::VIEW_NAME_CHARS.end();
    faults.require(
        name.is_none_or(|name| is_name(name) && name.chars().count() <= most),
        "/name",
        "must be 1 to 80 characters without control characters, those of text direction among them",
    );
    faults.require_within(alert_at, &limits::VIEW_ALERT_AT, "/alert_at");
}

/// What a count means for an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It begins.
    Begins,
    /// It is over.
    Ends,
    /// As it was.
    Stays,
}

/// Whether `n` jobs begin or end the alert of a view with the threshold `alert_at`.
#[must_use]
pub fn turn(since: Option<DateTime<Utc>>, n: i64, alert_at: Option<i32>, now: DateTime<Utc>) -> Turn {
    let is_reached = alert_at.is_some_and(|at| n >= i64::from(at));
    match since {
        None if is_reached => Turn::Begins,
        Some(since) if !is_reached && now - since >= LEAST_ALERT => Turn::Ends,
        _ => Turn::Stays,
    }
}

/// Why it alerts: `137 jobs match, it alerts from 100`.
#[must_use]
pub fn reason(count: AtLeast, alert_at: i32) -> String {
    let jobs = if count.n == 1 && !count.is_more {
        "1 job matches".to_owned()
    } else {
        format!("{count} jobs match")
    };
    format!("{jobs}, it alerts from {}", grouped(alert_at.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alert_begins_at_the_threshold_and_lasts_a_minute_at_least() {
        let now = DateTime::UNIX_EPOCH + TimeDelta::days(1);
        let ago = |seconds| Some(now - TimeDelta::seconds(seconds));
        for (since, n, alert_at, turns) in [
            (None, 99, Some(100), Turn::Stays),
            (None, 100, Some(100), Turn::Begins),
            (None, 20_002, Some(10_000), Turn::Begins),
            (None, 5, None, Turn::Stays),
            (ago(5), 120, Some(100), Turn::Stays),
            (ago(5), 99, Some(100), Turn::Stays),
            (ago(60), 99, Some(100), Turn::Ends),
            (ago(60), 100, Some(100), Turn::Stays),
        ] {
            assert_eq!(turn(since, n, alert_at, now), turns, "{since:?} {n} {alert_at:?}");
        }
    }

    #[test]
    fn the_reason_counts_as_the_list_does() {
        let of = |n, is_more| reason(AtLeast { n, is_more }, 1_000);
        assert_eq!(of(1_204, false), "1,204 jobs match, it alerts from 1,000");
        assert_eq!(of(20_002, true), "10,000+ jobs match, it alerts from 1,000");
    }

    #[test]
    fn a_pin_is_no_change_of_the_view() {
        let pin = SavedViewChanges { is_pinned: Some(true), ..SavedViewChanges::default() };
        assert!(pin.is_pin_alone());
        assert!(!SavedViewChanges { alert_at: Change::Clear, ..pin }.is_pin_alone());
    }
}
