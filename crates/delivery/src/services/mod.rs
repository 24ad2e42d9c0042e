//! Maintenance of apps, integrations and records, run by the leader beside the engine's own services.

mod deletions;
mod record_counts;
mod tombstones;

use std::sync::Arc;

use model::retention::Retentions;
use queue::maintenance::{Service, retention_of};

use crate::{Delivery, resync, store::retention};

pub(crate) fn services(delivery: &Delivery, kept: Retentions) -> Vec<Arc<dyn Service>> {
    vec![
        Arc::new(deletions::Deletions),
        record_counts::fold(),
        retention_of("delivery_retention", retention::rows(kept)),
        Arc::new(tombstones::DeletedRecords::new(kept)),
        Arc::new(resync::Resyncs::new(delivery.clone())),
    ]
}
