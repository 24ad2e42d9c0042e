//! What a bulk operation does, in words.

use crate::{components::page::filter_sentence::sentence, format, state::page_url::PageUrl};
use model::filter::JobFilter;
use model::operation::{BulkAction, BulkSubject, Operation};
use model::views::names::Names;
use serde_json::Value;

/// `1,240 of 3,000 changed · 12 skipped · about 90 s left`.
pub fn progress_in_words(operation: &Operation) -> String {
    let (changed, matched) = (format::count(operation.changed), format::count(operation.matched));
    let rows = |n: i64| format::counted(n, "row", "rows");
    let mut parts = vec![match operation.action {
        BulkAction::Delete if operation.finished_at.is_some() => {
            format!("{} deleted", rows(operation.changed))
        }
        BulkAction::Delete => format!("{changed} of about {} deleted", rows(operation.matched)),
        _ => format!("{changed} of {matched} changed"),
    }];
    if operation.skipped > 0 {
        parts.push(format!("{} skipped", format::count(operation.skipped)));
    }
    if let Some(eta) = operation.eta_seconds {
        parts.push(format!("about {} left", format::eta(eta)));
    }
    parts.join(" · ")
}

/// `Requeue 3,000 dead letters`, `Undo a purge of 12 dead letters`, `Delete the app “Nordwind”`.
pub fn what_it_does(operation: &Operation) -> String {
    let things = match &operation.deleted_name {
        Some(name) => format!("{} “{name}”", deleted_thing(operation.subject)),
        None => things(operation.subject, operation.matched),
    };
    match operation.action {
        BulkAction::Undo => format!("Undo: restore {things}"),
        action => format!("{} {things}", verb(action)),
    }
}

/// What is deleted, without its name.
fn deleted_thing(subject: BulkSubject) -> &'static str {
    if subject == BulkSubject::App { "the app" } else { "the integration" }
}

/// The verb on the button.
pub fn verb(action: BulkAction) -> &'static str {
    match action {
        BulkAction::Requeue => "Requeue",
        BulkAction::Cancel => "Cancel",
        BulkAction::Purge => "Purge",
        BulkAction::Undo => "Undo",
        BulkAction::Delete => "Delete",
    }
}

/// `1 job`, `3,000 dead letters`.
pub fn things(subject: BulkSubject, n: i64) -> String {
    match subject {
        BulkSubject::Jobs => format::counted(n, "job", "jobs"),
        BulkSubject::DeadLetters => format::counted(n, "dead letter", "dead letters"),
        BulkSubject::App | BulkSubject::Integration => format::counted(n, "row", "rows"),
    }
}

/// The list with that filter.
pub fn list_of(subject: BulkSubject, filter: &JobFilter) -> PageUrl {
    let path = match subject {
        BulkSubject::DeadLetters => "/dead-letters",
        BulkSubject::Jobs | BulkSubject::App | BulkSubject::Integration => "/jobs",
    };
    let fields = serde_json::to_value(filter).unwrap_or_default();
    let mut url = PageUrl::parse(path);
    for (name, value) in fields.as_object().into_iter().flatten() {
        match value {
            Value::Object(paths) => {
                for (path, value) in paths {
                    url = url.with(&format!("{name}.{path}"), bare(value));
                }
            }
            value => url = url.with(name, bare(value)),
        }
    }
    url
}

/// A value as it is written in an address.
fn bare(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What it is about: `Dead letters for Marketplace, whose error contains “503”.`
pub fn about(operation: &Operation, names: &Names) -> String {
    let things = match operation.subject {
        BulkSubject::Jobs => "jobs",
        BulkSubject::DeadLetters => "dead letters",
        BulkSubject::App => {
            return "Its integrations, live jobs, dead letters, records, and their sent state.".to_owned();
        }
        BulkSubject::Integration => {
            return "Its live jobs, dead letters, and sent state.".to_owned();
        }
    };
    if let Some(named) = operation.named {
        let selected = match operation.subject {
            BulkSubject::DeadLetters => {
                format::counted(named, "selected dead letter", "selected dead letters")
            }
            _ => format::counted(named, "selected job", "selected jobs"),
        };
        return format!("{selected}.");
    }
    sentence(&list_of(operation.subject, &operation.filter), things, names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::Utc;
    use model::{id::OperationId, operation::OperationState};

    fn operation() -> Operation {
        Operation {
            id: OperationId::generate(),
            subject: BulkSubject::DeadLetters,
            action: BulkAction::Requeue,
            filter: JobFilter {
                error: Some("503".to_owned()),
                job_type: Some("record.updated".to_owned()),
                ..JobFilter::default()
            },
            named: None,
            deleted_name: None,
            state: OperationState::Running,
            reason: None,
            requested_by: "Mia".to_owned(),
            matched: 3_000,
            changed: 1_240,
            skipped: 12,
            skipped_reasons: Vec::new(),
            breakdown: Vec::new(),
            sample: Vec::new(),
            rate_per_second: Some(20),
            eta_seconds: Some(88),
            undoes: None,
            undone_by: None,
            undo_until: None,
            hold_until: None,
            created_at: Utc::now(),
            started_at: None,
            finished_at: None,
        }
    }

    #[test]
    fn it_says_what_it_does_to_which_jobs_and_how_far_it_is() {
        let running = operation();
        assert_eq!(what_it_does(&running), "Requeue 3,000 dead letters");
        assert_eq!(progress_in_words(&running), "1,240 of 3,000 changed · 12 skipped · about 90 s left");
        assert_eq!(
            about(&running, &Names::default()),
            "Dead letters of kind record.updated, whose error contains “503”."
        );
        assert_eq!(
            list_of(running.subject, &running.filter).to_string(),
            "/dead-letters?error=503&job_type=record.updated"
        );
        let named = Operation { named: Some(3), filter: JobFilter::default(), ..running.clone() };
        assert_eq!(about(&named, &Names::default()), "3 selected dead letters.");
        let deletion = Operation {
            subject: BulkSubject::Integration,
            action: BulkAction::Delete,
            deleted_name: Some("Search".to_owned()),
            skipped: 0,
            eta_seconds: None,
            ..running
        };
        assert_eq!(what_it_does(&deletion), "Delete the integration “Search”");
        assert_eq!(progress_in_words(&deletion), "1,240 of about 3,000 rows deleted");
    }
}
