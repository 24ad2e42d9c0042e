//! What a view's filters find, counted once for all who look at it, and the alert that follows from it.

use crate::{
    error::QueueError,
    store::{
        leader::{Term, confirm},
        system_events::{self, ViewEvent},
    },
};
use chrono::{DateTime, Utc};
use model::{
    filter::JobFilter,
    id::SavedViewId,
    matched::AtLeast,
    saved_view::{SavedView, Turn, reason, turn},
};
use serde_json::Value;
use sqlx::{PgConnection, PgPool};

/// A view that is to be counted.
#[derive(Clone, Debug)]
pub struct CountedView {
    /// Which.
    pub id: SavedViewId,
    /// What it narrows to; none when a newer version saved what this one does not know.
    pub filter: Option<JobFilter>,
    /// The same as it is stored.
    stored: Value,
}

/// Those that somebody pinned or that have a threshold, the ones not counted for longest first.
///
/// # Errors
/// The database's.
pub async fn due(pool: &PgPool, most: i64) -> Result<Vec<CountedView>, QueueError> {
    let rows = sqlx::query!(
        r#"
        select v.id as "id: SavedViewId", v.filter
        from headgate.saved_views v
        left join headgate.saved_view_counts c on c.view_id = v.id
        where v.alert_at is not null or exists (select from headgate.saved_view_pins p where p.view_id = v.id)
        order by c.tried_at nulls first, v.id
        limit $1
        "#,
        most
    )
    .fetch_all(pool)
    .await?;
    let views = rows.into_iter().map(|row| CountedView {
        id: row.id,
        filter: serde_json::from_value(row.filter.clone()).ok(),
        stored: row.filter,
    });
    Ok(views.collect())
}

/// Keeps what was counted, or that it could not be, and begins or ends the view's alert. The view's row is locked: of two processes that count,
/// one begins it and the other finds it begun.
///
/// # Errors
/// `LeaseLost` when another process leads.
pub async fn note(
    pool: &PgPool,
    term: Term,
    view: &CountedView,
    count: Option<AtLeast>,
) -> Result<(), QueueError> {
    let mut tx = pool.begin().await?;
    confirm(&mut tx, term).await?;
    let row = sqlx::query!(
        r#"
        select v.name, v.is_shared, v.alert_at, clock_timestamp() as "now!"
        from headgate.saved_views v
        where v.id = $1 and v.filter = $2
            and (v.alert_at is not null or exists (select from headgate.saved_view_pins p where p.view_id = v.id))
        for update
        "#,
        view.id as SavedViewId,
        view.stored,
    )
    .fetch_optional(&mut *tx)
    .await?;
    // Deleted, unpinned or narrowed otherwise meanwhile.
    let Some(row) = row else { return Ok(()) };
    // Asked once the row is locked: beside it, in one statement, it would be as it was before the other process let go.
    let before = sqlx::query_scalar!(
        "select alerting_since from headgate.saved_view_counts where view_id = $1",
        view.id as SavedViewId
    )
    .fetch_optional(&mut *tx)
    .await?
    .flatten();
    let turns = count.map_or(Turn::Stays, |count| turn(before, count.n, row.alert_at, row.now));
    let since = match turns {
        Turn::Begins => Some(row.now),
        Turn::Ends => None,
        Turn::Stays => before,
    };
    keep(&mut tx, view.id, row.now, count, since).await?;
    if let (true, Some(count), Some(alert_at)) = (row.is_shared, count, row.alert_at) {
        let event = match turns {
            Turn::Begins => Some(ViewEvent::Alert),
            Turn::Ends => Some(ViewEvent::Calm),
            Turn::Stays => None,
        };
        if let Some(event) = event {
            system_events::of_view(&mut tx, event, &row.name, &reason(count, alert_at)).await?;
        }
    }
    tx.commit().await?;
    Ok(())
}

async fn keep(
    conn: &mut PgConnection,
    id: SavedViewId,
    now: DateTime<Utc>,
    count: Option<AtLeast>,
    alerting_since: Option<DateTime<Utc>>,
) -> Result<(), QueueError> {
    sqlx::query!(
        r#"
        insert into headgate.saved_view_counts as c (view_id, n, is_more, counted_at, tried_at, is_too_wide, alerting_since)
        values ($1, $2, coalesce($3, false), case when $2::bigint is not null then $4::timestamptz end, $4, $2::bigint is null, $5)
        on conflict (view_id) do update
        set n = coalesce(excluded.n, c.n), is_more = case when excluded.n is null then c.is_more else excluded.is_more end,
            counted_at = coalesce(excluded.counted_at, c.counted_at), tried_at = excluded.tried_at, is_too_wide = excluded.is_too_wide,
            alerting_since = excluded.alerting_since
        "#,
        id as SavedViewId,
        count.map(|count| count.n),
        count.map(|count| count.is_more),
        now,
        alerting_since,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Ends an alert by hand, because what alerted is no more.
pub(super) async fn ends(conn: &mut PgConnection, view: &SavedView, why: &str) -> Result<(), QueueError> {
    sqlx::query!(
        "update headgate.saved_view_counts set alerting_since = null where view_id = $1",
        view.id as SavedViewId
    )
    .execute(&mut *conn)
    .await?;
    if view.is_shared {
        system_events::of_view(conn, ViewEvent::Calm, &view.name, why).await?;
    }
    Ok(())
}
