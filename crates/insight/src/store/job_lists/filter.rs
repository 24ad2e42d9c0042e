//! A filter as SQL conditions: one builder for lists, dead letters and bulk actions, so that an action applies to exactly what its list shows.
//! [`super::arms`] chooses the access paths.
//!
//! Jobs lie in several tables ([`Part`]). Each condition is written for one part; in a part that cannot match it is `false`.

use super::filter_time;
use model::failure::CauseId;
use model::filter::{AnswerStatus, JobFilter, PayloadMatch};
use model::id::{AppId, BatchId, IntegrationId, WorkerId};
use model::job::JobStatus;
use model::rules::masking::FirstSecret;
use queue::store::jobs::{Part, deduplication_id};
use sqlx::{Postgres, QueryBuilder};

/// Appends ` and …`: the job has this correlation id.
fn push_correlation(sql: &mut QueryBuilder<Postgres>, part: Part, id: &str) {
    sql.push(" and (");
    push_came_with(sql, part, id);
    sql.push(" or ");
    push_was_folded(sql, part, id);
    sql.push(")");
}

/// Appends: the job was accepted with this correlation id. The tables of live, finished and dead jobs have an index of it in the order of ids.
pub(crate) fn push_came_with(sql: &mut QueryBuilder<Postgres>, part: Part, id: &str) {
    sql.push(format_args!("{} = ", part.own("correlation_id"))).push_bind(id.to_owned());
}

/// Appends: a change with this correlation id was folded into the job. The index of these (GIN) has no order.
pub(crate) fn push_was_folded(sql: &mut QueryBuilder<Postgres>, part: Part, id: &str) {
    if part == Part::Successors {
        sql.push("j.successor -> 'correlation_ids' ? ").push_bind(id.to_owned());
    } else {
        sql.push("j.correlation_ids @> array[").push_bind(id.to_owned()).push("]");
    }
}

/// Appends ` and …` for each condition of the filter.
pub(crate) fn push(sql: &mut QueryBuilder<Postgres>, filter: &JobFilter, part: Part) {
    // Named one by one: a new field of the filter stops the build here.
    let JobFilter {
        status,
        attempt,
        attempt_min,
        attempt_max,
        app_id,
        integration_id,
        job_type,
        correlation_id,
        batch_id,
        record_type,
        record_id,
        error,
        // An access path of its own: `arms`.
        q: _,
        created_after: _,
        created_before: _,
        min_age: _,
        max_age: _,
        finished_after: _,
        finished_before: _,
        response_status,
        worker_id,
        payload,
        fingerprint,
        masked_names,
    } = filter;
    if part == Part::Successors {
        sql.push(" and j.successor is not null");
    }
    if let Some(status) = status {
        sql.push(" and ").push(status_condition(*status, part));
    }
    for (compare, attempt) in [("=", attempt), (">=", attempt_min), ("<=", attempt_max)] {
        if let Some(attempt) = attempt {
            // A successor was never tried.
            let made = if part == Part::Successors { "0" } else { "j.attempt" };
            sql.push(format_args!(" and {made} {compare} ")).push_bind(*attempt);
        }
    }
    push_ids(sql, part, *app_id, *integration_id, *batch_id);
    for (column, value) in [
        (part.own("job_type"), job_type),
        ("j.record_type".to_owned(), record_type),
        ("j.record_id".to_owned(), record_id),
    ] {
        if let Some(value) = value {
            sql.push(format_args!(" and {column} = ")).push_bind(value.clone());
        }
    }
    if let Some(id) = correlation_id {
        push_correlation(sql, part, id);
    }
    match (error, part) {
        (None, _) => {}
        (Some(error), Part::Live | Part::Failing | Part::Dead) => {
            sql.push(" and j.error_message ilike ").push_bind(containing(error));
            if let Some(names) = masked_names {
                let FirstSecret { suspicion, from_first } = FirstSecret::new(names);
                sql.push(" and (j.error_message !~ ").push_bind(suspicion);
                sql.push(" or regexp_replace(j.error_message, ").push_bind(from_first);
                sql.push(r", '\1\2') ilike ").push_bind(containing(error)).push(")");
            }
        }
        (Some(_), Part::Successors | Part::Finished) => {
            sql.push(" and false");
        }
    }
    filter_time::push(sql, filter, part);
    if let (Some(kind), Some(id)) = (record_type, record_id) {
        push_record(sql, kind, id, part);
    }
    if let Some(status) = response_status {
        push_answer(sql, status, part);
    }
    if let Some(id) = worker_id {
        push_worker(sql, *id, part);
    }
    if let Some(payload) = payload {
        push_payload(sql, payload, part);
    }
    if let Some(fingerprint) = fingerprint {
        push_fingerprint(sql, fingerprint, part);
    }
}

