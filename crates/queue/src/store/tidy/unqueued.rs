//! Waiting jobs that would never run because they have no entry in `ready` or `waiting`.

use super::{Cursors, PORTION, count};
use crate::error::Result;
use crate::store::jobs::enter_queue;
use crate::store::leader::Term;
use model::id::{JobId, WorkerId};
use sqlx::PgPool;
use uuid::Uuid;

/// Queues those of the next thousand jobs that miss their entry; returns how many.
///
/// A transaction that takes a job out of the queue also puts it back, so a job without an entry in a snapshot is a fault. A change of the job between
/// the scan and the repair does no harm: the claim corrects an entry that does not fit its job.
pub(super) async fn repair(pool: &PgPool, term: Term, cursors: &mut Cursors) -> Result<i64> {
    let mut transaction = pool.begin().await?;
    let row = sqlx::query!(
        r#"
        with scanned as materialized (
            select id from headgate.jobs where id > $4 and (select headgate.is_leader($1, $2)) order by id limit $3
        )
        select
            array(
                select u.id from scanned l
                cross join lateral (select u.id from headgate.unqueued_jobs u where u.id = l.id offset 0) u
            ) as "unqueued!: Vec<JobId>",
            (select count(*) from scanned) as "seen!", (select id from scanned order by id desc limit 1) as "last: JobId"
        "#,
        term.holder as WorkerId,
        term.number,
        PORTION,
        cursors.job.unwrap_or(JobId(Uuid::nil())) as JobId,
    )
    .fetch_one(&mut *transaction)
    .await?;
    let entered = enter_queue(&mut transaction, &row.unqueued).await?;
    count(&mut transaction, "jobs", entered).await?;
    transaction.commit().await?;
    cursors.job = row.last.filter(|_| row.seen == PORTION);
    Ok(entered)
}
