//! Serialize keys that are stuck because the job they wait for is gone.

use super::{Key, count};
use crate::error::Result;
use crate::store::jobs::accept::keys;
use crate::store::leader::{self, Term};
use model::id::IntegrationId;
use sqlx::{PgConnection, PgPool};

/// Removes the jobs that are gone from these keys and lets the next job of each run; returns how many keys. A key that is locked elsewhere is
/// skipped: the next scan finds it again.
///
/// # Errors
/// [`crate::QueueError::TermOver`] when the term is over.
pub(super) async fn repair(pool: &PgPool, term: Term, keys: Vec<Key>) -> Result<i64> {
    let mut transaction = pool.begin().await?;
    leader::confirm(&mut transaction, term).await?;
    let (lanes, names) = lock(&mut transaction, keys).await?;
    // Statements of their own: no job joins or leaves a locked key, and these see what was committed before the lock.
    sqlx::query!(
        r#"
        delete from headgate.serialized_jobs s
        using unnest($1::uuid[], $2::text[]) as g (integration_id, key)
        where s.integration_id = g.integration_id and s.key = g.key
            and not exists (select 1 from headgate.jobs j where j.id = s.job_id)
            and not exists (
                select 1 from headgate.jobs j where (j.successor ->> 'id')::uuid = s.job_id and j.successor is not null
            )
        "#,
        &lanes as &[IntegrationId],
        &names,
    )
    .execute(&mut *transaction)
    .await?;
    keys::advance(&mut transaction, &lanes, &names).await?;
    let repaired = i64::try_from(lanes.len()).unwrap_or(i64::MAX);
    count(&mut transaction, "serialized_jobs", repaired).await?;
    transaction.commit().await?;
    Ok(repaired)
}

async fn lock(connection: &mut PgConnection, keys: Vec<Key>) -> Result<(Vec<IntegrationId>, Vec<String>)> {
    let (lanes, names): (Vec<IntegrationId>, Vec<String>) = keys.into_iter().unzip();
    let locked = sqlx::query!(
        r#"
        select k.integration_id as "integration_id: IntegrationId", k.key from headgate.serialize_keys k
        where (k.integration_id, k.key) in (select g.lane, g.key from unnest($1::uuid[], $2::text[]) as g (lane, key))
        order by k.integration_id, k.key collate "C"
        for update skip locked
        "#,
        &lanes as &[IntegrationId],
        &names,
    )
    .fetch_all(connection)
    .await?;
    Ok(locked.into_iter().map(|row| (row.integration_id, row.key)).unzip())
}
