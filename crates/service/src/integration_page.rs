//! The console's page of one integration.

use crate::{Allowed, Headgate, ServiceError, permission};
use insight::store::{failures, job_lists, stats};
use model::audit::{AuditEntry, AuditFilter};
use model::failure::{FailureFilter, FailureGroup};
use model::filter::JobFilter;
use model::id::IntegrationId;
use model::job::Job;
use model::limit_use::LimitWindow;
use model::page::{Order, PageRequest};
use model::rules::masking::Sensitive as _;
use model::rules::permission::Permission;
use model::stats::Window;
use model::views::integration_page::{IntegrationCharts, IntegrationPage};

const ACTIVITY: PageRequest = PageRequest { limit: 8, after: None };
const NEWEST_JOBS: PageRequest = PageRequest { limit: 10, after: None };
const NEWEST_RESYNCS: PageRequest = PageRequest { limit: 10, after: None };
const LARGEST_FAILURES: PageRequest = PageRequest { limit: 5, after: None };
const NEWEST_FLIPS: PageRequest = PageRequest { limit: 5, after: None };

impl Headgate {
    /// One integration with its current work.
    ///
    /// # Errors
    /// No such integration.
    pub async fn integration_page(
        &self,
        actor: &Allowed<permission::OpenConsole>,
        id: IntegrationId,
        window: Window,
    ) -> Result<IntegrationPage, ServiceError> {
        let scope = actor.scope();
        let as_of = queue::store::clock::now(&self.lists).await?;
        let activity = self.integration_activity(actor, id).await?;
        Ok(IntegrationPage {
            failures: self.integration_failures(actor, id).await?,
            integration: self.shown(actor, self.delivery.integration(scope, id).await?).await?,
            status: self.masked(self.sync_status(scope, id).await?).await?,
            gauge: stats::gauge(&self.lists, scope, id).await?,
            charts: self.integration_charts(actor, id, window).await?,
            backlogs: self.live.backlogs(id).into_iter().map(|(_, n)| n).collect(),
            activity,
            jobs: self.integration_jobs(actor, id).await?,
            resyncs: self.delivery_lists().resyncs(scope, Some(id), NEWEST_RESYNCS).await?.items,
            flips: self.delivery.breaker_flips(scope, id, NEWEST_FLIPS).await?.items,
            as_of,
        })
    }

    /// The charts alone, for their refresh.
    ///
    /// # Errors
    /// No such integration.
    pub async fn integration_charts(
        &self,
        actor: &Allowed<permission::OpenConsole>,
        id: IntegrationId,
        window: Window,
    ) -> Result<IntegrationCharts, ServiceError> {
        let scope = actor.scope();
        Ok(IntegrationCharts {
            throughput: stats::throughput(&self.lists, scope, Some(id), window).await?,
            answers: stats::answers::answers(&self.lists, scope, id, window).await?,
            // In scope: otherwise the statements above would have failed.
            flow: self.live.flow(id),
            limits: (
                self.limits_of_integration(scope, id, LimitWindow::Hour).await?,
                self.limits_of_integration(scope, id, LimitWindow::Day).await?,
            ),
            settings_at: self.delivery.integration(scope, id).await?.updated_at,
        })
    }

    /// Its lines of the audit log; none when the reader may not see the log.
    async fn integration_activity(
        &self,
        actor: &Allowed<permission::OpenConsole>,
        id: IntegrationId,
    ) -> Result<Option<Vec<AuditEntry>>, ServiceError> {
        if !actor.may(Permission::ReadDeployment) {
            return Ok(None);
        }
        let about = AuditFilter {
            object_kind: Some("integration".to_owned()),
            object_id: Some(id.to_string()),
            ..AuditFilter::default()
        };
        let mut lines = access::audit::list(&self.lists, &about, ACTIVITY).await?.items;
        lines.hide_internals(actor.role);
        Ok(Some(lines))
    }

    async fn integration_failures(
        &self,
        actor: &Allowed<permission::OpenConsole>,
        id: IntegrationId,
    ) -> Result<Vec<FailureGroup>, ServiceError> {
        let filter = FailureFilter { integration_id: Some(id), ..FailureFilter::default() };
        let page = failures::list(&self.lists, actor.scope(), &filter, LARGEST_FAILURES).await?;
        let mut groups = self.masked(page.items).await?;
        groups.retain(|group| group.jobs() > 0);
        Ok(groups)
    }

    async fn integration_jobs(
        &self,
        actor: &Allowed<permission::OpenConsole>,
        id: IntegrationId,
    ) -> Result<Vec<Job>, ServiceError> {
        let filter = JobFilter { integration_id: Some(id), ..JobFilter::default() };
        let page =
            job_lists::list_from(&self.lists, actor.scope(), &filter, NEWEST_JOBS, Order::Newest).await?;
        Ok(self.masked(page).await?.items)
    }
}
