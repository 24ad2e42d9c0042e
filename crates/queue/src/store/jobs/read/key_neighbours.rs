//! The jobs around one in the queue of its serialize key.

use crate::error::Result;
use model::id::JobId;
use model::job::{JobStatus, KeyNeighbour};
use sqlx::PgPool;

/// How many jobs before it and behind it are returned.
const MAX_PER_SIDE: i64 = 3;

/// Jobs of the same serialize key, in order: the head of the key, up to three before the job, the job itself, up to three behind it. Empty when
/// the job has no key.
pub async fn key_neighbours(pool: &PgPool, id: JobId) -> Result<Vec<KeyNeighbour>> {
    let rows = sqlx::query!(
        r#"
        with own as materialized (
            select integration_id, key, seq from headgate.serialized_jobs where job_id = $1
        ), around as (
            (select s.seq, s.job_id from own o join headgate.serialized_jobs s on s.integration_id = o.integration_id and s.key = o.key
                order by s.seq limit 1)
            union
            (select s.seq, s.job_id from own o join headgate.serialized_jobs s on s.integration_id = o.integration_id and s.key = o.key
                and s.seq <= o.seq order by s.seq desc limit $2::bigint + 1)
            union
            (select s.seq, s.job_id from own o join headgate.serialized_jobs s on s.integration_id = o.integration_id and s.key = o.key
                and s.seq > o.seq order by s.seq limit $2::bigint)
        )
        select a.job_id as "id!: JobId", j.status, j.retry_at, j.job_type, clock_timestamp() as "now!"
        from around a join headgate.jobs j on j.id = a.job_id
        order by a.seq
        "#,
        id as JobId,
        MAX_PER_SIDE,
    )
    .fetch_all(pool)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| KeyNeighbour {
            id: row.id,
            status: JobStatus::from_code(row.status, row.retry_at, row.now),
            job_type: row.job_type,
        })
        .collect())
}
