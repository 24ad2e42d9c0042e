//! What an id belongs to: one index lookup for each kind of object.

use model::actor::Scope;
use model::found::{Found, FoundKind};
use queue::error::QueueError;
use sqlx::PgPool;
use uuid::Uuid;

/// Everything in scope that has this id. A dead letter is found by its own id and by its job's.
pub async fn by_id(pool: &PgPool, scope: Scope, id: Uuid) -> Result<Vec<Found>, QueueError> {
    let rows = sqlx::query!(
        r#"
        select kind as "kind!", label as "label!", leads_to as "leads_to!" from (
            select 'job' as kind, j.job_type as label, j.id as leads_to, j.app_id from headgate.jobs j where j.id = $1
            union all
            select 'job', j.job_type, (j.successor ->> 'id')::uuid, j.app_id from headgate.jobs j
                where j.successor is not null and (j.successor ->> 'id')::uuid = $1
            union all select 'job', f.job_type, f.id, f.app_id from headgate.finished_jobs f where f.id = $1
            union all select 'dead_letter', d.job_type, d.job_id, d.app_id from headgate.dead_letter_jobs d where d.id = $1
            union all select 'job', d.job_type, d.job_id, d.app_id from headgate.dead_letter_jobs d where d.job_id = $1
            union all
            select 'integration', i.name || ' · ' || a.name, i.id, i.app_id from headgate.integrations i
                join headgate.apps a on a.id = i.app_id where i.id = $1
            union all select 'app', a.name, a.id, a.id from headgate.apps a where a.id = $1
            union all
            select 'resync', i.name, r.id, r.app_id from headgate.resyncs r
                join headgate.integrations i on i.id = r.integration_id where r.id = $1 or r.batch_id = $1
            union all
            select 'operation', o.action, o.id, o.app_id from headgate.operations o where o.id = $1
            union all
            select 'operation', 'delete', g.id, null from headgate.deletions g where g.id = $1
            union all select 'worker', w.host, w.id, null from headgate.workers w where w.id = $1
        ) found
        where $2::uuid is null or app_id = $2
        "#,
        id,
        scope.app_id().map(|id| id.0),
    )
    .fetch_all(pool)
    .await?;
    Ok(rows
        .into_iter()
        .filter_map(|row| {
            Some(Found { kind: row.kind.parse::<FoundKind>().ok()?, id: row.leads_to, label: row.label })
        })
        .collect())
}
