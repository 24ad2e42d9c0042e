//! What a column shows of a job.

use crate::components::{IntegrationLink, JobStateBadge};
use crate::format;
use crate::state::job_columns::heading;
use crate::ui::{Ago, data_label};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::job::{Job, JobStatus};
use model::job_columns::JobColumn;
use model::rules::plain_cause;
use model::views::names::Names;

#[component]
pub fn Cell(
    column: JobColumn,
    job: Job,
    /// Names of integrations.
    names: Names,
    /// Its state and attempts, live.
    state: Memo<(JobStatus, i16)>,
    /// Ages are relative to it.
    now: Signal<DateTime<Utc>>,
) -> impl IntoView {
    let label = heading(column);
    let text = |value: Option<String>| text(label, value);
    let time = |at: Option<DateTime<Utc>>| match at {
        Some(at) => view! {
            <td class="extra text-muted" {..data_label(label)}>
                <Ago at=at now=now />
            </td>
        }
        .into_any(),
        None => nothing(),
    };
    let max_attempts = job.max_attempts;
    match column {
        JobColumn::Status => view! {
            <td class="state">
                <JobStateBadge status=Signal::derive(move || state.get().0) />
            </td>
        }
        .into_any(),
        JobColumn::Integration => view! {
            <td class="where">
                <IntegrationLink id=job.integration_id names=names />
            </td>
        }
        .into_any(),
        JobColumn::Attempt => view! {
            <td class=move || if state.get().1 == 0 { "n zero" } else { "n" } {..data_label("attempts")}>
                {move || format!("{} / {max_attempts}", state.get().1)}
            </td>
        }
        .into_any(),
        JobColumn::CreatedAt => view! {
            <td class="when text-muted">
                <Ago at=job.created_at now=now />
            </td>
        }
        .into_any(),
        JobColumn::Error => {
            let cause = job.error_message.as_deref().map(|error| plain_cause::sentence(error, None));
            let line = cause.unwrap_or_else(|| "–".to_owned());
            let class = if job.error_message.is_some() { "grow rest text-muted" } else { "grow rest zero" };
            view! { <td class=class title=job.error_message>{line}</td> }.into_any()
        }
        JobColumn::App => text(names.app(job.app_id).map(str::to_owned)),
        JobColumn::IntegrationType => text(Some(job.integration_type.as_str().to_owned())),
        JobColumn::JobType => text(Some(job.job_type)),
        JobColumn::Priority => number(label, job.priority.into()),
        JobColumn::Folded => number(label, job.folded.into()),
        JobColumn::JobId => text(Some(job.id.to_string())),
        JobColumn::CorrelationId => text(Some(job.last_correlation_id().to_owned())),
        JobColumn::BatchId => text(job.batch_id.map(|id| id.to_string())),
        JobColumn::DeduplicationId => text(job.deduplication_id),
        JobColumn::SerializeKey => text(job.serialize_key),
        JobColumn::RunAt => time(Some(job.run_at)),
        JobColumn::StartedAt => time(job.started_at),
        JobColumn::RetryAt => time(job.retry_at),
        JobColumn::EndedAt => time(job.completed_at.or(job.failed_at).or(job.cancelled_at)),
        JobColumn::ExpiresAt => time(job.expires_at),
        JobColumn::Outcome => text(job.outcome.map(|outcome| outcome.replace('_', " "))),
        JobColumn::ErrorKind => text(job.error_kind.map(|kind| kind.as_str().replace('_', " "))),
    }
}

/// Text or an id, cut where it is long; the tooltip has all of it.
fn text(label: &'static str, value: Option<String>) -> AnyView {
    let Some(value) = value else { return nothing() };
    let whole = value.clone();
    view! {
        <td class="extra clip text-muted" {..data_label(label)} title=whole>
            {value}
        </td>
    }
    .into_any()
}

fn number(label: &'static str, n: i64) -> AnyView {
    view! {
        <td class=if n == 0 { "n extra zero" } else { "n extra" } {..data_label(label)}>
            {format::count(n)}
        </td>
    }
    .into_any()
}

fn nothing() -> AnyView {
    view! { <td class="extra zero">"–"</td> }.into_any()
}
