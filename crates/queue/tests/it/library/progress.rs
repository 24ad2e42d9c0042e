//! Progress of a job.

use crate::support::{config, until, until_recorded};
use model::job::JobStatus;
use queue::testing::TestKit;
use queue::worker::{Engine, Handlers};
use queue::{Client, Job, JobError, JobHandler, LeaseLost, LeasedJob};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;

#[derive(Serialize, Deserialize)]
struct Count {
    to: u64,
}
impl Job for Count {
    const JOB_TYPE: &'static str = "count";
}

/// Reports each step, and waits for `go_on` before it ends.
#[derive(Clone, Default)]
struct Counter {
    go_on: Arc<Notify>,
    seen: Arc<Mutex<Vec<Result<(), LeaseLost>>>>,
}

impl JobHandler<Count> for Counter {
    type Output = ();
    async fn run(&self, count: Count, job: &LeasedJob) -> Result<(), JobError> {
        for n in 1..=count.to {
            job.progress(n, count.to, &format!("at {n}\0"))?;
        }
        self.go_on.notified().await;
        let late = job.progress(count.to, 0, "");
        self.seen.lock().unwrap().push(late);
        self.go_on.notified().await;
        Ok(late?)
    }
}

/// Records each write of a job's progress in the table `noted`.
async fn record_progress_writes(pool: &PgPool) {
    sqlx::raw_sql(
        "create table noted (at timestamptz default clock_timestamp(), progress jsonb);
         create function note() returns trigger language plpgsql as $$
         begin insert into noted (progress) values (new.progress); return null; end $$;
         create trigger noted after update on headgate.jobs for each row
         when (new.progress is distinct from old.progress and new.progress is not null) execute function note();",
    )
    .execute(pool)
    .await
    .unwrap();
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_thousand_reports_are_a_few_writes_and_the_last_is_among_them(pool: PgPool) {
    record_progress_writes(&pool).await;
    let (client, counter) = (Client::open(&pool, "test").await.unwrap(), Counter::default());
    let id = client.enqueue(&pool, Count { to: 1_000 }).await.unwrap().id;
    let began_at = Instant::now();
    let engine = Engine::start(
        pool.clone(),
        config(),
        Handlers::none().handle(counter.clone()),
        CancellationToken::new(),
    );
    until(&pool, "select count(*) > 0 from headgate.jobs where progress ->> 'done' = '1000'").await;
    let detail = client.job(id).await.unwrap();
    let progress = detail.progress.unwrap();
    assert_eq!(detail.job.status, JobStatus::Processing);
    assert_eq!(
        (progress.done, progress.total, progress.note.as_deref()),
        (1_000, Some(1_000), Some("at 1000\u{fffd}"))
    );
    // The first write, and then one a second.
    let writes: i64 = sqlx::query_scalar("select count(*) from noted").fetch_one(&pool).await.unwrap();
    let max = 1 + began_at.elapsed().as_secs() as i64 + 1;
    assert!((1..=max).contains(&writes), "{writes} writes, {max} at most");

    counter.go_on.notify_one();
    until(&pool, "select count(*) > 0 from headgate.jobs where progress -> 'total' = 'null' and progress -> 'note' = 'null'").await;
    counter.go_on.notify_one();
    until_recorded(&engine, 1).await;
    engine.shutdown().await;
    assert_eq!(*counter.seen.lock().unwrap(), [Ok(())]);
    let done = client.job(id).await.unwrap();
    assert_eq!((done.job.status, done.progress), (JobStatus::Completed, None));
}

/// Works until a report says that the lease is lost.
struct Endless(Arc<Notify>);
impl JobHandler<Count> for Endless {
    type Output = ();
    async fn run(&self, _: Count, job: &LeasedJob) -> Result<(), JobError> {
        let handle = job.progress_handle();
        let stopped = Arc::clone(&self.0);
        // On a blocking thread, where the engine cannot stop it.
        tokio::task::spawn_blocking(move || {
            let mut done = 0;
            while handle.report(done, 0, "on and on").is_ok() {
                done += 1;
                std::thread::yield_now();
            }
            stopped.notify_one();
        })
        .await?;
        Ok(())
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_handler_that_lost_its_lease_learns_it_and_writes_nothing(pool: PgPool) {
    let client = Client::open(&pool, "test").await.unwrap();
    let id = client.enqueue(&pool, Count { to: 1 }).await.unwrap().id;
    let stopped = Arc::new(Notify::new());
    let handlers = Handlers::none().handle(Endless(Arc::clone(&stopped)));
    let engine = Engine::start(pool.clone(), config(), handlers, CancellationToken::new());
    until(&pool, "select count(*) > 0 from headgate.jobs where progress is not null").await;
    // Another worker has the job now, while this process's lease is still valid.
    let mut connection = pool.acquire().await.unwrap();
    sqlx::query("update headgate.jobs set assignment_id = gen_random_uuid(), progress = null where id = $1")
        .bind(id)
        .execute(&mut *connection)
        .await
        .unwrap();
    tokio::time::timeout(Duration::from_secs(60), stopped.notified())
        .await
        .expect("the handler learns that its lease is lost");
    engine.shutdown().await;
    let detail = client.job(id).await.unwrap();
    assert_eq!((detail.job.status, detail.progress), (JobStatus::Processing, None));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_retry_begins_without_the_progress_of_the_attempt_before(pool: PgPool) {
    struct Half;
    impl JobHandler<Count> for Half {
        type Output = ();
        async fn run(&self, _: Count, job: &LeasedJob) -> Result<(), JobError> {
            job.progress(1, 2, "half")?;
            if job.attempt == 1 { Err("no more")? } else { Ok(()) }
        }
    }
    let kit = TestKit::open(&pool).await.unwrap().handle(Half);
    let id = kit.client().enqueue(&pool, Count { to: 2 }).await.unwrap().id;
    for status in [JobStatus::Retrying, JobStatus::Completed] {
        let ran = kit.run(id).await.unwrap();
        assert_eq!((ran.job.status, ran.progress), (status, None));
    }
}
