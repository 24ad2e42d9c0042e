//! Serialize keys: jobs of one key run one at a time, in the order of acceptance.
//!
//! The row of the key is the lock; it has the next free position and the head. Only the head has an entry in `ready` or `waiting`, so that the
//! claim needs no special case. A head that waits for its retry stays the head. Rows of keys are locked before jobs.

use crate::{error::Result, store::jobs::rows::entries::enter_queue};
use model::id::{IntegrationId, JobId};
use sqlx::PgConnection;
use std::collections::{BTreeMap, HashSet};
use std::hash::Hash;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyed<'a> {
    pub integration_id: IntegrationId,
    pub key: &'a str,
    pub job_id: JobId,
}

#[derive(Clone, Debug)]
pub(crate) struct KeyPosition {
    pub integration_id: IntegrationId,
    pub key: String,
    pub seq: i64,
    pub job_id: JobId,
}

/// Locks the keys and reserves positions in the order given. An unused position leaves a gap, which is harmless.
pub(crate) async fn reserve_positions(
    connection: &mut PgConnection,
    keyed: &[Keyed<'_>],
) -> Result<Vec<KeyPosition>> {
    if keyed.is_empty() {
        return Ok(Vec::new());
    }
    // Sorted: the order of locks.
    let mut wanted: BTreeMap<(IntegrationId, &str), i64> = BTreeMap::new();
    for one in keyed {
        *wanted.entry((one.integration_id, one.key)).or_default() += 1;
    }
    let lanes: Vec<IntegrationId> = wanted.keys().map(|(lane, _)| *lane).collect();
    let keys: Vec<String> = wanted.keys().map(|(_, key)| (*key).to_owned()).collect();
    let counts: Vec<i64> = wanted.values().copied().collect();
    let rows = sqlx::query!(
        r#"
        insert into headgate.serialize_keys as k (integration_id, key, next_seq)
        select g.integration_id, g.key, 1 + g.n
        from unnest($1::uuid[], $2::text[], $3::bigint[]) with ordinality as g (integration_id, key, n, position)
        order by g.position
        on conflict (integration_id, key) do update set next_seq = k.next_seq + excluded.next_seq - 1
        returning k.integration_id as "integration_id: IntegrationId", k.key, k.next_seq
        "#,
        &lanes as &[IntegrationId],
        &keys,
        &counts,
    )
    .fetch_all(connection)
    .await?;
    let mut next: BTreeMap<(IntegrationId, &str), i64> = rows
        .iter()
        .filter_map(|row| {
            let given = wanted.get(&(row.integration_id, row.key.as_str()))?;
            Some(((row.integration_id, row.key.as_str()), row.next_seq - given))
        })
        .collect();
    Ok(keyed
        .iter()
        .filter_map(|one| {
            let seq = next.get_mut(&(one.integration_id, one.key))?;
            let position = KeyPosition {
                integration_id: one.integration_id,
                key: one.key.to_owned(),
                seq: *seq,
                job_id: one.job_id,
            };
            *seq += 1;
            Some(position)
        })
        .collect())
}

/// Puts jobs into the queues of their keys, at their reserved positions, and advances the keys.
pub(crate) async fn join_queue(connection: &mut PgConnection, positions: Vec<KeyPosition>) -> Result<()> {
    let lanes: Vec<IntegrationId> = positions.iter().map(|one| one.integration_id).collect();
    let keys: Vec<String> = positions.iter().map(|one| one.key.clone()).collect();
    let seqs: Vec<i64> = positions.iter().map(|one| one.seq).collect();
    let jobs: Vec<JobId> = positions.iter().map(|one| one.job_id).collect();
    sqlx::query!(
        r#"
        insert into headgate.serialized_jobs (integration_id, key, seq, job_id)
        select g.integration_id, g.key, g.seq, g.job_id
        from unnest($1::uuid[], $2::text[], $3::bigint[], $4::uuid[]) as g (integration_id, key, seq, job_id)
        "#,
        &lanes as &[IntegrationId],
        &keys,
        &seqs,
        &jobs as &[JobId],
    )
    .execute(&mut *connection)
    .await?;
    advance(connection, &lanes, &keys).await
}

/// Locks keys without reserving positions, before a job that has one is ended. Jobs are locked after keys, everywhere.
pub(crate) async fn lock(
    connection: &mut PgConnection,
    lanes: &[IntegrationId],
    keys: &[String],
) -> Result<()> {
    sqlx::query!(
        r#"
        select 1 as "one!" from headgate.serialize_keys k
        where (k.integration_id, k.key) in (select g.lane, g.key from unnest($1::uuid[], $2::text[]) as g (lane, key))
        order by k.integration_id, k.key collate "C"
        for update
        "#,
        lanes as &[IntegrationId],
        keys,
    )
    .fetch_all(connection)
    .await?;
    Ok(())
}

/// Locks the keys that are not locked elsewhere, without waiting; returns the owners of the other keys.
pub(crate) async fn try_lock_keys<T: Copy + Eq + Hash>(
    connection: &mut PgConnection,
    needed: &[(T, IntegrationId, String)],
) -> Result<HashSet<T>> {
    if needed.is_empty() {
        return Ok(HashSet::new());
    }
    let lanes: Vec<IntegrationId> = needed.iter().map(|(_, lane, _)| *lane).collect();
    let keys: Vec<String> = needed.iter().map(|(_, _, key)| key.clone()).collect();
    let locked_elsewhere = sqlx::query_scalar!(
        r#"
        select g.n as "n!"
        from unnest($1::uuid[], $2::text[]) with ordinality as g (lane, key, n)
        left join lateral (
            select k.key from headgate.serialize_keys k where k.integration_id = g.lane and k.key = g.key
            for update skip locked offset 0
        ) k on true
        where k.key is null and exists (select 1 from headgate.serialize_keys x where x.integration_id = g.lane and x.key = g.key)
        "#,
        &lanes as &[IntegrationId],
        &keys,
    )
    .fetch_all(connection)
    .await?;
    let owner = |n: i64| Some(needed.get(usize::try_from(n - 1).ok()?)?.0);
    Ok(locked_elsewhere.into_iter().filter_map(owner).collect())
}

/// Removes ended jobs from the queues of their keys, so that the next job of each key becomes claimable. The keys are locked already.
pub(crate) async fn leave(
    connection: &mut PgConnection,
    lanes: &[IntegrationId],
    keys: &[String],
    ended: &[JobId],
) -> Result<()> {
    sqlx::query!("delete from headgate.serialized_jobs where job_id = any ($1)", ended as &[JobId])
        .execute(&mut *connection)
        .await?;
    advance(connection, lanes, keys).await
}

/// Makes the first job of each key its head and lets it enter the queue. A head that is still a successor enters when it becomes a row. A key
/// without jobs is deleted.
pub(crate) async fn advance(
    connection: &mut PgConnection,
    lanes: &[IntegrationId],
    keys: &[String],
) -> Result<()> {
    let heads = sqlx::query_scalar!(
        r#"
        with given as materialized (
            select distinct g.integration_id, g.key from unnest($1::uuid[], $2::text[]) as g (integration_id, key)
        ), heads as materialized (
            select g.integration_id, g.key, h.job_id
            from given g
            left join lateral (
                select s.job_id from headgate.serialized_jobs s
                where s.integration_id = g.integration_id and s.key = g.key
                order by s.seq limit 1
            ) h on true
        ), deleted as (
            delete from headgate.serialize_keys k using heads h
            where k.integration_id = h.integration_id and k.key = h.key and h.job_id is null
        )
        update headgate.serialize_keys k set head_job_id = h.job_id
        from heads h
        where k.integration_id = h.integration_id and k.key = h.key and h.job_id is not null
        returning h.job_id as "job_id!: JobId"
        "#,
        lanes as &[IntegrationId],
        keys,
    )
    // Planned for the tables as they are: see `finish::BEGIN`.
    .persistent(false)
    .fetch_all(&mut *connection)
    .await?;
    enter_queue(connection, &heads).await?;
    Ok(())
}
