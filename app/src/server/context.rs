//! What a request of the console has access to.

use crate::{
    calls::{
        error::{CallError, ResponseStatus},
        jobs::JobRecord,
    },
    server::cookies,
    state::{base_path::BasePath, page_files::PageFiles, theme::Theme},
};
use access::Access;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts};
use delivery::{Delivery, RecordPageRequest};
use insight::live::LiveHub;
use leptos::{nonce::use_nonce, prelude::*};
use leptos_axum::ResponseOptions;
use leptos_router::location::RequestUrl;
use model::views::choices::Choices;
use model::views::names::Names;
use model::{
    actor::Scope,
    filter::JobFilter,
    id::{AppId, IntegrationId},
    job::Job,
    record::SentFilter,
    retention::Retentions,
    stats::Snapshot,
};
use service::Headgate;
use sqlx::PgPool;
use std::{collections::BTreeSet, sync::Arc};

/// The program provides it to every render and every server function.
#[derive(Clone)]
pub struct ConsoleContext {
    pub headgate: Headgate,
    pub delivery: Delivery,
    pub access: Access,
    /// The console's own pool, so that a slow page takes no connection from the engine.
    pub pool: PgPool,
    pub live: LiveHub,
    /// Seconds by which lists lag behind (read replica), where the lag is worth a notice.
    pub lists_behind: Arc<dyn Fn() -> Option<i64> + Send + Sync>,
    /// Whether the request came over https.
    pub is_https: fn(&HeaderMap) -> bool,
    pub retentions: Retentions,
    pub base_path: BasePath,
    pub page_files: PageFiles,
}

impl ConsoleContext {
    /// The additional context of routes and server functions.
    pub fn provide(&self) {
        provide_context(self.clone());
        provide_context(self.base_path.clone());
        provide_context(self.page_files);
        provide_context(cookies::theme().unwrap_or(Theme::System));
        if let Some(response) = use_context::<ResponseOptions>() {
            let status = response.clone();
            provide_context(ResponseStatus(Arc::new(move |code| {
                if let Ok(code) = StatusCode::from_u16(code) {
                    status.set_status(code);
                    if code == StatusCode::SERVICE_UNAVAILABLE {
                        let soon = HeaderValue::from_static("5");
                        status.insert_header(header::RETRY_AFTER, soon.clone());
                        // Not standardised, but every browser does it: the page recovers without a script.
                        status.insert_header(header::REFRESH, soon);
                    }
                }
            })));
            secure(&response);
        }
    }

    /// Reads of lists. Never for a decision, because a replica may answer.
    pub fn lists(&self) -> Delivery {
        self.delivery.clone().with_pool(self.pool.clone())
    }

    pub async fn snapshot(&self) -> Result<Arc<Snapshot>, CallError> {
        Ok(self.live.snapshot(&self.pool).await?)
    }

    /// The apps and integrations a list can be filtered by, including the current ones.
    pub async fn choices(
        &self,
        app_id: Option<AppId>,
        integration_id: Option<IntegrationId>,
    ) -> Result<Choices, CallError> {
        Ok(Choices::of(&*self.snapshot().await?, app_id, integration_id))
    }

    /// Names of the integrations of a list's rows and of its filter.
    pub async fn names(
        &self,
        scope: Scope,
        rows: impl Iterator<Item = IntegrationId>,
        filter: &JobFilter,
    ) -> Result<Names, CallError> {
        let ids: BTreeSet<_> = rows.chain(filter.integration_id).collect();
        let ids: Vec<_> = ids.into_iter().collect();
        Ok(insight::store::stats::names(&self.pool, scope, &ids, filter.app_id).await?.into())
    }

    /// The record of a job with its state at every integration; none when it no longer exists.
    pub async fn record_of(&self, scope: Scope, job: &Job) -> Result<Option<JobRecord>, CallError> {
        let (Some(kind), Some(id)) = (&job.record_type, &job.record_id) else { return Ok(None) };
        let record = match self.delivery.record(scope, job.app_id, kind, id).await {
            Ok(record) => record,
            Err(error) => {
                return match CallError::from(error) {
                    CallError::NotFound => Ok(None),
                    error => Err(error),
                };
            }
        };
        let one = RecordPageRequest { limit: 1, after: None };
        let filter = SentFilter { record_type: Some(kind.clone()), record_id: Some(id.clone()) };
        let sent = self.lists().sent(scope, job.integration_id, &filter, &one).await?;
        let sent = sent.items.into_iter().next().map(|sent| (sent.version, sent.sent_at, sent.attributes));
        let is_full = self.delivery.sends_whole_record(job.id).await?;
        Ok(Some(JobRecord { record, sent, is_full }))
    }
}

/// The context of the request being answered.
pub fn current() -> Result<ConsoleContext, CallError> {
    use_context().ok_or(CallError::Broken)
}

/// Whether the response is a page, not the answer to a script's call.
pub fn is_page() -> bool {
    use_context::<RequestUrl>().is_some()
}

/// The headers of the request being answered.
pub(super) fn headers() -> HeaderMap {
    use_context::<Parts>().map(|parts| parts.headers).unwrap_or_default()
}

/// Scripts only with this page's nonce, styles only from files, nothing from elsewhere.
fn secure(response: &ResponseOptions) {
    let Some(nonce) = use_nonce() else { return };
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}' 'strict-dynamic' 'wasm-unsafe-eval'; style-src 'self'; \
         img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'"
    );
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        response.insert_header(header::CONTENT_SECURITY_POLICY, policy);
    }
}