/// SQL of the cause within a fingerprint, as the indexes of causes have it.
pub(crate) fn cause_of(fingerprint: &str) -> String {
    format!("left({fingerprint}, {})", CauseId::DIGITS)
}

fn cause_in(fingerprint: &str) -> String {
    fingerprint.chars().take(CauseId::DIGITS).collect()
}

/// SQL of what a wanted fingerprint is compared with: the whole fingerprint of a row, or only its cause.
pub(crate) fn compared(fingerprint: &str, column: &str) -> String {
    if CauseId::is_cause_only(fingerprint) { cause_of(column) } else { column.to_owned() }
}

/// The indexed expression for jobs that failed with a fingerprint, and its value; for dead letters it finds those of one integration only.
pub(super) fn fingerprint_key(fingerprint: &str, part: Part) -> Option<(String, String)> {
    match part {
        Part::Dead => Some((compared(fingerprint, "j.fingerprint"), fingerprint.to_owned())),
        Part::Failing => Some((cause_of("f.fingerprint"), cause_in(fingerprint))),
        Part::Live | Part::Successors | Part::Finished => None,
    }
}

/// Jobs that failed by one cause, at one integration or at any. Finished jobs have no cause.
fn push_fingerprint(sql: &mut QueryBuilder<Postgres>, fingerprint: &str, part: Part) {
    match part {
        Part::Dead | Part::Failing => {
            if let Some((key, value)) = fingerprint_key(fingerprint, part) {
                sql.push(format_args!(" and {key} = ")).push_bind(value);
            }
            if part == Part::Failing && !CauseId::is_cause_only(fingerprint) {
                sql.push(" and f.fingerprint = ").push_bind(fingerprint.to_owned());
            }
        }
        Part::Live => {
            // A sub-query per row: with a join the planner reads all jobs that failed by the cause.
            let own = "(select f.fingerprint from headgate.failing_jobs f where f.job_id = j.id limit 1)";
            sql.push(format_args!(" and {} = ", compared(fingerprint, own)))
                .push_bind(fingerprint.to_owned());
        }
        Part::Successors | Part::Finished => {
            sql.push(" and false");
        }
    }
}

pub(super) fn status_condition(status: JobStatus, part: Part) -> &'static str {
    match (part, status) {
        (Part::Live, JobStatus::Pending) => "j.status = 0",
        // Jobs being processed are listed in the claims of their workers as well: a probe for each, instead of a scan of `jobs`.
        (Part::Live, JobStatus::Processing) => {
            "j.status = 1 and j.id in (select unnest(c.job_ids) from headgate.claim_batches c)"
        }
        // Due ones too, which are shown as `retrying`: the counters know no clock, and a number's list has what the number counts.
        (Part::Live | Part::Failing, JobStatus::ToBeRetried) => "j.status = 2",
        (Part::Live, JobStatus::Retrying) => "j.status = 2 and j.retry_at <= clock_timestamp()",
        // `now()` can be a bound of an index scan; `clock_timestamp()` is volatile and cannot.
        (Part::Failing, JobStatus::Retrying) => {
            "f.due_at <= now() and j.status = 2 and j.retry_at <= clock_timestamp()"
        }
        (Part::Finished, JobStatus::Completed) => "j.status = 3",
        (Part::Finished, JobStatus::Cancelled) => "j.status = 4",
        (Part::Successors, JobStatus::Pending) | (Part::Dead, JobStatus::Failed) => "true",
        _ => "false",
    }
}

