//! Lines of serialize keys that stand still because the job they wait for is gone.

use super::{Line, note};
use crate::{
    error::QueueError,
    store::{
        jobs::keys,
        leader::{self, Term},
    },
};
use model::id::IntegrationId;
use sqlx::{PgConnection, PgPool};

/// Takes those that are gone out of these lines and lets the next of each go on; answers how many lines. A line that someone is changing is
/// passed over: it is found again.
///
/// # Errors
/// [`QueueError::LeaseLost`] when the term is over; when the database is away.
pub(super) async fn heal(pool: &PgPool, term: Term, lines: Vec<Line>) -> Result<i64, QueueError> {
    let mut transaction = pool.begin().await?;
    leader::confirm(&mut transaction, term).await?;
    let (lanes, names) = hold(&mut transaction, lines).await?;
    // Statements of their own: with the keys locked nobody joins or leaves, and these see what was committed before.
    sqlx::query!(
        r#"
        delete from headgate.serialized_jobs s
        using unnest($1::uuid[], $2::text[]) as g (integration_id, key)
        where s.integration_id = g.integration_id and s.key = g.key
            and not exists (select 1 from headgate.jobs j where j.id = s.job_id)
            and not exists (
                select 1 from headgate.jobs j where (j.successor ->> 'id')::uuid = s.job_id and j.successor is not null
            )
        "#,
        &lanes as &[IntegrationId],
        &names,
    )
    .execute(&mut *transaction)
    .await?;
    keys::advance(&mut transaction, &lanes, &names).await?;
    let healed = i64::try_from(lanes.len()).unwrap_or(i64::MAX);
    note(&mut transaction, "serialized_jobs", healed).await?;
    transaction.commit().await?;
    Ok(healed)
}

async fn hold(
    connection: &mut PgConnection,
    lines: Vec<Line>,
) -> Result<(Vec<IntegrationId>, Vec<String>), QueueError> {
    let (lanes, names): (Vec<IntegrationId>, Vec<String>) = lines.into_iter().unzip();
    let held = sqlx::query!(
        r#"
        select k.integration_id as "integration_id: IntegrationId", k.key from headgate.serialize_keys k
        where (k.integration_id, k.key) in (select g.lane, g.key from unnest($1::uuid[], $2::text[]) as g (lane, key))
        order by k.integration_id, k.key collate "C"
        for update skip locked
        "#,
        &lanes as &[IntegrationId],
        &names,
    )
    .fetch_all(connection)
    .await?;
    Ok(held.into_iter().map(|row| (row.integration_id, row.key)).unzip())
}
