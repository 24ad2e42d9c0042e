//! Settings: users, API keys, retention.

use super::error::{CallError, FormRefused};
use super::json::Json;
use chrono::{DateTime, Utc};
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::actor::Role;
use model::id::{ApiKeyId, UserId};
use model::storage::Retention;
use model::views::settings::{KeyList, UserList};
use serde::{Deserialize, Serialize};

/// The part of the settings that the query string asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Settings {
    Users(UserList),
    /// With the key that was just created; shown once.
    ApiKeys(KeyList, Option<String>),
    Retention(Retention, DateTime<Utc>),
}

#[server(prefix = "/console", endpoint = "settings", input = GetUrl, output = Json)]
pub async fn load_settings(query: String) -> Result<Settings, CallError> {
    use crate::server::{actor, context, cookies, settings_forms};
    use crate::state::page_url::PageUrl;
    use service::permission;
    let actor = actor::allowed::<permission::ReadDeployment>()?;
    let headgate = context::current()?.headgate;
    let url = PageUrl::parse(&format!("/?{query}"));
    let page = settings_forms::page(&url)?;
    Ok(match url.get("show") {
        Some("api-keys") => {
            Settings::ApiKeys(headgate.key_list(&actor, page).await?, cookies::take_new_key()?)
        }
        Some("retention") => Settings::Retention(headgate.retention(&actor).await?, Utc::now()),
        _ => Settings::Users(headgate.user_list(&actor, page, settings_forms::chosen_user(&url)).await?),
    })
}

#[server(prefix = "/console", endpoint = "create-user", output = Json)]
pub async fn create_user(
    email: String,
    #[server(default)] name: String,
    role: Role,
    password: String,
    back: String,
) -> Result<(), FormRefused> {
    use crate::components::Flash;
    use crate::server::settings_forms::NewUserForm;
    use crate::server::{actor, context, forms};
    use service::permission;
    let form = NewUserForm { email, name, role };
    let made = async {
        let actor = actor::allowed::<permission::ManageAccess>()?;
        context::current()?.headgate.create_user(&actor, form.new_user(password)).await?;
        Ok(Flash::UserCreated.into())
    }
    .await;
    forms::answer(&back, made, |url, faults| form.draft(url, faults)).await
}

/// Changes name, role and state of a user.
#[server(prefix = "/console", endpoint = "update-user", output = Json)]
pub async fn update_user(
    id: UserId,
    name: String,
    role: Role,
    #[server(default)] is_disabled: bool,
    #[server(default)] etag: String,
    #[server(default)] drawn: String,
    back: String,
) -> Result<(), FormRefused> {
    use crate::components::Flash;
    use crate::server::settings_forms::UserForm;
    use crate::server::{actor, context, forms};
    use service::permission;
    let form = UserForm { id, name, role, is_disabled, etag, drawn };
    let made = async {
        let actor = actor::allowed::<permission::ManageAccess>()?;
        context::current()?.headgate.update_user(&actor, id, form.changes()).await?;
        Ok(Flash::UserSaved.into())
    }
    .await;
    forms::answer(&back, made, |url, faults| form.draft(url, faults)).await
}

/// Sets another password, which ends the user's sessions.
#[server(prefix = "/console", endpoint = "set-password", output = Json)]
pub async fn set_password(
    id: UserId,
    password: String,
    #[server(default)] etag: String,
    back: String,
) -> Result<(), FormRefused> {
    use crate::components::Flash;
    use crate::server::{actor, context, forms};
    use crate::state::form_draft::Draft;
    use model::{etag::IfMatch, user::UserChanges};
    use service::permission;
    let if_match = IfMatch::from_form(&etag);
    let changes = UserChanges { password: Some(password), if_match, ..UserChanges::default() };
    let made = async {
        let actor = actor::allowed::<permission::ManageAccess>()?;
        context::current()?.headgate.update_user(&actor, id, changes).await?;
        Ok(Flash::UserSaved.into())
    }
    .await;
    forms::answer(&back, made, |url, faults| Draft::on(url.with("edit", id), &[], faults)).await
}

/// Deletes a user, whose lines of the audit log stay.
#[server(prefix = "/console", endpoint = "delete-user", output = Json)]
pub async fn delete_user(id: UserId, back: String) -> Result<(), FormRefused> {
    use crate::components::Flash;
    use crate::server::{actor, context, redirect};
    use model::etag::IfMatch;
    use service::permission;
    redirect::answer(&back, async {
        let actor = actor::allowed::<permission::ManageAccess>()?;
        context::current()?.headgate.delete_user(&actor, id, &IfMatch::Any).await?;
        Ok(Flash::UserDeleted.into())
    })
    .await
}

/// Creates a key; the next page shows it once.
#[server(prefix = "/console", endpoint = "create-api-key", output = Json)]
pub async fn create_api_key(
    name: String,
    role: Role,
    #[server(default)] app_id: String,
    #[server(default)] expires_in_days: String,
    back: String,
) -> Result<(), FormRefused> {
    use crate::components::Flash;
    use crate::server::settings_forms::NewKeyForm;
    use crate::server::{actor, context, cookies, forms};
    use service::permission;
    let form = NewKeyForm { name, role, app_id, expires_in_days };
    let made = async {
        let actor = actor::allowed::<permission::ManageAccess>()?;
        let made = context::current()?.headgate.create_api_key(&actor, &form.new_key()).await?;
        cookies::set_new_key(&made.key)?;
        Ok(Flash::KeyCreated.into())
    }
    .await;
    forms::answer(&back, made, |url, faults| form.draft(url, faults)).await
}

/// Deletes the cookie that carried a new key to the page that shows it. It needs no session: the cookie is the visitor's own.
#[server(prefix = "/console", endpoint = "forget-new-key", output = Json)]
pub async fn forget_new_key() -> Result<(), CallError> {
    crate::server::cookies::forget_new_key()
}

/// Revokes a key from the next request on.
#[server(prefix = "/console", endpoint = "revoke-api-key", output = Json)]
pub async fn revoke_api_key(id: ApiKeyId, back: String) -> Result<(), FormRefused> {
    use crate::components::Flash;
    use crate::server::{actor, context, redirect};
    use service::permission;
    redirect::answer(&back, async {
        let actor = actor::allowed::<permission::ManageAccess>()?;
        context::current()?.headgate.revoke_api_key(&actor, id).await?;
        Ok(Flash::KeyRevoked.into())
    })
    .await
}