fn push_ids(
    sql: &mut QueryBuilder<Postgres>,
    part: Part,
    app_id: Option<AppId>,
    integration_id: Option<IntegrationId>,
    batch_id: Option<BatchId>,
) {
    if let Some(id) = app_id {
        sql.push(" and j.app_id = ").push_bind(id);
    }
    if let Some(id) = integration_id {
        sql.push(format_args!(" and {}.integration_id = ", part.row())).push_bind(id);
    }
    if let Some(id) = batch_id {
        sql.push(format_args!(" and {}::uuid = ", part.own("batch_id"))).push_bind(id);
    }
}

/// Leads to the index that has the record: for live jobs that of deduplication ids, for ended jobs one that begins with the app.
fn push_record(sql: &mut QueryBuilder<Postgres>, record_type: &str, record_id: &str, part: Part) {
    match part {
        Part::Live | Part::Failing | Part::Successors => {
            sql.push(" and j.deduplication_id = ").push_bind(deduplication_id(record_type, record_id));
            sql.push(" and j.integration_id in (select o.id from headgate.integrations o)");
        }
        Part::Finished | Part::Dead => {
            sql.push(" and j.app_id in (select o.id from headgate.apps o)");
        }
    }
}

/// The HTTP status that the last ended attempt got.
fn push_answer(sql: &mut QueryBuilder<Postgres>, status: &AnswerStatus, part: Part) {
    let (min, max) = status.range();
    let column = match part {
        Part::Finished | Part::Dead => " and j.response_status",
        // The status is in the row of the attempt, which ended after it began: so only the partitions of the days since then are probed. It is a
        // sub-query per row, because with a join the planner reads all attempts.
        Part::Live | Part::Failing => {
            " and j.status = 2 and (select a.response_status from headgate.job_attempts a where a.job_id = j.id \
             and a.finished_at >= j.started_at and a.attempt = j.attempt limit 1)"
        }
        Part::Successors => {
            sql.push(" and false");
            return;
        }
    };
    sql.push(column).push(" between ").push_bind(min).push(" and ").push_bind(max);
}

fn push_worker(sql: &mut QueryBuilder<Postgres>, id: WorkerId, part: Part) {
    if part == Part::Successors {
        sql.push(" and false");
        return;
    }
    sql.push(" and j.worker_id = ").push_bind(id);
    if matches!(part, Part::Live | Part::Failing) {
        // The jobs that the worker has under a lease: they are few, and listed in its claims.
        sql.push(
            " and j.status = 1 and j.id in (select unnest(c.job_ids) from headgate.claim_batches c where c.worker_id = ",
        )
        .push_bind(id)
        .push(")");
    }
}

/// A number matches the number and its text. A dead letter is shown with the body it sent, and its job with the payload it was given: either matches.
fn push_payload(sql: &mut QueryBuilder<Postgres>, payload: &PayloadMatch, part: Part) {
    let columns: &[&str] = match part {
        Part::Live | Part::Failing | Part::Finished => &["j.payload"],
        Part::Successors => &["(j.successor -> 'payload')"],
        Part::Dead => &["j.sent_body", "j.payload"],
    };
    for documents in payload.documents() {
        let mut joins = std::iter::once(" and (").chain(std::iter::repeat(" or "));
        for (column, document) in columns.iter().flat_map(|column| documents.iter().map(move |d| (column, d)))
        {
            sql.push(joins.next().unwrap_or_default());
            sql.push(column).push(" @> ").push_bind(document.clone());
        }
        sql.push(")");
    }
}

/// A `like` pattern that finds the text anywhere; `%`, `_` and `\` in it are taken literally.
fn containing(text: &str) -> String {
    let mut pattern = String::from("%");
    for c in text.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_in_a_search_are_taken_literally() {
        for (text, pattern) in [("a", "%a%"), ("50%", "%50\\%%"), ("a_b\\", "%a\\_b\\\\%")] {
            assert_eq!(containing(text), pattern);
        }
    }

    #[test]
    fn a_status_is_searched_only_in_parts_that_can_have_it() {
        for &status in JobStatus::ALL {
            let parts =
                Part::ALL.into_iter().filter(|part| status_condition(status, *part) != "false").count();
            assert_eq!(parts, if status == JobStatus::Pending { 2 } else { 1 }, "{status:?}");
        }
    }
}
