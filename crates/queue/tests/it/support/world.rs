//! An app with integrations, and what the database says about their jobs.

use model::actor::Scope;
use model::id::{AppId, IntegrationId, JobId, WorkerId};
use model::job::{EnqueuedJob, JobDetail};
use model::rate_limit::RateLimit;
use queue::QueueError;
use queue::store::jobs::{self, Applied, AttemptEnd, ClaimRequest, ClaimedJob, Ending, JobSpec};
use queue::store::lanes::{self, Lane};
use sqlx::PgPool;
use std::{collections::HashMap, time::Duration};

pub(crate) struct World {
    pub(crate) pool: PgPool,
    pub(crate) app_id: AppId,
}

impl World {
    pub(crate) async fn new(pool: &PgPool) -> Self {
        let app_id = AppId::generate();
        sqlx::query("insert into headgate.apps (id, name, slug) values ($1, 'Shop', $2)")
            .bind(app_id)
            .bind(app_id.0.simple().to_string())
            .execute(pool)
            .await
            .unwrap();
        Self { pool: pool.clone(), app_id }
    }

    /// An integration with a concurrency of 50 and no limit.
    pub(crate) async fn lane(&self) -> IntegrationId {
        self.lane_with(50, None).await
    }

    pub(crate) async fn lane_with(&self, max_concurrency: i32, limit: Option<RateLimit>) -> IntegrationId {
        let integration_id = IntegrationId::generate();
        sqlx::query(
            "insert into headgate.integrations (id, app_id, name, integration_type, endpoint_url, signing_secret_sealed)
             values ($1, $2, 'Search', 'webhook', 'https://x.test', '')",
        )
        .bind(integration_id)
        .bind(self.app_id)
        .execute(&self.pool)
        .await
        .unwrap();
        let mut connection = self.pool.acquire().await.unwrap();
        let key = integration_id.to_string();
        if let Some(limit) = limit {
            lanes::set_limits(&mut connection, std::slice::from_ref(&key), &[limit]).await.unwrap();
        }
        let lane = Lane {
            integration_id,
            app_id: self.app_id,
            is_external: false,
            is_open: true,
            max_concurrency,
            jobs_per_request: 1,
            limit_keys: if limit.is_some() { vec![key] } else { Vec::new() },
        };
        lanes::upsert(&mut connection, &lane).await.unwrap();
        integration_id
    }

    /// An integration that a program serves with handlers of its own.
    pub(crate) async fn lane_of(&self, program: &str) -> IntegrationId {
        let lane = self.lane().await;
        sqlx::query("update headgate.lanes set served_by = $1 where integration_id = $2")
            .bind(program)
            .bind(lane)
            .execute(&self.pool)
            .await
            .unwrap();
        lane
    }

    pub(crate) fn spec(&self, lane: IntegrationId) -> JobSpec {
        spec(self.app_id, lane)
    }

    pub(crate) async fn accept(&self, specs: &[JobSpec]) -> Vec<EnqueuedJob> {
        let mut transaction = self.pool.begin().await.unwrap();
        let accepted = jobs::enqueue(&mut transaction, specs).await.unwrap();
        transaction.commit().await.unwrap();
        accepted
    }

    /// Accepts `count` plain jobs of a lane.
    pub(crate) async fn accept_plain(&self, lane: IntegrationId, count: usize) -> Vec<JobId> {
        let specs = vec![self.spec(lane); count];
        self.accept(&specs).await.into_iter().map(|job| job.id).collect()
    }

    /// A worker with a lease of an hour.
    pub(crate) async fn worker(&self) -> WorkerId {
        let id = WorkerId::generate();
        sqlx::query(
            "insert into headgate.workers (id, host, pid, version, slots, lease_until)
             values ($1, 'h', 1, '0', 10, clock_timestamp() + interval '1 hour')",
        )
        .bind(id)
        .execute(&self.pool)
        .await
        .unwrap();
        id
    }

    /// Ends the worker's lease.
    pub(crate) async fn end_lease(&self, worker: WorkerId) {
        sqlx::query("update headgate.workers set lease_until = clock_timestamp() where id = $1")
            .bind(worker)
            .execute(&self.pool)
            .await
            .unwrap();
    }

