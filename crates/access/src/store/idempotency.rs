//! Rows of `idempotency_keys`: the hash of the body and the answer of each call with a key, for 24 hours.

use crate::keyed_call::KeyedCall;
use sqlx::PgConnection;
use std::time::Duration;

pub(crate) struct Row {
    pub(crate) body_hash: Vec<u8>,
    pub(crate) status: i16,
    pub(crate) answer: Option<Vec<u8>>,
}

/// Takes the key when it is free or has expired, and waits for a transaction that is taking it.
pub(crate) async fn take(
    conn: &mut PgConnection,
    call: &KeyedCall,
    body_hash: &[u8],
    lock_wait: Duration,
) -> Result<bool, sqlx::Error> {
    let taken = sqlx::query_scalar!(
        r#"
        insert into headgate.idempotency_keys as k (owner, method, path, key, body_hash)
        values ($1, $2, $3, $4, $5)
        on conflict (owner, method, path, key) do update
            set body_hash = excluded.body_hash, status = null, answer = null, created_at = clock_timestamp()
            where k.created_at < clock_timestamp() - interval '24 hours'
        returning set_config('lock_timeout', $6, true)
        "#,
        call.owner,
        call.method,
        call.path,
        call.key,
        body_hash,
        lock_wait.as_millis().to_string(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(taken.is_some())
}

/// The row that [`take`] met.
pub(crate) async fn get(conn: &mut PgConnection, call: &KeyedCall) -> Result<Row, sqlx::Error> {
    sqlx::query_as!(
        Row,
        r#"
        select body_hash, status as "status!", answer from headgate.idempotency_keys
        where owner = $1 and method = $2 and path = $3 and key = $4
        "#,
        call.owner,
        call.method,
        call.path,
        call.key,
    )
    .fetch_one(conn)
    .await
}

pub(crate) async fn answer(
    conn: &mut PgConnection,
    call: &KeyedCall,
    status: i16,
    answer: &[u8],
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"
        update headgate.idempotency_keys set status = $5, answer = $6
        where owner = $1 and method = $2 and path = $3 and key = $4
        "#,
        call.owner,
        call.method,
        call.path,
        call.key,
        status,
        answer,
    )
    .execute(conn)
    .await?;
    Ok(())
}
