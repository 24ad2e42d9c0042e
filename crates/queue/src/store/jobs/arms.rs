//! Ways that lead to what a filter asks for. Each is an index of its own, so each is asked apart: an arm of one union. A job that two ways
//! lead to is left to the first of them, so that none is met twice.

use super::{
    filter::{self, Part},
    record_key::record_of,
};
use model::{actor::Scope, filter::JobFilter, id::AppId, job::JobStatus};
use sqlx::{Postgres, QueryBuilder};
use uuid::Uuid;

/// What a filter asks of one place, by one way.
#[derive(Clone, Debug)]
pub(crate) struct Arm<'a> {
    pub(crate) part: Part,
    scope: Scope,
    pub(super) filter: &'a JobFilter,
    pub(super) way: Way,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Way {
    /// The conditions themselves: by an index of theirs, or row after row in the order of the list.
    Conditions,
    /// The few whose retry is due, by the index of when: all that wait may be a million.
    Due,
    /// Jobs that came with the correlation id, in the order of the list.
    Correlated,
    /// Jobs that a change of the correlation id was folded into, and that came with another.
    Folded,
    /// Integration after integration of an app: nothing is indexed by the app alone.
    Integrations(AppId),
    /// A record's id without its type: pair after pair of app and type, as the counters tell them.
    RecordId(String),
    /// `q`, as the last of these and as none before it.
    Search(Vec<Reading>),
}

/// So many are few.
pub(super) const MOST_DUE: i64 = 3_000;

/// What `q` may name.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reading {
    Job(Uuid),
    DeadLetter(Uuid),
    Correlation(String),
    /// Of a change that was folded into it.
    FoldedCorrelation(String),
    RecordId(String),
    /// By the deduplication id that stands for it.
    Record(String, String),
    Deduplication(String),
}

impl<'a> Arm<'a> {
    /// All ways to jobs, in the order of their ids.
    pub(crate) fn of(
        parts: impl IntoIterator<Item = Part>,
        scope: Scope,
        filter: &'a JobFilter,
    ) -> Vec<Self> {
        let ways = |part| ways(part, scope, filter).into_iter().map(move |way| (part, way));
        parts.into_iter().flat_map(ways).map(|(part, way)| Self { part, scope, filter, way }).collect()
    }

    /// All ways to dead letters, in the order of their own ids: those are indexed by app.
    pub(crate) fn of_dead_letters(scope: Scope, filter: &'a JobFilter) -> Vec<Self> {
        let mut arms = Self::of([Part::Dead], scope, filter);
        for arm in &mut arms {
            if matches!(arm.way, Way::Integrations(_)) {
                arm.way = Way::Conditions;
            }
        }
        arms
    }

    /// Finds what failed by when it is due instead of in the order of the list.
    pub(super) fn by_due(mut self) -> Self {
        if self.part == Part::Failing {
            self.way = Way::Due;
        }
        self
    }

    /// Of ids that stand in `end`: an empty filter.
    pub(crate) fn of_ids(
        parts: impl IntoIterator<Item = Part>,
        scope: Scope,
        filter: &'a JobFilter,
    ) -> Vec<Self> {
        parts.into_iter().map(|part| Self { part, scope, filter, way: Way::Conditions }).collect()
    }

    /// Appends the columns of the part's rows (`select …`) and what is asked of them; `end` may narrow it by ` and …`, order and limit it.
    pub(crate) fn push(
        &self,
        sql: &mut QueryBuilder<Postgres>,
        columns: &str,
        end: impl FnOnce(&mut QueryBuilder<Postgres>),
    ) {
        let is_led = self.push_lead(sql);
        sql.push(columns).push(" from ");
        self.push_table(sql);
        sql.push(" where true").push(self.link());
        self.push_conditions(sql);
        end(sql);
        if is_led {
            sql.push(") led");
        }
    }

