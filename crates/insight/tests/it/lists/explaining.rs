//! Explaining why a job does not run does not read all of `ready`.

use crate::support::{World, session};
use insight::store::explain;
use model::actor::Scope;
use queue::store::jobs::JobSpec;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn jobs_ahead_are_counted_up_to_a_limit(_: PgPoolOptions, options: PgConnectOptions) {
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
