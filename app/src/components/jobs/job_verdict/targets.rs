//! Where to go about what blocks a job.

use crate::ui::Link;
use leptos::prelude::*;
use model::{id::IntegrationId, rules::explain::ReasonCode};

/// Where a closed gate is explained or can be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    href: String,
    words: &'static str,
}

#[component]
pub fn TargetLink(target: Target) -> impl IntoView {
    view! { <Link href=target.href class="underline">{target.words}</Link> }.into_any()
}

/// Links to what blocks a job.
#[derive(Clone, Copy)]
pub struct Targets {
    pub integration_id: IntegrationId,
    /// Its reader may open the pages of the deployment.
    pub sees_deployment: bool,
}

impl Targets {
    pub fn from(self, code: ReasonCode) -> Option<Target> {
        let id = self.integration_id;
        let (href, words) = match code {
            ReasonCode::IntegrationPaused | ReasonCode::IntegrationDisabled => {
                (format!("/integrations/{id}"), "Go to integration")
            }
            ReasonCode::CircuitOpen => (format!("/integrations/{id}"), "Go to breaker"),
            ReasonCode::HeldByReceiver | ReasonCode::RateLimited => {
                (format!("/integrations/{id}"), "Go to limits")
            }
            ReasonCode::ResyncPaused => ("/resyncs".to_owned(), "Go to re-syncs"),
            ReasonCode::ConcurrencyFull => {
                (format!("/jobs?status=processing&integration_id={id}"), "Running jobs")
            }
            ReasonCode::BehindInQueue => {
                (format!("/jobs?status=pending&integration_id={id}"), "Waiting jobs")
            }
            ReasonCode::NoWorker if self.sees_deployment => ("/workers".to_owned(), "Go to workers"),
            ReasonCode::LeaseLost if self.sees_deployment => ("/workers".to_owned(), "Go to workers"),
            _ => return None,
        };
        Some(Target { href, words })
    }
}
