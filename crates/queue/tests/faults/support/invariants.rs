//! What must hold at the end of every round.

use super::{Database, Shape, World};
use chrono::{DateTime, Utc};
use model::id::{IntegrationId, JobId};
use queue::{EngineConfig, maintenance::Maintenance};

/// Which processes may have lost leases, so that their jobs may have run twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excused {
    Nobody,
    /// Processes that were killed, or paused beyond their leases.
    TheDead,
    /// Every process: the database itself was down.
    Everybody,
}

/// Checks a round whose processes have ended.
pub(crate) struct Judge<'a> {
    pub(crate) database: &'a Database,
    pub(crate) world: &'a World,
    pub(crate) shape: &'a Shape,
    pub(crate) excused: Excused,
}

/// Attempts with the time they ended: by themselves, or when their process was killed or paused. (Statements sent before a pause still run
/// during it; what an attempt does after the pause, without its lease, counts for nothing.) An attempt that was cancelled while it recorded
/// its beginning never records its end, so the job's end counts. An attempt that recorded its beginning only after its process was resumed,
/// when the lease had been lost, is left out: it may not send any more (see `paused_workers`).
const SEEN: &str = "select a.*, least(
        coalesce(a.ended_at, least(
            greatest((select d.at from deaths d where d.child = a.child), a.started_at),
            (select greatest(f.finished_at, a.started_at) from headgate.finished_jobs f where f.id = a.job_id and f.outcome = 'cancelled'),
            'infinity'
        )),
        (select min(greatest(n.at, a.started_at)) from naps n where n.child = a.child and n.over_at >= a.started_at)
    ) as over_at from attempts_seen a
    -- No worker had the job under this lease when that was recorded.
    where not (a.worker_id is null and a.sent_us is null and a.child in (select n.child from naps n))";

