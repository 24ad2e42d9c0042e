//! Lanes of a program's own jobs.

use super::printing::{End, Printer, ends, kit, print};
use futures::future::join_all;
use model::{job::JobStatus, rate_limit::RateLimit};
use queue::{Client, LaneOptions, QueueError, store::lanes, testing::TestKit};
use sqlx::PgPool;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn many_that_start_at_once_share_one_lane(pool: PgPool) {
    let clients = join_all((0..8).map(|_| Client::open(&pool, "shop"))).await;
    let clients: Vec<Client> = clients.into_iter().map(Result::unwrap).collect();
    assert!(clients.iter().all(|client| client.integration_id() == clients[0].integration_id()));
    let counts: (i64, i64, i64) = sqlx::query_as(
        "select (select count(*) from headgate.apps), (select count(*) from headgate.integrations), (select count(*) from headgate.lanes)",
    )
    .fetch_one(&pool)
    .await
    .unwrap();
    assert_eq!(counts, (1, 2, 2), "an app, its lane, and the integration every app has");
    assert!(matches!(Client::open(&pool, "My Shop").await, Err(QueueError::Invalid(_))));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn code_decides_the_options_it_sets_and_operators_the_rest(pool: PgPool) {
    let client = Client::open(&pool, "shop").await.unwrap();
    let emails =
        client.lane(&LaneOptions::new("emails").max_concurrency(5).rate_limit(100, 60)).await.unwrap();
    assert_ne!(emails.integration_id(), client.integration_id());
    let kept = || async {
        let id = emails.integration_id();
        let row: (i32, i32, i64, bool, String) = sqlx::query_as(
            "select i.max_concurrency, l.max_concurrency, cardinality(l.limit_keys)::bigint, l.is_external, i.rate_limits::text
             from headgate.integrations i join headgate.lanes l on l.integration_id = i.id where i.id = $1",
        )
        .bind(id)
        .fetch_one(&pool)
        .await
        .unwrap();
        row
    };
    let limits = r#"[{"requests": 100, "per_seconds": 60}]"#.to_owned();
    assert_eq!(kept().await, (5, 5, 1, false, limits.clone()));

    // An operator changes the concurrency through the API.
    sqlx::query("update headgate.integrations set max_concurrency = 9, name = 'Post' where id = $1")
        .bind(emails.integration_id())
        .execute(&pool)
        .await
        .unwrap();
    let changed = lanes::Lane {
        integration_id: emails.integration_id(),
        app_id: emails.app_id(),
        is_external: true,
        is_open: true,
        max_concurrency: 9,
        jobs_per_request: 1,
        limit_keys: vec![format!("integration:{}:0", emails.integration_id())],
    };
    let mut connection = pool.acquire().await.unwrap();
    lanes::upsert(&mut connection, &changed).await.unwrap();
    assert_eq!(kept().await, (9, 9, 1, false, limits.clone()), "the engine still serves it");

    let again = client.lane(&LaneOptions::new("emails")).await.unwrap();
    assert_eq!((again.integration_id(), kept().await.0), (emails.integration_id(), 9));
    client.lane(&LaneOptions::new("emails").max_concurrency(6)).await.unwrap();
    assert_eq!(kept().await, (6, 6, 1, false, limits));
    client.lane(&LaneOptions::new("emails").without_rate_limit()).await.unwrap();
    assert_eq!(kept().await, (6, 6, 0, false, "[]".to_owned()));

    let bad = LaneOptions::new("").max_concurrency(0).rate_limit(0, 1);
    let Err(QueueError::Invalid(faults)) = client.lane(&bad).await else { panic!("accepted") };
    assert_eq!(faults.0.len(), 3, "{faults}");
    assert_eq!(RateLimit { requests: 0, per_seconds: 1 }.check().unwrap_err().0.len(), 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_disabled_or_deleted_lane_takes_no_jobs(pool: PgPool) {
    let client = Client::open(&pool, "shop").await.unwrap();
    let emails = client.lane(&LaneOptions::new("emails")).await.unwrap();
    sqlx::query("update headgate.integrations set state = 'disabled' where id = $1")
        .bind(client.integration_id())
        .execute(&pool)
        .await
        .unwrap();
    sqlx::query("delete from headgate.integrations where id = $1")
        .bind(emails.integration_id())
        .execute(&pool)
        .await
        .unwrap();
    for client in [&client, &emails] {
        assert!(matches!(client.enqueue(&pool, print(1)).await, Err(QueueError::NotFound)));
    }
    let remade = client.lane(&LaneOptions::new("emails")).await.unwrap();
    remade.enqueue(&pool, print(1)).await.unwrap();
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_paused_lane_keeps_its_jobs_and_the_others_run(pool: PgPool) {
    let kit = kit(&pool).await;
    let paused = kit.client().lane(&LaneOptions::new("paused")).await.unwrap();
    let id = paused.enqueue(&pool, print(1)).await.unwrap().id;
    kit.client().enqueue(&pool, ends(End::Printed)).await.unwrap();
    let mut connection = pool.acquire().await.unwrap();
    lanes::close(&mut connection, paused.integration_id()).await.unwrap();
    assert_eq!(kit.run_to_the_end().await.unwrap().len(), 1);
    assert!(matches!(kit.run(id).await, Err(QueueError::WrongState { status: JobStatus::Pending, .. })));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_rate_limit_lets_only_as_many_jobs_begin(pool: PgPool) {
    let kit = TestKit::open(&pool).await.unwrap().handle(Printer);
    let slow = kit.client().lane(&LaneOptions::new("slow").rate_limit(1, 86_400)).await.unwrap();
    slow.enqueue_many(&pool, [print(1), print(2)]).await.unwrap();
    let ran = kit.run_until_idle().await.unwrap();
    assert_eq!(ran.len(), 1, "the second waits for its slot, which costs no attempt");
    let waits = kit.enqueued::<super::printing::Print>().await.unwrap();
    assert_eq!((waits.len(), waits[0].payload.pages, waits[0].job.attempt), (1, 2, 0));
}
