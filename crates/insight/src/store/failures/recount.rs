//! Compares the counters of failures with the rows, one cause at a time; [`queue::store::counts::recount`] says why that is exact.

use model::failure::CauseId;
use queue::error::QueueError;
use sqlx::PgConnection;

/// The next cause after this one that has counters, failing jobs or dead letters: one index lookup each.
pub async fn next_cause(
    connection: &mut PgConnection,
    after: CauseId,
) -> Result<Option<CauseId>, QueueError> {
    let next = sqlx::query_scalar!(
        r#"
        select least(
            (select cause from headgate.failure_groups where cause > $1 order by cause limit 1),
            (select cause from headgate.failure_counts where cause > $1 order by cause limit 1),
            (
                select left(fingerprint, 16) from headgate.failing_jobs
                where left(fingerprint, 16) > $1
                order by left(fingerprint, 16) limit 1
            ),
            (
                select left(fingerprint, 16) from headgate.dead_letter_jobs
                where left(fingerprint, 16) > $1
                order by left(fingerprint, 16) limit 1
            )
        ) as next
        "#,
        after.to_string(),
    )
    .fetch_one(connection)
    .await?;
    Ok(next.and_then(|next| next.parse().ok()))
}

/// Corrects the counters of a cause; returns by how many jobs they were wrong.
pub async fn prove_failures(connection: &mut PgConnection, cause: CauseId) -> Result<i64, QueueError> {
    let off_by = sqlx::query_scalar!(
        r#"
        with kept as materialized (
            select fingerprint, integration_id, waiting, dead from headgate.failure_counts where cause = $1
        ), counted as materialized (
            select fingerprint, integration_id, sum(waiting)::bigint as waiting, sum(dead)::bigint as dead
            from (
                select fingerprint, integration_id, waiting, dead from kept
                union all
                select fingerprint, integration_id, waiting, dead from headgate.failure_deltas where left(fingerprint, 16) = $1
            ) counts
            group by 1, 2
        ), there as materialized (
            select fingerprint, integration_id, sum(waiting)::bigint as waiting, sum(dead)::bigint as dead
            from (
                select fingerprint, integration_id, 1 as waiting, 0 as dead from headgate.failing_jobs where left(fingerprint, 16) = $1
                union all
                select fingerprint, integration_id, 0, 1 from headgate.dead_letter_jobs where left(fingerprint, 16) = $1
            ) seen
            group by 1, 2
        ), differences as materialized (
            select fingerprint, integration_id, coalesce(t.waiting, 0) - coalesce(c.waiting, 0) as waiting,
                coalesce(t.dead, 0) - coalesce(c.dead, 0) as dead
            from counted c
            full join there t using (fingerprint, integration_id)
            where coalesce(t.waiting, 0) <> coalesce(c.waiting, 0) or coalesce(t.dead, 0) <> coalesce(c.dead, 0)
        ), whole as materialized (
            -- A group has what its integrations have together: deltas change both.
            select g.cause, g.last_at, k.waiting - g.waiting as waiting, k.dead - g.dead as dead
            from headgate.failure_groups g
            cross join (
                select coalesce(sum(waiting), 0)::bigint as waiting, coalesce(sum(dead), 0)::bigint as dead from kept
            ) k
            where g.cause = $1
        ), repaired_parts as (
            -- At the time of the last failure, because a repair is no failure and must not reopen the group.
            insert into headgate.failure_deltas (fingerprint, integration_id, at, waiting, dead)
            select d.fingerprint, d.integration_id, coalesce((select last_at from whole), clock_timestamp()), d.waiting::int, d.dead::int
            from differences d
        ), repaired_whole as (
            update headgate.failure_groups g set waiting = g.waiting + w.waiting, dead = g.dead + w.dead
            from whole w
            where g.cause = w.cause and (w.waiting <> 0 or w.dead <> 0)
        )
        select (
            coalesce((select sum(abs(waiting) + abs(dead)) from differences), 0)
            + coalesce((select abs(waiting) + abs(dead) from whole), 0)
        )::bigint as "off_by!"
        "#,
        cause.to_string(),
    )
    .fetch_one(connection)
    .await?;
    Ok(off_by)
}
