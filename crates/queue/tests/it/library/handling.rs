//! Outcomes of typed jobs.

use super::printing::{End, Print, Printed, ends, kit, print};
use crate::support::World;
use model::attempt::AttemptOutcome;
use model::id::AppId;
use model::job::{JobDetail, JobStatus};
use model::rules::verdict::ErrorKind;
use queue::{Job, JobError, JobHandler, LeasedJob, NewJob, testing::TestKit, worker::CompletedJob};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::{PgConnection, PgPool};

/// For the checks of a database that was filled by the kit.
fn world(pool: &PgPool) -> World {
    World { pool: pool.clone(), app_id: AppId::generate() }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_payload_goes_in_and_a_result_comes_out(pool: PgPool) {
    let kit = kit(&pool).await;
    let id = kit.client().enqueue(&pool, print(5)).await.unwrap().id;
    let done = kit.run(id).await.unwrap();
    assert_eq!((done.job.status, done.job.outcome.as_deref()), (JobStatus::Completed, Some("done")));
    let printed: Printed = serde_json::from_value(done.result.unwrap()).unwrap();
    assert_eq!((printed.sheets, printed.by_attempt["last"]), (3, 1));
    assert_eq!(kit.client().job(id).await.unwrap().job.payload, Some(json!({"pages": 5, "end": "Printed"})));
    world(&pool).must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn every_kind_of_error_ends_the_attempt_as_documented(pool: PgPool) {
    let kit = kit(&pool).await;
    let mut ids = Vec::new();
    for end in [End::Jams, End::AlwaysJams, End::Busy, End::Unprintable, End::TooEarly, End::Panics] {
        ids.push(kit.client().enqueue(&pool, ends(end)).await.unwrap().id);
    }
    // There is no wait after a first failure.
    kit.run_until_idle().await.unwrap();
    let job = async |at: usize| kit.client().job(ids[at]).await.unwrap();
    let wait = |detail: &JobDetail| {
        (detail.job.retry_at.unwrap() - detail.attempts.last().unwrap().finished_at.unwrap()).num_seconds()
    };

    let jammed = job(0).await;
    assert_eq!((jammed.job.status, jammed.attempts.len()), (JobStatus::Completed, 2));
    assert_eq!(jammed.attempts[0].error_message.as_deref(), Some("paper jam"));
    assert_eq!(jammed.attempts[0].error_kind, Some(ErrorKind::Retryable));

    let jams = job(1).await;
    assert_eq!((jams.job.status, jams.job.attempt, wait(&jams)), (JobStatus::ToBeRetried, 2, 10));

    let busy = job(2).await;
    assert_eq!((busy.job.status, busy.job.attempt, wait(&busy)), (JobStatus::ToBeRetried, 1, 3_600));

    let unprintable = job(3).await;
    assert_eq!((unprintable.job.status, unprintable.job.attempt), (JobStatus::Failed, 1));
    assert_eq!(unprintable.job.error_kind, Some(ErrorKind::NotRetryable));
    assert_eq!(unprintable.job.error_message.as_deref(), Some("invalid digit found in string"));

    let snoozed = job(4).await;
    assert_eq!((snoozed.job.status, snoozed.job.attempt, snoozed.attempts.len()), (JobStatus::Pending, 0, 0));
    let due_in: f64 = sqlx::query_scalar(
        "select extract(epoch from w.due_at - j.created_at)::float8 from headgate.waiting w join headgate.jobs j on j.id = w.job_id where j.id = $1",
    )
    .bind(ids[4])
    .fetch_one(&pool)
    .await
    .unwrap();
    assert!(due_in >= 60.0, "{due_in}");

    let panics = job(5).await;
    assert_eq!(panics.attempts[0].error_message.as_deref(), Some("The handler panicked: out of ink"));

    // Every job but the snoozed one ends.
    for id in [ids[1], ids[2], ids[2], ids[5]] {
        kit.run(id).await.unwrap();
    }
    for at in [1, 2, 5] {
        let dead = job(at).await;
        assert_eq!(
            (dead.job.status, dead.job.error_kind, dead.attempts.len()),
            (JobStatus::Failed, Some(ErrorKind::RetriesExceeded), 3)
        );
        assert!(dead.attempts.iter().all(|attempt| attempt.outcome == AttemptOutcome::Failed));
    }
    world(&pool).must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_payload_that_does_not_fit_makes_a_dead_letter_that_says_where(pool: PgPool) {
    let kit = kit(&pool).await;
    let id = enqueue_raw(&kit, json!({"pages": 1, "end": {"Folded": [1]}})).await;
    let dead = kit.run(id).await.unwrap();
    assert_eq!((dead.job.status, dead.job.error_kind), (JobStatus::Failed, Some(ErrorKind::NotRetryable)));
    let message = dead.job.error_message.unwrap();
    assert!(
        message.starts_with(
            "the payload, at end, is not what a job of type print is made with: unknown variant"
        ),
        "{message}"
    );
}

/// Enqueues a job of type `print` with any payload.
async fn enqueue_raw(kit: &TestKit, payload: serde_json::Value) -> model::id::JobId {
    #[derive(Serialize, Deserialize)]
    struct Raw(serde_json::Value);
    impl Job for Raw {
        const JOB_TYPE: &'static str = Print::JOB_TYPE;
    }
    let mut transaction = kit.client().begin().await.unwrap();
    let id = transaction.enqueue(Raw(payload)).await.unwrap().id;
    transaction.commit().await.unwrap();
    id
}

/// Its handler returns a result that the database may not accept.
#[derive(Serialize, Deserialize)]
struct Scan;
impl Job for Scan {
    const JOB_TYPE: &'static str = "scan";
}
struct Scanner(serde_json::Value);
impl JobHandler<Scan> for Scanner {
    type Output = serde_json::Value;
    async fn run(&self, _: Scan, _: &LeasedJob) -> Result<serde_json::Value, JobError> {
        Ok(self.0.clone())
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_result_that_cannot_be_kept_does_not_fail_the_job(pool: PgPool) {
    let too_large = json!("x".repeat(1_000_001));
    for (result, is_kept) in [(json!({"text": "nul \0"}), false), (too_large, false), (json!([1]), true)] {
        let kit = TestKit::open(&pool).await.unwrap().handle(Scanner(result.clone()));
        let id = kit.client().enqueue(&pool, Scan).await.unwrap().id;
        let done = kit.run(id).await.unwrap();
        assert_eq!((done.job.status, done.job.error_message), (JobStatus::Completed, None));
        assert_eq!(done.result, is_kept.then_some(result));
    }
}

/// Records its prints in the transaction that completes the job; there the first attempt fails.
struct Bookkeeper;
impl JobHandler<Print> for Bookkeeper {
    type Output = (u32, i16);
    async fn run(&self, print: Print, job: &LeasedJob) -> Result<(u32, i16), JobError> {
        if job.attempt == 2 { Err("out of paper")? } else { Ok((print.pages, job.attempt)) }
    }
    async fn on_completed(
        &self,
        connection: &mut PgConnection,
        job: &CompletedJob,
        (pages, attempt): &(u32, i16),
    ) -> Result<(), sqlx::Error> {
        sqlx::query("insert into printed select $1, $2, $3")
            .bind(job.id)
            .bind(*pages as i32)
            .bind(*attempt)
            .execute(&mut *connection)
            .await?;
        sqlx::query("select 1 / ($1 - 1)").bind(i32::from(*attempt)).execute(connection).await?;
        Ok(())
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn writes_of_on_completed_are_committed_once_and_only_with_the_completion(pool: PgPool) {
    sqlx::query("create table printed (job_id uuid, pages int, attempt smallint)")
        .execute(&pool)
        .await
        .unwrap();
    let kit = TestKit::open(&pool).await.unwrap().handle(Bookkeeper);
    let id = kit.client().enqueue(&pool, print(4)).await.unwrap().id;
    let ran = kit.run_to_the_end().await.unwrap();
    let ends: Vec<_> =
        ran.iter().map(|ran| (ran.job.attempt, ran.job.status, ran.job.error_message.as_deref())).collect();
    assert_eq!(
        ends,
        [
            (1, JobStatus::Retrying, Some("The result could not be stored.")),
            (2, JobStatus::ToBeRetried, Some("out of paper")),
            (3, JobStatus::Completed, None)
        ]
    );
    let written: Vec<(model::id::JobId, i32, i16)> =
        sqlx::query_as("select * from printed").fetch_all(&pool).await.unwrap();
    assert_eq!(written, [(id, 4, 3)]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_of_an_unknown_type_is_left_to_a_process_that_knows_it(pool: PgPool) {
    let old = TestKit::open(&pool).await.unwrap().handle(Scanner(json!(1)));
    let new = kit(&pool).await;
    let one_try = NewJob::new(print(2)).max_attempts(1);
    let id = old.client().enqueue(&pool, one_try).await.unwrap().id;
    for _ in 0..3 {
        let left = old.run(id).await.unwrap();
        assert_eq!((left.job.status, left.job.attempt, left.attempts.len()), (JobStatus::Pending, 0, 0));
        assert!(old.run_until_idle().await.unwrap().is_empty(), "the job waits for a while");
    }
    let done = new.run_to_the_end().await.unwrap();
    assert_eq!((done[0].job.id, done[0].job.status, done[0].job.attempt), (id, JobStatus::Completed, 1));
    world(&pool).must_be_sound().await;
}
