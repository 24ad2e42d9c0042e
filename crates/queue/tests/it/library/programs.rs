//! Several programs on one database: each claims its own jobs, and nobody takes what it cannot run.

use super::printing::{Print, Printer, kit, print};
use crate::support::{World, ok, session, start, until, until_recorded};
use insight::store::explain;
use model::{actor::Scope, id::WorkerId, job::JobStatus, rules::explain::ReasonCode};
use queue::store::jobs::{self, ClaimRequest};
use queue::store::workers;
use queue::testing::TestKit;
use queue::{Client, Job, LaneOptions, QueueError, Runner};
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use std::{collections::HashMap, time::Duration};

async fn claimed(world: &World, program: Option<&str>) -> usize {
    let worker_id = world.worker().await;
    let program = program.map(str::to_owned);
    let claims = ClaimRequest { worker_id, wanted: 10, lane_cap: 10, busy: HashMap::new(), program };
    jobs::claim(&world.pool, &claims).await.unwrap().len()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_claim_takes_of_its_own_program_only(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    world.accept_plain(lane, 1).await;
    let main = Client::open(&pool, "shop").await.unwrap();
    main.enqueue_many(&pool, (1..=2).map(print)).await.unwrap();
    let billing = Client::open_for(&pool, "shop", "billing").await.unwrap();
    let urgent = (1..=4).map(|pages| queue::NewJob::new(print(pages)).priority(100));
    billing.enqueue_many(&pool, urgent).await.unwrap();
    assert_ne!(main.integration_id(), billing.integration_id(), "one name, two lanes");
    assert_eq!(claimed(&world, Some("nobody")).await, 0);
    assert_eq!(claimed(&world, None).await, 1);
    assert_eq!(claimed(&world, Some("billing")).await, 4);
    assert_eq!(claimed(&world, Some("main")).await, 2);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_sleeping_lane_is_woken_whichever_program_claims_next(pool: PgPool) {
    let world = World::new(&pool).await;
    let client = Client::open(&pool, "shop").await.unwrap();
    sqlx::raw_sql("update headgate.lanes set is_asleep = true").execute(&pool).await.unwrap();
    client.enqueue(&pool, print(1)).await.unwrap();
    assert_eq!(claimed(&world, None).await, 0, "it deletes the lane's wake-up row");
    assert_eq!(claimed(&world, Some("main")).await, 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_running_engine_does_not_touch_jobs_of_other_programs(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let client = Client::open_for(&pool, "shop", "billing").await.unwrap();
    // An idle claimer of another program does not consider free slots of this limit.
    let limited = client.lane(&LaneOptions::new("limited").rate_limit(10, 1)).await.unwrap();
    let foreign = [
        client.enqueue(&pool, print(1)).await.unwrap().id,
        limited.enqueue(&pool, print(2)).await.unwrap().id,
    ];
    let deliveries =
        start(&pool, crate::support::config(), crate::support::Script::new(|_| Box::pin(async { ok() })));
    let shop = Runner::new(&pool).handle(Printer).without_migrations().start().await.unwrap();
    world.accept_plain(lane, 5).await;
    let own = Client::open(&pool, "shop").await.unwrap().enqueue(&pool, print(3)).await.unwrap().id;
    until_recorded(&deliveries, 5).await;
    until_recorded(shop.engine(), 1).await;
    assert_eq!(world.get(own).await.job.status, JobStatus::Completed);
    deliveries.shutdown().await;
    shop.shutdown().await;
    for id in foreign {
        let job = world.get(id).await.job;
        assert_eq!((job.status, job.attempt), (JobStatus::Pending, 0));
    }
    assert_eq!(world.number("select count(*) from headgate.ready").await, 2, "the jobs are still ready");
    let released =
        "select (select coalesce(sum(limited), 0)::bigint from headgate.throughput where step_seconds = 10 and integration_id <> '00000000-0000-0000-0000-000000000000')
        + (select coalesce(sum(limited), 0)::bigint from headgate.throughput_deltas)";
    assert_eq!(world.number(released).await, 0, "nothing was claimed and released");

    let billing =
        Runner::new(&pool).program("billing").handle(Printer).without_migrations().start().await.unwrap();
    until(&pool, "select count(*) = 8 from headgate.finished_jobs").await;
    billing.shutdown().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn lanes_of_a_program_that_does_not_run_cost_others_nothing(
    _: PgPoolOptions,
    options: PgConnectOptions,
) {
    let (pool, plans) = session(options);
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    // Plans are cached before there are such lanes.
    for _ in 0..8 {
        world.accept_plain(lane, 2).await;
        assert_eq!(world.claim(worker, 2).await.len(), 2);
        find_next_work(&pool).await;
    }
    sqlx::query(
        "with lanes as (
            insert into headgate.integrations (id, app_id, name, own_lane, own_program, integration_type, signing_secret_sealed)
            select gen_random_uuid(), $1, 'lane ' || n, 'lane ' || n, 'gone', 'external', '' from generate_series(1, 5000) n
            returning id
        )
        insert into headgate.ready (integration_id, rank, created_at, job_id)
        select id, 200, clock_timestamp(), gen_random_uuid() from lanes",
    )
    .bind(world.app_id)
    .execute(&pool)
    .await
    .unwrap();
    sqlx::raw_sql(
        "insert into headgate.lanes (integration_id, app_id, is_external, max_concurrency, limit_keys)
         select id, app_id, false, 100, array['gone'] from headgate.integrations where own_program = 'gone'",
    )
    .execute(&pool)
    .await
    .unwrap();
    world.accept_plain(lane, 2).await;
    // The first claim deletes their wake-up rows.
    world.claim(worker, 1).await;
    plans.touched();
    assert_eq!(world.claim(worker, 1).await.len(), 1);
    let claim = plans.touched();
    find_next_work(&pool).await;
    let next_work = plans.touched();
    assert!(claim.rows < 200 && next_work.rows < 200, "{claim:?} {next_work:?}");
    assert_eq!(
        world.number("select count(*) from headgate.lanes where served_by = 'gone' and not is_asleep").await,
        5_000
    );
}

/// What a claimer does when it found too few jobs.
async fn find_next_work(pool: &PgPool) {
    jobs::find_next_work(pool, 500, Duration::from_secs(1), None).await.unwrap();
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_kit_runs_the_program_it_was_opened_for(pool: PgPool) {
    let billing = TestKit::open_for(&pool, "billing").await.unwrap().handle(Printer);
    let main = kit(&pool).await;
    let id = billing.client().enqueue(&pool, print(1)).await.unwrap().id;
    assert!(main.run_next::<Print>().await.unwrap().is_none());
    assert!(matches!(main.run(id).await, Err(QueueError::WrongState { .. })));
    assert_eq!(billing.run(id).await.unwrap().job.status, JobStatus::Completed);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_whose_program_does_not_run_is_explained(pool: PgPool) {
    let world = World::new(&pool).await;
    let id =
        Client::open_for(&pool, "shop", "billing").await.unwrap().enqueue(&pool, print(1)).await.unwrap().id;
    let why = async || explain::explain(&pool, Scope::AllApps, id).await.unwrap().reasons;
    // A worker for deliveries does not count.
    world.worker().await;
    let reasons = why().await;
    assert_eq!(reasons.iter().map(|reason| reason.code).collect::<Vec<_>>(), [ReasonCode::NoWorker]);
    assert!(reasons[0].detail.contains("the program billing"), "{}", reasons[0].detail);
    let billing =
        Runner::new(&pool).program("billing").handle(Printer).without_migrations().start().await.unwrap();
    until(&pool, "select exists (select 1 from headgate.workers where program = 'billing')").await;
    assert!(why().await.iter().all(|reason| reason.code != ReasonCode::NoWorker));
    billing.shutdown().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_program_must_have_a_valid_name(pool: PgPool) {
    for name in ["", "a\nb"] {
        assert!(matches!(Client::open_for(&pool, "shop", name).await, Err(QueueError::Invalid(_))));
        let runner = Runner::new(&pool).program(name).without_migrations();
        assert!(matches!(runner.start().await.map(|_| ()), Err(QueueError::Invalid(_))));
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn two_programs_with_one_name_are_detected(pool: PgPool) {
    let printing = Runner::new(&pool).handle(Printer).without_migrations().start().await.unwrap();
    until(
        &pool,
        "select exists (select 1 from headgate.workers where program = 'main' and job_types is not null)",
    )
    .await;
    let mut connection = pool.acquire().await.unwrap();
    let mut clash = async |program: &str, job_types: &[&str]| {
        let job_types: Vec<String> = job_types.iter().map(|one| (*one).to_owned()).collect();
        workers::name_clash(&mut connection, WorkerId::generate(), program, &job_types).await.unwrap()
    };
    let found = clash("main", &["invoice.generate"]).await.expect("another program");
    assert_eq!(
        (found.job_types.as_slice(), found.pid as u32),
        ([Print::JOB_TYPE.to_owned()].as_slice(), std::process::id())
    );
    let others: [(&str, &[&str]); 4] = [
        ("billing", &["invoice.generate"]),
        // The next version, the one before, and a process that only enqueues.
        ("main", &["invoice.generate", Print::JOB_TYPE]),
        ("main", &[Print::JOB_TYPE]),
        ("main", &[]),
    ];
    for (program, job_types) in others {
        assert_eq!(clash(program, job_types).await, None, "{program} {job_types:?}");
    }
    let own = printing.engine().worker_id();
    assert_eq!(workers::name_clash(&mut connection, own, "main", &["x".to_owned()]).await.unwrap(), None);
    printing.shutdown().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_that_no_process_of_its_program_knows_is_explained(pool: PgPool) {
    let client = Client::open(&pool, "shop").await.unwrap();
    let printing = Runner::new(&pool).handle(Printer).without_migrations().start().await.unwrap();
    until(&pool, "select exists (select 1 from headgate.workers where program = 'main')").await;
    let known = client.enqueue(&pool, print(1)).await.unwrap().id;
    let unknown = client.enqueue(&pool, Unprinted).await.unwrap().id;
    until(
        &pool,
        "select exists (select 1 from headgate.waiting) and exists (select 1 from headgate.finished_jobs)",
    )
    .await;
    let reasons = explain::explain(&pool, Scope::AllApps, unknown).await.unwrap().reasons;
    let none =
        reasons.iter().find(|reason| reason.code == ReasonCode::NoWorker).expect("no process handles it");
    assert!(none.detail.contains("the program main"), "{}", none.detail);
    assert_eq!(jobs::get(&pool, Scope::AllApps, known).await.unwrap().job.status, JobStatus::Completed);
    printing.shutdown().await;
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Unprinted;

impl Job for Unprinted {
    const JOB_TYPE: &'static str = "test.unprinted";
}
