//! The counters of records: folded every second, and proven by the engine's recount.

use std::sync::Arc;

use async_trait::async_trait;
use model::id::{AppId, IntegrationId};
use queue::QueueError;
use queue::maintenance::{Counters, Service, fold_counts};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::store::{fold_records, recount_records};

pub(super) fn fold() -> Arc<dyn Service> {
    fold_counts(
        "fold_record_counts",
        "exists (select from headgate.record_count_deltas) or exists (select from headgate.in_sync_count_deltas)",
        &[
            |pool, term| Box::pin(fold_records::record_counts(pool, term)),
            |pool, term| Box::pin(fold_records::in_sync_counts(pool, term)),
        ],
        vec![Arc::new(InSync), Arc::new(Records)],
    )
}

/// How many records each integration has in their current version.
#[derive(Debug)]
struct InSync;

#[async_trait]
impl Counters for InSync {
    fn name(&self) -> &'static str {
        "in_sync"
    }

    async fn next(&self, connection: &mut PgConnection, after: Uuid) -> Result<Option<Uuid>, QueueError> {
        Ok(recount_records::next_integration(connection, IntegrationId(after)).await?.map(|id| id.0))
    }

    async fn prove(&self, connection: &mut PgConnection, part: Uuid) -> Result<i64, QueueError> {
        recount_records::prove_in_sync(connection, IntegrationId(part)).await
    }

    fn report(&self, part: Uuid, off_by: i64) {
        tracing::info!(
            integration.id = %part, off_by,
            "the number of records that integration {part} has in their current version has been corrected"
        );
    }

    /// Jobs under way for an integration that takes no more jobs are not waited for.
    fn is_exact(&self) -> bool {
        false
    }
}

/// How many records each app has.
#[derive(Debug)]
struct Records;

#[async_trait]
impl Counters for Records {
    fn name(&self) -> &'static str {
        "records"
    }

    async fn next(&self, connection: &mut PgConnection, after: Uuid) -> Result<Option<Uuid>, QueueError> {
        Ok(recount_records::next_app(connection, AppId(after)).await?.map(|id| id.0))
    }

    async fn prove(&self, connection: &mut PgConnection, part: Uuid) -> Result<i64, QueueError> {
        recount_records::prove_records(connection, AppId(part)).await
    }

    fn report(&self, part: Uuid, off_by: i64) {
        tracing::error!(app.id = %part, off_by, "the number of records of app {part} was wrong and has been corrected");
    }
}
