//! The access paths to the rows that a filter asks for. Each path has an index of its own, so each is one arm of a union. A job that two
//! paths lead to is returned by the first of them only, so that no job comes twice.

use super::filter;
use model::{actor::Scope, filter::JobFilter, id::AppId, job::JobStatus};
use queue::store::jobs::{Part, push_scope, record_of};
use sqlx::{Postgres, QueryBuilder};
use uuid::Uuid;

/// A filter applied to one part, by one access path.
#[derive(Clone, Debug)]
pub(crate) struct Arm<'a> {
    pub(crate) part: Part,
    scope: Scope,
    pub(super) filter: &'a JobFilter,
    pub(super) path: AccessPath,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum AccessPath {
    /// By the conditions themselves: through one of their indexes, or row after row in the order of the list.
    Conditions,
    /// The few jobs whose retry is due, by the index of due times: all that wait may be a million.
    Due,
    /// Jobs accepted with the correlation id, in the order of the list.
    Correlated,
    /// Jobs accepted with another correlation id, into which a change with this one was folded.
    Folded,
    /// One integration of an app after the other: nothing is indexed by the app alone.
    Integrations(AppId),
    /// A record's id without its type: one pair of app and type after the other, as the table of record types has them.
    RecordId(String),
    /// `q`, read as the last of these and not matching any before it.
    Search(Vec<Interpretation>),
}

/// With up to so many due retries, a list finds them by when they are due.
pub(super) const MAX_DUE: i64 = 3_000;

/// What `q` may stand for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Interpretation {
    Job(Uuid),
    DeadLetter(Uuid),
    Correlation(String),
    /// The correlation id of a change that was folded into the job.
    FoldedCorrelation(String),
    RecordId(String),
    /// Type and id of a record, given as the deduplication id of its jobs.
    Record(String, String),
    Deduplication(String),
}

impl<'a> Arm<'a> {
    /// All access paths to jobs, in the order of job ids.
    pub(crate) fn of(
        parts: impl IntoIterator<Item = Part>,
        scope: Scope,
        filter: &'a JobFilter,
    ) -> Vec<Self> {
        let access_paths = |part| access_paths(part, scope, filter).into_iter().map(move |path| (part, path));
        parts
            .into_iter()
            .flat_map(access_paths)
            .map(|(part, path)| Self { part, scope, filter, path })
            .collect()
    }

    /// All access paths to dead letters, in the order of dead letter ids: those are indexed by app.
    pub(crate) fn of_dead_letters(scope: Scope, filter: &'a JobFilter) -> Vec<Self> {
        let mut arms = Self::of([Part::Dead], scope, filter);
        for arm in &mut arms {
            if matches!(arm.path, AccessPath::Integrations(_)) {
                arm.path = AccessPath::Conditions;
            }
        }
        arms
    }

    /// Finds failing jobs by when they are due instead of in the order of the list.
    pub(super) fn by_due(mut self) -> Self {
        if self.part == Part::Failing {
            self.path = AccessPath::Due;
        }
        self
    }

    /// Rows of given ids: the filter is empty, and `end` of [`push`](Self::push) names the ids.
    pub(crate) fn of_ids(
        parts: impl IntoIterator<Item = Part>,
        scope: Scope,
        filter: &'a JobFilter,
    ) -> Vec<Self> {
        parts.into_iter().map(|part| Self { part, scope, filter, path: AccessPath::Conditions }).collect()
    }

    /// Appends the select of the part's rows (`columns` begins with `select …`) and its conditions; `end` may append further ` and …`, an
    /// order and a limit.
    pub(crate) fn push(
        &self,
        sql: &mut QueryBuilder<Postgres>,
        columns: &str,
        end: impl FnOnce(&mut QueryBuilder<Postgres>),
    ) {
        let is_driven = self.push_driver(sql);
        sql.push(columns).push(" from ");
        self.push_table(sql);
        sql.push(" where true").push(self.link());
        self.push_conditions(sql);
        end(sql);
        if is_driven {
            sql.push(") driven");
        }
    }

    pub(super) fn push_table(&self, sql: &mut QueryBuilder<Postgres>) {
        if self.path == AccessPath::Due {
            // The limit keeps the planner from walking all waiting jobs in the order of the list instead.
            let due =
                "(select * from headgate.failing_jobs f where f.due_at <= now() order by f.due_at limit";
            sql.push(format_args!("{due} {MAX_DUE}) f{}", self.part.joined()));
        } else if let Some(id) = self.folded() {
            // `offset 0` fences the sub-query off: together with the order of the list, a planner without statistics reads the whole table in
            // that order.
            sql.push(format_args!("(select * from {} j where ", self.part.relation()));
            filter::push_was_folded(sql, self.part, id);
            sql.push(" and not ");
            filter::push_came_with(sql, self.part, id);
            sql.push(" offset 0) j").push(self.joined());
        } else {
            sql.push(format_args!("{} {}{}", self.part.relation(), self.part.row(), self.joined()));
        }
    }

