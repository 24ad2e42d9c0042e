//! How much storage each kind of data takes. Sizes and row estimates are Postgres' own: nothing is counted.

use model::retention::{Retained, Retentions};
use model::storage::{Kept, KeptKind, Retention, RetentionRule};
use queue::error::QueueError;
use sqlx::PgPool;
use std::{collections::BTreeMap, time::Duration};

/// Everything the schema keeps, by kind, largest first.
pub async fn retention(pool: &PgPool, retentions: Retentions) -> Result<Retention, QueueError> {
    let rows = sqlx::query!(
        r#"
        select coalesce(p.relname, c.relname)::text as "name!", sum(pg_total_relation_size(c.oid))::bigint as "bytes!",
            case when max(c.reltuples) >= 0 then sum(greatest(c.reltuples, 0))::bigint end as rows,
            min(to_date(substring(c.relname from '_([0-9]{8})$'), 'YYYYMMDD')) filter (where p.oid is not null) as oldest_day
        from pg_class c
        left join pg_inherits i on i.inhrelid = c.oid
        left join pg_class p on p.oid = i.inhparent
        where c.relkind = 'r' and c.relnamespace = 'headgate'::regnamespace
        group by 1
        "#
    )
    .fetch_all(pool)
    .await?;
    let mut kinds = BTreeMap::<KeptKind, Kept>::new();
    let mut database_bytes = 0;
    for row in rows {
        database_bytes += row.bytes;
        let what = kind(&row.name);
        let kept = kinds.entry(what).or_insert(Kept {
            what,
            seconds: kept_for(what, retentions),
            bytes: 0,
            estimated_rows: None,
            oldest_day: None,
        });
        kept.bytes += row.bytes;
        // Only rows of the table that the kind is named after: those of its side tables are no further objects.
        if is_main(&row.name) {
            kept.estimated_rows = row.rows;
            kept.oldest_day = row.oldest_day.or(kept.oldest_day);
        }
    }
    let mut kept: Vec<_> = kinds.into_values().collect();
    kept.sort_by_key(|kept| std::cmp::Reverse(kept.bytes));
    let rule = |&what: &Retained| RetentionRule {
        what,
        setting: what.setting().to_owned(),
        seconds: seconds(retentions.of(what)),
        default_seconds: seconds(what.default_duration()),
    };
    Ok(Retention {
        retention_seconds: seconds(retentions.of(Retained::FinishedJobs)),
        rules: Retained::ALL.iter().map(rule).collect(),
        database_bytes,
        kept,
    })
}

fn seconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_secs()).unwrap_or(i64::MAX)
}

fn kind(table: &str) -> KeptKind {
    match table {
        "jobs" | "ready" | "waiting" | "serialized_jobs" | "serialize_keys" => KeptKind::LiveJobs,
        "finished_jobs" => KeptKind::FinishedJobs,
        "job_attempts" => KeptKind::Attempts,
        name if name.starts_with("dead_letter") => KeptKind::DeadLetters,
        "records" | "sent_records" | "uncertain_records" => KeptKind::Records,
        "resyncs" | "batches" | "batch_deltas" => KeptKind::Resyncs,
        "operations" | "operation_jobs" | "deletions" => KeptKind::Operations,
        "audit_log" => KeptKind::AuditLog,
        name if [
            "throughput",
            "latency",
            "live_snapshots",
            "gauge",
            "job_count",
            "record_count",
            "in_sync_count",
            "breaker_flips",
            "totals",
        ]
        .iter()
        .any(|begin| name.starts_with(begin)) =>
        {
            KeptKind::Statistics
        }
        _ => KeptKind::Other,
    }
}

fn is_main(table: &str) -> bool {
    matches!(
        table,
        "jobs"
            | "finished_jobs"
            | "job_attempts"
            | "dead_letter_jobs"
            | "records"
            | "resyncs"
            | "operations"
            | "audit_log"
    )
}

fn kept_for(what: KeptKind, retentions: Retentions) -> Option<i64> {
    let retained = match what {
        KeptKind::FinishedJobs | KeptKind::Attempts => Retained::FinishedJobs,
        KeptKind::Resyncs => Retained::Resyncs,
        KeptKind::Operations => Retained::Operations,
        KeptKind::AuditLog => Retained::AuditLog,
        // That of the coarsest step.
        KeptKind::Statistics => return Some(90 * 86_400),
        KeptKind::LiveJobs | KeptKind::DeadLetters | KeptKind::Records | KeptKind::Other => return None,
    };
    Some(seconds(retentions.of(retained)))
}
