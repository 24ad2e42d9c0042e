//! The lists of the settings: users and API keys.

use crate::{api_key::ApiKey, id::AppId, page::Page, user::User};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The people who sign in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserList {
    /// Newest first.
    pub page: Page<User>,
    /// The user that is being edited or deleted, who may be on another page of the list.
    pub chosen: Option<User>,
    /// The reader's own address, so that nobody disables or deletes themselves by mistake.
    pub own_email: String,
    /// When it was read.
    pub as_of: DateTime<Utc>,
}

/// The keys of programs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyList {
    /// Newest first.
    pub page: Page<ApiKey>,
    /// Names of apps, for the rows and for the form of a new key.
    pub apps: BTreeMap<AppId, String>,
    /// Whether there are more apps than `apps` names.
    pub has_more_apps: bool,
    /// When it was read.
    pub as_of: DateTime<Utc>,
}
