//! The same change of many integrations, each in a transaction of its own with its line of the audit log: one that cannot be changed does not
//! stop the others.

use crate::{Allowed, Headgate, ServiceError, integration_list::is_listed, permission};
use delivery::DeliveryError;
use model::actor::Actor;
use model::id::IntegrationId;
use model::integration::{IntegrationState, PAUSED_BY_HAND};
use model::integration_bulk::{
    IntegrationBulkAction, IntegrationBulkFilter, IntegrationBulkOutcome, MAX_INTEGRATIONS,
    NewIntegrationBulk, SkippedIntegration,
};
use model::integration_control::sanitise_reason;
use model::integration_query::{IntegrationFilter, IntegrationSelection};
use model::integration_settings::IntegrationChanges;
use model::page::PageRequest;
use model::patch::Change;
use model::rate_limit::RateLimits;
use model::text::grouped;
use model::views::integration_list::{BulkQuestion, ConfirmedBulk};

/// So many names are in the question before a bulk action.
const NAMES_IN_QUESTION: usize = 5;

impl Headgate {
    /// Pauses or resumes integrations, or sets their limit; `dry_run` only counts them.
    ///
    /// # Errors
    /// Faults by field; more than 1,000 match the filter. An integration that cannot be changed is reported in the outcome.
    pub async fn bulk_integrations(
        &self,
        actor: &Allowed<permission::Configure>,
        bulk: NewIntegrationBulk,
    ) -> Result<IntegrationBulkOutcome, ServiceError> {
        let bulk = &NewIntegrationBulk { reason: bulk.reason.as_deref().map(sanitise_reason), ..bulk };
        bulk.check()?;
        let ids = match (&bulk.ids, &bulk.filter) {
            (Some(ids), _) => ids.clone(),
            (None, Some(filter)) => self.matching(actor, filter).await?,
            (None, None) => Vec::new(),
        };
        let mut outcome =
            IntegrationBulkOutcome { matched: ids.len() as i64, ..IntegrationBulkOutcome::default() };
        if bulk.dry_run {
            return Ok(outcome);
        }
        for id in ids {
            match self.change_one(actor, bulk, id).await {
                Ok(None) => outcome.changed += 1,
                Ok(Some(reason)) => {
                    outcome.skipped.push(SkippedIntegration { id, reason: reason.to_owned() });
                }
                Err(ServiceError::Delivery(
                    error @ (DeliveryError::NotFound { .. }
                    | DeliveryError::Conflict { .. }
                    | DeliveryError::Invalid(_)),
                )) => outcome.skipped.push(SkippedIntegration { id, reason: error.to_string() }),
                Err(error) => return Err(error),
            }
        }
        Ok(outcome)
    }

    /// How many integrations a bulk action of the console would change, and some of their names.
    ///
    /// # Errors
    /// More than 1,000 match.
    pub async fn integration_bulk_question(
        &self,
        actor: &Allowed<permission::Configure>,
        selection: &IntegrationSelection,
    ) -> Result<BulkQuestion, ServiceError> {
        let selected = self.selected(actor, selection).await?;
        let matched = count(&selected);
        let names = selected.into_iter().take(NAMES_IN_QUESTION).map(|(_, name)| name).collect();
        Ok(BulkQuestion { matched, names })
    }

    /// Makes a change of the selected integrations, unless more are selected by now than the question counted.
    ///
    /// # Errors
    /// More than 1,000 match; faults by field.
    pub async fn confirmed_integration_bulk(
        &self,
        actor: &Allowed<permission::Configure>,
        selection: &IntegrationSelection,
        confirmed: i64,
        (action, rate_limit): (IntegrationBulkAction, Option<RateLimits>),
    ) -> Result<ConfirmedBulk, ServiceError> {
        let selected = self.selected(actor, selection).await?;
        if selected.is_empty() {
            return Ok(ConfirmedBulk::NothingSelected);
        }
        if count(&selected) > confirmed {
            return Ok(ConfirmedBulk::CountChanged);
        }
        let ids = Some(selected.into_iter().map(|(id, _)| id).collect());
        let bulk = NewIntegrationBulk { action, ids, filter: None, rate_limit, reason: None, dry_run: false };
        Ok(ConfirmedBulk::Made(self.bulk_integrations(actor, bulk).await?))
    }

