//! Postgres is stopped with `immediate` in the middle of work, and started again.

use crate::support::{Children, Cluster, Database, Excused, Judge, Plan, Shape, rounds, seeded};
use rand::Rng as _;

#[tokio::test]
async fn nothing_is_lost_when_postgres_crashes_and_comes_back() {
    for seed in rounds() {
        let mut random = seeded("crashed Postgres", seed);
        let mut cluster = Cluster::start();
        let database = Database::create_on(&cluster.url()).await;
        let world = database.world().await;
        let shape = Shape::new(&world).await;
        let mut plan = Plan::new(&mut random, &world, &shape, 1_500);
        plan.accept(&mut random, &world, 700).await;
        let mut children = Children::of(&database);
        children.start(2);
        let mut seen = 0;
        for round in 0..3 {
            seen += random.random_range(50..200);
            database.until_at_least("select count(*) from attempts_seen", seen).await;
            cluster.stop_immediately();
            if round == 2 {
                // Longer than a lease: running jobs are recovered and begin again. There is no event to wait for, because the lease has to run out.
                tokio::time::sleep(children.options().heartbeat * 4).await;
            }
            cluster.start_server();
            plan.accept(&mut random, &world, 200).await;
        }
        let left = plan.left();
        plan.accept(&mut random, &world, left).await;
        database.until_all_is_final().await;
        children.stop().await;
        Judge { database: &database, world: &world, shape: &shape, excused: Excused::Everybody }
            .judge()
            .await;
        database.drop().await;
    }
}
