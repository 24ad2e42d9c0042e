use crate::access;
use access::{Access, AccessError, api_keys, audit};
use model::actor::{Actor, ActorKind, Role};
use model::api_key::NewApiKey;
use model::audit::AuditFilter;
use model::id::{ApiKeyId, AppId};
use model::page::PageRequest;
use sqlx::PgPool;

fn a_key(role: Role) -> NewApiKey {
    NewApiKey { name: "ci".into(), role, app_id: None, expires_in_seconds: None }
}

async fn an_app(pool: &PgPool) -> AppId {
    let id = AppId::generate();
    sqlx::query("insert into headgate.apps (id, name, slug) values ($1, 'Shop', 'shop')")
        .bind(id.0)
        .execute(pool)
        .await
        .unwrap();
    id
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_key_gives_its_role_and_app_until_it_is_revoked(pool: PgPool) {
    let access = access(&pool);
    let app_id = an_app(&pool).await;
    let new = NewApiKey { app_id: Some(app_id), ..a_key(Role::Producer) };
    let made = api_keys::create(&access, &Access::system(), &new).await.unwrap();
    assert!(made.key.starts_with("hg_producer_") && made.key.starts_with(&made.api_key.prefix));
    let actor = access.actor_of_key(&made.key).await.unwrap().unwrap();
    assert_eq!(
        actor,
        Actor {
            kind: ActorKind::ApiKey(made.api_key.id),
            name: "ci".into(),
            role: Role::Producer,
            app_id: Some(app_id)
        }
    );
    api_keys::revoke(&access, &Access::system(), made.api_key.id).await.unwrap();
    assert_eq!(access.actor_of_key(&made.key).await.unwrap(), None);
    let listed = api_keys::list(&access, PageRequest::default()).await.unwrap();
    assert!(listed.items[0].revoked_at.is_some() && listed.items[0].last_used_at.is_some());
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_changed_or_expired_key_is_refused(pool: PgPool) {
    let access = access(&pool);
    let new = NewApiKey { expires_in_seconds: Some(60), ..a_key(Role::Auditor) };
    let made = api_keys::create(&access, &Access::system(), &new).await.unwrap();
    let mut changed = made.key.clone();
    let last = if changed.pop() == Some('a') { 'b' } else { 'a' };
    changed.push(last);
    let other_role = made.key.replacen("auditor", "operator", 1);
    for key in [changed.as_str(), &other_role, &made.api_key.prefix, "", "hg_", "hg_operator_é_x", "x"] {
        assert_eq!(access.actor_of_key(key).await.unwrap(), None, "{key}");
    }
    assert!(access.actor_of_key(&made.key).await.unwrap().is_some());
    sqlx::query("update headgate.api_keys set expires_at = clock_timestamp()").execute(&pool).await.unwrap();
    assert_eq!(access.actor_of_key(&made.key).await.unwrap(), None);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_key_for_an_unknown_app_is_a_fault_of_its_field(pool: PgPool) {
    let access = access(&pool);
    let new = NewApiKey { app_id: Some(AppId::generate()), ..a_key(Role::Portal) };
    let Err(AccessError::Invalid(faults)) = api_keys::create(&access, &Access::system(), &new).await else {
        panic!()
    };
    assert_eq!(faults.0[0].pointer, "/app_id");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_admin_key_needs_no_database_row(pool: PgPool) {
    let actor = access(&pool).actor_of_key(&"k".repeat(40)).await.unwrap().unwrap();
    assert_eq!((actor.kind, actor.role), (ActorKind::AdminKey, Role::Operator));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_audit_log_has_each_action_without_the_secret(pool: PgPool) {
    let access = access(&pool);
    let made = api_keys::create(&access, &Access::system(), &a_key(Role::Support)).await.unwrap();
    let revoked = api_keys::revoke(&access, &Access::system(), made.api_key.id).await.unwrap().unwrap();
    let again = api_keys::revoke(&access, &Access::system(), made.api_key.id).await.unwrap();
    assert_eq!(again, None, "nothing changed, so there is no second line");
    let listed = api_keys::list(&access, PageRequest::default()).await.unwrap();
    assert_eq!(listed.items[0].revoked_at, revoked.revoked_at);
    let missing = api_keys::revoke(&access, &Access::system(), ApiKeyId::generate()).await;
    assert!(matches!(missing, Err(AccessError::NotFound)));
    let filter = AuditFilter { object_id: Some(made.api_key.id.to_string()), ..AuditFilter::default() };
    let page = audit::list(&pool, &filter, PageRequest::default()).await.unwrap();
    assert_eq!(
        page.items.iter().map(|entry| entry.action.as_str()).collect::<Vec<_>>(),
        ["api_key.revoke", "api_key.create"]
    );
    let secret = made.key.rsplit('_').next().unwrap();
    assert!(!serde_json::to_string(&page).unwrap().contains(secret));
}
