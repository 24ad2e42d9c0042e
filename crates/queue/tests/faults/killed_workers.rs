//! Workers are killed with SIGKILL in the middle of thousands of jobs.

use crate::support::{Children, Database, Excused, Judge, Plan, Shape, rounds, seeded};
use rand::Rng as _;

const SEEN: &str = "select count(*) from attempts_seen";

#[tokio::test]
async fn killed_workers_lose_nothing_and_only_their_leased_jobs_run_twice() {
    for seed in rounds() {
        let mut random = seeded("killed workers", seed);
        let database = Database::create().await;
        let world = database.world().await;
        let shape = Shape::new(&world).await;
        let mut plan = Plan::new(&mut random, &world, &shape, 3_000);
        plan.accept(&mut random, &world, 1_000).await;
        let mut children = Children::of(&database);
        children.start(3);
        let mut seen = 0;
        for _ in 0..6 {
            seen += random.random_range(50..300);
            database.until_at_least(SEEN, seen).await;
            children.kill(random.random_range(0..children.alive.len()), &database).await;
            children.start(1);
            plan.accept(&mut random, &world, 300).await;
            plan.interfere(&mut random, &world).await;
        }
        let left = plan.left();
        plan.accept(&mut random, &world, left).await;
        database.until_all_is_final().await;
        children.stop().await;
        let judge = Judge { database: &database, world: &world, shape: &shape, excused: Excused::TheDead };
        judge.judge().await;
        assert!(!judge.lost().await.is_empty(), "nobody was killed at work: the test proves nothing");
        database.drop().await;
    }
}