    /// Recovers the jobs of lost workers.
    pub(crate) async fn recover(&self) -> jobs::Recovered {
        let mut transaction = self.pool.begin_with(jobs::BEGIN).await.unwrap();
        let lost = jobs::recover_lost_leases(&mut transaction, 100).await.unwrap();
        transaction.commit().await.unwrap();
        lost
    }

    pub(crate) async fn claim(&self, worker_id: WorkerId, wanted: usize) -> Vec<ClaimedJob> {
        let claims =
            ClaimRequest { worker_id, wanted, lane_cap: wanted, busy: HashMap::new(), program: None };
        jobs::claim(&self.pool, &claims).await.unwrap()
    }

    /// Claims one job for a worker of the program.
    pub(crate) async fn claim_for(&self, program: &str, worker_id: WorkerId) -> Vec<ClaimedJob> {
        let program = Some(program.to_owned());
        let claims = ClaimRequest { worker_id, wanted: 1, lane_cap: 1, busy: HashMap::new(), program };
        jobs::claim(&self.pool, &claims).await.unwrap()
    }

    pub(crate) async fn finish(&self, ends: &[AttemptEnd]) -> Vec<Applied> {
        let mut transaction = self.pool.begin().await.unwrap();
        let applied = jobs::finish(&mut transaction, ends).await.unwrap().applied;
        transaction.commit().await.unwrap();
        applied
    }

    /// With the settings with which the engine's finisher begins its transactions.
    pub(crate) async fn finish_as_the_engine_does(&self, ends: &[AttemptEnd]) -> Vec<Applied> {
        let mut transaction = self.pool.begin_with(jobs::BEGIN).await.unwrap();
        let applied = jobs::finish(&mut transaction, ends).await.unwrap().applied;
        transaction.commit().await.unwrap();
        applied
    }

    pub(crate) async fn get(&self, id: JobId) -> JobDetail {
        jobs::get(&self.pool, Scope::AllApps, id).await.unwrap()
    }

    pub(crate) async fn cancel(&self, id: JobId) -> Result<model::job::Job, QueueError> {
        let mut transaction = self.pool.begin().await.unwrap();
        let job = jobs::cancel(&mut transaction, Scope::App(self.app_id), id).await?;
        transaction.commit().await.unwrap();
        Ok(job)
    }

    pub(crate) async fn requeue(&self, id: JobId) -> Result<model::job::Job, QueueError> {
        let mut transaction = self.pool.begin().await.unwrap();
        let job = jobs::requeue(&mut transaction, Scope::App(self.app_id), id).await?;
        transaction.commit().await.unwrap();
        Ok(job)
    }

    /// Makes every waiting job due, and promotes it.
    pub(crate) async fn let_time_pass(&self) {
        sqlx::raw_sql(
            "update headgate.jobs set retry_at = clock_timestamp() where retry_at is not null;
             update headgate.jobs set run_at = clock_timestamp() where run_at > clock_timestamp();
             update headgate.waiting set due_at = clock_timestamp();
             select headgate.promote_due(10000);",
        )
        .execute(&self.pool)
        .await
        .unwrap();
    }

    pub(crate) async fn number(&self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(&self.pool).await.unwrap()
    }

    /// The jobs of `ready`, in the order in which a lane is served.
    pub(crate) async fn ready(&self) -> Vec<JobId> {
        sqlx::query_scalar(
            "select job_id from headgate.ready order by integration_id, rank, created_at, job_id",
        )
        .fetch_all(&self.pool)
        .await
        .unwrap()
    }

