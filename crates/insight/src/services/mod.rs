//! Maintenance of what is seen, run by the leader beside the engine's own services.

mod failures;
mod limit_use;
mod operations;
mod rollup;
mod sample;
mod views;

pub use failures::Failures;
pub use limit_use::LimitUse;
pub use operations::RunOperations;
pub use rollup::Rollup;
pub use sample::Sample;
pub use views::CountViews;

use crate::store::retention;
use queue::EngineConfig;
use queue::maintenance::{Service, retention_of};
use std::sync::Arc;

/// All of them, to be handed to [`queue::maintenance::Maintenance`].
#[must_use]
pub fn services(config: &EngineConfig) -> Vec<Arc<dyn Service>> {
    vec![
        Arc::new(Rollup::default()),
        Arc::new(Failures::default()),
        Arc::new(Sample::default()),
        Arc::new(LimitUse),
        Arc::new(RunOperations),
        Arc::new(CountViews),
        retention_of("insight_retention", retention::rows(config.retentions)),
    ]
}
