//! The rows of a bulk operation.

use super::undo_state;
use crate::store::{job_lists::arms::Arm, stored_name::parse_stored};
use model::actor::Scope;
use model::filter::JobFilter;
use model::id::{IntegrationId, OperationId};
use model::job::JobStatus;
use model::operation::{BulkAction, BulkSubject, DryRunPart, SampleRow};
use queue::{error::QueueError, store::jobs::Part};
use sqlx::{PgPool, Postgres, QueryBuilder};
use uuid::Uuid;

/// An action, and the rows it is for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Selection {
    pub subject: BulkSubject,
    pub action: BulkAction,
    pub scope: Scope,
    /// Given one by one; none: by the filter.
    pub ids: Option<Vec<Uuid>>,
    pub filter: JobFilter,
    /// Of an undo, the operation whose rows it is for instead.
    pub undoes: Option<Undone>,
}

/// The operation that is undone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Undone {
    pub id: OperationId,
    pub action: BulkAction,
}

/// What a selection matches.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Found {
    pub matched: i64,
    /// The highest id: jobs with higher ones came later and are not touched.
    pub upper_id: Option<Uuid>,
    pub parts: Vec<DryRunPart>,
}

impl Selection {
    /// The tables to search. With a filter, only those to which the action applies: "cancel everything of this integration" does not
    /// mean jobs that have ended, and cancelled jobs are requeued only if the filter asks for them. Ids are looked up in all
    /// tables, so that those which cannot be changed count as skipped.
    fn parts(&self) -> &'static [Part] {
        match (self.subject, self.action, &self.ids) {
            (BulkSubject::DeadLetters, ..) => &[Part::Dead],
            (BulkSubject::Jobs, _, Some(_)) => &Part::ALL,
            (BulkSubject::Jobs, BulkAction::Requeue, None)
                if self.filter.status == Some(JobStatus::Cancelled) =>
            {
                &[Part::Finished]
            }
            (BulkSubject::Jobs, BulkAction::Requeue, None) => &[Part::Live, Part::Dead],
            (BulkSubject::Jobs, _, None) => &[Part::Live, Part::Successors],
            // Deleted by their own statements.
            (BulkSubject::App | BulkSubject::Integration, ..) => &[],
        }
    }

    /// The id that is listed, stored as the cursor and passed to the action.
    fn id_of(&self, part: Part) -> &'static str {
        match self.subject {
            BulkSubject::DeadLetters => "j.id",
            BulkSubject::Jobs | BulkSubject::App | BulkSubject::Integration => part.job_id(),
        }
    }

    /// The statements of the lists; given ids are looked up.
    fn arms(&self) -> Vec<Arm<'_>> {
        // Failing jobs have an index by cause; without it the cause of every live job would be looked up.
        let by_failing = self.ids.is_none() && Part::of(&self.filter).any(|part| part == Part::Failing);
        let parts = self.parts().iter().map(|part| match part {
            Part::Live if by_failing => Part::Failing,
            other => *other,
        });
        match (&self.ids, self.subject) {
            (Some(_), _) => Arm::of_ids(parts, self.scope, &self.filter),
            (None, BulkSubject::DeadLetters) => Arm::of_dead_letters(self.scope, &self.filter),
            (None, _) => Arm::of(parts, self.scope, &self.filter),
        }
    }

    /// Appends a union of all that is selected: every arm begins with `select` and ends with what `end` appends.
    fn push(
        &self,
        sql: &mut QueryBuilder<Postgres>,
        select: impl Fn(Part) -> String,
        end: impl Fn(&mut QueryBuilder<Postgres>, Part),
    ) {
        for (n, arm) in self.arms().iter().enumerate() {
            sql.push(if n == 0 { "(" } else { " union all (" });
            arm.push(sql, &select(arm.part), |sql| {
                if let Some(ids) = &self.ids {
                    sql.push(format_args!(" and {} = any (", self.id_of(arm.part)));
                    sql.push_bind(ids.clone()).push(")");
                } else if matches!(arm.part, Part::Live | Part::Failing) && self.action == BulkAction::Requeue
                {
                    // A pending job is in the queue already, and a processing one is about to end.
                    sql.push(" and j.status = 2");
                }
                end(sql, arm.part);
            });
            sql.push(")");
        }
    }

    /// The exact numbers by integration and status.
    pub(super) async fn find(&self, pool: &PgPool) -> Result<Found, QueueError> {
        // There is no max() of uuids before Postgres 18; their text sorts alike.
        let mut sql =
            QueryBuilder::new("select integration_id, status, count(*), max(id::text)::uuid from (");
        let select = |part: Part| {
            format!("select j.integration_id, {} as status, {} as id", part.status(), self.id_of(part))
        };
        self.push(&mut sql, select, |_, _| {});
        sql.push(") matched group by integration_id, status order by count(*) desc, integration_id, status");
        let rows: Vec<(IntegrationId, String, i64, Uuid)> = sql.build_query_as().fetch_all(pool).await?;
        let mut found = Found::default();
        for (integration_id, status, count, upper_id) in rows {
            let status = parse_stored(&status)?;
            found.matched += count;
            found.upper_id = found.upper_id.max(Some(upper_id));
            found.parts.push(DryRunPart { integration_id, status, count });
        }
        Ok(found)
    }

    /// The ids after `after` up to `upper`, in order.
    pub(super) async fn ids(
        &self,
        pool: &PgPool,
        after: Option<Uuid>,
        upper: Uuid,
        limit: i64,
    ) -> Result<Vec<Uuid>, QueueError> {
        if let Some(undone) = self.undoes {
            return undo_state::jobs(pool, undone.id, after, limit).await;
        }
        let mut sql = QueryBuilder::new("select id from (");
        let select = |part: Part| format!("select {} as id", self.id_of(part));
        self.push(&mut sql, select, |sql, part| {
            let id = self.id_of(part);
            sql.push(format_args!(" and {id} <= ")).push_bind(upper);
            if let Some(after) = after {
                sql.push(format_args!(" and {id} > ")).push_bind(after);
            }
            sql.push(format_args!(" order by {id} limit ")).push_bind(limit);
        });
        sql.push(") matched order by id limit ").push_bind(limit);
        Ok(sql.build_query_scalar().fetch_all(pool).await?)
    }

    /// The newest jobs, to be shown.
    pub(super) async fn sample(&self, pool: &PgPool, limit: i64) -> Result<Vec<SampleRow>, QueueError> {
        let mut sql =
            QueryBuilder::new("select job_id, integration_id, job_type, record_type, record_id from (");
        let select = |part: Part| {
            format!(
                "select {} as job_id, j.integration_id, {} as job_type, j.record_type, j.record_id",
                part.job_id(),
                part.own("job_type")
            )
        };
        self.push(&mut sql, select, |sql, part| {
            sql.push(format_args!(" order by {} desc limit ", part.job_id())).push_bind(limit);
        });
        sql.push(") matched order by job_id desc limit ").push_bind(limit);
        Ok(sql.build_query_as().fetch_all(pool).await?)
    }
}
