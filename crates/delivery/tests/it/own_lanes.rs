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
async fn a_job_of_another_program_is_not_claimed(pool: PgPool) {
    let client = Client::open(&pool, "exports").await.unwrap();
    let world = World::new(pool.clone()).await;
    world.delivery.check_master_key().await.expect("a lane without a secret says nothing of the key");
    let id = client.enqueue(&pool, Export).await.unwrap().id;
    world.integration(json!({"endpoint_url": "http://127.0.0.1:9/"})).await;
    world.delivery.check_master_key().await.expect("the key that sealed");
    world.set(json!({"title": "A delivery of our own"})).await;
    world.run_until(1).await;
    let left = client.job(id).await.unwrap();
    assert_eq!((left.job.status, left.job.attempt), (JobStatus::Pending, 0));
    let ready = "select count(*) from headgate.ready r join headgate.jobs j on j.id = r.job_id where j.job_type = 'export'";
    assert_eq!(world.number(ready).await, 1, "nobody took it to give it back");
}
