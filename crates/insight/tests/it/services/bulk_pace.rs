//! Measures the speed of bulk operations: `cargo test -p insight --test it bulk_pace -- --ignored --nocapture`.

use super::an_operator;
use super::world::{World, lead};
use insight::{services::RunOperations, store::operations};
use model::{
    filter::JobFilter,
    operation::{BulkAction, BulkOutcome, BulkStart, BulkStarted, BulkSubject, NewBulk, OperationState},
};
use queue::maintenance::Service as _;
use queue::store::counts;
use queue::store::leader::Term;
use sqlx::PgPool;
use std::time::Instant;

const MANY: i32 = 20_000;

async fn measure(world: &World, term: Term, subject: BulkSubject, action: BulkAction, filter: JobFilter) {
    let pool = &world.pool;
    let new = NewBulk {
        action,
        ids: None,
        filter: Some(filter),
        dry_run: false,
        rate_per_second: None,
        hold_seconds: Some(0),
        reason: None,
    };
    let begun = Instant::now();
    let started = operations::start(pool, &an_operator(), subject, new).await.unwrap();
    let BulkStart::Outcome(BulkOutcome::Started(BulkStarted { operation_id, .. })) = started else {
        panic!("{started:?}")
    };
    while RunOperations.run_once(pool, term).await.unwrap() {}
    let seconds = begun.elapsed().as_secs_f64();
    let done = operations::get(pool, model::actor::Scope::AllApps, operation_id).await.unwrap();
    assert_eq!((done.state, done.changed), (OperationState::Done, i64::from(MANY)));
    assert_eq!(counts::drift(pool).await.unwrap(), []);
    println!("{} {}: {:.0} a second", action.as_str(), subject.as_str(), f64::from(MANY) / seconds);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
#[ignore = "a measurement, not a test"]
async fn twenty_thousand_of_each(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world.run("update headgate.leader set expires_at = clock_timestamp() + interval '1 hour'").await;
    let of_lane = || JobFilter { integration_id: Some(world.lane), ..JobFilter::default() };
    world.dead_letters(world.lane, MANY).await;
    world
        .run(
            "update headgate.dead_letter_jobs set deduplication_id = id::text, record_type = 'product', record_id = id::text,
                attempts = jsonb_build_array(jsonb_build_object('attempt', 1, 'error_message', repeat('x', 200)))",
        )
        .await;
    measure(&world, term, BulkSubject::DeadLetters, BulkAction::Requeue, of_lane()).await;
    measure(&world, term, BulkSubject::Jobs, BulkAction::Cancel, of_lane()).await;
    let cancelled = JobFilter { status: Some(model::job::JobStatus::Cancelled), ..of_lane() };
    measure(&world, term, BulkSubject::Jobs, BulkAction::Requeue, cancelled).await;
    measure(&world, term, BulkSubject::Jobs, BulkAction::Cancel, of_lane()).await;
    world.to_be_retried(world.lane, MANY, 1).await;
    measure(&world, term, BulkSubject::Jobs, BulkAction::Requeue, of_lane()).await;
    world.dead_letters(world.lane, MANY).await;
    measure(&world, term, BulkSubject::DeadLetters, BulkAction::Purge, of_lane()).await;
}
