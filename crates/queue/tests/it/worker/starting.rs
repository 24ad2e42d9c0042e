//! System events of processes that start.

use crate::support::{Script, World, config, ok, start, until_recorded};
use sqlx::PgPool;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn each_start_is_recorded_and_a_version_only_the_first_time(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    for n in 1..=2 {
        world.accept_plain(lane, 1).await;
        let engine = start(&pool, config(), Script::new(|_| Box::pin(async { ok() })));
        until_recorded(&engine, 1).await;
        engine.shutdown().await;
        let kinds: Vec<String> = sqlx::query_scalar("select kind from headgate.system_events order by id")
            .fetch_all(&pool)
            .await
            .unwrap();
        let expected = ["version", "start", "start"];
        assert_eq!(kinds, expected[..n + 1]);
    }
    let is_complete: bool = sqlx::query_scalar(
        "select bool_and(host is not null and version is not null and worker_id is not null) from headgate.system_events",
    )
    .fetch_one(&pool)
    .await
    .unwrap();
    assert!(is_complete);
}
