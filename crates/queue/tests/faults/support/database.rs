//! A database for one round, with tables in which the worker processes record what they do.

use super::World;
use queue::pool::PoolSettings;
use sqlx::{Connection as _, Executor as _, PgConnection, PgPool};
use std::{future::Future, time::Duration};
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::{Instant, sleep};

/// Rounds with worker processes run one at a time: CI has two cores.
static TURN: Mutex<()> = Mutex::const_new(());

const NOTES: &str = "
    create table accepted (position bigserial primary key, job_id uuid not null, fate text);
    create table attempts_seen (
        assignment_id uuid primary key, child int not null, worker_id uuid, job_id uuid not null, integration_id uuid not null,
        serialize_key text, deduplication_id text, attempt int not null, run_at timestamptz,
        started_at timestamptz not null default clock_timestamp(), ended_at timestamptz, outcome text, sent_us bigint
    );
    create table deaths (child int primary key, at timestamptz not null default clock_timestamp());
    create table naps (child int not null, at timestamptz not null default clock_timestamp(), over_at timestamptz not null default 'infinity');
    create table clocks (child int primary key, shows timestamptz not null, at timestamptz not null default clock_timestamp());
    create table leads (child int not null, leads boolean not null, at timestamptz not null default clock_timestamp());
    create table chores (child int not null, term bigint not null, at timestamptz not null default clock_timestamp());
";

pub(crate) struct Database {
    pub(crate) url: String,
    pub(crate) pool: PgPool,
    server_url: String,
    name: String,
    _turn: MutexGuard<'static, ()>,
}

impl Database {
    /// An empty database on the server that `DATABASE_URL` names.
    pub(crate) async fn create() -> Self {
        Self::create_on(&std::env::var("DATABASE_URL").expect("DATABASE_URL names a server for tests")).await
    }

    pub(crate) async fn create_on(server_url: &str) -> Self {
        let turn = TURN.lock().await;
        let name = format!("faults_{}", uuid::Uuid::now_v7().simple());
        let mut connection = PgConnection::connect(server_url).await.unwrap();
        connection.execute(sqlx::AssertSqlSafe(format!("create database {name}"))).await.unwrap();
        let (address, query) = server_url.split_once('?').unwrap_or((server_url, ""));
        let (host, _) = address.rsplit_once('/').unwrap();
        let url = format!("{host}/{name}?{query}");
        let settings = PoolSettings {
            url: url.clone(),
            max_connections: 5,
            application_name: "judge".to_owned(),
            statement_timeout: None,
        };
        let pool = queue::pool::connect(&settings).await.unwrap();
        queue::migrate::run(&pool).await.unwrap();
        queue::store::partitions::make_ahead(&pool).await.unwrap();
        pool.execute(NOTES).await.unwrap();
        Self { url, pool, server_url: server_url.to_owned(), name, _turn: turn }
    }

    pub(crate) async fn world(&self) -> World {
        World::new(&self.pool).await
    }

    pub(crate) async fn number(&self, sql: &'static str) -> i64 {
        // The pool hands out a recently used connection without testing it: if it was terminated since, the query fails and is repeated.
        for _ in 0..20 {
            if let Ok(number) = sqlx::query_scalar(sql).fetch_one(&self.pool).await {
                return number;
            }
        }
        sqlx::query_scalar(sql).fetch_one(&self.pool).await.unwrap()
    }

    /// Waits until the query's number is at least `enough`; fails once it has not grown for a minute, however far it is.
    pub(crate) async fn until_at_least(&self, sql: &'static str, enough: i64) {
        let (mut last, mut grew_at) = (0, Instant::now());
        loop {
            // No answer while the server restarts.
            let now = sqlx::query_scalar::<_, i64>(sql).fetch_one(&self.pool).await.unwrap_or(last);
            if now >= enough {
                return;
            }
            if now > last {
                (last, grew_at) = (now, Instant::now());
            }
            assert!(grew_at.elapsed() < Duration::from_secs(60), "stays at {last} of {enough}: {sql}");
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until every accepted job has ended.
    pub(crate) async fn until_all_is_final(&self) {
        const FINAL: &str = "select (select count(*) from headgate.finished_jobs) + (select count(*) from headgate.dead_letter_jobs)
            - (select count(*) from headgate.jobs) - (select count(*) from headgate.jobs where successor is not null) + 1000000";
        let accepted = self.number("select count(distinct job_id) from accepted").await;
        self.until_at_least(FINAL, accepted + 1_000_000).await;
    }

    pub(crate) async fn drop(self) {
        self.pool.close().await;
        let mut connection = PgConnection::connect(&self.server_url).await.unwrap();
        let drop = format!("drop database if exists {} with (force)", self.name);
        connection.execute(sqlx::AssertSqlSafe(drop)).await.unwrap();
    }
}

/// Polls until it is true, because other processes send no event to wait for.
pub(crate) async fn eventually<F: Future<Output = bool>>(what: &str, mut check: impl FnMut() -> F) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !check().await {
        assert!(Instant::now() < deadline, "never: {what}");
        sleep(Duration::from_millis(20)).await;
    }
}