    pub(super) fn push_table(&self, sql: &mut QueryBuilder<Postgres>) {
        if self.way == Way::Due {
            // Limited, so that no planner walks all that wait in the order of the list instead.
            let due =
                "(select * from headgate.failing_jobs f where f.due_at <= now() order by f.due_at limit";
            sql.push(format_args!("{due} {MOST_DUE}) f{}", self.part.joined()));
        } else if let Some(id) = self.folded() {
            // Fenced: asked together with the order of the list, a planner that knows nothing of the table reads all of it in that order.
            sql.push(format_args!("(select * from {} j where ", self.part.relation()));
            filter::push_was_folded(sql, self.part, id);
            sql.push(" and not ");
            filter::push_came_with(sql, self.part, id);
            sql.push(" offset 0) j").push(self.joined());
        } else {
            sql.push(format_args!("{} {}{}", self.part.relation(), self.part.row(), self.joined()));
        }
    }

    /// What belongs to each row. What an app's integrations lead to is the app's, which is asked once.
    pub(super) fn joined(&self) -> &'static str {
        let is_of_app = matches!(self.way, Way::Integrations(_)) && self.part == Part::Finished;
        if is_of_app { "" } else { self.part.joined() }
    }

    /// Appends ` and …` for all that is asked of a row, wherever it was met.
    pub(super) fn push_conditions(&self, sql: &mut QueryBuilder<Postgres>) {
        filter::push_scope(sql, self.scope, self.part);
        filter::push(sql, self.filter, self.part);
        self.push_search(sql);
        if let (Way::Correlated, Some(id)) = (&self.way, self.correlated()) {
            sql.push(" and ");
            filter::push_came_with(sql, self.part, id);
        }
    }

    pub(super) fn app_id(&self) -> Option<AppId> {
        self.scope.app_id().or(self.filter.app_id)
    }

    /// The correlation id whose index, in the order of the list, leads to the rows.
    pub(super) fn correlated(&self) -> Option<&str> {
        match &self.way {
            Way::Correlated => self.filter.correlation_id.as_deref(),
            Way::Search(readings) => match readings.last() {
                Some(Reading::Correlation(id)) if self.part != Part::Successors => Some(id),
                _ => None,
            },
            _ => None,
        }
    }

    /// Appends what leads to the rows, one probe after the other; false when nothing need.
    pub(super) fn push_lead(&self, sql: &mut QueryBuilder<Postgres>) -> bool {
        let is_live = matches!(self.part, Part::Live | Part::Failing | Part::Successors);
        let begin = "select led.* from (";
        let of_app = self.app_id();
        match &self.way {
            Way::Integrations(app_id) => {
                sql.push(begin).push("select o.id from headgate.integrations o where o.app_id = ");
                sql.push_bind(*app_id);
                if self.part == Part::Finished {
                    // What an integration finished stays its app's, as long as there is one.
                    sql.push(
                        " union select unnest(g.integration_ids) from headgate.deletions g where g.app_id = \
                         (select a.id from headgate.apps a where a.id = ",
                    );
                    sql.push_bind(*app_id).push(")");
                }
            }
            Way::RecordId(id) => push_kinds(sql, is_live, id, of_app),
            Way::Search(readings) => match readings.last() {
                Some(Reading::RecordId(id)) => push_kinds(sql, is_live, id, of_app),
                Some(Reading::Record(..)) => {
                    sql.push(begin).push("select o.id as app_id from headgate.apps o");
                }
                Some(Reading::Deduplication(_)) if is_live => {
                    sql.push(begin).push("select o.id from headgate.integrations o");
                }
                _ => return false,
            },
            Way::Conditions | Way::Due | Way::Correlated | Way::Folded => return false,
        }
        sql.push(") k cross join lateral (");
        true
    }

    /// The correlation id of changes that were folded into what is looked for, where their index leads to the rows.
    fn folded(&self) -> Option<&str> {
        match &self.way {
            Way::Folded => self.filter.correlation_id.as_deref(),
            Way::Search(readings) => match readings.last() {
                Some(Reading::FoldedCorrelation(id)) => Some(id.as_str()),
                _ => None,
            },
            _ => None,
        }
        .filter(|_| self.part != Part::Successors)
    }

    /// How a row is found from what leads to it.
    pub(super) fn link(&self) -> &'static str {
        let by_record = || match self.part {
            Part::Live | Part::Failing | Part::Successors => {
                " and j.integration_id = k.id and j.deduplication_id = k.deduplication_id"
            }
            Part::Finished | Part::Dead => " and j.app_id = k.app_id and j.record_type = k.record_type",
        };
        match &self.way {
            Way::Conditions | Way::Due | Way::Correlated | Way::Folded => "",
            Way::Integrations(_) if self.part == Part::Failing => " and f.integration_id = k.id",
            Way::Integrations(_) => " and j.integration_id = k.id",
            Way::RecordId(_) => by_record(),
            Way::Search(readings) => match readings.last() {
                Some(Reading::RecordId(_)) => by_record(),
                Some(Reading::Record(..)) => " and j.app_id = k.app_id",
                Some(Reading::Deduplication(_)) if matches!(self.part, Part::Live | Part::Failing) => {
                    " and j.integration_id = k.id"
                }
                _ => "",
            },
        }
    }

    fn push_search(&self, sql: &mut QueryBuilder<Postgres>) {
        match (&self.way, &self.filter.q) {
            (Way::Search(readings), _) => {
                let Some((this, before)) = readings.split_last() else { return };
                sql.push(" and ");
                this.push(sql, self.part);
                for other in before {
                    sql.push(" and (");
                    other.push(sql, self.part);
                    sql.push(") is not true");
                }
            }
            (_, Some(q)) => {
                for (n, reading) in Reading::all(q, self.part).iter().enumerate() {
                    sql.push(if n == 0 { " and (" } else { " or " });
                    reading.push(sql, self.part);
                }
                sql.push(")");
            }
            (_, None) => {}
        }
    }

    /// Whether rows are met one after the other in the order of the list: nothing leads to those that match alone.
    pub(super) fn is_walked(&self) -> bool {
        let by_claims = self.filter.worker_id.is_some() && matches!(self.part, Part::Live | Part::Failing);
        let is_led = match self.way {
            Way::Conditions | Way::Integrations(_) => leads_to_few(self.filter) || self.filter.q.is_some(),
            _ => self.correlated().is_none(),
        };
        !is_led && !by_claims && self.filter.record_id.is_none()
    }
}

