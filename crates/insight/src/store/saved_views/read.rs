//! Reading views.

use chrono::{DateTime, Utc};
use model::id::{SavedViewId, UserId};
use model::saved_view::{SavedView, ViewCount};
use queue::error::QueueError;
use sqlx::{PgConnection, PgPool};

struct Row {
    id: SavedViewId,
    name: String,
    query: String,
    is_shared: bool,
    is_own: bool,
    owner_name: Option<String>,
    is_pinned: bool,
    alert_at: Option<i32>,
    n: Option<i64>,
    is_more: Option<bool>,
    counted_at: Option<DateTime<Utc>>,
    is_too_wide: Option<bool>,
    alerting_since: Option<DateTime<Utc>>,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
}

impl From<Row> for SavedView {
    fn from(row: Row) -> Self {
        let count = row.n.zip(row.counted_at);
        let count = count.map(|(n, at)| ViewCount { n, is_more: row.is_more.unwrap_or(false), at });
        Self {
            id: row.id,
            name: row.name,
            query: row.query,
            is_shared: row.is_shared,
            is_own: row.is_own,
            owner_name: row.owner_name,
            is_pinned: row.is_pinned,
            alert_at: row.alert_at,
            is_too_wide: row.is_too_wide.unwrap_or(false),
            count,
            alerting_since: row.alerting_since,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

/// All views that the viewer may see, pinned ones first; for an API key (no user) the shared ones.
pub async fn list(pool: &PgPool, viewer: Option<UserId>) -> Result<Vec<SavedView>, QueueError> {
    let rows = sqlx::query_file_as!(
        Row,
        "src/store/saved_views/read.sql",
        viewer as Option<UserId>,
        None::<SavedViewId> as Option<SavedViewId>,
        false
    );
    Ok(rows.fetch_all(pool).await?.into_iter().map(SavedView::from).collect())
}

/// The views whose threshold is reached.
pub async fn alerting(pool: &PgPool, viewer: Option<UserId>) -> Result<Vec<SavedView>, QueueError> {
    let rows = sqlx::query_file_as!(
        Row,
        "src/store/saved_views/read.sql",
        viewer as Option<UserId>,
        None::<SavedViewId> as Option<SavedViewId>,
        true
    );
    Ok(rows.fetch_all(pool).await?.into_iter().map(SavedView::from).collect())
}

/// One view.
///
/// # Errors
/// `NotFound`, also for a private view of somebody else.
pub async fn get(
    conn: &mut PgConnection,
    viewer: Option<UserId>,
    id: SavedViewId,
) -> Result<SavedView, QueueError> {
    let row = sqlx::query_file_as!(
        Row,
        "src/store/saved_views/read.sql",
        viewer as Option<UserId>,
        Some(id) as Option<SavedViewId>,
        false
    );
    row.fetch_optional(conn).await?.map(SavedView::from).ok_or(QueueError::NotFound)
}
