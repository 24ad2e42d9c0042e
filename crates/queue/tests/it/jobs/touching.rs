//! No hot statement reads more rows than it takes, whatever else is in the tables and whatever the planner believes about them.

use crate::support::{Touched, World, end, given_up, retried, sent, session};
use model::id::{IntegrationId, WorkerId};
use model::rate_limit::RateLimit;
use queue::EngineConfig;
use queue::maintenance::all_services;
use queue::store::jobs::{self, ClaimRequest, ClaimedJob, Claimer, JobSpec};
use queue::store::{lanes, leader, promotion};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, PgConnection, PgPool};
use std::{collections::HashMap, time::Duration};

/// Other jobs in the tables.
const LIVE: i32 = 100_000;
/// Jobs that a statement takes.
const TAKEN: usize = 100;
const LANES: usize = 8;
/// Jobs of lanes that share no limit.
const FEW: usize = 6;

struct Crowd {
    world: World,
    lanes: Vec<IntegrationId>,
    worker: WorkerId,
}

impl Crowd {
    async fn new(pool: &PgPool) -> Self {
        let world = World::new(pool).await;
        let mut lanes = Vec::new();
        for _ in 0..LANES {
            lanes.push(world.lane_with(1_000_000, None).await);
        }
        // Two of them share a limit.
        let mut connection = pool.acquire().await.unwrap();
        let limit = RateLimit { requests: 1_000_000, per_seconds: 1 };
        lanes::set_limits(&mut connection, &["shared".to_owned()], &[limit]).await.unwrap();
        sqlx::query("update headgate.lanes set limit_keys = array['shared'] where integration_id = any ($1)")
            .bind(&lanes[LANES - 2..])
            .execute(&mut *connection)
            .await
            .unwrap();
        drop(connection);
        let worker = world.worker().await;
        Self { world, lanes, worker }
    }

    fn specs(&self, count: usize) -> Vec<JobSpec> {
        (0..count).map(|n| self.world.spec(self.lanes[n % LANES])).collect()
    }

    fn deduplicated(&self, from: usize, count: usize) -> Vec<JobSpec> {
        let with_id = |(n, spec)| JobSpec { deduplication_id: Some(format!("d{}", from + n)), ..spec };
        self.specs(count).into_iter().enumerate().map(with_id).collect()
    }

    fn in_an_hour(&self, count: usize) -> Vec<JobSpec> {
        let run_at = Some(chrono::Utc::now() + chrono::Duration::hours(1));
        self.specs(count).into_iter().map(|spec| JobSpec { run_at, ..spec }).collect()
    }

    /// In a transaction like those of the engine's client.
    async fn accept(&self, specs: &[JobSpec]) {
        let mut transaction = self.world.pool.begin_with(jobs::BEGIN).await.unwrap();
        jobs::enqueue(&mut transaction, specs).await.unwrap();
        transaction.commit().await.unwrap();
    }

    async fn claim(&self, count: usize) -> Vec<ClaimedJob> {
        let claimed = self.world.claim(self.worker, count).await;
        assert_eq!(claimed.len(), count);
        claimed
    }

    async fn claim_by(&self, claimer: &mut Claimer) {
        let claims = ClaimRequest {
            worker_id: self.worker,
            wanted: TAKEN,
            lane_cap: TAKEN,
            busy: HashMap::new(),
            program: None,
        };
        let served = "select count(*) from headgate.lanes where last_claimed_at > clock_timestamp() - interval '1 minute'";
        sqlx::raw_sql("update headgate.lanes set last_claimed_at = null")
            .execute(&self.world.pool)
            .await
            .unwrap();
        assert_eq!(claimer.claim(&claims).await.unwrap().0.len(), FEW);
        assert_eq!(self.world.number(served).await, 0, "the short claim was enough");
    }

    async fn complete(&self, leased: &[ClaimedJob]) {
        let ends: Vec<_> = leased.iter().map(|job| end(job, sent())).collect();
        self.world.finish_as_the_engine_does(&ends).await;
    }

    /// A third of the jobs is retried later, a third is retried at once, a third is given up.
    async fn fail(&self, leased: &[ClaimedJob]) {
        let ending = |n| match n % 3 {
            0 => retried(Duration::from_secs(3_600)),
            1 => retried(Duration::ZERO),
            _ => given_up(),
        };
        let ends: Vec<_> = leased.iter().enumerate().map(|(n, job)| end(job, ending(n))).collect();
        self.world.finish_as_the_engine_does(&ends).await;
    }

