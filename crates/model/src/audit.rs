//! Lines of the audit log.

use crate::id::{AppId, AuditEntryId};
use crate::moment;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One action by a user, a key or the program. Outlives its object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuditEntry {
    /// UUIDv7.
    pub id: AuditEntryId,
    /// When.
    pub at: DateTime<Utc>,
    /// `user`, `api_key`, `admin_key`, `system`, or `nobody` for a refused sign-in.
    pub actor_kind: String,
    /// Id of the user or key.
    pub actor_id: String,
    /// For people: an e-mail address, a key's name.
    pub actor_name: String,
    /// Role of the actor.
    pub role: String,
    /// App of the object, if it has one.
    pub app_id: Option<AppId>,
    /// Such as `integration.pause`.
    pub action: String,
    /// Such as `integration`.
    pub object_kind: String,
    /// Id of the object.
    pub object_id: Option<String>,
    /// Old values of the changed fields, never secrets. Of a bulk action: the request.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub before: Option<Value>,
    /// New values of the changed fields.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub after: Option<Value>,
    /// Network address of the client.
    pub address: Option<String>,
    /// Id of the request.
    pub request_id: Option<String>,
    /// The line that this one undid.
    pub undoes: Option<AuditEntryId>,
    /// The line that this one repeated.
    pub repeats: Option<AuditEntryId>,
    /// The line that undid this one.
    pub undone_by: Option<AuditEntryId>,
    /// Whether `POST /audit-log/{id}/undo` can undo it: it has an inverse and is not undone yet.
    pub can_undo: bool,
    /// Whether `POST /audit-log/{id}/repeat` can repeat it.
    pub can_repeat: bool,
}

/// Filter of the audit log; all given conditions must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema, utoipa::IntoParams))]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct AuditFilter {
    /// Such as `integration.pause`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Id of a user or key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_id: Option<String>,
    /// A whole e-mail address or key name, case-insensitive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_name: Option<String>,
    /// Objects of one app.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_id: Option<AppId>,
    /// Such as `integration`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_kind: Option<String>,
    /// Id of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_id: Option<String>,
    /// Done at or after.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "moment::optional")]
    pub created_after: Option<DateTime<Utc>>,
    /// Done before.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "moment::optional")]
    pub created_before: Option<DateTime<Utc>>,
}
