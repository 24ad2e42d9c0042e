//! Locking the rows of jobs.

use crate::error::Result;
use model::id::JobId;
use sqlx::PgConnection;

/// Locks jobs, in the order in which they are locked everywhere. A claim skips locked jobs, and every statement that takes an entry out of
/// `ready` holds the lock of its job.
pub(crate) async fn lock(connection: &mut PgConnection, ids: &[JobId]) -> Result<()> {
    sqlx::query!(
        r#"
        select 1 as "one!" from headgate.jobs
        where id = any ($1)
        order by integration_id, deduplication_id collate "C" nulls last, id
        for update
        "#,
        ids as &[JobId]
    )
    .fetch_all(connection)
    .await?;
    Ok(())
}
