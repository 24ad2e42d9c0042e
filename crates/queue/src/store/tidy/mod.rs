//! Repairs what a fault or somebody with psql left behind: rows whose job is gone, and jobs that are in no queue. It scans the tables
//! in portions.
//!
//! An entry without a job is deleted only when it is older than any transaction that may be under way, and only when a fresh snapshot afterwards still has
//! no such job: a job that is requeued under its old id at this moment would be left without an entry.

mod serialized;
mod unqueued;

use crate::{error::Result, store::leader::Term};
use chrono::{DateTime, Utc};
use model::id::{IntegrationId, JobId, WorkerId};
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

/// Rows scanned by one statement.
const PORTION: i64 = 1_000;

/// A serialize key of an integration.
type Key = (IntegrationId, String);

/// How far a scan has come; the default is the beginning.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cursors {
    /// In `ready`: integration, rank, time and job.
    ready: Option<(Uuid, i16, DateTime<Utc>, Uuid)>,
    /// In `waiting`.
    waiting: Option<Uuid>,
    /// In `serialize_keys`.
    key: Option<(Uuid, String)>,
    /// In `jobs`.
    job: Option<JobId>,
}

/// What one or several portions of each table needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tidied {
    /// Deleted entries of `ready` without a job.
    pub ready: i64,
    /// Deleted entries of `waiting` without a job.
    pub waiting: i64,
    /// Deleted serialize keys without jobs.
    pub keys: i64,
    /// Serialize keys whose head was gone: the next job is their head now.
    pub heads: i64,
    /// Jobs that were in no queue: they are queued again.
    pub jobs: i64,
    /// Whether every table was scanned to its end.
    pub is_complete: bool,
}

impl std::ops::AddAssign for Tidied {
    fn add_assign(&mut self, portion: Self) {
        self.ready += portion.ready;
        self.waiting += portion.waiting;
        self.keys += portion.keys;
        self.heads += portion.heads;
        self.jobs += portion.jobs;
        self.is_complete = portion.is_complete;
    }
}

/// Scans the next thousand rows of each table, and repairs what it finds.
pub async fn scan(pool: &PgPool, term: Term, cursors: &mut Cursors) -> Result<Tidied> {
    let mut next = cursors.clone();
    let mut transaction = pool.begin().await?;
    let mut gone = ready(&mut transaction, term, &mut next).await?;
    let ready = gone.len() as i64;
    gone.extend(waiting(&mut transaction, term, &mut next).await?);
    let waiting = gone.len() as i64 - ready;
    let (keys, headless) = keys(&mut transaction, term, &mut next).await?;
    if !gone.is_empty() && any_exists(&mut transaction, &gone).await? {
        transaction.rollback().await?;
        return Ok(Tidied::default());
    }
    transaction.commit().await?;
    let heads = if headless.is_empty() { 0 } else { serialized::repair(pool, term, headless).await? };
    let jobs = unqueued::repair(pool, term, &mut next).await?;
    let is_complete = next == Cursors::default();
    *cursors = next;
    Ok(Tidied { ready, waiting, keys, heads, jobs, is_complete })
}

/// Adds to the counts of repairs.
async fn count(connection: &mut PgConnection, what: &str, n: i64) -> Result<()> {
    if n > 0 {
        sqlx::query!(
            r#"
            insert into headgate.tidied as t (what, n) values ($1, $2)
            on conflict (what) do update set n = t.n + excluded.n
            "#,
            what,
            n,
        )
        .execute(connection)
        .await?;
    }
    Ok(())
}

async fn any_exists(connection: &mut PgConnection, gone: &[Uuid]) -> Result<bool> {
    let exists = sqlx::query_scalar!(
        r#"select exists (select 1 from headgate.jobs where id = any ($1)) as "exists!""#,
        gone
    )
    .fetch_one(connection)
    .await?;
    Ok(exists)
}

async fn ready(connection: &mut PgConnection, term: Term, cursors: &mut Cursors) -> Result<Vec<Uuid>> {
    let (lane, rank, at, job) =
        cursors.ready.unwrap_or((Uuid::nil(), i16::MIN, DateTime::UNIX_EPOCH, Uuid::nil()));
    let row = sqlx::query!(
        r#"
        with scanned as materialized (
            select integration_id, rank, created_at, job_id from headgate.ready
            where (integration_id, rank, created_at, job_id) > ($4, $5, $6, $7) and (select headgate.is_leader($1, $2))
            order by integration_id, rank, created_at, job_id
            limit $3
        ), orphans as materialized (
            select r.integration_id, r.rank, r.created_at, r.job_id
            from scanned l
            join headgate.ready r using (integration_id, rank, created_at, job_id)
            where not exists (select 1 from headgate.jobs j where j.id = l.job_id)
                and l.created_at < clock_timestamp() - interval '10 minutes'
            for update of r skip locked
        ), gone as (
            delete from headgate.ready r using orphans o
            where (r.integration_id, r.rank, r.created_at, r.job_id) = (o.integration_id, o.rank, o.created_at, o.job_id)
            returning r.job_id
        ), noted as (
            insert into headgate.tidied as t (what, n) select 'ready', count(*) from gone having count(*) > 0
            on conflict (what) do update set n = t.n + excluded.n
        ), last as (
            select integration_id, rank, created_at, job_id from scanned
            order by integration_id desc, rank desc, created_at desc, job_id desc limit 1
        )
        select array(select job_id from gone) as "gone!", (select count(*) from scanned) as "seen!",
            (select integration_id from last) as lane, (select rank from last) as rank, (select created_at from last) as at,
            (select job_id from last) as job
        "#,
        term.holder as WorkerId,
        term.number,
        PORTION,
        lane,
        rank,
        at,
        job,
    )
    .fetch_one(&mut *connection)
    .await?;
    let last = row.lane.zip(row.rank).zip(row.at).zip(row.job);
    cursors.ready =
        last.filter(|_| row.seen == PORTION).map(|(((lane, rank), at), job)| (lane, rank, at, job));
    Ok(row.gone)
}

