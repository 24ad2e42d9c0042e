//! What is outside an actor's scope is not found.

use crate::world::{World, may};
use model::{actor::Role, integration_query::IntegrationFilter, page::PageRequest};
use serde_json::json;
use sqlx::PgPool;

const PAGE: PageRequest = PageRequest { limit: 50, after: None };

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_actor_of_another_app_finds_nothing(pool: PgPool) {
    let world = World::new(pool).await;
    let (integration, job) = (world.integration().await, world.job(&json!({})).await);
    let other = world.app("Südwind").await.id;
    let headgate = &world.headgate;

    let found = headgate.integration(&may(Role::Portal, Some(other)), integration).await.unwrap_err();
    assert!(found.is_not_found(), "{found}");
    let found = headgate.status(&may(Role::Portal, Some(other)), integration).await.unwrap_err();
    assert!(found.is_not_found(), "{found}");
    let found = headgate.job(&may(Role::Portal, Some(other)), job).await.unwrap_err();
    assert!(found.is_not_found(), "{found}");
    let listed =
        headgate.integrations(&may(Role::Portal, Some(other)), IntegrationFilter::default(), PAGE).await;
    assert!(listed.unwrap().items.iter().all(|integration| integration.app_id == other));

    let own = may(Role::Portal, Some(world.app.id));
    assert_eq!(headgate.integration(&own, integration).await.unwrap().id, integration);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn nothing_of_another_app_is_changed(pool: PgPool) {
    let world = World::new(pool).await;
    let job = world.job(&json!({})).await;
    let other = world.app("Südwind").await.id;

    let cancelled = world.headgate.cancel_job(&may(Role::Support, Some(other)), job).await.unwrap_err();
    assert!(cancelled.is_not_found(), "{cancelled}");
    let job = world.headgate.job(&may(Role::Operator, None), job).await.unwrap().job;
    assert_eq!(job.cancelled_at, None);
}
