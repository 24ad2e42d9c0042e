//! What happened: breakers that flipped, what operators did, processes that started. Told in one sentence each.

use crate::id::{AppId, IntegrationId};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ActivityKind {
    /// A circuit breaker changed its state.
    Breaker,
    /// A person or a program changed something.
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

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Activity {
    /// UUIDv7; that of the breaker's flip or of the audit log's line, where it is one.
    pub id: Uuid,
    /// When, on the database's clock.
    pub at: DateTime<Utc>,
    /// Where it comes from.
    pub kind: ActivityKind,
    /// Such as `breaker.open`, `integration.pause`, `dead_letter.bulk_requeue`, `deploy`.
    pub action: String,
    /// It in one sentence, such as `Nordwind ERP: breaker opened`.
    pub message: String,
    /// Why, where that is known.
    pub reason: Option<String>,
    /// The app it is about, if it is about one.
    pub app_id: Option<AppId>,
    /// The integration it is about, if it is about one that is still there.
    pub integration_id: Option<IntegrationId>,
    /// Who did it; null: nobody.
    pub actor: Option<String>,
}

/// What is known of something that happened, before it is told.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told<'a> {
    /// As in [`Activity`].
    pub action: &'a str,
    /// What the integration, the app or the program is called.
    pub name: Option<&'a str>,
    /// Who did it.
    pub actor: Option<&'a str>,
    /// How many jobs or dead letters.
    pub count: Option<i64>,
    /// The fields that changed, of an update.
    pub fields: &'a [String],
    /// Of what version.
    pub version: Option<&'a str>,
}

impl Told<'_> {
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
            "integration.create" => format!("{name} was made{by}"),
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
            "app.create" => format!("App {} was made{by}", self.name.unwrap_or("without a name")),
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
            "operation.pause" => format!("Bulk action paused{by}"),
            "operation.resume" => format!("Bulk action resumed{by}"),
            "operation.abort" => format!("Bulk action aborted{by}"),
            "operation.undo" => format!("Bulk action undone{by}"),
            "worker.drain" => format!("A worker is drained{by}"),
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
    fn each_thing_reads_as_a_sentence() {
        let told = Told { name: Some("ERP"), actor: Some("Mia"), count: Some(3_000), ..Told::default() };
        let fields = ["rate_limit".to_owned()];
        for (told, sentence) in [
            (Told { action: "breaker.open", actor: None, ..told }, "ERP: breaker opened"),
            (Told { action: "integration.pause", ..told }, "ERP paused by Mia"),
            (Told { action: "integration.pause", name: None, ..told }, "A deleted integration paused by Mia"),
            (
                Told { action: "integration.update", fields: &fields, ..told },
                "ERP: rate limit changed by Mia",
            ),
            (Told { action: "dead_letter.bulk_requeue", ..told }, "3,000 dead letters requeued by Mia"),
            (Told { action: "job.bulk_cancel", count: Some(1), ..told }, "1 job cancelled by Mia"),
            (Told { action: "job.bulk_cancel", count: None, ..told }, "Jobs cancelled by Mia"),
            (
                Told { action: "deploy", name: None, version: Some("0.2.0"), ..told },
                "Headgate 0.2.0 runs for the first time",
            ),
            (Told { action: "view.alert", actor: None, ..told }, "“ERP” reached its threshold"),
            (Told { action: "view.calm", actor: None, ..told }, "“ERP” no longer alerts"),
            (Told { action: "failure.snooze", ..told }, "failure snooze by Mia"),
        ] {
            assert_eq!(told.message(), sentence);
        }
    }
}