async fn waiting(connection: &mut PgConnection, term: Term, cursors: &mut Cursors) -> Result<Vec<Uuid>> {
    let row = sqlx::query!(
        r#"
        with scanned as materialized (
            select job_id from headgate.waiting
            where job_id > $4 and (select headgate.is_leader($1, $2))
            order by job_id
            limit $3
        ), orphans as materialized (
            select w.due_at, w.job_id
            from scanned l
            join headgate.waiting w using (job_id)
            where not exists (select 1 from headgate.jobs j where j.id = l.job_id)
            for update of w skip locked
        ), gone as (
            -- Compared again with the row locked: a job that was requeued meanwhile has moved its entry, and then nothing matches.
            delete from headgate.waiting w using orphans o
            where w.due_at = o.due_at and w.job_id = o.job_id and w.due_at < clock_timestamp() - interval '10 minutes'
            returning w.job_id
        ), noted as (
            insert into headgate.tidied as t (what, n) select 'waiting', count(*) from gone having count(*) > 0
            on conflict (what) do update set n = t.n + excluded.n
        )
        select array(select job_id from gone) as "gone!", (select count(*) from scanned) as "seen!",
            (select job_id from scanned order by job_id desc limit 1) as last
        "#,
        term.holder as WorkerId,
        term.number,
        PORTION,
        cursors.waiting.unwrap_or_default(),
    )
    .fetch_one(&mut *connection)
    .await?;
    cursors.waiting = row.last.filter(|_| row.seen == PORTION);
    Ok(row.gone)
}

/// How many keys without jobs were deleted, and the keys whose head is gone.
async fn keys(connection: &mut PgConnection, term: Term, cursors: &mut Cursors) -> Result<(i64, Vec<Key>)> {
    let (lane, key) = cursors.key.clone().unwrap_or_default();
    let row = sqlx::query!(
        r#"
        with scanned as materialized (
            select integration_id, key, head_job_id, next_seq from headgate.serialize_keys
            where (integration_id, key) > ($4, $5) and (select headgate.is_leader($1, $2))
            order by integration_id, key
            limit $3
        ), empty as materialized (
            select k.integration_id, k.key, l.next_seq
            from scanned l
            join headgate.serialize_keys k using (integration_id, key)
            where not exists (
                select 1 from headgate.serialized_jobs s where s.integration_id = l.integration_id and s.key = l.key
            )
            for update of k skip locked
        ), gone as (
            -- A job that joined meanwhile has raised the number.
            delete from headgate.serialize_keys k using empty e
            where k.integration_id = e.integration_id and k.key = e.key and k.next_seq = e.next_seq
            returning 1
        ), noted as (
            insert into headgate.tidied as t (what, n) select 'serialize_keys', count(*) from gone having count(*) > 0
            on conflict (what) do update set n = t.n + excluded.n
        ), headless as materialized (
            -- A head is a job, or becomes one when its predecessor has ended.
            select l.integration_id, l.key
            from scanned l
            where exists (select 1 from headgate.serialized_jobs s where s.integration_id = l.integration_id and s.key = l.key)
                and not exists (select 1 from headgate.jobs j where j.id = l.head_job_id)
                and not exists (
                    select 1 from headgate.jobs j where (j.successor ->> 'id')::uuid = l.head_job_id and j.successor is not null
                )
        ), last as (
            select integration_id, key from scanned order by integration_id desc, key desc limit 1
        )
        select array(select integration_id from headless order by integration_id, key) as "headless_lanes!: Vec<IntegrationId>",
            array(select key from headless order by integration_id, key) as "headless_keys!",
            (select count(*) from gone) as "gone!", (select count(*) from scanned) as "seen!",
            (select integration_id from last) as lane, (select key from last) as key
        "#,
        term.holder as WorkerId,
        term.number,
        PORTION,
        lane,
        key,
    )
    .fetch_one(&mut *connection)
    .await?;
    cursors.key = row.lane.zip(row.key).filter(|_| row.seen == PORTION);
    let headless = row.headless_lanes.into_iter().zip(row.headless_keys).collect();
    Ok((row.gone, headless))
}
