//! What a line of the audit log records is undone once.

use crate::world::{World, may};
use model::actor::Role;
use model::api_key::NewApiKey;
use model::audit::AuditFilter;
use model::id::AuditEntryId;
use model::page::PageRequest;
use sqlx::PgPool;

/// The newest line of the action.
async fn line(world: &World, action: &str) -> AuditEntryId {
    let filter = AuditFilter { action: Some(action.to_owned()), ..AuditFilter::default() };
    let page = PageRequest { limit: 1, after: None };
    world.headgate.audit_log(&may(Role::Auditor, None), &filter, page).await.unwrap().items[0].id
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn of_two_who_undo_at_once_one_learns_that_it_is_undone(pool: PgPool) {
    let world = World::new(pool).await;
    let (headgate, operator) = (&world.headgate, may(Role::Operator, None));
    let id = world.integration().await;
    headgate.pause_integration(&operator, id, Some("maintenance")).await.unwrap();
    let line = line(&world, "integration.pause").await;
    let refused = match tokio::join!(headgate.undo(&operator, line), headgate.undo(&operator, line)) {
        (Ok(_), Err(refused)) | (Err(refused), Ok(_)) => refused,
        both => panic!("{both:?}"),
    };
    assert_eq!(refused.conflict(), Some("already-undone"), "{refused}");
    let later = headgate.undo(&operator, line).await.unwrap_err();
    assert_eq!(later.conflict(), Some("already-undone"), "{later}");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_creation_of_a_revoked_key_is_not_undone(pool: PgPool) {
    let world = World::new(pool).await;
    let headgate = &world.headgate;
    let new =
        NewApiKey { name: "ci".to_owned(), role: Role::Support, app_id: None, expires_in_seconds: None };
    let made = headgate.create_api_key(&may(Role::Operator, None), &new).await.unwrap();
    let created = line(&world, "api_key.create").await;
    let revoked = headgate.revoke_api_key(&may(Role::Operator, None), made.api_key.id).await.unwrap();
    assert!(revoked.is_some());
    let refused = headgate.undo(&may(Role::Operator, None), created).await.unwrap_err();
    assert_eq!(refused.conflict(), Some("changed-since"), "{refused}");
}
