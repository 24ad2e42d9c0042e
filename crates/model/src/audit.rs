//! Who did what: lines of the audit log.

use crate::{
    id::{AppId, AuditEntryId},
    moment,
};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One thing someone did. Outlives the object it is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditEntry {
    /// UUIDv7.
    pub id: AuditEntryId,
    /// When.
    pub at: DateTime<Utc>,
    /// `user`, `api_key`, `admin_key`, `system`, or `nobody` for a refused sign-in.
    pub actor_kind: String,
    /// Which one of them.
    pub actor_id: String,
    /// For people: an e-mail address, a key's name.
    pub actor_name: String,
    /// With which role.
    pub role: String,
    /// The app it was about, if it was about one.
    pub app_id: Option<AppId>,
    /// Such as `integration.pause`.
    pub action: String,
    /// Such as `integration`.
    pub object_kind: String,
    /// Which one.
    pub object_id: Option<String>,
    /// The fields that changed, as they were; secrets are never among them.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub before: Option<Value>,
    /// The fields that changed, as they are now.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub after: Option<Value>,
    /// From which network address.
    pub address: Option<String>,
    /// With which request.
    pub request_id: Option<String>,
    /// The line whose change this one took back.
    pub undoes: Option<AuditEntryId>,
    /// The line whose change this one made again.
    pub repeats: Option<AuditEntryId>,
    /// The line that took this one back.
    pub undone_by: Option<AuditEntryId>,
    /// Whether `POST /audit-log/{id}/undo` may take it back: there is an inverse, and nobody did yet.
    pub can_undo: bool,
    /// Whether `POST /audit-log/{id}/repeat` may make it again.
    pub can_repeat: bool,
}

/// What the audit log is narrowed to; every condition given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema, utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct AuditFilter {
    /// Such as `integration.pause`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// An id of a user or key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_id: Option<String>,
    /// An e-mail address or a key's name, whole, upper and lower case alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_name: Option<String>,
    /// About one app.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_id: Option<AppId>,
    /// Such as `integration`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_kind: Option<String>,
    /// Which one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_id: Option<String>,
    /// Done at or after.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "moment::optional")]
    pub created_after: Option<DateTime<Utc>>,
    /// Done before.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "moment::optional")]
    pub created_before: Option<DateTime<Utc>>,
}
