//! Several programs on one database: each claims its own jobs, and nobody takes what it cannot run.

use super::printing::{Print, Printer, kit, print};
use crate::support::{World, ok, start, until, until_recorded};
use model::{actor::Scope, job::JobStatus, rules::explain::ReasonCode};
use queue::{
    Client, LaneOptions, QueueError, Runner,
    store::jobs::{self, Claims},
    testing::TestKit,
};
use sqlx::PgPool;
use std::collections::HashMap;

async fn claimed(world: &World, program: Option<&str>) -> usize {
    let worker_id = world.worker().await;
    let program = program.map(str::to_owned);
    let claims = Claims { worker_id, wanted: 10, lane_cap: 10, busy: HashMap::new(), program };
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
async fn a_lane_that_slept_is_woken_whoever_claims_next(pool: PgPool) {
    let world = World::new(&pool).await;
    let client = Client::open(&pool, "shop").await.unwrap();
    sqlx::raw_sql("update headgate.lanes set is_asleep = true").execute(&pool).await.unwrap();
    client.enqueue(&pool, print(1)).await.unwrap();
    assert_eq!(claimed(&world, None).await, 0, "it takes the note away");
    assert_eq!(claimed(&world, Some("main")).await, 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn jobs_of_other_programs_are_not_touched_by_an_engine_that_is_at_work(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let client = Client::open_for(&pool, "shop", "billing").await.unwrap();
    // A free slot of its limit is nothing an idle claimer of others looks at.
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
    assert_eq!(world.number("select count(*) from headgate.ready").await, 2, "where they were");
    let given_back =
        "select (select coalesce(sum(limited), 0)::bigint from headgate.throughput where step_seconds = 10)
        + (select coalesce(sum(limited), 0)::bigint from headgate.throughput_deltas)";
    assert_eq!(world.number(given_back).await, 0, "nothing was claimed to be given back");

    let billing =
        Runner::new(&pool).program("billing").handle(Printer).without_migrations().start().await.unwrap();
    until(&pool, "select count(*) = 8 from headgate.finished_jobs").await;
    billing.shutdown().await;
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
async fn a_job_whose_program_does_not_run_says_so(pool: PgPool) {
    let world = World::new(&pool).await;
    let id =
        Client::open_for(&pool, "shop", "billing").await.unwrap().enqueue(&pool, print(1)).await.unwrap().id;
    let why = async || jobs::explain(&pool, Scope::AllApps, id).await.unwrap().reasons;
    // One that delivers does not count.
    world.worker().await;
    let reasons = why().await;
    assert_eq!(reasons.iter().map(|reason| reason.code).collect::<Vec<_>>(), [ReasonCode::NoWorker]);
    assert!(reasons[0].detail.contains("the program billing"), "{}", reasons[0].detail);
    let billing = Runner::new(&pool).program("billing").without_migrations().start().await.unwrap();
    until(&pool, "select exists (select 1 from headgate.workers where program = 'billing')").await;
    assert!(why().await.iter().all(|reason| reason.code != ReasonCode::NoWorker));
    billing.shutdown().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn lanes_made_by_an_older_version_are_its_programs(pool: PgPool) {
    let world = World::new(&pool).await;
    // As it does: it knows no programs.
    sqlx::query(
        "insert into headgate.integrations (id, app_id, name, own_lane, integration_type, signing_secret_sealed)
         values (gen_random_uuid(), $1, 'jobs', 'jobs', 'external', '')",
    )
    .bind(world.app_id)
    .execute(&pool)
    .await
    .unwrap();
    sqlx::raw_sql(
        "insert into headgate.lanes (integration_id, app_id, is_external, max_concurrency)
         select id, app_id, false, 100 from headgate.integrations",
    )
    .execute(&pool)
    .await
    .unwrap();
    let slug = world.app_id.0.simple().to_string();
    let client = Client::open(&pool, &slug).await.unwrap();
    client.enqueue(&pool, print(1)).await.unwrap();
    assert_eq!(world.number("select count(*) from headgate.integrations where not is_built_in").await, 1);
    assert_eq!((claimed(&world, None).await, claimed(&world, Some("main")).await), (0, 1));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_program_has_a_name(pool: PgPool) {
    for name in ["", "a\nb"] {
        assert!(matches!(Client::open_for(&pool, "shop", name).await, Err(QueueError::Invalid(_))));
        let runner = Runner::new(&pool).program(name).without_migrations();
        assert!(matches!(runner.start().await.map(|_| ()), Err(QueueError::Invalid(_))));
    }
}
