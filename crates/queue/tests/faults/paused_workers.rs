//! Whole processes, workers and leader alike, paused beyond their leases amid the work, and continued.

use crate::support::{Children, Database, Excused, Judge, Plan, Shape, rounds, seeded};
use rand::Rng as _;

const SEEN: &str = "select count(*) from attempts_seen";
/// Leases of workers that have ended, and nobody signed off.
const ENDED: &str = "select count(*) from headgate.workers where lease_until < clock_timestamp()";
const LOST: &str = "select count(*) from headgate.job_attempts where outcome = 'lost'";

#[tokio::test]
async fn processes_that_slept_beyond_their_leases_record_nothing_of_what_was_taken_from_them() {
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
            // The leader every other time.
            let is_leader = |child: &crate::support::Child| Some(child.number) == leader;
            let leading = children.alive.iter().position(is_leader).filter(|_| random.random_bool(0.5));
            let sleeper = leading.unwrap_or_else(|| random.random_range(0..children.alive.len()));
            children.pause(sleeper, &database).await;
            database.until_at_least(ENDED, 1).await;
            // Others go on with what it held, for a while or longer.
            plan.accept(&mut random, &world, 150).await;
            let seen = database.number(SEEN).await + random.random_range(1..50);
            database.until_at_least(SEEN, seen).await;
            children.go_on(sleeper, &database).await;
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
