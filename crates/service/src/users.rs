//! Users: the people who sign in.

use crate::{Allowed, Headgate, ServiceError, permission};
use access::{AccessError, users};
use chrono::Utc;
use model::etag::IfMatch;
use model::id::UserId;
use model::page::{Page, PageRequest};
use model::user::{NewUser, User, UserChanges};
use model::views::settings::UserList;

impl Headgate {
    /// A page of the users, newest first.
    pub async fn users(
        &self,
        _actor: &Allowed<permission::ReadDeployment>,
        page: PageRequest,
    ) -> Result<Page<User>, ServiceError> {
        Ok(users::list(&self.access_lists(), page).await?)
    }

    /// The page of users of the settings. `chosen` is edited or deleted on it; a user who does not exist is not chosen. It is read where changes
    /// are written: a replica may lack the user that a form has just created.
    pub async fn user_list(
        &self,
        actor: &Allowed<permission::ReadDeployment>,
        page: PageRequest,
        chosen: Option<UserId>,
    ) -> Result<UserList, ServiceError> {
        let page = users::list(&self.access, page).await?;
        let chosen = match chosen {
            Some(id) => match users::get(&self.access, id).await {
                Err(AccessError::NotFound) => None,
                found => Some(found?),
            },
            None => None,
        };
        Ok(UserList { page, chosen, own_email: actor.name.clone(), as_of: Utc::now() })
    }

    /// A user.
    ///
    /// # Errors
    /// No such user.
    pub async fn user(
        &self,
        _actor: &Allowed<permission::ReadDeployment>,
        id: UserId,
    ) -> Result<User, ServiceError> {
        Ok(users::get(&self.access, id).await?)
    }

    /// Creates a user.
    ///
    /// # Errors
    /// Faults by field; the address is taken.
    pub async fn create_user(
        &self,
        actor: &Allowed<permission::ManageAccess>,
        new: NewUser,
    ) -> Result<User, ServiceError> {
        Ok(users::create(&self.access, actor, new).await?)
    }

    /// Changes a user. A new role or password, or disabling, ends the user's sessions.
    ///
    /// # Errors
    /// No such user; it was changed meanwhile; faults by field; no operator would be left.
    pub async fn update_user(
        &self,
        actor: &Allowed<permission::ManageAccess>,
        id: UserId,
        changes: UserChanges,
    ) -> Result<User, ServiceError> {
        Ok(users::update(&self.access, actor, id, changes).await?)
    }

    /// Deletes a user with all sessions; the audit log keeps what the user did.
    ///
    /// # Errors
    /// No such user; it was changed meanwhile; no operator would be left.
    pub async fn delete_user(
        &self,
        actor: &Allowed<permission::ManageAccess>,
        id: UserId,
        if_match: &IfMatch,
    ) -> Result<(), ServiceError> {
        Ok(users::delete(&self.access, actor, id, if_match).await?)
    }
}
