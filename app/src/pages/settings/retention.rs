//! What is kept, for how long, and how much space it takes.

use crate::components::LiveBadge;
use crate::format;
use crate::ui::{Card, Fact, Facts, Table, data_label};
use chrono::{DateTime, TimeDelta, Utc};
use leptos::prelude::*;
use model::retention::Retained;
use model::storage::{Kept, KeptKind, Retention, RetentionRule};

/// The table, and how to change retention.
#[component]
pub fn RetentionView(retention: Retention, as_of: DateTime<Utc>) -> impl IntoView {
    let Retention { rules, database_bytes, kept, .. } = retention;
    let head = || {
        view! {
            <th scope="col">"What"</th>
            <th scope="col">"Kept for"</th>
            <th scope="col" class="n">"Rows"</th>
            <th scope="col" class="n">"Size"</th>
            <th scope="col" class="grow">"Oldest day"</th>
        }
    };
    view! {
        <div class="stack">
            <Card
                title="What is kept"
                sub=format!("{} in total", size(database_bytes))
                aside=move || view! { <div class="ml-auto"><LiveBadge as_of=as_of /></div> }
            >
                <Table label="What is kept" stacks=true head=head>
                    {kept.into_iter().map(|kept| view! { <Row kept=kept /> }).collect_view()}
                </Table>
            </Card>
            <Card title="Retention settings">
                <Facts>
                    {rules.into_iter().map(|rule| view! { <Rule rule=rule /> }).collect_view()}
                    <Fact name="Allowed values">
                        "One hour (bulk operations: one day) to ten years. Set it for every process, then restart them one by one."
                    </Fact>
                    <Fact name="How it works">
                        "Finished jobs and attempts are partitioned by day (UTC); a day is dropped as a whole once all of it is older than that. Everything else is deleted in portions, every five minutes; deleted records every hour."
                    </Fact>
                    <Fact name="Never deleted automatically">
                        "Live jobs, dead letters, and records that are not deleted. A deleted record stays until every integration has been told of the deletion."
                    </Fact>
                </Facts>
            </Card>
        </div>
    }
    .into_any()
}

#[component]
fn Rule(rule: RetentionRule) -> impl IntoView {
    let now = match length(rule.seconds) {
        now if rule.seconds == rule.default_seconds => format!("{now}, the default"),
        now => format!("{now} (default {})", length(rule.default_seconds)),
    };
    view! {
        <Fact name=title(rule.what)>
            <code class="font-mono">{rule.setting}</code>
            {format!(", now {now}: {}.", rule.what.meaning())}
        </Fact>
    }
    .into_any()
}

#[component]
fn Row(kept: Kept) -> impl IntoView {
    view! {
        <tr>
            <td class="what font-semibold">{name(kept.what)}</td>
            <td class="where">{kept.seconds.map_or_else(|| kept_until(kept.what).to_owned(), length)}</td>
            <td class="n" {..data_label("rows")}>
                {kept.estimated_rows.map_or_else(|| "–".to_owned(), |rows| format!("about {}", format::compact(rows as f64)))}
            </td>
            <td class="n" {..data_label("size")}>{size(kept.bytes)}</td>
            <td class="when text-muted">{kept.oldest_day.map_or_else(|| "–".to_owned(), |day| day.to_string())}</td>
        </tr>
    }
    .into_any()
}

const fn title(what: Retained) -> &'static str {
    match what {
        Retained::FinishedJobs => "Finished jobs",
        Retained::DeletedRecords => "Deleted records",
        Retained::Resyncs => "Re-syncs",
        Retained::Operations => "Bulk operations",
        Retained::AuditLog => "Audit log",
        Retained::EventIds => "Event ids",
    }
}

const fn name(what: KeptKind) -> &'static str {
    match what {
        KeptKind::LiveJobs => "Live jobs",
        KeptKind::FinishedJobs => "Finished jobs",
        KeptKind::Attempts => "Failed attempts",
        KeptKind::DeadLetters => "Dead letters",
        KeptKind::Records => "Records and their sent state",
        KeptKind::Resyncs => "Re-syncs and their batches",
        KeptKind::Operations => "Bulk operations",
        KeptKind::Statistics => "Statistics",
        KeptKind::AuditLog => "Audit log",
        KeptKind::Other => "Everything else",
    }
}

const fn kept_until(what: KeptKind) -> &'static str {
    match what {
        KeptKind::LiveJobs => "until they end",
        KeptKind::DeadLetters => "until requeued or purged",
        KeptKind::Records => "as long as the app has them",
        KeptKind::FinishedJobs
        | KeptKind::Attempts
        | KeptKind::Resyncs
        | KeptKind::Operations
        | KeptKind::Statistics
        | KeptKind::AuditLog
        | KeptKind::Other => "–",
    }
}

/// `7 days`, `36 h`.
fn length(seconds: i64) -> String {
    match (seconds / 86_400, seconds % 86_400) {
        (days, 0) if days > 0 => format::counted(days, "day", "days"),
        _ => format::duration(TimeDelta::seconds(seconds)),
    }
}

fn size(bytes: i64) -> String {
    format::bytes(u64::try_from(bytes).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_days_are_written_as_days() {
        assert_eq!(length(7 * 86_400), "7 days");
        assert_eq!(length(86_400), "1 day");
        assert!(!length(3_600).contains("day"));
    }
}
