//! The catalog, Headgate's copy of the apps' records.

use crate::{Allowed, Headgate, ServiceError, permission, read_in_parts};
use model::page::Page;
use model::record::{Record, RecordFilter, RecordKey, RecordWithSync};
use model::record_page::RecordPageRequest;

impl Headgate {
    /// Lists records in the order of app, type and id, without deleted ones.
    pub async fn records(
        &self,
        actor: &Allowed<permission::Read>,
        filter: &RecordFilter,
        page: RecordPageRequest,
    ) -> Result<Page<Record>, ServiceError> {
        let (lists, scope) = (&self.delivery_lists(), actor.scope());
        let read = |page| async move { lists.records(scope, filter, &page).await };
        self.shown(actor, read_in_parts(page, read).await?).await
    }

    /// A record with what was sent of it to each integration.
    ///
    /// # Errors
    /// No such record.
    pub async fn record(
        &self,
        actor: &Allowed<permission::Read>,
        key: &RecordKey,
    ) -> Result<RecordWithSync, ServiceError> {
        let RecordKey { app_id, record_type, record_id } = key;
        let record = self.delivery.record(actor.scope(), *app_id, record_type, record_id).await?;
        self.shown(actor, record).await
    }
}
