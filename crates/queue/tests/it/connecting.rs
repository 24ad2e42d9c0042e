//! Connections and the schema.

use crate::support::empty;
use queue::pool::{self, PoolSettings};
use queue::store::connections::refuse_transaction_pooler;
use queue::store::schema::{Schema, schema};
use queue::{QueueError, migrate};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions as _, PgPool};
use std::time::Duration;

fn settings(options: &PgConnectOptions, max_connections: u32) -> PoolSettings {
    PoolSettings {
        url: options.to_url_lossy().to_string(),
        max_connections,
        application_name: "headgate test".into(),
        statement_timeout: Some(Duration::from_millis(200)),
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_cancelled_begin_never_leaves_the_next_borrower_inside_a_transaction(
    _: PgPoolOptions,
    options: PgConnectOptions,
) {
    let pool = pool::connect(&settings(&options, 1)).await.unwrap();
    let mut cancelled = 0;
    for round in 0..200_u64 {
        let cut_off = Duration::from_micros(10 + round * 3);
        if tokio::time::timeout(cut_off, pool.begin()).await.is_err() {
            cancelled += 1;
            let mut connection = pool.acquire().await.unwrap();
            let is_outside: bool = sqlx::raw_sql("select now() = statement_timestamp()")
                .fetch_one(&mut *connection)
                .await
                .map(|row| sqlx::Row::get(&row, 0))
                .unwrap();
            assert!(is_outside, "round {round}");
        }
    }
    println!("{cancelled} begins were cancelled");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn every_connection_has_the_engines_settings(_: PgPoolOptions, options: PgConnectOptions) {
    let pool = pool::connect(&settings(&options, 2)).await.unwrap();
    for (name, value) in [
        ("jit", "off"),
        ("timezone", "UTC"),
        ("application_name", "headgate test"),
        ("statement_timeout", "200ms"),
        ("idle_in_transaction_session_timeout", "15s"),
    ] {
        let actual: String =
            sqlx::query_scalar("select current_setting($1)").bind(name).fetch_one(&pool).await.unwrap();
        assert_eq!(actual, value, "{name}");
    }
    let slow = sqlx::query("select pg_sleep(5)").execute(&pool).await.unwrap_err();
    assert!(matches!(QueueError::from(slow), QueueError::Timeout));
    refuse_transaction_pooler(&pool).await.unwrap();
    let nowhere = PoolSettings { url: "postgres://127.0.0.1:1/none".into(), ..settings(&options, 1) };
    assert!(pool::connect(&nowhere).await.unwrap_err().is_unavailable());
    assert!(!format!("{nowhere:?}").contains("127.0.0.1"), "an address may contain a password");
}

/// The codes with which Postgres ends or refuses a session. They are raised by statements, because a session that really ends may also just
/// lose its connection.
#[sqlx::test]
async fn an_ended_or_refused_session_counts_as_an_unavailable_database(pool: PgPool) {
    for code in
        ["08006", "28P01", "28000", "3D000", "53300", "57P01", "57P02", "57P03", "57P04", "57P05", "25P03"]
    {
        let raise = format!("do $$ begin raise exception using errcode = '{code}'; end $$");
        let error = sqlx::raw_sql(sqlx::AssertSqlSafe(raise)).execute(&pool).await.unwrap_err();
        assert!(QueueError::from(error).is_unavailable(), "{code}");
    }
}

#[sqlx::test]
async fn processes_that_start_together_migrate_once(pool: PgPool) {
    empty(&pool).await;
    assert_eq!(schema(&pool).await.unwrap(), Schema::Behind);
    let (one, two) = tokio::join!(migrate::run(&pool), migrate::run(&pool));
    one.unwrap();
    two.unwrap();
    assert_eq!(schema(&pool).await.unwrap(), Schema::Current);
    migrate::run(&pool).await.unwrap();
}

#[sqlx::test]
async fn a_schema_of_another_build_is_refused_with_what_to_do(pool: PgPool) {
    empty(&pool).await;
    migrate::run(&pool).await.unwrap();
    for version in [2_i64, 1] {
        sqlx::query("update public._sqlx_migrations set checksum = 'x' where version = $1")
            .bind(version)
            .execute(&pool)
            .await
            .unwrap();
        let error = migrate::run(&pool).await.unwrap_err();
        assert!(error.to_string().contains("another build of Headgate made the tables"), "{error}");
        let causes = error.with_causes();
        assert!(causes.contains(&format!("migration {version} was previously applied")), "{causes}");
    }
}
