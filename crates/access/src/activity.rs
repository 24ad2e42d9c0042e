//! The activity feed, newest first: breaker changes, notable lines of the audit log, and what the engine and its processes did. Their three
//! tables have ids that are ordered by time, and are merged by primary key.

use crate::{error::AccessError, store::activity as store};
use model::activity::{Activity, Span};
use model::actor::Scope;
use model::page::{Page, PageRequest};
use sqlx::PgPool;

/// A page of the feed. A scope of one app sees what is about that app, and nothing of the deployment's processes.
pub async fn list(
    pool: &PgPool,
    scope: Scope,
    span: Span,
    page: PageRequest,
) -> Result<Page<Activity>, AccessError> {
    let rows = store::list(pool, scope, span, page).await?;
    Ok(Page::from_surplus(rows, page.limit, |activity| activity.id))
}
