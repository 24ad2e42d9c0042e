//! Counts what saved views find.

use super::Service;
use crate::{
    error::QueueError,
    store::{jobs, leader::Term, saved_views},
};
use async_trait::async_trait;
use model::{actor::Scope, matched::AtLeast};
use sqlx::PgPool;
use std::time::{Duration, Instant};

/// How long counting may take of each run: views that nothing serves well take a quarter of a second each, and those after them wait for
/// the next run, oldest first.
const BUDGET: Duration = Duration::from_millis(1_500);

/// Looked at in a run.
const MOST: i64 = 100;

/// Pinned views and those with a threshold, counted by one process for all who look at them.
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
        let begun = Instant::now();
        for view in saved_views::due(pool, MOST).await? {
            let count = match &view.filter {
                Some(filter) => counted(jobs::count(pool, Scope::AllApps, filter).await)?,
                None => None,
            };
            saved_views::note(pool, term, &view, count).await?;
            if begun.elapsed() >= BUDGET {
                break;
            }
        }
        Ok(false)
    }
}

/// None: it takes too long, or the rules ask for another filter beside it by now.
fn counted(
    found: Result<Option<model::matched::Matched>, QueueError>,
) -> Result<Option<AtLeast>, QueueError> {
    match found {
        Ok(matched) => Ok(matched.map(|matched| matched.all)),
        Err(QueueError::Invalid(_)) => Ok(None),
        Err(error) => Err(error),
    }
}
