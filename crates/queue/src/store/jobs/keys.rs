//! Serialize keys: jobs of one key run one at a time, in the order of acceptance.
//!
//! The row of the key is the lock; it hands out places and knows its head. Only the head stands in `ready` or `waiting`, so that
//! the claim needs no special case. A head that waits for its retry keeps the key. Key rows are locked before jobs.

use super::entries::enter_queue;
use crate::error::QueueError;
use model::id::{IntegrationId, JobId};
use sqlx::PgConnection;
use std::{
    collections::{BTreeMap, HashSet},
    hash::Hash,
};

/// A job that has a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyed<'a> {
    pub integration_id: IntegrationId,
    pub key: &'a str,
    pub job_id: JobId,
}

/// A place in the line of a key.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub integration_id: IntegrationId,
    pub key: String,
    pub seq: i64,
    pub job_id: JobId,
}

/// Locks the keys and hands out places in the order given. Places that are not used leave a gap, which is harmless.
pub(crate) async fn take_places(
    connection: &mut PgConnection,
    keyed: &[Keyed<'_>],
) -> Result<Vec<Place>, QueueError> {
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
            let place = Place {
                integration_id: one.integration_id,
                key: one.key.to_owned(),
                seq: *seq,
                job_id: one.job_id,
            };
            *seq += 1;
            Some(place)
        })
        .collect())
}

/// Puts jobs into the lines they took places of, and makes the first of a line without a head its head.
pub(crate) async fn line_up(connection: &mut PgConnection, places: Vec<Place>) -> Result<(), QueueError> {
    let lanes: Vec<IntegrationId> = places.iter().map(|place| place.integration_id).collect();
    let keys: Vec<String> = places.iter().map(|place| place.key.clone()).collect();
    let seqs: Vec<i64> = places.iter().map(|place| place.seq).collect();
    let jobs: Vec<JobId> = places.iter().map(|place| place.job_id).collect();
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

/// Locks keys without taking a place: before a job that holds one is ended. Jobs are locked after keys, everywhere.
pub(crate) async fn lock(
    connection: &mut PgConnection,
    lanes: &[IntegrationId],
    keys: &[String],
) -> Result<(), QueueError> {
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

/// Locks those keys that nobody holds, waits for none, and answers who needs one of the others.
pub(crate) async fn lock_free<T: Copy + Eq + Hash>(
    connection: &mut PgConnection,
    needed: &[(T, IntegrationId, String)],
) -> Result<HashSet<T>, QueueError> {
    if needed.is_empty() {
        return Ok(HashSet::new());
    }
    let lanes: Vec<IntegrationId> = needed.iter().map(|(_, lane, _)| *lane).collect();
    let keys: Vec<String> = needed.iter().map(|(_, _, key)| key.clone()).collect();
    let places = sqlx::query_scalar!(
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
    Ok(places.into_iter().filter_map(|n| Some(needed.get(usize::try_from(n - 1).ok()?)?.0)).collect())
}

/// Takes jobs that came to their end out of their lines; the next of each line becomes claimable. The keys are locked.
pub(crate) async fn leave(
    connection: &mut PgConnection,
    lanes: &[IntegrationId],
    keys: &[String],
    ended: &[JobId],
) -> Result<(), QueueError> {
    sqlx::query!("delete from headgate.serialized_jobs where job_id = any ($1)", ended as &[JobId])
        .execute(&mut *connection)
        .await?;
    advance(connection, lanes, keys).await
}

/// Decides the head of each key anew: the first in line, which enters the queue. One that is still a successor enters when it becomes a row.
/// A key with nobody in line is forgotten.
pub(crate) async fn advance(
    connection: &mut PgConnection,
    lanes: &[IntegrationId],
    keys: &[String],
) -> Result<(), QueueError> {
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
        ), forgotten as (
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
