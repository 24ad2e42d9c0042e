//! Why a job is not running is told without reading all that is ready.

use crate::support::{World, session};
use insight::store::explain;
use model::actor::Scope;
use queue::store::jobs::JobSpec;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn what_goes_first_is_counted_only_so_far(_: PgPoolOptions, options: PgConnectOptions) {
    let (pool, plans) = session(options);
    sqlx::raw_sql("alter table headgate.ready set (autovacuum_enabled = off); analyze")
        .execute(&pool)
        .await
        .unwrap();
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    world.accept_plain(lane, 10_000).await;
    let keyed = JobSpec { serialize_key: Some("k".to_owned()), ..world.spec(lane) };
    let keyed = world.accept(&[keyed.clone(), keyed]).await;
    for statistics in ["select", "analyze"] {
        sqlx::raw_sql(statistics).execute(&pool).await.unwrap();
        for job in &keyed {
            plans.touched();
            explain::explain(&pool, Scope::AllApps, job.id).await.unwrap();
            let touched = plans.touched();
            assert!(touched.rows < 1_200, "{statistics}: {touched:?}");
        }
    }
}
