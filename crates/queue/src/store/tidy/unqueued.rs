//! Jobs that wait and that nothing would ever find, because they stand neither in `ready` nor in `waiting`.

use super::{CHUNK, Cursors, note};
use crate::{
    error::QueueError,
    store::{jobs::enter_queue, leader::Term},
};
use model::id::{JobId, WorkerId};
use sqlx::PgPool;
use uuid::Uuid;

/// Lets those of the next thousand jobs into the queue that belong there; answers how many.
///
/// Whoever takes a job out of the queue puts it back in the same transaction, so a snapshot that has it in none has found a fault. What is
/// changed until it is let in does no harm: a claim puts an entry right that its job does not fit.
///
/// # Errors
/// When the database cannot be asked.
pub(super) async fn let_in(pool: &PgPool, term: Term, cursors: &mut Cursors) -> Result<i64, QueueError> {
    let mut transaction = pool.begin().await?;
    let row = sqlx::query!(
        r#"
        with looked_at as materialized (
            select id from headgate.jobs where id > $4 and (select headgate.is_leader($1, $2)) order by id limit $3
        )
        select
            array(
                select u.id from looked_at l
                cross join lateral (select u.id from headgate.unqueued_jobs u where u.id = l.id offset 0) u
            ) as "unqueued!: Vec<JobId>",
            (select count(*) from looked_at) as "seen!", (select id from looked_at order by id desc limit 1) as "last: JobId"
        "#,
        term.holder as WorkerId,
        term.number,
        CHUNK,
        cursors.job.unwrap_or(JobId(Uuid::nil())) as JobId,
    )
    .fetch_one(&mut *transaction)
    .await?;
    let entered = enter_queue(&mut transaction, &row.unqueued).await?;
    note(&mut transaction, "jobs", entered).await?;
    transaction.commit().await?;
    cursors.job = row.last.filter(|_| row.seen == CHUNK);
    Ok(entered)
}