    /// Checks that the counters equal a recount, that every job that can run has an entry by which it is found, and that no other has one.
    pub(crate) async fn must_be_sound(&self) {
        let wrong: Vec<(IntegrationId, i16, i16, i64)> = sqlx::query_as(
            "select integration_id, status, attempt, sum(n)::bigint from (
                select integration_id, status, attempt, n from headgate.job_counts
                union all select integration_id, status, attempt, n from headgate.job_count_deltas
                union all select integration_id, status, attempt, -1 from headgate.jobs
                union all select integration_id, 0::smallint, 0::smallint, -1 from headgate.jobs where successor is not null
                union all select integration_id, 5::smallint, attempt, -1 from headgate.dead_letter_jobs
             ) c group by 1, 2, 3 having sum(n) <> 0",
        )
        .fetch_all(&self.pool)
        .await
        .unwrap();
        assert_eq!(wrong, [], "counters differ from a recount");
        let lost: Vec<JobId> = sqlx::query_scalar(
            "select j.id from headgate.jobs j
             where j.status <> 1 and not j.is_parked
                 and (j.serialize_key is null or exists (select 1 from headgate.serialize_keys k where k.head_job_id = j.id))
                 and not exists (select 1 from headgate.ready r where r.job_id = j.id)
                 and not exists (select 1 from headgate.waiting w where w.job_id = j.id)",
        )
        .fetch_all(&self.pool)
        .await
        .unwrap();
        assert_eq!(lost, [], "jobs without an entry, which nobody would find");
        let blocked: Vec<JobId> = sqlx::query_scalar(
            "select j.id from headgate.jobs j where j.serialize_key is not null and not exists (
                select 1 from headgate.serialized_jobs s where s.job_id = j.id)",
        )
        .fetch_all(&self.pool)
        .await
        .unwrap();
        assert_eq!(blocked, [], "jobs with a key that are not in its line");
        let not_heads: Vec<JobId> = sqlx::query_scalar(
            "select j.id from headgate.jobs j
             where j.serialize_key is not null
                 and not exists (select 1 from headgate.serialize_keys k where k.head_job_id = j.id)
                 and (exists (select 1 from headgate.ready r where r.job_id = j.id)
                     or exists (select 1 from headgate.waiting w where w.job_id = j.id))",
        )
        .fetch_all(&self.pool)
        .await
        .unwrap();
        assert_eq!(not_heads, [], "jobs with an entry that are not the head of their key");
        self.failures_must_be_sound().await;
    }

    /// Checks that `failing_jobs` has exactly the failing live jobs, and that the counters of causes equal a recount.
    async fn failures_must_be_sound(&self) {
        let stale: Vec<JobId> = sqlx::query_scalar(
            "select f.job_id from headgate.failing_jobs f
             where not exists (select 1 from headgate.jobs j where j.id = f.job_id and (j.status <> 0 or j.attempt > 0))",
        )
        .fetch_all(&self.pool)
        .await
        .unwrap();
        assert_eq!(stale, [], "failures of jobs that have ended");
        let unknown: Vec<JobId> = sqlx::query_scalar(
            "select j.id from headgate.jobs j
             where j.status = 2 and j.error_kind is not null
                 and not exists (select 1 from headgate.failing_jobs f where f.job_id = j.id)",
        )
        .fetch_all(&self.pool)
        .await
        .unwrap();
        assert_eq!(unknown, [], "jobs to be retried that are in no failure group");
        let wrong: Vec<(String, i64, i64)> = sqlx::query_as(
            "select fingerprint, sum(waiting)::bigint, sum(dead)::bigint from (
                select fingerprint, waiting, dead from headgate.failure_counts
                union all select fingerprint, waiting, dead from headgate.failure_deltas
                union all select fingerprint, -1, 0 from headgate.failing_jobs
                union all select fingerprint, 0, -1 from headgate.dead_letter_jobs
             ) c group by 1 having sum(waiting) <> 0 or sum(dead) <> 0",
        )
        .fetch_all(&self.pool)
        .await
        .unwrap();
        assert_eq!(wrong, [], "failure counters differ from a recount");
    }
}

/// A plain job.
pub(crate) fn spec(app_id: AppId, integration_id: IntegrationId) -> JobSpec {
    JobSpec {
        app_id,
        integration_id,
        job_type: "record.updated".into(),
        payload: None,
        record: None,
        deduplication_id: None,
        serialize_key: None,
        correlation_id: "c".into(),
        trace: None,
        batch_id: None,
        priority: 0,
        run_at: None,
        gathers_until: None,
        expires_at: None,
        max_attempts: 10,
        timeout_ms: None,
        is_full: false,
    }
}

pub(crate) fn end(job: &ClaimedJob, ending: Ending) -> AttemptEnd {
    AttemptEnd::of(job, Duration::from_millis(7), ending)
}

pub(crate) fn by_id(jobs: &[ClaimedJob], id: JobId) -> &ClaimedJob {
    jobs.iter().find(|job| job.id == id).expect("the job was claimed")
}
