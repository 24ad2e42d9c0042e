//! Counts the matches of saved views.

use crate::store::{job_lists, saved_views};
use async_trait::async_trait;
use model::{actor::Scope, matched::AtLeast};
use queue::{error::QueueError, maintenance::Service, store::leader::Term};
use sqlx::PgPool;
use std::time::{Duration, Instant};

/// How long a run may count: views that no index serves well take a quarter of a second each, and the rest waits for
/// the next run, oldest first.
const BUDGET: Duration = Duration::from_millis(1_500);

/// Views counted in a run.
const MAX_VIEWS: i64 = 100;

/// Counts pinned views and those with a threshold, once for all viewers.
#[derive(Debug)]
pub struct CountViews;

#[async_trait]
impl Service for CountViews {
    fn name(&self) -> &'static str {
        "count_views"
    }

    fn interval(&self) -> Duration {
        Duration::from_secs(5)
    }

    async fn run_once(&self, pool: &PgPool, term: Term) -> Result<bool, QueueError> {
        let began_at = Instant::now();
        for view in saved_views::due(pool, MAX_VIEWS).await? {
            let count = match &view.filter {
                Some(filter) => counted(job_lists::count(pool, Scope::AllApps, filter).await)?,
                None => None,
            };
            saved_views::record_count(pool, term, &view, count).await?;
            if began_at.elapsed() >= BUDGET {
                break;
            }
        }
        Ok(false)
    }
}

/// None: it takes too long, or this version's rules require another filter in addition.
fn counted(
    found: Result<Option<model::matched::Matched>, QueueError>,
) -> Result<Option<AtLeast>, QueueError> {
    match found {
        Ok(matched) => Ok(matched.map(|matched| matched.all)),
        Err(QueueError::Invalid(_)) => Ok(None),
        Err(error) => Err(error),
    }
}
