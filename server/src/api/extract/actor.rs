//! Who makes the request, and whether they may: the permission is part of the handler's signature, so it cannot be forgotten.

use crate::api::problem::Problem;
use axum::extract::{FromRef, FromRequestParts};
use axum::http::request::Parts;
use model::actor::Actor;
use service::{Allowed, Headgate, Needs};
use std::ops::Deref;

/// An actor who has the permission, and the use cases. 401 without an actor, 403 without the permission, before anything else is read.
pub struct Can<P> {
    pub headgate: Headgate,
    actor: Allowed<P>,
}

impl<P> Deref for Can<P> {
    type Target = Allowed<P>;

    fn deref(&self) -> &Allowed<P> {
        &self.actor
    }
}

impl<S: Sync, P: Needs> FromRequestParts<S> for Can<P>
where
    Headgate: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let actor = parts.extensions.get::<Actor>().ok_or_else(|| {
            Problem::unauthorized("Send an API key as `Authorization: Bearer KEY`, or sign in.")
        })?;
        let allowed = Allowed::check(actor).inspect_err(|_| {
            let (role, path) = (actor.role.as_str(), parts.uri.path());
            tracing::info!(actor = actor.owner(), role, path, "refused");
        })?;
        Ok(Self { headgate: Headgate::from_ref(state), actor: allowed })
    }
}
