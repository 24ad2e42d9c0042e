//! A change leaves its line of the audit log, and a change that was not made leaves none.

use crate::world::{World, may};
use model::{actor::Role, audit::AuditFilter, id::IntegrationId, page::PageRequest};
use sqlx::PgPool;

async fn lines(world: &World, action: &str) -> Vec<(String, Option<String>)> {
    let filter = AuditFilter { action: Some(action.to_owned()), ..AuditFilter::default() };
    let page = PageRequest { limit: 50, after: None };
    let found = world.headgate.audit_log(&may(Role::Auditor, None), &filter, page).await.unwrap();
    found.items.into_iter().map(|line| (line.actor_name, line.object_id)).collect()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_change_leaves_one_line(pool: PgPool) {
    let world = World::new(pool).await;
    let id = world.integration().await;
    world.headgate.pause_integration(&may(Role::Operator, None), id, Some("maintenance")).await.unwrap();
    assert_eq!(lines(&world, "integration.pause").await, [("operator".to_owned(), Some(id.to_string()))]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_change_that_fails_leaves_none(pool: PgPool) {
    let world = World::new(pool).await;
    let missing = IntegrationId::generate();
    let failed =
        world.headgate.pause_integration(&may(Role::Operator, None), missing, None).await.unwrap_err();
    assert!(failed.is_not_found(), "{failed}");
    assert_eq!(lines(&world, "integration.pause").await, []);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_reading_leaves_none(pool: PgPool) {
    let world = World::new(pool).await;
    let id = world.integration().await;
    world.headgate.integration(&may(Role::Operator, None), id).await.unwrap();
    assert_eq!(lines(&world, "integration.pause").await, []);
    assert_eq!(lines(&world, "integration.create").await.len(), 1);
}
