//! One process has a clock an hour ahead, another one an hour behind.

use crate::support::{Children, Database, Excused, Judge, Plan, Shape, rounds, seeded};
use std::path::{Path, PathBuf};
use std::process::Command;

const SHIFTED: &str = include_str!("shifted_clock.c");

/// A library that shifts the clock of a process that preloads it, built with `cc`, which is there because it linked this test.
fn shift(seconds: i32) -> PathBuf {
    let base = std::env::temp_dir().join(format!("headgate-clock-{}-{seconds}", std::process::id()));
    let (source, library) = (base.with_extension("c"), base.with_extension("so"));
    std::fs::write(&source, SHIFTED).unwrap();
    let made = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", &format!("-DSHIFT=({seconds})"), "-o"])
        .args([&library, &source])
        .status()
        .unwrap();
    assert!(made.success(), "cc: {made}");
    std::fs::remove_file(source).unwrap();
    library
}

#[tokio::test]
async fn processes_whose_clocks_are_an_hour_off_work_like_all_others() {
    let libraries = [shift(3_600), shift(-3_600)];
    for seed in rounds() {
        round(seed, &libraries).await;
    }
    for library in libraries {
        std::fs::remove_file(library).unwrap();
    }
}

async fn round(seed: u64, libraries: &[PathBuf; 2]) {
    let mut random = seeded("skewed clocks", seed);
    let database = Database::create().await;
    let world = database.world().await;
    let shape = Shape::new(&world).await;
    let mut plan = Plan::new(&mut random, &world, &shape, 800);
    let mut children = Children::of(&database);
    // The limit is judged by the times that the processes record: those of one clock only agree with each other, so they are corrected below.
    children.start_with(1, Some(Path::new(&libraries[0])));
    children.start_with(1, Some(Path::new(&libraries[1])));
    database.until_at_least("select count(*) from clocks", 2).await;
    let offsets: Vec<f64> =
        sqlx::query_scalar("select extract(epoch from shows - at)::float8 from clocks order by child")
            .fetch_all(&database.pool)
            .await
            .unwrap();
    assert!(offsets[0] > 3_500.0 && offsets[1] < -3_500.0, "their clocks are off: {offsets:?}");
    let left = plan.left();
    plan.accept(&mut random, &world, left).await;
    database.until_all_is_final().await;
    children.stop().await;
    for (child, hours) in [(1, 1_i64), (2, -1)] {
        sqlx::query("update attempts_seen set sent_us = sent_us - $2 where child = $1")
            .bind(child)
            .bind(hours * 3_600_000_000)
            .execute(&database.pool)
            .await
            .unwrap();
        let did = sqlx::query_scalar::<_, i64>("select count(*) from attempts_seen where child = $1");
        assert!(did.bind(child).fetch_one(&database.pool).await.unwrap() > 0, "child {child} did nothing");
    }
    Judge { database: &database, world: &world, shape: &shape, excused: Excused::Nobody }.judge().await;
    database.drop().await;
}
