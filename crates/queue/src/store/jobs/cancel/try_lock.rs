//! Locking waiting jobs that are to be ended, without waiting for locks.

use crate::{error::Result, store::jobs::rows::keys};
use model::id::{BatchId, IntegrationId, JobId};
use sqlx::PgConnection;

/// Locks those of the jobs that are still items of the batch (without a batch: that are still expired), are not being processed and are not locked
/// elsewhere, together with their integrations and the keys that they leave. Returns the jobs that got all their locks.
///
/// The locks are taken against the usual order, which cannot deadlock because it never waits: producers keep jobs and keys locked as long as they
/// like, and deletions their integrations. Recovery does the same (`recover/lost_leases.rs`).
pub(super) async fn try_lock_waiting(
    connection: &mut PgConnection,
    ids: &[JobId],
    batch_id: Option<BatchId>,
) -> Result<Vec<JobId>> {
    let rows = sqlx::query!(
        r#"
        with locked as materialized (
            select j.id, j.integration_id, j.serialize_key, j.successor ->> 'serialize_key' as successor_key
            from unnest($1::uuid[]) as g (id)
            cross join lateral (
                select j.id, j.integration_id, j.serialize_key, j.successor from headgate.jobs j
                -- A fold may have given it a later expiry, or put it into another batch.
                where j.id = g.id and j.status <> 1
                    and case when $2::uuid is null then j.expires_at <= clock_timestamp() else j.batch_id = $2 end
                for update skip locked offset 0
            ) j
        ), present as materialized (
            select l.integration_id, i.id
            from (select distinct integration_id from locked) l
            left join lateral (
                select i.id from headgate.integrations i where i.id = l.integration_id for key share skip locked offset 0
            ) i on true
        )
        select l.id as "id!: JobId", l.integration_id as "integration_id!: IntegrationId", l.serialize_key, l.successor_key
        from locked l
        join present p on p.integration_id = l.integration_id
        where p.id is not null or not exists (select 1 from headgate.integrations x where x.id = l.integration_id)
        "#,
        ids as &[JobId],
        batch_id as Option<BatchId>,
    )
    .fetch_all(&mut *connection)
    .await?;
    let mut needed = Vec::new();
    for row in &rows {
        for key in [&row.serialize_key, &row.successor_key].into_iter().flatten() {
            needed.push((row.id, row.integration_id, key.clone()));
        }
    }
    let locked_elsewhere = keys::try_lock_keys(connection, &needed).await?;
    Ok(rows.iter().map(|row| row.id).filter(|id| !locked_elsewhere.contains(id)).collect())
}
