//! Rows past their retention are deleted, and no others.

use super::world::{World, lead, take_over};
use crate::support::service;
use queue::QueueError;
use queue::store::leader::Term;
use queue::store::workers;
use sqlx::PgPool;

async fn delete_expired(pool: &PgPool, term: Term) -> Result<bool, QueueError> {
    service("retention").run_once(pool, term).await
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn expired_rows_are_deleted_and_the_rest_stays(pool: PgPool) {
    let world = World::new(&pool).await;
    world
        .run(
            "insert into headgate.breaker_flips (id, integration_id, app_id, at, from_state, to_state, reason)
            select gen_random_uuid(), i.id, i.app_id, clock_timestamp() - a, 'closed', 'open', 'failures'
            from headgate.integrations i, unnest(array[interval '29 days', interval '31 days']) a;
            insert into headgate.bin (id, job_id, app_id, integration_id, was, letter, binned_at)
            select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'purged', '{}', clock_timestamp() - a
            from unnest(array[interval '23 hours', interval '25 hours']) a;
            insert into headgate.job_counts values (gen_random_uuid(), 0, 0, 0), (gen_random_uuid(), 0, 0, 1)",
        )
        .await;
    let old = lead(&pool).await;
    let term = take_over(&pool).await;
    let left = "select (select count(*) from headgate.breaker_flips) * 100 + (select count(*) from headgate.bin) * 10
        + (select count(*) from headgate.job_counts)";
    assert!(matches!(delete_expired(&pool, old).await, Err(QueueError::TermOver)));
    assert_eq!(world.number(left).await, 222);
    assert!(!delete_expired(&pool, term).await.unwrap());
    assert_eq!(world.number(left).await, 111);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn workers_dead_for_long_are_removed_unless_they_have_claims(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world
        .run(
            "insert into headgate.workers (id, host, pid, version, slots, lease_until)
            select ('00000000-0000-7000-8000-00000000000' || n)::uuid, 'h', n, '1', 1, clock_timestamp() + a
            from (values (1, interval '10 seconds'), (2, interval '-1 minute'), (3, interval '-1 hour'), (4, interval '-1 hour')) v (n, a);
            insert into headgate.claim_batches (id, worker_id, job_ids)
            values (gen_random_uuid(), '00000000-0000-7000-8000-000000000004', '{}')",
        )
        .await;
    assert_eq!(workers::remove_dead(&pool, term).await.unwrap(), 1);
    assert_eq!(world.number("select sum(pid) from headgate.workers").await, 7);
    // The second one was lost a minute ago, and is listed as lost.
    let mut live = workers::list(&pool).await.unwrap();
    assert_eq!(live.len(), 2);
    live.retain(|worker| worker.lease != model::worker::LeaseState::Lost);
    assert_eq!(live.iter().map(|worker| (worker.pid, worker.is_leader)).collect::<Vec<_>>(), [(1, false)]);
    let drained = workers::drain(&mut pool.acquire().await.unwrap(), live[0].id).await.unwrap();
    assert!(drained.is_draining);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn system_events_are_kept_for_a_month_and_the_running_version_forever(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world
        .run(
            "insert into headgate.workers (id, host, pid, version, slots, lease_until)
            values (gen_random_uuid(), 'h', 1, 'runs', 1, clock_timestamp() + interval '1 minute');
            insert into headgate.system_events (id, at, kind, version)
            select gen_random_uuid(), clock_timestamp() - a, k, v
            from (values ('start', 'runs', interval '29 days'), ('start', 'runs', interval '31 days'), ('version', 'runs', interval '31 days'),
                ('version', 'gone', interval '31 days')) v (k, v, a)",
        )
        .await;
    assert!(!delete_expired(&pool, term).await.unwrap());
    let left: Vec<(String, String)> =
        sqlx::query_as("select kind, version from headgate.system_events order by kind")
            .fetch_all(&pool)
            .await
            .unwrap();
    let kept = |kind: &str| (kind.to_owned(), "runs".to_owned());
    assert_eq!(left, [kept("start"), kept("version")]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn claims_whose_jobs_have_all_ended_are_deleted(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world.processing(world.lane, 1).await;
    world
        .run(
            "insert into headgate.claim_batches (id, worker_id, job_ids, claimed_at)
            select gen_random_uuid(), worker_id, array[id, gen_random_uuid()], now() - interval '1 hour' from headgate.jobs
            union all
            select gen_random_uuid(), gen_random_uuid(), array[id], now() - interval '1 hour' from headgate.jobs
            union all
            select gen_random_uuid(), gen_random_uuid(), array[id], now() from headgate.jobs",
        )
        .await;
    let count = async || -> i64 {
        sqlx::query_scalar("select count(*) from headgate.claim_batches").fetch_one(&pool).await.unwrap()
    };
    let before = count().await;
    for _ in 0..2 {
        assert_eq!(workers::remove_ended_claims(&pool, term, None).await.unwrap(), None);
        assert_eq!(count().await, before - 1);
    }
    assert_eq!(world.number("select count(*) from headgate.claim_batches").await, 2);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn rows_that_cannot_be_deleted_do_not_block_others(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world
        .run(
            "insert into headgate.bin (id, job_id, app_id, integration_id, was, letter, binned_at)
                select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'purged', '{}', now() - interval '2 days';
            insert into headgate.job_counts values (gen_random_uuid(), 0, 0, 0);
            create function refuse() returns trigger language plpgsql as $$ begin raise 'poisonous'; end $$;
            create trigger poison before delete on headgate.job_counts for each row execute function refuse();
            select headgate.make_partition('finished_jobs', '2020-02-29')",
        )
        .await;
    let service = service("retention");
    assert!(service.run_once(&pool, term).await.is_err(), "it reports the failure");
    assert_eq!(world.number("select count(*) from headgate.bin").await, 0);
    assert_eq!(
        world.number("select count(*) from pg_class where relname = 'finished_jobs_20200229'").await,
        0
    );
}
