//! Counters are maintained incrementally: after a random mix of operations they equal a recount.

use crate::support::{World, end, given_up, retried, sent};
use model::{actor::Scope, id::JobId};
use queue::store::jobs::{self, Ending, JobSpec};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};
use sqlx::PgPool;
use std::time::Duration;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn counters_equal_a_recount_after_a_random_mix(pool: PgPool) {
    let seed = rand::random();
    println!("seed {seed}");
    let world = World::new(&pool).await;
    let lanes = [world.lane().await, world.lane_with(5, None).await];
    let workers = [world.worker().await, world.worker().await];
    let one = async |seed: u64, worker| {
        let mut random = StdRng::seed_from_u64(seed);
        let mut accepted_ids: Vec<JobId> = Vec::new();
        for _ in 0..60 {
            match random.random_range(0..10) {
                0..4 => {
                    let specs: Vec<JobSpec> = (0..random.random_range(1..8))
                        .map(|_| JobSpec {
                            deduplication_id: random
                                .random_bool(0.7)
                                .then(|| random.random_range(0..6).to_string()),
                            serialize_key: random
                                .random_bool(0.3)
                                .then(|| random.random_range(0..3).to_string()),
                            job_type: (*["record.updated", "attribute.update"].choose(&mut random).unwrap())
                                .into(),
                            run_at: random
                                .random_bool(0.2)
                                .then(|| chrono::Utc::now() + chrono::Duration::minutes(1)),
                            ..world.spec(*lanes.choose(&mut random).unwrap())
                        })
                        .collect();
                    let mut transaction = pool.begin().await.unwrap();
                    // It may lose a race against the other task; a caller would repeat.
                    if let Ok(accepted) = jobs::enqueue(&mut transaction, &specs).await {
                        transaction.commit().await.unwrap();
                        accepted_ids.extend(accepted.into_iter().map(|job| job.id));
                    }
                }
                4..8 => {
                    let leased = world.claim(worker, random.random_range(1..12)).await;
                    for job in leased {
                        let ending = match random.random_range(0..6) {
                            0 => retried(Duration::ZERO),
                            1 => retried(Duration::from_secs(1)),
                            2 => given_up(),
                            3 => Ending::Released { until: chrono::DateTime::UNIX_EPOCH },
                            _ => sent(),
                        };
                        let mut transaction = pool.begin().await.unwrap();
                        if jobs::finish(&mut transaction, &[end(&job, ending)]).await.is_ok() {
                            transaction.commit().await.unwrap();
                        }
                    }
                }
                8 => {
                    if let Some(id) = accepted_ids.choose(&mut random) {
                        let mut transaction = pool.begin().await.unwrap();
                        let done = if random.random_bool(0.5) {
                            jobs::cancel(&mut transaction, Scope::AllApps, *id).await
                        } else {
                            jobs::requeue(&mut transaction, Scope::AllApps, *id).await
                        };
                        if done.is_ok() {
                            transaction.commit().await.unwrap();
                        }
                    }
                }
                _ => {
                    sqlx::query("select headgate.promote_due(100)").execute(&pool).await.unwrap();
                }
            }
        }
    };
    tokio::join!(one(seed, workers[0]), one(seed.wrapping_add(1), workers[1]));
    world.must_be_sound().await;
}
