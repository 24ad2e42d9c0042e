//! Settings: users, API keys, retention.

use super::{
    error::{CallError, FormRefused},
    json::Json,
};
use chrono::{DateTime, Utc};
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::{
    actor::Role,
    api_key::ApiKey,
    id::{ApiKeyId, AppId, UserId},
    page::Page,
    storage::Retention,
    user::User,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The part of the settings that the query string asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Settings {
    Users(UserList),
    ApiKeys(KeyList),
    Retention(Retention, DateTime<Utc>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserList {
    /// Newest first.
    pub page: Page<User>,
    /// The user that is being edited or deleted, who may be on another page of the list.
    pub chosen: Option<User>,
    /// The reader's own address, so that nobody disables or deletes themselves by mistake.
    pub own_email: String,
    pub as_of: DateTime<Utc>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyList {
    /// Newest first.
    pub page: Page<ApiKey>,
    pub apps: BTreeMap<AppId, String>,
    /// Whether there are more apps than `apps` names.
    pub has_more_apps: bool,
    /// The key that was just created; shown once.
    pub new_key: Option<String>,
    pub as_of: DateTime<Utc>,
}

#[server(prefix = "/console", endpoint = "settings", input = GetUrl, output = Json)]
pub async fn load_settings(query: String) -> Result<Settings, CallError> {
    use crate::{
        server::{actor, context, cookies},
        state::page_url::PageUrl,
    };
    use model::page::PageRequest;
    use service::permission;
    let actor = actor::allowed::<permission::ReadDeployment>()?;
    let cx = context::current()?;
    let url = PageUrl::parse(&format!("/?{query}"));
    let page =
        PageRequest::parse(None, url.get("cursor")).map_err(|error| CallError::Invalid(error.to_string()))?;
    let as_of = Utc::now();
    match url.get("show") {
        Some("api-keys") => {
            let new_key = cookies::new_key();
            // With a script the browser calls `forget_new_key` after showing the key, because a fetched answer may be loaded twice.
            if new_key.is_some() && context::is_page() {
                cookies::forget_new_key()?;
            }
            let page = access::api_keys::list(&cx.access, page).await?;
            let most = PageRequest { limit: model::page::MAX_LIMIT, after: None };
            let apps = cx.lists().apps(actor.scope(), most).await?;
            Ok(Settings::ApiKeys(KeyList {
                page,
                has_more_apps: apps.next_cursor.is_some(),
                apps: apps.items.into_iter().map(|app| (app.id, app.name)).collect(),
                new_key,
                as_of,
            }))
        }
        Some("retention") => {
            Ok(Settings::Retention(insight::store::storage::retention(&cx.pool, cx.retentions).await?, as_of))
        }
        _ => {
            let page = access::users::list(&cx.access, page).await?;
            let chosen = ["edit", "delete"].iter().find_map(|name| url.get(name)?.parse::<UserId>().ok());
            // A user who was just deleted is no error: the form or dialog is simply not shown.
            let chosen = match chosen {
                Some(id) => match access::users::get(&cx.access, id).await {
                    Err(access::AccessError::NotFound) => None,
                    found => Some(found?),
                },
                None => None,
            };
            Ok(Settings::Users(UserList { page, chosen, own_email: actor.name.clone(), as_of }))
        }
    }
}

#[server(prefix = "/console", endpoint = "create-user", output = Json)]
pub async fn create_user(
    email: String,
    #[server(default)] name: String,
    role: Role,
    password: String,
    back: String,
) -> Result<(), FormRefused> {
    use crate::{
        components::Flash,
        server::{actor, context, forms},
        state::form_draft::Draft,
    };
    use model::user::NewUser;
    use service::permission;
    let email = email.trim().to_owned();
    let made = async {
        let actor = actor::allowed::<permission::ManageAccess>()?;
        let name = Some(name.trim().to_owned()).filter(|name| !name.is_empty());
        let new = NewUser { email: email.clone(), name, role, password };
        access::users::create(&context::current()?.access, &actor, new).await?;
        Ok(Flash::UserCreated.into())
    }
    .await;
    forms::answer(&back, made, |url, faults| {
        let typed = [("email", email.as_str()), ("name", name.as_str()), ("role", role.as_str())];
        Draft::on(url.with("new", "user"), &typed, faults)
    })
    .await
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
    use crate::{
        components::Flash,
        server::{actor, context, forms},
        state::{drawn, form_draft::Draft},
    };
    use model::{etag::IfMatch, user::UserChanges};
    use service::permission;
    let made = async {
        let actor = actor::allowed::<permission::ManageAccess>()?;
        let changes = UserChanges {
            name: Some(name.trim().to_owned()),
            role: Some(role),
            is_disabled: Some(is_disabled),
            password: None,
            if_match: IfMatch::from_form(&etag),
        };
        access::users::update(&context::current()?.access, &actor, id, changes).await?;
        Ok(Flash::UserSaved.into())
    }
    .await;
    forms::answer(&back, made, |url, faults| {
        let is_disabled = if is_disabled { "true" } else { "" };
        let typed = [("name", name.as_str()), ("role", role.as_str()), ("is_disabled", is_disabled)];
        Draft::on(url.with("edit", id), &drawn::changed(&drawn, &typed), faults)
    })
    .await
}

/// Sets another password, which ends the user's sessions.
#[server(prefix = "/console", endpoint = "set-password", output = Json)]
pub async fn set_password(
    id: UserId,
    password: String,
    #[server(default)] etag: String,
    back: String,
) -> Result<(), FormRefused> {
    use crate::{
        components::Flash,
        server::{actor, context, forms},
        state::form_draft::Draft,
    };
    use model::{etag::IfMatch, user::UserChanges};
    use service::permission;
    let made = async {
        let actor = actor::allowed::<permission::ManageAccess>()?;
        let if_match = IfMatch::from_form(&etag);
        let changes = UserChanges { password: Some(password), if_match, ..UserChanges::default() };
        access::users::update(&context::current()?.access, &actor, id, changes).await?;
        Ok(Flash::UserSaved.into())
    }
    .await;
    forms::answer(&back, made, |url, faults| Draft::on(url.with("edit", id), &[], faults)).await
}

/// Deletes a user, whose lines of the audit log stay.
#[server(prefix = "/console", endpoint = "delete-user", output = Json)]
pub async fn delete_user(id: UserId, back: String) -> Result<(), FormRefused> {
    use crate::{
        components::Flash,
        server::{actor, context, redirect},
    };
    use model::etag::IfMatch;
    use service::permission;
    redirect::answer(&back, async {
        let actor = actor::allowed::<permission::ManageAccess>()?;
        access::users::delete(&context::current()?.access, &actor, id, &IfMatch::Any).await?;
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
    use crate::{
        components::Flash,
        server::{actor, context, cookies, forms},
        state::form_draft::Draft,
    };
    use model::api_key::NewApiKey;
    use service::permission;
    let made = async {
        let actor = actor::allowed::<permission::ManageAccess>()?;
        let seconds = |days: &str| days.parse::<i64>().ok().and_then(|days| days.checked_mul(86_400));
        let new = NewApiKey {
            name: name.trim().to_owned(),
            role,
            app_id: app_id.parse().ok(),
            expires_in_seconds: seconds(&expires_in_days),
        };
        let made = access::api_keys::create(&context::current()?.access, &actor, &new).await?;
        cookies::set_new_key(&made.key)?;
        Ok(Flash::KeyCreated.into())
    }
    .await;
    forms::answer(&back, made, |url, faults| {
        let typed = [("name", name.as_str()), ("role", role.as_str()), ("app_id", app_id.as_str())];
        Draft::on(url.with("new", "key"), &typed, faults)
    })
    .await
}

/// Deletes the cookie that carried a new key to the page that shows it. It needs no session: the cookie is the visitor's own.
#[server(prefix = "/console", endpoint = "forget-new-key", output = Json)]
pub async fn forget_new_key() -> Result<(), CallError> {
    crate::server::cookies::forget_new_key()
}

/// Revokes a key from the next request on.
#[server(prefix = "/console", endpoint = "revoke-api-key", output = Json)]
pub async fn revoke_api_key(id: ApiKeyId, back: String) -> Result<(), FormRefused> {
    use crate::{
        components::Flash,
        server::{actor, context, redirect},
    };
    use service::permission;
    redirect::answer(&back, async {
        let actor = actor::allowed::<permission::ManageAccess>()?;
        access::api_keys::revoke(&context::current()?.access, &actor, id).await?;
        Ok(Flash::KeyRevoked.into())
    })
    .await
}
