//! What can be done about a line of the audit log: take its change back, or make it again.
//!
//! A line holds the fields that changed, as they were and as they became, and of bulk actions what was asked for. Where that is enough for
//! the same call with other values, the line offers it. Secrets are never in a line, so a change of one cannot be taken back from here.

use crate::{
    app::AppChanges,
    audit::AuditEntry,
    id::{ApiKeyId, AppId, DeadLetterId, IntegrationId, JobId, OperationId, ResyncId, UserId},
    integration::IntegrationChanges,
    operation::{BulkAction, BulkSubject, NewBulk, OperationStep},
    resync::{NewResync, ResyncStep},
    rules::permission::Permission,
    user::UserChanges,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::str::FromStr;

/// A call that takes a change back or makes it again.
#[derive(Clone)]
pub enum Amends {
    /// Holds an integration's jobs back.
    PauseIntegration(IntegrationId, Option<String>),
    /// Lets them go out.
    ResumeIntegration(IntegrationId),
    /// Gives an integration's settings these values.
    UpdateIntegration(IntegrationId, Box<IntegrationChanges>),
    /// An app's.
    UpdateApp(AppId, AppChanges),
    /// A user's.
    UpdateUser(UserId, UserChanges),
    /// Ends a key.
    RevokeApiKey(ApiKeyId),
    /// Sends again what this re-sync sent.
    StartResync(ResyncId, NewResync),
    /// Pauses, resumes or cancels one.
    SteerResync(ResyncId, ResyncStep),
    /// Gives a job all attempts anew.
    RequeueJob(JobId),
    /// Takes a purged dead letter out of the bin.
    RestoreDeadLetter(DeadLetterId),
    /// Asks for a bulk action.
    Bulk(BulkSubject, Box<NewBulk>),
    /// Pauses, resumes or takes back one.
    SteerOperation(OperationId, OperationStep),
}

impl Amends {
    /// What somebody must be allowed to.
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

/// What takes the line's change back; none: there is no inverse, or it was taken back already.
#[must_use]
pub fn undo(entry: &AuditEntry) -> Option<Amends> {
    if entry.undone_by.is_some() {
        return None;
    }
    let before = entry.before.as_ref();
    let state = before.and_then(|before| before.get("state")).and_then(Value::as_str);
    match entry.action.as_str() {
        "integration.pause" if state == Some("active") => Some(Amends::ResumeIntegration(id(entry)?)),
        "integration.resume" if state == Some("paused") => {
            let reason = before?.get("state_reason").and_then(Value::as_str).map(str::to_owned);
            Some(Amends::PauseIntegration(id(entry)?, reason))
        }
        "integration.update" => update_integration(entry, before),
        "app.update" => Some(Amends::UpdateApp(id(entry)?, changes(before)?)),
        "user.update" => Some(Amends::UpdateUser(id(entry)?, changes(before)?)),
        "api_key.create" => Some(Amends::RevokeApiKey(id(entry)?)),
        "resync.start" | "resync.resume" => {
            let step = if entry.action == "resync.start" { ResyncStep::Cancel } else { ResyncStep::Pause };
            Some(Amends::SteerResync(id(entry)?, step))
        }
        "resync.pause" => Some(Amends::SteerResync(id(entry)?, ResyncStep::Resume)),
        "dead_letter.purge" => Some(Amends::RestoreDeadLetter(id(entry)?)),
        "operation.pause" => Some(Amends::SteerOperation(id(entry)?, OperationStep::Resume)),
        "operation.resume" => Some(Amends::SteerOperation(id(entry)?, OperationStep::Pause)),
        action if bulk_subject(action).is_some() => {
            Some(Amends::SteerOperation(id(entry)?, OperationStep::Undo))
        }
        _ => None,
    }
}

/// What makes the line's change again; none: it would be another one, or the line does not say enough.
#[must_use]
pub fn repeat(entry: &AuditEntry) -> Option<Amends> {
    let after = entry.after.as_ref();
    match entry.action.as_str() {
        "integration.pause" => {
            let reason = after.and_then(|after| after.get("state_reason")).and_then(Value::as_str);
            Some(Amends::PauseIntegration(id(entry)?, reason.map(str::to_owned)))
        }
        "integration.resume" => Some(Amends::ResumeIntegration(id(entry)?)),
        "integration.update" => update_integration(entry, after),
        "app.update" => Some(Amends::UpdateApp(id(entry)?, changes(after)?)),
        "user.update" => Some(Amends::UpdateUser(id(entry)?, changes(after)?)),
        "resync.start" => Some(Amends::StartResync(id(entry)?, serde_json::from_value(after?.clone()).ok()?)),
        "job.requeue" => Some(Amends::RequeueJob(id(entry)?)),
        action => {
            let subject = bulk_subject(action)?;
            let new: NewBulk = serde_json::from_value(entry.before.clone()?).ok()?;
            Some(Amends::Bulk(subject, Box::new(new)))
        }
    }
}

/// What a line says of the thing besides its settings: it follows from them, or from what the thing did.
const FACTS: &[&str] = &["breaker", "state_reason", "last_sign_in_at"];

/// The fields of a line that are settings: a change of them makes a call, and by them it is judged whether the thing still is as the line
/// left it.
#[must_use]
pub fn settings(of: &Value) -> Map<String, Value> {
    let mut fields = of.as_object().cloned().unwrap_or_default();
    fields.retain(|name, _| !FACTS.contains(&name.as_str()));
    fields
}

fn update_integration(entry: &AuditEntry, to: Option<&Value>) -> Option<Amends> {
    // Headers and credentials are not kept: what is left of such a change would be another one.
    if ["headers", "has_credentials"].iter().any(|name| to.is_some_and(|to| to.get(name).is_some())) {
        return None;
    }
    Some(Amends::UpdateIntegration(id(entry)?, Box::new(changes(to)?)))
}

/// The settings as a call's body; none when there is none left, or when one is not of the call.
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
    fn a_changed_limit_goes_back_to_what_it_was_and_can_be_set_again() {
        let limit = json!({"requests": 10, "per_seconds": 1});
        let entry = line("integration.update", json!({"rate_limit": null}), json!({"rate_limit": limit}));
        let Some(Amends::UpdateIntegration(_, back)) = undo(&entry) else { panic!("an inverse") };
        assert_eq!(back.rate_limit, crate::patch::Change::Clear);
        let Some(Amends::UpdateIntegration(_, again)) = repeat(&entry) else { panic!("the same again") };
        assert_eq!(
            again.rate_limit.set(),
            Some(&serde_json::from_value::<RateLimits>(limit).expect("a limit"))
        );
    }

    #[test]
    fn a_change_of_a_secret_is_not_taken_back() {
        for field in ["headers", "has_credentials"] {
            let entry = line("integration.update", json!({field: {}}), json!({field: {}}));
            assert!(undo(&entry).is_none(), "{field}");
        }
        assert!(undo(&line("integration.rotate_secret", json!({}), json!({}))).is_none());
    }

    #[test]
    fn a_pause_is_taken_back_by_a_resume_and_the_other_way_round_with_its_reason() {
        let pause = line("integration.pause", json!({"state": "active"}), json!({"state": "paused"}));
        assert!(matches!(undo(&pause), Some(Amends::ResumeIntegration(_))));
        let before = json!({"state": "paused", "state_reason": "410", "breaker": {}});
        let resume = line("integration.resume", before, json!({"state": "active"}));
        let Some(Amends::PauseIntegration(_, reason)) = undo(&resume) else { panic!("an inverse") };
        assert_eq!(reason.as_deref(), Some("410"));
        // Paused again with another reason: nothing was held back by it.
        assert!(undo(&line("integration.pause", json!({"state_reason": "a"}), json!({}))).is_none());
    }

    #[test]
    fn what_was_taken_back_is_not_taken_back_again() {
        let mut entry = line("integration.pause", json!({"state": "active"}), json!({}));
        entry.undone_by = Some(AuditEntryId::generate());
        assert!(undo(&entry).is_none());
        assert!(repeat(&entry).is_some());
    }

    #[test]
    fn a_bulk_action_is_made_again_as_it_was_asked_for_and_taken_back_by_its_operation() {
        let asked = json!({"action": "requeue", "filter": {"error": "503"}, "rate_per_second": 20});
        let entry = line("dead_letter.bulk_requeue", asked, json!({"operation_id": "x", "matched": 200}));
        let Some(Amends::Bulk(BulkSubject::DeadLetters, new)) = repeat(&entry) else {
            panic!("the same again")
        };
        assert_eq!((new.rate_per_second, new.dry_run), (Some(20), false));
        assert_eq!(new.filter.and_then(|filter| filter.error).as_deref(), Some("503"));
        assert!(matches!(undo(&entry), Some(Amends::SteerOperation(_, OperationStep::Undo))));
        // Nothing matched: there is no operation, and nothing to take back.
        let none = AuditEntry { object_id: None, ..entry };
        assert!(undo(&none).is_none());
    }

    #[test]
    fn what_it_takes_to_do_it_is_what_it_takes_to_take_it_back() {
        let purge = line("dead_letter.bulk_purge", json!({"action": "purge", "ids": []}), json!({}));
        assert_eq!(repeat(&purge).map(|amends| amends.permission()), Some(Permission::Purge));
        let user = line("user.update", json!({"role": "support", "last_sign_in_at": null}), json!({}));
        assert_eq!(undo(&user).map(|amends| amends.permission()), Some(Permission::ManageAccess));
    }
}
