//! What happened, newest first: breakers, notable lines of the audit log, what the engine and its processes did. Three tables whose ids are
//! ordered by time, read as one by their primary keys.

use crate::{error::AccessError, store::activity as store};
use chrono::{DateTime, Utc};
use model::{
    activity::Activity,
    actor::Scope,
    page::{Page, PageRequest},
};
use sqlx::PgPool;

/// Between which moments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Not before.
    pub from: Option<DateTime<Utc>>,
    /// Not after.
    pub until: Option<DateTime<Utc>>,
}

/// A page of it. A scope of one app sees what is about that app: nothing of the deployment's processes.
///
/// # Errors
/// When the database cannot be asked.
pub async fn list(
    pool: &PgPool,
    scope: Scope,
    span: Span,
    page: PageRequest,
) -> Result<Page<Activity>, AccessError> {
    let rows = store::list(pool, scope, span, page).await?;
    Ok(Page::from_surplus(rows, page.limit, |activity| activity.id))
}
