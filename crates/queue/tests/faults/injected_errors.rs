//! Each loop gets a deadlock or a unique violation once every few writes.

use crate::support::{Children, Database, Excused, Judge, Plan, Shape, World, rounds, seeded};
use insight::store::operations;
use model::actor::{Actor, ActorKind, Role};
use model::filter::JobFilter;
use model::id::IntegrationId;
use model::operation::{BulkAction, BulkOutcome, BulkStart, BulkStarted, BulkSubject, NewBulk};
use queue::store::jobs::JobSpec;
use rand::{Rng as _, rngs::StdRng};
use sqlx::Executor as _;

/// Where each loop writes: its name, the table, the trigger event.
const LOOPS: [(&str, &str, &str); 12] = [
    ("claims", "claim_batches", "insert"),
    ("results", "finished_jobs", "insert"),
    ("attempts_and_recovery", "job_attempts", "insert"),
    ("heartbeats", "workers", "update"),
    ("tidied_claims", "claim_batches", "delete"),
    ("promotion", "waiting", "delete"),
    ("fold", "job_counts", "insert"),
    ("rollup", "throughput", "insert"),
    ("sample", "live_snapshots", "insert"),
    ("bulk_actions", "operations", "update"),
    ("retention", "breaker_flips", "delete"),
    ("leader", "leader", "update"),
];

/// Fails the first statement and then every n-th. A sequence keeps its count when the statement is rolled back.
const FAIL: &str = "
    create function fail_now() returns trigger language plpgsql as $$
    begin
        if nextval(tg_argv[0] || '_calls') % tg_argv[1]::int = 1 then
            perform nextval(tg_argv[0] || '_failures');
            raise exception 'injected into %', tg_argv[0] using errcode = tg_argv[2];
        end if;
        return null;
    end $$";

async fn inject(random: &mut StdRng, database: &Database) {
    database.pool.execute(FAIL).await.unwrap();
    for (name, table, event) in LOOPS {
        // Never two failures in a row: two missed heartbeats lose a lease, which no living worker may. And a write that is given up after
        // several tries would give its job another end.
        let every = if name == "results" || name.starts_with("attempts") {
            random.random_range(7..=12)
        } else {
            random.random_range(3..=6)
        };
        let code = if random.random_bool(0.5) { "40P01" } else { "23505" };
        let sql = format!(
            "create sequence {name}_calls; create sequence {name}_failures;
             create trigger fail_{name} after {event} on headgate.{table} for each statement
             execute function fail_now('{name}', '{every}', '{code}')"
        );
        database.pool.execute(sqlx::AssertSqlSafe(sql)).await.unwrap();
    }
}

async fn heal(database: &Database) {
    for (name, table, _) in LOOPS {
        let sql = format!("drop trigger fail_{name} on headgate.{table}");
        database.pool.execute(sqlx::AssertSqlSafe(sql)).await.unwrap();
    }
}

/// Jobs far in the future, cancelled by a bulk action.
async fn cancel_in_bulk(database: &Database, world: &World) -> IntegrationId {
    let lane = world.lane().await;
    let run_at = Some(chrono::Utc::now() + chrono::Duration::hours(1));
    let accepted = world.accept(&vec![JobSpec { run_at, ..world.spec(lane) }; 150]).await;
    let ids: Vec<uuid::Uuid> = accepted.into_iter().map(|job| job.id.0).collect();
    sqlx::query("insert into accepted (job_id) select unnest($1::uuid[])")
        .bind(ids)
        .execute(&database.pool)
        .await
        .unwrap();
    let new = NewBulk {
        action: BulkAction::Cancel,
        ids: None,
        filter: Some(JobFilter { integration_id: Some(lane), ..JobFilter::default() }),
        dry_run: false,
        rate_per_second: None,
        hold_seconds: Some(0),
        reason: None,
    };
    let actor =
        Actor { kind: ActorKind::System, name: "test".to_owned(), role: Role::Operator, app_id: None };
    let started = operations::start(&database.pool, &actor, BulkSubject::Jobs, new).await.unwrap();
    assert!(matches!(started, BulkStart::Outcome(BulkOutcome::Started(BulkStarted { .. }))), "{started:?}");
    lane
}

#[tokio::test]
async fn every_loop_survives_deadlocks_and_unique_violations() {
    for seed in rounds() {
        let mut random = seeded("injected errors", seed);
        let database = Database::create().await;
        let world = database.world().await;
        let shape = Shape::new(&world).await;
        let mut plan = Plan::new(&mut random, &world, &shape, 1_200);
        plan.accept(&mut random, &world, 600).await;
        cancel_in_bulk(&database, &world).await;
        inject(&mut random, &database).await;
        let mut children = Children::of(&database);
        children.options().heartbeat = std::time::Duration::from_millis(1_500);
        children.start(2);
        database.until_at_least("select count(*) from attempts_seen", 200).await;
        children.kill(random.random_range(0..2), &database).await;
        children.start(1);
        let left = plan.left();
        plan.accept(&mut random, &world, left).await;
        for (name, _, _) in LOOPS {
            // Checked last, so that the loops have run for a while after their first failures.
            let fired = format!("select (last_value - 1 + is_called::int)::bigint from {name}_failures");
            database.until_at_least(Box::leak(fired.into_boxed_str()), 1).await;
        }
        database.until_at_least("select count(*) from attempts_seen", 800).await;
        heal(&database).await;
        database.until_all_is_final().await;
        database.until_at_least("select count(*) from headgate.operations where state = 'done'", 1).await;
        children.stop().await;
        Judge { database: &database, world: &world, shape: &shape, excused: Excused::TheDead }.judge().await;
        database.drop().await;
    }
}
