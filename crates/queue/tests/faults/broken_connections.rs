//! All backends of the database are terminated repeatedly.

use crate::support::{Children, Database, Excused, Judge, Plan, Shape, rounds, seeded};
use rand::Rng as _;
use sqlx::{Connection as _, PgConnection};

#[tokio::test]
async fn nothing_is_lost_or_done_twice_when_all_backends_are_terminated() {
    for seed in rounds() {
        let mut random = seeded("terminated backends", seed);
        let database = Database::create().await;
        let world = database.world().await;
        let shape = Shape::new(&world).await;
        let mut plan = Plan::new(&mut random, &world, &shape, 2_000);
        plan.accept(&mut random, &world, 1_000).await;
        let mut children = Children::of(&database);
        // Long enough to reconnect before a lease runs out, on a busy machine too: no lease may be lost.
        children.options().heartbeat = std::time::Duration::from_secs(3);
        children.start(2);
        let mut seen = 0;
        for _ in 0..8 {
            seen += random.random_range(50..200);
            database.until_at_least("select count(*) from attempts_seen", seen).await;
            let mut killer = PgConnection::connect(&database.url).await.unwrap();
            // All backends but the killer's, the test's own included; or half of them, so that intact and broken connections mix.
            let terminated: i64 = sqlx::query_scalar(
                "select count(pg_terminate_backend(pid)) from pg_stat_activity
                 where datname = current_database() and pid <> pg_backend_pid() and ($1 or pid % 2 = 0)",
            )
            .bind(random.random_bool(0.7))
            .fetch_one(&mut killer)
            .await
            .unwrap();
            assert!(terminated > 0);
            killer.close().await.unwrap();
            plan.accept(&mut random, &world, 150).await;
        }
        let left = plan.left();
        plan.accept(&mut random, &world, left).await;
        database.until_all_is_final().await;
        children.stop().await;
        Judge { database: &database, world: &world, shape: &shape, excused: Excused::Nobody }.judge().await;
        database.drop().await;
    }
}
