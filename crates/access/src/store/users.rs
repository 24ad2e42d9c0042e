//! Rows of `users`.

use crate::error::AccessError;
use chrono::{DateTime, Utc};
use model::{actor::Role, id::UserId, page::PageRequest, user::User};
use sqlx::{PgConnection, PgPool};

pub(crate) struct Account {
    pub(crate) id: UserId,
    pub(crate) password_hash: Option<String>,
    pub(crate) is_disabled: bool,
}

pub(crate) struct NewRow<'a> {
    pub(crate) email: &'a str,
    pub(crate) name: &'a str,
    pub(crate) role: Role,
    pub(crate) password_hash: Option<&'a str>,
}

/// `None` leaves the column as it is.
#[derive(Default)]
pub(crate) struct Changes<'a> {
    pub(crate) name: Option<&'a str>,
    pub(crate) role: Option<Role>,
    pub(crate) is_disabled: Option<bool>,
    pub(crate) password_hash: Option<&'a str>,
}

struct Row {
    id: UserId,
    email: String,
    name: String,
    role: String,
    has_password: bool,
    is_disabled: bool,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    last_sign_in_at: Option<DateTime<Utc>>,
}

impl From<Row> for User {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            email: row.email,
            name: row.name,
            // The table's check admits only known roles. If that ever fails: an auditor can change nothing.
            role: row.role.parse().unwrap_or(Role::Auditor),
            has_password: row.has_password,
            is_disabled: row.is_disabled,
            created_at: row.created_at,
            updated_at: row.updated_at,
            last_sign_in_at: row.last_sign_in_at,
        }
    }
}

pub(crate) async fn account(pool: &PgPool, email: &str) -> Result<Option<Account>, sqlx::Error> {
    sqlx::query_as!(
        Account,
        r#"
        select id as "id: UserId", password_hash, is_disabled
        from headgate.users where lower(email) = lower($1)
        "#,
        email
    )
    .fetch_optional(pool)
    .await
}

pub(crate) async fn get(conn: &mut PgConnection, id: UserId) -> Result<User, AccessError> {
    sqlx::query_as!(
        Row,
        r#"
        select id as "id: UserId", email, name, role, password_hash is not null as "has_password!", is_disabled,
               created_at, updated_at, last_sign_in_at
        from headgate.users where id = $1
        "#,
        id as UserId
    )
    .fetch_optional(conn)
    .await?
    .map(User::from)
    .ok_or(AccessError::NotFound)
}

/// Locks the row; returns `updated_at`.
pub(crate) async fn lock(conn: &mut PgConnection, id: UserId) -> Result<DateTime<Utc>, AccessError> {
    sqlx::query_scalar!("select updated_at from headgate.users where id = $1 for no key update", id as UserId)
        .fetch_optional(conn)
        .await?
        .ok_or(AccessError::NotFound)
}

pub(crate) async fn list(pool: &PgPool, page: PageRequest) -> Result<Vec<User>, sqlx::Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        select id as "id: UserId", email, name, role, password_hash is not null as "has_password!", is_disabled,
               created_at, updated_at, last_sign_in_at
        from headgate.users
        where $1::uuid is null or id < $1
        order by id desc
        limit $2
        "#,
        page.after,
        page.limit + 1,
    )
    .fetch_all(pool)
    .await?;
    Ok(rows.into_iter().map(User::from).collect())
}

/// `None` when the address is taken.
pub(crate) async fn insert(conn: &mut PgConnection, new: NewRow<'_>) -> Result<Option<UserId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"
        insert into headgate.users (id, email, name, role, password_hash)
        values ($1, $2, $3, $4, $5)
        on conflict (lower(email)) do nothing
        returning id as "id: UserId"
        "#,
        UserId::generate() as UserId,
        new.email,
        new.name,
        new.role.as_str(),
        new.password_hash,
    )
    .fetch_optional(conn)
    .await
}

pub(crate) async fn update(conn: &mut PgConnection, id: UserId, to: &Changes<'_>) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"
        update headgate.users
        set name = coalesce($2, name), role = coalesce($3, role), is_disabled = coalesce($4, is_disabled),
            password_hash = coalesce($5, password_hash), updated_at = clock_timestamp()
        where id = $1
        "#,
        id as UserId,
        to.name,
        to.role.map(Role::as_str),
        to.is_disabled,
        to.password_hash,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(crate) async fn delete(conn: &mut PgConnection, id: UserId) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from headgate.users where id = $1", id as UserId).execute(conn).await?;
    Ok(())
}

/// Enabled operators, locked in the order of their ids, so that two operators who remove each other wait for each other.
pub(crate) async fn lock_operators(conn: &mut PgConnection) -> Result<Vec<UserId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"
        select id as "id: UserId" from headgate.users
        where role = 'operator' and not is_disabled
        order by id
        for update
        "#
    )
    .fetch_all(conn)
    .await
}

/// Whether an operator can sign in with a password.
pub(crate) async fn has_password_operator(conn: &mut PgConnection) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"
        select exists (
            select from headgate.users where role = 'operator' and not is_disabled and password_hash is not null
        ) as "exists!"
        "#
    )
    .fetch_one(conn)
    .await
}

pub(crate) async fn id_of(conn: &mut PgConnection, email: &str) -> Result<Option<UserId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select id as "id: UserId" from headgate.users where lower(email) = lower($1)"#,
        email
    )
    .fetch_optional(conn)
    .await
}

pub(crate) async fn signed_in(conn: &mut PgConnection, id: UserId) -> Result<(), sqlx::Error> {
    sqlx::query!("update headgate.users set last_sign_in_at = clock_timestamp() where id = $1", id as UserId)
        .execute(conn)
        .await?;
    Ok(())
}