/// Whether an index leads to few rows, whatever stands beside it.
fn leads_to_few(filter: &JobFilter) -> bool {
    filter.correlation_id.is_some() || filter.status == Some(JobStatus::Processing)
}

fn ways(part: Part, scope: Scope, filter: &JobFilter) -> Vec<Way> {
    // The few that stand behind a processing job have an index of their own.
    if part == Part::Successors {
        return vec![Way::Conditions];
    }
    if let Some(q) = &filter.q {
        let all = Reading::all(q, part);
        return (1..=all.len()).map(|n| Way::Search(all[..n].to_vec())).collect();
    }
    match (scope.app_id().or(filter.app_id), &filter.record_type, &filter.record_id) {
        (_, None, Some(record_id)) => vec![Way::RecordId(record_id.clone())],
        (_, _, None) if filter.correlation_id.is_some() && filter.status != Some(JobStatus::Processing) => {
            vec![Way::Correlated, Way::Folded]
        }
        (Some(app_id), _, None)
            if filter.integration_id.is_none()
                && filter.batch_id.is_none()
                && filter.fingerprint.is_none()
                && !leads_to_few(filter) =>
        {
            vec![Way::Integrations(app_id)]
        }
        _ => vec![Way::Conditions],
    }
}

/// Appends each pair of app and type, as the index that has the record is asked.
fn push_kinds(sql: &mut QueryBuilder<Postgres>, is_live: bool, record_id: &str, of_app: Option<AppId>) {
    if is_live {
        sql.push("select led.* from (select o.id, headgate.record_deduplication_id(t.record_type, ");
        sql.push_bind(record_id.to_owned()).push(
            ") as deduplication_id from headgate.record_kinds t join headgate.integrations o on o.app_id = t.app_id",
        );
    } else {
        sql.push("select led.* from (select t.app_id, t.record_type from headgate.record_kinds t");
    }
    if let Some(app_id) = of_app {
        sql.push(" where t.app_id = ").push_bind(app_id);
    }
}

impl Reading {
    /// What `q` may name where such rows lie.
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
            // Of what ended only jobs that are about no record are indexed by it; the others are found by the record it names.
            Self::Deduplication(id) if matches!(part, Part::Finished | Part::Dead) => {
                sql.push("j.record_id is null and j.deduplication_id = ").push_bind(id.clone())
            }
            Self::Deduplication(id) => sql.push("j.deduplication_id = ").push_bind(id.clone()),
        };
    }
}
