//! Which call undoes or repeats a line of the audit log.
//!
//! A line has the old and new values of the changed fields, and of bulk actions the request. Where these suffice for another call, the line can be
//! undone or repeated. Secrets are never in a line, so a change of one cannot be undone.

use crate::app::AppChanges;
use crate::audit::AuditEntry;
use crate::id::{ApiKeyId, AppId, DeadLetterId, IntegrationId, JobId, OperationId, ResyncId, UserId};
use crate::integration_settings::IntegrationChanges;
use crate::operation::{BulkAction, BulkSubject, NewBulk, OperationStep};
use crate::resync::{NewResync, ResyncStep};
use crate::rules::permission::Permission;
use crate::user::UserChanges;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::str::FromStr;

/// A call that undoes or repeats a change.
#[derive(Clone)]
pub enum UndoAction {
    /// Pauses an integration.
    PauseIntegration(IntegrationId, Option<String>),
    /// Resumes an integration.
    ResumeIntegration(IntegrationId),
    /// Changes settings of an integration.
    UpdateIntegration(IntegrationId, Box<IntegrationChanges>),
    /// Changes an app.
    UpdateApp(AppId, AppChanges),
    /// Changes a user.
    UpdateUser(UserId, UserChanges),
    /// Revokes a key.
    RevokeApiKey(ApiKeyId),
    /// Starts a re-sync like this one, for the same integration.
    StartResync(ResyncId, NewResync),
    /// Pauses, resumes or cancels a re-sync.
    SteerResync(ResyncId, ResyncStep),
    /// Requeues a job.
    RequeueJob(JobId),
    /// Restores a purged dead letter from the bin.
    RestoreDeadLetter(DeadLetterId),
    /// Starts a bulk action.
    Bulk(BulkSubject, Box<NewBulk>),
    /// Pauses, resumes or undoes an operation.
    SteerOperation(OperationId, OperationStep),
}

impl UndoAction {
    /// The permission it needs.
    #[must_use]
    pub fn permission(&self) -> Permission {
        match self {
            Self::PauseIntegration(..)
            | Self::ResumeIntegration(_)
            | Self::UpdateIntegration(..)
            | Self::UpdateApp(..) => Permission::Configure,
            Self::UpdateUser(..) | Self::RevokeApiKey(_) => Permission::ManageAccess,
            Self::StartResync(..) | Self::SteerResync(..) => Permission::Resync,
            Self::Bulk(_, new) if new.action == BulkAction::Purge => Permission::Purge,
            Self::RequeueJob(_) | Self::RestoreDeadLetter(_) | Self::Bulk(..) | Self::SteerOperation(..) => {
                Permission::SteerJobs
            }
        }
    }
}

/// The call that undoes a line. `None`: there is no inverse, or it was undone already.
#[must_use]
pub fn undo(entry: &AuditEntry) -> Option<UndoAction> {
    if entry.undone_by.is_some() {
        return None;
    }
    let before = entry.before.as_ref();
    let state = before.and_then(|before| before.get("state")).and_then(Value::as_str);
    match entry.action.as_str() {
        "integration.pause" if state == Some("active") => Some(UndoAction::ResumeIntegration(id(entry)?)),
        "integration.resume" if state == Some("paused") => {
            let reason = before?.get("state_reason").and_then(Value::as_str).map(str::to_owned);
            Some(UndoAction::PauseIntegration(id(entry)?, reason))
        }
        "integration.update" => update_integration(entry, before),
        "app.update" => Some(UndoAction::UpdateApp(id(entry)?, changes(before)?)),
        "user.update" => Some(UndoAction::UpdateUser(id(entry)?, changes(before)?)),
        "api_key.create" => Some(UndoAction::RevokeApiKey(id(entry)?)),
        "resync.start" | "resync.resume" => {
            let step = if entry.action == "resync.start" { ResyncStep::Cancel } else { ResyncStep::Pause };
            Some(UndoAction::SteerResync(id(entry)?, step))
        }
        "resync.pause" => Some(UndoAction::SteerResync(id(entry)?, ResyncStep::Resume)),
        "dead_letter.purge" => Some(UndoAction::RestoreDeadLetter(id(entry)?)),
        "operation.pause" => Some(UndoAction::SteerOperation(id(entry)?, OperationStep::Resume)),
        "operation.resume" => Some(UndoAction::SteerOperation(id(entry)?, OperationStep::Pause)),
        action if bulk_subject(action).is_some() => {
            Some(UndoAction::SteerOperation(id(entry)?, OperationStep::Undo))
        }
        _ => None,
    }
}

