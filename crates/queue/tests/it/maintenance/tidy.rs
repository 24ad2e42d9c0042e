//! Orphaned rows are removed, and no others.

use super::world::{World, lead, take_over};
use crate::support::service;
use model::{actor::Scope, job::JobStatus, rules::explain::ReasonCode};
use queue::store::jobs::JobSpec;
use queue::store::tidy::{self, Cursors};
use sqlx::PgPool;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt as _};

const ORPHANS: &str = "insert into headgate.ready (integration_id, rank, created_at, job_id)
        select gen_random_uuid(), 200, clock_timestamp() - interval '1 hour', gen_random_uuid() from generate_series(1, 3);
    insert into headgate.waiting (due_at, job_id, integration_id)
        select clock_timestamp() - interval '1 hour', gen_random_uuid(), gen_random_uuid() from generate_series(1, 2);
    insert into headgate.serialize_keys (integration_id, key) values (gen_random_uuid(), 'nobody')";
const LEFT: &str =
    "select (select count(*) from headgate.ready) * 100 + (select count(*) from headgate.waiting) * 10
    + (select count(*) from headgate.serialize_keys)";

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn entries_without_a_job_and_keys_without_jobs_are_removed_and_counted(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world.pending(world.lane, 2, 3_600).await;
    world.to_be_retried(world.lane, 1, 1).await;
    world.run(ORPHANS).await;
    world
        .run(
            "insert into headgate.serialize_keys (integration_id, key, head_job_id)
                select integration_id, 'someone', id from headgate.jobs limit 1;
            insert into headgate.serialized_jobs (integration_id, key, seq, job_id)
                select integration_id, key, 1, head_job_id from headgate.serialize_keys where key = 'someone';
            insert into headgate.ready (integration_id, rank, created_at, job_id)
                values (gen_random_uuid(), 200, clock_timestamp(), gen_random_uuid())",
        )
        .await;
    let service = service("tidy");
    service.run_once(&pool, term).await.unwrap();
    // The new entry stays, because its job may not be committed yet.
    assert_eq!(world.number(LEFT).await, 311);
    let tidied_rows = "select sum(case what when 'ready' then n * 100 when 'waiting' then n * 10 else n end)::bigint from headgate.tidied";
    assert_eq!(world.number(tidied_rows).await, 321);
    assert_eq!(service.interval().as_secs(), 3_600, "the scan is complete");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_long_table_is_scanned_in_portions_to_its_end(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world.pending(world.lane, 2_500, 3_600).await;
    world
        .run("delete from headgate.jobs where id in (select id from headgate.jobs order by id desc limit 2)")
        .await;
    let mut cursors = Cursors::default();
    let (mut portions, mut removed) = (0, 0);
    loop {
        let tidied = tidy::scan(&pool, term, &mut cursors).await.unwrap();
        (portions, removed) = (portions + 1, removed + tidied.ready);
        if tidied.is_complete {
            break;
        }
    }
    assert_eq!((portions, removed), (3, 2));
    assert_eq!(world.number("select count(*) from headgate.ready").await, 2_498);
}

#[derive(Clone, Default)]
struct Warnings(Arc<AtomicUsize>);

impl<S: Subscriber> Layer<S> for Warnings {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() == Level::WARN && event.metadata().target().ends_with("tidy") {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn what_a_scan_in_portions_removed_is_logged_once(pool: PgPool) {
    let world = World::new(&pool).await;
    let term = lead(&pool).await;
    world.pending(world.lane, 2_500, 3_600).await;
    world.run("delete from headgate.jobs").await;
    let warnings = Warnings::default();
    let guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(warnings.clone()));
    let service = service("tidy");
    for portion in 1..=3 {
        service.run_once(&pool, term).await.unwrap();
        assert_eq!(warnings.0.load(Ordering::Relaxed), usize::from(portion == 3));
    }
    assert_eq!(world.number("select count(*) from headgate.ready").await, 0);
    service.run_once(&pool, term).await.unwrap();
    assert_eq!(warnings.0.load(Ordering::Relaxed), 1);
    drop(guard);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_former_leader_removes_nothing(pool: PgPool) {
    let world = World::new(&pool).await;
    let old = lead(&pool).await;
    take_over(&pool).await;
    world.run(ORPHANS).await;
    service("tidy").run_once(&pool, old).await.unwrap();
    assert_eq!(world.number(LEFT).await, 321);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_line_whose_head_was_deleted_continues_with_the_next(pool: PgPool) {
    let world = crate::support::World::new(&pool).await;
    let lane = world.lane().await;
    let term = lead(&pool).await;
    let keyed = |key: &str| JobSpec { serialize_key: Some(key.into()), ..world.spec(lane) };
    let jobs = world.accept(&[keyed("a"), keyed("a"), keyed("a"), keyed("sound"), keyed("sound")]).await;
    // As if somebody deleted the first two of a line by hand.
    sqlx::query("with gone as (delete from headgate.jobs where id = any ($1) returning id, integration_id), counted as (
            insert into headgate.job_count_deltas (integration_id, status, attempt, n) select integration_id, 0, 0, -1 from gone
         ) delete from headgate.ready where job_id in (select id from gone)")
        .bind([jobs[0].id, jobs[1].id])
        .execute(&pool)
        .await
        .unwrap();
    assert_eq!(world.ready().await, [jobs[3].id], "nothing makes the third the head");

    // A locked line is left alone.
    let mut locked = pool.begin().await.unwrap();
    sqlx::query("select 1 from headgate.serialize_keys for update").execute(&mut *locked).await.unwrap();
    assert_eq!(tidy::scan(&pool, term, &mut Cursors::default()).await.unwrap().heads, 0);
    locked.rollback().await.unwrap();

    let tidied = tidy::scan(&pool, term, &mut Cursors::default()).await.unwrap();
    assert_eq!((tidied.heads, tidied.keys), (1, 0));
    assert_eq!(world.ready().await, [jobs[2].id, jobs[3].id]);
    assert_eq!(world.number("select n from headgate.tidied where what = 'serialized_jobs'").await, 1);
    assert_eq!(tidy::scan(&pool, term, &mut Cursors::default()).await.unwrap().heads, 0);
    world.must_be_sound().await;
    let claimed = world.claim(world.worker().await, 10).await;
    let ends: Vec<_> = claimed.iter().map(|job| crate::support::end(job, crate::support::sent())).collect();
    world.finish(&ends).await;
    assert_eq!(world.ready().await, [jobs[4].id]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_waiting_job_without_an_entry_gets_one(pool: PgPool) {
    let world = crate::support::World::new(&pool).await;
    let lane = world.lane().await;
    let worker = world.worker().await;
    let term = lead(&pool).await;
    let keyed = JobSpec { serialize_key: Some("a".into()), ..world.spec(lane) };
    let [retried, running, plain] = world.accept_plain(lane, 3).await.try_into().unwrap();
    let lined_up = world.accept(&[keyed.clone(), keyed]).await;
    let claimed = world.claim(worker, 2).await;
    let later = crate::support::retried(Duration::from_secs(3_600));
    world.finish(&[crate::support::end(crate::support::by_id(&claimed, retried), later)]).await;
    let tidied = tidy::scan(&pool, term, &mut Cursors::default()).await.unwrap();
    assert_eq!((tidied.jobs, tidied.is_complete), (0, true));

    sqlx::raw_sql("delete from headgate.ready; delete from headgate.waiting").execute(&pool).await.unwrap();
    let codes = async |id| -> Vec<ReasonCode> {
        let why = insight::store::explain::explain(&pool, Scope::AllApps, id).await.unwrap();
        why.reasons.into_iter().map(|reason| reason.code).collect()
    };
    assert_eq!(codes(plain).await, [ReasonCode::NotInQueue]);
    assert_eq!(codes(retried).await, [ReasonCode::WaitingRetry, ReasonCode::NotInQueue]);
    assert_eq!(codes(lined_up[1].id).await, [ReasonCode::BehindSerializeKey]);
    let tidied = tidy::scan(&pool, term, &mut Cursors::default()).await.unwrap();
    assert_eq!(tidied.jobs, 3);
    assert_eq!(world.ready().await, [plain, lined_up[0].id]);
    let in_an_hour = "select count(*) from headgate.waiting where due_at > now() + interval '50 minutes'";
    assert_eq!(world.number(in_an_hour).await, 1);
    assert_eq!(world.number("select n from headgate.tidied where what = 'jobs'").await, 3);
    assert_eq!(codes(plain).await, [ReasonCode::NextInLine]);
    assert_eq!(world.get(running).await.job.status, JobStatus::Processing);
    world.must_be_sound().await;
    assert_eq!(tidy::scan(&pool, term, &mut Cursors::default()).await.unwrap().jobs, 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_head_that_is_the_successor_of_a_running_job_is_not_missing(pool: PgPool) {
    let world = crate::support::World::new(&pool).await;
    let lane = world.lane().await;
    let term = lead(&pool).await;
    let change = |key: Option<&str>| JobSpec {
        deduplication_id: Some("record 1".into()),
        serialize_key: key.map(str::to_owned),
        ..world.spec(lane)
    };
    world.accept(&[change(None)]).await;
    let running = world.claim(world.worker().await, 1).await;
    world.accept(&[change(Some("a"))]).await;
    assert_eq!(
        world.number("select count(*) from headgate.serialize_keys where head_job_id is not null").await,
        1
    );
    assert_eq!(tidy::scan(&pool, term, &mut Cursors::default()).await.unwrap().heads, 0);
    world.finish(&[crate::support::end(&running[0], crate::support::sent())]).await;
    assert_eq!(world.ready().await.len(), 1);
    world.must_be_sound().await;
}
