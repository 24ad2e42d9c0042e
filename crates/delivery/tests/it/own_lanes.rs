//! Lanes whose jobs another program does.

use crate::support::World;
use model::job::JobStatus;
use queue::{Client, Job};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::PgPool;

#[derive(Serialize, Deserialize)]
struct Export;
impl Job for Export {
    const JOB_TYPE: &'static str = "export";
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_of_another_program_is_left_to_it(pool: PgPool) {
    let client = Client::open(&pool, "exports").await.unwrap();
    let world = World::new(pool.clone()).await;
    world.delivery.check_master_key().await.expect("a lane without a secret says nothing of the key");
    let id = client.enqueue(&pool, Export).await.unwrap().id;
    world.run_until(1).await;
    let left = client.job(id).await.unwrap();
    assert_eq!((left.job.status, left.job.attempt), (JobStatus::Pending, 0));
    assert!(left.attempts.is_empty());
    world.integration(json!({"endpoint_url": "http://127.0.0.1:9/"})).await;
    world.delivery.check_master_key().await.expect("the key that sealed");
}
