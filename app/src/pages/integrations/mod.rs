//! Integrations: the table, and one of them.

mod detail;
mod limits_form;
mod list;

pub use detail::IntegrationDetailPage;
pub use list::IntegrationsPage;