    /// Makes the first waiting jobs due.
    async fn let_some_be_due(&self, count: usize) {
        sqlx::query(
            "with due as (select job_id from headgate.waiting order by due_at, job_id limit $1),
                jobs as (
                    update headgate.jobs set run_at = clock_timestamp(), retry_at = case when status = 2 then clock_timestamp() end
                    where id in (select job_id from due)
                )
             update headgate.waiting set due_at = clock_timestamp() where job_id in (select job_id from due)",
        )
        .bind(i64::try_from(count).unwrap())
        .execute(&self.world.pool)
        .await
        .unwrap();
    }

    async fn lock_first(&self, producer: &mut PgConnection, count: usize) {
        sqlx::query(
            "select 1 from headgate.jobs where id in (
                select r.job_id from unnest($1::uuid[]) l (lane)
                cross join lateral (
                    select job_id from headgate.ready where integration_id = l.lane order by rank, created_at, job_id limit $2
                ) r
             ) for update",
        )
        .bind(&self.lanes)
        .bind(i64::try_from(count / LANES).unwrap())
        .execute(producer)
        .await
        .unwrap();
    }

    /// What a claimer does when it found too few jobs.
    async fn find_next_work(&self) {
        jobs::find_next_work(&self.world.pool, 500, Duration::from_secs(1), None).await.unwrap();
        promotion::wake_forgotten(&self.world.pool).await.unwrap();
    }

    /// What the leader does to see whether there is anything to do.
    async fn check_signs(&self) {
        let mut probing = self.world.pool.begin_with(jobs::BEGIN).await.unwrap();
        let config = EngineConfig::default();
        for service in all_services(&config, insight::services::services(&config)) {
            if let Some(sign) = service.sign() {
                let sign_query = AssertSqlSafe(format!("select ({sign})"));
                sqlx::query_scalar::<_, bool>(sign_query).fetch_one(&mut *probing).await.unwrap();
            }
        }
        probing.commit().await.unwrap();
    }

    async fn promote(&self, term: leader::Term, count: usize) {
        let most = i32::try_from(count).unwrap() * 10;
        let promoted = promotion::promote_due(&self.world.pool, term, most).await.unwrap();
        assert_eq!(promoted.count as usize, count);
    }

    /// A worker that is lost with this many jobs.
    async fn lose_worker(&self, count: usize) -> WorkerId {
        let worker = self.world.worker().await;
        assert_eq!(self.world.claim(worker, count).await.len(), count);
        self.world.end_lease(worker).await;
        worker
    }

    async fn recover(&self, count: usize) {
        let lost = self.world.recover().await;
        assert_eq!((lost.returned + lost.dead) as usize, count);
    }

    /// Runs every statement with a few jobs, so that plans are made and cached while the tables are almost empty.
    async fn warm_up(&self, term: leader::Term, round: usize) {
        self.accept(&self.specs(8)).await;
        self.accept(&self.deduplicated(round * 2, 4)).await;
        self.accept(&self.in_an_hour(2)).await;
        let leased = self.claim(2).await;
        self.complete(&leased).await;
        let leased = self.claim(3).await;
        self.fail(&leased).await;
        self.let_some_be_due(2).await;
        self.promote(term, 2).await;
        self.lose_worker(2).await;
        self.recover(2).await;
    }

    /// Other jobs: most can be claimed, a tenth waits for its time, and a tenth runs elsewhere.
    async fn fill(&self) {
        let lanes: Vec<_> = self.lanes.iter().map(|lane| lane.0).collect();
        sqlx::query(
            "with made as (
                insert into headgate.jobs (id, app_id, integration_id, rank, max_attempts, job_type, correlation_id, deduplication_id, status,
                    attempt, assignment_id, worker_id, run_at, expires_at)
                select gen_random_uuid(), $1, ($2::uuid[])[1 + n % 8], 200, 10, 'test', n::text, 'old' || n, (n % 10 = 1)::int,
                    (n % 10 = 1)::int, case when n % 10 = 1 then gen_random_uuid() end, case when n % 10 = 1 then $4::uuid end,
                    clock_timestamp() + case when n % 10 = 2 then interval '2 hours' else interval '0' end,
                    case when n % 10 = 3 then clock_timestamp() + interval '1 day' end
                from generate_series(1, $3::int) n
                returning id, integration_id, rank, created_at, run_at, status, worker_id
            ), now_ready as (
                insert into headgate.ready (integration_id, rank, created_at, job_id)
                select integration_id, rank, created_at, id from made where status = 0 and run_at <= clock_timestamp()
            ), later as (
                insert into headgate.waiting (due_at, job_id, integration_id)
                select run_at, id, integration_id from made where status = 0 and run_at > clock_timestamp()
            )
            insert into headgate.claim_batches (id, worker_id, job_ids)
            select gen_random_uuid(), worker_id, array_agg(id) from made where status = 1 group by worker_id, ascii(id::text), integration_id",
        )
        .bind(self.world.app_id)
        .bind(lanes)
        .bind(LIVE)
        .bind(self.worker)
        .execute(&self.world.pool)
        .await
        .unwrap();
    }
}

