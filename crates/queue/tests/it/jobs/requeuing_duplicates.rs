//! A requeued job meets a live job with its deduplication id: no requested change is lost, and no newer one is undone.

use crate::support::{World, by_id, end, given_up, retried, sent};
use model::id::{IntegrationId, JobId};
use model::job::JobStatus;
use queue::store::jobs::JobSpec;
use serde_json::json;
use sqlx::PgPool;
use std::time::Duration;

fn change(world: &World, lane: IntegrationId, n: i32) -> JobSpec {
    JobSpec { deduplication_id: Some("d".into()), payload: Some(json!(n)), ..world.spec(lane) }
}

async fn accept(world: &World, spec: JobSpec) -> JobId {
    world.accept(&[spec]).await[0].id
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_requeued_while_an_older_change_is_processed_becomes_its_successor(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let first = accept(&world, change(&world, lane, 1)).await;
    let leased = world.claim(worker, 1).await;
    let second = accept(
        &world,
        JobSpec {
            is_full: true,
            serialize_key: Some("k".into()),
            priority: 7,
            timeout_ms: Some(900),
            ..change(&world, lane, 2)
        },
    )
    .await;
    world.cancel(second).await.unwrap();
    let answer = world.requeue(second).await.unwrap();
    assert_eq!((answer.id, answer.status), (second, JobStatus::Pending));
    assert_eq!(world.get(first).await.job.status, JobStatus::Processing);
    world.must_be_sound().await;
    assert!(world.claim(worker, 1).await.is_empty());
    world.finish(&[end(&leased[0], sent())]).await;
    world.must_be_sound().await;
    let leased = world.claim(worker, 1).await;
    let job = by_id(&leased, second);
    assert_eq!((&job.payload, job.is_full, job.timeout_ms), (&Some(json!(2)), true, Some(900)));
    world.finish(&[end(job, sent())]).await;
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_successor_takes_over_everything_but_an_older_payload(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    accept(&world, change(&world, lane, 1)).await;
    let leased = world.claim(worker, 1).await;
    let full = JobSpec { is_full: true, priority: 9, ..change(&world, lane, 2) };
    let older = accept(&world, full).await;
    world.cancel(older).await.unwrap();
    let newer = accept(&world, change(&world, lane, 3)).await;
    assert_eq!(world.requeue(older).await.unwrap().id, newer);
    assert_eq!(world.get(older).await.job.outcome, Some(format!("coalesced into {newer}")));
    world.must_be_sound().await;
    // The other way round: the newer one is requeued second.
    world.cancel(newer).await.unwrap();
    assert_eq!(world.requeue(older).await.unwrap().id, older);
    assert_eq!(world.requeue(newer).await.unwrap().id, older);
    world.must_be_sound().await;
    world.finish(&[end(&leased[0], sent())]).await;
    let leased = world.claim(worker, 1).await;
    let job = by_id(&leased, older);
    assert_eq!((&job.payload, job.is_full, world.get(older).await.job.priority), (&Some(json!(3)), true, 9));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_older_payload_is_not_sent_after_a_newer_one_that_is_processed(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let dead = die(&world, worker, change(&world, lane, 1)).await;
    let of_record = JobSpec {
        record: Some(("product".into(), "1".into())),
        payload: None,
        is_full: true,
        deduplication_id: Some("r".into()),
        ..world.spec(lane)
    };
    let dead_record = die(&world, worker, of_record.clone()).await;
    let runs = accept(&world, change(&world, lane, 2)).await;
    accept(&world, JobSpec { is_full: false, ..of_record }).await;
    assert_eq!(world.claim(worker, 2).await.len(), 2);
    assert_eq!(world.requeue(dead).await.unwrap().id, runs);
    let behind = world.requeue(dead_record).await.unwrap();
    assert_eq!(
        (behind.id, behind.status),
        (dead_record, JobStatus::Pending),
        "everything is still to be sent"
    );
    world.must_be_sound().await;
}

async fn die(world: &World, worker: model::id::WorkerId, spec: JobSpec) -> JobId {
    let id = accept(world, spec).await;
    let leased = world.claim(worker, 1).await;
    world.finish(&[end(by_id(&leased, id), given_up())]).await;
    id
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn dead_duplicates_come_back_the_same_together_and_one_by_one(pool: PgPool) {
    let world = World::new(&pool).await;
    let worker = world.worker().await;
    let mut outcomes = Vec::new();
    for calls in [&[&[0, 1, 2][..]][..], &[&[0], &[1], &[2]], &[&[2], &[1], &[0]], &[&[0, 1], &[2]]] {
        let lane = world.lane().await;
        let mut dead = Vec::new();
        for spec in [
            JobSpec { priority: 5, is_full: true, ..change(&world, lane, 1) },
            JobSpec {
                max_attempts: 20,
                timeout_ms: Some(700),
                job_type: "b".into(),
                ..change(&world, lane, 2)
            },
            JobSpec { job_type: "c".into(), ..change(&world, lane, 3) },
        ] {
            dead.push(die(&world, worker, spec).await);
        }
        for call in calls {
            let ids: Vec<JobId> = call.iter().map(|n| dead[*n]).collect();
            super::requeuing::requeue(&world, &ids).await;
        }
        world.must_be_sound().await;
        let leased = world.claim(worker, 1).await;
        let job = &leased[0];
        let shown = world.get(job.id).await.job;
        outcomes.push((
            job.payload.clone(),
            job.is_full,
            job.job_type.clone(),
            job.timeout_ms,
            job.max_attempts,
            shown.priority,
        ));
        world.finish(&[end(job, sent())]).await;
    }
    for outcome in &outcomes {
        assert_eq!(*outcome, (Some(json!(3)), true, "record.updated".to_owned(), Some(700), 20, 5));
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_newer_payload_replaces_that_of_a_waiting_job(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    for is_pending in [false, true] {
        let waits = accept(&world, change(&world, lane, 1)).await;
        let leased = world.claim(worker, 1).await;
        let newer = accept(&world, JobSpec { priority: 50, ..change(&world, lane, 2) }).await;
        world.cancel(newer).await.unwrap();
        world.finish(&[end(&leased[0], retried(Duration::from_secs(60)))]).await;
        if is_pending {
            world.requeue(waits).await.unwrap();
        }
        assert_eq!(world.requeue(newer).await.unwrap().id, waits);
        let job = world.get(waits).await.job;
        assert_eq!((job.payload, job.priority), (Some(json!(2)), 50));
        let misplaced = "select count(*) from headgate.ready r join headgate.jobs j on j.id = r.job_id where r.rank <> j.rank";
        assert_eq!(world.number(misplaced).await, 0);
        world.must_be_sound().await;
        world.let_time_pass().await;
        let leased = world.claim(worker, 1).await;
        world.finish(&[end(by_id(&leased, waits), sent())]).await;
    }
}
