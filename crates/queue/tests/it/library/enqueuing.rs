//! Enqueuing through each kind of executor, and in which transaction.

use super::printing::{Print, kit, print};
use insight::store::job_lists;
use model::actor::Scope;
use model::job::{EnqueueOutcome, JobStatus};
use queue::{Client, Job, NewJob, QueueError};
use serde::{Deserialize, Serialize};
use sqlx::{Connection as _, PgConnection, PgPool};
use std::time::Duration;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_commits_and_rolls_back_with_its_transaction(pool: PgPool) {
    let kit = kit(&pool).await;
    let client = kit.client();

    let mut transaction = pool.begin().await.unwrap();
    client.enqueue(&mut *transaction, print(1)).await.unwrap();
    transaction.rollback().await.unwrap();
    let mut own = client.begin().await.unwrap();
    own.enqueue(print(1)).await.unwrap();
    drop(own);
    kit.refute_enqueued(|_: &Print| true).await;

    let mut transaction = pool.begin().await.unwrap();
    client.enqueue(&mut *transaction, print(2)).await.unwrap();
    kit.refute_enqueued(|print: &Print| print.pages == 2).await;
    transaction.commit().await.unwrap();
    let mut connection = pool.acquire().await.unwrap();
    client.enqueue(&mut *connection, print(3)).await.unwrap();
    assert!(!connection.is_in_transaction(), "it used a transaction of its own, which has ended");
    client.enqueue(&pool, print(4)).await.unwrap();
    let mut own = client.begin().await.unwrap();
    sqlx::query("create table orders (id int)").execute(&mut *own).await.unwrap();
    own.enqueue_many([print(5), print(6)]).await.unwrap();
    own.commit().await.unwrap();

    let pages: Vec<u32> =
        kit.enqueued::<Print>().await.unwrap().iter().map(|job| job.payload.pages).collect();
    assert_eq!(pages, [2, 3, 4, 5, 6]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn enqueuing_fits_into_a_task(pool: PgPool) {
    let client = kit(&pool).await.client().clone();
    async fn by_connection(client: &Client, connection: &mut PgConnection) -> Result<(), QueueError> {
        client.enqueue(&mut *connection, print(1)).await?;
        client.enqueue(connection, NewJob::new(print(1)).priority(1)).await?;
        Ok(())
    }
    let enqueued = tokio::spawn(async move {
        let mut transaction = pool.begin().await?;
        by_connection(&client, &mut transaction).await?;
        client.enqueue(&mut *transaction, print(2)).await?;
        client.enqueue_many(&mut *transaction, vec![print(3)]).await?;
        transaction.commit().await?;
        client.enqueue_stream(futures::stream::iter([print(4)])).await.map_err(|error| error.source)?;
        let mut own = client.begin().await?;
        own.enqueue(print(5)).await?;
        own.commit().await?;
        let scope = Scope::App(client.app_id());
        job_lists::list(
            &pool,
            scope,
            &model::filter::JobFilter::default(),
            model::page::PageRequest::default(),
        )
        .await
    });
    assert_eq!(enqueued.await.unwrap().unwrap().items.len(), 6);
}

#[derive(Serialize, Deserialize)]
struct Remind {
    recipient: u32,
}
impl Job for Remind {
    const JOB_TYPE: &'static str = "remind";
    const TIMEOUT: Option<Duration> = Some(Duration::from_secs(5));
    const PRIORITY: i16 = -5;
    fn deduplication_id(&self) -> Option<String> {
        Some(self.recipient.to_string())
    }
    fn serialize_key(&self) -> Option<String> {
        Some(format!("recipient-{}", self.recipient))
    }
}

/// Has the same id as [`Remind`], but is another job type.
#[derive(Serialize, Deserialize)]
struct Thank {
    recipient: u32,
}
impl Job for Thank {
    const JOB_TYPE: &'static str = "thank";
    fn deduplication_id(&self) -> Option<String> {
        Some(self.recipient.to_string())
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_options_of_a_job_are_stored(pool: PgPool) {
    let kit = kit(&pool).await;
    let client = kit.client();
    let plain = client.enqueue(&pool, Remind { recipient: 1 }).await.unwrap();
    let other = client.enqueue(&pool, Thank { recipient: 1 }).await.unwrap();
    let again = client.enqueue(&pool, NewJob::new(Remind { recipient: 1 }).priority(9)).await.unwrap();
    assert_eq!((plain.outcome, other.outcome), (EnqueueOutcome::Created, EnqueueOutcome::Created));
    assert_eq!((again.id, again.outcome), (plain.id, EnqueueOutcome::Coalesced));
    let job = client.job(plain.id).await.unwrap().job;
    assert_eq!((job.priority, job.folded, job.max_attempts), (9, 1, 10));
    assert_eq!(job.deduplication_id.as_deref(), Some("remind:1"));
    assert_eq!(job.serialize_key.as_deref(), Some("recipient-1"));

    let later = NewJob::new(Remind { recipient: 2 })
        .delay(Duration::from_secs(3600))
        .expires_in(Duration::from_secs(7200));
    let id = client.enqueue(&pool, later.correlation_id("order-2").max_attempts(2)).await.unwrap().id;
    let job = client.job(id).await.unwrap().job;
    assert_eq!(
        (job.status, job.correlation_id.as_str(), job.max_attempts),
        (JobStatus::Pending, "order-2", 2)
    );
    let near = |at: chrono::DateTime<chrono::Utc>, seconds: i64| {
        (at - job.created_at).num_seconds().abs_diff(seconds) <= 1
    };
    assert!(near(job.run_at, 3600) && near(job.expires_at.unwrap(), 7200), "{job:?}");
    let timeout: i32 = sqlx::query_scalar("select timeout_ms from headgate.jobs where id = $1")
        .bind(id)
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_eq!(timeout, 5_000);

    client.cancel(id).await.unwrap();
    assert_eq!(client.job(id).await.unwrap().job.status, JobStatus::Cancelled);
    assert!(matches!(client.cancel(id).await, Err(QueueError::WrongState { .. })));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_that_cannot_be_accepted_is_refused_with_every_fault(pool: PgPool) {
    let kit = kit(&pool).await;
    let refused = kit.client().enqueue(&pool, NewJob::new(print(1)).priority(200).correlation_id("\n")).await;
    let Err(QueueError::Invalid(faults)) = refused else { panic!("{refused:?}") };
    assert_eq!(faults.0.len(), 2, "{faults}");
    // All jobs of a call are accepted, or none.
    let bad = [NewJob::new(print(1)), NewJob::new(print(2)).max_attempts(0)];
    assert!(matches!(kit.client().enqueue_many(&pool, bad).await, Err(QueueError::Invalid(_))));
    kit.refute_enqueued(|_: &Print| true).await;
}