/// Rows and pages per job.
#[derive(Clone, Copy)]
struct Bound {
    rows: u64,
    pages: u64,
}

/// Allowed in addition, for any number of jobs: lanes, counters that are not folded yet, inner pages of indexes.
const FIXED: u64 = 1_000;

impl Bound {
    fn is_kept(self, touched: Touched) -> bool {
        let taken = TAKEN as u64;
        touched.in_sequence <= FIXED
            && touched.rows <= self.rows * taken + FIXED
            && touched.pages <= self.pages * taken + FIXED
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn no_hot_statement_touches_more_than_it_takes(_: PgPoolOptions, options: PgConnectOptions) {
    let others = PgPoolOptions::new().connect_lazy_with(options.clone());
    let (pool, plans) = session(options);
    let crowd = Crowd::new(&pool).await;
    let mut connection = pool.acquire().await.unwrap();
    let term = leader::acquire(&mut connection, WorkerId::generate(), Duration::from_secs(3_600))
        .await
        .unwrap()
        .unwrap();
    drop(connection);
    let tables = ["jobs", "ready", "waiting", "claim_batches", "finished_jobs", "serialize_keys"];
    for table in tables {
        let off = format!("alter table headgate.{table} set (autovacuum_enabled = off)");
        if table != "finished_jobs" {
            sqlx::raw_sql(AssertSqlSafe(off)).execute(&pool).await.unwrap();
        }
        let analyse = format!("analyze headgate.{table}");
        sqlx::raw_sql(AssertSqlSafe(analyse)).execute(&pool).await.unwrap();
    }
    for round in 0..8 {
        crowd.warm_up(term, round).await;
    }
    // The worst statistics: one or two rows, in tables whose indexes have grown.
    for table in tables {
        sqlx::raw_sql(AssertSqlSafe(format!("vacuum headgate.{table}"))).execute(&pool).await.unwrap();
    }
    for round in 8..10 {
        crowd.warm_up(term, round).await;
    }
    crowd.fill().await;
    plans.touched();

    let mut over = Vec::new();
    let mut judge = |what: &str, rows: u64, pages: u64| {
        let touched = plans.touched();
        println!("{what}: {touched:?}");
        if !(Bound { rows, pages }).is_kept(touched) {
            over.push(format!("{what}: {touched:?}"));
        }
    };
    crowd.accept(&crowd.specs(TAKEN)).await;
    judge("accept, plain", 1, 30);
    crowd.accept(&crowd.deduplicated(1_000, TAKEN)).await;
    judge("accept, new", 1, 60);
    crowd.accept(&crowd.deduplicated(1_000, TAKEN)).await;
    judge("accept, folded", 1, 30);
    let leased = crowd.claim(TAKEN).await;
    judge("claim", 5, 60);
    crowd.complete(&leased).await;
    judge("finish, completions", 3, 50);
    let leased = crowd.claim(TAKEN).await;
    judge("claim again", 5, 60);
    crowd.fail(&leased).await;
    judge("finish, failures", 5, 80);
    // A producer that folds into the first jobs and does not commit.
    let mut producer = others.begin().await.unwrap();
    crowd.lock_first(&mut producer, TAKEN).await;
    plans.touched();
    crowd.claim(TAKEN).await;
    judge("claim, passing over locked jobs", 20, 120);
    producer.rollback().await.unwrap();
    crowd.find_next_work().await;
    judge("find next work", 0, 0);
    crowd.check_signs().await;
    judge("check signs", 0, 0);
    crowd.let_some_be_due(TAKEN).await;
    plans.touched();
    crowd.promote(term, TAKEN).await;
    judge("promote", 4, 80);
    crowd.lose_worker(TAKEN).await;
    plans.touched();
    crowd.recover(TAKEN).await;
    judge("recover", 10, 80);
    // All other live jobs wait for their time or run. (Counters are truncated because nobody folds them here, and they are read one by one.)
    sqlx::raw_sql("truncate headgate.ready, headgate.job_count_deltas").execute(&pool).await.unwrap();
    crowd.accept(&crowd.specs(FEW)).await;
    let mut claimer = Claimer::new(&pool);
    plans.touched();
    crowd.claim_by(&mut claimer).await;
    judge("claim of few", 1, 5);
    crowd.accept(&crowd.specs(FEW)).await;
    plans.touched();
    crowd.claim_by(&mut claimer).await;
    judge("claim of few again", 1, 5);
    assert!(over.is_empty(), "read more than they take ({TAKEN} jobs): {over:#?}");
}