    /// The selected integrations by name, from the newest snapshot as the list that they were selected in.
    async fn selected(
        &self,
        actor: &Actor,
        selection: &IntegrationSelection,
    ) -> Result<Vec<(IntegrationId, String)>, ServiceError> {
        let snapshot = self.snapshot().await?;
        let mut selected: Vec<_> = snapshot
            .integrations
            .iter()
            .filter(|gauge| actor.scope().contains(gauge.app_id))
            .filter(|gauge| match selection {
                IntegrationSelection::Ids(ids) => ids.contains(&gauge.integration_id),
                IntegrationSelection::Matching(query) => is_listed(query, snapshot.at, gauge),
            })
            .map(|gauge| (gauge.integration_id, gauge.name.clone()))
            .collect();
        if selected.len() > MAX_INTEGRATIONS {
            let detail = format!(
                "{} integrations match: at most 1,000 can be changed at once. Narrow the filter first.",
                grouped(count(&selected))
            );
            return Err(DeliveryError::fault("", detail).into());
        }
        selected.sort_by(|a, b| a.1.cmp(&b.1).then(a.0.cmp(&b.0)));
        Ok(selected)
    }

    /// The reason why the integration was skipped. `None`: it was changed.
    async fn change_one(
        &self,
        actor: &Allowed<permission::Configure>,
        bulk: &NewIntegrationBulk,
        id: IntegrationId,
    ) -> Result<Option<&'static str>, ServiceError> {
        let before = self.delivery.integration(actor.scope(), id).await?;
        let limits = |limit: &Option<RateLimits>| limit.as_ref().map(RateLimits::to_vec).unwrap_or_default();
        let is_done = match bulk.action {
            IntegrationBulkAction::Pause => before.state == IntegrationState::Paused,
            IntegrationBulkAction::Resume => before.state == IntegrationState::Active,
            IntegrationBulkAction::SetLimit => limits(&before.rate_limit) == limits(&bulk.rate_limit),
            IntegrationBulkAction::ClearLimit => before.rate_limit.is_none(),
        };
        if is_done {
            return Ok(Some("no change needed"));
        }
        match bulk.action {
            IntegrationBulkAction::Pause => {
                let reason = bulk.reason.as_deref().unwrap_or(PAUSED_BY_HAND);
                self.pause_integration(actor, id, Some(reason)).await?
            }
            IntegrationBulkAction::Resume => self.resume_integration(actor, id).await?,
            IntegrationBulkAction::SetLimit | IntegrationBulkAction::ClearLimit => {
                let rate_limit = bulk.rate_limit.clone().map_or(Change::Clear, Change::Set);
                let changes = IntegrationChanges { rate_limit, ..IntegrationChanges::default() };
                self.update_integration(actor, id, &changes).await?
            }
        };
        Ok(None)
    }

    async fn matching(
        &self,
        actor: &Actor,
        filter: &IntegrationBulkFilter,
    ) -> Result<Vec<IntegrationId>, ServiceError> {
        let wanted = filter.name.as_deref().unwrap_or_default().to_lowercase();
        let narrowed = IntegrationFilter { app_id: filter.app_id, state: filter.state };
        let mut page = PageRequest { limit: 500, after: None };
        let mut ids = Vec::new();
        loop {
            let found = self.delivery.integrations(actor.scope(), narrowed, page).await?;
            page.after = found.items.last().map(|last| last.id.0);
            let matching = found.items.iter().filter(|integration| {
                filter.integration_type.is_none_or(|kind| kind == integration.integration_type)
                    && integration.name.to_lowercase().contains(&wanted)
            });
            ids.extend(matching.map(|integration| integration.id));
            if ids.len() > MAX_INTEGRATIONS {
                return Err(DeliveryError::fault(
                    "/filter",
                    "matches more than 1,000 integrations: narrow it",
                )
                .into());
            }
            if found.next_cursor.is_none() {
                return Ok(ids);
            }
        }
    }
}

fn count(selected: &[(IntegrationId, String)]) -> i64 {
    i64::try_from(selected.len()).unwrap_or(i64::MAX)
}
