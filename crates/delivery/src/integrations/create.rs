//! Creating and reading integrations.

use chrono::{DateTime, Utc};
use model::actor::Scope;
use model::breaker::Breaker;
use model::id::{AppId, IntegrationId};
use model::integration::{
    DEFAULT_BUNDLE_WINDOW_SECONDS, DEFAULT_MAX_CONCURRENCY, Integration, IntegrationState, IntegrationType,
    IntegrationWithSecret,
};
use model::integration_query::IntegrationFilter;
use model::integration_settings::NewIntegration;
use model::page::{Page, PageRequest};
use model::problem::Faults;
use queue::store::built_in;
use sqlx::PgConnection;

use super::{lane, secrets};
use crate::http::signature::SigningSecret;
use crate::http::target_guard;
use crate::store::integrations::Sealed;
use crate::{Delivery, DeliveryError, store};

impl Delivery {
    /// Creates an integration; its signing secret is returned this once. It gets no records until they change or a re-sync is started. Call
    /// [`Self::judge_endpoint`] before the transaction begins.
    ///
    /// # Errors
    /// Every fault of the input, the address among them; `NotFound` for an unknown app.
    pub async fn create_integration(
        &self,
        conn: &mut PgConnection,
        scope: Scope,
        new: NewIntegration,
    ) -> Result<IntegrationWithSecret, DeliveryError> {
        let mut faults = new.check().err().unwrap_or_default();
        self.judge_text(new.endpoint_url.as_deref(), &mut faults);
        faults.into_result()?;
        if !scope.contains(new.app_id) || store::catalog::lock_apps(conn, &[new.app_id.0]).await?.is_empty() {
            return Err(DeliveryError::not_found_at("app", "/app_id"));
        }
        let bundle_window_seconds = new.bundle_window_seconds.or_else(|| {
            (new.integration_type == IntegrationType::Bundle).then_some(DEFAULT_BUNDLE_WINDOW_SECONDS)
        });
        let credentials = new.credentials.filter(|credentials| !credentials.is_empty());
        let mut integration = Integration {
            id: IntegrationId::generate(),
            app_id: new.app_id,
            name: new.name,
            integration_type: new.integration_type,
            is_built_in: false,
            endpoint_url: new.endpoint_url,
            state: IntegrationState::Active,
            state_reason: None,
            breaker: Breaker::default(),
            rate_limit: new.rate_limit,
            rate_limit_key: new.rate_limit_key,
            max_concurrency: new.max_concurrency.unwrap_or(DEFAULT_MAX_CONCURRENCY),
            timeout_ms: new.timeout_ms,
            max_attempts: new.max_attempts,
            retry_schedule: new.retry_schedule,
            record_types: new.record_types,
            headers: new.headers.unwrap_or_default(),
            bundle_window_seconds,
            debounce: new.debounce,
            has_credentials: credentials.is_some(),
            metadata: new.metadata.unwrap_or_default(),
            created_at: DateTime::<Utc>::UNIX_EPOCH,
            updated_at: DateTime::<Utc>::UNIX_EPOCH,
        };
        insert(self, conn, &mut integration, credentials.as_ref()).await
    }

    /// One integration.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn integration(&self, scope: Scope, id: IntegrationId) -> Result<Integration, DeliveryError> {
        store::integrations::get(&self.pool, scope, id).await
    }

    /// Lists integrations, newest first.
    pub async fn integrations(
        &self,
        scope: Scope,
        filter: IntegrationFilter,
        page: PageRequest,
    ) -> Result<Page<Integration>, DeliveryError> {
        store::integrations::list(&self.pool, scope, filter, page).await
    }

    /// Judges what the name of a new or changed address resolves to. That may take seconds: call it before the transaction that writes the
    /// address begins. The transaction judges its text, with the rest of the input, and each send judges again.
    ///
    /// # Errors
    /// The fault of an address to which nothing may be sent.
    pub async fn judge_endpoint(&self, endpoint_url: Option<&str>) -> Result<(), DeliveryError> {
        let mut faults = Faults::default();
        self.judge_text(endpoint_url, &mut faults);
        let Some(url) = endpoint_url.filter(|_| faults.0.is_empty()) else { return Ok(()) };
        if let Err(refused) = self.client.guard().judge_endpoint(url).await {
            faults.add("/endpoint_url", refused.to_string());
        }
        Ok(faults.into_result()?)
    }

    /// Adds a fault when the text of an address shows that nothing may be sent there.
    pub(super) fn judge_text(&self, endpoint_url: Option<&str>, faults: &mut Faults) {
        let Some(text) = endpoint_url else { return };
        let url = target_guard::parse(text);
        if url.is_ok_and(|url| !url.username().is_empty() || url.password().is_some()) {
            faults.add(
                "/endpoint_url",
                "must not contain a user name or a password, which everybody who can read the address would see: requests \
                 are signed, and other authentication belongs in credentials",
            );
        } else if let Err(refused) =
            target_guard::parse(text).and_then(|url| self.client.guard().judge_url(&url))
        {
            faults.add("/endpoint_url", refused.to_string());
        }
    }
}

/// Creates an app's built-in integration, with a secret: jobs that name no integration run there.
pub(crate) async fn create_built_in(
    delivery: &Delivery,
    conn: &mut PgConnection,
    app_id: AppId,
) -> Result<(), DeliveryError> {
    let id = IntegrationId::generate();
    let secret = secrets::seal_signing_secret(&delivery.key, id, &SigningSecret::generate())?;
    Ok(built_in::ensure(conn, app_id, id, &secret).await?)
}

async fn insert(
    delivery: &Delivery,
    conn: &mut PgConnection,
    integration: &mut Integration,
    credentials: Option<&secrets::Credentials>,
) -> Result<IntegrationWithSecret, DeliveryError> {
    lane::join_key(conn, integration).await?;
    let secret = SigningSecret::generate();
    let signing_secret = secrets::seal_signing_secret(&delivery.key, integration.id, &secret)?;
    let credentials = credentials
        .map(|headers| secrets::seal_credentials(&delivery.key, integration.id, headers))
        .transpose()?;
    let sealed = Sealed { signing_secret: &signing_secret, credentials: credentials.as_deref() };
    store::integrations::insert(conn, integration, sealed).await?;
    lane::write(conn, integration).await?;
    let integration = store::integrations::get(conn, Scope::AllApps, integration.id).await?;
    Ok(IntegrationWithSecret { integration, signing_secret: secret.shown() })
}
