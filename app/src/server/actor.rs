//! Who asks. The program's middleware has turned the cookie into an actor; every server function asks here first.

use super::context;
use crate::calls::error::CallError;
use axum::http::request::Parts;
use leptos::prelude::*;
use model::{
    actor::Actor,
    rules::permission::{Permission, is_allowed},
};

/// The signed-in actor, if its role allows that.
///
/// # Errors
/// `SignedOut` without a session, `Unavailable` when it cannot be looked up, `Forbidden` for the wrong role.
pub fn allowed(permission: Permission) -> Result<Actor, CallError> {
    let actor = use_context::<Parts>().and_then(|parts| parts.extensions.get::<Actor>().cloned());
    let Some(actor) = actor else {
        let cx = context::current()?;
        let has_cookie = (cx.session_token)(&context::headers()).is_some();
        // With a cookie and no database nobody can say whether the session still holds.
        let is_unknown = has_cookie && cx.live.current().error.is_some();
        return Err(if is_unknown { CallError::Unavailable } else { CallError::SignedOut });
    };
    // A tenant's own actor never opens the operators' pages, whatever its role allows in its app.
    if is_allowed(actor.role, permission) && actor.app_id.is_none() {
        Ok(actor)
    } else {
        Err(CallError::Forbidden)
    }
}
