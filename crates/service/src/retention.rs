//! What is kept, and for how long.

use crate::{Allowed, Headgate, ServiceError, permission};
use insight::store::storage;
use model::storage::Retention;

impl Headgate {
    /// What is kept, for how long, and how much space it takes.
    pub async fn retention(
        &self,
        _actor: &Allowed<permission::ReadDeployment>,
    ) -> Result<Retention, ServiceError> {
        Ok(storage::retention(&self.lists, self.retentions).await?)
    }
}
