//! Settings: people, keys of the API, what is kept.

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

/// The part of the settings an address asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Settings {
    /// People who sign in.
    Users(UserList),
    /// Keys of the API.
    ApiKeys(KeyList),
    /// What is kept.
    Retention(Retention, DateTime<Utc>),
}

/// One page of users.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserList {
    /// Newest first.
    pub page: Page<User>,
    /// The one that is being edited or deleted, wherever it stands in the list.
    pub chosen: Option<User>,
    /// The reader's own address: nobody locks themselves out by mistake.
    pub own_email: String,
    /// The moment of the list.
    pub as_of: DateTime<Utc>,
}

/// One page of keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyList {
    /// Newest first.
    pub page: Page<ApiKey>,
    /// What apps are called.
    pub apps: BTreeMap<AppId, String>,
    /// Whether there are more apps than are named.
    pub has_more_apps: bool,
    /// The key made a moment ago.
    pub new_key: Option<String>,
    /// The moment of the list.
    pub as_of: DateTime<Utc>,
}

/// What the settings page shows: `query` is its own query string.
#[server(prefix = "/console", endpoint = "settings", input = GetUrl, output = Json)]
pub async fn load_settings(query: String) -> Result<Settings, CallError> {
    use crate::{
        server::{actor, context, cookies},
        state::page_url::PageUrl,
    };
    use model::{page::PageRequest, rules::permission::Permission};
    let actor = actor::allowed(Permission::ReadDeployment)?;
    let cx = context::current()?;
    let url = PageUrl::parse(&format!("/?{query}"));
    let page =
        PageRequest::parse(None, url.get("cursor")).map_err(|error| CallError::Invalid(error.to_string()))?;
    let as_of = Utc::now();
    match url.get("show") {
        Some("api-keys") => {
            let new_key = cookies::new_key();
            // Where a script runs, it says itself that the key was shown: what it loads may be loaded again.
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
            Ok(Settings::Retention(queue::store::storage::retention(&cx.pool, cx.retentions).await?, as_of))
        }
        _ => {
            let page = access::users::list(&cx.access, page).await?;
            let chosen = ["edit", "delete"].iter().find_map(|name| url.get(name)?.parse::<UserId>().ok());
            // One that was deleted a moment ago is no error: nothing is asked about it any more.
            let chosen = match chosen {
                Some(id) => match access::users::get(&cx.access, id).await {
                    Err(access::AccessError::NotFound) => None,
                    found => Some(found?),
                },
                None => None,
            };
            Ok(Settings::Users(UserList { page, chosen, own_email: actor.name, as_of }))
        }
    }
}

/// Makes a user who signs in with this password.
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
        state::user_draft::Draft,
    };
    use model::{rules::permission::Permission, user::NewUser};
    let email = email.trim().to_owned();
    let made = async {
        let actor = actor::allowed(Permission::ManageAccess)?;
        let name = Some(name.trim().to_owned()).filter(|name| !name.is_empty());
        let new = NewUser { email: email.clone(), name, role, password };
        access::users::create(&context::current()?.access, &actor, new).await?;
        Ok(Flash::UserMade.into())
    }
    .await;
    forms::answer(&back, made, |url, faults| {
        let typed = [("email", email.as_str()), ("name", name.as_str()), ("role", role.as_str())];
        Draft::on(url.with("new", "user"), &typed, faults)
    })
    .await
}

/// Changes what a user is called and may do.
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
        state::{drawn, user_draft::Draft},
    };
    use model::{etag::IfMatch, rules::permission::Permission, user::UserChanges};
    let made = async {
        let actor = actor::allowed(Permission::ManageAccess)?;
        let changes = UserChanges {
            name: Some(name.trim().to_owned()),
            role: Some(role),
            is_disabled: Some(is_disabled),
            password: None,
            if_match: IfMatch::of_form(&etag),
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

/// Gives a user another password; the user's sessions end.
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
        state::user_draft::Draft,
    };
    use model::{etag::IfMatch, rules::permission::Permission, user::UserChanges};
    let made = async {
        let actor = actor::allowed(Permission::ManageAccess)?;
        let if_match = IfMatch::of_form(&etag);
        let changes = UserChanges { password: Some(password), if_match, ..UserChanges::default() };
        access::users::update(&context::current()?.access, &actor, id, changes).await?;
        Ok(Flash::UserSaved.into())
    }
    .await;
    forms::answer(&back, made, |url, faults| Draft::on(url.with("edit", id), &[], faults)).await
}

/// Removes a user; what the person did stays in the audit log.
#[server(prefix = "/console", endpoint = "delete-user", output = Json)]
pub async fn delete_user(id: UserId, back: String) -> Result<(), FormRefused> {
    use crate::{
        components::Flash,
        server::{actor, context, redirect},
    };
    use model::{etag::IfMatch, rules::permission::Permission};
    redirect::answer(&back, async {
        let actor = actor::allowed(Permission::ManageAccess)?;
        access::users::delete(&context::current()?.access, &actor, id, &IfMatch::Any).await?;
        Ok(Flash::UserDeleted.into())
    })
    .await
}

/// Makes a key; the page that follows shows it this once.
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
        state::user_draft::Draft,
    };
    use model::{api_key::NewApiKey, rules::permission::Permission};
    let made = async {
        let actor = actor::allowed(Permission::ManageAccess)?;
        let seconds = |days: &str| days.parse::<i64>().ok().and_then(|days| days.checked_mul(86_400));
        let new = NewApiKey {
            name: name.trim().to_owned(),
            role,
            app_id: app_id.parse().ok(),
            expires_in_seconds: seconds(&expires_in_days),
        };
        let made = access::api_keys::create(&context::current()?.access, &actor, &new).await?;
        cookies::set_new_key(&made.key)?;
        Ok(Flash::KeyMade.into())
    }
    .await;
    forms::answer(&back, made, |url, faults| {
        let typed = [("name", name.as_str()), ("role", role.as_str()), ("app_id", app_id.as_str())];
        Draft::on(url.with("new", "key"), &typed, faults)
    })
    .await
}

/// Takes the cookie away that brought a new key to the page which shows it: the visitor's own, whoever that is.
#[server(prefix = "/console", endpoint = "forget-new-key", output = Json)]
pub async fn forget_new_key() -> Result<(), CallError> {
    crate::server::cookies::forget_new_key()
}

/// Revokes a key: it is refused from the next request on.
#[server(prefix = "/console", endpoint = "revoke-api-key", output = Json)]
pub async fn revoke_api_key(id: ApiKeyId, back: String) -> Result<(), FormRefused> {
    use crate::{
        components::Flash,
        server::{actor, context, redirect},
    };
    use model::rules::permission::Permission;
    redirect::answer(&back, async {
        let actor = actor::allowed(Permission::ManageAccess)?;
        access::api_keys::revoke(&context::current()?.access, &actor, id).await?;
        Ok(Flash::KeyRevoked.into())
    })
    .await
}
