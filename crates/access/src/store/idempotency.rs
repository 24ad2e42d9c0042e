//! Rows of `idempotency_keys`.

use crate::idempotency::Call;
use sqlx::PgPool;

/// A row as it stands.
pub(crate) struct Row {
    pub(crate) body_hash: Vec<u8>,
    pub(crate) status: Option<i16>,
    pub(crate) answer: Option<Vec<u8>>,
}

/// Takes the key, when nobody has it: no row, or one whose holder vanished two minutes ago without an answer, or one of yesterday.
pub(crate) async fn take(pool: &PgPool, call: &Call, body_hash: &[u8]) -> Result<bool, sqlx::Error> {
    let taken = sqlx::query_scalar!(
        r#"
        insert into headgate.idempotency_keys as k (owner, method, path, key, body_hash)
        values ($1, $2, $3, $4, $5)
        on conflict (owner, method, path, key) do update
            set body_hash = excluded.body_hash, status = null, answer = null, created_at = clock_timestamp()
            where (k.status is null and k.created_at < clock_timestamp() - interval '2 minutes')
               or k.created_at < clock_timestamp() - interval '24 hours'
        returning true as "taken!"
        "#,
        call.owner,
        call.method,
        call.path,
        call.key,
        body_hash,
    )
    .fetch_optional(pool)
    .await?;
    Ok(taken.is_some())
}

pub(crate) async fn get(pool: &PgPool, call: &Call) -> Result<Option<Row>, sqlx::Error> {
    sqlx::query_as!(
        Row,
        r#"
        select body_hash, status, answer from headgate.idempotency_keys
        where owner = $1 and method = $2 and path = $3 and key = $4
        "#,
        call.owner,
        call.method,
        call.path,
        call.key,
    )
    .fetch_optional(pool)
    .await
}

pub(crate) async fn answer(
    pool: &PgPool,
    call: &Call,
    status: i16,
    answer: Option<&[u8]>,
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
    .execute(pool)
    .await?;
    Ok(())
}

pub(crate) async fn release(pool: &PgPool, call: &Call) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"
        delete from headgate.idempotency_keys
        where owner = $1 and method = $2 and path = $3 and key = $4 and status is null
        "#,
        call.owner,
        call.method,
        call.path,
        call.key,
    )
    .execute(pool)
    .await?;
    Ok(())
}
