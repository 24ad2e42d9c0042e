//! However many failure causes there are, only the requested ones are read.

use crate::support::{World, session, touched::Plans};
use insight::store::failures;
use model::actor::Scope;
use model::failure::{CauseId, FailureFilter, FailureState};
use model::filter::JobFilter;
use model::id::IntegrationId;
use model::page::PageRequest;
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

/// Number of causes: all of them occur at Big, every ten-thousandth at Small too.
const CAUSES: i32 = 20_000;
/// Most rows that a page may read.
const MAX_ROWS: u64 = 500;

async fn fill(pool: &PgPool, big: IntegrationId, small: IntegrationId) {
    sqlx::query(
        "with groups as (
            insert into headgate.failure_groups (cause, dead, first_at, last_at, error_kind, error_message)
            select lpad(to_hex(n), 16, '0'), 1, now(), now(), 'retryable', 'no shelf' from generate_series(1, $1) n
        )
        insert into headgate.failure_counts (fingerprint, integration_id, dead, first_at, last_at, error_kind, error_message)
        select lpad(to_hex(n), 16, '0') || own.mark, own.id, 1, now(), now(), 'retryable', 'no shelf'
        from generate_series(1, $1) n
        join (values ('bb', $2::uuid, 1), ('aa', $3::uuid, 10000)) own (mark, id, every) on n % own.every = 0",
    )
    .bind(CAUSES)
    .bind(big)
    .bind(small)
    .execute(pool)
    .await
    .unwrap();
    sqlx::raw_sql(
        "update headgate.failure_groups set snoozed_until = now() + interval '1 day' where cause = lpad('7', 16, '0');
        update headgate.failure_groups set fixed_at = now() + interval '1 minute' where cause = lpad('8', 16, '0')",
    )
    .execute(pool)
    .await
    .unwrap();
}

async fn listed(pool: &PgPool, plans: &Plans, filter: FailureFilter) -> usize {
    plans.touched();
    let groups =
        failures::list(pool, Scope::AllApps, &filter, PageRequest::default()).await.unwrap().items.len();
    let touched = plans.touched();
    assert!(touched.rows < MAX_ROWS, "{filter:?}: {touched:?}");
    groups
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn of_many_causes_only_the_requested_ones_are_read(_: PgPoolOptions, options: PgConnectOptions) {
    let (pool, plans) = session(options);
    sqlx::raw_sql(
        "alter table headgate.failure_groups set (autovacuum_enabled = off);
        alter table headgate.failure_counts set (autovacuum_enabled = off);
        analyze",
    )
    .execute(&pool)
    .await
    .unwrap();
    let (world, other) = (World::new(&pool).await, World::new(&pool).await);
    let (big, small) = (world.lane().await, other.lane().await);
    fill(&pool, big, small).await;
    for statistics in ["select", "analyze"] {
        sqlx::raw_sql(statistics).execute(&pool).await.unwrap();
        let all = FailureFilter::default;
        for (filter, groups) in [
            (FailureFilter { state: Some(FailureState::Snoozed), ..all() }, 1),
            (FailureFilter { state: Some(FailureState::Fixed), ..all() }, 1),
            (FailureFilter { state: Some(FailureState::Open), ..all() }, 50),
            (FailureFilter { integration_id: Some(small), ..all() }, 2),
            (FailureFilter { app_id: Some(other.app_id), ..all() }, 2),
        ] {
            assert_eq!(listed(&pool, &plans, filter).await, groups, "{statistics}: {filter:?}");
        }
        let cause: CauseId = "0000000000002710".parse().unwrap();
        plans.touched();
        failures::detail(&pool, Scope::App(other.app_id), &all(), cause).await.unwrap();
        let touched = plans.touched();
        assert!(touched.rows < MAX_ROWS, "{statistics}: {touched:?}");
        let of_cause = JobFilter { fingerprint: Some(cause.to_string()), ..JobFilter::default() };
        insight::store::dead_letters::groups(&pool, Scope::AllApps, &of_cause, &Default::default())
            .await
            .unwrap();
        let touched = plans.touched();
        assert!(touched.rows < MAX_ROWS, "{statistics}: {touched:?}");
    }
}
