//! How many dead letters match a filter, by fingerprint and integration.

use crate::store::job_lists::arms::Arm;
use model::{actor::Scope, failure::CauseId, filter::JobFilter, job::JobStatus, matched::MAX_COUNTED};
use sqlx::{Postgres, QueryBuilder};

/// Whether counters can answer: they are kept by app, integration and cause. The status "failed" is true of all dead letters.
pub(super) fn is_kept(filter: &JobFilter) -> bool {
    let status = filter.status.filter(|status| *status != JobStatus::Failed);
    let rest = JobFilter { app_id: None, integration_id: None, fingerprint: None, status, ..filter.clone() };
    rest == JobFilter::default()
}

/// Appends `select fingerprint, integration_id, count …` from counters and their unfolded deltas, which is exact at any moment: it reads as many rows as
/// there are integrations and causes, however many dead letters there are.
pub(super) fn push_kept(sql: &mut QueryBuilder<Postgres>, scope: Scope, filter: &JobFilter) {
    sql.push(
        "select k.fingerprint, k.integration_id, sum(k.dead)::bigint as count
         from (
             select fingerprint, cause, integration_id, dead from headgate.failure_counts where dead <> 0
             union all
             select fingerprint, left(fingerprint, 16), integration_id, dead from headgate.failure_deltas where dead <> 0
         ) k
         where k.integration_id in (select i.id from headgate.integrations i)",
    );
    for app_id in [scope.app_id(), filter.app_id].into_iter().flatten() {
        sql.push(" and k.integration_id in (select i.id from headgate.integrations i where i.app_id = ");
        sql.push_bind(app_id).push(")");
    }
    if let Some(id) = filter.integration_id {
        sql.push(" and k.integration_id = ").push_bind(id);
    }
    // As in `filter::push`: a whole fingerprint, or its cause.
    if let Some(fingerprint) = &filter.fingerprint {
        let column = if CauseId::is_cause_only(fingerprint) { "k.cause" } else { "k.fingerprint" };
        sql.push(format_args!(" and {column} = ")).push_bind(fingerprint.clone());
    }
    sql.push(" group by k.fingerprint, k.integration_id having sum(k.dead) > 0");
}

/// The same for any filter, by counting the newest dead letters that match: one more than the maximum, so that the caller sees that there are more.
pub(super) fn push_counted(sql: &mut QueryBuilder<Postgres>, scope: Scope, filter: &JobFilter) {
    let newest = format!(" order by id desc limit {}", MAX_COUNTED + 1);
    sql.push("select j.fingerprint, j.integration_id, count(*) as count from (select * from (");
    for (n, arm) in Arm::of_dead_letters(scope, filter).iter().enumerate() {
        sql.push(if n == 0 { "(" } else { " union all (" });
        let select = "select j.id, j.fingerprint, j.integration_id";
        arm.push(sql, select, |sql| {
            sql.push(&newest);
        });
        sql.push(")");
    }
    sql.push(format_args!(") found{newest}) j group by j.fingerprint, j.integration_id"));
}
