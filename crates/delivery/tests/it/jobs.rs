//! `POST /jobs`.

use delivery::DeliveryError;
use model::actor::Scope;
use model::id::AppId;
use model::job::{EnqueueOutcome, EnqueuedJob, NewJob};
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::support::{World, faults};

fn new(fields: Value) -> NewJob {
    serde_json::from_value(fields).unwrap()
}

async fn enqueue(world: &World, jobs: &[Value]) -> Result<Vec<EnqueuedJob>, DeliveryError> {
    world.delivery.enqueue_jobs(world.scope, jobs.iter().cloned().map(new).collect()).await
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn jobs_go_to_their_integration_or_to_the_apps_workers(pool: PgPool) {
    let world = World::new(pool).await;
    let shop = world.integration(json!({"endpoint_url": "https://shop.invalid/"})).await;
    let made = enqueue(
        &world,
        &[
            json!({"integration_id": shop, "job_type": "a", "deduplication_id": "x", "payload": 1}),
            json!({"app_id": world.app, "job_type": "b", "priority": 7, "max_attempts": 2}),
            json!({"integration_id": shop, "job_type": "a", "deduplication_id": "x", "payload": 2}),
        ],
    )
    .await
    .unwrap();
    assert_eq!(
        made.iter().map(|job| job.outcome).collect::<Vec<_>>(),
        [EnqueueOutcome::Created, EnqueueOutcome::Created, EnqueueOutcome::Coalesced]
    );
    assert_eq!(made[0].id, made[2].id);
    let job = queue::store::jobs::get(&world.pool, world.scope, made[1].id).await.unwrap().job;
    assert_eq!((job.priority, job.max_attempts, job.integration_type.as_str()), (7, 2, "external"));
    assert_eq!(world.jobs(shop).await[0].payload, Some(json!(2)));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn jobs_that_cannot_run_are_refused_with_their_pointer(pool: PgPool) {
    let world = World::new(pool).await;
    let shop = world.integration(json!({"endpoint_url": "https://shop.invalid/"})).await;
    let rest =
        world.integration(json!({"endpoint_url": "https://shop.invalid/", "integration_type": "rest"})).await;
    let good = json!({"integration_id": shop, "job_type": "a"});
    for (job, pointer) in [
        (json!({"job_type": "a"}), "/1/integration_id"),
        (json!({"integration_id": shop, "job_type": ""}), "/1/job_type"),
        (json!({"integration_id": shop, "job_type": "a", "priority": 101}), "/1/priority"),
        (
            json!({"integration_id": shop, "job_type": "a", "deduplication_id": "headgate:record:product:1"}),
            "/1/deduplication_id",
        ),
        (json!({"integration_id": rest, "job_type": "a"}), "/1/integration_id"),
        (json!({"integration_id": shop, "job_type": "a", "payload": "x".repeat(1_000_001)}), "/1/payload"),
    ] {
        assert_eq!(faults(enqueue(&world, &[good.clone(), job.clone()]).await), [pointer]);
    }
    let single =
        world.delivery.enqueue_job(world.scope, new(json!({"integration_id": rest, "job_type": "a"})));
    assert_eq!(faults(single.await), ["/integration_id"]);

    // Things of another app are not found.
    let stranger = Scope::App(AppId::generate());
    for (job, at) in [
        (json!({"integration_id": shop, "job_type": "a"}), "/0/integration_id"),
        (json!({"app_id": world.app, "job_type": "a"}), "/0/app_id"),
    ] {
        let error = world.delivery.enqueue_jobs(stranger, vec![new(job)]).await.unwrap_err();
        assert!(matches!(error, DeliveryError::NotFound { pointer: Some(pointer), .. } if pointer == at));
    }
    for (job, at) in [
        (json!({"integration_id": shop, "app_id": AppId::generate(), "job_type": "a"}), "/0/integration_id"),
        (json!({"integration_id": shop, "job_type": "a", "batch_id": AppId::generate()}), "/0/batch_id"),
    ] {
        let error = enqueue(&world, &[job]).await.unwrap_err();
        assert!(matches!(error, DeliveryError::NotFound { pointer: Some(pointer), .. } if pointer == at));
    }
    assert!(world.jobs(shop).await.is_empty());
}
