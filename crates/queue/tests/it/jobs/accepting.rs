//! An accepted job is new, or folds into one that waits, or becomes the successor of one that runs.

use crate::support::{World, end, given_up, retried, sent};
use insight::store::{explain, job_lists, trail};
use model::actor::Scope;
use model::event::EventType;
use model::filter::JobFilter;
use model::id::{BatchId, JobId};
use model::job::{EnqueueOutcome, JobStatus};
use model::page::PageRequest;
use model::rules::explain::ReasonCode;
use model::trace::TraceContext;
use queue::store::jobs::JobSpec;
use serde_json::json;
use sqlx::PgPool;
use std::time::Duration;

fn keyed(world: &World, lane: model::id::IntegrationId, id: &str) -> JobSpec {
    JobSpec { deduplication_id: Some(id.into()), ..world.spec(lane) }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn answers_come_in_the_order_of_the_input_and_duplicates_share_a_job(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let specs =
        [keyed(&world, lane, "b"), world.spec(lane), keyed(&world, lane, "a"), keyed(&world, lane, "b")];
    let jobs = world.accept(&specs).await;
    use EnqueueOutcome::{Coalesced, Created};
    assert_eq!(
        jobs.iter().map(|job| job.outcome).collect::<Vec<_>>(),
        [Created, Created, Created, Coalesced]
    );
    assert_eq!(jobs[0].id, jobs[3].id);
    assert_eq!(world.get(jobs[0].id).await.job.folded, 1);
    // The order of acceptance, not of the locks.
    assert_eq!(world.ready().await, [jobs[0].id, jobs[1].id, jobs[2].id]);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_change_folds_into_the_waiting_job_and_the_higher_urgency_wins(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let plain = world.accept_plain(lane, 1).await[0];
    let first = world.accept(&[JobSpec { payload: Some(json!(1)), ..keyed(&world, lane, "a") }]).await[0];
    assert_eq!(world.ready().await, [plain, first.id]);

    for (job_type, shown) in
        [("attribute.update", "attribute.update"), ("record.updated", "attribute.update")]
    {
        let spec = JobSpec {
            job_type: job_type.into(),
            payload: Some(json!(job_type)),
            is_full: job_type == "record.updated",
            ..keyed(&world, lane, "a")
        };
        let repeated = world.accept(&[spec]).await[0];
        assert_eq!((repeated.id, repeated.outcome), (first.id, EnqueueOutcome::Coalesced));
        let job = world.get(first.id).await.job;
        assert_eq!((job.job_type.as_str(), job.payload), (shown, Some(json!(job_type))));
        assert_eq!(world.ready().await, [first.id, plain], "the urgent job goes first");
    }
    assert_eq!(world.get(first.id).await.job.folded, 2);
    let worker = world.worker().await;
    let claimed = world.claim(worker, 1).await;
    assert!(claimed[0].id == first.id && claimed[0].is_full);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_is_found_by_each_of_its_correlation_ids_wherever_it_goes(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let change = |id: &str| JobSpec { correlation_id: id.into(), ..keyed(&world, lane, "a") };
    let ids_of = async |id| {
        let job = world.get(id).await.job;
        (job.correlation_ids.join(" "), job.earlier_correlations)
    };
    let found = async |correlation_id: &str| -> Vec<JobId> {
        let id = || Some(correlation_id.to_owned());
        let filter = JobFilter { correlation_id: id(), ..JobFilter::default() };
        let keys = trail::TrailKeys { correlation_id: id(), ..trail::TrailKeys::default() };
        let listed = job_lists::list(&pool, Scope::AllApps, &filter, PageRequest::default()).await.unwrap();
        let trail = trail::trail(&pool, Scope::AllApps, &keys, PageRequest::default()).await.unwrap();
        let counted = job_lists::count(&pool, Scope::AllApps, &filter).await.unwrap().unwrap().all.n;
        let listed: Vec<JobId> = listed.items.into_iter().map(|job| job.id).collect();
        assert_eq!(trail.items.into_iter().map(|item| item.job.id).collect::<Vec<_>>(), listed);
        assert_eq!(counted, i64::try_from(listed.len()).unwrap());
        listed
    };
    let first = world.accept(&[change("a")]).await[0].id;
    world.accept(&[change("a")]).await;
    assert_eq!(ids_of(first).await, ("a".to_owned(), 0));
    world.accept(&[change("b"), change("c"), change("b")]).await;
    assert_eq!(ids_of(first).await, ("a c b".to_owned(), 0));
    world.accept(&[change("a")]).await;
    assert_eq!(ids_of(first).await, ("c b a".to_owned(), 0), "each once, the newest last");
    for id in ["a", "b", "c"] {
        assert_eq!(found(id).await, [first], "{id}");
    }
    assert_eq!(found("d").await, []);

    // Changes that come meanwhile are folded into its successor.
    let leased = world.claim(worker, 1).await;
    assert_eq!(leased[0].correlation_id, "a");
    let second = world.accept(&[change("d"), change("e")]).await[0].id;
    world.accept(&[change("f")]).await;
    world.accept(&[change("f")]).await;
    assert_eq!((ids_of(first).await.0, ids_of(second).await), ("c b a".to_owned(), ("d e f".to_owned(), 0)));
    assert_eq!((found("e").await, found("f").await), (vec![second], vec![second]));
    world.finish(&[end(&leased[0], sent())]).await;
    assert_eq!(
        (found("b").await, found("e").await),
        (vec![first], vec![second]),
        "the job has finished, and its successor is in its place"
    );
    let many: Vec<JobSpec> = (0..30).map(|n| change(&format!("n{n}"))).collect();
    world.accept(&many).await;
    assert_eq!((ids_of(second).await.1, found("n9").await, found("n10").await), (13, vec![], vec![second]));
    world.accept(&[change("last")]).await;
    let job = world.get(second).await.job;
    assert_eq!((job.correlation_ids.len(), job.earlier_correlations), (20, 14));

    let leased = world.claim(worker, 1).await;
    assert_eq!(leased[0].correlation_id, "last");
    world.finish(&[end(&leased[0], given_up())]).await;
    assert_eq!(found("n29").await, [second], "a dead letter");
    let filter = JobFilter { correlation_id: Some("n29".into()), ..JobFilter::default() };
    let letters = insight::store::dead_letters::list(&pool, Scope::AllApps, &filter, PageRequest::default())
        .await
        .unwrap();
    let letter = &letters.items[0];
    assert_eq!((&letter.correlation_ids, letter.earlier_correlations), (&job.correlation_ids, 14));
    assert_eq!(letters.items.len(), 1);
    world.requeue(second).await.unwrap();
    assert_eq!((found("n29").await, ids_of(second).await.1), (vec![second], 14));
    world.cancel(second).await.unwrap();
    assert_eq!(found("n29").await, [second], "cancelled");
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_continues_the_last_trace_that_came(pool: PgPool) {
    let world = World::new(&pool).await;
    let (lane, worker) = (world.lane().await, world.worker().await);
    let trace = |trace_id| Some(TraceContext { trace_id, parent_id: 1, is_sampled: trace_id != 2 });
    let change = |trace| JobSpec { trace, ..keyed(&world, lane, "a") };
    world.accept(&[change(None), change(trace(1))]).await;
    world.accept(&[change(trace(2))]).await;
    world.accept(&[change(None)]).await;
    let leased = world.claim(worker, 1).await;
    assert_eq!(leased[0].trace, trace(2), "the last one's");
    world.accept(&[change(trace(3))]).await;
    world.accept(&[change(trace(4))]).await;
    world.accept(&[change(None)]).await;
    world.finish(&[end(&leased[0], sent())]).await;
    let leased = world.claim(worker, 1).await;
    assert_eq!(leased[0].trace, trace(4), "of the change that came meanwhile");
    world.finish(&[end(&leased[0], given_up())]).await;
    world.requeue(leased[0].id).await.unwrap();
    assert_eq!(world.claim(worker, 1).await[0].trace, trace(4));
    let plain = JobSpec { trace: trace(5), ..world.spec(lane) };
    world.accept(&[plain]).await;
    assert_eq!(world.claim(worker, 1).await[0].trace, trace(5));
}

/// Seconds until a job is due, by its entry in `waiting` and by its row, and seconds until it stops gathering.
async fn due_and_gathering(pool: &PgPool, id: JobId) -> (Option<i32>, i32, Option<i32>) {
    sqlx::query_as(
        "select round(extract(epoch from (select due_at from headgate.waiting where job_id = id) - clock_timestamp()))::int,
             round(extract(epoch from run_at - clock_timestamp()))::int, round(extract(epoch from gathers_until - clock_timestamp()))::int
         from headgate.jobs where id = $1",
    )
    .bind(id)
    .fetch_one(pool)
    .await
    .unwrap()
}

/// Moves all times back, as if so many seconds had passed.
async fn pass(pool: &PgPool, seconds: i32) {
    for sql in [
        "update headgate.jobs set run_at = run_at - make_interval(secs => $1), gathers_until = gathers_until - make_interval(secs => $1)",
        "update headgate.waiting set due_at = due_at - make_interval(secs => $1)",
    ] {
        sqlx::query(sql).bind(seconds).execute(pool).await.unwrap();
    }
    sqlx::raw_sql("select headgate.promote_due(100)").execute(pool).await.unwrap();
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn changes_are_gathered_until_none_come_and_never_beyond_the_longest_wait(pool: PgPool) {
    let world = World::new(&pool).await;
    let (lane, worker) = (world.lane().await, world.worker().await);
    let later = |seconds| Some(chrono::Utc::now() + chrono::Duration::seconds(seconds));
    let change = || JobSpec { run_at: later(1_000), gathers_until: later(2_500), ..keyed(&world, lane, "a") };
    let id = world.accept(&[change()]).await[0].id;
    let near = |(entry, row, latest): (Option<i32>, i32, Option<i32>),
                wanted: (Option<i32>, i32, Option<i32>)| {
        // The machine may be slow.
        let is_near = |a: i32, b: i32| (b - 200..=b).contains(&a);
        let both = |a: Option<i32>, b: Option<i32>| match (a, b) {
            (Some(a), Some(b)) => is_near(a, b),
            (a, b) => a == b,
        };
        assert!(
            both(entry, wanted.0) && is_near(row, wanted.1) && both(latest, wanted.2),
            "{:?} instead of {wanted:?}",
            (entry, row, latest)
        );
    };
    near(due_and_gathering(&pool, id).await, (Some(1_000), 1_000, Some(2_500)));
    pass(&pool, 600).await;
    world.accept(&[change(), change()]).await;
    near(due_and_gathering(&pool, id).await, (Some(400), 1_000, Some(1_900)));
    pass(&pool, 600).await;
    near(due_and_gathering(&pool, id).await, (Some(400), 400, Some(1_300)));
    assert_eq!(world.claim(worker, 1).await.len(), 0, "changes came until too recently");
    world.accept(&[change()]).await;
    pass(&pool, 500).await;
    world.accept(&[change()]).await;
    near(due_and_gathering(&pool, id).await, (Some(500), 800, Some(800)));
    pass(&pool, 801).await;
    let leased = world.claim(worker, 1).await;
    assert_eq!((leased[0].id, world.get(id).await.job.folded), (id, 4));

    // Changes that come meanwhile gather in its successor, by the same rule.
    let second = world.accept(&[change()]).await[0].id;
    world.accept(&[change()]).await;
    assert!(world.get(second).await.job.gathers_until.is_some());
    world.finish(&[end(&leased[0], sent())]).await;
    near(due_and_gathering(&pool, second).await, (Some(1_000), 1_000, Some(2_500)));
    // An urgent change makes it due at once, and later changes do not delay it.
    let urgent = JobSpec { job_type: "attribute.update".into(), ..keyed(&world, lane, "a") };
    world.accept(&[urgent]).await;
    world.accept(&[change()]).await;
    let leased = world.claim(worker, 1).await;
    assert_eq!((leased[0].id, leased[0].job_type.as_str()), (second, "attribute.update"));

    // A retry keeps its own time.
    world.finish(&[end(&leased[0], retried(Duration::from_secs(3_000)))]).await;
    world.accept(&[change()]).await;
    let job = world.get(second).await.job;
    assert!(job.run_at <= chrono::Utc::now() && job.gathers_until.is_none());
    near(due_and_gathering(&pool, second).await, (Some(3_000), 0, None));
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_gathering_job_is_explained(pool: PgPool) {
    let world = World::new(&pool).await;
    let (lane, _worker) = (world.lane().await, world.worker().await);
    let later = |seconds| Some(chrono::Utc::now() + chrono::Duration::seconds(seconds));
    let change = JobSpec { run_at: later(1_000), gathers_until: later(2_500), ..keyed(&world, lane, "a") };
    let id = world.accept(&[change]).await[0].id;
    let explained = explain::explain(&pool, Scope::AllApps, id).await.unwrap();
    let job = world.get(id).await.job;
    assert_eq!(
        (explained.reasons[0].code, explained.runs_at),
        (ReasonCode::GathersChanges, Some(job.run_at))
    );
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_last_twenty_folded_changes_are_kept_by_kind_wherever_the_job_goes(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let change = |kind: &str| JobSpec { job_type: kind.into(), ..keyed(&world, lane, "a") };
    let kinds = async |id| {
        let changes = world.get(id).await.twins;
        changes.iter().map(|change| change.kind.map_or("other", EventType::as_str)).collect::<Vec<_>>()
    };
    // Of several changes in one call the first one is the job itself.
    let at_once = [change("record.created"), change("record.updated"), change("export")];
    let first = world.accept(&at_once).await[0].id;
    assert_eq!(kinds(first).await, ["record.updated", "other"]);
    world.accept(&[change("record.deleted")]).await;
    assert_eq!(kinds(first).await, ["record.updated", "other", "record.deleted"]);
    for _ in 0..18 {
        world.accept(&[change("attribute.update")]).await;
    }
    let job = world.get(first).await;
    assert_eq!((job.job.folded, job.twins.len()), (21, 20));
    assert_eq!(kinds(first).await[..3], ["other", "record.deleted", "attribute.update"]);
    assert!(
        job.twins.is_sorted_by_key(|change| change.at)
            && (chrono::Utc::now() - job.twins[0].at).num_hours() == 0
    );

    // Changes that come meanwhile are folded into its successor, which keeps its own list.
    let leased = world.claim(worker, 1).await;
    let second = world.accept(&[change("record.updated")]).await[0].id;
    assert_eq!(kinds(second).await, [""; 0]);
    world.accept(&[change("record.replaced")]).await;
    world.accept(&[change("record.updated"), change("record.deleted")]).await;
    let of_successor = ["record.replaced", "record.updated", "record.deleted"];
    assert_eq!(kinds(second).await, of_successor);
    world.finish(&[end(&leased[0], sent())]).await;
    assert_eq!((kinds(first).await.len(), kinds(second).await), (20, of_successor.to_vec()));
    let leased = world.claim(worker, 1).await;
    world.finish(&[end(&leased[0], given_up())]).await;
    assert_eq!(kinds(second).await, of_successor, "a dead letter");
    world.requeue(second).await.unwrap();
    assert_eq!(kinds(second).await, of_successor);
    world.cancel(second).await.unwrap();
    assert_eq!(kinds(second).await, of_successor, "cancelled");
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_change_during_the_attempt_becomes_a_successor_with_its_own_id(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let first = world.accept(&[keyed(&world, lane, "a")]).await[0];
    let leased = world.claim(worker, 1).await;

    let second = world.accept(&[JobSpec { payload: Some(json!(2)), ..keyed(&world, lane, "a") }]).await[0];
    assert_eq!(second.outcome, EnqueueOutcome::Created);
    assert_ne!(second.id, first.id);
    let third = world.accept(&[JobSpec { payload: Some(json!(3)), ..keyed(&world, lane, "a") }]).await[0];
    assert_eq!((third.id, third.outcome), (second.id, EnqueueOutcome::Coalesced));
    let waiting = world.get(second.id).await.job;
    assert_eq!((waiting.status, waiting.payload, waiting.folded), (JobStatus::Pending, Some(json!(3)), 1));
    assert_eq!(world.ready().await, [], "no two attempts of one record at once");
    world.must_be_sound().await;

    // A retry keeps its successor, and goes on folding into it.
    world.finish(&[end(&leased[0], retried(Duration::from_secs(60)))]).await;
    let fourth = world.accept(&[keyed(&world, lane, "a")]).await[0];
    assert_eq!(fourth.id, second.id);
    world.must_be_sound().await;

    world.let_time_pass().await;
    let leased = world.claim(worker, 1).await;
    assert_eq!((leased[0].id, leased[0].attempt), (first.id, 2));
    world.finish(&[end(&leased[0], sent())]).await;
    assert_eq!(world.get(first.id).await.job.status, JobStatus::Completed);
    assert_eq!(world.ready().await, [second.id]);
    let leased = world.claim(worker, 1).await;
    assert_eq!((leased[0].id, leased[0].attempt), (second.id, 1));
    world.finish(&[end(&leased[0], sent())]).await;
    world.must_be_sound().await;
    assert_eq!(world.number("select count(*) from headgate.jobs").await, 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_for_later_waits_and_an_earlier_fold_brings_it_forward(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let later = chrono::Utc::now() + chrono::Duration::hours(2);
    let first = world.accept(&[JobSpec { run_at: Some(later), ..keyed(&world, lane, "a") }]).await[0];
    assert_eq!(world.ready().await, []);
    // Only an earlier time changes anything.
    for (hours, due_in) in [(3, 2), (1, 1)] {
        let at = chrono::Utc::now() + chrono::Duration::hours(hours);
        world.accept(&[JobSpec { run_at: Some(at), ..keyed(&world, lane, "a") }]).await;
        let minutes = world
            .number("select round(extract(epoch from due_at - now()) / 60)::bigint from headgate.waiting")
            .await;
        assert_eq!(minutes, due_in * 60);
    }
    world.accept(&[keyed(&world, lane, "a")]).await;
    assert_eq!(world.ready().await, [first.id]);
    assert_eq!(world.number("select count(*) from headgate.waiting").await, 0);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_fold_does_not_cut_a_retry_short(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let job = world.accept(&[keyed(&world, lane, "a")]).await[0];
    let leased = world.claim(worker, 1).await;
    world.finish(&[end(&leased[0], retried(Duration::from_secs(60)))]).await;
    let repeated =
        world.accept(&[JobSpec { job_type: "metadata.update".into(), ..keyed(&world, lane, "a") }]).await[0];
    assert_eq!(repeated.id, job.id);
    assert_eq!(world.claim(worker, 1).await.len(), 0);
    world.let_time_pass().await;
    assert_eq!(world.claim(worker, 1).await[0].job_type, "metadata.update");
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn batches_count_each_item_once_wherever_it_was_folded(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let (one, two) = (BatchId::generate(), BatchId::generate());
    let of = |batch, id: &str| JobSpec { batch_id: Some(batch), ..keyed(&world, lane, id) };
    world.accept(&[keyed(&world, lane, "a"), of(one, "b"), of(one, "c")]).await;
    world.accept(&[of(one, "a"), of(two, "b"), of(one, "c")]).await;
    let total = async |batch: BatchId| -> i64 {
        sqlx::query_scalar("select coalesce(sum(total), 0) from headgate.batch_deltas where batch_id = $1")
            .bind(batch)
            .fetch_one(&pool)
            .await
            .unwrap()
    };
    assert_eq!((total(one).await, total(two).await), (2, 1));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn folds_and_claims_of_the_same_jobs_do_not_deadlock(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane_with(10_000, None).await;
    let worker = world.worker().await;
    let specs: Vec<JobSpec> = (0..40).map(|n| keyed(&world, lane, &format!("{n:02}"))).collect();
    let mut backwards = specs.clone();
    backwards.reverse();
    let folding = async {
        for _ in 0..25 {
            world.accept(&specs).await;
            world.accept(&backwards).await;
        }
    };
    let working = async {
        for _ in 0..50 {
            let leased = world.claim(worker, 15).await;
            let ends: Vec<_> = leased.iter().rev().map(|job| end(job, sent())).collect();
            world.finish(&ends).await;
        }
    };
    // A deadlock would make one of the statements fail.
    tokio::join!(folding, working);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_fold_that_asks_for_a_time_that_has_passed_makes_the_job_claimable(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane().await;
    let at = |minutes| Some(chrono::Utc::now() + chrono::Duration::minutes(minutes));
    for (id, asked) in [("now", None), ("passed", at(-1)), ("later", at(30))] {
        world.accept(&[JobSpec { run_at: at(60), ..keyed(&world, lane, id) }]).await;
        assert_eq!(world.ready().await, [], "{id}");
        let folded = world.accept(&[JobSpec { run_at: asked, ..keyed(&world, lane, id) }]).await;
        let is_due = asked.is_none_or(|asked| asked < chrono::Utc::now());
        assert_eq!(world.ready().await, if is_due { vec![folded[0].id] } else { vec![] }, "{id}");
        world.must_be_sound().await;
        sqlx::query("delete from headgate.ready").execute(&pool).await.unwrap();
        sqlx::query("delete from headgate.jobs").execute(&pool).await.unwrap();
        sqlx::query("delete from headgate.waiting").execute(&pool).await.unwrap();
        sqlx::query("delete from headgate.job_count_deltas").execute(&pool).await.unwrap();
    }
}
