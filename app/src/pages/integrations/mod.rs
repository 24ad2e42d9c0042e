//! Integrations: the list, and the page of one.

mod activity;
mod bulk;
mod detail;
mod failures;
mod groups;
mod limit_use;
mod limits_form;
mod list;
mod recent_jobs;
mod resyncs;
mod row;
mod settings;

pub use detail::IntegrationDetailPage;
pub use limits_form::LimitsForm;
pub use list::IntegrationsPage;