/// The call that repeats a line. `None`: it cannot be repeated, or the line has too few details.
#[must_use]
pub fn repeat(entry: &AuditEntry) -> Option<UndoAction> {
    let after = entry.after.as_ref();
    match entry.action.as_str() {
        "integration.pause" => {
            let reason = after.and_then(|after| after.get("state_reason")).and_then(Value::as_str);
            Some(UndoAction::PauseIntegration(id(entry)?, reason.map(str::to_owned)))
        }
        "integration.resume" => Some(UndoAction::ResumeIntegration(id(entry)?)),
        "integration.update" => update_integration(entry, after),
        "app.update" => Some(UndoAction::UpdateApp(id(entry)?, changes(after)?)),
        "user.update" => Some(UndoAction::UpdateUser(id(entry)?, changes(after)?)),
        "resync.start" => {
            Some(UndoAction::StartResync(id(entry)?, serde_json::from_value(after?.clone()).ok()?))
        }
        "job.requeue" => Some(UndoAction::RequeueJob(id(entry)?)),
        action => {
            let subject = bulk_subject(action)?;
            let new: NewBulk = serde_json::from_value(entry.before.clone()?).ok()?;
            Some(UndoAction::Bulk(subject, Box::new(new)))
        }
    }
}

/// Fields of a line that no call sets.
const NOT_SETTINGS: &[&str] = &["breaker", "state_reason", "last_sign_in_at"];

/// The fields of a line that are settings: they become the body of a call, and show whether the object was changed since.
#[must_use]
pub fn settings(of: &Value) -> Map<String, Value> {
    let mut fields = of.as_object().cloned().unwrap_or_default();
    fields.retain(|name, _| !NOT_SETTINGS.contains(&name.as_str()));
    fields
}

fn update_integration(entry: &AuditEntry, to: Option<&Value>) -> Option<UndoAction> {
    // The values of headers and credentials are not in the log: the rest would be a different change.
    if ["headers", "has_credentials"].iter().any(|name| to.is_some_and(|to| to.get(name).is_some())) {
        return None;
    }
    Some(UndoAction::UpdateIntegration(id(entry)?, Box::new(changes(to)?)))
}

/// The settings as a call's body. `None` when there are none, or when the call does not have one of them.
fn changes<T: DeserializeOwned>(fields: Option<&Value>) -> Option<T> {
    let settings = settings(fields?);
    if settings.is_empty() {
        return None;
    }
    serde_json::from_value(Value::Object(settings)).ok()
}

fn bulk_subject(action: &str) -> Option<BulkSubject> {
    match action {
        "job.bulk_requeue" | "job.bulk_cancel" => Some(BulkSubject::Jobs),
        "dead_letter.bulk_requeue" | "dead_letter.bulk_purge" => Some(BulkSubject::DeadLetters),
        _ => None,
    }
}