impl Judge<'_> {
    pub(crate) async fn judge(&self) {
        // Finish what the last process left for maintenance.
        let config = EngineConfig::default();
        super::eventually("maintenance has run", || async {
            Maintenance::run_once(&self.database.pool, &config, insight::services::services(&config))
                .await
                .unwrap()
        })
        .await;
        self.world.must_be_sound().await;
        self.every_job_is_in_one_final_state().await;
        self.nothing_is_left_over().await;
        self.no_two_attempts_overlap().await;
        self.keys_are_begun_in_order().await;
        self.the_cap_held().await;
        self.the_limit_held().await;
        self.nothing_began_too_early().await;
        self.only_lost_jobs_were_done_twice().await;
    }

    async fn must_be_none(&self, what: &str, sql: String) {
        let found: Vec<String> =
            sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).fetch_all(&self.database.pool).await.unwrap();
        assert!(
            found.is_empty(),
            "{what}: {} of them, such as {:?}",
            found.len(),
            &found[..found.len().min(5)]
        );
    }

    async fn every_job_is_in_one_final_state(&self) {
        const ENDS: &str = "select id, 'live' as fate from headgate.jobs
            union all select (successor ->> 'id')::uuid, 'successor' from headgate.jobs where successor is not null
            union all select id, case status when 3 then 'completed' else outcome end from headgate.finished_jobs
            union all select job_id, error_kind from headgate.dead_letter_jobs";
        self.must_be_none(
            "accepted jobs that are not in exactly one final state",
            format!(
                "with ends as ({ENDS}) select a.job_id || ': ' || coalesce(string_agg(e.fate, ', '), 'gone')
                 from (select distinct job_id from accepted) a left join ends e on e.id = a.job_id
                 group by a.job_id having count(e.id) <> 1 or bool_or(e.fate in ('live', 'successor'))"
            ),
        )
        .await;
        self.must_be_none(
            "jobs that nobody asked for",
            format!("select id::text from ({ENDS}) e where id not in (select job_id from accepted)"),
        )
        .await;
        // A job whose worker was lost three times is dead whatever its handler would have done.
        self.must_be_none(
            "jobs with another end than their handler gave them",
            format!(
                "with ends as ({ENDS}) select a.job_id || ': ' || e.fate || ' instead of ' || a.fate
                 from accepted a join ends e on e.id = a.job_id
                 where a.fate <> e.fate and not (e.fate = 'worker_lost' and 3 <= (
                    select count(*) from headgate.job_attempts t where t.job_id = a.job_id and t.outcome = 'lost'))"
            ),
        )
        .await;
    }

    async fn nothing_is_left_over(&self) {
        for (table, column) in [
            ("ready", "job_id"),
            ("waiting", "job_id"),
            ("serialized_jobs", "job_id"),
            ("serialize_keys", "key"),
            ("workers", "id"),
        ] {
            // Killed workers do not sign off: their rows are removed later.
            let except = if table == "workers" { "where lease_until > clock_timestamp()" } else { "" };
            let sql = format!("select {column}::text from headgate.{table} {except}");
            self.must_be_none(&format!("rows left in {table}"), sql).await;
        }
        self.must_be_none(
            "claims of a worker that has no jobs",
            "select id::text from headgate.claim_batches where claimed_at < clock_timestamp() - interval '2 minutes'".to_owned(),
        )
        .await;
    }

    async fn no_two_attempts_overlap(&self) {
        for by in ["serialize_key", "deduplication_id", "job_id"] {
            self.must_be_none(
                &format!("attempts of one {by} that overlap"),
                format!(
                    "with seen as materialized ({SEEN})
                     select a.job_id || ' by ' || a.child || ' (' || a.started_at || ' to ' || a.over_at || ', ' || coalesce(a.outcome, '?')
                        || ') and ' || b.job_id || ' by ' || b.child || ' (' || b.started_at || ' to ' || b.over_at || ')'
                     from seen a join seen b on a.integration_id = b.integration_id and a.{by} = b.{by}
                     where a.assignment_id <> b.assignment_id and a.started_at <= b.started_at and b.started_at < a.over_at"
                ),
            )
            .await;
        }
    }

    /// The first attempts of a key's jobs began in the order in which the jobs were accepted.
    async fn keys_are_begun_in_order(&self) {
        self.must_be_none(
            "jobs of a key that were begun before one accepted earlier",
            "with begun as (
                select a.integration_id, a.serialize_key, a.job_id, min(a.started_at) as at,
                    (select min(position) from accepted p where p.job_id = a.job_id) as position
                from attempts_seen a where a.serialize_key is not null group by 1, 2, 3
             ), lined_up as (
                select *, lag(at) over (partition by integration_id, serialize_key order by position) as before from begun
             )
             select serialize_key || ': ' || job_id from lined_up where before > at"
                .to_owned(),
        )
        .await;
    }

    async fn the_cap_held(&self) {
        let (lane, cap) = self.shape.cap();
        let at_once = max_at_once(&self.attempts_of(lane).await);
        assert!(at_once <= cap, "{at_once} at once with a cap of {cap}");
    }

    async fn attempts_of(&self, lane: IntegrationId) -> Vec<(DateTime<Utc>, Option<DateTime<Utc>>)> {
        let sql = format!(
            "select started_at, nullif(over_at, 'infinity') from ({SEEN}) s where integration_id = $1"
        );
        sqlx::query_as(sqlx::AssertSqlSafe(sql)).bind(lane).fetch_all(&self.database.pool).await.unwrap()
    }

    async fn the_limit_held(&self) {
        let (lane, requests, per_us) = self.shape.limit();
        let mut sent: Vec<i64> = sqlx::query_scalar(
            "select sent_us from attempts_seen where integration_id = $1 and sent_us is not null order by sent_us",
        )
        .bind(lane)
        .fetch_all(&self.database.pool)
        .await
        .unwrap();
        sent.sort_unstable();
        for window in sent.windows(requests + 1) {
            let took = window[requests] - window[0];
            assert!(
                took >= per_us,
                "{} requests in {took} µs, with a limit of {requests} in {per_us}",
                requests + 1
            );
        }
    }

    async fn nothing_began_too_early(&self) {
        self.must_be_none(
            "jobs that began before their time",
            "select job_id::text from attempts_seen where started_at < run_at".to_owned(),
        )
        .await;
    }

    async fn only_lost_jobs_were_done_twice(&self) {
        self.must_be_none(
            "jobs done twice that no worker was lost with",
            "select a.job_id::text from attempts_seen a where a.outcome = 'done' and not exists (
                select 1 from headgate.job_attempts t where t.job_id = a.job_id and t.outcome = 'lost')
             group by a.job_id having count(*) > 1"
                .to_owned(),
        )
        .await;
        let innocent = match self.excused {
            Excused::Everybody => return,
            Excused::Nobody => "true",
            // A killed worker whose claim never began has left no trace, so a worker in no row of attempts_seen counts as killed.
            Excused::TheDead => {
                "t.worker_id in (select s.worker_id from attempts_seen s where s.child not in (select child from deaths union select child from naps))"
            }
        };
        self.must_be_none(
            "leases lost by a worker that had no reason to",
            format!("select t.worker_id::text from headgate.job_attempts t where t.outcome = 'lost' and {innocent}"),
        )
        .await;
    }

    /// Jobs whose worker was lost, once for each time.
    pub(crate) async fn lost(&self) -> Vec<JobId> {
        sqlx::query_scalar("select job_id from headgate.job_attempts where outcome = 'lost'")
            .fetch_all(&self.database.pool)
            .await
            .unwrap()
    }
}

fn max_at_once(attempts: &[(DateTime<Utc>, Option<DateTime<Utc>>)]) -> usize {
    let begins = attempts.iter().map(|(from, _)| (*from, 1_i64));
    let ends = attempts.iter().filter_map(|(_, to)| Some(((*to)?, -1_i64)));
    let mut steps: Vec<_> = begins.chain(ends).collect();
    // At equal times the end (-1) sorts before the beginning (1).
    steps.sort_unstable();
    let counts = steps.iter().scan(0, |now, (_, step)| {
        *now += step;
        Some(*now)
    });
    usize::try_from(counts.max().unwrap_or(0)).unwrap()
}
