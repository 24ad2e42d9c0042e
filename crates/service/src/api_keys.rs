//! API keys.

use crate::{Allowed, Headgate, ServiceError, permission};
use access::api_keys;
use chrono::Utc;
use model::api_key::{ApiKey, ApiKeyWithSecret, NewApiKey};
use model::id::ApiKeyId;
use model::page::{MAX_LIMIT, Page, PageRequest};
use model::views::settings::KeyList;

impl Headgate {
    /// A page of the keys, newest first, including revoked and expired ones.
    pub async fn api_keys(
        &self,
        _actor: &Allowed<permission::ReadDeployment>,
        page: PageRequest,
    ) -> Result<Page<ApiKey>, ServiceError> {
        Ok(api_keys::list(&self.access_lists(), page).await?)
    }

    /// The page of keys of the settings. It is read where changes are written: a replica may lack the key that a form has just created.
    pub async fn key_list(
        &self,
        actor: &Allowed<permission::ReadDeployment>,
        page: PageRequest,
    ) -> Result<KeyList, ServiceError> {
        let page = api_keys::list(&self.access, page).await?;
        let longest = PageRequest { limit: MAX_LIMIT, after: None };
        let apps = self.delivery_lists().apps(actor.scope(), longest).await?;
        Ok(KeyList {
            page,
            has_more_apps: apps.next_cursor.is_some(),
            apps: apps.items.into_iter().map(|app| (app.id, app.name)).collect(),
            as_of: Utc::now(),
        })
    }

    /// Creates a key. Only this answer has it.
    ///
    /// # Errors
    /// Faults by field.
    pub async fn create_api_key(
        &self,
        actor: &Allowed<permission::ManageAccess>,
        new: &NewApiKey,
    ) -> Result<ApiKeyWithSecret, ServiceError> {
        Ok(api_keys::create(&self.access, actor, new).await?)
    }

    /// Revokes a key: it is refused from the next request on. `None`: it was revoked before, so nothing changes and the audit log has no line.
    ///
    /// # Errors
    /// No such key.
    pub async fn revoke_api_key(
        &self,
        actor: &Allowed<permission::ManageAccess>,
        id: ApiKeyId,
    ) -> Result<Option<ApiKey>, ServiceError> {
        Ok(api_keys::revoke(&self.access, actor, id).await?)
    }
}
