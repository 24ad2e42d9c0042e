//! The leader vacuums the hot tables when they need it.

use super::world::{World, lead, take_over};
use crate::support::{self, Script, failed, ok, service};
use model::id::IntegrationId;
use model::rate_limit::RateLimit;
use model::rules::verdict::{ErrorKind, Verdict};
use queue::maintenance::Maintenance;
use queue::store::jobs::JobSpec;
use queue::store::vacuum;
use queue::worker::{AT_ONCE, Outcome, Slot};
use queue::{EngineConfig, QueueError};
use sqlx::{Connection as _, PgConnection, PgPool};

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn every_hot_table_is_listed_owned_and_not_due_while_idle(pool: PgPool) {
    let mut connection = pool.acquire().await.unwrap();
    let bloats = vacuum::bloat(&mut connection).await.unwrap();
    let tables: Vec<&str> = bloats.iter().map(|bloat| bloat.table.as_str()).collect();
    assert_eq!(tables, vacuum::HOT_TABLES);
    assert!(bloats.iter().all(|bloat| bloat.is_ours && !bloat.is_due && !bloat.is_stale));
    for bloat in &bloats {
        vacuum::vacuum(&mut connection, bloat).await.unwrap();
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn dead_rows_past_the_threshold_are_vacuumed_by_the_leader_only(pool: PgPool) {
    let world = World::new(&pool).await;
    let (old, service) = (lead(&pool).await, service("vacuum"));
    let term = take_over(&pool).await;
    let mut connection = pool.acquire().await.unwrap();
    sqlx::raw_sql(
        "insert into headgate.job_count_deltas select gen_random_uuid(), 0, 0, 1 from generate_series(1, 3000);
        delete from headgate.job_count_deltas; select pg_stat_force_next_flush()",
    )
    .execute(&mut *connection)
    .await
    .unwrap();
    let is_due = vacuum::bloat(&mut connection).await.unwrap().into_iter().any(|bloat| bloat.is_due);
    assert!(is_due);
    assert!(matches!(service.run_once(&pool, old).await, Err(QueueError::TermOver)));
    service.run_once(&pool, term).await.unwrap();
    assert_eq!(world.number("select pg_relation_size('headgate.job_count_deltas') * 0 + vacuum_count from pg_stat_user_tables where relname = 'job_count_deltas'").await, 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn stale_statistics_are_refreshed_by_the_leader_only(pool: PgPool) {
    let world = World::new(&pool).await;
    let (old, service) = (lead(&pool).await, service("vacuum"));
    let term = take_over(&pool).await;
    let mut connection = pool.acquire().await.unwrap();
    sqlx::raw_sql(
        "insert into headgate.ready select gen_random_uuid(), 200, clock_timestamp(), gen_random_uuid() from generate_series(1, 20000);
        select pg_stat_force_next_flush()",
    )
    .execute(&mut *connection)
    .await
    .unwrap();
    let stale =
        vacuum::bloat(&mut connection).await.unwrap().into_iter().find(|bloat| bloat.is_stale).unwrap();
    assert_eq!((stale.table.as_str(), stale.is_due), ("ready", false));
    assert!(matches!(service.run_once(&pool, old).await, Err(QueueError::TermOver)));
    service.run_once(&pool, term).await.unwrap();
    assert_eq!(
        world.number("select reltuples::bigint from pg_class where oid = 'headgate.ready'::regclass").await,
        20_000
    );
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn every_table_that_changes_with_jobs_is_hot(pool: PgPool) {
    let world = support::World::new(&pool).await;
    let limit = RateLimit { requests: 1_000, per_seconds: 1 };
    let lane = world.lane_with(50, Some(limit)).await;
    world.run_everything(lane).await;
    let options = pool.connect_options();
    // A connection flushes its statistics when it ends, if not before.
    pool.close().await;
    let mut connection = PgConnection::connect_with(&options).await.unwrap();
    let changed: Vec<String> = sqlx::query_scalar(
        "select relname::text from pg_stat_user_tables
         where schemaname = 'headgate' and n_tup_upd + n_tup_del > 0 and relname !~ '_[0-9]{8}$' order by 1",
    )
    .fetch_all(&mut connection)
    .await
    .unwrap();
    let cold = ["integrations", "leader", "recounts", "tidied", "totals", "workers"];
    let missing: Vec<&String> = changed
        .iter()
        .filter(|table| !vacuum::HOT_TABLES.contains(&table.as_str()) && !cold.contains(&table.as_str()))
        .collect();
    assert!(missing.is_empty(), "{missing:?} of {changed:?}");
    for table in ["jobs", "ready", "lanes", "lane_wakes", "rate_limits", "breakers", "claim_batches"] {
        assert!(changed.iter().any(|other| other == table), "{table} did not change: {changed:?}");
    }
}

impl support::World {
    /// Runs an engine with jobs that succeed, fail and wait, in a sleeping lane with a limit, and then maintenance.
    async fn run_everything(&self, lane: IntegrationId) {
        sqlx::query("update headgate.lanes set is_asleep = true where integration_id = $1")
            .bind(lane)
            .execute(&self.pool)
            .await
            .unwrap();
        let keyed = JobSpec { serialize_key: Some("k".into()), ..self.spec(lane) };
        let (mut good, mut bad) = (vec![keyed; 3], vec![self.spec(lane); 4]);
        bad.iter_mut().for_each(|spec| (spec.job_type, spec.max_attempts) = ("fails".into(), 2));
        good.append(&mut bad);
        self.accept(&good).await;
        let script = Script::new(|job| {
            Box::pin(async move {
                if matches!(job.slot().await, Slot::Later(_)) {
                    return Outcome::Released { until: AT_ONCE };
                }
                if job.job_type == "fails" {
                    failed(Verdict::Retry {
                        kind: ErrorKind::Retryable,
                        at_least: None,
                        quiets_integration: false,
                    })
                } else {
                    ok()
                }
            })
        });
        let config = EngineConfig { breaker_failures: 50, ..support::config() };
        let engine = support::start(&self.pool, config.clone(), script);
        support::until_recorded(&engine, 11).await;
        engine.shutdown().await;
        Maintenance::run_once(&self.pool, &config, insight::services::services(&EngineConfig::default()))
            .await
            .unwrap();
    }
}
