use crate::{PASSWORD, a_user, access, actions, actor_of, home};
use access::{Access, AccessError, users};
use model::actor::Role;
use model::etag::IfMatch;
use model::page::PageRequest;
use model::user::{NewUser, UserChanges};
use sqlx::PgPool;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_change_of_a_users_rights_ends_the_sessions(pool: PgPool) {
    let access = access(&pool);
    a_user(&access, "boss@example.test", Role::Operator).await;
    let ada = a_user(&access, "ada@example.test", Role::Operator).await;
    let mut password = PASSWORD.to_owned();
    for (changes, ends) in [
        (UserChanges { name: Some("Ada".into()), ..UserChanges::default() }, false),
        (UserChanges { role: Some(Role::Support), ..UserChanges::default() }, true),
        (UserChanges { password: Some("another good one".into()), ..UserChanges::default() }, true),
        (UserChanges { is_disabled: Some(true), ..UserChanges::default() }, true),
    ] {
        let token = access.sign_in("ada@example.test", &password, home()).await.unwrap();
        password = changes.password.clone().unwrap_or(password);
        users::update(&access, &Access::system(), ada.id, changes).await.unwrap();
        assert_eq!(actor_of(&access, &token).await.is_none(), ends);
    }
    let refused = access.sign_in("ada@example.test", &password, home()).await;
    assert!(matches!(refused, Err(AccessError::BadCredentials)), "a disabled user signed in");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_last_operator_cannot_be_removed(pool: PgPool) {
    let access = access(&pool);
    let system = Access::system();
    let ada = a_user(&access, "ada@example.test", Role::Operator).await;
    a_user(&access, "eve@example.test", Role::Auditor).await;
    let is_refused = |result: Result<(), AccessError>| {
        matches!(result, Err(AccessError::Conflict { code: "last-operator", .. }))
    };
    assert!(is_refused(users::delete(&access, &system, ada.id, &IfMatch::Any).await));
    for changes in [
        UserChanges { role: Some(Role::Support), ..UserChanges::default() },
        UserChanges { is_disabled: Some(true), ..UserChanges::default() },
    ] {
        assert!(is_refused(users::update(&access, &system, ada.id, changes).await.map(|_| ())));
    }
    let bob = a_user(&access, "bob@example.test", Role::Operator).await;
    users::delete(&access, &system, ada.id, &IfMatch::Any).await.unwrap();
    assert!(is_refused(users::delete(&access, &system, bob.id, &IfMatch::Any).await));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn two_operators_who_remove_each_other_do_not_both_succeed(pool: PgPool) {
    let access = access(&pool);
    let system = Access::system();
    let ada = a_user(&access, "ada@example.test", Role::Operator).await;
    let bob = a_user(&access, "bob@example.test", Role::Operator).await;
    let (one, other) = tokio::join!(
        users::delete(&access, &system, ada.id, &IfMatch::Any),
        users::delete(&access, &system, bob.id, &IfMatch::Any)
    );
    assert!(one.is_ok() != other.is_ok());
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn faults_are_named_and_addresses_are_unique(pool: PgPool) {
    let access = access(&pool);
    let system = Access::system();
    let new = NewUser { email: "x".into(), name: None, role: Role::Worker, password: "short".into() };
    let Err(AccessError::Invalid(faults)) = users::create(&access, &system, new).await else { panic!() };
    assert_eq!(
        faults.0.iter().map(|fault| fault.pointer.as_str()).collect::<Vec<_>>(),
        ["/email", "/role", "/password"]
    );
    a_user(&access, "ada@example.test", Role::Operator).await;
    let again = NewUser {
        email: "ADA@example.test".into(),
        name: None,
        role: Role::Operator,
        password: PASSWORD.into(),
    };
    assert!(matches!(
        users::create(&access, &system, again).await,
        Err(AccessError::Conflict { code: "email-taken", .. })
    ));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_environment_creates_the_first_operator_and_no_second(pool: PgPool) {
    let access = access(&pool);
    access.first_operator("ada@example.test", PASSWORD.into()).await.unwrap();
    access.first_operator("eve@example.test", PASSWORD.into()).await.unwrap();
    let page = users::list(&access, PageRequest::default()).await.unwrap();
    assert_eq!(page.items.iter().map(|user| user.email.as_str()).collect::<Vec<_>>(), ["ada@example.test"]);
    access.sign_in("ada@example.test", PASSWORD, home()).await.unwrap();
    assert!(matches!(access.first_operator("x", "short".into()).await, Err(AccessError::Invalid(_))));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_account_of_the_link_gets_the_password_of_the_environment(pool: PgPool) {
    let access = access(&pool);
    access.one_time_link().await.unwrap().unwrap();
    access.first_operator("operator@localhost", PASSWORD.into()).await.unwrap();
    access.sign_in("operator@localhost", PASSWORD, home()).await.unwrap();
    assert_eq!(actions(&pool).await, ["sign_in_link.create", "user.set_password", "session.sign_in"]);
}
