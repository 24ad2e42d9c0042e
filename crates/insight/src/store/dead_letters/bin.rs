//! Lists the bin: what was purged in the last 24 hours.

use super::read::Row;
use chrono::{DateTime, Utc};
use model::actor::Scope;
use model::dead_letter::{BinPageRequest, BinnedLetter, DeadLetter};
use model::id::{AppId, OperationId};
use model::page::Page;
use queue::error::QueueError;
use sqlx::{PgPool, types::Json};

/// The purged letters, those purged last first.
pub async fn binned(
    pool: &PgPool,
    scope: Scope,
    page: BinPageRequest,
) -> Result<Page<BinnedLetter>, QueueError> {
    struct Binned {
        binned_at: DateTime<Utc>,
        operation_id: Option<OperationId>,
        letter: Json<Row>,
    }
    let rows = sqlx::query_as!(
        Binned,
        r#"
        select b.binned_at, b.operation_id as "operation_id: OperationId",
            b.letter || jsonb_build_object('payload', coalesce(nullif(b.letter -> 'sent_body', 'null'), b.letter -> 'payload'))
                as "letter!: Json<Row>"
        from headgate.bin b
        where b.was = 'purged' and ($1::uuid is null or b.app_id = $1)
            and b.binned_at > (select clock_timestamp()) - interval '24 hours'
            and coalesce(b.integration_id <> all (array(
                select unnest(g.integration_ids) from headgate.deletions g where g.finished_at is null
            )), true)
            and ($2::timestamptz is null or (b.binned_at, b.id) < ($2, $3::uuid))
        order by b.binned_at desc, b.id desc
        limit $4
        "#,
        scope.app_id() as Option<AppId>,
        page.after.map(|(at, _)| at),
        page.after.map(|(_, id)| id.0),
        page.limit + 1,
    )
    .fetch_all(pool)
    .await?;
    let letters = rows.into_iter().map(|row| BinnedLetter {
        letter: DeadLetter::from(row.letter.0),
        binned_at: row.binned_at,
        deleted_at: row.binned_at + chrono::TimeDelta::hours(24),
        operation_id: row.operation_id,
    });
    Ok(Page::of_bin(letters.collect(), page.limit))
}
