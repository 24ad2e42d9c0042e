//! Builders of rows with the age that a test needs.

use model::id::{AppId, IntegrationId, JobId, WorkerId};
use queue::store::leader::{self, Term};
use sqlx::PgPool;
use std::time::Duration;

/// An app with integrations.
pub(super) struct World {
    pub pool: PgPool,
    pub app: AppId,
    pub lane: IntegrationId,
}

impl World {
    /// An app with one integration.
    pub(super) async fn new(pool: &PgPool) -> Self {
        let app = AppId::generate();
        sqlx::query("insert into headgate.apps (id, name, slug) values ($1, 'Shop', $2)")
            .bind(app)
            .bind(app.0.simple().to_string())
            .execute(pool)
            .await
            .unwrap();
        let mut world = Self { pool: pool.clone(), app, lane: IntegrationId::generate() };
        world.lane = world.another_lane().await;
        world
    }

    /// One more integration of the app.
    pub(super) async fn another_lane(&self) -> IntegrationId {
        let id = IntegrationId::generate();
        sqlx::query(
            "with made as (
                insert into headgate.integrations (id, app_id, name, integration_type, endpoint_url, signing_secret_sealed)
                values ($1, $2, 'Search', 'webhook', 'https://x.test', '')
            )
            insert into headgate.lanes (integration_id, app_id, is_external, max_concurrency) values ($1, $2, false, 50)",
        )
        .bind(id)
        .bind(self.app)
        .execute(&self.pool)
        .await
        .unwrap();
        id
    }

    /// Pending jobs with everything that belongs to them, accepted so many seconds ago; in the order of their ids.
    pub(super) async fn pending(&self, lane: IntegrationId, count: usize, seconds_ago: i32) -> Vec<JobId> {
        let ids: Vec<JobId> = (0..count).map(|_| JobId::generate()).collect();
        sqlx::query(
            "with made as (
                insert into headgate.jobs (id, app_id, integration_id, rank, max_attempts, job_type, correlation_id, created_at)
                select id, $2, $3, 200, 10, 'test', id::text, clock_timestamp() - make_interval(secs => $4)
                from unnest($1::uuid[]) id
                returning id, created_at
            ), now_ready as (
                insert into headgate.ready (integration_id, rank, created_at, job_id) select $3, 200, created_at, id from made
            )
            insert into headgate.job_count_deltas (integration_id, status, attempt, n) values ($3, 0, 0, $5)",
        )
        .bind(ids.clone())
        .bind(self.app)
        .bind(lane)
        .bind(f64::from(seconds_ago))
        .bind(i32::try_from(count).unwrap())
        .execute(&self.pool)
        .await
        .unwrap();
        ids
    }

    /// Jobs to be retried after so many attempts, due in a minute.
    pub(super) async fn to_be_retried(&self, lane: IntegrationId, count: i32, attempt: i16) {
        sqlx::query(
            "with made as (
                insert into headgate.jobs (id, app_id, integration_id, rank, max_attempts, job_type, correlation_id, status, attempt,
                    retry_at)
                select gen_random_uuid(), $1, $2, 200, 10, 'test', '', 2, $4, clock_timestamp() + interval '1 minute'
                from generate_series(1, $3::int)
                returning id, retry_at
            ), waits as (
                insert into headgate.waiting (due_at, job_id, integration_id) select retry_at, id, $2 from made
            ), failed as (
                insert into headgate.failing_jobs (job_id, integration_id, fingerprint) select id, $2, 'waits' from made
            )
            insert into headgate.job_count_deltas (integration_id, status, attempt, n) values ($2, 2, $4, $3)",
        )
        .bind(self.app)
        .bind(lane)
        .bind(count)
        .bind(attempt)
        .execute(&self.pool)
        .await
        .unwrap();
    }

    /// Jobs leased by a worker.
    pub(super) async fn processing(&self, lane: IntegrationId, count: i32) {
        sqlx::query(
            "with made as (
                insert into headgate.jobs (id, app_id, integration_id, rank, max_attempts, job_type, correlation_id, status, attempt,
                    assignment_id, worker_id)
                select gen_random_uuid(), $1, $2, 200, 10, 'test', '', 1, 1, gen_random_uuid(), $4 from generate_series(1, $3::int)
            )
            insert into headgate.job_count_deltas (integration_id, status, attempt, n) values ($2, 1, 1, $3)",
        )
        .bind(self.app)
        .bind(lane)
        .bind(count)
        .bind(WorkerId::generate())
        .execute(&self.pool)
        .await
        .unwrap();
    }

    /// Dead letters of as many jobs.
    pub(super) async fn dead_letters(&self, lane: IntegrationId, count: i32) {
        sqlx::query(
            "with made as (
                insert into headgate.dead_letter_jobs (id, job_id, app_id, integration_id, created_at, run_at, rank, priority, attempt,
                    max_attempts, is_full, folded, job_type, correlation_id, error_kind, error_message, fingerprint, attempts)
                select gen_random_uuid(), gen_random_uuid(), $1, $2, now(), now(), 200, 0, 10, 10, false, 0, 'test', '',
                    'not_retryable', 'no such shelf', 'f', '[]'
                from generate_series(1, $3::int)
            )
            insert into headgate.job_count_deltas (integration_id, status, attempt, n) values ($2, 5, 10, $3)",
        )
        .bind(self.app)
        .bind(lane)
        .bind(count)
        .execute(&self.pool)
        .await
        .unwrap();
    }

    /// The delta that a finishing statement appends.
    pub(super) async fn finished(&self, lane: IntegrationId, completed: i32, dead: i32, seconds_ago: i32) {
        sqlx::query(
            "insert into headgate.throughput_deltas (integration_id, at, completed, dead)
            values ($1, clock_timestamp() - make_interval(secs => $4), $2, $3)",
        )
        .bind(lane)
        .bind(completed)
        .bind(dead)
        .bind(f64::from(seconds_ago))
        .execute(&self.pool)
        .await
        .unwrap();
    }

    pub(super) async fn run(&self, sql: &'static str) {
        sqlx::raw_sql(sql).execute(&self.pool).await.unwrap();
    }

    pub(super) async fn number(&self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(&self.pool).await.unwrap()
    }
}

/// Acquires the leader's lease for a minute.
pub(super) async fn lead(pool: &PgPool) -> Term {
    let mut connection = pool.acquire().await.unwrap();
    // With more services than any process has, so that none takes over.
    let candidate = leader::Candidate { holder: WorkerId::generate(), services: 1_000 };
    leader::acquire(&mut connection, candidate, Duration::from_secs(60)).await.unwrap().unwrap()
}

/// Ends the leader's lease and acquires it for another process.
pub(super) async fn take_over(pool: &PgPool) -> Term {
    sqlx::query("update headgate.leader set expires_at = clock_timestamp() - interval '1 second'")
        .execute(pool)
        .await
        .unwrap();
    lead(pool).await
}
