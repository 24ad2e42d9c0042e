//! The maintenance of the tables of this crate.

use crate::store::retention;
use model::retention::Retentions;
use queue::maintenance::{Service, retention_of};
use std::sync::Arc;

/// The maintenance services of this crate's tables, which the leader runs beside the engine's own.
#[must_use]
pub fn services(kept: Retentions) -> Vec<Arc<dyn Service>> {
    vec![retention_of("access_retention", retention::rows(kept))]
}
