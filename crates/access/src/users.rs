//! Users. Any change of what a user may do ends the user's sessions.

use crate::access::Access;
use crate::audit::{self, Entry};
use crate::error::AccessError;
use crate::passwords::check_password;
use crate::store::users::{Changes, NewRow};
use crate::store::{sessions, sign_in_links, users as store};
use model::actor::{Actor, Role};
use model::etag::IfMatch;
use model::id::UserId;
use model::page::{Page, PageRequest};
use model::problem::Faults;
use model::user::{NewUser, User, UserChanges};
use queue::QueueError;
use sqlx::PgConnection;

/// # Errors
/// Faults by field; a conflict when the address is taken.
pub async fn create(access: &Access, actor: &Actor, new: NewUser) -> Result<User, AccessError> {
    let mut faults = new.check().err().unwrap_or_default();
    if let Err(part) = check_password(&new.password, &new.email, "/password") {
        faults.0.extend(part.0);
    }
    faults.into_result()?;
    let hash = access.hasher().hash(new.password).await?;
    let name = new.name.unwrap_or_else(|| name_of(&new.email));
    let mut tx = access.pool().begin().await?;
    let row = NewRow { email: &new.email, name: &name, role: new.role, password_hash: Some(&hash) };
    let id = store::insert(&mut tx, row).await?.ok_or(AccessError::Conflict {
        code: "email-taken",
        detail: "There is a user with this e-mail address already.",
    })?;
    let user = store::get(&mut tx, id).await?;
    audit::record(&mut tx, actor, Entry::new("user.create").about(id).with(&user)).await?;
    tx.commit().await?;
    Ok(user)
}

/// Newest first.
pub async fn list(access: &Access, page: PageRequest) -> Result<Page<User>, AccessError> {
    let rows = store::list(access.pool(), page).await?;
    Ok(Page::from_surplus(rows, page.limit, |user| user.id.0))
}

/// # Errors
/// Not found.
pub async fn get(access: &Access, id: UserId) -> Result<User, AccessError> {
    let mut conn = access.pool().acquire().await?;
    store::get(&mut conn, id).await
}

/// # Errors
/// Faults by field, not found, or a conflict when no operator would be left.
pub async fn update(
    access: &Access,
    actor: &Actor,
    id: UserId,
    to: UserChanges,
) -> Result<User, AccessError> {
    to.check()?;
    let email = get(access, id).await?.email;
    let hash = match to.password {
        Some(password) => {
            check_password(&password, &email, "/password")?;
            Some(access.hasher().hash(password).await?)
        }
        None => None,
    };
    let mut tx = access.pool().begin().await?;
    let loses_power = to.is_disabled == Some(true) || to.role.is_some_and(|role| role != Role::Operator);
    if loses_power {
        refuse_last_operator(&mut tx, id).await?;
    }
    let updated_at = store::lock(&mut tx, id).await?;
    to.if_match.check(updated_at).map_err(QueueError::from)?;
    let before = store::get(&mut tx, id).await?;
    let changes = Changes {
        name: to.name.as_deref(),
        role: to.role,
        is_disabled: to.is_disabled,
        password_hash: hash.as_deref(),
    };
    store::update(&mut tx, id, &changes).await?;
    let after = store::get(&mut tx, id).await?;
    if before.role != after.role || (after.is_disabled && !before.is_disabled) || hash.is_some() {
        end_sessions(&mut tx, id).await?;
    }
    let mut entry = Entry::new("user.update").about(id).changed(&before, &after);
    if hash.is_some() {
        entry = Entry { action: "user.set_password", ..entry };
    }
    audit::record(&mut tx, actor, entry).await?;
    tx.commit().await?;
    Ok(after)
}

/// Sets a new password, for the command line.
///
/// # Errors
/// Faults of the password; not found.
pub async fn set_password(
    access: &Access,
    actor: &Actor,
    email: &str,
    password: String,
) -> Result<(), AccessError> {
    let mut conn = access.pool().acquire().await?;
    let id = store::id_of(&mut conn, email).await?.ok_or(AccessError::NotFound)?;
    drop(conn);
    update(access, actor, id, UserChanges { password: Some(password), ..UserChanges::default() }).await?;
    Ok(())
}

/// Deletes a user; what the user did stays in the audit log.
///
/// # Errors
/// Not found, changed meanwhile, or a conflict when no operator would be left.
pub async fn delete(
    access: &Access,
    actor: &Actor,
    id: UserId,
    if_match: &IfMatch,
) -> Result<(), AccessError> {
    let mut tx = access.pool().begin().await?;
    refuse_last_operator(&mut tx, id).await?;
    let updated_at = store::lock(&mut tx, id).await?;
    if_match.check(updated_at).map_err(QueueError::from)?;
    let user = store::get(&mut tx, id).await?;
    // Sessions and links are deleted by their foreign keys.
    store::delete(&mut tx, id).await?;
    audit::record(&mut tx, actor, Entry::new("user.delete").about(id).without(&user)).await?;
    tx.commit().await?;
    Ok(())
}

impl Access {
    /// Creates the first operator from the environment's address and password, when no operator can sign in with a password yet.
    ///
    /// # Errors
    /// Faults of address or password.
    pub async fn first_operator(&self, email: &str, password: String) -> Result<(), AccessError> {
        let mut faults = Faults::default();
        faults.require(model::user::is_email(email), "email", "must be an e-mail address");
        if let Err(part) = check_password(&password, email, "password") {
            faults.0.extend(part.0);
        }
        faults.into_result()?;
        let mut conn = self.pool().acquire().await?;
        if store::has_password_operator(&mut conn).await? {
            return Ok(());
        }
        drop(conn);
        let hash = self.hasher().hash(password).await?;
        let mut tx = self.pool().begin().await?;
        let row = NewRow { email, name: &name_of(email), role: Role::Operator, password_hash: Some(&hash) };
        let (id, action) = match store::insert(&mut tx, row).await? {
            Some(id) => (Some(id), "user.create"),
            // The account of the one-time link, or one without a password: it gets this one.
            None => (store::id_of(&mut tx, email).await?, "user.set_password"),
        };
        let Some(id) = id else { return Ok(()) };
        let changes = Changes {
            role: Some(Role::Operator),
            is_disabled: Some(false),
            password_hash: Some(&hash),
            ..Changes::default()
        };
        store::update(&mut tx, id, &changes).await?;
        audit::record(&mut tx, &Self::system(), Entry::new(action).about(id)).await?;
        tx.commit().await?;
        Ok(())
    }
}

async fn refuse_last_operator(conn: &mut PgConnection, id: UserId) -> Result<(), AccessError> {
    if store::lock_operators(conn).await? == [id] {
        return Err(AccessError::Conflict {
            code: "last-operator",
            detail: "This is the last operator: make another one first.",
        });
    }
    Ok(())
}

async fn end_sessions(conn: &mut PgConnection, id: UserId) -> Result<(), AccessError> {
    sessions::delete_of(conn, id).await?;
    sign_in_links::delete_of(conn, id).await?;
    Ok(())
}

pub(crate) fn name_of(email: &str) -> String {
    email.split('@').next().filter(|local| !local.is_empty()).unwrap_or(email).chars().take(200).collect()
}
