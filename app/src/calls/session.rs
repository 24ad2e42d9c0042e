//! Who sits in front of the page; signing in and out.

use super::error::CallError;
use leptos::{prelude::*, server_fn::codec::GetUrl};
use model::{
    actor::Role,
    rules::permission::{Permission, is_allowed},
};
use serde::{Deserialize, Serialize};

/// The signed-in reader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// E-mail address, or a key's name.
    pub name: String,
    /// What the pages offer.
    pub role: Role,
}

impl Session {
    /// Whether to offer something. The server function decides again.
    pub fn may(&self, permission: Permission) -> bool {
        is_allowed(self.role, permission)
    }
}

/// The reader, or why there is none.
#[server(prefix = "/console", endpoint = "session", input = GetUrl)]
pub async fn load_session() -> Result<Session, CallError> {
    use crate::server::actor;
    let actor = actor::allowed(Permission::OpenConsole)?;
    Ok(Session { name: actor.name, role: actor.role })
}

/// Signs in with e-mail address and password and goes on to `next`.
#[server(prefix = "/console", endpoint = "sign-in")]
pub async fn sign_in(email: String, password: String, #[server(default)] next: String) -> Result<(), CallError> {
    use crate::server::{context, cookies, redirect};
    use std::net::Ipv4Addr;
    let access = context::current()?.access;
    let address = access::origin::current().address.unwrap_or(Ipv4Addr::LOCALHOST.into());
    match access.sign_in(&email, password, address).await {
        Ok(token) => {
            cookies::set_session(&token)?;
            redirect::to_page(&next);
        }
        Err(error) => redirect::refused_sign_in(&next, error.into()),
    }
    Ok(())
}

/// Exchanges a one-time link for a session and goes to the overview.
#[server(prefix = "/console", endpoint = "redeem-link")]
pub async fn redeem_link(token: String) -> Result<(), CallError> {
    use crate::server::{context, cookies, redirect};
    let session = context::current()?.access.redeem_link(&token).await?;
    cookies::set_session(&session)?;
    redirect::to_page("/");
    Ok(())
}

/// Ends the session on the server and in the browser.
#[server(prefix = "/console", endpoint = "sign-out")]
pub async fn sign_out() -> Result<(), CallError> {
    use crate::{
        components::Flash,
        server::{context, cookies, redirect},
        state::page_url::PageUrl,
    };
    if let Some(token) = cookies::session() {
        context::current()?.access.sign_out(&token).await?;
    }
    cookies::clear_session()?;
    redirect::to(&Flash::SignedOut.on(PageUrl::parse("/sign-in"), 1, 0));
    Ok(())
}
