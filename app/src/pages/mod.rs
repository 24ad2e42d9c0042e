//! Pages: each loads its data, sets its title and composes components.

mod dead_letters;
#[cfg(feature = "ssr")]
mod forbidden;
mod integrations;
mod jobs;
mod not_found;
mod overview;
mod resyncs;
mod sign_in;

pub use dead_letters::DeadLettersPage;
#[cfg(feature = "ssr")]
pub use forbidden::forbidden_document;
pub use integrations::{IntegrationDetailPage, IntegrationsPage};
pub use jobs::{JobDetailPage, JobsPage};
use jobs::{origin, subject as jobs_subject};
pub use not_found::NotFoundPage;
pub use overview::OverviewPage;
pub use resyncs::ResyncsPage;
pub use sign_in::SignInPage;
