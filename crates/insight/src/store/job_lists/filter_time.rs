//! Times of a filter as conditions on the row's times and as bounds of ids, which are what is indexed.
//!
//! An id (UUIDv7) begins with the time of the process that made it, while the times of rows are the database's. So ids are bounded with ten
//! minutes to spare, and the row's own time is compared as well.

use chrono::{DateTime, NaiveTime, TimeDelta, Utc};
use model::{filter::JobFilter, id::first_id};
use queue::store::jobs::Part;
use sqlx::{Postgres, QueryBuilder};

/// How far the clock of a process may be off. `/readyz` and the overview report one that is further off as a fault.
const SLACK: TimeDelta = TimeDelta::minutes(10);

/// Appends ` and …` for each time of the filter. Finished jobs are those of the last 24 hours unless the filter has a lower bound; partitions of
/// other days are not read.
pub(super) fn push(sql: &mut QueryBuilder<Postgres>, filter: &JobFilter, part: Part) {
    let filter = &filter.at(Utc::now());
    let created_at = match part {
        Part::Successors => "(j.successor ->> 'created_at')::timestamptz",
        _ => "j.created_at",
    };
    let id = part.job_id();
    if let Some(after) = filter.created_after {
        sql.push(format_args!(" and {created_at} >= ")).push_bind(after);
        sql.push(format_args!(" and {id} >= ")).push_bind(first_id(after - SLACK));
    }
    if let Some(before) = filter.created_before {
        sql.push(format_args!(" and {created_at} < ")).push_bind(before);
        sql.push(format_args!(" and {id} < ")).push_bind(first_id(before + SLACK));
    }
    match part {
        Part::Live | Part::Failing | Part::Successors => {
            if filter.finished_after.is_some() || filter.finished_before.is_some() {
                sql.push(" and false");
            }
        }
        Part::Finished => push_end(sql, filter, "j.finished_at", id, since(filter)),
        Part::Dead => {
            push_end(sql, filter, "j.failed_at", id, filter.finished_after);
            // A dead letter's own id has the time of its end.
            if let Some(after) = filter.finished_after {
                sql.push(" and j.id >= ").push_bind(first_id(after - SLACK));
            }
        }
    }
}

/// Appends ` and …` for the bounds of an index scan along `id`: only on columns of the index, and on the day of the partition.
pub(super) fn push_walk(sql: &mut QueryBuilder<Postgres>, filter: &JobFilter, part: Part, id: &str) {
    let filter = &filter.at(Utc::now());
    // A dead letter's own id has the time of its end, which is never before its acceptance.
    let (after, before) = if id == part.job_id() {
        (filter.created_after, filter.created_before)
    } else {
        (filter.finished_after.max(filter.created_after), filter.finished_before)
    };
    if let Some(after) = after {
        sql.push(format_args!(" and {id} >= ")).push_bind(first_id(after - SLACK));
    }
    if let Some(before) = before {
        sql.push(format_args!(" and {id} < ")).push_bind(first_id(before + SLACK));
    }
    if let (Part::Finished, Some(since)) = (part, since(filter)) {
        sql.push(" and j.finished_at >= ").push_bind(since.date_naive().and_time(NaiveTime::MIN).and_utc());
    }
}

fn push_end(
    sql: &mut QueryBuilder<Postgres>,
    filter: &JobFilter,
    ended_at: &str,
    id: &str,
    since: Option<DateTime<Utc>>,
) {
    if let Some(since) = since {
        sql.push(format_args!(" and {ended_at} >= ")).push_bind(since);
    }
    if let Some(before) = filter.finished_before {
        sql.push(format_args!(" and {ended_at} < ")).push_bind(before);
        // A job ends after it was accepted.
        sql.push(format_args!(" and {id} < ")).push_bind(first_id(before + SLACK));
    }
}

/// The lower bound of when finished jobs ended.
fn since(filter: &JobFilter) -> Option<DateTime<Utc>> {
    // A job ends after it was accepted.
    let given = filter.finished_after.max(filter.created_after);
    let until = filter.finished_before.unwrap_or_else(Utc::now);
    Some(given.unwrap_or(until - TimeDelta::hours(24)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finished_jobs_are_those_of_a_day_unless_the_filter_has_a_lower_bound() {
        let at = |days| Some(DateTime::UNIX_EPOCH + TimeDelta::days(days));
        let filter = |created_after, finished_after, finished_before| JobFilter {
            created_after,
            finished_after,
            finished_before,
            ..JobFilter::default()
        };
        assert_eq!(since(&filter(at(3), None, None)), at(3));
        assert_eq!(since(&filter(at(3), at(5), None)), at(5));
        assert_eq!(since(&filter(None, None, at(9))), at(8));
    }
}
