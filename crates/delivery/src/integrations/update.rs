//! Changing an integration, with its lane, its limit and its secrets.

use model::actor::Scope;
use model::id::IntegrationId;
use model::integration::{
    DEFAULT_BUNDLE_WINDOW_SECONDS, DEFAULT_MAX_CONCURRENCY, Integration, IntegrationState, IntegrationType,
};
use model::integration_settings::{IntegrationChanges, NO_DEBOUNCE};
use model::patch::Change;
use model::problem::Faults;
use queue::QueueError;
use sqlx::PgConnection;

use super::{lane, secrets};
use crate::store::integrations::RowLock;
use crate::store::{self, rate_limits};
use crate::{Delivery, DeliveryError};

impl Delivery {
    /// Changes the fields that are given. Call [`Self::judge_endpoint`] before the transaction begins; after the commit [`Self::wake`] for a
    /// changed limit or the state `active`, which make jobs claimable, and [`Self::apply_shorter_window`] for a changed window.
    ///
    /// # Errors
    /// Every fault of the input, the address among them; `NotFound`.
    pub async fn update_integration(
        &self,
        conn: &mut PgConnection,
        scope: Scope,
        id: IntegrationId,
        changes: IntegrationChanges,
    ) -> Result<Integration, DeliveryError> {
        let mut faults = changes.check().err().unwrap_or_default();
        self.judge_text(changes.endpoint_url.as_deref(), &mut faults);
        // First it and those it shares a limit with, all in one order: otherwise two concurrent changes could deadlock.
        let joins = match &changes.rate_limit_key {
            Change::Set(key) => Some(key.as_str()),
            Change::Keep | Change::Clear => None,
        };
        rate_limits::lock_sharing(conn, id, joins).await?;
        // A transaction that has read the old window must have made its jobs before the new window is committed.
        let lock = if changes.bundle_window_seconds.is_keep() { RowLock::Change } else { RowLock::Deletion };
        let mut integration = store::integrations::lock(conn, scope, id, lock).await?;
        changes.if_match.check(integration.updated_at).map_err(QueueError::from)?;
        check_type(&integration, &changes, &mut faults);
        faults.into_result()?;

        let credentials = match &changes.credentials {
            Change::Keep => None,
            Change::Clear => Some(None),
            Change::Set(headers) if headers.is_empty() => Some(None),
            Change::Set(headers) => Some(Some(secrets::seal_credentials(&self.key, id, headers)?)),
        };
        // Before the lane is written, to keep the order of locks.
        if changes.endpoint_url.is_some() && changes.endpoint_url != integration.endpoint_url {
            queue::store::breakers::reset(conn, id, "its address was changed").await?;
        } else if changes.state == Some(IntegrationState::Active)
            && integration.state != IntegrationState::Active
        {
            queue::store::breakers::reset(conn, id, "the integration was switched on").await?;
        }
        let key_before = integration.rate_limit_key.clone();
        let was_given_a_limit = changes.rate_limit.set().is_some();
        apply(&mut integration, changes);
        let has_new_key = integration.rate_limit_key != key_before;
        if !was_given_a_limit && (has_new_key || integration.rate_limit.is_none()) {
            lane::take_over(conn, &mut integration).await?;
        }
        let credentials = credentials.as_ref().map(Option::as_deref);
        store::integrations::update(conn, &integration, credentials).await?;
        lane::write(conn, &integration).await?;
        rate_limits::delete_unused(conn, integration.app_id, id, key_before.as_deref()).await?;
        store::integrations::get(conn, scope, id).await
    }
}

fn check_type(integration: &Integration, changes: &IntegrationChanges, faults: &mut Faults) {
    let kind = integration.integration_type;
    faults.require(
        kind != IntegrationType::External || changes.endpoint_url.is_none(),
        "/endpoint_url",
        "is not used by an external integration: leave it out",
    );
    faults.require(
        kind == IntegrationType::Bundle || changes.bundle_window_seconds.set().is_none(),
        "/bundle_window_seconds",
        "is only for integrations of type bundle",
    );
    faults.require(kind.may_debounce() || changes.debounce.set().is_none(), "/debounce", NO_DEBOUNCE);
    faults.require(
        !integration.is_built_in || changes.state != Some(IntegrationState::Disabled),
        "/state",
        "must stay active: jobs that name no integration run here; pause it instead",
    );
}

fn apply(integration: &mut Integration, changes: IntegrationChanges) {
    if let Some(name) = changes.name {
        integration.name = name;
    }
    if changes.endpoint_url.is_some() {
        integration.endpoint_url = changes.endpoint_url;
    }
    if let Some(state) = changes.state
        && state != integration.state
    {
        integration.state = state;
        integration.state_reason = None;
    }
    if changes.rate_limit == Change::Clear && changes.rate_limit_key.is_keep() {
        // Without a limit there is nothing to share; the others with the key keep theirs.
        integration.rate_limit_key = None;
    }
    integration.rate_limit = changes.rate_limit.apply(integration.rate_limit.take());
    integration.rate_limit_key = changes.rate_limit_key.apply(integration.rate_limit_key.take());
    let max_concurrency = changes.max_concurrency.apply(Some(integration.max_concurrency));
    integration.max_concurrency = max_concurrency.unwrap_or(DEFAULT_MAX_CONCURRENCY);
    integration.timeout_ms = changes.timeout_ms.apply(integration.timeout_ms);
    integration.max_attempts = changes.max_attempts.apply(integration.max_attempts);
    integration.retry_schedule = changes.retry_schedule.apply(integration.retry_schedule.take());
    integration.record_types = changes.record_types.apply(integration.record_types.take());
    integration.headers =
        changes.headers.apply(Some(std::mem::take(&mut integration.headers))).unwrap_or_default();
    integration.debounce = changes.debounce.apply(integration.debounce);
    if integration.integration_type == IntegrationType::Bundle {
        let window = changes.bundle_window_seconds.apply(integration.bundle_window_seconds);
        integration.bundle_window_seconds = window.or(Some(DEFAULT_BUNDLE_WINDOW_SECONDS));
    }
    integration.metadata =
        changes.metadata.apply(Some(std::mem::take(&mut integration.metadata))).unwrap_or_default();
}
