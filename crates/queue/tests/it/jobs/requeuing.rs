//! Requeuing many jobs in one statement has the same result as requeuing each.

use crate::support::{World, by_id, end, given_up, retried};
use insight::store::operations;
use model::actor::{Actor, ActorKind, Role};
use model::id::{JobId, WorkerId};
use model::job::JobStatus;
use model::operation::{BulkAction, BulkDone, BulkOutcome, BulkStart, BulkSubject, NewBulk};
use queue::store::jobs::JobSpec;
use sqlx::PgPool;
use std::time::Duration;

fn of(ids: &[JobId]) -> NewBulk {
    NewBulk {
        action: BulkAction::Requeue,
        ids: Some(ids.iter().map(|id| id.0).collect()),
        filter: None,
        dry_run: false,
        rate_per_second: None,
        hold_seconds: None,
        reason: None,
    }
}

/// Requeues without hold; returns matched, changed, skipped.
pub(super) async fn requeue(world: &World, ids: &[JobId]) -> (i64, i64, i64) {
    let operator = Actor {
        kind: ActorKind::System,
        name: "ops".to_owned(),
        role: Role::Operator,
        app_id: Some(world.app_id),
    };
    let started = operations::start(&world.pool, &operator, BulkSubject::Jobs, of(ids)).await.unwrap();
    match started {
        BulkStart::Outcome(BulkOutcome::Done(BulkDone { matched, changed, skipped, .. })) => {
            (matched, changed, skipped)
        }
        other => panic!("{other:?}"),
    }
}

/// Accepts jobs and lets each become a dead letter.
async fn dead(world: &World, worker: WorkerId, specs: &[JobSpec]) -> Vec<JobId> {
    let mut ids = Vec::new();
    for spec in specs {
        ids.push(world.accept(std::slice::from_ref(spec)).await[0].id);
        let leased = world.claim(worker, 1).await;
        world.finish(&[end(by_id(&leased, ids[ids.len() - 1]), given_up())]).await;
    }
    ids
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn jobs_of_every_state_come_back_together_or_are_skipped(pool: PgPool) {
    let world = World::new(&pool).await;
    let (lane, other) = (world.lane().await, world.lane().await);
    let worker = world.worker().await;
    let with = |id: &str| JobSpec { deduplication_id: Some(id.into()), ..world.spec(lane) };
    let mut ids = dead(&world, worker, &[world.spec(lane), with("alone"), world.spec(other)]).await;
    let foreign_world = World::new(&pool).await;
    let foreign_lane = foreign_world.lane().await;
    let foreign = dead(&foreign_world, worker, &[foreign_world.spec(foreign_lane)]).await[0];
    let retries = world.accept(&[with("retries")]).await[0].id;
    let leased = world.claim(worker, 1).await;
    world.finish(&[end(&leased[0], retried(Duration::from_secs(60)))]).await;
    let cancelled = world.accept_plain(lane, 1).await[0];
    world.cancel(cancelled).await.unwrap();
    ids.extend([retries, cancelled]);
    let pending = world.accept_plain(lane, 1).await[0];
    let mut requested = ids.clone();
    requested.extend([pending, foreign, JobId::generate()]);
    assert_eq!(
        requeue(&world, &requested).await,
        (6, 5, 1),
        "a pending job is skipped, foreign and unknown ones do not match"
    );
    for id in &ids {
        let job = world.get(*id).await.job;
        assert_eq!((job.status, job.attempt), (JobStatus::Pending, 0));
    }
    assert_eq!(world.get(foreign).await.job.status, JobStatus::Failed);
    world.must_be_sound().await;
    assert_eq!(world.claim(worker, 10).await.len(), 6);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn live_duplicates_take_over_the_work_and_the_newest_of_several_dead_ones_comes_back(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let with = |id: &str, n: i32| JobSpec {
        deduplication_id: Some(id.into()),
        payload: Some(serde_json::json!(n)),
        ..world.spec(lane)
    };
    let ids = dead(
        &world,
        worker,
        &[with("waits", 1), with("runs", 1), with("twice", 1), with("twice", 2), with("twice", 3)],
    )
    .await;
    let runs = world.accept(&[with("runs", 2)]).await[0].id;
    world.claim(worker, 1).await;
    let behind = world.accept(&[with("runs", 3)]).await[0].id;
    let waits = world.accept(&[with("waits", 2)]).await[0].id;
    assert_eq!(requeue(&world, &ids).await, (5, 5, 0));
    for (id, into) in [(ids[0], waits), (ids[1], behind), (ids[2], ids[4]), (ids[3], ids[4])] {
        let job = world.get(id).await.job;
        assert_eq!((job.status, job.outcome), (JobStatus::Cancelled, Some(format!("coalesced into {into}"))));
    }
    let back = world.get(ids[4]).await.job;
    assert_eq!((back.status, back.payload), (JobStatus::Pending, Some(serde_json::json!(3))));
    assert_eq!(world.get(runs).await.job.status, JobStatus::Processing);
    assert_eq!(world.number("select count(*) from headgate.dead_letter_jobs").await, 0);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn keyed_jobs_come_back_in_order_at_the_end_of_their_line(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let keyed = |key: &str| JobSpec { serialize_key: Some(key.into()), ..world.spec(lane) };
    let mut ids = dead(&world, worker, &[keyed("a"), keyed("a"), keyed("b"), keyed("a")]).await;
    let first = world.accept(&[keyed("a")]).await[0].id;
    ids.reverse();
    assert_eq!(requeue(&world, &ids).await, (4, 4, 0));
    world.must_be_sound().await;
    let mut order = Vec::new();
    loop {
        let leased = world.claim(worker, 10).await;
        if leased.is_empty() {
            break;
        }
        order.extend(leased.iter().filter(|job| job.serialize_key.as_deref() == Some("a")).map(|job| job.id));
        let ends: Vec<_> = leased.iter().map(|job| end(job, crate::support::sent())).collect();
        world.finish(&ends).await;
    }
    assert_eq!(order, [first, ids[3], ids[2], ids[0]]);
    assert_eq!(world.number("select count(*) from headgate.serialize_keys").await, 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn jobs_that_lose_a_race_together_are_requeued_one_by_one(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let ids = dead(&world, worker, &vec![world.spec(lane); 3]).await;
    sqlx::raw_sql(
        "create sequence public.tries;
        create function public.lose() returns trigger language plpgsql as $$
        begin
            if nextval('public.tries') = 2 then raise exception 'lost' using errcode = '40P01'; end if;
            return new;
        end $$;
        create trigger lose before insert on headgate.jobs for each row execute function public.lose()",
    )
    .execute(&pool)
    .await
    .unwrap();
    assert_eq!(requeue(&world, &ids).await, (3, 3, 0));
    world.must_be_sound().await;
}
