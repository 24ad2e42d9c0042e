//! A filter as conditions: one builder for lists, dead letters and bulk actions, so that a button touches what its list shows. [`super::arms`]
//! lead to what they are asked of.
//!
//! What the API calls a job lies in four places ([`Part`]); each condition is written for the place it is asked of, and a place
//! that cannot hold what is asked for says `false`.

use super::{filter_time, record_key::deduplication_id};
use model::{
    actor::Scope,
    failure::CauseId,
    filter::{AnswerStatus, JobFilter, PayloadMatch},
    id::{AppId, BatchId, IntegrationId, WorkerId},
    job::JobStatus,
    rules::masking::AsShown,
};
use sqlx::{Postgres, QueryBuilder};

/// Where jobs lie. In all of a part's SQL its row is `j`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// `jobs`.
    Live,
    /// Those of them that failed, by way of `failing_jobs`: little beside `jobs`, and in the order of ids. Asked instead of all that are
    /// live where only such jobs can match ([`Part::of`]).
    Failing,
    /// The change that waits behind a processing job of the same deduplication id: `jobs.successor`.
    Successors,
    /// `finished_jobs`: completed and cancelled.
    Finished,
    /// `dead_letter_jobs`.
    Dead,
}

impl Part {
    /// Everything that is a job, each once.
    pub(crate) const ALL: [Self; 4] = [Self::Live, Self::Successors, Self::Finished, Self::Dead];

    /// Everything that may match, each once. Nothing of `jobs` that an attempt changes is indexed; who waits for another one has failed
    /// before, and so has who failed by some cause. What is told by something narrower is found by that.
    pub(crate) fn of(filter: &JobFilter) -> impl Iterator<Item = Self> {
        let has_failed = match filter.status {
            Some(JobStatus::ToBeRetried | JobStatus::Retrying) => true,
            None => filter.fingerprint.is_some(),
            Some(_) => false,
        };
        let is_narrow = filter.correlation_id.is_some()
            || filter.batch_id.is_some()
            || filter.record_id.is_some()
            || filter.q.is_some();
        let by_failing = has_failed && !is_narrow;
        Self::ALL.into_iter().map(move |part| match part {
            Self::Live if by_failing => Self::Failing,
            other => other,
        })
    }

    /// For `from`: [`Part::relation`] as [`Part::row`], and what is [`Part::joined`].
    pub(crate) fn table(self) -> String {
        format!("{} {}{}", self.relation(), self.row(), self.joined())
    }

    /// What has the rows in the order of their ids.
    pub(super) fn relation(self) -> &'static str {
        match self {
            Self::Live | Self::Successors => "headgate.jobs",
            Self::Failing => "headgate.failing_jobs",
            Self::Finished => "headgate.finished_jobs",
            Self::Dead => "headgate.dead_letter_jobs",
        }
    }

    /// The name of its row.
    pub(super) fn row(self) -> &'static str {
        if self == Self::Failing { "f" } else { "j" }
    }

    /// What belongs to each of them.
    pub(super) fn joined(self) -> &'static str {
        match self {
            // `offset 0`: one probe each, whatever the planner believes about the table.
            Self::Failing => {
                " cross join lateral (select * from headgate.jobs x where x.id = f.job_id offset 0) j"
            }
            // Those of a deleted app are nobody's.
            Self::Finished => " join headgate.apps a on a.id = j.app_id",
            Self::Live | Self::Successors | Self::Dead => "",
        }
    }

    /// The job's id.
    pub(crate) fn job_id(self) -> &'static str {
        match self {
            Self::Live | Self::Finished => "j.id",
            Self::Failing => "f.job_id",
            Self::Successors => "((j.successor ->> 'id')::uuid)",
            Self::Dead => "j.job_id",
        }
    }

    /// The name of the job's status.
    pub(crate) fn status(self) -> &'static str {
        match self {
            Self::Live | Self::Failing => {
                "case j.status when 0 then 'pending' when 1 then 'processing' \
                 else case when j.retry_at <= clock_timestamp() then 'retrying' else 'to_be_retried' end end"
            }
            Self::Successors => "'pending'",
            Self::Finished => "case j.status when 3 then 'completed' else 'cancelled' end",
            Self::Dead => "'failed'",
        }
    }

    /// A column the successor has of its own.
    pub(crate) fn own(self, column: &'static str) -> String {
        match self {
            Self::Successors => format!("(j.successor ->> '{column}')"),
            _ => format!("j.{column}"),
        }
    }
}

/// Of `j`: what is left of an integration that is being deleted is nobody's any more. Asked once for a statement.
///
/// `coalesce`: without it the planner takes the list for ten integrations, believes that of few integrations nothing is kept, and sorts whole
/// tables instead of walking an index.
const IS_KEPT: &str = " and coalesce(j.integration_id <> all (array( \
     select unnest(g.integration_ids) from headgate.deletions g where g.finished_at is null)), true)";

/// Appends ` and …` for the scope, outside of which lies what is being deleted.
pub(crate) fn push_scope(sql: &mut QueryBuilder<Postgres>, scope: Scope, part: Part) {
    // Finished jobs stay their app's when their integration is deleted.
    if part != Part::Finished {
        sql.push(IS_KEPT);
    }
    if let Some(app_id) = scope.app_id() {
        sql.push(" and j.app_id = ").push_bind(app_id);
    }
}

