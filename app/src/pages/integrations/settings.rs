//! An integration's settings.

use crate::components::limits_in_words;
use crate::format;
use crate::ui::{Card, Fact, Facts, Instant};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::integration::{Integration, IntegrationType};

#[component]
pub fn Settings(
    integration: Integration,
    app_name: String,
    last_success_at: Option<DateTime<Utc>>,
    /// Decides which times are today's.
    as_of: DateTime<Utc>,
) -> impl IntoView {
    let is_sent_to = integration.integration_type != IntegrationType::External;
    let seconds = integration.timeout_ms.map(|ms| format::milliseconds(ms.into()));
    view! {
        <Card title="Settings">
            <Facts>
                <Fact name="App">{app_name}</Fact>
                <Fact name="Type">{integration.integration_type.as_str()}</Fact>
                {integration
                    .endpoint_url
                    .map(|url| view! { <Fact name="URL"><span class="type-mono type-label">{url}</span></Fact> })}
                <Fact name="Rate limit">{limits_in_words(integration.rate_limit.as_ref())}</Fact>
                <Fact name="Concurrency">{format::count(integration.max_concurrency.into())}</Fact>
                <Fact name="Timeout">{seconds.unwrap_or_else(|| "default".to_owned())}</Fact>
                <Fact name="Attempts">{integration.max_attempts.map_or_else(|| "default".to_owned(), |n| n.to_string())}</Fact>
                <Fact name="Retry schedule">{integration.retry_schedule.unwrap_or_else(|| "default".to_owned())}</Fact>
                {integration
                    .debounce
                    .map(|debounce| {
                        let words = format::debounce(debounce.seconds.into(), debounce.max_seconds.into());
                        view! { <Fact name="Debounce">{words}</Fact> }
                    })}
                {is_sent_to
                    .then(|| {
                        let types = integration.record_types.map_or_else(|| "all types".to_owned(), |types| types.join(", "));
                        view! { <Fact name="Records">{types}</Fact> }
                    })}
                <Fact name="Last success">
                    {match last_success_at {
                        Some(at) => view! { <Instant at=at now=as_of /> }.into_any(),
                        None => "none yet".into_any(),
                    }}
                </Fact>
                <Fact name="Id"><span class="type-mono type-label">{integration.id.to_string()}</span></Fact>
            </Facts>
        </Card>
    }
    .into_any()
}
