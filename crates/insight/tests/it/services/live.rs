//! The hub, which holds the newest snapshot in each process.

use super::world::{World, lead};
use insight::live::{LiveHub, LiveState};
use insight::store::stats::{self, live_snapshots};
use model::{actor::Scope, stats::Snapshot};
use sqlx::PgPool;
use std::sync::Arc;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

async fn until(
    changes: &mut watch::Receiver<Arc<LiveState>>,
    holds: impl Fn(&LiveState) -> bool,
) -> Arc<LiveState> {
    Arc::clone(&*changes.wait_for(|state| holds(state)).await.unwrap())
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_hub_follows_the_sampler_and_ends_with_its_token(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    let token = CancellationToken::new();
    let hub = LiveHub::start(pool.clone(), token.clone());
    assert!(hub.current().snapshot.is_none());
    assert_eq!(&*hub.current().json, "null");
    let mut changes = hub.subscribe();

    world.pending(world.lane, 3, 0).await;
    let first = stats::snapshot(&pool).await.unwrap();
    live_snapshots::write(&pool, term, &first, None).await.unwrap();
    let seen = until(&mut changes, |state| state.snapshot.is_some()).await;
    assert_eq!(seen.snapshot.as_deref(), Some(&first));
    assert_eq!(serde_json::from_str::<Snapshot>(&seen.json).unwrap(), first);
    assert!(!seen.is_stale());
    let part = |state: &LiveState| state.part(Scope::AllApps, Some(world.lane)).unwrap();
    assert!(Arc::ptr_eq(&part(&seen), &part(&hub.current())), "made once for all readers");

    world.pending(world.lane, 2, 0).await;
    let second = stats::snapshot(&pool).await.unwrap();
    live_snapshots::write(&pool, term, &second, None).await.unwrap();
    let seen = until(&mut changes, |state| state.snapshot.as_deref() == Some(&second)).await;
    let narrowed = second.narrowed(Scope::AllApps, Some(world.lane));
    assert_eq!(serde_json::from_str::<Snapshot>(&part(&seen)).unwrap(), narrowed);
    assert_eq!(hub.history()[0].totals.backlog, 3, "the first snapshot stands for its minute");
    assert_eq!(hub.backlogs(world.lane)[0].1, 3);

    token.cancel();
    while changes.changed().await.is_ok() {}
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_last_snapshot_is_kept_while_the_database_is_down(pool: PgPool) {
    World::new(&pool).await;
    let term = lead(&pool).await;
    let snapshot = stats::snapshot(&pool).await.unwrap();
    live_snapshots::write(&pool, term, &snapshot, None).await.unwrap();
    let own =
        sqlx::postgres::PgPoolOptions::new().connect_with((*pool.connect_options()).clone()).await.unwrap();
    let hub = LiveHub::start(own.clone(), CancellationToken::new());
    let mut changes = hub.subscribe();
    until(&mut changes, |state| state.snapshot.is_some()).await;
    own.close().await;
    let down = until(&mut changes, |state| state.error.is_some()).await;
    assert_eq!(down.snapshot.as_deref(), Some(&snapshot));
    assert!(down.is_stale());
}
