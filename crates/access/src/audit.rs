//! The audit log: each action is recorded in the transaction that does it.

use crate::error::AccessError;
use crate::origin::{self, Follows};
use crate::store::audit as store;
use chrono::{DateTime, Utc};
use model::actor::{Actor, ActorKind};
use model::audit::{AuditEntry, AuditFilter};
use model::id::{AppId, AuditEntryId};
use model::page::{Page, PageRequest};
use model::text::sanitise;
use serde::Serialize;
use serde_json::{Map, Value};
use sqlx::{PgConnection, PgPool};
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// An action and its object.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// `<object kind>.<verb>`, such as `integration.pause`.
    pub action: &'static str,
    /// Such as `integration`.
    pub object_kind: &'static str,
    /// Id of the object, as text.
    pub object_id: Option<String>,
    /// App of the object.
    pub app_id: Option<AppId>,
    /// Old values of the changed fields.
    pub before: Option<Value>,
    /// New values of the changed fields.
    pub after: Option<Value>,
}

impl Entry {
    /// `action` is `<object kind>.<verb>`.
    #[must_use]
    pub fn new(action: &'static str) -> Self {
        let object_kind = action.split('.').next().unwrap_or(action);
        Self { action, object_kind, ..Self::default() }
    }

    /// Sets the object's id.
    #[must_use]
    pub fn about(mut self, id: impl ToString) -> Self {
        self.object_id = Some(id.to_string());
        self
    }

    /// Sets the app.
    #[must_use]
    pub fn of_app(mut self, app_id: impl Into<Option<AppId>>) -> Self {
        self.app_id = app_id.into();
        self
    }

    /// For a created object, or details of the action.
    #[must_use]
    pub fn with(mut self, after: &impl Serialize) -> Self {
        self.after = shown(after);
        self
    }

    /// For a removed object.
    #[must_use]
    pub fn without(mut self, before: &impl Serialize) -> Self {
        self.before = shown(before);
        self
    }

    /// For a changed object: keeps the fields that differ.
    #[must_use]
    pub fn changed(mut self, before: &impl Serialize, after: &impl Serialize) -> Self {
        let (Some(Value::Object(mut before)), Some(Value::Object(mut after))) = (shown(before), shown(after))
        else {
            return self;
        };
        before.retain(|key, value| key != "updated_at" && after.get(key) != Some(value));
        after.retain(|key, _| before.contains_key(key));
        self.before = Some(Value::Object(before));
        self.after = Some(Value::Object(after));
        self
    }
}

/// Masks secrets, since all readers of the log see it. All header values are masked: any may be a key, whatever its name.
fn shown(what: &impl Serialize) -> Option<Value> {
    let mut value = serde_json::to_value(what).ok()?;
    if let Some(fields) = value.as_object_mut() {
        for secret in ["signing_secret", "credentials", "password", "key"] {
            if fields.contains_key(secret) {
                fields.insert(secret.to_owned(), Value::from("(not shown)"));
            }
        }
        if let Some(Value::Object(headers)) = fields.get_mut("headers") {
            let names: Map<String, Value> =
                headers.keys().map(|name| (name.clone(), Value::from("(not shown)"))).collect();
            *headers = names;
        }
    }
    Some(value)
}

/// Records an action in the caller's transaction. When this fails, the caller must roll the change back.
pub async fn record(conn: &mut PgConnection, actor: &Actor, entry: Entry) -> Result<(), AccessError> {
    let (kind, id) = identity(actor);
    write(conn, kind, id, &actor.name, actor.role.as_str(), entry).await
}

fn identity(actor: &Actor) -> (&'static str, String) {
    match actor.kind {
        ActorKind::User(id) => ("user", id.to_string()),
        ActorKind::ApiKey(id) => ("api_key", id.to_string()),
        ActorKind::AdminKey => ("admin_key", "admin-key".to_owned()),
        ActorKind::System => ("system", "system".to_owned()),
    }
}

/// When the actor last did the entry's action to its object, if that was after `since`.
pub async fn last_done(
    pool: &PgPool,
    actor: &Actor,
    entry: &Entry,
    since: DateTime<Utc>,
) -> Result<Option<DateTime<Utc>>, AccessError> {
    let filter = AuditFilter {
        action: Some(entry.action.to_owned()),
        actor_id: Some(identity(actor).1),
        object_id: entry.object_id.clone(),
        created_after: Some(since),
        ..AuditFilter::default()
    };
    let mut next = Some(PageRequest { limit: 1, after: None });
    while let Some(page) = next {
        let found = store::list(pool, &filter, page).await?;
        if let Some(line) = found.items.first() {
            return Ok(Some(line.at));
        }
        next = found.following(page.limit);
    }
    Ok(None)
}

