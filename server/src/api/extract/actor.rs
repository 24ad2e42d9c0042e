//! Who makes the request, and whether they may: the permission is part of the handler's signature, so it cannot be forgotten.

use crate::api::problem::Problem;
use axum::{extract::FromRequestParts, http::request::Parts};
use model::{
    actor::Actor,
    rules::permission::{Permission, is_allowed},
};
use std::{marker::PhantomData, ops::Deref};

/// A permission as a type.
pub trait Needs: Send + Sync + 'static {
    const PERMISSION: Permission;
}

macro_rules! permissions {
    ($($name:ident)*) => {$(
        #[doc = concat!("[`Permission::", stringify!($name), "`]")]
        #[derive(Debug)]
        pub struct $name;

        impl Needs for $name {
            const PERMISSION: Permission = Permission::$name;
        }
    )*};
}

permissions! { Read ReadJobs ReadDeployment Configure SteerJobs Purge Resync Produce ManageAccess OpenConsole SaveViews }

/// An actor who has the permission. 401 without an actor, 403 without the permission, before anything else is read.
#[derive(Debug)]
pub struct Can<P> {
    actor: Actor,
    permission: PhantomData<P>,
}

impl<P> Deref for Can<P> {
    type Target = Actor;
    fn deref(&self) -> &Actor {
        &self.actor
    }
}

impl<S: Sync, P: Needs> FromRequestParts<S> for Can<P> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let actor = parts.extensions.get::<Actor>().ok_or_else(|| {
            Problem::unauthorized("Send an API key as `Authorization: Bearer KEY`, or sign in.")
        })?;
        if !is_allowed(actor.role, P::PERMISSION) {
            tracing::info!(
                actor = actor.owner(),
                role = actor.role.as_str(),
                path = parts.uri.path(),
                "refused"
            );
            return Err(Problem::forbidden(format!("The role {} does not allow this.", actor.role)));
        }
        Ok(Self { actor: actor.clone(), permission: PhantomData })
    }
}
