//! An app: the health of each of its integrations, and its newest failures.

use crate::components::{HealthBadge, HealthText};
use crate::format;
use crate::state::clock;
use crate::ui::{Ago, Card, Fact, Facts, Link, RichText};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::rules::plain_cause;
use model::trail::TrailApp;
use model::views::names::Names;

#[component]
pub fn AppCard(
    app: TrailApp,
    /// Names of the integrations of its failures.
    names: Names,
    /// When all that was loaded.
    as_of: DateTime<Utc>,
) -> impl IntoView {
    let now = clock::now_or(as_of);
    let TrailApp { app, integrations, failures } = app;
    let sub = format::counted(integrations.len() as i64, "integration", "integrations");
    let jobs = (format!("/jobs?app_id={}", app.id), "All its jobs".to_owned());
    let all_failures = format!("/dead-letters?app_id={}", app.id);
    view! {
        <Card title=app.name sub=sub more=jobs>
            <Facts>
                {integrations
                    .into_iter()
                    .map(|gauge| {
                        let health = HealthText::of(&gauge, as_of);
                        let sentence = health.sentence.clone();
                        view! {
                            <dt>
                                <Link href=format!("/integrations/{}", gauge.integration_id)>{gauge.name}</Link>
                            </dt>
                            <dd>
                                <HealthBadge health=Signal::stored(health) />
                                <p class="mt-1 text-muted"><RichText text=sentence /></p>
                            </dd>
                        }
                    })
                    .collect_view()}
                <Fact name="Newest failures">
                    {if failures.is_empty() {
                        view! { <span class="text-muted">"none"</span> }.into_any()
                    } else {
                        view! {
                            <ul class="grid gap-1">
                                {failures
                                    .into_iter()
                                    .map(|letter| {
                                        let about = letter
                                            .record_type
                                            .zip(letter.record_id)
                                            .map_or_else(|| letter.job_type.clone(), |(kind, id)| format!("{kind} {id}"));
                                        view! {
                                            <li>
                                                <Link href=format!("/jobs/{}", letter.job_id) class="font-medium">{about}</Link>
                                                " → "
                                                {names.of(letter.integration_id).map_or("a deleted integration", |name| name.name.as_str()).to_owned()}
                                                ", "
                                                <Ago at=letter.failed_at now=now />
                                                ": "
                                                <span class="text-muted">{plain_cause::sentence(&letter.error_message, None)}</span>
                                            </li>
                                        }
                                    })
                                    .collect_view()}
                                <li>
                                    <Link href=all_failures>"All its dead letters"</Link>
                                </li>
                            </ul>
                        }
                            .into_any()
                    }}
                </Fact>
            </Facts>
        </Card>
    }
    .into_any()
}