    /// The join that belongs to each row. What an app's integrations lead to belongs to the app, which exists: no join is needed.
    pub(super) fn joined(&self) -> &'static str {
        let is_of_app = matches!(self.path, AccessPath::Integrations(_)) && self.part == Part::Finished;
        if is_of_app { "" } else { self.part.joined() }
    }

    /// Appends ` and …` for every condition on a row, whichever access path found it.
    pub(super) fn push_conditions(&self, sql: &mut QueryBuilder<Postgres>) {
        push_scope(sql, self.scope, self.part);
        filter::push(sql, self.filter, self.part);
        self.push_search(sql);
        if let (AccessPath::Correlated, Some(id)) = (&self.path, self.correlated()) {
            sql.push(" and ");
            filter::push_came_with(sql, self.part, id);
        }
    }

    pub(super) fn app_id(&self) -> Option<AppId> {
        self.scope.app_id().or(self.filter.app_id)
    }

    /// The correlation id whose index, in the order of the list, leads to the rows.
    pub(super) fn correlated(&self) -> Option<&str> {
        match &self.path {
            AccessPath::Correlated => self.filter.correlation_id.as_deref(),
            AccessPath::Search(interpretations) => match interpretations.last() {
                Some(Interpretation::Correlation(id)) if self.part != Part::Successors => Some(id),
                _ => None,
            },
            _ => None,
        }
    }

    /// Appends the driving table: each of its rows is one probe of the index. False when the access path needs none.
    pub(super) fn push_driver(&self, sql: &mut QueryBuilder<Postgres>) -> bool {
        let is_live = matches!(self.part, Part::Live | Part::Failing | Part::Successors);
        let begin = "select driven.* from (";
        let of_app = self.app_id();
        match &self.path {
            AccessPath::Integrations(app_id) => {
                sql.push(begin).push("select o.id from headgate.integrations o where o.app_id = ");
                sql.push_bind(*app_id);
                if self.part == Part::Finished {
                    // Jobs that a deleted integration finished belong to its app as long as the app exists.
                    sql.push(
                        " union select unnest(g.integration_ids) from headgate.deletions g where g.app_id = \
                         (select a.id from headgate.apps a where a.id = ",
                    );
                    sql.push_bind(*app_id).push(")");
                }
            }
            AccessPath::RecordId(id) => push_kinds(sql, is_live, id, of_app),
            AccessPath::Search(interpretations) => match interpretations.last() {
                Some(Interpretation::RecordId(id)) => push_kinds(sql, is_live, id, of_app),
                Some(Interpretation::Record(..)) => {
                    sql.push(begin).push("select o.id as app_id from headgate.apps o");
                }
                Some(Interpretation::Deduplication(_)) if is_live => {
                    sql.push(begin).push("select o.id from headgate.integrations o");
                }
                _ => return false,
            },
            AccessPath::Conditions | AccessPath::Due | AccessPath::Correlated | AccessPath::Folded => {
                return false;
            }
        }
        sql.push(") k cross join lateral (");
        true
    }

    /// The correlation id of changes folded into the jobs, where the index of those leads to the rows.
    fn folded(&self) -> Option<&str> {
        match &self.path {
            AccessPath::Folded => self.filter.correlation_id.as_deref(),
            AccessPath::Search(interpretations) => match interpretations.last() {
                Some(Interpretation::FoldedCorrelation(id)) => Some(id.as_str()),
                _ => None,
            },
            _ => None,
        }
        .filter(|_| self.part != Part::Successors)
    }

    /// The condition that joins a row to the driving table (`k`).
    pub(super) fn link(&self) -> &'static str {
        let by_record = || match self.part {
            Part::Live | Part::Failing | Part::Successors => {
                " and j.integration_id = k.id and j.deduplication_id = k.deduplication_id"
            }
            Part::Finished | Part::Dead => " and j.app_id = k.app_id and j.record_type = k.record_type",
        };
        match &self.path {
            AccessPath::Conditions | AccessPath::Due | AccessPath::Correlated | AccessPath::Folded => "",
            AccessPath::Integrations(_) if self.part == Part::Failing => " and f.integration_id = k.id",
            AccessPath::Integrations(_) => " and j.integration_id = k.id",
            AccessPath::RecordId(_) => by_record(),
            AccessPath::Search(interpretations) => match interpretations.last() {
                Some(Interpretation::RecordId(_)) => by_record(),
                Some(Interpretation::Record(..)) => " and j.app_id = k.app_id",
                Some(Interpretation::Deduplication(_)) if matches!(self.part, Part::Live | Part::Failing) => {
                    " and j.integration_id = k.id"
                }
                _ => "",
            },
        }
    }

    fn push_search(&self, sql: &mut QueryBuilder<Postgres>) {
        match (&self.path, &self.filter.q) {
            (AccessPath::Search(interpretations), _) => {
                let Some((this, before)) = interpretations.split_last() else { return };
                sql.push(" and ");
                this.push(sql, self.part);
                for other in before {
                    sql.push(" and (");
                    other.push(sql, self.part);
                    sql.push(") is not true");
                }
            }
            (_, Some(q)) => {
                for (n, interpretation) in Interpretation::all(q, self.part).iter().enumerate() {
                    sql.push(if n == 0 { " and (" } else { " or " });
                    interpretation.push(sql, self.part);
                }
                sql.push(")");
            }
            (_, None) => {}
        }
    }

    /// Whether rows are read one after the other in the order of the list, because no index leads to the matching ones only.
    pub(super) fn is_walked(&self) -> bool {
        let by_claims = self.filter.worker_id.is_some() && matches!(self.part, Part::Live | Part::Failing);
        let by_index = match self.path {
            AccessPath::Conditions | AccessPath::Integrations(_) => {
                is_selective(self.filter) || self.filter.q.is_some()
            }
            _ => self.correlated().is_none(),
        };
        !by_index && !by_claims && self.filter.record_id.is_none()
    }
}

