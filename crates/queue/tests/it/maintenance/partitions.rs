//! Day partitions: created ahead by every process, dropped by the leader.

use super::world::{World, lead, take_over};
use queue::{QueueError, store::partitions};
use sqlx::PgPool;
use std::time::Duration;

const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);
const ATTACHED: &str = "select count(*) from pg_inherits i join pg_class p on p.oid = i.inhparent
    where p.relname in ('finished_jobs', 'job_attempts')";

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_migrated_database_has_today_and_seven_days_ahead(pool: PgPool) {
    let world = World::new(&pool).await;
    assert_eq!(world.number(ATTACHED).await, 16);
    assert_eq!(partitions::make_ahead(&pool).await.unwrap(), 0);
    for days in 0..8 {
        sqlx::query(
            "insert into headgate.job_attempts (job_id, integration_id, attempt, outcome, finished_at)
            values (gen_random_uuid(), gen_random_uuid(), 1, 'failed', clock_timestamp() + make_interval(days => $1))",
        )
        .bind(days)
        .execute(&pool)
        .await
        .unwrap();
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn many_processes_create_them_at_once_without_an_error(pool: PgPool) {
    let world = World::new(&pool).await;
    world
        .run(
            "do $$ declare t text; begin
                for t in select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
                    where p.relname in ('finished_jobs', 'job_attempts')
                loop execute 'drop table headgate.' || t; end loop;
            end $$",
        )
        .await;
    assert_eq!(world.number(ATTACHED).await, 0);
    let makers = (0..5).map(|_| {
        let pool = pool.clone();
        tokio::spawn(async move { partitions::make_ahead(&pool).await.unwrap() })
    });
    let mut made = 0;
    for maker in makers.collect::<Vec<_>>() {
        made += maker.await.unwrap();
    }
    assert_eq!(made, 16);
    assert_eq!(world.number(ATTACHED).await, 16);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn whole_days_out_of_retention_are_dropped_and_no_other(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world
        .run(
            "select headgate.make_partition(p, (clock_timestamp() at time zone 'UTC')::date - d)
            from unnest(array['finished_jobs', 'job_attempts']) p, unnest(array[1, 7, 8, 40]) d",
        )
        .await;
    assert_eq!(world.number(ATTACHED).await, 24);
    // The seventh day back still holds jobs younger than seven times 24 hours.
    assert_eq!(partitions::drop_expired(&pool, term, WEEK).await.unwrap(), 4);
    assert_eq!(partitions::drop_expired(&pool, term, WEEK).await.unwrap(), 0);
    assert_eq!(world.number(ATTACHED).await, 20);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_day_that_was_detached_and_not_dropped_is_dropped_by_the_next_run(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world
        .run(
            "select headgate.make_partition('finished_jobs', '2020-02-29');
            alter table headgate.finished_jobs detach partition headgate.finished_jobs_20200229",
        )
        .await;
    assert_eq!(partitions::drop_expired(&pool, term, WEEK).await.unwrap(), 1);
    assert_eq!(
        world.number("select count(*) from pg_class where relname = 'finished_jobs_20200229'").await,
        0
    );
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_former_leader_drops_nothing(pool: PgPool) {
    let world = World::new(&pool).await;
    let old = lead(&pool).await;
    take_over(&pool).await;
    world.run("select headgate.make_partition('finished_jobs', '2020-02-29')").await;
    let refused = partitions::drop_expired(&pool, old, WEEK).await;
    assert!(matches!(refused, Err(QueueError::TermOver)));
    assert_eq!(world.number(ATTACHED).await, 17);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_reader_of_an_old_day_delays_its_drop_and_blocks_nobody(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world.run("select headgate.make_partition('finished_jobs', '2020-02-29')").await;
    let mut reader = pool.begin().await.unwrap();
    sqlx::raw_sql(
        "set transaction isolation level repeatable read; select count(*) from headgate.finished_jobs",
    )
    .execute(&mut *reader)
    .await
    .unwrap();
    let dropping = {
        let pool = pool.clone();
        tokio::spawn(async move { partitions::drop_expired(&pool, term, WEEK).await })
    };
    // Jobs finish while the drop is tried: a finish that had to wait for a lock would fail here.
    let mut finisher = pool.acquire().await.unwrap();
    sqlx::query("set lock_timeout = '250ms'").execute(&mut *finisher).await.unwrap();
    let mut finished = 0;
    while !dropping.is_finished() || finished == 0 {
        sqlx::query(
            "insert into headgate.finished_jobs (id, app_id, integration_id, created_at, run_at, status, priority, attempt, max_attempts,
                is_full, folded, job_type, correlation_id, outcome)
            values (gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), now(), now(), 3, 0, 1, 1, false, 0, 'test', '', 'sent')",
        )
        .execute(&mut *finisher)
        .await
        .unwrap();
        finished += 1;
    }
    assert!(dropping.await.unwrap().is_err(), "the reader still reads");
    drop(reader);
    assert_eq!(partitions::drop_expired(&pool, term, WEEK).await.unwrap(), 1);
    assert_eq!(world.number(ATTACHED).await, 16);
}
