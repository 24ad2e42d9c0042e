//! Rows of `sessions`. A session ends after 12 hours without use, or when it is 7 days old.

use model::{actor::Role, id::UserId};
use sqlx::{PgConnection, PgPool};

pub(crate) struct SessionUser {
    pub(crate) id: UserId,
    pub(crate) email: String,
    pub(crate) role: String,
    pub(crate) is_stale: bool,
}

impl SessionUser {
    pub(crate) fn role(&self) -> Option<Role> {
        self.role.parse().ok()
    }
}

/// Also deletes sessions that have ended.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    token_hash: &[u8],
    user_id: UserId,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"
        delete from headgate.sessions
        where expires_at < clock_timestamp() or last_seen_at < clock_timestamp() - interval '12 hours'
        "#
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        r#"
        insert into headgate.sessions (token_hash, user_id, expires_at)
        values ($1, $2, clock_timestamp() + interval '7 days')
        "#,
        token_hash,
        user_id as UserId,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(crate) async fn user(pool: &PgPool, token_hash: &[u8]) -> Result<Option<SessionUser>, sqlx::Error> {
    sqlx::query_as!(
        SessionUser,
        r#"
        select u.id as "id: UserId", u.email, u.role,
               s.last_seen_at < clock_timestamp() - interval '1 minute' as "is_stale!"
        from headgate.sessions s
        join headgate.users u on u.id = s.user_id
        where s.token_hash = $1 and not u.is_disabled
          and s.expires_at > clock_timestamp()
          and s.last_seen_at > clock_timestamp() - interval '12 hours'
        "#,
        token_hash
    )
    .fetch_optional(pool)
    .await
}

pub(crate) async fn touch(pool: &PgPool, token_hash: &[u8]) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update headgate.sessions set last_seen_at = clock_timestamp() where token_hash = $1",
        token_hash
    )
    .execute(pool)
    .await?;
    Ok(())
}

/// Those that have ended. Of the others, `last_seen_at` is updated.
pub(crate) async fn ended(pool: &PgPool, token_hashes: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"
        with seen as (
            update headgate.sessions set last_seen_at = clock_timestamp()
            where token_hash = any ($1::bytea[]) and last_seen_at < clock_timestamp() - interval '1 minute'
              and last_seen_at > clock_timestamp() - interval '12 hours'
        )
        select asked.token_hash as "token_hash!"
        from unnest($1::bytea[]) as asked (token_hash)
        where not exists (
            select from headgate.sessions s
            join headgate.users u on u.id = s.user_id
            where s.token_hash = asked.token_hash and not u.is_disabled
              and s.expires_at > clock_timestamp()
              and s.last_seen_at > clock_timestamp() - interval '12 hours'
        )
        "#,
        token_hashes
    )
    .fetch_all(pool)
    .await
}

pub(crate) async fn delete(
    conn: &mut PgConnection,
    token_hash: &[u8],
) -> Result<Option<UserId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"delete from headgate.sessions where token_hash = $1 returning user_id as "user_id: UserId""#,
        token_hash
    )
    .fetch_optional(conn)
    .await
}

pub(crate) async fn delete_of(conn: &mut PgConnection, user_id: UserId) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from headgate.sessions where user_id = $1", user_id as UserId).execute(conn).await?;
    Ok(())
}
