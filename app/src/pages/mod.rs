//! Pages: each loads its data, sets its title and composes components.

mod audit_log;
mod bulk_question;
mod dead_letters;
mod failures;
#[cfg(feature = "ssr")]
mod forbidden;
mod integrations;
mod jobs;
mod lazy;
mod not_found;
mod operations;
mod overview;
mod rate_limits;
mod records;
mod resyncs;
mod settings;
mod sign_in;
mod workers;

pub use audit_log::AuditLogPage;
pub use dead_letters::DeadLettersPage;
pub use failures::FailuresPage;
#[cfg(feature = "ssr")]
pub use forbidden::forbidden_document;
use integrations::LimitsForm;
pub use integrations::{IntegrationDetailPage, IntegrationsPage};
use jobs::subject as jobs_subject;
pub use jobs::{JobDetailPage, JobsPage};
pub use not_found::NotFoundPage;
pub use operations::{OperationDetailPage, OperationsPage};
pub use overview::{OverviewPage, WallPage};
pub use rate_limits::RateLimitsPage;
pub use records::RecordsPage;
pub use resyncs::ResyncsPage;
pub use settings::SettingsPage;
pub use sign_in::SignInPage;
pub use workers::{WorkersPage, service_sentence};

lazy::pages! {
    audit_log: AuditLogPage,
    dead_letters: DeadLettersPage,
    failures: FailuresPage,
    integration: IntegrationDetailPage,
    integrations: IntegrationsPage,
    job: JobDetailPage,
    jobs: JobsPage,
    operation: OperationDetailPage,
    operations: OperationsPage,
    overview: OverviewPage,
    records: RecordsPage,
    rate_limits: RateLimitsPage,
    resyncs: ResyncsPage,
    settings: SettingsPage,
    sign_in: SignInPage,
    wall: WallPage,
    workers: WorkersPage,
}
