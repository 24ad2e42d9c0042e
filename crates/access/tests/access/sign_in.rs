use crate::{PASSWORD, a_user, access, actions, actor_of, elsewhere, home};
use access::{Access, AccessError, Client};
use model::actor::Role;
use sqlx::PgPool;
use uuid::Uuid;

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_password_starts_a_session_that_signing_out_ends(pool: PgPool) {
    let access = access(&pool);
    a_user(&access, "ada@example.test", Role::Support).await;
    let token = access.sign_in("Ada@Example.test", PASSWORD, home()).await.unwrap();
    let actor = actor_of(&access, &token).await.unwrap();
    assert_eq!((actor.name.as_str(), actor.role, actor.app_id), ("ada@example.test", Role::Support, None));
    access.sign_out(token.expose()).await.unwrap();
    assert!(actor_of(&access, &token).await.is_none());
    access.sign_out(token.expose()).await.unwrap();
    assert_eq!(actions(&pool).await, ["user.create", "session.sign_in", "session.sign_out"]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_token_is_not_in_the_database(pool: PgPool) {
    let access = access(&pool);
    a_user(&access, "ada@example.test", Role::Operator).await;
    let token = access.sign_in("ada@example.test", PASSWORD, home()).await.unwrap();
    let stored: Vec<u8> =
        sqlx::query_scalar("select token_hash from headgate.sessions").fetch_one(&pool).await.unwrap();
    assert_eq!(stored.len(), 32);
    assert_ne!(stored, token.expose().as_bytes());
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn unknown_users_and_wrong_passwords_get_the_same_error(pool: PgPool) {
    let access = access(&pool);
    a_user(&access, "ada@example.test", Role::Operator).await;
    for (email, password) in [
        ("ada@example.test", "wrong password"),
        ("nobody@example.test", PASSWORD),
        ("ada\0@example.test", PASSWORD),
        ("", ""),
    ] {
        let refused = access.sign_in(email, password, home()).await;
        assert!(matches!(refused, Err(AccessError::BadCredentials)), "{email}");
    }
}

/// Wrong passwords until no more are checked.
async fn guess(access: &Access, client: Client) {
    for _ in 0..10 {
        let refused = access.sign_in("ada@example.test", "wrong password", client).await;
        assert!(matches!(refused, Err(AccessError::BadCredentials)));
    }
    let refused = access.sign_in("ada@example.test", "wrong password", client).await;
    assert!(matches!(refused, Err(AccessError::TooMany { .. })));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn too_many_wrong_passwords_are_slowed_down_and_never_locked_out(pool: PgPool) {
    let access = access(&pool);
    a_user(&access, "ada@example.test", Role::Operator).await;
    guess(&access, home()).await;
    match access.sign_in("ada@example.test", PASSWORD, home()).await {
        Err(AccessError::TooMany { retry_after }) => {
            assert!((1..=20).contains(&retry_after.as_secs()), "{retry_after:?}");
        }
        _ => panic!("a right one was checked all the same"),
    }
    // As if the period had passed.
    sqlx::query("update headgate.sign_in_throttles set tat_us = tat_us - 20000000")
        .execute(&pool)
        .await
        .unwrap();
    access.sign_in("ada@example.test", PASSWORD, home()).await.unwrap();
    // After a right password, the earlier tries are forgotten.
    guess(&access, home()).await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_attacker_does_not_use_up_the_owners_tries(pool: PgPool) {
    let access = access(&pool);
    a_user(&access, "ada@example.test", Role::Operator).await;
    // The guesses of one network are refused before they reach the account's own row.
    for _ in 0..8 {
        access.sign_in("ada@example.test", PASSWORD, elsewhere()).await.unwrap();
        for _ in 0..20 {
            access.sign_in("ada@example.test", "wrong password", home()).await.err().unwrap();
        }
    }
    // A known device may sign in even from the attacker's network.
    let device = Client { device: Some(Uuid::now_v7()), ..home() };
    access.sign_in("ada@example.test", PASSWORD, device).await.unwrap();
    // Its wrong tries are limited like all others.
    guess(&access, device).await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn guesses_from_many_networks_are_slowed_down_too(pool: PgPool) {
    let access = access(&pool);
    a_user(&access, "ada@example.test", Role::Operator).await;
    // As if after a hundred wrong passwords from everywhere.
    sqlx::query(
        "insert into headgate.sign_in_throttles
         values ('account:ada@example.test', (extract(epoch from clock_timestamp()) * 1000000)::bigint + 100000000)",
    )
    .execute(&pool)
    .await
    .unwrap();
    let refused = access.sign_in("ada@example.test", PASSWORD, elsewhere()).await;
    assert!(matches!(refused, Err(AccessError::TooMany { .. })));
    let device = Client { device: Some(Uuid::now_v7()), ..elsewhere() };
    access.sign_in("ada@example.test", PASSWORD, device).await.unwrap();
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_network_is_slowed_down_whatever_account_it_tries(pool: PgPool) {
    let access = access(&pool);
    // As if after forty wrong passwords from there.
    sqlx::query(
        "insert into headgate.sign_in_throttles
         values ('network:203.0.113.0/24', (extract(epoch from clock_timestamp()) * 1000000)::bigint + 200000000)",
    )
    .execute(&pool)
    .await
    .unwrap();
    let refused = access.sign_in("a@example.test", PASSWORD, home()).await;
    assert!(matches!(refused, Err(AccessError::TooMany { .. })));
    let rows = "select count(*) from headgate.sign_in_throttles";
    let rows: i64 = sqlx::query_scalar(rows).fetch_one(&pool).await.unwrap();
    assert_eq!(rows, 1, "no rows are written for the accounts it invents");
    let elsewhere = access.sign_in("a@example.test", PASSWORD, elsewhere()).await;
    assert!(matches!(elsewhere, Err(AccessError::BadCredentials)));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn idle_and_old_sessions_have_ended(pool: PgPool) {
    let access = access(&pool);
    a_user(&access, "ada@example.test", Role::Operator).await;
    for change in [
        "update headgate.sessions set last_seen_at = clock_timestamp() - interval '12 hours 1 second'",
        "update headgate.sessions set expires_at = clock_timestamp() - interval '1 second'",
    ] {
        let token = access.sign_in("ada@example.test", PASSWORD, home()).await.unwrap();
        assert!(actor_of(&access, &token).await.is_some());
        sqlx::query(sqlx::AssertSqlSafe(change)).execute(&pool).await.unwrap();
        assert!(actor_of(&access, &token).await.is_none(), "{change}");
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_link_of_a_new_deployment_works_once(pool: PgPool) {
    let access = access(&pool);
    let link = access.one_time_link().await.unwrap().unwrap();
    let session = access.redeem_link(&link).await.unwrap();
    let actor = actor_of(&access, &session).await.unwrap();
    assert_eq!((actor.name.as_str(), actor.role), ("operator@localhost", Role::Operator));
    assert!(matches!(access.redeem_link(&link).await, Err(AccessError::BadCredentials)));
    assert!(matches!(access.redeem_link("nonsense").await, Err(AccessError::BadCredentials)));
    // Nobody has a password yet, so the next start prints another one.
    let second = access.one_time_link().await.unwrap().unwrap();
    sqlx::query("update headgate.sign_in_links set expires_at = clock_timestamp() where used_at is null")
        .execute(&pool)
        .await
        .unwrap();
    assert!(matches!(access.redeem_link(&second).await, Err(AccessError::BadCredentials)));
    a_user(&access, "ada@example.test", Role::Operator).await;
    assert_eq!(access.one_time_link().await.unwrap(), None);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn of_two_who_open_the_link_at_once_one_gets_a_session(pool: PgPool) {
    let access = access(&pool);
    let link = access.one_time_link().await.unwrap().unwrap();
    let (one, other) = tokio::join!(access.redeem_link(&link), access.redeem_link(&link));
    assert!(one.is_ok() != other.is_ok());
}
