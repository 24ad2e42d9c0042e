//! Whether objects that viewers have open have changed.

use model::opened::Opened;
use queue::error::QueueError;
use sqlx::PgPool;
use std::collections::HashMap;
use uuid::Uuid;

/// The row version of each: the transactions that last wrote its rows. Of a job only the rows that can still change are read, not the day partitions of
/// finished ones; whether the time of its retry has come is part of the version, because it changes the state although nothing is written.
pub(crate) async fn row_versions(
    pool: &PgPool,
    opened: &[Opened],
) -> Result<HashMap<Opened, String>, QueueError> {
    let (mut jobs, mut integrations, mut operations) =
        (Vec::<Uuid>::new(), Vec::<Uuid>::new(), Vec::<Uuid>::new());
    for one in opened {
        match one {
            Opened::Job(id) => jobs.push(id.0),
            Opened::Integration(id) => integrations.push(id.0),
            Opened::Operation(id) => operations.push(id.0),
        }
    }
    let rows = sqlx::query!(
        r#"
        select 'job:' || o.id as "opened!", concat_ws(
            ' ',
            (select concat_ws(' ', j.xmin, j.retry_at <= statement_timestamp()) from headgate.jobs j where j.id = o.id),
            (select d.xmin from headgate.dead_letter_jobs d where d.job_id = o.id)
        ) as "version!"
        from unnest($1::uuid[]) o (id)
        union all
        select 'integration:' || o.id, concat_ws(
            ' ',
            (select i.xmin from headgate.integrations i where i.id = o.id),
            (select b.xmin from headgate.breakers b where b.integration_id = o.id)
        )
        from unnest($2::uuid[]) o (id)
        union all
        select 'operation:' || o.id, concat_ws(
            ' ',
            (select p.xmin from headgate.operations p where p.id = o.id),
            (select u.xmin from headgate.operations u where u.undoes = o.id),
            (select d.xmin from headgate.deletions d where d.id = o.id)
        )
        from unnest($3::uuid[]) o (id)
        "#,
        &jobs,
        &integrations,
        &operations,
    )
    .fetch_all(pool)
    .await?;
    Ok(rows.into_iter().filter_map(|row| Some((row.opened.parse().ok()?, row.version))).collect())
}
