//! The actor of a request. The program's middleware has turned the cookie into an actor; every server function checks it here first.

use crate::calls::error::CallError;
use axum::http::{Extensions, request::Parts};
use leptos::prelude::*;
use model::actor::Actor;
use model::rules::permission::{Permission, is_allowed};
use service::{Allowed, Needs};

/// Marks a request whose session could not be looked up: it is neither signed in nor signed out.
#[derive(Clone, Copy, Debug)]
pub struct SessionUnknown;

/// The signed-in actor, if its role allows that.
pub fn allowed<P: Needs>() -> Result<Allowed<P>, CallError> {
    let parts = use_context::<Parts>().ok_or(CallError::Broken)?;
    Ok(Allowed::check(&of(&parts.extensions, P::PERMISSION)?)?)
}

/// The actor of a request, if its role allows that.
///
/// # Errors
/// `SignedOut` without a session, `Unavailable` when the session could not be looked up, `Forbidden` for the wrong role.
pub fn of(extensions: &Extensions, permission: Permission) -> Result<Actor, CallError> {
    match extensions.get::<Actor>() {
        // An actor of one app never opens the operators' pages, whatever its role allows in its app.
        Some(actor) if is_allowed(actor.role, permission) && actor.app_id.is_none() => Ok(actor.clone()),
        Some(_) => Err(CallError::Forbidden),
        None if extensions.get::<SessionUnknown>().is_some() => Err(CallError::Unavailable),
        None => Err(CallError::SignedOut),
    }
}
