//! Integrations: the table, and one of them.

mod detail;
mod limits_form;
mod list;
mod recent_jobs;
mod resyncs;
mod settings;

pub use detail::IntegrationDetailPage;
pub use list::IntegrationsPage;
