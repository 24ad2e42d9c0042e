//! Lanes whose jobs another program runs.

use crate::support::World;
use model::{
    actor::Scope, integration::Integration, integration_query::IntegrationFilter, job::JobStatus,
    page::PageRequest,
};
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
    world.delivery.check_master_key().await.expect("a lane without a secret does not need the key");
    let id = client.enqueue(&pool, Export).await.unwrap().id;
    world.integration(json!({"endpoint_url": "http://127.0.0.1:9/"})).await;
    world.delivery.check_master_key().await.expect("the key that sealed");
    world.set(json!({"title": "A delivery of our own"})).await;
    world.run_until(1).await;
    let left = client.job(id).await.unwrap();
    assert_eq!((left.job.status, left.job.attempt), (JobStatus::Pending, 0));
    let ready = "select count(*) from headgate.ready r join headgate.jobs j on j.id = r.job_id where j.job_type = 'export'";
    assert_eq!(world.number(ready).await, 1, "it was never claimed");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_app_made_by_a_program_is_like_any_other(pool: PgPool) {
    let client = Client::open(&pool, "exports").await.unwrap();
    let world = World::new(pool.clone()).await;
    let all = IntegrationFilter::default();
    let of_app = async |app_id| {
        let found = world.delivery.integrations(Scope::App(app_id), all, PageRequest::default()).await;
        found
            .unwrap()
            .items
            .into_iter()
            .find(|integration| integration.is_built_in)
            .expect("a built-in integration")
    };
    let (theirs, ours) = (of_app(client.app_id()).await, of_app(world.app).await);
    let compared = |integration: &Integration| Integration {
        id: theirs.id,
        app_id: theirs.app_id,
        created_at: theirs.created_at,
        updated_at: theirs.updated_at,
        ..integration.clone()
    };
    assert_eq!(compared(&ours), theirs, "apart from the secret");
    let lanes =
        "select count(distinct (l.is_external, l.is_open, l.max_concurrency, l.served_by)) * 10 + count(*)
        from headgate.lanes l join headgate.integrations i on i.id = l.integration_id where i.is_built_in";
    assert_eq!(world.number(lanes).await, 12, "two equal lanes");

    // A job of the API that names no integration runs there.
    let new = serde_json::from_value(json!({"app_id": client.app_id(), "job_type": "report"})).unwrap();
    let made = world.delivery.enqueue_job(Scope::App(client.app_id()), new).await.unwrap();
    assert_eq!(client.job(made[0].id).await.unwrap().job.integration_id, theirs.id);
    let mut conn = pool.acquire().await.unwrap();
    for _ in 0..2 {
        let scope = Scope::App(client.app_id());
        world.delivery.rotate_secret(&mut conn, scope, theirs.id).await.expect("a secret of its own");
    }
}