/// Records an attempt by somebody without a credential.
pub(crate) async fn record_nobody(
    conn: &mut PgConnection,
    name: &str,
    entry: Entry,
) -> Result<(), AccessError> {
    write(conn, "nobody", String::new(), name, "none", entry).await
}

async fn write(
    conn: &mut PgConnection,
    kind: &str,
    id: String,
    name: &str,
    role: &str,
    entry: Entry,
) -> Result<(), AccessError> {
    let origin = origin::current();
    let (undoes, repeats) = match origin.follows {
        Some(Follows::Undoes(id)) => (Some(id), None),
        Some(Follows::Repeats(id)) => (None, Some(id)),
        None => (None, None),
    };
    let line = AuditEntry {
        id: AuditEntryId::generate(),
        // Not written: the column's default is the database's clock.
        at: Utc::now(),
        actor_kind: kind.to_owned(),
        actor_id: id,
        actor_name: sanitise(name, 254),
        role: role.to_owned(),
        app_id: entry.app_id,
        action: entry.action.to_owned(),
        object_kind: entry.object_kind.to_owned(),
        object_id: entry.object_id.map(|id| sanitise(&id, 1_000)),
        before: entry.before,
        after: entry.after,
        address: origin.address.map(|address| address.to_string()),
        request_id: origin.request_id.map(|id| sanitise(&id, 200)),
        undoes,
        repeats,
        undone_by: None,
        can_undo: false,
        can_repeat: false,
    };
    store::insert(conn, &line).await
}

/// A page of the log, newest first. With a filter that has no index of its own, a page may hold fewer lines than were asked for, or none, and not be
/// the last.
pub async fn list(
    pool: &PgPool,
    filter: &AuditFilter,
    page: PageRequest,
) -> Result<Page<AuditEntry>, AccessError> {
    Ok(store::list(pool, filter, page).await?)
}

/// One line.
///
/// # Errors
/// Not found.
pub async fn get(pool: &PgPool, id: AuditEntryId) -> Result<AuditEntry, AccessError> {
    store::get(pool, id).await?.ok_or(AccessError::NotFound)
}

/// Current names of the objects of lines, by id. Deleted objects are missing.
pub async fn labels(pool: &PgPool, entries: &[AuditEntry]) -> Result<BTreeMap<String, String>, AccessError> {
    let ids: BTreeSet<Uuid> = entries
        .iter()
        .flat_map(|entry| {
            [entry.object_id.as_deref(), entry.app_id.map(|id| id.to_string()).as_deref()].map(parsed)
        })
        .flatten()
        .collect();
    let ids: Vec<_> = ids.into_iter().collect();
    let labels = store::labels(pool, &ids).await?;
    Ok(labels.into_iter().map(|(id, label)| (id.to_string(), label)).collect())
}

fn parsed(id: Option<&str>) -> Option<Uuid> {
    id?.parse().ok()
}

/// The newest line that undid or repeated this one.
///
/// # Errors
/// Not found: none did.
pub async fn following(pool: &PgPool, id: AuditEntryId) -> Result<AuditEntry, AccessError> {
    store::following(pool, id).await?.ok_or(AccessError::NotFound)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_changed_is_kept_and_secrets_are_not() {
        let before = json!({"name": "a", "headers": {"x-key": "s3cret"}, "n": 1, "updated_at": 1});
        let after = json!({"name": "b", "headers": {"x-key": "s3cret", "y": "z"}, "n": 1, "updated_at": 2});
        let entry = Entry::new("integration.update").changed(&before, &after);
        assert_eq!(entry.object_kind, "integration");
        assert_eq!(entry.before, Some(json!({"name": "a", "headers": {"x-key": "(not shown)"}})));
        assert_eq!(
            entry.after,
            Some(json!({"name": "b", "headers": {"x-key": "(not shown)", "y": "(not shown)"}}))
        );
        let made = Entry::new("api_key.create").with(&json!({"key": "hg_x", "signing_secret": "whsec_x"}));
        assert!(!made.after.unwrap().to_string().contains("whsec"));
    }
}