/// Appends ` and …`: the job has this correlation id.
fn push_correlation(sql: &mut QueryBuilder<Postgres>, part: Part, id: &str) {
    sql.push(" and (");
    push_came_with(sql, part, id);
    sql.push(" or ");
    push_was_folded(sql, part, id);
    sql.push(")");
}

/// Appends: the job was accepted with this correlation id. What is live, finished or dead has an index of these in the order of ids.
pub(super) fn push_came_with(sql: &mut QueryBuilder<Postgres>, part: Part, id: &str) {
    sql.push(format_args!("{} = ", part.own("correlation_id"))).push_bind(id.to_owned());
}

/// Appends: a change of this correlation id was folded into the job. The index of these has no order.
pub(super) fn push_was_folded(sql: &mut QueryBuilder<Postgres>, part: Part, id: &str) {
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
        // A way of its own: `arms`.
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
                let AsShown { suspicion, from_first } = AsShown::new(names);
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

/// The cause within a fingerprint, as the indexes of causes have it.
pub(crate) fn cause_of(fingerprint: &str) -> String {
    format!("left({fingerprint}, {})", CauseId::DIGITS)
}

/// The cause that a fingerprint is of.
fn cause_in(fingerprint: &str) -> String {
    fingerprint.chars().take(CauseId::DIGITS).collect()
}

/// What a fingerprint that is asked for is compared with: a whole one, or its cause.
pub(crate) fn compared(fingerprint: &str, column: &str) -> String {
    if CauseId::is_all_of(fingerprint) { cause_of(column) } else { column.to_owned() }
}

/// What of a row leads to those that failed by it, and at which value; of dead letters to those of one integration alone.
pub(super) fn fingerprint_key(fingerprint: &str, part: Part) -> Option<(String, String)> {
    match part {
        Part::Dead => Some((compared(fingerprint, "j.fingerprint"), fingerprint.to_owned())),
        Part::Failing => Some((cause_of("f.fingerprint"), cause_in(fingerprint))),
        Part::Live | Part::Successors | Part::Finished => None,
    }
}

/// Of one cause at one integration, or of the cause wherever it is. Completed jobs failed by nothing.
fn push_fingerprint(sql: &mut QueryBuilder<Postgres>, fingerprint: &str, part: Part) {
    match part {
        Part::Dead | Part::Failing => {
            if let Some((key, value)) = fingerprint_key(fingerprint, part) {
                sql.push(format_args!(" and {key} = ")).push_bind(value);
            }
            if part == Part::Failing && !CauseId::is_all_of(fingerprint) {
                sql.push(" and f.fingerprint = ").push_bind(fingerprint.to_owned());
            }
        }
        Part::Live => {
            // Asked of each row: a planner that joins them reads all that failed by the cause.
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
        // What workers hold stands in their claims as well: a probe each.
        (Part::Live, JobStatus::Processing) => {
            "j.status = 1 and j.id in (select unnest(c.job_ids) from headgate.claim_batches c)"
        }
        (Part::Live | Part::Failing, JobStatus::ToBeRetried) => {
            "j.status = 2 and j.retry_at > clock_timestamp()"
        }
        (Part::Live, JobStatus::Retrying) => "j.status = 2 and j.retry_at <= clock_timestamp()",
        // `now()`: a bound of the index, as the statement's clock is not.
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

/// Leads to the index that has the record: of live jobs that of deduplication ids, of those that ended one that begins with the app.
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

/// What the last attempt that ended was answered.
fn push_answer(sql: &mut QueryBuilder<Postgres>, status: &AnswerStatus, part: Part) {
    let (least, most) = status.range();
    let column = match part {
        Part::Finished | Part::Dead => " and j.response_status",
        // It stands with the attempt. That ended after it began, so that only the days since then are probed; row by row, because a planner
        // that joins them reads all attempts.
        Part::Live | Part::Failing => {
            " and j.status = 2 and (select a.response_status from headgate.job_attempts a where a.job_id = j.id \
             and a.finished_at >= j.started_at and a.attempt = j.attempt limit 1)"
        }
        Part::Successors => {
            sql.push(" and false");
            return;
        }
    };
    sql.push(column).push(" between ").push_bind(least).push(" and ").push_bind(most);
}

fn push_worker(sql: &mut QueryBuilder<Postgres>, id: WorkerId, part: Part) {
    if part == Part::Successors {
        sql.push(" and false");
        return;
    }
    sql.push(" and j.worker_id = ").push_bind(id);
    if matches!(part, Part::Live | Part::Failing) {
        // What it holds: few, and told by its claims.
        sql.push(
            " and j.status = 1 and j.id in (select unnest(c.job_ids) from headgate.claim_batches c where c.worker_id = ",
        )
        .push_bind(id)
        .push(")");
    }
}

/// A number matches the number and its text. A dead letter is shown by what it sent, and its job by what it was given: either finds it.
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

/// A pattern that finds the text wherever it stands, its own `%`, `_` and `\` taken literally.
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
    fn wild_cards_in_a_search_are_taken_literally() {
        for (text, pattern) in [("a", "%a%"), ("50%", "%50\\%%"), ("a_b\\", "%a\\_b\\\\%")] {
            assert_eq!(containing(text), pattern);
        }
    }

    #[test]
    fn a_status_is_looked_for_where_it_can_be() {
        for status in JobStatus::ALL {
            let places =
                Part::ALL.into_iter().filter(|part| status_condition(status, *part) != "false").count();
            assert_eq!(places, if status == JobStatus::Pending { 2 } else { 1 }, "{status:?}");
        }
    }
}
