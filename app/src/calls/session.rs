//! The signed-in user. Signing in and out are plain forms of the program (`POST /sign-in`, `POST /sign-out`).

use super::{error::CallError, json::Json};
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::actor::Role;
use model::rules::permission::{Permission, is_allowed};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// E-mail address, or a key's name.
    pub name: String,
    /// Decides what the pages offer.
    pub role: Role,
    /// Seconds by which lists lag behind (read replica), where the lag is worth a notice.
    pub lists_behind: Option<i64>,
}

impl Session {
    /// Whether to offer an action. The server function checks again.
    pub fn may(&self, permission: Permission) -> bool {
        is_allowed(self.role, permission)
    }
}

/// The signed-in user, or why there is none.
#[server(prefix = "/console", endpoint = "session", input = GetUrl, output = Json)]
pub async fn load_session() -> Result<Session, CallError> {
    use crate::server::{actor, context};
    use service::permission;
    let actor = actor::allowed::<permission::OpenConsole>()?;
    let lists_behind = (context::current()?.lists_behind)();
    Ok(Session { name: actor.name.clone(), role: actor.role, lists_behind })
}
