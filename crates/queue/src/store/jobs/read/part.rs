//! Where the rows of jobs are, and what of them a scope shows.

use model::{actor::Scope, filter::JobFilter, job::JobStatus};
use sqlx::{Postgres, QueryBuilder};

/// Where jobs are stored. In all SQL of a part its row is `j`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// `jobs`.
    Live,
    /// Rows of `jobs` that have failed before, through `failing_jobs`: small compared with `jobs`, and in the order of ids. It is read instead of
    /// `jobs` where only such jobs can match ([`Part::of`]).
    Failing,
    /// Jobs that wait for a processing job of the same deduplication id: `jobs.successor`.
    Successors,
    /// `finished_jobs`: completed and cancelled.
    Finished,
    /// `dead_letter_jobs`.
    Dead,
}

impl Part {
    /// All parts, so that each job is found once.
    pub const ALL: [Self; 4] = [Self::Live, Self::Successors, Self::Finished, Self::Dead];

    /// The parts that may match, so that each job is found once. `jobs` has no index of columns that an attempt changes; but a job that waits for a
    /// retry has failed before, and so has one with a failure cause: these are found through `failing_jobs`, unless the filter has a narrower
    /// condition.
    pub fn of(filter: &JobFilter) -> impl Iterator<Item = Self> {
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

    /// For `from`: [`Part::relation`] under the alias [`Part::row`], with the join [`Part::joined`].
    pub fn table(self) -> String {
        format!("{} {}{}", self.relation(), self.row(), self.joined())
    }

    /// The table that has an index in the order of the ids.
    pub fn relation(self) -> &'static str {
        match self {
            Self::Live | Self::Successors => "headgate.jobs",
            Self::Failing => "headgate.failing_jobs",
            Self::Finished => "headgate.finished_jobs",
            Self::Dead => "headgate.dead_letter_jobs",
        }
    }

    pub fn row(self) -> &'static str {
        if self == Self::Failing { "f" } else { "j" }
    }

    /// The join that belongs to each row of it.
    pub fn joined(self) -> &'static str {
        match self {
            // `offset 0`: one probe each, whatever the statistics say.
            Self::Failing => {
                " cross join lateral (select * from headgate.jobs x where x.id = f.job_id offset 0) j"
            }
            // Jobs of a deleted app are in no list.
            Self::Finished => " join headgate.apps a on a.id = j.app_id",
            Self::Live | Self::Successors | Self::Dead => "",
        }
    }

    pub fn job_id(self) -> &'static str {
        match self {
            Self::Live | Self::Finished => "j.id",
            Self::Failing => "f.job_id",
            Self::Successors => "((j.successor ->> 'id')::uuid)",
            Self::Dead => "j.job_id",
        }
    }

    pub fn status(self) -> &'static str {
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

    /// A column that a successor has in its JSON.
    pub fn own(self, column: &'static str) -> String {
        match self {
            Self::Successors => format!("(j.successor ->> '{column}')"),
            _ => format!("j.{column}"),
        }
    }
}

/// Leaves out rows `j` of integrations that are being deleted. The sub-query runs once per statement.
///
/// Without `coalesce` the planner estimates ten integrations for the array, concludes that hardly any row passes, and sorts whole tables instead of
/// walking an index.
const IS_KEPT: &str = " and coalesce(j.integration_id <> all (array( \
     select unnest(g.integration_ids) from headgate.deletions g where g.finished_at is null)), true)";

/// Appends ` and …` for the scope, which leaves out integrations that are being deleted.
pub fn push_scope(sql: &mut QueryBuilder<Postgres>, scope: Scope, part: Part) {
    // Finished jobs belong to their app also after their integration was deleted.
    if part != Part::Finished {
        sql.push(IS_KEPT);
    }
    if let Some(app_id) = scope.app_id() {
        sql.push(" and j.app_id = ").push_bind(app_id);
    }
}
