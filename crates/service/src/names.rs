//! Names of the integrations of a list, and the apps and integrations that a filter offers.

use crate::{Headgate, ServiceError};
use model::actor::Scope;
use model::filter::JobFilter;
use model::id::{AppId, IntegrationId};
use model::views::choices::Choices;
use model::views::names::Names;
use std::collections::BTreeSet;

impl Headgate {
    /// Names of the integrations of a list's rows and of its filter.
    pub(crate) async fn names(
        &self,
        scope: Scope,
        rows: impl Iterator<Item = IntegrationId>,
        filter: &JobFilter,
    ) -> Result<Names, ServiceError> {
        let ids: BTreeSet<_> = rows.chain(filter.integration_id).collect();
        let ids: Vec<_> = ids.into_iter().collect();
        Ok(insight::store::stats::names(&self.lists, scope, &ids, filter.app_id).await?.into())
    }

    /// The apps and integrations a list can be filtered by, including the current ones.
    pub(crate) async fn choices(
        &self,
        app_id: Option<AppId>,
        integration_id: Option<IntegrationId>,
    ) -> Result<Choices, ServiceError> {
        Ok(Choices::of(&*self.snapshot().await?, app_id, integration_id))
    }
}
