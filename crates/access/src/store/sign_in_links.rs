//! Rows of `sign_in_links`: each works for one sign-in within 24 hours.

use model::id::UserId;
use sqlx::PgConnection;

pub(crate) async fn insert(
    conn: &mut PgConnection,
    token_hash: &[u8],
    user_id: UserId,
) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from headgate.sign_in_links where expires_at < clock_timestamp()")
        .execute(&mut *conn)
        .await?;
    sqlx::query!(
        r#"
        insert into headgate.sign_in_links (token_hash, user_id, expires_at)
        values ($1, $2, clock_timestamp() + interval '24 hours')
        "#,
        token_hash,
        user_id as UserId,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Uses the link up. Of two concurrent calls, the row lock lets one through.
pub(crate) async fn redeem(
    conn: &mut PgConnection,
    token_hash: &[u8],
) -> Result<Option<UserId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"
        update headgate.sign_in_links l
        set used_at = clock_timestamp()
        from headgate.users u
        where l.token_hash = $1 and l.used_at is null and l.expires_at > clock_timestamp()
          and u.id = l.user_id and not u.is_disabled
        returning l.user_id as "user_id: UserId"
        "#,
        token_hash
    )
    .fetch_optional(conn)
    .await
}

pub(crate) async fn delete_of(conn: &mut PgConnection, user_id: UserId) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "delete from headgate.sign_in_links where user_id = $1 and used_at is null",
        user_id as UserId
    )
    .execute(conn)
    .await?;
    Ok(())
}