fn id<T: FromStr>(entry: &AuditEntry) -> Option<T> {
    entry.object_id.as_deref()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{id::AuditEntryId, rate_limit::RateLimits};
    use chrono::DateTime;
    use serde_json::json;

    fn line(action: &str, before: Value, after: Value) -> AuditEntry {
        AuditEntry {
            id: AuditEntryId::generate(),
            at: DateTime::UNIX_EPOCH,
            actor_kind: "user".to_owned(),
            actor_id: String::new(),
            actor_name: "ada@example.test".to_owned(),
            role: "operator".to_owned(),
            app_id: None,
            action: action.to_owned(),
            object_kind: String::new(),
            object_id: Some(IntegrationId::generate().to_string()),
            before: Some(before),
            after: Some(after),
            address: None,
            request_id: None,
            undoes: None,
            repeats: None,
            undone_by: None,
            can_undo: false,
            can_repeat: false,
        }
    }

    #[test]
    fn a_change_of_a_limit_can_be_undone_and_repeated() {
        let limit = json!({"requests": 10, "per_seconds": 1});
        let entry = line("integration.update", json!({"rate_limit": null}), json!({"rate_limit": limit}));
        let Some(UndoAction::UpdateIntegration(_, back)) = undo(&entry) else { panic!("an inverse") };
        assert_eq!(back.rate_limit, crate::patch::Change::Clear);
        let Some(UndoAction::UpdateIntegration(_, again)) = repeat(&entry) else { panic!("the same again") };
        assert_eq!(
            again.rate_limit.set(),
            Some(&serde_json::from_value::<RateLimits>(limit).expect("a limit"))
        );
    }

    #[test]
    fn a_change_of_a_secret_cannot_be_undone() {
        for field in ["headers", "has_credentials"] {
            let entry = line("integration.update", json!({field: {}}), json!({field: {}}));
            assert!(undo(&entry).is_none(), "{field}");
        }
        assert!(undo(&line("integration.rotate_secret", json!({}), json!({}))).is_none());
    }

    #[test]
    fn a_resume_undoes_a_pause_and_a_pause_undoes_a_resume_with_its_reason() {
        let pause = line("integration.pause", json!({"state": "active"}), json!({"state": "paused"}));
        assert!(matches!(undo(&pause), Some(UndoAction::ResumeIntegration(_))));
        let before = json!({"state": "paused", "state_reason": "410", "breaker": {}});
        let resume = line("integration.resume", before, json!({"state": "active"}));
        let Some(UndoAction::PauseIntegration(_, reason)) = undo(&resume) else { panic!("an inverse") };
        assert_eq!(reason.as_deref(), Some("410"));
        // It was paused already, and only the reason changed.
        assert!(undo(&line("integration.pause", json!({"state_reason": "a"}), json!({}))).is_none());
    }

    #[test]
    fn a_line_is_undone_only_once() {
        let mut entry = line("integration.pause", json!({"state": "active"}), json!({}));
        entry.undone_by = Some(AuditEntryId::generate());
        assert!(undo(&entry).is_none());
        assert!(repeat(&entry).is_some());
    }

    #[test]
    fn a_bulk_action_is_repeated_as_requested_and_undone_by_its_operation() {
        let request = json!({"action": "requeue", "filter": {"error": "503"}, "rate_per_second": 20});
        let entry = line("dead_letter.bulk_requeue", request, json!({"operation_id": "x", "matched": 200}));
        let Some(UndoAction::Bulk(BulkSubject::DeadLetters, new)) = repeat(&entry) else {
            panic!("the same again")
        };
        assert_eq!((new.rate_per_second, new.dry_run), (Some(20), false));
        assert_eq!(new.filter.and_then(|filter| filter.error).as_deref(), Some("503"));
        assert!(matches!(undo(&entry), Some(UndoAction::SteerOperation(_, OperationStep::Undo))));
        // Nothing matched, so there is no operation to undo.
        let none = AuditEntry { object_id: None, ..entry };
        assert!(undo(&none).is_none());
    }

    #[test]
    fn undo_and_repeat_need_the_permission_of_the_action_itself() {
        let purge = line("dead_letter.bulk_purge", json!({"action": "purge", "ids": []}), json!({}));
        assert_eq!(repeat(&purge).map(|action| action.permission()), Some(Permission::Purge));
        let user = line("user.update", json!({"role": "support", "last_sign_in_at": null}), json!({}));
        assert_eq!(undo(&user).map(|action| action.permission()), Some(Permission::ManageAccess));
    }
}
