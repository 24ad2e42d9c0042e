//! What a role does not allow is refused with a sentence, before anything is read or changed.

use crate::world::{World, actor, may};
use model::actor::Role;
use model::operation::{BulkAction, BulkSubject, NewBulk};
use serde_json::json;
use service::{Allowed, permission};
use sqlx::PgPool;

#[test]
fn an_actor_without_the_permission_is_refused() {
    let refused = Allowed::<permission::Configure>::check(&actor(Role::Support, None)).unwrap_err();
    assert_eq!(refused.to_string(), "The role support does not allow this.");
    let support: Allowed<permission::SteerJobs> = may(Role::Support, None);
    assert!(support.also::<permission::Purge>().is_err());
    assert!(support.also::<permission::Read>().is_ok());
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_input_of_a_bulk_action_may_need_more(pool: PgPool) {
    let world = World::new(pool).await;
    let purge: NewBulk =
        serde_json::from_value(json!({"action": "purge", "filter": {"error": "503"}})).unwrap();
    assert_eq!(purge.action, BulkAction::Purge);
    let refused = world
        .headgate
        .bulk(&may(Role::Support, None), BulkSubject::DeadLetters, purge.clone())
        .await
        .unwrap_err();
    assert_eq!(refused.to_string(), "The role support may not purge.");
    let done = world.headgate.bulk(&may(Role::Operator, None), BulkSubject::DeadLetters, purge).await;
    assert!(done.is_ok(), "{done:?}");
}