/// Whether an index leads to few rows, whatever the other conditions are.
fn is_selective(filter: &JobFilter) -> bool {
    filter.correlation_id.is_some() || filter.status == Some(JobStatus::Processing)
}

fn access_paths(part: Part, scope: Scope, filter: &JobFilter) -> Vec<AccessPath> {
    // Successors are few and have an index of their own.
    if part == Part::Successors {
        return vec![AccessPath::Conditions];
    }
    if let Some(q) = &filter.q {
        let all = Interpretation::all(q, part);
        return (1..=all.len()).map(|n| AccessPath::Search(all[..n].to_vec())).collect();
    }
    match (scope.app_id().or(filter.app_id), &filter.record_type, &filter.record_id) {
        (_, None, Some(record_id)) => vec![AccessPath::RecordId(record_id.clone())],
        (_, _, None) if filter.correlation_id.is_some() && filter.status != Some(JobStatus::Processing) => {
            vec![AccessPath::Correlated, AccessPath::Folded]
        }
        (Some(app_id), _, None)
            if filter.integration_id.is_none()
                && filter.batch_id.is_none()
                && filter.fingerprint.is_none()
                && !is_selective(filter) =>
        {
            vec![AccessPath::Integrations(app_id)]
        }
        _ => vec![AccessPath::Conditions],
    }
}

/// Appends a driving table with each pair of app and record type, because the index of records begins with those.
fn push_kinds(sql: &mut QueryBuilder<Postgres>, is_live: bool, record_id: &str, of_app: Option<AppId>) {
    if is_live {
        sql.push("select driven.* from (select o.id, headgate.record_deduplication_id(t.record_type, ");
        sql.push_bind(record_id.to_owned()).push(
            ") as deduplication_id from headgate.record_kinds t join headgate.integrations o on o.app_id = t.app_id",
        );
    } else {
        sql.push("select driven.* from (select t.app_id, t.record_type from headgate.record_kinds t");
    }
    if let Some(app_id) = of_app {
        sql.push(" where t.app_id = ").push_bind(app_id);
    }
}

impl Interpretation {
    /// What `q` may stand for in rows of this part.
    fn all(q: &str, part: Part) -> Vec<Self> {
        let is_ended = matches!(part, Part::Finished | Part::Dead);
        let id = Uuid::try_parse(q.trim()).ok();
        let record = record_of(q).filter(|_| is_ended);
        [
            id.map(Self::Job),
            id.filter(|_| part == Part::Dead).map(Self::DeadLetter),
            Some(Self::Correlation(q.to_owned())),
            Some(Self::FoldedCorrelation(q.to_owned())),
            Some(Self::RecordId(q.to_owned())),
            record.map(|(record_type, record_id)| Self::Record(record_type, record_id)),
            Some(Self::Deduplication(q.to_owned())),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn push(&self, sql: &mut QueryBuilder<Postgres>, part: Part) {
        match self {
            Self::Job(id) => sql.push(format_args!("{} = ", part.job_id())).push_bind(*id),
            Self::DeadLetter(id) => sql.push("j.id = ").push_bind(*id),
            Self::Correlation(id) => {
                filter::push_came_with(sql, part, id);
                sql
            }
            Self::FoldedCorrelation(id) => {
                filter::push_was_folded(sql, part, id);
                sql
            }
            Self::RecordId(id) => sql.push("j.record_id = ").push_bind(id.clone()),
            Self::Record(record_type, record_id) => {
                sql.push("j.record_type = ").push_bind(record_type.clone());
                sql.push(" and j.record_id = ").push_bind(record_id.clone())
            }
            // Of ended jobs only those about no record are indexed by it; the others are found by the record it names.
            Self::Deduplication(id) if matches!(part, Part::Finished | Part::Dead) => {
                sql.push("j.record_id is null and j.deduplication_id = ").push_bind(id.clone())
            }
            Self::Deduplication(id) => sql.push("j.deduplication_id = ").push_bind(id.clone()),
        };
    }
}
