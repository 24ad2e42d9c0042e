//! The workers of a process, as a program starts them.

use super::printing::{End, Printer, ends, print};
use crate::support::{empty, until};
use model::job::JobStatus;
use queue::store::schema::{Schema, schema};
use queue::{Client, Runner, migrate};
use sqlx::PgPool;

// No migrator, because starting creates the schema.
#[sqlx::test]
async fn a_runner_needs_an_empty_database_and_nothing_else(pool: PgPool) {
    empty(&pool).await;
    let running = Runner::new(&pool).handle(Printer).workers(5).start().await.unwrap();
    let client = Client::open(&pool, "shop").await.unwrap();
    let good = client.enqueue(&pool, print(2)).await.unwrap().id;
    let bad = client.enqueue(&pool, ends(End::Unprintable)).await.unwrap().id;
    until(&pool, "select (select count(*) from headgate.finished_jobs) + (select count(*) from headgate.dead_letter_jobs) = 2").await;
    assert!(running.engine().is_alive() && running.health().iter().all(|service| service.failures == 0));
    running.shutdown().await;
    assert_eq!(client.job(good).await.unwrap().job.status, JobStatus::Completed);
    assert_eq!(client.job(bad).await.unwrap().job.status, JobStatus::Failed);
    until(&pool, "select count(*) = 0 from headgate.workers").await;
}

/// A database of a program with migrations of its own, of which the first has the same number as ours.
async fn migrate_a_program(pool: &PgPool) {
    empty(pool).await;
    sqlx::raw_sql(
        "create table _sqlx_migrations (version bigint primary key, description text not null, installed_on timestamptz default now(),
             success boolean not null, checksum bytea not null, execution_time bigint not null);
         insert into _sqlx_migrations values (1, 'orders', now(), true, 'x', 1)",
    )
    .execute(pool)
    .await
    .unwrap();
}

async fn count_programs_migrations(pool: &PgPool) -> i64 {
    sqlx::query_scalar("select count(*) from public._sqlx_migrations").fetch_one(pool).await.unwrap()
}

#[sqlx::test]
async fn a_programs_own_migrations_are_left_alone(pool: PgPool) {
    migrate_a_program(&pool).await;
    assert_eq!(schema(&pool).await.unwrap(), Schema::Behind);
    for _ in 0..2 {
        migrate::run_embedded(&pool).await.unwrap();
    }
    // The program `headgate` finds the schema's migrations where they are.
    migrate::run(&pool).await.unwrap();
    assert_eq!(schema(&pool).await.unwrap(), Schema::Current);
    assert_eq!(count_programs_migrations(&pool).await, 1);
}

#[sqlx::test]
async fn headgate_leaves_a_programs_own_migrations_alone(pool: PgPool) {
    migrate_a_program(&pool).await;
    for _ in 0..2 {
        migrate::run(&pool).await.unwrap();
    }
    assert_eq!(schema(&pool).await.unwrap(), Schema::Current);
    assert_eq!(count_programs_migrations(&pool).await, 1);
}

#[sqlx::test]
async fn a_database_migrated_by_headgate_keeps_its_migrations_table(pool: PgPool) {
    empty(&pool).await;
    migrate::run(&pool).await.unwrap();
    migrate::run_embedded(&pool).await.unwrap();
    assert_eq!(schema(&pool).await.unwrap(), Schema::Current);
    let own: Option<String> = sqlx::query_scalar("select to_regclass('headgate._sqlx_migrations')::text")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_eq!(own, None);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn of_two_processes_the_one_that_knows_the_job_type_runs_it(pool: PgPool) {
    let without = Runner::new(&pool).without_migrations().start().await.unwrap();
    let client = Client::open(&pool, "shop").await.unwrap();
    let id = client.enqueue(&pool, print(2)).await.unwrap().id;
    until(&pool, "select count(*) = 1 from headgate.waiting").await;
    assert_eq!(client.job(id).await.unwrap().job.attempt, 0);
    let with = Runner::new(&pool).handle(Printer).start().await.unwrap();
    sqlx::raw_sql("update headgate.waiting set due_at = clock_timestamp()").execute(&pool).await.unwrap();
    without.shutdown().await;
    until(&pool, "select count(*) = 1 from headgate.finished_jobs").await;
    with.shutdown().await;
    assert_eq!(client.job(id).await.unwrap().job.attempt, 1);
}
