//! The counts of views, taken once for all viewers, and the alerts that follow from them.

use chrono::{DateTime, Utc};
use model::filter::JobFilter;
use model::id::SavedViewId;
use model::matched::AtLeast;
use model::saved_view::{AlertChange, SavedView, alert_change, reason, reason_without_count};
use queue::error::QueueError;
use queue::store::leader::{Term, confirm};
use queue::store::system_events::{self, ViewEvent};
use serde_json::Value;
use sqlx::{PgConnection, PgPool};

/// A view to count.
#[derive(Clone, Debug)]
pub struct CountedView {
    /// Its id.
    pub id: SavedViewId,
    /// Its filter; none when this version cannot read it, because a newer one saved it.
    pub filter: Option<JobFilter>,
    /// The filter's stored form.
    stored: Value,
}

/// The views that are pinned or have a threshold, those not counted for longest first.
pub async fn due(pool: &PgPool, limit: i64) -> Result<Vec<CountedView>, QueueError> {
    let rows = sqlx::query!(
        r#"
        select v.id as "id: SavedViewId", v.filter
        from headgate.saved_views v
        left join headgate.saved_view_counts c on c.view_id = v.id
        where v.alert_at is not null or exists (select from headgate.saved_view_pins p where p.view_id = v.id)
        order by c.tried_at nulls first, v.id
        limit $1
        "#,
        limit
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

/// Stores a count, or that it failed, and begins or ends the view's alert. The view's row is locked: of two processes that count,
/// one begins the alert and the other finds it begun.
///
/// # Errors
/// `TermOver` when another process leads.
pub async fn record_count(
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
    // Deleted, unpinned or given another filter meanwhile.
    let Some(row) = row else { return Ok(()) };
    // Read after the lock: the locking statement itself would see what was there before the other process committed.
    let before = sqlx::query_scalar!(
        "select alerting_since from headgate.saved_view_counts where view_id = $1",
        view.id as SavedViewId
    )
    .fetch_optional(&mut *tx)
    .await?
    .flatten();
    let turns =
        count.map_or(AlertChange::Unchanged, |count| alert_change(before, count.n, row.alert_at, row.now));
    let since = match turns {
        AlertChange::Begins => Some(row.now),
        AlertChange::Ends => None,
        AlertChange::Unchanged => before,
    };
    save(&mut tx, view.id, row.now, count, since).await?;
    if let (true, Some(count), Some(alert_at)) = (row.is_shared, count, row.alert_at) {
        let event = match turns {
            AlertChange::Begins => Some(ViewEvent::Alert),
            AlertChange::Ends => Some(ViewEvent::Calm),
            AlertChange::Unchanged => None,
        };
        if let Some(event) = event {
            // The feed is read by roles that see payloads masked: to them a number could confirm a guess, now or once the value is masked.
            let asks_payload = view.filter.as_ref().is_some_and(|filter| filter.payload.is_some());
            let why = if asks_payload { reason_without_count(alert_at) } else { reason(count, alert_at) };
            system_events::view_alert(&mut tx, event, &row.name, &why).await?;
        }
    }
    tx.commit().await?;
    Ok(())
}

async fn save(
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

/// Ends an alert whose view or threshold is removed.
pub(super) async fn end_alert(
    conn: &mut PgConnection,
    view: &SavedView,
    why: &str,
) -> Result<(), QueueError> {
    sqlx::query!(
        "update headgate.saved_view_counts set alerting_since = null where view_id = $1",
        view.id as SavedViewId
    )
    .execute(&mut *conn)
    .await?;
    if view.is_shared {
        system_events::view_alert(conn, ViewEvent::Calm, &view.name, why).await?;
    }
    Ok(())
}
