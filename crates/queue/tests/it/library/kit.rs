//! The test kit.

use super::printing::{End, Print, ends, kit, print};
use crate::support::World;
use futures::FutureExt as _;
use model::job::JobStatus;
use queue::{NewJob, QueueError};
use sqlx::PgPool;
use std::{panic::AssertUnwindSafe, time::Duration};

async fn must_leave_nothing_behind(pool: &PgPool) {
    let left: (i64, i64) = sqlx::query_as(
        "select (select count(*) from headgate.workers), (select count(*) from headgate.claim_batches)",
    )
    .fetch_one(pool)
    .await
    .unwrap();
    assert_eq!(left, (0, 0), "workers and claims");
    World { pool: pool.clone(), app_id: model::id::AppId::generate() }.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_kit_runs_the_given_job_and_no_other(pool: PgPool) {
    let kit = kit(&pool).await;
    let jobs = kit.client().enqueue_many(&pool, (1..=5).map(print)).await.unwrap();
    let done = kit.run(jobs[3].id).await.unwrap();
    assert_eq!((done.job.id, done.job.status), (jobs[3].id, JobStatus::Completed));
    let pages = async || {
        kit.enqueued::<Print>().await.unwrap().iter().map(|job| job.payload.pages).collect::<Vec<_>>()
    };
    assert_eq!(pages().await, [1, 2, 3, 5]);
    assert_eq!(kit.run_next::<Print>().await.unwrap().unwrap().job.id, jobs[0].id);
    assert_eq!(pages().await, [2, 3, 5]);
    assert!(matches!(
        kit.run(jobs[0].id).await,
        Err(QueueError::WrongState { status: JobStatus::Completed, .. })
    ));
    assert!(matches!(kit.run(model::id::JobId::generate()).await, Err(QueueError::NotFound)));
    must_leave_nothing_behind(&pool).await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn run_until_idle_leaves_waiting_jobs_and_run_to_the_end_does_not(pool: PgPool) {
    let kit = kit(&pool).await;
    let client = kit.client();
    client.enqueue(&pool, NewJob::new(print(9)).delay(Duration::from_secs(86_400))).await.unwrap();
    client.enqueue_many(&pool, [ends(End::AlwaysJams), ends(End::Unprintable), print(1)]).await.unwrap();
    let statuses = |ran: &[model::job::JobDetail]| {
        ran.iter().map(|ran| (ran.job.status, ran.job.attempt)).collect::<Vec<_>>()
    };
    use JobStatus::{Completed, Failed, Retrying, ToBeRetried};
    // A retry without a wait keeps its place in the queue.
    let ran = kit.run_until_idle().await.unwrap();
    assert_eq!(statuses(&ran), [(Retrying, 1), (ToBeRetried, 2), (Failed, 1), (Completed, 1)]);
    assert!(kit.run_until_idle().await.unwrap().is_empty());
    let mut rest = statuses(&kit.run_to_the_end().await.unwrap());
    rest.sort_by_key(|(_, attempt)| *attempt);
    assert_eq!(rest, [(Completed, 1), (Failed, 3)]);
    assert_eq!(kit.skip_waits().await.unwrap(), 0);
    kit.maintain().await.unwrap();
    must_leave_nothing_behind(&pool).await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_runs_before_its_time_when_run_by_id(pool: PgPool) {
    let kit = kit(&pool).await;
    let tomorrow = Duration::from_secs(86_400);
    let jobs = [NewJob::new(print(1)).delay(tomorrow), NewJob::new(print(2)).delay(tomorrow)];
    let jobs = kit.client().enqueue_many(&pool, jobs).await.unwrap();
    assert!(kit.run_next::<Print>().await.unwrap().is_none());
    assert_eq!(kit.run(jobs[1].id).await.unwrap().job.status, JobStatus::Completed);
    assert_eq!(kit.enqueued::<Print>().await.unwrap().len(), 1);
    assert!(kit.run_until_idle().await.unwrap().is_empty(), "the other one's time has not come");
    must_leave_nothing_behind(&pool).await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn jobs_of_one_key_run_in_their_order_only(pool: PgPool) {
    let kit = kit(&pool).await;
    let keyed = |print| NewJob::new(print).serialize_key("printer 1");
    let jobs = kit.client().enqueue_many(&pool, [keyed(ends(End::Busy)), keyed(print(2))]).await.unwrap();
    assert!(
        matches!(kit.run(jobs[1].id).await, Err(QueueError::WrongState { .. })),
        "it is not the head of its key"
    );
    assert_eq!(kit.run_until_idle().await.unwrap().len(), 1, "the second waits for the head's retry");
    let ran = kit.run_to_the_end().await.unwrap();
    assert_eq!(ran.iter().map(|ran| ran.job.id).collect::<Vec<_>>(), [jobs[0].id, jobs[0].id, jobs[1].id]);
    must_leave_nothing_behind(&pool).await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_assertion_that_fails_lists_the_enqueued_jobs(pool: PgPool) {
    let kit = kit(&pool).await;
    kit.client().enqueue(&pool, print(3)).await.unwrap();
    kit.refute_enqueued(|print: &Print| print.pages == 4).await;
    assert_eq!(kit.assert_enqueued(|print: &Print| print.pages == 3).await.job.max_attempts, 3);
    let failed = AssertUnwindSafe(kit.assert_enqueued(|print: &Print| print.pages == 4)).catch_unwind().await;
    let message = failed.unwrap_err().downcast::<String>().unwrap();
    assert!(message.contains("0 jobs of type print") && message.contains("\"pages\":3"), "{message}");
    assert!(AssertUnwindSafe(kit.refute_enqueued(|_: &Print| true)).catch_unwind().await.is_err());
}
