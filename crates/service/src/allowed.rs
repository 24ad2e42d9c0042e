//! The permission of a use case, as a part of its signature.

use crate::ServiceError;
use model::actor::Actor;
use model::rules::permission::{Permission, is_allowed};
use std::{marker::PhantomData, ops::Deref};

/// A permission as a type.
pub trait Needs: Send + Sync + 'static {
    /// The same as a value.
    const PERMISSION: Permission;
}

/// The permissions as types.
pub mod permission {
    use super::{Needs, Permission};

    macro_rules! permissions {
        ($($name:ident)*) => {$(
            #[doc = concat!("[`Permission::", stringify!($name), "`]")]
            #[derive(Clone, Copy, Debug)]
            pub struct $name;

            impl Needs for $name {
                const PERMISSION: Permission = Permission::$name;
            }
        )*};
    }

    permissions! {
        Read ReadJobs ReadDeployment ReadUnmasked Configure SteerJobs SaveViews Purge Resync Produce ManageAccess OpenConsole
    }
}

/// An actor who has the permission `P`.
#[derive(Clone, Debug)]
pub struct Allowed<P> {
    actor: Actor,
    permission: PhantomData<P>,
}

impl<P: Needs> Allowed<P> {
    /// The actor, if its role allows it.
    ///
    /// # Errors
    /// `NotAllowed`, which names the role.
    pub fn check(actor: &Actor) -> Result<Self, ServiceError> {
        if is_allowed(actor.role, P::PERMISSION) {
            Ok(Self { actor: actor.clone(), permission: PhantomData })
        } else {
            Err(ServiceError::NotAllowed(format!("The role {} does not allow this.", actor.role)))
        }
    }
}

impl<P> Allowed<P> {
    /// The same actor with another permission, which its role must allow too: for a use case that calls one with that permission in its signature,
    /// as a list of the console calls the API's.
    ///
    /// # Errors
    /// `NotAllowed`.
    pub fn also<Q: Needs>(&self) -> Result<Allowed<Q>, ServiceError> {
        Allowed::check(&self.actor)
    }

    /// Whether the actor may do more.
    #[must_use]
    pub fn may(&self, permission: Permission) -> bool {
        is_allowed(self.actor.role, permission)
    }
}

impl<P> Deref for Allowed<P> {
    type Target = Actor;

    fn deref(&self) -> &Actor {
        &self.actor
    }
}
