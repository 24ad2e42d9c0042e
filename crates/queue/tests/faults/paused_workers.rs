//! Whole processes, workers and leader alike, are paused beyond their leases in the middle of work, and continued.

use crate::support::{Act, Children, Database, Excused, Judge, Plan, Shape, eventually, rounds, seeded};
use queue::store::jobs::JobSpec;
use rand::Rng as _;

const SEEN: &str = "select count(*) from attempts_seen";
/// Workers whose lease ran out without their signing off.
const ENDED: &str = "select count(*) from headgate.workers where lease_until < clock_timestamp()";
const LOST: &str = "select count(*) from headgate.job_attempts where outcome = 'lost'";

#[tokio::test]
async fn processes_paused_beyond_their_leases_record_nothing_of_the_jobs_they_lost() {
    for seed in rounds() {
        let mut random = seeded("paused processes", seed);
        let database = Database::create().await;
        let world = database.world().await;
        let shape = Shape::new(&world).await;
        let mut plan = Plan::new(&mut random, &world, &shape, 2_000);
        plan.accept(&mut random, &world, 500).await;
        let mut children = Children::of(&database);
        children.start(3);
        for _ in 0..3 {
            plan.accept(&mut random, &world, 200).await;
            let seen = database.number(SEEN).await + random.random_range(20..100);
            database.until_at_least(SEEN, seen).await;
            let leader: Option<i32> =
                sqlx::query_scalar("select child from leads where leads order by at desc limit 1")
                    .fetch_optional(&database.pool)
                    .await
                    .unwrap();
            // Half of the time it is the leader.
            let is_leader = |child: &crate::support::Child| Some(child.number) == leader;
            let leading = children.alive.iter().position(is_leader).filter(|_| random.random_bool(0.5));
            let paused = leading.unwrap_or_else(|| random.random_range(0..children.alive.len()));
            children.pause(paused, &database).await;
            database.until_at_least(ENDED, 1).await;
            // Others go on with its jobs for a while.
            plan.accept(&mut random, &world, 150).await;
            let seen = database.number(SEEN).await + random.random_range(1..50);
            database.until_at_least(SEEN, seen).await;
            children.resume(paused, &database).await;
        }
        let left = plan.left();
        plan.accept(&mut random, &world, left).await;
        database.until_all_is_final().await;
        children.stop().await;
        Judge { database: &database, world: &world, shape: &shape, excused: Excused::TheDead }.judge().await;
        assert!(database.number(LOST).await > 0, "nobody was paused at work: the test proves nothing");
        database.drop().await;
    }
}

#[tokio::test]
async fn a_process_paused_beyond_its_lease_sends_nothing_before_a_heartbeat_is_answered() {
    let database = Database::create().await;
    let world = database.world().await;
    let lane = world.lane().await;
    let payload = Some(serde_json::to_value(Act::Send).unwrap());
    world.accept(&[JobSpec { payload, ..world.spec(lane) }]).await;
    // The handler records that it begins before it asks for the right to send: there it waits, and is paused.
    let mut gate = database.pool.begin().await.unwrap();
    sqlx::query("lock table attempts_seen in exclusive mode").execute(&mut *gate).await.unwrap();
    let mut children = Children::of(&database);
    children.start(1);
    const AT_THE_GATE: &str =
        "select count(*) from pg_locks where relation = 'attempts_seen'::regclass and not granted";
    database.until_at_least(AT_THE_GATE, 1).await;
    children.pause(0, &database).await;
    database.until_at_least(ENDED, 1).await;
    assert_eq!(world.recover().await.returned, 1, "another process may send it by now");
    // It continues where it was paused, and its heartbeat gets no answer.
    let mut heartbeat_lock = database.pool.begin().await.unwrap();
    sqlx::query("lock table headgate.workers in share mode").execute(&mut *heartbeat_lock).await.unwrap();
    gate.commit().await.unwrap();
    children.resume(0, &database).await;
    database.until_at_least("select count(*) from attempts_seen where outcome is not null", 1).await;
    // A busy machine may have lost its lease at the gate before: that attempt is recorded without an outcome.
    let (outcome, sent_us): (String, Option<i64>) =
        sqlx::query_as("select outcome, sent_us from attempts_seen where outcome is not null")
            .fetch_one(&database.pool)
            .await
            .unwrap();
    assert_eq!((outcome.as_str(), sent_us), ("stopped", None));
    heartbeat_lock.commit().await.unwrap();
    eventually("it is sent under the next lease", || async {
        database.number("select count(*) from headgate.finished_jobs where status = 3").await == 1
    })
    .await;
    children.stop().await;
    assert_eq!(database.number("select count(*) from attempts_seen where sent_us is not null").await, 1);
    database.drop().await;
}
