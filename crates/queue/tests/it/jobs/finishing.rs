//! An attempt ends once, under its lease, and everything about it is written together.

use crate::support::{World, by_id, end, given_up, retried, sent};
use model::actor::Scope;
use model::attempt::AttemptOutcome;
use model::id::{AssignmentId, BatchId};
use model::job::JobStatus;
use model::rules::verdict::ErrorKind;
use queue::store::jobs::{Applied, Completion, Ending, JobSpec};
use serde_json::json;
use sqlx::PgPool;
use std::time::Duration;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn every_ending_leads_to_its_state(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let batch_id = Some(BatchId::generate());
    let specs = vec![JobSpec { batch_id, payload: Some(json!({"a": 1})), ..world.spec(lane) }; 6];
    let ids: Vec<_> = world.accept(&specs).await.into_iter().map(|job| job.id).collect();
    let leased = world.claim(worker, 10).await;
    let later = chrono::Utc::now() + chrono::Duration::minutes(5);
    let endings = [
        sent(),
        Ending::Completed { how: Completion::Unchanged, response: None, result: Some(json!({"n": 1})) },
        Ending::Cancelled { why: "expired" },
        retried(Duration::from_secs(30)),
        given_up(),
        Ending::Released { until: later },
    ];
    let ends: Vec<_> =
        ids.iter().zip(&endings).map(|(id, ending)| end(by_id(&leased, *id), ending.clone())).collect();
    assert_eq!(world.finish(&ends).await, [Applied::Yes; 6]);

    use JobStatus::{Cancelled, Completed, Failed, Pending, ToBeRetried};
    for (id, (status, attempt, outcome)) in ids.iter().zip([
        (Completed, 1, Some("sent")),
        (Completed, 1, Some("unchanged")),
        (Cancelled, 1, Some("expired")),
        (ToBeRetried, 1, None),
        (Failed, 1, None),
        (Pending, 0, None),
    ]) {
        let job = world.get(*id).await.job;
        assert_eq!((job.status, job.attempt, job.outcome.as_deref()), (status, attempt, outcome));
        assert_eq!(job.payload, Some(json!({"a": 1})));
        assert_eq!(job.completed_at.is_some(), status == Completed);
        assert_eq!(job.cancelled_at.is_some(), status == Cancelled);
        assert_eq!(job.failed_at.is_some(), status == Failed);
        assert_eq!(job.retry_at.is_some(), status == ToBeRetried);
    }
    let attempts = world.get(ids[0]).await.attempts;
    assert_eq!(
        (attempts.len(), attempts[0].outcome, attempts[0].response_status),
        (1, AttemptOutcome::Completed, Some(200))
    );
    let attempts = world.get(ids[3]).await.attempts;
    assert_eq!(attempts.len(), 1);
    assert_eq!(attempts[0].response_excerpt.as_deref(), Some("no\u{fffd} way"));
    assert_eq!(attempts[0].next_wait_ms, Some(30_000));
    assert_eq!(world.number("select count(*) from headgate.waiting").await, 2);
    let batch: (i64, i64, i64, i64) = sqlx::query_as(
        "select sum(total), sum(succeeded), sum(failed), sum(cancelled) from headgate.batch_deltas where batch_id = $1",
    )
    .bind(batch_id)
    .fetch_one(&pool)
    .await
    .unwrap();
    assert_eq!(batch, (6, 2, 1, 1));
    let flow: (i64, i64, i64, i64, i64, i64) = sqlx::query_as(
        "select sum(completed), sum(unchanged), sum(retried), sum(dead), sum(cancelled), sum(limited) from headgate.throughput_deltas",
    )
    .fetch_one(&pool)
    .await
    .unwrap();
    assert_eq!(flow, (1, 1, 1, 1, 1, 1));
    assert_eq!(
        world.number("select count(*) from headgate.integration_marks where error_status = 503").await,
        1
    );
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_dead_letter_has_all_attempts(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let id = world.accept_plain(lane, 1).await[0];
    for _ in 0..2 {
        let leased = world.claim(worker, 1).await;
        world.finish(&[end(&leased[0], retried(Duration::ZERO))]).await;
    }
    let leased = world.claim(worker, 1).await;
    world.finish(&[end(&leased[0], given_up())]).await;
    let page = insight::store::dead_letters::list(
        &pool,
        Scope::App(world.app_id),
        &Default::default(),
        Default::default(),
    )
    .await
    .unwrap();
    let dead = &page.items[0];
    assert_eq!((dead.job_id, dead.error_kind), (id, ErrorKind::RetriesExceeded));
    let attempts: Vec<_> =
        dead.attempts.iter().map(|attempt| (attempt.attempt, attempt.error_kind)).collect();
    let retryable = Some(ErrorKind::Retryable);
    assert_eq!(attempts, [(1, retryable), (2, retryable), (3, retryable)]);
    assert_eq!(world.get(id).await.attempts, dead.attempts);
    assert_eq!(insight::store::dead_letters::get(&pool, Scope::AllApps, dead.id).await.unwrap(), *dead);
    let groups =
        insight::store::dead_letters::groups(&pool, Scope::AllApps, &Default::default(), &Default::default())
            .await
            .unwrap();
    let groups = groups.items;
    assert_eq!((groups.len(), groups[0].count, groups[0].error.as_str()), (1, 1, "shelf 13 is full"));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_lost_lease_cannot_end_the_job(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let ids = world.accept_plain(lane, 3).await;
    let leased = world.claim(worker, 3).await;
    let mut of_another_lease = end(by_id(&leased, ids[0]), sent());
    of_another_lease.assignment_id = AssignmentId::generate();
    let ended_before = end(by_id(&leased, ids[1]), sent());
    world.finish(std::slice::from_ref(&ended_before)).await;
    let valid = end(by_id(&leased, ids[2]), sent());
    let ends = [valid.clone(), of_another_lease, ended_before];
    assert_eq!(world.finish(&ends).await, [Applied::Yes, Applied::LeaseLost, Applied::AlreadyDone]);
    assert_eq!(world.finish(&[valid]).await, [Applied::AlreadyDone], "the same result again changes nothing");
    for (id, status) in ids.iter().zip([JobStatus::Processing, JobStatus::Completed, JobStatus::Completed]) {
        assert_eq!(world.get(*id).await.job.status, status);
    }
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_released_job_keeps_its_attempts(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let id = world.accept_plain(lane, 1).await[0];
    let leased = world.claim(worker, 1).await;
    world.finish(&[end(&leased[0], retried(Duration::ZERO))]).await;
    let leased = world.claim(worker, 1).await;
    assert_eq!(leased[0].attempt, 2);
    world.finish(&[end(&leased[0], Ending::Released { until: chrono::DateTime::UNIX_EPOCH })]).await;
    let job = world.get(id).await.job;
    assert_eq!((job.status, job.attempt), (JobStatus::Retrying, 1));
    assert_eq!(world.claim(worker, 1).await[0].attempt, 2);
    world.must_be_sound().await;
}
