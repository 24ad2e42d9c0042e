//! The activity feed: breaker changes, actions of operators, process starts; each as one sentence.

use crate::id::{AppId, IntegrationId};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Source of an activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ActivityKind {
    /// A circuit breaker changed its state.
    Breaker,
    /// A user or a program changed something.
    Action,
    /// The engine paused an integration.
    Pause,
    /// A shared view of jobs reached its threshold, or fell below it again.
    Alert,
    /// A version of Headgate, or of a program that uses the queue, ran for the first time in 30 days.
    Deploy,
    /// A process started.
    Start,
}

/// One entry of the feed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Activity {
    /// UUIDv7: the id of the breaker flip or audit line, if it is one.
    pub id: Uuid,
    /// Time by the database's clock.
    pub at: DateTime<Utc>,
    /// Source.
    pub kind: ActivityKind,
    /// Such as `breaker.open`, `integration.pause`, `dead_letter.bulk_requeue`, `deploy`.
    pub action: String,
    /// A sentence such as `Nordwind ERP: breaker opened`.
    pub message: String,
    /// Why, if known.
    pub reason: Option<String>,
    /// App it is about, if any.
    pub app_id: Option<AppId>,
    /// Integration it is about, if any, unless it was deleted.
    pub integration_id: Option<IntegrationId>,
    /// Who did it; null: Headgate itself.
    pub actor: Option<String>,
}

/// The range of time of a feed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Inclusive.
    pub from: Option<DateTime<Utc>>,
    /// Inclusive.
    pub until: Option<DateTime<Utc>>,
}

/// The parts of an activity's sentence.
#[derive(Clone, Copy, Debug, Default)]
pub struct ActivityParts<'a> {
    /// As in [`Activity`].
    pub action: &'a str,
    /// Name of the integration, app, program or view.
    pub name: Option<&'a str>,
    /// Who did it.
    pub actor: Option<&'a str>,
    /// Number of jobs or dead letters.
    pub count: Option<i64>,
    /// Changed fields of an update.
    pub fields: &'a [String],
    /// Version of a deploy.
    pub version: Option<&'a str>,
}

impl ActivityParts<'_> {
    /// The sentence.
    #[must_use]
    pub fn message(&self) -> String {
        let name = self.name.unwrap_or("A deleted integration");
        let by = self.actor.map_or_else(String::new, |actor| format!(" by {actor}"));
        let many = |one: &str, many: &str| match self.count {
            Some(1) => format!("1 {one}"),
            Some(n) => format!("{} {many}", crate::text::grouped(n)),
            None => many[..1].to_uppercase() + &many[1..],
        };
        match self.action {
            "breaker.open" => format!("{name}: breaker opened{by}"),
            "breaker.half_open" => format!("{name}: breaker lets probes through{by}"),
            "breaker.ramping" => format!("{name}: breaker ramps up{by}"),
            "breaker.closed" => format!("{name}: breaker closed{by}"),
            "integration.create" => format!("{name} was created{by}"),
            "integration.delete" => format!("{name} was deleted{by}"),
            "integration.pause" => format!("{name} paused{by}"),
            "integration.resume" => format!("{name} resumed{by}"),
            "integration.rotate_secret" => format!("{name}: signing secret rotated{by}"),
            "integration.update" if self.fields.iter().any(|field| field == "rate_limit") => {
                format!("{name}: rate limit changed{by}")
            }
            "integration.update" if self.fields.iter().any(|field| field == "max_concurrency") => {
                format!("{name}: concurrency changed{by}")
            }
            "integration.update" => format!("{name}: settings changed{by}"),
            "app.create" => format!("App {} was created{by}", self.name.unwrap_or("without a name")),
            "app.update" => format!("App {} was changed{by}", self.name.unwrap_or("without a name")),
            "app.delete" => format!("App {} was deleted{by}", self.name.unwrap_or("without a name")),
            "resync.start" => format!("{name}: re-sync started{by}"),
            "resync.pause" => format!("{name}: re-sync paused{by}"),
            "resync.resume" => format!("{name}: re-sync resumed{by}"),
            "resync.cancel" => format!("{name}: re-sync cancelled{by}"),
            "job.bulk_requeue" => format!("{} requeued{by}", many("job", "jobs")),
            "job.bulk_cancel" => format!("{} cancelled{by}", many("job", "jobs")),
            "dead_letter.bulk_requeue" => format!("{} requeued{by}", many("dead letter", "dead letters")),
            "dead_letter.bulk_purge" => format!("{} purged{by}", many("dead letter", "dead letters")),
            "operation.pause" => format!("Bulk operation paused{by}"),
            "operation.resume" => format!("Bulk operation resumed{by}"),
            "operation.abort" => format!("Bulk operation aborted{by}"),
            "operation.undo" => format!("Bulk operation undone{by}"),
            "worker.drain" => format!("Worker drain started{by}"),
            "deploy" => format!(
                "{} {} runs for the first time",
                self.name.unwrap_or("Headgate"),
                self.version.unwrap_or("of an unknown version")
            ),
            "view.alert" => format!("“{}” reached its threshold", self.name.unwrap_or("A view")),
            "view.calm" => format!("“{}” no longer alerts", self.name.unwrap_or("A view")),
            "start" => format!("A process of {} started", self.name.unwrap_or("Headgate")),
            other => format!("{}{by}", other.replace(['.', '_'], " ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_activity_reads_as_a_sentence() {
        let parts = ActivityParts {
            name: Some("ERP"),
            actor: Some("Mia"),
            count: Some(3_000),
            ..ActivityParts::default()
        };
        let fields = ["rate_limit".to_owned()];
        for (parts, sentence) in [
            (ActivityParts { action: "breaker.open", actor: None, ..parts }, "ERP: breaker opened"),
            (ActivityParts { action: "integration.pause", ..parts }, "ERP paused by Mia"),
            (
                ActivityParts { action: "integration.pause", name: None, ..parts },
                "A deleted integration paused by Mia",
            ),
            (
                ActivityParts { action: "integration.update", fields: &fields, ..parts },
                "ERP: rate limit changed by Mia",
            ),
            (
                ActivityParts { action: "dead_letter.bulk_requeue", ..parts },
                "3,000 dead letters requeued by Mia",
            ),
            (ActivityParts { action: "job.bulk_cancel", count: Some(1), ..parts }, "1 job cancelled by Mia"),
            (ActivityParts { action: "job.bulk_cancel", count: None, ..parts }, "Jobs cancelled by Mia"),
            (
                ActivityParts { action: "deploy", name: None, version: Some("0.2.0"), ..parts },
                "Headgate 0.2.0 runs for the first time",
            ),
            (ActivityParts { action: "view.alert", actor: None, ..parts }, "“ERP” reached its threshold"),
            (ActivityParts { action: "view.calm", actor: None, ..parts }, "“ERP” no longer alerts"),
            (ActivityParts { action: "failure.snooze", ..parts }, "failure snooze by Mia"),
        ] {
            assert_eq!(parts.message(), sentence);
        }
    }
}
