//! Claims take turns: each one sees what was committed before its own turn, and no process keeps the turn forever.

use crate::support::{Script, World, config, ok, start, until, until_recorded};
use futures::TryStreamExt as _;
use queue::store::jobs::{ClaimRequest, Claimer};
use queue::worker::LeasedJob;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, PgPool};
use std::collections::HashMap;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_claim_sees_what_was_committed_while_it_waited_for_its_turn_whatever_the_databases_isolation(
    pool: PgPool,
) {
    let world = World::new(&pool).await;
    let (lane, worker_id) = (world.lane().await, world.worker().await);
    let database: String = sqlx::query_scalar("select current_database()").fetch_one(&pool).await.unwrap();
    let set_isolation =
        format!(r#"alter database "{database}" set default_transaction_isolation = 'repeatable read'"#);
    sqlx::raw_sql(AssertSqlSafe(set_isolation)).execute(&pool).await.unwrap();
    let mut turn = PgConnection::connect_with(&pool.connect_options()).await.unwrap();
    sqlx::query("select pg_advisory_lock(4711, 1)").execute(&mut turn).await.unwrap();
    let mut claimer = Claimer::new(&pool);
    let claims = ClaimRequest { worker_id, wanted: 5, lane_cap: 5, busy: HashMap::new(), program: None };
    let claimed = tokio::spawn(async move { claimer.claim(&claims).await.map(|(taken, _)| taken.len()) });
    until(
        &pool,
        "select exists(select from pg_locks where locktype = 'advisory' and classid = 4711 and not granted)",
    )
    .await;
    world.accept_plain(lane, 3).await;
    turn.close().await.unwrap();
    assert_eq!(claimed.await.unwrap().unwrap(), 3);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_process_stopped_while_it_receives_jobs_does_not_keep_others_from_claiming(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    world.accept_plain(lane, 1).await;
    let mut stopped = PgConnection::connect_with(&pool.connect_options()).await.unwrap();
    // More than the buffers between the server and a client that does not read can take.
    let answer = "select pg_advisory_xact_lock(4711, 1), repeat('x', 100000) from generate_series(1, 500)";
    let mut rows = sqlx::query(answer).fetch(&mut stopped);
    assert!(rows.try_next().await.unwrap().is_some());
    let engine = start(&pool, config(), Script::new(|_: &LeasedJob| Box::pin(async { ok() })));
    until_recorded(&engine, 1).await;
    engine.shutdown().await;
    assert!(rows.try_collect::<Vec<_>>().await.is_err(), "its claim was rolled back");
    world.must_be_sound().await;
}
